"""Vectors as points in the plane or in space, by PCA, SVD, t-SNE or UMAP; the same seed gives the same picture."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from threadpoolctl import threadpool_limits

from uncone.analysis.neighbors.search import nearest
from uncone.analysis.projections.results import METHOD_NAMES
from uncone.data.batch import IntVector, Matrix, Vector
from uncone.errors import OptionError, ShapeError, require
from uncone.run.threads import in_order

__all__ = [
    "FLAT",
    "LEAST",
    "Axes",
    "Method",
    "Progress",
    "check_method",
    "check_rows",
    "fit_axes",
    "project",
    "signs_like",
]

_SMALL = 1 << 22
"""Matrix entries up to which double precision is fast enough."""
_BLOCK = 4096
_FLAT = 1e-6
"""Vectors that differ by less than this share of their length are equal up to rounding."""
_MINIMUM = {8: 1e-12, 4: 1e-7}
"""The share of the first eigenvalue, by bytes per number, below which a direction is rounding."""


@dataclass(frozen=True)
class Axes:
    """A projection onto a few directions: x becomes (x - reference) V + offset, with V (d, dims).

    `explained` is the share of the variance on these axes (SVD: of the squared length), `spread` the root of the mean
    squared distance from the mean: 0 if all vectors are equal and become one point.
    """

    reference: Vector
    directions: Matrix
    offset: Vector
    explained: float
    spread: float

    def points(self, rows: Matrix) -> Matrix:
        """The points (n, dims) of vectors (n, d), in blocks, on all cores."""
        if len(rows) <= _BLOCK:
            return self.points_here(rows)
        return np.concatenate(list(in_order(self.points_here, _blocks(rows))))

    def points_here(self, rows: Matrix) -> Matrix:
        """The same, in this thread."""
        # Relative to the reference, because far from zero float32 spends its digits on what all vectors share.
        reference, directions = self.reference.astype(rows.dtype), self.directions.astype(rows.dtype)
        rest = (reference - self.reference) @ self.directions  # what rounding the reference subtracts too much
        return np.asarray((rows - reference) @ directions + (self.offset + rest), np.float64)

    def flipped(self, signs: Vector) -> Axes:
        """The same with some axes reversed."""
        return Axes(self.reference, self.directions * signs, self.offset * signs, self.explained, self.spread)


def fit_axes(rows: Matrix, dims: int, *, centered: bool = True) -> Axes:
    """The `dims` directions with most of the variance of vectors (n, d); without `centered`, of their squared length.

    Each points to where its largest coefficient is positive. Missing directions are zero.

    >>> axes = fit_axes(np.array([[0.0, 0.0], [0.0, 3.0], [0.0, -3.0]]), 2)
    >>> axes.points(np.array([[5.0, 2.0]])).tolist(), axes.explained
    ([[2.0, 0.0]], 1.0)
    """
    rows = rows.astype(np.float64) if rows.size <= _SMALL else rows
    n, d = rows.shape
    reference = rows[:_BLOCK].mean(axis=0, dtype=np.float64).astype(rows.dtype).astype(np.float64)
    sums, small = _products(rows, reference, tall=d <= n)
    shift = sums / n
    mean = reference + shift
    spread = np.sqrt(max(float(np.trace(small)) / n - float(shift @ shift), 0.0))
    length = np.hypot(spread, np.linalg.norm(mean))
    if spread <= _FLAT * length or spread == 0.0:
        return Axes(mean, np.zeros((d, dims)), np.zeros(dims), 0.0, 0.0)
    origin = mean if centered else np.zeros(d)
    if d <= n:
        small = small - n * np.outer(shift, shift)
        small = small if centered else small + n * np.outer(mean, mean)
    else:
        about = rows.astype(np.float64) - origin
        small = about @ about.T
    total = float(np.trace(small))
    values, vectors = _largest(small, dims)
    directions = vectors if d <= n else about.T @ vectors / np.sqrt(np.maximum(values, np.finfo(np.float64).tiny))
    real = values > _MINIMUM[rows.dtype.itemsize] * values[0]  # a direction without variance is rounding
    basis = np.zeros((d, dims))
    basis[:, : len(values)][:, real] = (directions * _signs(directions))[:, real]
    return Axes(reference, basis, (reference - origin) @ basis, float(values[real].sum() / total), float(spread))


def signs_like(points: Matrix, others: Matrix) -> Vector:
    """The sign, 1 or -1, that makes each axis of the points run in the direction of the other points.

    >>> signs_like(np.array([[1.0, 2.0], [2.0, 1.0]]), np.array([[-1.0, 2.0], [-2.0, 1.0]])).tolist()
    [-1.0, 1.0]
    """
    if not len(points):
        return np.ones(points.shape[1])
    along = ((points - points.mean(axis=0)) * (others - others.mean(axis=0))).sum(axis=0)
    return np.where(along < 0, -1.0, 1.0)


def _products(rows: Matrix, reference: Vector, *, tall: bool) -> tuple[Vector, Matrix]:
    """The sums of y and of y y' over the vectors, y = x - reference; of wide vectors only the trace of the second."""

    def of(block: Matrix) -> tuple[Vector, Matrix]:
        y = block - reference.astype(block.dtype)
        squares = y.T @ y if tall else np.diag(np.vecdot(y, y))
        return y.sum(axis=0, dtype=np.float64), squares

    sums, squares = np.zeros(rows.shape[1]), np.zeros((rows.shape[1],) * 2) if tall else np.zeros((1, 1))
    parts = in_order(of, _blocks(rows)) if len(rows) > _BLOCK else iter([of(rows)])
    for total, products in parts:
        sums += total
        squares += products if tall else np.trace(products)
    return sums, squares


