"""95 % intervals whose sampling unit is the row, never the pair.

n rows make n(n-1)/2 pairs, but no more than n independent things: intervals that count pairs cover the truth one time
in twenty. So each interval here is built from what a single row contributes.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from uncone.stats.pair_cosines import Cosines

__all__ = ["FEW", "Interval", "around", "pair_mean_variance", "student"]

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
