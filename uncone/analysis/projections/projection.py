"""Rows as points in the plane or in space, seeded: the same rows and the same seed give the same picture."""

from __future__ import annotations

from typing import Literal

import numpy as np

from uncone.analysis.projections.axes import Axes, fit_axes
from uncone.analysis.projections.layouts import Progress, tsne_points, umap_points
from uncone.data.batch import Matrix
from uncone.errors import OptionError, ShapeError
from uncone.extras import require

__all__ = ["FLAT", "LEAST", "METHODS", "NAMES", "Method", "check_method", "check_rows", "project"]

Method = Literal["pca", "svd", "tsne", "umap"]
METHODS: tuple[Method, ...] = ("pca", "svd", "tsne", "umap")
FLAT = ("pca", "svd")
"""Methods whose picture is a shadow of the rows: it has axes, and any number of rows can be put on it."""
LEAST = {"pca": 1, "svd": 1, "tsne": 5, "umap": 5}
"""The rows that each method takes at least: of fewer, every arrangement says the same."""
NAMES = {"pca": "PCA", "svd": "SVD", "tsne": "t-SNE", "umap": "UMAP"}

_PACKAGES = {"tsne": "openTSNE", "umap": "umap"}


def project(
    vectors: Matrix,
    method: Method = "pca",
    dims: int = 2,
    seed: int = 0,
    progress: Progress | None = None,
    axes: Axes | None = None,
) -> Matrix:
    """The points (n, dims) of the rows (n, d), by Euclidean distance; of unit rows it has the order of the cosines.

    PCA is exact, and each axis points to where its largest part is positive; SVD is the same without subtracting the
    mean, so that the first axis of a cone is the cone's own. t-SNE (van der Maaten and Hinton 2008) and
    UMAP (McInnes et al. 2018) begin at the points of PCA and run on one thread, so that a seed gives one picture. In
    these, only neighbours mean something: neither the distance between far groups nor their size does. Rows that are
    all equal become one point. `axes`, where they are known already, are those of PCA or SVD.

    >>> project(np.array([[0.0, 0.0], [0.0, 3.0], [0.0, -3.0]]), dims=1).ravel().tolist()
    [0.0, 3.0, -3.0]

    Raises:
        OptionError: no such method, or not so many dimensions.
        ShapeError: too few rows for the method, or rows that are not finite.
        MissingPackageError: the extra `maps` is not installed.
    """
    check_method(method, dims)
    rows = check_rows(vectors, method)
    axes = axes or fit_axes(rows, dims, centred=method != "svd")
    if axes.spread == 0.0:
        return np.zeros((len(rows), dims))
    points = axes.points(rows)
    if method in FLAT:
        return points
    mean = rows.mean(axis=0, dtype=np.float64)
    standing = np.asarray(rows - mean, np.float64) / axes.spread
    make = {"tsne": tsne_points, "umap": umap_points}[method]
    return make(standing, points, seed, progress)


def check_method(method: str, dims: int) -> None:
    """Refuse what cannot be drawn, and say how to get what is missing, before anything is read.

    Raises:
        OptionError: no such method, or not so many dimensions.
        MissingPackageError: the extra `maps` is not installed.
    """
    if method not in METHODS:
        raise OptionError(f"There is no projection {method!r}; choose one of {', '.join(METHODS)}.")
    if dims not in ((1, 2, 3) if method in FLAT else (2, 3)):
        raise OptionError(f"A map has 2 or 3 dimensions (PCA also 1); we got {dims!r}.")
    if method in _PACKAGES:
        require(_PACKAGES[method], extra="maps")


def check_rows(vectors: Matrix, method: Method) -> Matrix:
    """The rows, if the method can make a picture of them.

    Raises:
        ShapeError: too few rows, or rows that are not finite.
    """
    rows = np.asarray(vectors)
    if rows.ndim != 2 or rows.shape[1] == 0:
        raise ShapeError(f"A projection takes rows x dimensions; we got an array of shape {rows.shape}.")
    if len(rows) < LEAST[method]:
        hint = "Add rows." if method in FLAT else "Take PCA, or add rows."
        raise ShapeError(f"{NAMES[method]} needs at least {LEAST[method]} rows; we got {len(rows)}. {hint}")
    bad = int(np.count_nonzero(~np.isfinite(rows).all(axis=1)))
    if bad:
        raise ShapeError(f"{bad:,} of {len(rows):,} rows hold NaN or infinity and have no place on a map. Drop them.")
    return rows
