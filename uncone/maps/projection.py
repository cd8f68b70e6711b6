"""Rows as points in the plane or in space: PCA, t-SNE and UMAP, seeded, so that the same rows give the same picture."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Literal

import numpy as np
from threadpoolctl import threadpool_limits

from uncone.data.batch import IntVector, Matrix, Vector
from uncone.errors import OptionError, ShapeError
from uncone.extras import require

__all__ = ["LEAST", "METHODS", "Method", "project"]

Method = Literal["pca", "tsne", "umap"]
METHODS: tuple[Method, ...] = ("pca", "tsne", "umap")
LEAST = {"pca": 1, "tsne": 5, "umap": 5}
"""The rows that each method takes at least: of fewer, every arrangement says the same."""

_NAMES = {"pca": "PCA", "tsne": "t-SNE", "umap": "UMAP"}
_PERPLEXITY = 30.0
_NEIGHBOURS = 15
_FFT = 4_000
"""Rows from which the repulsion of a plane map is interpolated; a map in space has only the tree."""
_EXACT = 5_000
"""Rows up to which neighbours are found by looking at every pair."""
_OWN, _EXACT_UMAP = 4_096, 20_000
"""Rows between which we find the neighbours for UMAP: below, it does so itself; above, only about."""
_AT_ONCE = 1_024
_FLAT = 1e-6
"""Rows that differ by less than this share of their length differ by rounding."""

Progress = Callable[[str], None]
"""Told what is being done, in a sentence."""


def project(
    vectors: Matrix, method: Method = "pca", dims: int = 2, seed: int = 0, progress: Progress | None = None
) -> Matrix:
    """The points (n, dims) of the rows (n, d), by Euclidean distance; of unit rows it has the order of the cosines.

    PCA is exact, and each axis points to where its largest part is positive. t-SNE (van der Maaten and Hinton 2008)
    and UMAP (McInnes et al. 2018) begin at the points of PCA and run on one thread, so that a seed gives one picture.
    In both, only neighbours mean something: neither the distance between far groups nor their size does. Rows that are
    all equal become one point.

    >>> project(np.array([[0.0, 0.0], [0.0, 3.0], [0.0, -3.0]]), dims=1).ravel().tolist()
    [0.0, 3.0, -3.0]

    Raises:
        OptionError: no such method, or not so many dimensions.
        ShapeError: too few rows for the method, or rows that are not finite.
        MissingPackageError: the extra `maps` is not installed.
    """
    if method not in METHODS:
        raise OptionError(f"There is no projection {method!r}; choose one of {', '.join(METHODS)}.")
    if dims not in ((1, 2, 3) if method == "pca" else (2, 3)):
        raise OptionError(f"A map has 2 or 3 dimensions (PCA also 1); we got {dims!r}.")
    rows = _checked(vectors, method)
    if method == "tsne":
        require("openTSNE", extra="maps")
    elif method == "umap":
        require("umap", extra="maps")
    rows, spread = _standing(rows)
    if spread == 0.0:
        return np.zeros((len(rows), dims))
    points = _principal(rows, dims)
    if method == "tsne":
        return _tsne(rows, points, seed, progress)
    if method == "umap":
        return _umap(rows, points, seed, progress)
    return points * spread


def _checked(vectors: Matrix, method: Method) -> Matrix:
    rows = np.asarray(vectors)
    if rows.ndim != 2 or rows.shape[1] == 0:
        raise ShapeError(f"A projection takes rows x dimensions; we got an array of shape {rows.shape}.")
    if len(rows) < LEAST[method]:
        hint = "Add rows." if method == "pca" else "Take PCA, or add rows."
        raise ShapeError(f"{_NAMES[method]} needs at least {LEAST[method]} rows; we got {len(rows)}. {hint}")
    bad = int(np.count_nonzero(~np.isfinite(rows).all(axis=1)))
    if bad:
        raise ShapeError(f"{bad:,} of {len(rows):,} rows hold NaN or infinity and have no place on a map. Drop them.")
    return rows


def _standing(rows: Matrix) -> tuple[Matrix, float]:
    """The rows about their mean, at a mean square of 1 per row, and what they were divided by: 0 if all are equal.

    About their mean, because far from zero the digits of float32 go into what all rows share.
    """
    mean = rows.mean(axis=0, dtype=np.float64)
    length = float(np.sqrt(np.vecdot(rows, rows).mean(dtype=np.float64)))
    centred = np.asarray(rows - mean, np.float64)
    spread = float(np.sqrt(np.vecdot(centred, centred).mean()))
    if spread <= _FLAT * length or spread == 0.0:
        return centred, 0.0
    return centred / spread, spread


def _principal(rows: Matrix, dims: int) -> Matrix:
    """The coordinates of centred rows along their principal directions, missing ones zero (n, dims)."""
    n, d = rows.shape
    small = rows.T @ rows if d <= n else rows @ rows.T
    values, vectors = np.linalg.eigh(small)
    values, vectors = values[::-1][:dims], vectors[:, ::-1][:, :dims]
    directions = vectors if d <= n else rows.T @ vectors / np.sqrt(np.maximum(values, np.finfo(np.float64).tiny))
    points = np.zeros((n, dims))
    held = values > 1e-12 * values[0]  # a direction without variance has no points but rounding
    points[:, : len(values)][:, held] = rows @ (directions * _signs(directions))[:, held]
    return points


def _signs(directions: Matrix) -> Vector:
    largest = np.abs(directions).argmax(axis=0)
    return np.where(directions[largest, np.arange(directions.shape[1])] < 0, -1.0, 1.0)


def _tsne(rows: Matrix, points: Matrix, seed: int, progress: Progress | None) -> Matrix:
    from openTSNE import TSNE

    n, dims = points.shape
    perplexity = min(_PERPLEXITY, (n - 1) / 3)
    _tell(progress, f"t-SNE of {n:,} rows in {dims} dimensions, perplexity {perplexity:.3g}.")
    flow = dims < 3 and n >= _FFT
    made = TSNE(
        dims,
        perplexity=perplexity,
        initialization=_start(points, 1e-4),  # as Kobak and Berens (2019) advise
        neighbors="exact" if n <= _EXACT else "annoy",
        negative_gradient_method="fft" if flow else "bh",
        random_state=seed,
        n_jobs=1,
    )
    with threadpool_limits(1):
        return np.asarray(made.fit(rows), np.float64)


def _start(points: Matrix, deviation: float) -> Matrix:
    """The points of PCA with this deviation along the first axis: where t-SNE and UMAP begin.

    Rows at one point would stay there, and an axis without spread would be divided by zero: a trace of noise, the same
    for every seed, parts them.
    """
    noise = np.random.default_rng(0).normal(scale=1e-3, size=points.shape)
    return np.asarray(deviation * (points / points[:, 0].std() + noise))


def _umap(rows: Matrix, points: Matrix, seed: int, progress: Progress | None) -> Matrix:
    n, dims = points.shape
    _tell(progress, f"UMAP of {n:,} rows in {dims} dimensions: it compiles itself first, which takes 15 to 20 seconds.")
    with warnings.catch_warnings(), threadpool_limits(1):
        # It warns of Tensorflow, which is not wanted, and of groups that no neighbour joins: a picture shows those.
        for kind in (ImportWarning, UserWarning, RuntimeWarning):
            warnings.simplefilter("ignore", kind)
        from umap import UMAP

        k = min(_NEIGHBOURS, n - 1)
        made = UMAP(
            n_neighbors=k,
            precomputed_knn=_nearest(rows, k) if _OWN <= n <= _EXACT_UMAP else (None, None, None),
            n_components=dims,
            init=_start(points, 1.0).astype(np.float32),
            random_state=seed,
            n_jobs=1,
        )
        return np.asarray(made.fit_transform(rows.astype(np.float32)), np.float64)


def _nearest(rows: Matrix, k: int) -> tuple[IntVector, Matrix, None]:
    """The k nearest rows of each, itself first, and their distances (n, k)."""
    squares = np.vecdot(rows, rows)
    near, apart = np.empty((len(rows), k), np.int64), np.empty((len(rows), k), np.float32)
    for start in range(0, len(rows), _AT_ONCE):
        block = slice(start, start + _AT_ONCE)
        distances = np.maximum(squares[block, None] + squares - 2 * (rows[block] @ rows.T), 0.0)
        distances[np.arange(len(distances)), np.arange(start, start + len(distances))] = 0.0
        few = np.argpartition(distances, k, axis=1)[:, :k]
        order = np.argsort(np.take_along_axis(distances, few, axis=1), axis=1, kind="stable")
        near[block] = np.take_along_axis(few, order, axis=1)
        apart[block] = np.sqrt(np.take_along_axis(distances, near[block], axis=1))
    return near, apart, None


def _tell(progress: Progress | None, sentence: str) -> None:
    if progress is not None:
        progress(sentence)
