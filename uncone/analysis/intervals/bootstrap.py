"""Paired bootstrap of correlations: are the differences between methods more than the luck of the pairs?

All methods are scored on the same draws of units (`pair_units`): pairs that share texts are drawn
together, and copies of a pair are one. A pair drawn twice is a tie, so ranks change with each draw. With the values
sorted once, they follow from cumulative weights, exactly and without sorting again. Weights need not be whole, and
their sum may vary.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from uncone.analysis.intervals.correlation import spearman
from uncone.analysis.intervals.intervals import LEAST_UNITS
from uncone.analysis.intervals.pair_units import PairUnits, pair_units
from uncone.analysis.intervals.resampling import LEVEL, REPLICATES, Weights, bounds
from uncone.errors import OptionError, ShapeError

__all__ = ["Aggregation", "Auc", "Difference", "Replicates", "Spearman", "bootstrap", "centered", "differences"]

_Floats = NDArray[np.float64]


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

    def mid_ranks(self, weights: _Floats, total: _Floats) -> tuple[_Floats, _Floats]:
        """The mid-rank of each group less their mean, (groups, r), and their sum of squares over all rows, (r,).

        With weight w in a group and c up to its end, its ranks run from c - w to c.
        """
        own = self.sums(weights)
        return np.cumsum(own, axis=0) - own / 2 - total / 2, _squares(own, total)


class Spearman:
    """The rank correlations (M, r) of M methods with the scores, as a function of the weights of the pairs (r, n)."""

    def __init__(self, gold: _Floats, predicted: _Floats) -> None:
        self.usable = bool(np.isfinite(gold).all())
        self.gold = _Groups(gold)
        self.methods = [_Groups(row) if np.isfinite(row).all() else None for row in predicted]

    def __call__(self, draws: Weights) -> _Floats:
        """The correlations in each draw; NaN if one is undefined."""
        # One column per replicate: rows then are taken, and summed, as whole lines of memory.
        weights = np.ascontiguousarray(draws.T, np.float64)
        figures = np.full((len(self.methods), len(draws)), np.nan)
        if not self.usable:
            return figures
        total = draws.sum(axis=1).astype(np.float64)
        ranks, of_gold = self.gold.mid_ranks(weights, total)
        weighted = weights * ranks[self.gold.group]
        # Without ties the ranks are c - w/2 but for a constant, which counts for nothing as `weighted` sums to zero;
        # what w/2 adds is the same in any order, and so is the sum of squares.
        half = np.einsum("nr,nr->r", weights, weighted) / 2
        untied = _squares(weights, total)
        for at, method in enumerate(self.methods):
            if method is None:
                continue
            if method.tied:
                own, squares = method.mid_ranks(weights, total)
                covariance = np.einsum("gr,gr->r", own, method.sums(weighted))
            else:
                ordered = method.sums(weights)
                np.cumsum(ordered, axis=0, out=ordered)
                covariance, squares = np.einsum("nr,nr->r", ordered, method.sums(weighted)) - half, untied
            figures[at] = _quotient(covariance, squares, of_gold)
        return figures


class Auc:
    """The ROC-AUC (M, r) of M methods for labels 0 and 1, as a function of the weights of the pairs (r, n)."""

    def __init__(self, labels: _Floats, predicted: _Floats) -> None:
        self.labels = labels
        self.methods = [_Groups(row) if np.isfinite(row).all() else None for row in predicted]

    def __call__(self, draws: Weights) -> _Floats:
        """The areas in each draw; NaN if one is undefined."""
        weights = np.ascontiguousarray(draws.T, np.float64)
        total, positives = draws.sum(axis=1).astype(np.float64), self.labels @ weights
        positive = weights * self.labels[:, None]
        figures = np.full((len(self.methods), len(draws)), np.nan)
        for at, method in enumerate(self.methods):
            if method is not None:
                ranks = method.mid_ranks(weights, total)[0]
                # The rank sum of the similar pairs, less what they have over each other.
                over = np.einsum("gr,gr->r", ranks, method.sums(positive)) + positives * (total - positives) / 2
                with np.errstate(invalid="ignore", divide="ignore"):
                    figures[at] = over / (positives * (total - positives))
        return figures


def _squares(own: _Floats, total: _Floats) -> _Floats:
    """The sum of squares of centered mid-ranks of which those of a group, (groups, r), are the same."""
    return np.asarray((total**3 - np.einsum("gr,gr,gr->r", own, own, own)) / 12)


def _quotient(covariance: _Floats, squares: _Floats, other: _Floats) -> _Floats:
    """The correlation; NaN if one side is constant in a draw."""
    with np.errstate(invalid="ignore", divide="ignore"):
        product = squares * other
        return np.where(product > 0, covariance / np.sqrt(product), np.nan)


Aggregation = Literal["all", "mean", "wmean"]
Correction = Literal["holm", "bonferroni", "none"]


@dataclass(frozen=True, eq=False)
class Replicates:
    """The scores of M methods (M,), and on each draw of units (M, R); NaN if one is undefined.

    `n` is how many pairs there are, and `units` how many independent ones. `items` is for shares: how many items they
    rest on (`share_score`).
    """

    scores: _Floats
    values: _Floats
    n: int
    units: int
    items: float | None = None


@dataclass(frozen=True)
class Difference:
    """What a method gains over the raw vectors, with its interval, and whether that is more than luck.

    The interval is for this difference alone; `p` and `significant` are corrected for the number of methods tried.
    `units` is the number of independent pairs: with fewer than 30, nothing is significant.
    """

    value: float | None
    low: float | None
    high: float | None
    p: float | None
    significant: bool
    units: int


def bootstrap(
    gold: ArrayLike,
    predicted: ArrayLike,
    *,
    replicates: int = REPLICATES,
    seed: int = 0,
    units: PairUnits | None = None,
) -> Replicates:
    """The rank correlations of M methods (M, n) with the scores (n,), on the pairs and on draws of their units.

    Without `units`, every pair is one. The same seed draws the same units, so methods may be added.

    Raises:
        ShapeError: not one score and similarity per pair.
    """
    y, x = np.asarray(gold, np.float64), np.atleast_2d(np.asarray(predicted, np.float64))
    if y.ndim != 1 or x.ndim != 2 or x.shape[1] != len(y):
        raise ShapeError(f"A bootstrap needs scores (n,) and similarities (methods, n), not {y.shape} and {x.shape}.")
    scores = np.array([spearman(y, row).value for row in x], np.float64)  # None becomes NaN
    units = units or pair_units(len(y))
    return centered(scores, units.replicate(Spearman(y, x), replicates, seed), len(y), units.independent)


def centered(scores: _Floats, values: _Floats, n: int, units: int) -> Replicates:
    """The replicates moved so that their mean is the score itself.

    A draw with replacement has ties, which lower a rank correlation a little. That is small beside the spread of one
    set, but not beside that of an average over many.
    """
    with np.errstate(invalid="ignore"):
        finite = np.isfinite(values)
        means = np.where(finite, values, 0.0).sum(axis=1) / finite.sum(axis=1)
    return Replicates(scores, np.clip(values + (scores - means)[:, None], -1.0, 1.0), n, units)


def differences(replicates: Replicates, level: float = LEVEL, correction: Correction = "holm") -> list[Difference]:
    """What each method gains over the first, the raw vectors, which are included as no difference at all.

    A gain is significant if there are at least 30 independent units, its interval excludes zero and its p-value,
    corrected for the number of methods beside raw, is at most 1 - level. The p-value is twice the share of replicates
    beyond zero. If there is none, that share comes from a normal tail: otherwise 1,000 replicates could not prove one
    method in fifty.

    Two methods that differ on no item, or on a few, may do so on others: to the variance of a difference of shares
    comes that of two more items, of which each method has one right.

    Raises:
        OptionError: there is no such correction or level.
    """
    if correction not in ("holm", "bonferroni", "none"):
        raise OptionError(f"There is no correction {correction!r}; choose from holm, bonferroni and none.")
    gains = replicates.values - replicates.values[0]
    if replicates.items is not None:
        gains[1:] += math.sqrt(2) / replicates.items * _normal_scores(gains.shape[1])
    ranges = [bounds(gain, level) for gain in gains]
    p_values = np.array([_p_value(gain) for gain in gains])
    others = np.array([at > 0 and low is not None for at, (low, _) in enumerate(ranges)])
    p_values[others] = _corrected(p_values[others], correction)
    results = []
    for value, p, (low, high) in zip(replicates.scores - replicates.scores[0], p_values, ranges, strict=True):
        if low is None or high is None or not math.isfinite(value):
            results.append(Difference(None, None, None, None, False, replicates.units))
            continue
        proven = replicates.units >= LEAST_UNITS and (low > 0 or high < 0) and p <= 1 - level
        results.append(Difference(float(value), low, high, float(p), bool(proven), replicates.units))
    return results


def _normal_scores(n: int) -> _Floats:
    """The n quantiles of a normal variable, in an order that has nothing to do with the draws."""
    return np.asarray(ndtri((np.random.default_rng(n).permutation(n) + 0.5) / n))


def _p_value(gain: _Floats) -> float:
    finite = gain[np.isfinite(gain)]
    r = len(finite)
    beyond = int(min((finite <= 0).sum(), (finite >= 0).sum())) if r else 0
    p_value = min(1.0, 2 * (beyond + 1) / (r + 1))
    spread = float(finite.std()) if r else 0.0
    if beyond or spread == 0.0:
        return p_value
    return min(p_value, math.erfc(abs(float(finite.mean())) / spread / math.sqrt(2)))


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
