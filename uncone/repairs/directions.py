"""Rounding and directions: which digits of a variance are real, reproducible products, principal directions."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from uncone.data.batch import Matrix, Vector
from uncone.data.source import Source
from uncone.errors import FitError
from uncone.run.measure import Plan
from uncone.run.threads import one_blas_thread
from uncone.stats.moments import Moments

__all__ = ["COARSE", "Principal", "grain", "leading", "precision", "principal", "product", "rounding"]

COARSE = 1e3
"""Float32 products place a variance to 4e-8 of that of the dimensions (measured), a 25th of what `rounding` allows:
what is less than so many times the rounding is not known to 1e-4."""

_WORTH_A_LOOK = 1 << 14
"""Numbers of a factor from which it pays to look for the columns that float32 rounds by place."""
_DOZENS = 48
_MANY_DOZENS = 85 * _DOZENS
_FEW = 32_768
_GRAIN = 16  # how many rounding steps of a stored number count as no variance


def precision(source: Source, plan: Plan) -> np.dtype[np.generic]:
    """The precision of the products: float64 if it costs little, or if the rows can be read only once."""
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
    """The part of it that comes from the stored numbers (d,): their squared spacing."""
    squares = moments.variances + moments.mean**2
    return np.asarray((_GRAIN * float(np.finfo(dtype).eps)) ** 2 * squares)


def product(rows: Matrix, factor: NDArray[Any], out: Matrix | None = None) -> Matrix:
    """`rows @ factor`, in which copies of a row get the same digits at any position.

    The kernels of some processors round a row by its place in the product, so that copies would count as distinct
    vectors. There, float32 products are computed in float64 and rounded, and float64 products row by row. Of products
    with one BLAS thread that happens in a few columns alone, if the rows come by the dozen: only these are in float64.
    """
    if not _rounds_by_place(rows.dtype):
        return np.matmul(rows, factor, out=out)
    if rows.dtype == np.float64:
        return np.asarray(np.einsum("nd,dm->nm", rows, factor, out=out))
    columns = _columns_by_place(*factor.shape) if factor.size >= _WORTH_A_LOOK else None
    if columns is not None:
        return _by_dozens(
            rows, factor, columns, np.empty((len(rows), factor.shape[1]), rows.dtype) if out is None else out
        )
    precise = (rows.astype(np.float64) @ factor.astype(np.float64)).astype(rows.dtype)
    if out is None:
        return precise
    out[...] = precise
    return out


def _by_dozens(rows: Matrix, factor: NDArray[Any], columns: NDArray[np.intp], out: Matrix) -> Matrix:
    """The product in float32 for rows by the dozen, but for these columns."""
    whole = len(rows) - len(rows) % _DOZENS
    for start in range(0, whole, _MANY_DOZENS):
        part = slice(start, min(start + _MANY_DOZENS, whole))
        np.matmul(rows[part], factor, out=out[part])
    if whole < len(rows):
        last = np.zeros((_DOZENS, rows.shape[1]), rows.dtype)
        last[: len(rows) - whole] = rows[whole:]
        out[whole:] = (last @ factor)[: len(rows) - whole]
    if columns.size:
        out[:, columns] = rows.astype(np.float64) @ factor[:, columns].astype(np.float64)
    return out


@cache
def _columns_by_place(dim: int, width: int) -> NDArray[np.intp] | None:
    """The columns in which float32 products of rows by the dozen differ by place; None if they are too many.

    Kernels work on eight columns at least, so that all of these eight count as different if one is.
    """
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((_MANY_DOZENS // _DOZENS, dim), dtype=np.float32)
    factor = rng.standard_normal((dim, width), dtype=np.float32)
    with one_blas_thread():
        many = (np.repeat(rows, _DOZENS, axis=0) @ factor).reshape(len(rows), _DOZENS, width)
        few = np.stack([np.tile(row, (_DOZENS, 1)) @ factor for row in rows])
    differ = np.flatnonzero(((many != few[:, :1]) | (few != few[:, :1])).any(axis=(0, 1)))
    columns = (np.unique(differ // 8)[:, None] * 8 + np.arange(8)).ravel()
    return columns[columns < width] if len(columns) <= width // 4 else None


@cache
def _rounds_by_place(dtype: np.dtype[Any]) -> bool:
    """Whether products of this process give copies of a row different digits."""
    rng = np.random.default_rng(0)
    for n, dim in ((50, 16), (300, 64), (512, 100)):
        mapped = np.tile(rng.normal(size=dim), (n, 1)).astype(dtype) @ rng.normal(size=(dim, dim)).astype(dtype)
        if (mapped != mapped[0]).any():
            return True
    return False


_LARGE = 256
"""Dimensions from which a few directions are found faster by products than by taking the whole matrix apart."""
_STEPS = range(7, 16, 2)
"""After which products the directions are looked at; when those after the last are not exact, the matrix is taken
apart."""
_EXACT = 1e-11


class Principal(NamedTuple):
    """Variances, largest first (d,), directions as columns, and the rounding variance of each (d,).

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
        raise FitError(f"{kind}: all {moments.n:,} vectors are equal, so there is no direction to learn. Add others.")
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
    result = _by_products(matrix, p) if p and dim >= max(_LARGE, 32 * p) else None
    if result is None:
        values, vectors = eigh(matrix, subset_by_index=[dim - p, dim - 1])
        result = values[::-1], vectors[:, ::-1]
    return result


def _by_products(matrix: Matrix, p: int) -> tuple[Vector, Matrix] | None:
    """Block Lanczos: the best directions in the span of Q, AQ, A(AQ) ...; None if they do not converge soon.

    Unlike LAPACK's routines here it lets other threads run.
    """
    dim, width = len(matrix), p + 4
    basis, images = (np.empty((dim, width * (_STEPS[-1] + 1))) for _ in range(2))
    new: Matrix = np.random.default_rng(0).standard_normal((dim, width))
    for step in range(_STEPS[-1] + 1):
        previous, block = basis[:, : step * width], slice(step * width, (step + 1) * width)
        for _ in range(2):  # twice, because rounding leaves a rest after the first
            new = np.linalg.qr(new - previous @ (previous.T @ new))[0]
        basis[:, block] = new
        new = images[:, block] = matrix @ new
        if step in _STEPS:
            spanned, turned = basis[:, : block.stop], images[:, : block.stop]
            small = spanned.T @ turned
            values, mixed = np.linalg.eigh((small + small.T) / 2)
            values, mixed = values[::-1][:p], mixed[:, ::-1][:, :p]
            vectors = spanned @ mixed
            if np.linalg.norm(turned @ mixed - vectors * values, axis=0).max() <= _EXACT * values[0]:
                return values, vectors
    return None
