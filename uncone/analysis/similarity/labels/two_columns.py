"""Two texts in every row: the cosine of each such pair, by label, and whether labels differ in it at all."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uncone.analysis.cosine.paired import pair_cosines
from uncone.analysis.intervals.intervals import LEAST_UNITS
from uncone.analysis.number_format import count
from uncone.analysis.similarity.label_codes import coded, label_text
from uncone.analysis.similarity.labels.label_sums import PairMean, above, estimate
from uncone.analysis.similarity.labels.separability import auc_interval, left_open
from uncone.analysis.similarity.results import PerLabel, TwoColumns
from uncone.analysis.similarity.sampling_units import (
    KNOWN,
    BackgroundError,
    independent_pairs,
    pair_texts,
    text_variance,
)
from uncone.data.batch import IntVector
from uncone.data.lazy_property import once
from uncone.errors import NoUsableRowsError, ShapeError

__all__ = ["MOST_COMPARED", "two_columns"]

MOST_COMPARED = 12
"""Labels in the table, the largest: 66 comparisons of two."""

_FEWEST = 3
"""Independent pairs of a label that a comparison needs."""
_GRID = 2.0**21
"""Cosines are compared to 5e-7, so that rounding makes no difference."""

Floats = NDArray[np.float64]


def two_columns(
    left: ArrayLike,
    right: ArrayLike,
    labels: Sequence[Hashable] | None = None,
    background_mean: float = 0.0,
    *,
    background: BackgroundError = KNOWN,
) -> TwoColumns:
    """The cosine of every row of `left` (n, d) with the same row of `right`, and its distribution by label.

    A row that has no direction has the cosine NaN, and is left out of the table, as is one without a label. The AUC of
    "a over b" is the probability that a pair labelled a is more alike than one labelled b, half of the ties counted;
    the label that scores higher comes first. Rows that share a text, an identical vector in either column, vary
    together in the intervals, and copies of a row are one.

    Args:
        left: vectors of the first texts, of any length.
        right: vectors of the second texts.
        labels: one per row: texts or numbers.
        background_mean: mean cosine of unrelated pairs; taken off in `above`.
        background: the error of that mean; by default it is taken as known.

    Raises:
        ShapeError: the two are not of one shape, or not one label per row.
        NoUsableRowsError: no row has two directions.
    """
    cosines = pair_cosines(left, right)
    n = len(cosines)
    if labels is not None and len(labels) != n:
        raise ShapeError(f"We need one label per row: there are {len(labels):,} for {n:,} rows.")
    known = np.isfinite(cosines)
    if not known.any():
        raise NoUsableRowsError(f"None of the {n:,} rows has two vectors with a direction: there is no cosine.")
    codes, names = (np.zeros(n, np.int64), ["all"]) if labels is None else coded(labels)
    one, other = pair_texts(left, right)
    counts = np.bincount(codes[known & (codes >= 0)], minlength=len(names))
    chosen = np.sort(np.argsort(-counts, kind="stable")[:MOST_COMPARED])
    chosen = chosen[counts[chosen] > 0]
    masks = {names[a]: known & (codes == a) for a in chosen.tolist()}
    sides = {name: _Side(cosines[mask], one[mask], other[mask]) for name, mask in masks.items()}
    table = []
    for name, mask in masks.items():
        found = _mean(sides[name], mask, (one, other), background)
        table.append(PerLabel(name, name, estimate(found), above(found, background_mean, background)))
    auc, units = {}, {}
    for a, b in combinations(sides, 2):
        if (compared := _auc(sides[a], sides[b])) is not None:
            (value, low, high), name = compared, f"{a} over {b}"
            if value < 0.5:
                value, low, high, name = 1 - value, 1 - high, 1 - low, f"{b} over {a}"
            auc[name], units[name] = (value, low, high), int(sides[a].joined(sides[b]).units)
    shown = None if labels is None else [label_text(label) or "" for label in labels]
    more = int((counts > 0).sum()) - len(chosen)
    differs = "" if labels is None else _differs(sides, auc, units, more)
    return TwoColumns(cosines, shown, table, auc, differs, units)


@dataclass(frozen=True, eq=False)
class _Side:
    """The cosines of the pairs of one label, and the texts of both sides of each."""

    cosines: Floats
    one: IntVector
    other: IntVector

    @once
    def units(self) -> float:
        """How many independent pairs there are."""
        return independent_pairs(self.one, self.other)

    def joined(self, other: _Side) -> _Side:
        """The pairs of both."""
        return _Side(
            np.concatenate([self.cosines, other.cosines]),
            np.concatenate([self.one, other.one]),
            np.concatenate([self.other, other.other]),
        )


def _mean(side: _Side, mask: NDArray[np.bool_], texts: tuple[IntVector, IntVector], error: BackgroundError) -> PairMean:
    """The mean of the cosines of a label, its variance, and its covariance with the mean of the background."""
    cosines, n, units = side.cosines, len(side.cosines), side.units
    mean, square = float(cosines.mean()), float((cosines**2).mean())
    if units < 2:
        return PairMean(mean, square, n, math.nan, 0)
    scale = math.sqrt(units / (units - 1))
    each = scale * (cosines - mean) / n
    variance = text_variance(each, side.one, side.other)
    if error.each is None:
        return PairMean(mean, square, n, variance, units - 1)
    # The variance of the difference, less those of its parts, is twice the covariance.
    apart = -error.each
    apart[mask] += each
    return PairMean(
        mean, square, n, variance, units - 1, (variance + error.variance - text_variance(apart, *texts)) / 2
    )


def _auc(one: _Side, other: _Side) -> tuple[float, float, float] | None:
    """The AUC with its interval, by DeLong's variance; pairs that share a text vary together."""
    n, m = one.units, other.units
    if min(n, m) < _FEWEST:
        return None
    ours, theirs = np.rint(one.cosines * _GRID), np.rint(other.cosines * _GRID)
    over = _share_below(ours, theirs)
    value = float(over.mean())
    ones = (over - value) / len(ours) * math.sqrt(n / (n - 1))
    others = (1 - _share_below(theirs, ours) - value) / len(theirs) * math.sqrt(m / (m - 1))
    both = one.joined(other)
    variance = text_variance(np.concatenate([ones, others]), both.one, both.other)
    a, b = text_variance(ones, one.one, one.other), text_variance(others, other.one, other.other)
    freedom = (a + b) ** 2 / (a**2 / (n - 1) + b**2 / (m - 1)) if a + b > 0 else min(n, m) - 1
    low, high = auc_interval(value, variance, min(freedom, both.units - 1), int(min(n, m)))
    return None if low is None or high is None else (value, low, high)


