"""95 % intervals whose sampling unit is the distinct row, never the pair and never a copy.

n rows make n(n-1)/2 pairs, but no more than n independent things: intervals that count pairs cover the truth one time
in twenty. So each interval here is built from what a single row contributes. Rows of one group (identical rows, the
words of a sentence) contribute together: ten copies of a row are known no better than the row.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from uncone.stats.row_sample import Cosines

__all__ = [
    "FEW",
    "LEAST_UNITS",
    "NORMAL",
    "Interval",
    "Spread",
    "around",
    "effective_number",
    "jackknife_variance",
    "mean_spread",
    "mean_variance",
    "pair_mean_spread",
    "student",
    "variance_freedom",
]

Interval = tuple[float, float] | tuple[None, None]

FEW = 100
"""The number of rows below which the estimated variance of a rare event, or of a choice, can't be trusted."""

LEAST_UNITS = 30
"""Verdicts and proofs need at least this many independent units: distinct vectors or texts, or pairs of distinct texts.

Copies of a unit carry weight in a value but add nothing to its certainty."""

NORMAL = 1.959963984540054
"""The 97.5 % point of the normal distribution."""
_SMALL = {1: 12.7062, 2: 4.30265, 3: 3.18245, 4: 2.77645}


def student(freedom: float) -> float:
    """The 97.5 % point of Student's t, by the Cornish-Fisher expansion (exact to 1e-3 from 5 degrees on).

    >>> round(student(10), 3), round(student(1e9), 3)
    (2.228, 1.96)
    """
    if freedom < 5:
        return _SMALL[max(int(freedom), 1)]
    z, v = NORMAL, freedom
    terms = (
        (z**3 + z) / (4 * v),
        (5 * z**5 + 16 * z**3 + 3 * z) / (96 * v**2),
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * v**3),
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / (92160 * v**4),
    )
    return z + sum(terms)


class Spread(NamedTuple):
    """The variance of an estimate, and the number of equal, independent units that would know it as well."""

    variance: float
    units: float

    def times(self, factor: float) -> Spread:
        """The same with the variance multiplied."""
        return Spread(self.variance * factor, self.units)


def around(value: float, variance: float, units: float) -> Interval:
    """Value +- t times the standard error; nothing if it is not known."""
    if units < 3 or not math.isfinite(variance):
        return None, None
    reach = student(units - 1) * math.sqrt(max(variance, 0.0))
    return value - reach, value + reach


def mean_spread(
    each: NDArray[Any],
    n: float,
    groups: NDArray[np.int64] | None = None,
    drawn_from: int | None = None,
    weights: NDArray[np.float64] | None = None,
) -> Spread:
    """The spread of a mean over n rows, from a uniform sample of m of them, which may have weights of mean 1.

    Rows of one group (the words of a sentence, identical rows) vary together: to the variance over n come the products
    within groups, of which a sample sees a share (m/n)^2. If whole groups were drawn instead of rows, `drawn_from` is
    the size of the sample that they are from.
    """
    centered = weighted_deviations(each, weights)
    own = float(centered @ centered)
    sums = centered if groups is None else np.bincount(np.unique(groups, return_inverse=True)[1], weights=centered)
    squares = sums * sums
    together = max(float(squares.sum()) - own, 0.0)
    count = len(sums)
    variance = (own / len(each) / n + together / len(each) / (drawn_from or len(each))) * count / max(count - 1, 1)
    return Spread(variance, 1 + variance_freedom(squares))


def weighted_deviations(each: NDArray[Any], weights: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """What each row adds to the mean, times their number; the weights have mean 1."""
    each = each.astype(np.float64)
    return each - float(each.mean()) if weights is None else weights * (each - float((weights * each).mean()))


def variance_freedom(squares: NDArray[Any]) -> float:
    """The degrees of freedom of a variance, from the squared deviations (n,): fewer if a few make up most of it.

    They are those of a chi-square variable that varies as much.
    """
    n = len(squares)
    kurtosis = n * float(squares @ squares) / max(float(squares.sum()) ** 2, 1e-300)
    return max(min(2 * n / max(kurtosis - 1, 1e-9), n - 1), 1.0)


def effective_number(codes: NDArray[np.int64]) -> float:
    """The number of equal groups worth as much as those with these codes: (sum of sizes)²/sum of squares."""
    sizes = np.bincount(codes).astype(np.float64)
    return float(sizes.sum() ** 2 / (sizes @ sizes))


def mean_variance(each: NDArray[Any], n: int, groups: NDArray[np.int64] | None = None) -> float:
    """The variance of `mean_spread` alone."""
    return mean_spread(each, n, groups).variance


def jackknife_variance(values: NDArray[np.float64]) -> float:
    """The variance of a measure from its values without each bucket in turn; NaN stands for an empty bucket."""
    finite = values[np.isfinite(values)]
    b = len(finite)
    return float((b - 1) * finite.var()) if b > 1 else math.nan


def pair_mean_spread(cosines: Cosines, kernel: NDArray[np.float64]) -> Spread:
    """The spread of the mean of a function of pair cosines, given per pair; distinct rows are the sampling units.

    With V1 the variance of a row's expected value and Vr what is left per pair, the mean over m rows with s partners
    each has variance 4 V1/m + Vr/(m s) (Hoeffding's decomposition of an incomplete U-statistic).
    """
    m, s = cosines.m, len(kernel)
    if m < 3:
        return Spread(math.nan, m)
    per_row = cosines.per_row(kernel)
    rows = mean_spread(per_row, m, cosines.groups).times(4.0)
    if cosines.complete:
        return rows
    total, alone = float(kernel.var()), float(per_row.var(ddof=1))
    between = max((alone - total / (2 * s)) / (1 - 1 / s), 0.0)
    noise = max(total - 2 * between, 0.0) / (m * s)
    return Spread(max(rows.variance - 4 * (alone - between) / m, 0.0) + noise, rows.units)
