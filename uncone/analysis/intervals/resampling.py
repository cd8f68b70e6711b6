"""Draws with replacement as counts, and intervals of figures over such draws."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from uncone.analysis.intervals.intervals import NORMAL
from uncone.errors import OptionError

__all__ = [
    "CELLS",
    "LEVEL",
    "REPLICATES",
    "Score",
    "Seed",
    "Weights",
    "bounds",
    "drawn_counts",
    "log_odds_score",
    "mean_size",
    "score",
    "share_score",
    "wilson",
]

Seed = int | Sequence[int]

Weights = NDArray[Any]
"""How often each pair or item is drawn (r, n), in r draws: counts, or weights that need not be whole."""

REPLICATES = 1000
"""The default number of bootstrap draws."""

LEVEL = 0.95
"""The confidence level of an interval."""

_Floats = NDArray[np.float64]

CELLS = 200_000
"""Counts in memory at a time: as many as fit into the caches of a processor."""


@dataclass(frozen=True)
class Score:
    """A figure on n rows, with its bootstrap interval; None if it is undefined."""

    value: float | None
    low: float | None
    high: float | None
    n: int


def drawn_counts(n: int, replicates: int, seed: Seed) -> Iterator[NDArray[np.int64]]:
    """How often each of n rows is drawn, in blocks of replicates (r, n); the draws do not depend on the blocks.

    >>> [block.sum(axis=1).tolist() for block in drawn_counts(4, 2, seed=0)]
    [[4, 4]]

    Raises:
        OptionError: there is nothing to draw from, or nothing is to be drawn.
    """
    if n < 1 or replicates < 1:
        raise OptionError(f"{replicates} replicates of {n} rows cannot be drawn: we need at least 1 of each.")
    rng = np.random.default_rng(seed)
    most = max(1, CELLS // n)
    for start in range(0, replicates, most):
        size = min(most, replicates - start)
        rows = rng.integers(0, n, (size, n))
        rows += n * np.arange(size)[:, None]
        yield np.bincount(rows.ravel(), minlength=size * n).reshape(size, n)


def bounds(replicates: _Floats, level: float = LEVEL) -> tuple[float, float] | tuple[None, None]:
    """The percentile interval of one figure; none if over a tenth of its replicates are undefined.

    Raises:
        OptionError: the level is not between 0 and 1.
    """
    if not 0 < level < 1:
        raise OptionError(f"A level of confidence lies between 0 and 1, for instance 0.95; this is {level}.")
    finite = replicates[np.isfinite(replicates)]
    if len(finite) < 0.9 * len(replicates):
        return None, None
    low, high = np.quantile(finite, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def score(value: float | None, replicates: _Floats, n: int, level: float = LEVEL) -> Score:
    """A figure with its interval, from its replicates; undefined if either is."""
    if value is None or not np.isfinite(value):
        return Score(None, None, None, n)
    low, high = bounds(replicates, level)
    return Score(float(value), low, high, n)


def mean_size(each: _Floats, items: float) -> float:
    """The number of items that are right or wrong whose mean is as certain as that of figures from 0 to 1 of `items`.

    Two more items, one with 0 and one with 1, stand for what was not observed: that no item failed does not mean that
    none does.

    >>> round(mean_size(np.ones(60), 60)), round(mean_size(np.full(60, 0.5), 60))
    (60, 1860)
    """
    mean = (items * float(each.mean()) + 1) / (items + 2)
    square = (items * float((each**2).mean()) + 1) / (items + 2)
    return items * mean * (1 - mean) / (square - mean**2)


def share_score(value: float | None, replicates: _Floats, n: int, size: float) -> Score:
    """A share, or a mean of figures from 0 to 1, with the interval of Clopper and Pearson.

    It is that of as many independent items as would vary as much as the draws do, and of no more than `size`. Draws of
    items that are all right do not vary, and their quantiles would claim certainty.

    >>> share_score(1.0, np.ones(100), 60, 60.0).low.__round__(3)
    0.94
    """
    interval = score(value, replicates, n)
    if interval.value is None or interval.low is None:
        return interval
    variance, spread = float(np.nanvar(replicates)), interval.value * (1 - interval.value)
    items = min(spread / variance, size) if variance > 0 and spread > 0 else size
    right, wrong = interval.value * items, (1 - interval.value) * items
    low = float(betaincinv(right, wrong + 1, (1 - LEVEL) / 2)) if right > 0 else 0.0
    high = float(betaincinv(right + 1, wrong, (1 + LEVEL) / 2)) if wrong > 0 else 1.0
    return Score(interval.value, min(low, interval.value), max(high, interval.value), n)


def log_odds_score(value: float | None, replicates: _Floats, n: int, *, flattered: bool = False) -> Score:
    """A share with an interval that is even in its log odds, for one that is skewed on few rows.

    Quantiles of draws cover the average precision of 60 pairs 88 times in 100, these bounds 95 times. The best of many
    choices is `flattered`: it exceeds that of many rows by about as much as draws exceed it, and its bounds are moved
    down by that. The value itself stays inside.
    """
    interval = score(value, replicates, n)
    if interval.value is None or interval.low is None or not 0 < interval.value < 1:
        return interval
    odds = np.log(replicates.clip(min=1e-6) / (1 - replicates).clip(min=1e-6))
    own = math.log(interval.value / (1 - interval.value))
    middle = own - max(float(np.nanmean(odds)) - own, 0.0) if flattered else own
    reach = NORMAL * float(np.nanstd(odds))
    low, high = (1 / (1 + math.exp(-(middle + sign * reach))) for sign in (-1, 1))
    return Score(interval.value, low, max(high, interval.value), n)


def wilson(k: _Floats | float, n: _Floats | float) -> tuple[_Floats, _Floats]:
    """Wilson's 95 % interval of shares k of n; it also holds if all or none are.

    >>> low, high = wilson(3, 3)
    >>> round(float(low), 2), round(float(high), 2)
    (0.44, 1.0)
    """
    size = np.asarray(n, np.float64)
    share, square = np.asarray(k, np.float64) / size, NORMAL**2
    middle = (share + square / (2 * size)) / (1 + square / size)
    reach = NORMAL / (1 + square / size) * np.sqrt(share * (1 - share) / size + square / (4 * size**2))
    return np.clip(middle - reach, 0.0, 1.0), np.clip(middle + reach, 0.0, 1.0)
