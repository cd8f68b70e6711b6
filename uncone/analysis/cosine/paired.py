"""Cosines of rows that belong together."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uncone.errors import ShapeError

__all__ = ["pair_cosines", "unit_rows"]


def unit_rows(vectors: ArrayLike) -> NDArray[np.float64]:
    """The rows at length 1; NaN where a row is zero or not finite and so has no direction."""
    rows: NDArray[Any] = np.asarray(vectors, np.float64)
    # Scaled first, so that the squares of very large and very small rows stay in range.
    largest = np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        scaled = rows / np.where(np.isfinite(largest) & (largest > 0), largest, np.nan)
        return np.asarray(scaled / np.linalg.norm(scaled, axis=1, keepdims=True))


def pair_cosines(left: ArrayLike, right: ArrayLike) -> NDArray[np.float64]:
    """The cosine of each row of `left` (n, d) with the same row of `right`; NaN where one has no direction.

    >>> pair_cosines([[1.0, 0.0], [0.0, 0.0]], [[1.0, 1.0], [1.0, 1.0]]).round(3)
    array([0.707,   nan])

    Raises:
        ShapeError: they are not of one shape.
    """
    if np.shape(left) != np.shape(right) or np.ndim(left) != 2:
        raise ShapeError(f"Pairs need two tables of one shape, not {np.shape(left)} and {np.shape(right)}.")
    return np.asarray(np.vecdot(unit_rows(left), unit_rows(right)).clip(-1.0, 1.0))
