"""The clustering itself: spherical k-means by faiss, and trees by scipy, on unit rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import numpy as np

from uncone.data.batch import IntVector, Matrix

__all__ = ["centres", "cut", "distances", "linkage_of", "nearest"]

_ITERATIONS = 25
_STARTS = 3
_AT_ONCE = 8_192


def centres(units: Matrix, k: int, seed: int, starts: int = _STARTS) -> Matrix:
    """The k centres (k, d), of length 1, that spherical k-means finds among unit rows: the best of some starts.

    On one thread: with two, faiss adds the sums in another order, and a group may change.
    """
    if k == 1:
        return np.ones((1, units.shape[1]), np.float32)
    import faiss

    rows = np.ascontiguousarray(units, np.float32)
    with _one_thread():
        found = faiss.Kmeans(
            rows.shape[1],
            k,
            niter=_ITERATIONS,
            nredo=starts,
            seed=seed,
            spherical=True,
            min_points_per_centroid=1,
            max_points_per_centroid=len(rows),  # else it looks at 256 rows per group only
        )
        found.train(rows)
    return np.asarray(found.centroids)


def nearest(units: Matrix, centres: Matrix) -> IntVector:
    """The centre that each row has the highest cosine with (n,)."""
    columns = centres.astype(units.dtype).T
    blocks = [units[start : start + _AT_ONCE] for start in range(0, len(units), _AT_ONCE)]
    return np.concatenate([(block @ columns).argmax(axis=1) for block in blocks]).astype(np.int64)


@contextmanager
def _one_thread() -> Iterator[None]:
    import faiss

    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(threads)


def distances(units: Matrix) -> Matrix:
    """1 - cosine of every two unit rows (n, n), in float64, zero with itself."""
    rows = np.asarray(units, np.float64)
    apart = np.asarray(1 - (rows @ rows.T).clip(-1.0, 1.0))
    np.fill_diagonal(apart, 0.0)
    return apart


def linkage_of(units: Matrix, how: Literal["average", "ward"] = "average") -> Matrix:
    """The tree of unit rows (n - 1, 4), as scipy has it: average by 1 - cosine, Ward by the distance |u - v|."""
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    if len(units) < 2:
        return np.empty((0, 4))
    apart = squareform(distances(units), checks=False)
    if how == "ward":
        np.sqrt(2 * apart, out=apart)  # squared, it is 2 (1 - cosine)
    return np.asarray(linkage(apart, how))


def cut(tree: Matrix, k: int) -> IntVector:
    """The k groups of a tree of n leaves, by undoing its last k - 1 joins: never fewer, as ties may give elsewhere.

    >>> cut(np.array([[0.0, 1.0, 0.1, 2.0], [2.0, 3.0, 0.5, 3.0]]), 2).tolist()
    [1, 1, 0]
    """
    n = len(tree) + 1
    group = np.arange(2 * n - 1)
    for join in range(n - k - 1, -1, -1):  # from the top, so that a node knows its group before its parts ask
        group[tree[join, :2].astype(np.int64)] = group[n + join]
    return np.unique(group[:n], return_inverse=True)[1].astype(np.int64)
