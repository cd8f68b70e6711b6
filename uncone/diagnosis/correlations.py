"""Correlations of two columns, None where they are undefined, and the interval of one."""

from __future__ import annotations

import math

import numpy as np

from uncone.data.batch import Vector
from uncone.diagnosis.intervals import Interval

__all__ = ["adjusted_r2", "fisher", "midranks", "pearson", "spearman"]

_NORMAL = 1.959963984540054
_NOISE = 1e-12
"""A spread so small beside the largest value is rounding."""


def pearson(x: Vector, y: Vector) -> float | None:
    """The product-moment correlation; None under three pairs, or when one column is constant.

    >>> round(pearson(np.array([1.0, 2.0, 4.0]), np.array([3.0, 2.0, 0.0])), 6)
    -1.0
    """
    one, other = _standard(x), _standard(y)
    return None if one is None or other is None else float(np.clip(one @ other, -1.0, 1.0))


def spearman(x: Vector, y: Vector) -> float | None:
    """The correlation of the mid-ranks."""
    return pearson(midranks(x), midranks(y))


def midranks(values: Vector) -> Vector:
    """Ranks from 1, equal values share the mean of theirs.

    >>> midranks(np.array([5.0, 1.0, 5.0])).tolist()
    [2.5, 1.0, 2.5]
    """
    _, place, sizes = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(sizes) - (sizes - 1) / 2)[place])


def fisher(r: float | None, n: int) -> Interval:
    """The 95 % interval of a correlation over n pairs, by Fisher's z; nothing under four pairs.

    >>> low, high = fisher(0.5, 103)
    >>> round(low, 3), round(high, 3)
    (0.339, 0.632)
    """
    if r is None or n < 4:
        return None, None
    if abs(r) >= 1:
        return r, r
    reach = _NORMAL / math.sqrt(n - 3)
    return math.tanh(math.atanh(r) - reach), math.tanh(math.atanh(r) + reach)


def adjusted_r2(y: Vector, columns: list[Vector]) -> float | None:
    """The share of the variance of y (n,) that the columns explain together, adjusted for their number.

    1 - (1 - R²)(n - 1)/(n - p - 1) for p columns that say different things: about zero, and as often below, when they
    say nothing. None when there is no row to spare.
    """
    known = [column for column in map(_standard, columns) if column is not None]
    target, n = _standard(y), len(y)
    if target is None or not known:
        return None
    design = np.stack(known, axis=1)
    left, _, p, _ = np.linalg.lstsq(design, target, rcond=1e-6)
    if n - p - 1 < 1:
        return None
    rest = target - design @ left
    return float(1 - (rest @ rest) * (n - 1) / (n - p - 1))


def _standard(values: Vector) -> Vector | None:
    """Centred and of length one; None when there are too few, or all are the same."""
    if len(values) < 3:
        return None
    wide = values.astype(np.float64)
    centred = wide - wide.mean()
    # Divided first, so that squares of very small values do not vanish.
    largest = float(np.abs(centred).max())
    if largest <= _NOISE * float(np.abs(wide).max()):
        return None
    centred /= largest
    return np.asarray(centred / math.sqrt(float(centred @ centred)))
