"""Correlations with human scores, and the three ways to sum them up over the subsets of a dataset."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata

from uncone.errors import OptionError, ShapeError

__all__ = ["Aggregated", "Correlation", "Kind", "aggregate", "pearson", "spearman"]

Kind = Literal["spearman", "pearson"]

_NOISE = 1e-13  # a spread so small beside the mean is rounding


@dataclass(frozen=True)
class Correlation:
    """A correlation over n pairs; where it is undefined the value is None and the reason says why."""

    value: float | None
    n: int
    reason: str = ""


@dataclass(frozen=True)
class Aggregated:
    """The same scores summed up in three ways; they can rank methods differently.

    `all` puts the pairs of all subsets together (SBERT, SimCSE); `mean` is the mean over the subsets, and `wmean` the
    mean weighted with their sizes (BERT-flow, whitening). Each is None where it is undefined; the reason says why.
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
    return _correlation(x, y, "the first", "the second", ranks=False)


def spearman(x: ArrayLike, y: ArrayLike) -> Correlation:
    """The correlation of the mid-ranks, as `scipy.stats.spearmanr` computes it.

    >>> spearman([1.0, 2.0, 3.0], [2.0, 4.0, 7.0]).value
    1.0
    """
    return _correlation(x, y, "the first", "the second", ranks=True)


def aggregate(
    gold: ArrayLike, predicted: ArrayLike, subsets: Sequence[str] | None = None, kind: Kind = "spearman"
) -> Aggregated:
    """The correlation of predicted similarities with human scores over all pairs, and over the subsets.

    Raises:
        OptionError: there is no such kind of correlation.
        ShapeError: not one score, similarity and subset per pair.
    """
    x, y = _columns(gold, predicted)
    correlated = _known(kind)
    whole = correlated(x, y)
    names = np.full(len(x), "all") if subsets is None else np.asarray(subsets, dtype=object)
    if len(names) != len(x):
        raise ShapeError(f"There are {len(x):,} pairs but {len(names):,} subsets: give one per pair.")
    each = {str(name): correlated(x[names == name], y[names == name]) for name in dict.fromkeys(names)}
    reason = whole.reason
    mean = wmean = None
    undefined = next(((name, one) for name, one in each.items() if one.value is None), None)
    if undefined is None:
        values = np.array([one.value for one in each.values()], np.float64)
        sizes = np.array([one.n for one in each.values()])
        mean, wmean = float(values.mean()), float(values @ sizes / sizes.sum())
    elif not reason:
        reason = f"in {undefined[0]}, {undefined[1].reason}"
    return Aggregated(whole.value, mean, wmean, len(x), reason, each)


def _known(kind: str) -> Callable[[NDArray[np.float64], NDArray[np.float64]], Correlation]:
    if kind not in ("spearman", "pearson"):
        raise OptionError(f"There is no correlation {kind!r}; there are spearman and pearson.")
    ranks = kind == "spearman"
    return lambda x, y: _correlation(x, y, "the scores", "the similarities", ranks=ranks)


def _columns(x: ArrayLike, y: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    one, other = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if one.ndim != 1 or one.shape != other.shape:
        raise ShapeError(f"A correlation needs two columns of one length, not {one.shape} and {other.shape}.")
    return one, other


def _correlation(x: ArrayLike, y: ArrayLike, first: str, second: str, *, ranks: bool) -> Correlation:
    one, other = _columns(x, y)
    n = len(one)
    if n < 2:
        return Correlation(None, n, f"a correlation needs two pairs, not {n}")
    for name, values in ((first, one), (second, other)):
        bad = n - int(np.isfinite(values).sum())
        if bad:
            return Correlation(None, n, f"{bad:,} of {n:,} of {name} are not finite")
        if (values == values[0]).all():
            return Correlation(None, n, f"{name} are all {values[0]:g}")
    if ranks:
        one, other = rankdata(one), rankdata(other)
    parts = []
    for name, values in ((first, one), (second, other)):
        mean = values.mean()
        centred = values - mean
        # Divided first, so that squares of very small values do not vanish.
        largest = float(np.abs(centred).max())
        if largest <= _NOISE * abs(mean):
            return Correlation(None, n, f"{name} are all {mean:g} but for rounding")
        parts.append(centred / largest)
    a, b = parts
    return Correlation(float(np.clip((a @ b) / np.sqrt((a @ a) * (b @ b)), -1.0, 1.0)), n)
