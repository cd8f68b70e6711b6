"""Correlations, their intervals, and the three ways to sum them up over the subsets of a dataset."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from uncone.analysis.intervals.intervals import NORMAL, Interval, student, variance_freedom
from uncone.data.batch import IntVector, Vector
from uncone.errors import OptionError, ShapeError

__all__ = [
    "Aggregated",
    "Correlation",
    "Kind",
    "adjusted_r2",
    "aggregate",
    "pearson",
    "pearson_change",
    "pearson_interval",
    "spearman",
]

Kind = Literal["spearman", "pearson"]

_NOISE = 1e-13  # a spread so small beside the mean is rounding


@dataclass(frozen=True)
class Correlation:
    """A correlation over n pairs; if it is undefined, the value is None and the reason says why."""

    value: float | None
    n: int
    reason: str = ""


@dataclass(frozen=True)
class Aggregated:
    """The same scores summed up in three ways; they can rank methods differently.

    `all` puts the pairs of all subsets together (SBERT, SimCSE); `mean` is the mean over the subsets, and `wmean` the
    mean weighted with their sizes (BERT-flow, whitening). Each is None if it is undefined; the reason says why.
    """

    all: float | None
    mean: float | None
    wmean: float | None
    n: int
    reason: str = ""
    subsets: Mapping[str, Correlation] = field(default_factory=dict)


def pearson(x: ArrayLike, y: ArrayLike) -> Correlation:
    """The product-moment correlation, as `scipy.stats.pearsonr` computes it.

    >>> pearson([1.0, 2.0, 3.0], [3.0, 2.0, 1.0])
    Correlation(value=-1.0, n=3, reason='')
    >>> pearson([1.0, 2.0, 3.0], [5.0, 5.0, 5.0]).reason
    'the second are all 5'
    """
    return _correlation(x, y, ranks=False)


def spearman(x: ArrayLike, y: ArrayLike) -> Correlation:
    """The correlation of the mid-ranks, as `scipy.stats.spearmanr` computes it.

    >>> spearman([1.0, 2.0, 3.0], [2.0, 4.0, 7.0]).value
    1.0
    """
    return _correlation(x, y, ranks=True)


def pearson_interval(x: Vector, y: Vector, groups: IntVector | None = None) -> Interval:
    """The 95 % interval of the product-moment correlation; nothing under four units, or if it is undefined.

    By Fisher's z, whose variance over u units is 1/(u - 3) for normal columns. Heavy tails make it larger: what each
    unit moves z by (the infinitesimal jackknife) says how much. Rows of one group, numbered from 0 on, are one unit.

    >>> columns = np.random.default_rng(0).normal(size=(2, 100))
    >>> low, high = pearson_interval(columns[0] + columns[1], columns[1])
    >>> low < 0.71 < high
    True
    """
    r, first, second = pearson(x, y).value, _standardized(x), _standardized(y)
    units = len(x) if groups is None else int(groups.max(initial=-1)) + 1
    if r is None or first is None or second is None or units < 4:
        return None, None
    if abs(r) >= 1:
        return r, r
    moved = (first * second - r * (first**2 + second**2) / 2) / (1 - r * r)
    sums = moved if groups is None else np.bincount(groups, weights=moved)
    squares = sums**2
    uneven = student(variance_freedom(squares)) * math.sqrt(float(squares.sum()) * units / (units - 1))
    reach = max(uneven, NORMAL / math.sqrt(units - 3))
    return math.tanh(math.atanh(r) - reach), math.tanh(math.atanh(r) + reach)


def pearson_change(
    before: Vector, after: Vector, y: Vector, groups: IntVector | None = None
) -> tuple[float | None, float | None, float | None]:
    """How much |r| with y grows from one column to another of the same rows, with its 95 % interval.

    What each unit moves the difference by (the infinitesimal jackknife) gives its spread, so what both correlations
    share cancels. If the second may have either sign, the wider of the two intervals is given.

    >>> columns = np.random.default_rng(0).normal(size=(2, 400))
    >>> value, low, high = pearson_change(columns[1], columns[0] + columns[1], columns[1])
    >>> low < value < high < 0 and -0.35 < value < -0.25
    True
    """
    finite = all(bool(np.isfinite(column).all()) for column in (before, after, y))
    first, second, target = (_standardized(column) if finite else None for column in (before, after, y))
    units = len(y) if groups is None else int(groups.max(initial=-1)) + 1
    if first is None or second is None or target is None or units < 4:
        return None, None, None
    r, s = float(first @ target), float(second @ target)
    moved = [x * target - at * (x**2 + target**2) / 2 for x, at in ((first, r), (second, s))]
    open_before, open_after = (_spans_zero(pearson_interval(column, y, groups)) for column in (before, after))
    signs = [-1.0, 1.0] if open_after and not open_before else [math.copysign(1.0, s)]
    reach = 0.0
    for sign in signs:
        each = sign * moved[1] - math.copysign(1.0, r) * moved[0]
        squares = (each if groups is None else np.bincount(groups, weights=each)) ** 2
        freedom = student(variance_freedom(squares))
        reach = max(reach, freedom * math.sqrt(float(squares.sum()) * units / (units - 1)))
    value = abs(s) - abs(r)
    return value, value - reach, value + reach


def _spans_zero(interval: Interval) -> bool:
    low, high = interval
    return low is not None and high is not None and low <= 0 <= high


def aggregate(
    gold: ArrayLike, predicted: ArrayLike, subsets: Sequence[str] | None = None, kind: Kind = "spearman"
) -> Aggregated:
    """The correlation of predicted similarities with human scores over all pairs, and over the subsets.

    Raises:
        OptionError: there is no such kind of correlation.
        ShapeError: not one score, similarity and subset per pair.
    """
    x, y = _columns(gold, predicted)
    if kind not in ("spearman", "pearson"):
        raise OptionError(f"There is no correlation {kind!r}; choose from spearman and pearson.")
    correlated = partial(_correlation, names=("the scores", "the similarities"), ranks=kind == "spearman")
    whole = correlated(x, y)
    names = np.full(len(x), "all") if subsets is None else np.asarray(subsets, dtype=object)
    if len(names) != len(x):
        raise ShapeError(f"There are {len(x):,} pairs but {len(names):,} subsets: give one per pair.")
    each = {str(name): correlated(x[names == name], y[names == name]) for name in dict.fromkeys(names)}
    reason = whole.reason
    mean = wmean = None
    undefined = next(((name, part) for name, part in each.items() if part.value is None), None)
    if undefined is None:
        values = np.array([part.value for part in each.values()], np.float64)
        sizes = np.array([part.n for part in each.values()])
        mean, wmean = float(values.mean()), float(values @ sizes / sizes.sum())
    elif not reason:
        reason = f"in {undefined[0]}, {undefined[1].reason}"
    return Aggregated(whole.value, mean, wmean, len(x), reason, each)


def adjusted_r2(y: Vector, columns: list[Vector]) -> float | None:
    """The share of the variance of y (n,) that the columns explain together, adjusted for their number.

    1 - (1 - R²)(n - 1)/(n - p - 1) for p columns that say different things: about zero, and as often below, when they
    say nothing. None when there is no row to spare.
    """
    predictors = [column for column in map(_standardized, columns) if column is not None]
    target, n = _standardized(y), len(y)
    if target is None or not predictors:
        return None
    design = np.stack(predictors, axis=1)
    left, _, p, _ = np.linalg.lstsq(design, target, rcond=1e-6)
    if n - p - 1 < 1:
        return None
    rest = target - design @ left
    return float(1 - (rest @ rest) * (n - 1) / (n - p - 1))


def _columns(x: ArrayLike, y: ArrayLike) -> tuple[Vector, Vector]:
    first, second = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if first.ndim != 1 or first.shape != second.shape:
        raise ShapeError(f"A correlation needs two columns of one length, not {first.shape} and {second.shape}.")
    return first, second


def _correlation(
    x: ArrayLike, y: ArrayLike, names: tuple[str, str] = ("the first", "the second"), *, ranks: bool
) -> Correlation:
    columns = _columns(x, y)
    n = len(columns[0])
    if n < 2:
        return Correlation(None, n, f"a correlation needs two pairs, not {n}")
    parts = []
    for name, values in zip(names, columns, strict=True):
        bad = n - int(np.isfinite(values).sum())
        if bad:
            return Correlation(None, n, f"{bad:,} of {n:,} of {name} are not finite")
        if (values == values[0]).all():
            return Correlation(None, n, f"{name} are all {values[0]:g}")
        centered = _centered(_midranks(values) if ranks else values)
        if centered is None:
            return Correlation(None, n, f"{name} are all {values.mean():g} but for rounding")
        parts.append(centered)
    a, b = parts
    return Correlation(float(np.clip((a @ b) / np.sqrt((a @ a) * (b @ b)), -1.0, 1.0)), n)


def _midranks(values: Vector) -> Vector:
    """Ranks from 1; equal values share the mean of theirs."""
    _, place, sizes = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(sizes) - (sizes - 1) / 2)[place])


def _standardized(values: Vector) -> Vector | None:
    """The values centered and at length one; None if they are all the same."""
    centered = _centered(values)
    return None if centered is None else np.asarray(centered / math.sqrt(float(centered @ centered)))


def _centered(values: Vector) -> Vector | None:
    """The values minus their mean, the largest at 1 so that squares do not vanish; None if they are all the same."""
    mean = values.mean(dtype=np.float64) if len(values) else 0.0
    centered = values.astype(np.float64) - mean
    largest = float(np.abs(centered).max(initial=0.0))
    return None if largest <= _NOISE * abs(mean) else np.asarray(centered / largest)
