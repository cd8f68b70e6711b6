"""Paired bootstrap of correlations: are the differences between methods more than the luck of the pairs?

All methods are scored on the same drawn pairs. A pair drawn twice is a tie, so the ranks have to be made again in each
replicate; with the values sorted once, they follow from cumulative counts, exactly and without sorting again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uncone.errors import OptionError, ShapeError
from uncone.evaluation.correlation import Kind, aggregate
from uncone.evaluation.resampling import LEVEL, REPLICATES, bounds, replicate

__all__ = ["Aggregation", "Correction", "Difference", "Replicates", "bootstrap", "differences"]

Aggregation = Literal["all", "mean", "wmean"]
Correction = Literal["holm", "bonferroni", "none"]

_Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Replicates:
    """The scores of M methods on n pairs (M,), and on each draw of pairs (M, R); NaN where one is undefined."""

    scores: _Floats
    values: _Floats
    n: int


@dataclass(frozen=True)
class Difference:
    """What a method gains over the raw vectors, with its interval, and whether that is more than luck.

    The interval is of this difference alone; `p` and `significant` are corrected for the number of methods tried.
    """

    value: float | None
    low: float | None
    high: float | None
    p: float | None
    significant: bool


def bootstrap(
    gold: ArrayLike,
    predicted: ArrayLike,
    subsets: Sequence[str] | None = None,
    *,
    kind: Kind = "spearman",
    aggregation: Aggregation = "all",
    replicates: int = REPLICATES,
    seed: int = 0,
) -> Replicates:
    """The correlations of M methods (M, n) with the scores (n,), on the pairs and on pairs drawn from them.

    For `all` the pairs are drawn from all of them; for `mean` and `wmean` within each subset, whose sizes are part of
    the benchmark and stay as they are. The same seed draws the same pairs for every kind, so methods may be added.

    Raises:
        OptionError: there is no such kind or aggregation.
        ShapeError: not one score, subset and similarity per pair.
    """
    y, x = np.asarray(gold, np.float64), np.atleast_2d(np.asarray(predicted, np.float64))
    if y.ndim != 1 or x.ndim != 2 or x.shape[1] != len(y):
        raise ShapeError(f"A bootstrap needs scores (n,) and similarities (methods, n), not {y.shape} and {x.shape}.")
    if aggregation not in ("all", "mean", "wmean"):
        raise OptionError(f"There is no aggregation {aggregation!r}; there are all, mean and wmean.")
    points = [getattr(aggregate(y, row, subsets, kind), aggregation) for row in x]
    scores = np.array([math.nan if point is None else point for point in points])
    names = np.zeros(len(y)) if subsets is None or aggregation == "all" else np.asarray(subsets, dtype=object)
    places = [np.flatnonzero(names == name) for name in dict.fromkeys(names)]
    weights = np.array([len(place) if aggregation == "wmean" else 1 for place in places], np.float64)
    values = np.zeros((len(x), replicates))
    for at, (place, weight) in enumerate(zip(places, weights / weights.sum(), strict=True)):
        drawn = _Spearman(y[place], x[:, place]) if kind == "spearman" else _Pearson(y[place], x[:, place])
        # Every subset has a seed of its own: those of one size must not be drawn alike.
        values += weight * replicate(drawn, len(place), replicates, seed if len(places) == 1 else (seed, at))
    return Replicates(scores, values, len(y))


def differences(
    replicates: Replicates, raw: int = 0, level: float = LEVEL, correction: Correction = "holm"
) -> list[Difference]:
    """What each method gains over the one at `raw`, itself included as no difference at all.

    A gain is significant where its interval excludes zero and its p-value, corrected for the number of methods beside
    raw, is at most 1 - level. The p-value is twice the share of replicates beyond zero. Where there is none, that share
    is read off a normal tail: 1,000 replicates could otherwise not tell one method in fifty.

    Raises:
        OptionError: there is no such correction, method or level.
    """
    if correction not in ("holm", "bonferroni", "none"):
        raise OptionError(f"There is no correction {correction!r}; there are holm, bonferroni and none.")
    methods = len(replicates.scores)
    if not 0 <= raw < methods:
        raise OptionError(f"There is no method {raw} among {methods}.")
    gains = replicates.values - replicates.values[raw]
    ranges = [bounds(gain, level) for gain in gains]
    plain = np.array([_p_value(gain) for gain in gains])
    others = np.array([at != raw and ranges[at][0] is not None for at in range(methods)])
    corrected = plain.copy()
    corrected[others] = _corrected(plain[others], correction)
    found = []
    for at, (low, high) in enumerate(ranges):
        value = float(replicates.scores[at] - replicates.scores[raw])
        if low is None or high is None or not math.isfinite(value):
            found.append(Difference(None, None, None, None, False))
            continue
        proven = (low > 0 or high < 0) and corrected[at] <= 1 - level
        found.append(Difference(value, low, high, float(corrected[at]), bool(proven)))
    return found


def _p_value(gain: _Floats) -> float:
    known = gain[np.isfinite(gain)]
    r = len(known)
    beyond = int(min((known <= 0).sum(), (known >= 0).sum())) if r else 0
    counted = min(1.0, 2 * (beyond + 1) / (r + 1))
    spread = float(known.std()) if r else 0.0
    if beyond or spread == 0.0:
        return counted
    return min(counted, math.erfc(abs(float(known.mean())) / spread / math.sqrt(2)))


def _corrected(values: _Floats, correction: Correction) -> _Floats:
    m = len(values)
    if correction == "none" or m == 0:
        return values
    if correction == "bonferroni":
        return np.minimum(values * m, 1.0)
    order = np.argsort(values, kind="stable")
    stepped = np.maximum.accumulate(values[order] * np.arange(m, 0, -1))
    corrected = np.empty(m)
    corrected[order] = np.minimum(stepped, 1.0)
    return corrected


class _Groups:
    """A column sorted once: the rows in order, and where each group of equal values begins."""

    def __init__(self, values: _Floats) -> None:
        self.order = np.argsort(values, kind="stable")
        new = np.diff(values[self.order], prepend=np.nan) != 0  # the first differs from NaN
        self.starts = np.flatnonzero(new)
        self.group = np.empty(len(values), np.int64)
        self.group[self.order] = np.cumsum(new) - 1
        self.tied = len(self.starts) < len(values)

    def sums(self, columns: _Floats) -> _Floats:
        """The rows (n, r) summed within the groups, in order: (groups, r)."""
        ordered = columns[self.order]
        return np.add.reduceat(ordered, self.starts, axis=0) if self.tied else ordered

    def mid_ranks(self, counts: _Floats) -> tuple[_Floats, _Floats]:
        """The mid-rank of each group less their mean, (groups, r), and their sum of squares over all drawn rows, (r,).

        With w rows drawn from a group and c up to its end, its ranks run from c - w + 1 to c.
        """
        drawn = self.sums(counts)
        ranks = np.cumsum(drawn, axis=0) - (drawn - 1) / 2 - (len(counts) + 1) / 2
        return ranks, _squares(drawn, len(counts))


class _Spearman:
    """The rank correlations of M methods with the scores, as a function of how often each pair is drawn."""

    def __init__(self, gold: _Floats, predicted: _Floats) -> None:
        self.usable = bool(np.isfinite(gold).all())
        self.gold = _Groups(gold)
        self.methods = [_Groups(row) if np.isfinite(row).all() else None for row in predicted]

    def __call__(self, drawn: NDArray[np.int64]) -> _Floats:
        # One column per replicate: rows then are taken, and summed, as whole lines of memory.
        counts = np.ascontiguousarray(drawn.T, np.float64)
        found = np.full((len(self.methods), len(drawn)), np.nan)
        if not self.usable:
            return found
        ranks, of_gold = self.gold.mid_ranks(counts)
        weighted = counts * ranks[self.gold.group]
        # Without ties the ranks are c - w/2 but for a constant, which counts for nothing as `weighted` sums to zero;
        # what w/2 adds is the same in any order, and so is the sum of squares.
        half = np.einsum("nr,nr->r", counts, weighted) / 2
        alike = _squares(counts, len(counts))
        for at, method in enumerate(self.methods):
            if method is None:
                continue
            if method.tied:
                own, squares = method.mid_ranks(counts)
                covariance = np.einsum("gr,gr->r", own, method.sums(weighted))
            else:
                ordered = method.sums(counts)
                np.cumsum(ordered, axis=0, out=ordered)
                covariance, squares = np.einsum("nr,nr->r", ordered, method.sums(weighted)) - half, alike
            found[at] = _quotient(covariance, squares, of_gold)
        return found


def _squares(drawn: _Floats, n: int) -> _Floats:
    """The sum of squares of n centred mid-ranks of which those of a group, (groups, r), are the same."""
    return np.asarray((n**3 - np.einsum("gr,gr,gr->r", drawn, drawn, drawn)) / 12)


class _Pearson:
    """The product-moment correlations of M methods with the scores, as a function of how often each pair is drawn."""

    def __init__(self, gold: _Floats, predicted: _Floats) -> None:
        self.y = _standardized(gold[None])
        self.x = _standardized(predicted)
        self.products = np.concatenate([self.x * self.y, self.x, self.x**2, self.y, self.y**2]).T

    def __call__(self, drawn: NDArray[np.int64]) -> _Floats:
        n, m = drawn.shape[1], len(self.x)
        means = (drawn.astype(np.float64) @ self.products / n).T
        xy, x, xx, y, yy = np.split(means, [m, 2 * m, 3 * m, 3 * m + 1])
        # What rounding leaves of the variance of a constant is no variance.
        spread_x, spread_y = (np.where(s > 1e-14 * q, s, 0.0) for s, q in ((xx - x**2, xx), (yy - y**2, yy)))
        return _quotient(xy - x * y, spread_x, spread_y)


def _standardized(rows: _Floats) -> _Floats:
    """Rows of mean 0 and spread 1, so that the sums lose no digits; NaN for those that are not finite or constant."""
    with np.errstate(invalid="ignore", divide="ignore"):
        centred = rows - rows.mean(axis=1, keepdims=True)
        spread = np.sqrt((centred**2).mean(axis=1, keepdims=True))
        return np.asarray(centred / np.where((rows == rows[:, :1]).all(axis=1, keepdims=True), np.nan, spread))


def _quotient(covariance: _Floats, one: _Floats, other: _Floats) -> _Floats:
    """The correlation; NaN where one side is constant among the drawn pairs."""
    with np.errstate(invalid="ignore", divide="ignore"):
        product = one * other
        return np.where(product > 0, covariance / np.sqrt(product), np.nan)