def _share_below(values: Floats, others: Floats) -> Floats:
    """The share of the others that each value is greater than, ties half."""
    ordered = np.sort(others)
    sides = np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right")
    return np.asarray(sides / (2 * len(others)))


def _differs(
    sides: Mapping[str, object], auc: Mapping[str, tuple[float, float, float]], units: Mapping[str, int], more: int
) -> str:
    if not sides:
        return "No row with two texts has a label, so there is nothing to compare."
    if len(sides) == 1:
        return "There is one label only, so there is nothing to compare."
    if not auc:
        return f"There are too few rows to compare labels: each needs at least {_FEWEST} that share no text."
    few = {name for name in auc if units[name] < LEAST_UNITS}
    apart = {name: found for name, found in auc.items() if name not in few and not found[1] <= 0.5 <= found[2]}
    most = max(apart or auc, key=lambda name: abs(auc[name][0] - 0.5))
    left = f" The table has the {len(sides)} largest of {len(sides) + more:,} labels." if more else ""
    if not apart and (few or any(left_open(low, high) for _, low, high in auc.values())):
        return (
            f"There are too few rows to tell whether the labels differ: {count(units[most], 'pair')} that share no "
            f"text. The most {_shown(most, auc[most])}.{left}"
        )
    if not apart:
        return f"Cosines do not tell the labels apart; the farthest from chance is {_shown(most, auc[most])}.{left}"
    little = ", but little" if abs(auc[most][0] - 0.5) < 0.1 else ""
    if len(auc) == 1:
        return f"The two labels differ{little}: {_shown(most, auc[most])}; 0.5 is chance.{left}"
    if len(apart) == len(auc):
        least = min(auc, key=lambda name: abs(auc[name][0] - 0.5))
        said = f"Every two labels differ{little}: most {_shown(most, auc[most])}, least {_shown(least, auc[least])}"
    else:
        alike = ", ".join(name.replace(" over ", " and ") for name in auc if name not in apart)
        said = f"{len(apart)} of {count(len(auc), 'pair')} of labels differ{little}: most {_shown(most, auc[most])}"
        said += f". No difference found: {alike}"
    return f"{said}; 0.5 is chance.{left}" if len(apart) == len(auc) else f"{said}.{left}"


def _shown(name: str, auc: tuple[float, float, float]) -> str:
    return f"{name} (AUC {auc[0]:.3f}, {auc[1]:.3f} to {auc[2]:.3f})"