def _blocks(rows: Matrix) -> Iterator[Matrix]:
    return (rows[start : start + _BLOCK] for start in range(0, len(rows), _BLOCK))


def _largest(symmetric: Matrix, k: int) -> tuple[Vector, Matrix]:
    """The k largest eigenvalues, largest first, and their eigenvectors; fewer of a smaller matrix."""
    from scipy.linalg import eigh

    m = len(symmetric)
    values, vectors = eigh(symmetric, subset_by_index=(max(m - k, 0), m - 1))
    return np.maximum(values[::-1], 0.0), vectors[:, ::-1]


def _signs(directions: Matrix) -> Vector:
    largest = np.abs(directions).argmax(axis=0)
    return np.where(directions[largest, np.arange(directions.shape[1])] < 0, -1.0, 1.0)


Method = Literal["pca", "svd", "tsne", "umap"]
Progress = Callable[[str], None]
"""Receives a sentence about the current step."""
FLAT = ("pca", "svd")
"""Linear methods: the picture has axes, and any number of vectors can be projected onto them."""
LEAST = {"pca": 1, "svd": 1, "tsne": 5, "umap": 5}
"""The minimum number of vectors of each method."""

_PACKAGES = {"tsne": "openTSNE", "umap": "umap"}
_PERPLEXITY, _UMAP_NEIGHBORS = 30.0, 15
_FFT = 4_000
"""Vectors from which t-SNE in the plane interpolates the repulsion; in space it always uses a tree."""
_EXACT_TSNE = 5_000
"""Vectors up to which t-SNE compares every pair to find neighbors."""
_EXACT_UMAP = (4_096, 20_000)
"""Numbers of vectors between which we search UMAP's neighbors: below, it is exact itself; above, approximate."""


def project(
    vectors: Matrix,
    method: Method = "pca",
    dims: int = 2,
    seed: int = 0,
    progress: Progress | None = None,
    axes: Axes | None = None,
) -> Matrix:
    """The points (n, dims) of vectors (n, d), by Euclidean distance; for unit vectors, it orders pairs as cosine does.

    PCA is exact, and each axis points to where its largest coefficient is positive; SVD is the same without centering,
    so that the first axis of a cone is the cone's own. t-SNE (van der Maaten and Hinton 2008) and UMAP (McInnes et al.
    2018) start from PCA and run on one thread, for one picture per seed; in these only neighbors are meaningful, not
    the distance between far groups or their size. Equal vectors become one point. `axes` are those of PCA or SVD if
    they are known already.

    >>> project(np.array([[0.0, 0.0], [0.0, 3.0], [0.0, -3.0]]), dims=1).ravel().tolist()
    [0.0, 3.0, -3.0]

    Raises:
        OptionError: no such method or number of dimensions.
        ShapeError: too few vectors for the method, or vectors that are not finite.
        MissingPackageError: the extra `maps` is not installed.
    """
    check_method(method, dims)
    rows = check_rows(vectors, method)
    axes = axes or fit_axes(rows, dims, centered=method != "svd")
    if axes.spread == 0.0:
        return np.zeros((len(rows), dims))
    points = axes.points(rows)
    if method in FLAT:
        return points
    standardized = np.asarray(rows - rows.mean(axis=0, dtype=np.float64), np.float64) / axes.spread
    return {"tsne": _tsne, "umap": _umap}[method](standardized, points, seed, progress or (lambda _: None))


