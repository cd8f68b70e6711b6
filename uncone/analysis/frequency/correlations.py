"""Correlations of two columns, None where they are undefined, and the interval of one."""

from __future__ import annotations

import math

import numpy as np

from uncone.analysis.intervals.intervals import Interval, student, variance_freedom
from uncone.data.batch import IntVector, Vector

__all__ = ["adjusted_r2", "midranks", "pearson", "pearson_interval", "spearman"]

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


def pearson_interval(x: Vector, y: Vector, groups: IntVector | None = None) -> Interval:
    """The 95 % interval of the product-moment correlation; nothing under four units, or where it is undefined.

    By Fisher's z, whose variance over u units is 1/(u - 3) for normal columns. Heavy tails make it larger: what each
    unit moves z by (the infinitesimal jackknife) says how much. Rows of one group, numbered from 0 on, are one unit.

    >>> columns = np.random.default_rng(0).normal(size=(2, 100))
    >>> low, high = pearson_interval(columns[0] + columns[1], columns[1])
    >>> low < 0.71 < high
    True
    """
    r, n = pearson(x, y), len(x)
    one, other = _standard(x), _standard(y)
    units = n if groups is None else int(groups.max(initial=-1)) + 1
    if r is None or one is None or other is None or units < 4:
        return None, None
    if abs(r) >= 1:
        return r, r
    moved = (one * other - r * (one**2 + other**2) / 2) / (1 - r * r)
    sums = moved if groups is None else np.bincount(groups, weights=moved)
    squares = sums**2
    uneven = student(variance_freedom(squares)) * math.sqrt(float(squares.sum()) * units / (units - 1))
    reach = max(uneven, _NORMAL / math.sqrt(units - 3))
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
