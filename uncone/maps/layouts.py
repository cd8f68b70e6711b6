"""Pictures that keep neighbours: t-SNE, UMAP and PaCMAP, each on one thread, so that a seed gives one picture."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
from threadpoolctl import threadpool_limits

from uncone.data.batch import IntVector, Matrix
from uncone.diagnosis.neighbours import nearest
from uncone.maps.axes import fit_axes

__all__ = ["Progress", "pacmap_points", "tsne_points", "umap_points"]

_PERPLEXITY = 30.0
_NEIGHBOURS = 15
_FFT = 4_000
"""Rows from which the repulsion of a plane map is interpolated; a map in space has only the tree."""
_EXACT = 5_000
"""Rows up to which neighbours are found by looking at every pair."""
_OWN, _EXACT_OWN = 4_096, 20_000
"""Rows between which we find the neighbours for UMAP: below, it does so itself; above, only about. PaCMAP: up to it."""
_WIDE = 100
"""Principal directions that PaCMAP looks at, as its authors do."""
_SPARE = 50
"""Neighbours of which PaCMAP chooses its own, beyond those it takes."""
_MOST_SEED = 1 << 30

Progress = Callable[[str], None]
"""Told what is being done, in a sentence."""


def tsne_points(rows: Matrix, start: Matrix, seed: int, progress: Progress | None) -> Matrix:
    """t-SNE (van der Maaten and Hinton 2008) from the points `start` (n, dims) on."""
    from openTSNE import TSNE

    n, dims = start.shape
    perplexity = min(_PERPLEXITY, (n - 1) / 3)
    _tell(progress, f"t-SNE of {n:,} rows in {dims} dimensions, perplexity {perplexity:.3g}.")
    flow = dims < 3 and n >= _FFT
    made = TSNE(
        dims,
        perplexity=perplexity,
        initialization=_start(start, 1e-4),  # as Kobak and Berens (2019) advise
        neighbors="exact" if n <= _EXACT else "annoy",
        negative_gradient_method="fft" if flow else "bh",
        random_state=seed,
        n_jobs=1,
    )
    with threadpool_limits(1):
        return np.asarray(made.fit(rows), np.float64)


def umap_points(rows: Matrix, start: Matrix, seed: int, progress: Progress | None) -> Matrix:
    """UMAP (McInnes et al. 2018) from the points `start` (n, dims) on."""
    n, dims = start.shape
    _tell(progress, f"UMAP of {n:,} rows in {dims} dimensions: it compiles itself first, which takes 15 to 20 seconds.")
    with warnings.catch_warnings(), threadpool_limits(1):
        # It warns of Tensorflow, which is not wanted, and of groups that no neighbour joins: a picture shows those.
        for kind in (ImportWarning, UserWarning, RuntimeWarning):
            warnings.simplefilter("ignore", kind)
        from umap import UMAP

        k = min(_NEIGHBOURS, n - 1)
        known = (*_nearest(rows, k), None) if _OWN <= n <= _EXACT_OWN else (None, None, None)
        made = UMAP(
            n_neighbors=k,
            precomputed_knn=known,
            n_components=dims,
            init=_start(start, 1.0).astype(np.float32),
            random_state=seed,
            n_jobs=1,
        )
        return np.asarray(made.fit_transform(rows.astype(np.float32)), np.float64)


def pacmap_points(rows: Matrix, start: Matrix, seed: int, progress: Progress | None) -> Matrix:
    """PaCMAP (Wang et al. 2021) from the points `start` (n, dims) on; of up to 20,000 rows with exact neighbours."""
    n, dims = start.shape
    _tell(
        progress,
        f"PaCMAP of {n:,} rows in {dims} dimensions: the first time it compiles itself, which takes 15 to 20 seconds.",
    )
    with _quiet_pacmap(), threadpool_limits(1):
        from pacmap import PaCMAP

        made = PaCMAP(dims, random_state=seed % _MOST_SEED)
        made.decide_num_pairs(n)
        narrow = fit_axes(rows, _WIDE).points(rows) if rows.shape[1] > _WIDE else rows
        if narrow.shape[1] < dims:
            narrow = np.pad(narrow, ((0, 0), (0, dims - narrow.shape[1])))
        if n <= _EXACT_OWN:
            made.pair_neighbors = _pairs(narrow, made.n_neighbors)
        return np.asarray(made.fit_transform(narrow.astype(np.float32), init=_start(start, 1.0)), np.float64)


def _pairs(rows: Matrix, k: int) -> IntVector:
    """Each row with the k of its neighbours that are nearest by d^2 / (s_i s_j), (n k, 2).

    s is the mean distance of the fourth to the sixth neighbour: as PaCMAP does it, but with every pair looked at.
    """
    n = len(rows)
    near, apart = _nearest(rows, min(k + _SPARE, n - 1) + 1)
    near, apart = near[:, 1:], apart[:, 1:]
    scale = np.maximum(apart[:, 3:6].mean(axis=1) if apart.shape[1] > 3 else apart[:, -1], 1e-10)
    scaled = apart**2 / scale[:, None] / scale[near]
    chosen = np.take_along_axis(near, np.argsort(scaled, axis=1, kind="stable")[:, :k], axis=1)
    return np.stack([np.repeat(np.arange(n), k), chosen.ravel()], axis=1).astype(np.int32)


@contextmanager
def _quiet_pacmap() -> Iterator[None]:
    """One thread of numba and of faiss inside, as before outside; no warnings that a seed was set, or of few rows."""
    import faiss
    import numba

    logger = logging.getLogger("pacmap.pacmap")
    level, threads, searching = logger.level, numba.get_num_threads(), faiss.omp_get_max_threads()
    logger.setLevel(logging.ERROR)
    numba.set_num_threads(1)
    try:
        yield
    finally:
        logger.setLevel(level)
        numba.set_num_threads(threads)
        faiss.omp_set_num_threads(searching)


def _start(points: Matrix, deviation: float) -> Matrix:
    """The points of PCA with this deviation along the first axis: where a picture begins.

    Rows at one point would stay there, and an axis without spread would be divided by zero: a trace of noise, the same
    for every seed, parts them.
    """
    noise = np.random.default_rng(0).normal(scale=1e-3, size=points.shape)
    return np.asarray(deviation * (points / points[:, 0].std() + noise))


def _nearest(rows: Matrix, k: int) -> tuple[IntVector, Matrix]:
    """The k nearest rows of each, itself first, and their distances (n, k)."""
    own = np.arange(len(rows))
    found = nearest(rows, rows, k - 1, metrics=("euclidean",), own=own)["euclidean"]
    near = np.concatenate([own[:, None], found.places], axis=1)
    return near, np.pad(found.distances, ((0, 0), (1, 0))).astype(np.float32)


def _tell(progress: Progress | None, sentence: str) -> None:
    if progress is not None:
        progress(sentence)
