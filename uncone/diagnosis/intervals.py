"""95 % intervals whose sampling unit is the row, never the pair.

n rows make n(n-1)/2 pairs, but no more than n independent things: intervals that count pairs cover the truth one time
in twenty. So each interval here is built from what a single row contributes.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uncone.stats.pair_cosines import Cosines

__all__ = ["FEW", "Interval", "around", "jackknife_variance", "mean_variance", "pair_mean_variance", "student"]

Interval = tuple[float, float] | tuple[None, None]

FEW = 100
"""Under so many rows the estimated variance of a rare event or of a choice is not to be trusted."""

_NORMAL = 1.959963984540054
_SMALL = {1: 12.7062, 2: 4.30265, 3: 3.18245, 4: 2.77645}


def student(freedom: float) -> float:
    """The 97.5 % point of Student's t, by the Cornish-Fisher expansion (exact to 1e-3 from 5 degrees on).

    >>> round(student(10), 3), round(student(1e9), 3)
    (2.228, 1.96)
    """
    if freedom < 5:
        return _SMALL[max(int(freedom), 1)]
    z, v = _NORMAL, freedom
    terms = (
        (z**3 + z) / (4 * v),
        (5 * z**5 + 16 * z**3 + 3 * z) / (96 * v**2),
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * v**3),
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / (92160 * v**4),
    )
    return z + sum(terms)


def around(value: float, variance: float, n: int) -> Interval:
    """Value +- t times the standard error; nothing when it is not known."""
    if n < 3 or not math.isfinite(variance):
        return None, None
    reach = student(n - 1) * math.sqrt(max(variance, 0.0))
    return value - reach, value + reach


def mean_variance(each: NDArray[Any], n: int, groups: NDArray[np.int64] | None = None) -> float:
    """The variance of a mean over n rows, from what is known of a uniform sample of m of them.

    Rows of one group (the words of a sentence) vary together: to the variance over n come the products within groups,
    of which a sample sees a share (m/n)^2.
    """
    alone = float(each.var(dtype=np.float64)) / n
    if groups is None:
        return alone
    centred = each.astype(np.float64) - float(each.mean(dtype=np.float64))
    _, place = np.unique(groups, return_inverse=True)
    sums = np.bincount(place, weights=centred)
    together = float(sums @ sums) - float(centred @ centred)
    return alone + max(together, 0.0) / len(each) ** 2


def jackknife_variance(values: NDArray[np.float64]) -> float:
    """The variance of a measure from its values without each bucket in turn; NaN stands for an empty bucket."""
    known = values[np.isfinite(values)]
    b = len(known)
    return float((b - 1) * known.var()) if b > 1 else math.nan


def pair_mean_variance(cosines: Cosines, kernel: NDArray[np.float64]) -> float:
    """Variance of the mean of a function of pair cosines, given per pair; the rows are the sampling units.

    With V1 the variance of a row's expected value and Vr what is left per pair, the mean over m rows with s partners
    each has variance 4 V1/m + Vr/(m s) (Hoeffding's decomposition of an incomplete U-statistic).
    """
    m, s = cosines.m, len(kernel)
    if m < 3:
        return math.nan
    per_row = float(cosines.per_row(kernel).var(ddof=1))
    if cosines.complete:
        return 4 * per_row / m
    total = float(kernel.var())
    between = max((per_row - total / (2 * s)) / (1 - 1 / s), 0.0)
    return 4 * between / m + max(total - 2 * between, 0.0) / (m * s)
