"""Pictures that keep neighbours: t-SNE and UMAP, each on one thread, so that a seed gives one picture."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from threadpoolctl import threadpool_limits

from uncone.analysis.neighbors.search import nearest
from uncone.data.batch import IntVector, Matrix

__all__ = ["Progress", "tsne_points", "umap_points"]

_PERPLEXITY = 30.0
_NEIGHBOURS = 15
_FFT = 4_000
"""Rows from which the repulsion of a plane map is interpolated; a map in space has only the tree."""
_EXACT = 5_000
"""Rows up to which neighbours are found by looking at every pair."""
_OWN, _EXACT_OWN = 4_096, 20_000
"""Rows between which we find the neighbours for UMAP: below, it does so itself; above, only about."""

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