def check_method(method: str, dims: int) -> None:
    """Refuse an impossible picture, or a method that is not installed, before anything is read.

    Raises:
        OptionError: no such method or number of dimensions.
        MissingPackageError: the extra `maps` is not installed.
    """
    if method not in METHOD_NAMES:
        raise OptionError(f"There is no projection {method!r}; choose one of {', '.join(METHOD_NAMES)}.")
    if dims not in ((1, 2, 3) if method in FLAT else (2, 3)):
        raise OptionError(f"A map has 2 or 3 dimensions (PCA also 1); we got {dims!r}.")
    if method in _PACKAGES:
        require(_PACKAGES[method], extra="maps")


def check_rows(vectors: Matrix, method: Method) -> Matrix:
    """The vectors, if the method can make a picture of them.

    Raises:
        ShapeError: too few vectors, or vectors that are not finite.
    """
    rows = np.asarray(vectors)
    if rows.ndim != 2 or rows.shape[1] == 0:
        raise ShapeError(f"A projection takes rows x dimensions; we got an array of shape {rows.shape}.")
    if len(rows) < LEAST[method]:
        hint = "Add vectors." if method in FLAT else "Use PCA, or add vectors."
        raise ShapeError(f"{METHOD_NAMES[method]} needs at least {LEAST[method]} vectors; we got {len(rows)}. {hint}")
    bad = int(np.count_nonzero(~np.isfinite(rows).all(axis=1)))
    if bad:
        raise ShapeError(
            f"{bad:,} of {len(rows):,} vectors contain NaN or infinity and have no place on a map. Drop them."
        )
    return rows


def _tsne(rows: Matrix, start: Matrix, seed: int, progress: Progress) -> Matrix:
    from openTSNE import TSNE

    n, dims = start.shape
    perplexity = min(_PERPLEXITY, (n - 1) / 3)
    progress(f"t-SNE of {n:,} vectors in {dims} dimensions, perplexity {perplexity:.3g}.")
    model = TSNE(
        dims,
        perplexity=perplexity,
        initialization=_start(start, 1e-4),  # as Kobak and Berens (2019) advise
        neighbors="exact" if n <= _EXACT_TSNE else "annoy",
        negative_gradient_method="fft" if dims < 3 and n >= _FFT else "bh",
        random_state=seed,
        n_jobs=1,
    )
    with threadpool_limits(1):
        return np.asarray(model.fit(rows), np.float64)


def _umap(rows: Matrix, start: Matrix, seed: int, progress: Progress) -> Matrix:
    n, dims = start.shape
    progress(f"UMAP of {n:,} vectors in {dims} dimensions: it compiles itself first, which takes 15 to 20 seconds.")
    with warnings.catch_warnings(), threadpool_limits(1):
        # It warns that Tensorflow is missing, and of groups that no neighbor joins: a picture shows those.
        for kind in (ImportWarning, UserWarning, RuntimeWarning):
            warnings.simplefilter("ignore", kind)
        from umap import UMAP

        k, (low, high) = min(_UMAP_NEIGHBORS, n - 1), _EXACT_UMAP
        model = UMAP(
            n_neighbors=k,
            precomputed_knn=(*_nearest(rows, k), None) if low <= n <= high else (None, None, None),
            n_components=dims,
            init=_start(start, 1.0).astype(np.float32),
            random_state=seed,
            n_jobs=1,
        )
        return np.asarray(model.fit_transform(rows.astype(np.float32)), np.float64)


def _start(points: Matrix, deviation: float) -> Matrix:
    """The points of PCA, with this deviation along the first axis.

    Equal vectors would stay together, and an axis without spread would divide by zero: a little noise, the same for
    every seed, separates them.
    """
    noise = np.random.default_rng(0).normal(scale=1e-3, size=points.shape)
    return np.asarray(deviation * (points / points[:, 0].std() + noise))


def _nearest(rows: Matrix, k: int) -> tuple[IntVector, Matrix]:
    """The k nearest vectors of each, itself first, and their distances (n, k)."""
    own = np.arange(len(rows))
    neighbors = nearest(rows, rows, k - 1, metrics=("euclidean",), own=own)["euclidean"]
    places = np.concatenate([own[:, None], neighbors.places], axis=1)
    return places, np.pad(neighbors.distances, ((0, 0), (1, 0))).astype(np.float32)
