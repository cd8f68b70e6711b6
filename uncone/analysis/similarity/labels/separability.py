"""Whether pairs of one label are more alike than pairs of two: the AUC, and its interval over rows."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from uncone.analysis.intervals.intervals import student
from uncone.analysis.similarity.pairwise.unit_rows import Units
from uncone.analysis.similarity.sampling_units import cells_of
from uncone.data.batch import IntVector, Vector

__all__ = ["LOOKED_AT", "Auc", "auc_interval", "label_auc", "left_open"]

LOOKED_AT = 3000
"""Rows whose pairs are all compared, 4.5 million of them; of more rows so many are drawn."""

_NEAR_CHANCE = 0.1
"""An AUC within this of a half hardly tells anything apart."""
_GRID = np.float32(2**21)
"""Cosines are compared to 5e-7: copies of a row are then equally alike, whatever the last digit."""


@dataclass(frozen=True)
class Auc:
    """The probability that a pair of one label is more alike than a pair of two, half of the ties counted.

    `rows` are those whose pairs were compared, `texts` the distinct ones; None where there are no pairs of one kind.
    """

    value: float | None
    low: float | None
    high: float | None
    rows: int
    texts: int


def label_auc(
    units: Units, codes: IntVector, seed: int = 0, most: int = LOOKED_AT, *, groups: IntVector | None = None
) -> Auc:
    """The AUC of within against between, over all pairs of at most `most` rows that differ, with all their copies.

    Distinct rows are the sampling units: the interval is built from what each contributes through all of its pairs
    (infinitesimal jackknife), on the scale of the log-odds. `groups` numbers the rows that are identical.
    """
    cells = cells_of(codes, groups)
    chosen = _drawn(codes[cells.rows], seed, most)
    rows, copies, text = cells.rows[chosen], cells.weights[chosen], cells.groups[chosen]
    units, codes = units[rows], codes[rows]
    one, other = np.triu_indices(len(rows), 1)
    weights: NDArray[np.float64] | None = None
    again = np.flatnonzero(copies > 1)
    if len(again):  # the pairs of copies, too
        one, other = np.concatenate([one, again]), np.concatenate([other, again])
        weights = np.asarray(copies[one] * copies[other], np.float64)
        weights[-len(again) :] = copies[again] * (copies[again] - 1) / 2
    same = codes[one] == codes[other]
    compared, texts = int(copies.sum()), len(np.unique(text))
    if not same.any() or same.all():
        return Auc(None, None, None, compared, texts)
    cosines = np.rint((units @ units.T)[one, other] * _GRID)
    placed = _placed(cosines, same, weights)
    value = float(np.average(placed[same], weights=None if weights is None else weights[same]))
    shares = _shares(same, weights) * (placed - value)
    each = np.bincount(text[one], shares, cells.texts) + np.bincount(text[other], shares, cells.texts)
    if groups is not None:  # a text with itself is one pair less when it is left out, not two
        itself = text[one] == text[other]
        each -= np.bincount(text[one[itself]], shares[itself], len(each))
    low, high = auc_interval(value, float(each @ each) * texts / max(texts - 1, 1), texts - 1, texts // 2)
    return Auc(value, low, high, compared, texts)


def _shares(same: NDArray[np.bool_], weights: Vector | None) -> NDArray[np.float64]:
    """The share that each pair has of those of its kind."""
    if weights is None:
        return np.where(same, 1 / np.count_nonzero(same), 1 / np.count_nonzero(~same))
    return np.asarray(weights / np.where(same, weights[same].sum(), weights[~same].sum()))


def left_open(low: float, high: float) -> bool:
    """Whether an interval of an AUC holds chance and much else: then nothing is known, not even that there is nothing.

    >>> left_open(0.34, 0.67), left_open(0.48, 0.53), left_open(0.61, 0.9)
    (True, False, False)
    """
    return low <= 0.5 <= high and max(0.5 - low, high - 0.5) > _NEAR_CHANCE


def auc_interval(
    value: float, variance: float, freedom: float, independent: int
) -> tuple[float, float] | tuple[None, None]:
    """95 % bounds of an AUC on the scale of the log-odds.

    Where all comparisons come out alike, by the rule of three: of so many `independent` ones.

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


def _placed(cosines: Vector, same: NDArray[np.bool_], weights: Vector | None) -> NDArray[np.float64]:
    """Of every pair, the share of the pairs of the other kind that it is on the right side of, ties half."""
    order = np.argsort(cosines, kind="stable")
    starts = np.flatnonzero(np.diff(cosines[order], prepend=np.nan) != 0)  # of pairs that are equally alike
    mine = same[order]
    sizes = np.diff(starts, append=len(order))
    if weights is None:
        within = np.add.reduceat(mine, starts, dtype=np.int64)
        between = sizes - within
    else:
        weighed = weights[order]
        within, between = (np.add.reduceat(weighed * kind, starts) for kind in (mine, ~mine))
    below_within, below_between = (np.cumsum(kind) - kind / 2 for kind in (within, between))
    share_between = np.repeat(below_between / between.sum(), sizes)
    share_within = np.repeat(1 - below_within / within.sum(), sizes)
    placed = np.empty(len(order))
    placed[order] = np.where(mine, share_between, share_within)
    return placed


def _drawn(codes: IntVector, seed: int, most: int) -> IntVector:
    """All rows when they are few; else some at random, or whole labels where labels are so small that pairs fail."""
    n = len(codes)
    if n <= most:
        return np.arange(n)
    rng = np.random.default_rng(seed)
    counts = np.bincount(codes)
    if float((counts * (counts - 1.0)).sum()) / n * most / n >= 1:
        return np.sort(rng.choice(n, most, replace=False))
    order = rng.permutation(len(counts))
    taken = order[np.cumsum(counts[order]) <= most]
    return np.flatnonzero(np.isin(codes, taken))
