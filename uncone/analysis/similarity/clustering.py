"""Spherical k-means by faiss and hierarchical trees by scipy, on unit vectors."""

from __future__ import annotations

from typing import Literal

import numpy as np

from uncone.analysis.cosine.units import BLOCK
from uncone.data.batch import IntVector, Matrix

__all__ = ["cut", "distances", "k_means_centers", "linkage_of", "nearest_center"]

_ITERATIONS = 25


def k_means_centers(units: Matrix, k: int, seed: int, starts: int = 3) -> Matrix:
    """The k unit centers (k, d) of spherical k-means, the best of some starts.

    It runs on one thread: with two, faiss adds in another order, and a group may change.
    """
    if k == 1:
        return np.ones((1, units.shape[1]), np.float32)
    import faiss

    rows = np.ascontiguousarray(units, np.float32)
    model = faiss.Kmeans(
        rows.shape[1],
        k,
        niter=_ITERATIONS,
        nredo=starts,
        seed=seed,
        spherical=True,
        min_points_per_centroid=1,
        max_points_per_centroid=len(rows),  # the default subsamples 256 per group
    )
    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        model.train(rows)
    finally:
        faiss.omp_set_num_threads(threads)
    return np.asarray(model.centroids)


def nearest_center(units: Matrix, centers: Matrix) -> IntVector:
    """The center with the highest cosine for each vector (n,)."""
    columns = centers.astype(units.dtype).T
    blocks = [units[start : start + BLOCK] for start in range(0, len(units), BLOCK)]
    return np.concatenate([(block @ columns).argmax(axis=1) for block in blocks]).astype(np.int64)


def distances(units: Matrix) -> Matrix:
    """1 - cosine of every two unit vectors (n, n), in float64, with a zero diagonal."""
    rows = np.asarray(units, np.float64)
    apart = np.asarray(1 - (rows @ rows.T).clip(-1.0, 1.0))
    np.fill_diagonal(apart, 0.0)
    return apart


def linkage_of(units: Matrix, how: Literal["average", "ward"] = "average") -> Matrix:
    """The linkage matrix of scipy (n - 1, 4): average by 1 - cosine, Ward by the distance |u - v|."""
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    if len(units) < 2:
        return np.empty((0, 4))
    apart = squareform(distances(units), checks=False)
    if how == "ward":
        np.sqrt(2 * apart, out=apart)  # |u - v|^2 = 2 (1 - cosine)
    return np.asarray(linkage(apart, how))


def cut(tree: Matrix, k: int) -> IntVector:
    """Exactly k groups: the last k - 1 joins undone. With ties, scipy's `fcluster` may give fewer.

    >>> cut(np.array([[0.0, 1.0, 0.1, 2.0], [2.0, 3.0, 0.5, 3.0]]), 2).tolist()
    [1, 1, 0]
    """
    n = len(tree) + 1
    group = np.arange(2 * n - 1)
    for join in range(n - k - 1, -1, -1):  # from the top: a node has its group before its children need it
        group[tree[join, :2].astype(np.int64)] = group[n + join]
    return np.unique(group[:n], return_inverse=True)[1].astype(np.int64)
