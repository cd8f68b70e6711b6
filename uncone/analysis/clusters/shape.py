"""What the rows of clusters look like before and after their means are subtracted: cosines of types, and IsoScores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from uncone.analysis.clusters.centroids import scaled
from uncone.analysis.clusters.types import InClusters, Types
from uncone.analysis.spectrum.isoscore import corrected_ratio
from uncone.data.batch import IntVector, Matrix, Vector
from uncone.stats.sums.cluster_moments import Cells, runs_by_label

__all__ = ["Measured", "about_zero", "corrected_isoscore", "measure_clusters", "parts_of"]

_FRAMED_BY = 4096
"""Rows whose mean and spread are the origin and the unit of length of all products."""
_SPREAD_OVER = 8192
"""Rows that IsoScores are taken over, of all clusters together: they are corrected for their number."""
_AT_ONCE = 4096
_ROUNDING = 4.0
"""A difference of so many units in the last place of a number is rounding."""


def about_zero(vectors: Matrix, lengths: Vector, seed: int) -> tuple[Matrix, Vector]:
    """The rows about zero and of length about 1 per dimension, in float32, and what of each length is rounding."""
    places = np.sort(np.random.default_rng(seed).permutation(len(vectors))[:_FRAMED_BY])
    some = np.take(vectors, places, axis=0)
    centre, eps = some.mean(axis=0, dtype=np.float64), float(np.finfo(vectors.dtype).eps)
    some -= centre.astype(some.dtype)
    scale, size = (float(np.sqrt(np.vecdot(x, x).mean(dtype=np.float64) / len(centre))) for x in (some, centre))
    flat = scale <= _ROUNDING * eps * size
    frame = Cells(centre, centre[None], scale if not flat else size or 1.0)
    z = scaled(vectors, frame)
    own = np.sqrt(np.vecdot(z, z).astype(np.float64))
    noise = _ROUNDING * (float(np.finfo(z.dtype).eps) * own + eps * lengths / frame.scale)
    if flat:
        z[own <= noise] = 0.0
    return z, noise


@dataclass(frozen=True)
class Measured:
    """Cosines and IsoScores of all rows and of each cluster; `apart` is how far each row is from its cluster's mean."""

    raw: InClusters
    global_: InClusters
    within_raw: InClusters
    within: InClusters
    isoscores: list[float | None]
    isoscore_all: float | None
    apart: Vector


def measure_clusters(
    vectors: Matrix, lengths: Vector, z: Matrix, noise: Vector, labels: IntVector, types: Types
) -> Measured:
    """What is known before and after subtracting the means; `z` is overwritten, because a copy takes as long."""
    together, k = np.zeros_like(labels), int(labels.max()) + 1
    sums, sizes = _sums(z, labels, k), np.bincount(labels, minlength=k)
    mean = sums.sum(axis=0) / len(z)
    z -= mean.astype(z.dtype)
    apart = _lengths(z, noise)
    raw, all_ = types.inside(together, 1, (vectors, lengths), (z, apart))
    isoscore_all = _isoscores(z, apart, together, 1)
    if k == 1:
        return Measured(raw, all_, raw, all_, isoscore_all, isoscore_all[0], apart)
    shifts = (sums / sizes[:, None] - mean).astype(z.dtype)
    for part in parts_of(len(z)):
        z[part] -= shifts[labels[part]]
    apart = _lengths(z, noise)
    within_raw, within = types.inside(labels, k, (vectors, lengths), (z, apart))
    return Measured(raw, all_, within_raw, within, _isoscores(z, apart, labels, k), isoscore_all[0], apart)


def parts_of(n: int) -> list[slice]:
    """Blocks of rows that stay in a core's cache."""
    return [slice(start, start + _AT_ONCE) for start in range(0, n, _AT_ONCE)]


def _sums(z: Matrix, labels: IntVector, k: int) -> Matrix:
    """The sum of the rows of each cluster (k, d), in float64 over blocks."""
    sums, names = np.zeros((k, z.shape[1])), np.arange(k)[:, None]
    for part in parts_of(len(z)):
        sums += (names == labels[part]).astype(z.dtype) @ z[part]
    return sums


def _lengths(y: Matrix, noise: Vector) -> Vector:
    """The lengths of the rows; zero where a row is rounding."""
    lengths = np.sqrt(np.vecdot(y, y).astype(np.float64))
    return np.where(lengths > noise, lengths, 0.0)


def _isoscores(y: Matrix, lengths: Vector, labels: IntVector, k: int) -> list[float | None]:
    """The IsoScore of each cluster; of a large one, that of rows at even steps."""
    order, runs = runs_by_label(labels)
    scores: list[float | None] = [None] * k
    for label, run in runs:
        rows = order[run]
        if lengths[rows].any():
            most = _SPREAD_OVER // k
            some = rows if len(rows) <= most else rows[np.linspace(0, len(rows) - 1, most).astype(np.int64)]
            scores[label] = corrected_isoscore(np.take(y, some, axis=0))
    return scores


def corrected_isoscore(rows: Matrix) -> float | None:
    """(PR - 1)/(d - 1) with the participation ratio PR corrected for the number of rows; None where it has none.

    >>> corrected_isoscore(np.array([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0], [5.0, 0.0]]))
    0.0
    """
    n, d = rows.shape
    if n < 4 or d < 2:
        return None
    y = rows - rows.mean(axis=0)
    squared = np.vecdot(y, y).astype(np.float64)
    products = y.T @ y if n > d else y @ y.T
    trace, squares = float(squared.sum()) / (n - 1), float(np.square(products, dtype=np.float64).sum()) / (n - 1) ** 2
    ratio = corrected_ratio(n, trace, squares, float((squared**2).sum()))
    return None if ratio is None else min(max((ratio - 1) / (d - 1), 0.0), 1.0)
