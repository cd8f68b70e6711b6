"""Whether pairs with one label are more similar than pairs with two: the AUC, and its interval over texts."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from uncone.analysis.cosine.units import Units
from uncone.analysis.intervals.intervals import student
from uncone.analysis.similarity.sampling_units import cells_of
from uncone.data.batch import IntVector, Vector

__all__ = ["COSINE_GRID", "Auc", "auc_interval", "inconclusive", "label_auc"]

_SAMPLE = 3000
"""Texts whose pairs are all compared, 4.5 million of them."""
_NEAR_CHANCE = 0.1
"""An AUC within this of a half hardly separates anything."""
COSINE_GRID = 2.0**21
"""Cosines are compared in steps of 5e-7: copies of a text are then equally similar, whatever the last digit."""


@dataclass(frozen=True)
class Auc:
    """The probability that a pair with one label is more similar than a pair with two; ties count half.

    `rows` are the compared vectors and `texts` the distinct ones. The value is None if there are no pairs of one kind.
    """

    value: float | None
    low: float | None
    high: float | None
    rows: int
    texts: int


def label_auc(
    units: Units, codes: IntVector, seed: int = 0, most: int = _SAMPLE, *, groups: IntVector | None = None
) -> Auc:
    """The AUC of within against between labels, over all pairs of at most `most` distinct texts and their copies.

    Distinct texts are the sampling units: the interval is built from the contribution of each through all of its pairs
    (infinitesimal jackknife), on the scale of the log-odds. `groups` numbers identical vectors.
    """
    cells = cells_of(codes, groups)
    chosen = _sample(codes[cells.rows], seed, most)
    rows, copies, text = cells.rows[chosen], cells.weights[chosen], cells.groups[chosen]
    units, codes = units[rows], codes[rows]
    repeated = np.flatnonzero(copies > 1)  # their copies are pairs, too
    one, other = (np.concatenate([side, repeated]) for side in np.triu_indices(len(rows), 1))
    weights = np.asarray(copies[one] * copies[other], np.float64)
    weights[len(weights) - len(repeated) :] = copies[repeated] * (copies[repeated] - 1) / 2
    same = codes[one] == codes[other]
    compared, texts = int(copies.sum()), len(np.unique(text))
    if not same.any() or same.all():
        return Auc(None, None, None, compared, texts)
    cosines = np.rint((units @ units.T)[one, other] * np.float32(COSINE_GRID))
    placements = _placements(cosines, same, weights)
    value = float(np.average(placements[same], weights=weights[same]))
    shares = weights / np.where(same, weights[same].sum(), weights[~same].sum()) * (placements - value)
    each = np.bincount(text[one], shares, cells.texts) + np.bincount(text[other], shares, cells.texts)
    if groups is not None:  # leaving out a text removes its pair with itself once, not twice
        itself = text[one] == text[other]
        each -= np.bincount(text[one[itself]], shares[itself], len(each))
    low, high = auc_interval(value, float(each @ each) * texts / max(texts - 1, 1), texts - 1, texts // 2)
    return Auc(value, low, high, compared, texts)


def inconclusive(low: float, high: float) -> bool:
    """Whether the interval of an AUC includes chance and much else.

    >>> inconclusive(0.34, 0.67), inconclusive(0.48, 0.53), inconclusive(0.61, 0.9)
    (True, False, False)
    """
    return low <= 0.5 <= high and max(0.5 - low, high - 0.5) > _NEAR_CHANCE


def auc_interval(
    value: float, variance: float, freedom: float, independent: int
) -> tuple[float, float] | tuple[None, None]:
    """95 % bounds of an AUC on the scale of the log-odds.

    If all comparisons agree, the rule of three for `independent` comparisons applies.

    >>> [round(bound, 3) for bound in auc_interval(0.8, 0.0016, 1e6, 500)], auc_interval(1.0, 0.0, 99, 50)
    ([0.71, 0.867], (0.94, 1.0))
    """
    if freedom < 2:
        return None, None
    if value in (0.0, 1.0):
        rule = min(3 / max(independent, 1), 1.0)
        return (0.0, rule) if value == 0 else (1 - rule, 1.0)
    odds, reach = math.log(value / (1 - value)), student(freedom) * math.sqrt(variance) / (value * (1 - value))
    low, high = (0.5 + 0.5 * math.tanh((odds + side * reach) / 2) for side in (-1, 1))
    return low, high


def _placements(cosines: Vector, same: NDArray[np.bool_], weights: Vector) -> NDArray[np.float64]:
    """For every pair, the share of the pairs of the other kind that it is on the right side of; ties count half."""
    order = np.argsort(cosines, kind="stable")
    starts = np.flatnonzero(np.diff(cosines[order], prepend=np.nan) != 0)  # of pairs with equal cosines
    mine, sizes, weighed = same[order], np.diff(starts, append=len(order)), weights[order]
    within, between = (np.add.reduceat(weighed * kind, starts) for kind in (mine, ~mine))
    below_within, below_between = (np.cumsum(kind) - kind / 2 for kind in (within, between))
    share_between = np.repeat(below_between / between.sum(), sizes)
    share_within = np.repeat(1 - below_within / within.sum(), sizes)
    placements = np.empty(len(order))
    placements[order] = np.where(mine, share_between, share_within)
    return placements


def _sample(codes: IntVector, seed: int, most: int) -> IntVector:
    """At most `most` texts: at random, or whole labels if labels are so small that pairs would be lost."""
    n = len(codes)
    if n <= most:
        return np.arange(n)
    rng = np.random.default_rng(seed)
    counts = np.bincount(codes)
    if float((counts * (counts - 1.0)).sum()) / n * most / n >= 1:
        return np.sort(rng.choice(n, most, replace=False))
    order = rng.permutation(len(counts))
    return np.flatnonzero(np.isin(codes, order[np.cumsum(counts[order]) <= most]))
