"""The principal directions of measured rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from uncone.data.batch import Matrix, Vector
from uncone.errors import FitError
from uncone.repairs.rounding import rounding
from uncone.stats.moments import Moments

__all__ = ["Principal", "principal"]


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
