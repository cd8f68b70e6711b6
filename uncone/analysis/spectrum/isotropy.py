"""Isotropy of the matrix as it is: distance from zero mean, and the partition function."""

from __future__ import annotations

import math

import numpy as np

from uncone.analysis.intervals.intervals import FEW, Interval, around
from uncone.analysis.measures.finding import Finding, Level
from uncone.analysis.number_format import percent, plain
from uncone.analysis.space.geometry import Geometry

__all__ = ["mean_over_rms", "partition"]

_FAR = 0.5
_UNSEEN = 0.5  # a sample of heavy tails seldom holds the longest rows, so the share is rather too large
_FEW_CARRY = 3.0  # an effective sample of a third of the rows


def mean_over_rms(space: Geometry) -> Finding:
    """|mean| / rms norm: 0 if centered, 1 if all rows are the same.

    The interval is that of |mean|^2 without its bias tr(C)/n, so it reaches 0 in a centered space; the value
    itself stays inside.
    """
    n, mean = space.n, space.moments.mean
    power = float(space.directions[0].sum()) * (n - 1) / n + float(mean @ mean)
    value = float(np.linalg.norm(mean)) / math.sqrt(power)
    low, high = _mean_interval(space, mean, power)
    if low is not None and high is not None:
        low, high = min(low, value), max(high, value)
    meaning = f"The mean vector is {percent(min(value, 1.0))} as long as a typical vector; 0 is a centered space."
    advice = "This common part raises every cosine, so thresholds have to allow for it." if value >= _FAR else ""
    level = Level.CROWDED if value >= _FAR else Level.HEALTHY
    return Finding("mean_over_rms", value, n, meaning, advice, low, high, _FAR, level)


def _mean_interval(space: Geometry, mean: np.ndarray, power: float) -> Interval:
    n = space.effective
    squared = float(mean @ mean)
    spread = power - squared  # the mean of |x - mean|^2
    unbiased = squared - spread / max(n - 1, 1)
    share = unbiased / power
    each = (2 * space.sample.dot(mean) - share * space.sample.norms.astype(np.float64) ** 2) / power
    # The second term is the variance of |mean|^2 in a centered space, where the first vanishes.
    second = float((space.directions[0] ** 2).sum()) * 2 / (n**2 * power**2)
    variance, units = space.mean_spread(each)
    low, high = around(share, variance + second, units)
    if low is None or high is None:
        return None, None
    low -= _UNSEEN * (share - low)
    return math.sqrt(max(low, 0.0)), math.sqrt(min(max(high, 0.0), 1.0))


def partition(space: Geometry) -> list[Finding]:
    """log10 I = log10(min Z/max Z) over the eigenvectors of X'X with both signs, as it is and at mean norm 1."""
    as_is = "at the scale of the data; it depends on the lengths of the vectors"
    at_one = "scaled to mean norm 1, so that models can be compared"
    names = {"partition_isotropy_log10": as_is, "partition_isotropy_unit_log10": at_one}
    return [_finding(space, name, place, scale) for place, (name, scale) in enumerate(names.items())]


def _finding(space: Geometry, name: str, place: int, scale: str) -> Finding:
    sums = space.partition
    logs = sums.log_sums[place]
    value = float(logs.min() - logs.max()) / math.log(10)
    low, high = _partition_interval(space, place, value)
    shown = plain(10**value) if value > -4 else f"1e{value:.1f}"
    every = "all vectors" if sums.n == space.n else f"a sample of {sums.n:,} vectors"
    meaning = f"I = {shown}, where 1 is isotropic and 0 a cone: {scale}. Over {every}."
    advice = "Compare it before and after a repair, on the same vectors."
    return Finding(name, value, sums.n, meaning, advice, low, None if high is None else min(high, 0.0))


def _partition_interval(space: Geometry, place: int, value: float) -> Interval:
    """Infinitesimal jackknife of log Z(low) - log Z(high) with the directions held fixed, from the row sample.

    The reach is a quarter wider, for the choice between the two ends of a direction. None where that is not enough:
    when more than two directions compete for an extreme, a few rows carry the sum, or there are few rows at all.
    """
    if space.distinct < FEW:
        return None, None
    sums = space.partition
    logs = sums.log_sums[place]
    each = np.zeros(space.sample.n)
    for sign, where in ((1.0, logs.argmin()), (-1.0, logs.argmax())):
        flip, column = divmod(int(where), logs.shape[1])
        products = space.sample.dot(sums.directions[:, column]) * (sums.scales[place] * (-1.0 if flip else 1.0))
        weights = np.exp(products - products.max())
        weights *= len(weights) / weights.sum()
        reach = 2 * math.sqrt(float(weights.var()) / sums.n)
        rivals = int((np.abs(logs - logs.flat[where]) < reach).sum())
        if rivals > 2 or float((weights**2).mean()) > _FEW_CARRY:
            return None, None
        each += sign * weights
    return around(value, *space.mean_spread(each, sums.n).times((1.25 / math.log(10)) ** 2))
