"""The axes of a linear projection: principal directions (PCA) or singular ones (SVD), fitted on a sample."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from uncone.data.batch import Matrix, Vector
from uncone.run.blas_threads import in_order

__all__ = ["Axes", "fit_axes", "signs_like"]

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
    kept = np.zeros((d, dims))
    kept[:, : len(values)][:, real] = (directions * _signs(directions))[:, real]
    return Axes(reference, kept, (reference - origin) @ kept, float(values[real].sum() / total), float(spread))


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
    for one, products in parts:
        sums += one
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
