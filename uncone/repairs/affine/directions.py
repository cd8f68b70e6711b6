"""The principal directions of measured rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from uncone.data.batch import Matrix, Vector
from uncone.errors import FitError
from uncone.repairs.affine.rounding import rounding
from uncone.stats.moments import Moments

__all__ = ["Principal", "leading", "principal"]

_LARGE = 256
"""Dimensions from which a few directions are found faster by products than by taking the whole matrix apart."""
_STEPS = range(7, 16, 2)
"""After which products the directions are looked at; when those after the last are not exact, the matrix is taken
apart."""
_EXACT = 1e-11


class Principal(NamedTuple):
    """Variances, largest first (d,), directions as columns, and the variance in each that is only rounding (d,).

    A variance that is only rounding may be negative.
    """

    variances: Vector
    directions: Matrix
    floors: Vector


def principal(moments: Moments, noise: Vector | None, kind: str) -> Principal:
    """The principal directions, each with its largest part positive; `noise` is the rounding of each dimension.

    Raises:
        FitError: there is no variance but for rounding.
    """
    noise = rounding(moments, moments.dtype) if noise is None else noise
    values, vectors = np.linalg.eigh(moments.covariance)
    values, vectors = values[::-1], vectors[:, ::-1]
    floors = (vectors**2).T @ noise
    if not (values > floors).any():
        raise FitError(f"{kind}: all {moments.n:,} rows are equal, so there is no direction to learn. Add other rows.")
    largest = np.abs(vectors).argmax(axis=0)
    signs = np.where(vectors[largest, np.arange(len(values))] < 0, -1.0, 1.0)
    return Principal(values, vectors * signs, floors)


def leading(matrix: Matrix, p: int) -> tuple[Vector, Matrix]:
    """The p largest eigenvalues of a symmetric matrix, largest first, and their directions as columns (d, p).

    >>> values, directions = leading(np.diag([1.0, 4.0, 9.0]), 2)
    >>> values.tolist(), np.abs(directions).round(6).tolist()
    ([9.0, 4.0], [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    """
    from scipy.linalg import eigh

    dim = len(matrix)
    found = _by_products(matrix, p) if p and dim >= max(_LARGE, 32 * p) else None
    if found is None:
        values, vectors = eigh(matrix, subset_by_index=[dim - p, dim - 1])
        found = values[::-1], vectors[:, ::-1]
    return found


def _by_products(matrix: Matrix, p: int) -> tuple[Vector, Matrix] | None:
    """Block Lanczos: the best directions in the span of Q, AQ, A(AQ) ...; None when they are not exact soon.

    Unlike LAPACK's routines here it lets other threads run.
    """
    dim, width = len(matrix), p + 4
    basis, images = (np.empty((dim, width * (_STEPS[-1] + 1))) for _ in range(2))
    new: Matrix = np.random.default_rng(0).standard_normal((dim, width))
    for step in range(_STEPS[-1] + 1):
        known, here = basis[:, : step * width], slice(step * width, (step + 1) * width)
        for _ in range(2):  # once leaves what rounding has brought back
            new = np.linalg.qr(new - known @ (known.T @ new))[0]
        basis[:, here] = new
        new = images[:, here] = matrix @ new
        if step in _STEPS:
            spanned, turned = basis[:, : here.stop], images[:, : here.stop]
            small = spanned.T @ turned
            values, mixed = np.linalg.eigh((small + small.T) / 2)
            values, mixed = values[::-1][:p], mixed[:, ::-1][:, :p]
            vectors = spanned @ mixed
            if np.linalg.norm(turned @ mixed - vectors * values, axis=0).max() <= _EXACT * values[0]:
                return values, vectors
    return None
