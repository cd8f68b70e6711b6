"""Quantiles of the cosines of sampled pairs, dense in the upper tail, with intervals over distinct vectors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from uncone.analysis.calibration.sampled_pairs import BUCKETS, Sampled
from uncone.analysis.intervals.intervals import FEW, student
from uncone.data.batch import Vector

__all__ = ["LEAST_BEYOND", "MOST_PAIRS", "Quantiles", "pairs_for", "quantiles_of"]

LEAST_BEYOND = 100
"""The minimum number of pairs beyond a threshold."""

MOST_PAIRS = 1_000_000_000
_PAIRS = 1_000_000
_TARGET_BEYOND = 1_000  # then the sampling of pairs adds 3 % to the error of a rate
_MOST_TAIL = 4_000_000
_PER_DECADE = 12
_RARE_PAIRS, _FINE = 64.0, 24  # shares of up to so many pairs, in so many steps, that a sample may have missed


def pairs_for(rate: float) -> int:
    """The number of pairs to sample for this rate.

    >>> pairs_for(0.01), pairs_for(1e-5), pairs_for(1e-9)
    (1000000, 100000000, 1000000000)
    """
    return min(max(math.ceil(_TARGET_BEYOND / rate), _PAIRS), MOST_PAIRS)


@dataclass(frozen=True, eq=False)
class Quantiles:
    """A share `tails[i]` of `pairs` pairs lies at or above `scores[i]`, between `lows[i]` and `highs[i]`.

    A share `beyond` of all pairs may lie above every sampled score.
    """

    pairs: int
    tails: Vector
    scores: Vector
    lows: Vector
    highs: Vector
    edges: Vector
    counts: Vector
    beyond: float


def quantiles_of(sample: Callable[[int, float], Sampled], rates: Sequence[float], apart: int) -> Quantiles:
    """Quantiles down to the smallest rate; `sample(pairs, floor)` gives the cosines.

    The bulk is measured on a million pairs. A rate that needs more is measured on as many as it needs, of which only
    the upper tail is kept. `apart` pairs at most share no sampling unit.
    """
    n_pairs = pairs_for(min(rates))
    bulk = _Ordered.of(sample(_PAIRS, -np.inf))
    tail = None
    if n_pairs > 2 * _PAIRS and bulk.total >= _PAIRS // 2:
        floor = float(bulk.score(np.array([min(0.01, _MOST_TAIL / n_pairs)]))[0]) - bulk.base
        tail = _Ordered.of(sample(n_pairs, floor))
    total = bulk.total if tail is None else max(tail.total, bulk.total)
    if tail is None or tail.total < bulk.total:
        tail = bulk

    def score(shares: Vector) -> Vector:
        """The tail of more pairs replaces the bulk as far as it reaches."""
        return np.where(shares <= tail.reached, tail.score(shares), bulk.score(shares))

    tails, pairs = _grid(total, rates), tail.sampled.distinct
    rare = np.geomspace(min(1 / pairs, 0.5), min(_RARE_PAIRS / pairs, 0.5), _FINE)
    every = np.unique(np.concatenate([tails, rare]))[::-1]
    on_grid = np.isin(every, tails)
    scores = np.maximum.accumulate(score(every))
    odds = _log_odds(every.clip(max=1 - 1e-12))
    reach = bulk.reach(scores, apart)
    if tail is not bulk:
        reach = np.where(every <= tail.reached, tail.reach(scores, apart), reach)
    lows, highs = _shares_at_ends(odds, reach)
    # Beyond the smallest and the largest sampled cosine, only the bounds of a cosine are known.
    low = np.where((1 - lows) * bulk.sampled.distinct < 1, -1.0, np.minimum(score(lows), scores))
    high = np.where(highs * pairs < 1, 1.0, np.maximum(score(highs), scores))
    edges, counts = bulk.histogram()
    low, high = np.maximum.accumulate(low[on_grid]), np.minimum.accumulate(high[on_grid][::-1])[::-1]
    unseen = _share(odds - reach) * pairs < 1
    missed = every[::-1][np.logical_and.accumulate(unseen[::-1])]
    beyond = float(missed.max(initial=1 / pairs))
    return Quantiles(total, tails, scores[on_grid], low, high, edges, counts, beyond)


def _grid(pairs: int, rates: Sequence[float]) -> Vector:
    """The tails: each percent, twelve per decade beyond the last down to ten pairs, the given rates, and the ends."""
    decades = max(math.log10(0.01 * pairs / 10), 0.0)
    beyond = 0.01 * 10 ** -(np.arange(1, int(_PER_DECADE * decades) + 1) / _PER_DECADE)
    feasible = [rate for rate in rates if rate * pairs >= 1]
    middle = np.concatenate([[0.999, 0.9975, 0.995], np.linspace(0.99, 0.01, 99), beyond, feasible])
    inside = middle[(middle * pairs > 1) & ((1 - middle) * pairs > 1)]
    # The given rates stay to the digit; the grid gives way to them.
    tails = np.unique(np.concatenate([[1 / pairs, 1.0], inside]))[::-1]
    near = np.zeros(len(tails), np.bool_)
    for rate in feasible:
        near |= (np.abs(tails / rate - 1) < 1e-9) & (tails != rate)
    return np.asarray(tails[~near])


def _shares_at_ends(odds: Vector, reach: Vector) -> tuple[Vector, Vector]:
    """The shares whose scores bound each quantile from below and from above, given half the width of their log odds.

    The share at an end may be less certain than at the quantile, for instance if few vectors make up the tail. Then
    the end lies as far away as its own share is uncertain.
    """
    finite = np.isfinite(reach)
    if not finite.any():
        return np.ones_like(odds), np.zeros_like(odds)
    # np.interp needs ascending places; log odds descend.
    places, widths = odds[finite][::-1], reach[finite][::-1]
    ends = []
    for sign in (1, -1):
        wider = np.maximum(reach, np.interp(odds + sign * np.where(finite, reach, 0.0), places, widths))
        ends.append(_share(odds + sign * wider))
    return ends[0], ends[1]


def _share(odds: Vector) -> Vector:
    return np.asarray(1 / (1 + np.exp(-odds.clip(-700, 700))))


def _log_odds(share: Vector) -> Vector:
    return np.asarray(np.log(share) - np.log1p(-share))


@dataclass(frozen=True, eq=False)
class _Ordered:
    """Sampled cosines in order, and the variance of a share by buckets of rows."""

    sampled: Sampled
    ordered: Vector

    @classmethod
    def of(cls, sampled: Sampled) -> _Ordered:
        return cls(sampled, np.sort(sampled.values))

    @property
    def base(self) -> float:
        return self.sampled.base

    @property
    def total(self) -> int:
        return self.sampled.total

    @property
    def reached(self) -> float:
        """The share of the pairs whose cosines are here."""
        return len(self.ordered) / self.total

    def score(self, tails: Vector) -> Vector:
        """The score that such shares of the pairs reach; the k-th largest stands for (k - 1/2)/pairs."""
        n = len(self.ordered)
        place = (n - tails * self.total - 0.5).clip(0, n - 1)
        below = np.floor(place).astype(np.int64)
        above = np.minimum(below + 1, n - 1)
        lower, upper = (self.ordered[at].astype(np.float64) for at in (below, above))
        deviations = lower + (place - below) * (upper - lower)
        return np.asarray((self.base + deviations).clip(-1.0, 1.0))

    def reach(self, scores: Vector, apart: int) -> Vector:
        """Half the width of the interval of the log odds of the share at or above each score.

        The variance is that of the delete-a-group jackknife: the log odds without each bucket of sampling units in
        turn. A pair moves with both of its rows, so its own part is counted twice and subtracted once. Pairs of copies
        repeat each other, so only pairs of distinct vectors have a part of their own. If a few buckets make up most of
        the variance, it is less certain: the degrees of freedom are those of a chi-square variable that varies as much.
        With few units it is no less than that of the `apart` pairs that share none.
        """
        total, distinct, touched = self.total, self.sampled.distinct, self.sampled.touched
        beyond = self._beyond(scores)
        counts = beyond[0].sum(axis=0)
        share = counts / total
        sides = beyond.sum(axis=0) if touched.ndim == 1 else np.concatenate(beyond)
        met = touched.ravel() > 0
        n, interior = int(met.sum()), (share > 0) & (share < 1)
        if n < 3:
            return np.full(len(scores), np.inf)
        rest = total - touched.ravel()[met, None]
        least = min(0.5 / distinct, 0.5)
        without = ((counts - sides[met]) / np.maximum(rest, 1)).clip(least, 1 - least)
        moved = _log_odds(without) - _log_odds(share.clip(least, 1 - least))
        squares = (n - 1) / n * (moved**2).sum(axis=0)
        own = 1 / np.maximum(distinct * share * (1 - share), 1e-9)
        variance = np.maximum(squares - own, own)
        if apart < FEW // 2:
            variance = np.maximum(variance, own * distinct / apart)
        kurtosis = n * (moved**4).sum(axis=0) / np.maximum((moved**2).sum(axis=0) ** 2, 1e-300)
        freedom = (2 * n / np.maximum(kurtosis - 1, 1e-9)).clip(1, n - 1)
        reach = np.array([student(degrees) for degrees in freedom]) * np.sqrt(variance)
        return np.asarray(np.where(interior, reach, np.inf))

    def _beyond(self, scores: Vector) -> NDArray[np.float64]:
        """The number of pairs of each bucket that reach each score: (2, buckets, scores), by first and second row."""
        k = len(scores)
        limits = (scores - self.base).astype(self.sampled.values.dtype)
        reached = np.searchsorted(limits, self.sampled.values, side="right")
        counts = np.empty((2, BUCKETS, k))
        for side, buckets in enumerate((self.sampled.first, self.sampled.second)):
            cells = np.bincount(buckets.astype(np.int64) * (k + 1) + reached, minlength=BUCKETS * (k + 1))
            # A pair that reaches r scores counts for the first r of them.
            table = cells.reshape(BUCKETS, k + 1)[:, ::-1].cumsum(axis=1)[:, ::-1]
            counts[side] = table[:, 1:]
        return counts

    def histogram(self, bins: int = 100) -> tuple[Vector, Vector]:
        """Edges (bins + 1,) and counts (bins,)."""
        low, high = float(self.ordered[0]), float(self.ordered[-1])
        edges = np.linspace(low, max(high, low + 1e-6), bins + 1)
        inside = np.searchsorted(self.ordered, edges[1:-1].astype(self.ordered.dtype))
        counts = np.diff(np.concatenate([[0], inside, [len(self.ordered)]]))
        return (self.base + edges).clip(-1.0, 1.0), counts.astype(np.float64)
