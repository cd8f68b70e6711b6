"""Rounding: which digits of a measured variance are real, and products that give copies of a vector the same digits."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from uncone.data.batch import Matrix, Vector
from uncone.data.source import Source
from uncone.run.measure import Plan
from uncone.stats.moments import Moments

__all__ = ["COARSE", "grain", "precision", "product", "rounding"]

COARSE = 1e3
"""Float32 products place a variance to 4e-8 of that of the dimensions (measured), a 25th of what `rounding` allows:
what is less than so many times the rounding is not known to 1e-4."""

_FEW = 32_768
_GRAIN = 16  # how many rounding steps of a stored number count as no variance


def precision(source: Source, plan: Plan) -> np.dtype[np.generic]:
    """The precision of the products: float64 where it costs little, or where there is no second look at the rows."""
    few = source.rows is None or source.rows < _FEW or not source.rereadable
    return np.dtype(np.float64 if few else plan.dtype)


def rounding(moments: Moments, dtype: DTypeLike) -> Vector:
    """The variance that each dimension (d,) has by rounding alone: of numbers in `dtype`, of products, of eigenvalues.

    By dimension, because the rounding of one that is a thousand times longer does not blur the others.
    """
    variances = moments.variances
    products = 1e-6 if moments.dtype == np.float32 else 1e-15 * max(moments.dim, 10)
    return np.asarray(grain(moments, dtype) + products * variances + 4e-15 * float(variances.max(initial=0.0)))


def grain(moments: Moments, dtype: DTypeLike) -> Vector:
    """Of that, what the numbers themselves have (d,): their steps, squared."""
    squares = moments.variances + moments.mean**2
    return np.asarray((_GRAIN * float(np.finfo(dtype).eps)) ** 2 * squares)


def product(rows: Matrix, factor: NDArray[Any], out: Matrix | None = None) -> Matrix:
    """`rows @ factor`, in which copies of a row get the same digits, wherever they stand.

    The kernels of some processors round a row by its place in the product, so that copies would count as distinct
    vectors. There, float32 products are computed in float64 and rounded, and float64 products row by row.
    """
    if not _rounds_by_place(rows.dtype):
        return np.matmul(rows, factor, out=out)
    if rows.dtype == np.float64:
        return np.asarray(np.einsum("nd,dm->nm", rows, factor, out=out))
    precise = (rows.astype(np.float64) @ factor.astype(np.float64)).astype(rows.dtype)
    if out is None:
        return precise
    out[...] = precise
    return out


@cache
def _rounds_by_place(dtype: np.dtype[Any]) -> bool:
    """Whether products of this process give copies of a row different digits."""
    rng = np.random.default_rng(0)
    for n, dim in ((50, 16), (300, 64), (512, 100)):
        mapped = np.tile(rng.normal(size=dim), (n, 1)).astype(dtype) @ rng.normal(size=(dim, dim)).astype(dtype)
        if (mapped != mapped[0]).any():
            return True
    return False
