"""Vectors at length 1, and the cosines of vectors that belong together."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uncone.data.batch import IntVector
from uncone.errors import DtypeError, NoUsableRowsError, ShapeError

__all__ = ["BLOCK", "Units", "checked_units", "pair_cosines", "unit_rows", "unit_vector", "units_of"]


def unit_rows(vectors: ArrayLike) -> NDArray[np.float64]:
    """The rows at length 1; NaN if a row is zero or not finite and so has no direction."""
    rows: NDArray[Any] = np.asarray(vectors, np.float64)
    # Scaled first, so that the squares of very large and very small rows stay in range.
    largest = np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        scaled = rows / np.where(np.isfinite(largest) & (largest > 0), largest, np.nan)
        return np.asarray(scaled / np.linalg.norm(scaled, axis=1, keepdims=True))


def pair_cosines(left: ArrayLike, right: ArrayLike) -> NDArray[np.float64]:
    """The cosine of each row of `left` (n, d) with the same row of `right`; NaN if one has no direction.

    >>> pair_cosines([[1.0, 0.0], [0.0, 0.0]], [[1.0, 1.0], [1.0, 1.0]]).round(3)
    array([0.707,   nan])

    Raises:
        ShapeError: they are not of one shape.
    """
    if np.shape(left) != np.shape(right) or np.ndim(left) != 2:
        raise ShapeError(f"Pairs need two tables of one shape, not {np.shape(left)} and {np.shape(right)}.")
    return np.asarray(np.vecdot(unit_rows(left), unit_rows(right)).clip(-1.0, 1.0))


Units = NDArray[np.float32]

BLOCK = 8192
"""Vectors that are converted to float64 at a time."""
_TOLERANCE = 1e-3
"""How far from 1 a length may be: float16 vectors that were normalized elsewhere are fine."""


def units_of(vectors: ArrayLike) -> tuple[Units, IntVector]:
    """Unit vectors (m, d) of the rows that have a direction, and the numbers of these rows (m,).

    Rows that are zero, NaN or infinite have none and are left out.

    >>> units, rows = units_of([[3.0, 4.0], [0.0, 0.0], [0.0, -2.0]])
    >>> units.round(1).tolist(), rows.tolist()
    ([[0.6000000238418579, 0.800000011920929], [0.0, -1.0]], [0, 2])

    Raises:
        ShapeError: not a table.
        NoUsableRowsError: no row has a direction.
    """
    table = np.asarray(vectors)
    if table.ndim != 2:
        raise ShapeError(f"Vectors are a table of rows x dimensions; this has the shape {table.shape}.")
    units = np.empty(table.shape, np.float32)
    for start in range(0, len(table), BLOCK):
        units[start : start + BLOCK] = unit_rows(table[start : start + BLOCK])
    usable = np.flatnonzero(np.isfinite(units).all(axis=1)) if table.shape[1] else np.empty(0, np.int64)
    if not len(usable):
        raise NoUsableRowsError(f"None of the {len(table):,} vectors has a direction: each is zero, NaN or infinite.")
    return (units if len(usable) == len(units) else units[usable]), usable


def unit_vector(vector: ArrayLike) -> Units:
    """One vector at length 1.

    Raises:
        ShapeError: it is not one vector.
        NoUsableRowsError: it has no direction.
    """
    values = np.asarray(vector)
    if values.ndim != 1:
        raise ShapeError(f"We need one vector (d,); this has the shape {values.shape}.")
    unit = unit_rows(values[None])[0].astype(np.float32)
    if not len(unit) or not np.isfinite(unit).all():
        raise NoUsableRowsError("The vector has no direction: it is zero, NaN or infinite. Try another text.")
    return np.asarray(unit)


def checked_units(units: ArrayLike) -> Units:
    """The same vectors as contiguous float32, after a check that they have length 1.

    Raises:
        ShapeError: not a table.
        DtypeError: a vector is not finite or not of length 1.
    """
    table: Units = np.ascontiguousarray(units, np.float32)
    if np.ndim(units) != 2:
        raise ShapeError(f"Unit vectors are a table of rows x dimensions; these have the shape {np.shape(units)}.")
    lengths = np.sqrt(np.vecdot(table, table))
    off = np.flatnonzero(~(np.abs(lengths - 1) <= _TOLERANCE))
    if len(off):
        first = int(off[0])
        raise DtypeError(
            f"Row {first} has the length {lengths[first]:.4g}, and we need vectors of length 1. "
            "units_of(vectors) makes them, and leaves out vectors without a direction."
        )
    return table
