"""Vectors as points in the plane or in space; the same vectors and seed give the same picture."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Literal

import numpy as np
from threadpoolctl import threadpool_limits

from uncone.analysis.neighbors.search import nearest
from uncone.analysis.projections.axes import Axes, fit_axes
from uncone.analysis.projections.results import METHOD_NAMES
from uncone.data.batch import IntVector, Matrix
from uncone.errors import OptionError, ShapeError
from uncone.extras import require

__all__ = ["FLAT", "LEAST", "Method", "Progress", "check_method", "check_rows", "project"]

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
        OptionError: no such method, or not so many dimensions.
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
        OptionError: no such method, or not so many dimensions.
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
