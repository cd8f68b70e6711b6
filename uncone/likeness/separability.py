"""Whether pairs of one label are more alike than pairs of two: the AUC, and its interval over rows."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from uncone.data.batch import IntVector, Vector
from uncone.diagnosis.intervals import student
from uncone.likeness.units import Units

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

    `rows` are those whose pairs were compared; None where there are no pairs of one kind.
    """

    value: float | None
    low: float | None
    high: float | None
    rows: int


def label_auc(units: Units, codes: IntVector, seed: int = 0, most: int = LOOKED_AT) -> Auc:
    """The AUC of within against between, over all pairs of at most `most` rows.

    Rows are the sampling units: the interval is built from what each row contributes through all of its pairs
    (infinitesimal jackknife), on the scale of the log-odds.
    """
    rows = _drawn(codes, seed, most)
    units, codes = units[rows], codes[rows]
    one, other = np.triu_indices(len(rows), 1)
    same = codes[one] == codes[other]
    if not same.any() or same.all():
        return Auc(None, None, None, len(rows))
    cosines = np.rint((units @ units.T)[one, other] * _GRID)
    placed = _placed(cosines, same)
    value = float(placed[same].mean())
    weights = np.where(same, 1 / np.count_nonzero(same), 1 / np.count_nonzero(~same)) * (placed - value)
    each = np.bincount(one, weights, len(rows)) + np.bincount(other, weights, len(rows))
    m = len(rows)
    low, high = auc_interval(value, float(each @ each) * m / (m - 1), m - 1, m // 2)
    return Auc(value, low, high, m)


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


def _placed(cosines: Vector, same: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Of every pair, the share of the pairs of the other kind that it is on the right side of, ties half."""
    order = np.argsort(cosines, kind="stable")
    starts = np.flatnonzero(np.diff(cosines[order], prepend=np.nan) != 0)  # of pairs that are equally alike
    mine = same[order]
    ends = np.append(starts[1:], len(order))
    sizes = ends - starts
    within = np.add.reduceat(mine, starts, dtype=np.int64)
    between = sizes - within
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
