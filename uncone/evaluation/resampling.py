"""Bootstrap by counts: how often each row is drawn is all that a statistic of the drawn rows needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uncone.errors import OptionError

__all__ = ["LEVEL", "REPLICATES", "Score", "Seed", "bounds", "drawn_counts", "mean_score", "replicate", "score"]

Seed = int | Sequence[int]

REPLICATES = 1000
"""How often rows are drawn again."""

LEVEL = 0.95
"""How often an interval should hold the truth."""

_CELLS = 200_000
"""Counts in memory at a time: what the caches of a processor hold."""


@dataclass(frozen=True)
class Score:
    """A figure on n rows, with its bootstrap interval; None where it is undefined."""

    value: float | None
    low: float | None
    high: float | None
    n: int


def drawn_counts(n: int, replicates: int, seed: Seed) -> Iterator[NDArray[np.int64]]:
    """How often each of n rows is drawn, in blocks of replicates (r, n); the blocks do not change what is drawn.

    >>> [block.sum(axis=1).tolist() for block in drawn_counts(4, 2, seed=0)]
    [[4, 4]]

    Raises:
        OptionError: there is nothing to draw from, or nothing is to be drawn.
    """
    if n < 1 or replicates < 1:
        raise OptionError(f"{replicates} replicates of {n} rows cannot be drawn: we need at least 1 of each.")
    rng = np.random.default_rng(seed)
    most = max(1, _CELLS // n)
    for start in range(0, replicates, most):
        size = min(most, replicates - start)
        rows = rng.integers(0, n, (size, n))
        rows += n * np.arange(size)[:, None]
        yield np.bincount(rows.ravel(), minlength=size * n).reshape(size, n)


def replicate(
    statistic: Callable[[NDArray[np.int64]], NDArray[np.float64]], n: int, replicates: int, seed: Seed
) -> NDArray[np.float64]:
    """A statistic of blocks of counts (r, n) -> (..., r), over all replicates: (..., replicates)."""
    return np.concatenate([statistic(counts) for counts in drawn_counts(n, replicates, seed)], axis=-1)


def bounds(replicates: NDArray[np.float64], level: float = LEVEL) -> tuple[float, float] | tuple[None, None]:
    """The percentile interval of one figure; none where over a tenth of its replicates are undefined.

    Raises:
        OptionError: the level is not between 0 and 1.
    """
    if not 0 < level < 1:
        raise OptionError(f"A level of confidence lies between 0 and 1, for instance 0.95; this is {level}.")
    known = replicates[np.isfinite(replicates)]
    if len(known) < 0.9 * len(replicates):
        return None, None
    low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def score(value: float | None, replicates: NDArray[np.float64], n: int, level: float = LEVEL) -> Score:
    """A figure with its interval, from its replicates; undefined where either is."""
    if value is None or not np.isfinite(value):
        return Score(None, None, None, n)
    low, high = bounds(replicates, level)
    return Score(float(value), low, high, n)


def mean_score(each: ArrayLike, replicates: int = REPLICATES, seed: int = 0, level: float = LEVEL) -> Score:
    """The mean of what was measured on each row, with its interval over rows.

    >>> mean_score([1.0, 0.0, 1.0, 1.0]).value
    0.75
    """
    values = np.asarray(each, np.float64)
    n = len(values)
    if not n:
        return Score(None, None, None, 0)
    return score(float(values.mean()), replicate(lambda counts: counts @ values / n, n, replicates, seed), n, level)
