"""Two texts in every row: the cosine of each pair, by label, and whether labels differ in it at all."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uncone.analysis.cosine.units import pair_cosines
from uncone.analysis.intervals.intervals import LEAST_UNITS
from uncone.analysis.number_format import count
from uncone.analysis.similarity.label_codes import coded, label_text
from uncone.analysis.similarity.labels.label_sums import PairMean, above, estimate
from uncone.analysis.similarity.labels.separability import COSINE_GRID, auc_interval, inconclusive
from uncone.analysis.similarity.results import PerLabel, TwoColumns
from uncone.analysis.similarity.sampling_units import BackgroundError, independent_pairs, pair_texts, text_variance
from uncone.data.batch import IntVector
from uncone.data.lazy_property import once
from uncone.errors import NoUsableRowsError, ShapeError

__all__ = ["two_columns"]

_TABLE_LABELS = 12
"""The largest labels, which make 66 comparisons."""
_MINIMUM = 3
"""Independent pairs of a label that a comparison needs."""

Floats = NDArray[np.float64]
Interval = tuple[float, float, float]
"""A value with the bounds of its interval."""


def two_columns(
    left: ArrayLike,
    right: ArrayLike,
    labels: Sequence[Hashable] | None = None,
    background_mean: float = 0.0,
    *,
    background: BackgroundError = BackgroundError(),  # noqa: B008 - immutable
) -> TwoColumns:
    """The cosine of every vector of `left` (n, d) with the same row of `right`, and its distribution by label.

    A vector without a direction has the cosine NaN and is left out of the table, as is a row without a label. The AUC
    of "a over b" is the probability that a pair labeled a is more similar than one labeled b, ties counting half; the
    label that scores higher comes first. Rows that share a text, an identical vector in either column, vary together
    in the intervals, and copies of a row are one.

    Args:
        left: vectors of the first texts, of any length.
        right: vectors of the second texts.
        labels: one per row: texts or numbers.
        background_mean: mean cosine of unrelated pairs, subtracted in `above`.
        background: the error of that mean; by default it is taken as known.

    Raises:
        ShapeError: the two are not of one shape, or not one label per row.
        NoUsableRowsError: no row has two directions.
    """
    cosines = pair_cosines(left, right)
    n = len(cosines)
    if labels is not None and len(labels) != n:
        raise ShapeError(f"We need one label per pair: there are {len(labels):,} for {n:,} pairs.")
    known = np.isfinite(cosines)
    if not known.any():
        raise NoUsableRowsError(f"None of the {n:,} pairs has two vectors with a direction: there is no cosine.")
    codes, names = (np.zeros(n, np.int64), ["all"]) if labels is None else coded(labels)
    texts = pair_texts(left, right)
    counts = np.bincount(codes[known & (codes >= 0)], minlength=len(names))
    chosen = np.sort(np.argsort(-counts, kind="stable")[:_TABLE_LABELS])
    masks = {names[a]: known & (codes == a) for a in chosen[counts[chosen] > 0].tolist()}
    by_label = {name: _LabelPairs(cosines[mask], *(side[mask] for side in texts)) for name, mask in masks.items()}
    table = []
    for name, pairs in by_label.items():
        mean = _mean(pairs, masks[name], texts, background)
        table.append(PerLabel(name, name, estimate(mean), above(mean, background_mean, background)))
    auc, units = {}, {}
    for a, b in combinations(by_label, 2):
        if (compared := _auc(by_label[a], by_label[b])) is not None:
            (value, low, high), name = compared, f"{a} over {b}"
            if value < 0.5:
                value, low, high, name = 1 - value, 1 - high, 1 - low, f"{b} over {a}"
            auc[name], units[name] = (value, low, high), int(by_label[a].joined(by_label[b]).units)
    shown = None if labels is None else [label_text(label) or "" for label in labels]
    more = int((counts > 0).sum()) - len(by_label)
    differs = "" if labels is None else _differences(len(by_label), auc, units, more)
    return TwoColumns(cosines, shown, table, auc, differs, units)


@dataclass(frozen=True, eq=False)
class _LabelPairs:
    """The cosines of the pairs with one label, and the texts of both sides of each."""

    cosines: Floats
    one: IntVector
    other: IntVector

    @once
    def units(self) -> float:
        """The effective number of independent pairs."""
        return independent_pairs(self.one, self.other)

    def joined(self, others: _LabelPairs) -> _LabelPairs:
        """The pairs of both labels."""
        columns = ("cosines", "one", "other")
        return _LabelPairs(*(np.concatenate([getattr(self, name), getattr(others, name)]) for name in columns))


def _mean(
    pairs: _LabelPairs, mask: NDArray[np.bool_], texts: tuple[IntVector, IntVector], error: BackgroundError
) -> PairMean:
    """The mean cosine of a label, its variance, and its covariance with the mean of the background."""
    cosines, n, units = pairs.cosines, len(pairs.cosines), pairs.units
    mean, square = float(cosines.mean()), float((cosines**2).mean())
    if units < 2:
        return PairMean(mean, square, n)
    each = math.sqrt(units / (units - 1)) * (cosines - mean) / n
    variance, covariance = text_variance(each, pairs.one, pairs.other), 0.0
    if error.each is not None:  # Var(x - y) = Var(x) + Var(y) - 2 Cov(x, y)
        difference = -error.each
        difference[mask] += each
        covariance = (variance + error.variance - text_variance(difference, *texts)) / 2
    return PairMean(mean, square, n, variance, units - 1, covariance)


def _auc(one: _LabelPairs, other: _LabelPairs) -> Interval | None:
    """The AUC with its interval, by DeLong's variance; pairs that share a text vary together."""
    n, m = one.units, other.units
    if min(n, m) < _MINIMUM:
        return None
    ours, theirs = np.rint(one.cosines * COSINE_GRID), np.rint(other.cosines * COSINE_GRID)
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
    """The share of the others below each value; ties count half."""
    ordered = np.sort(others)
    sides = np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right")
    return np.asarray(sides / (2 * len(others)))


def _differences(labels: int, auc: Mapping[str, Interval], units: Mapping[str, int], more: int) -> str:
    """A sentence about the differences between labels."""
    if not labels:
        return "No pair has a label, so there is nothing to compare."
    if labels == 1:
        return "There is only one label, so there is nothing to compare."
    if not auc:
        return f"There are too few pairs to compare labels: each needs at least {_MINIMUM} that share no text."
    few = {name for name in auc if units[name] < LEAST_UNITS}
    apart = [name for name, (_, low, high) in auc.items() if name not in few and not low <= 0.5 <= high]
    by_difference = sorted(apart or auc, key=lambda name: -abs(auc[name][0] - 0.5))
    most, least = (
        f"{name} (AUC {auc[name][0]:.3f}, {auc[name][1]:.3f} to {auc[name][2]:.3f})"
        for name in (by_difference[0], by_difference[-1])
    )
    left = f" The table has the {labels} largest of {labels + more:,} labels." if more else ""
    if not apart and (few or any(inconclusive(low, high) for _, low, high in auc.values())):
        pairs = count(units[by_difference[0]], "pair")
        few_pairs = f"{pairs} that share no text are too few to say whether the labels differ."
        return f"{few_pairs} The largest difference is {most}.{left}"
    if not apart:
        return f"Cosine doesn't separate the labels; the largest difference is {most}.{left}"
    little = ", but little" if abs(auc[by_difference[0]][0] - 0.5) < 0.1 else ""
    if len(auc) == 1:
        return f"The two labels differ{little}: {most}; 0.5 is chance.{left}"
    if len(apart) == len(auc):
        return f"All labels differ{little}: most {most}, least {least}; 0.5 is chance.{left}"
    same = ", ".join(name.replace(" over ", " and ") for name in auc if name not in apart)
    return (
        f"{len(apart)} of {count(len(auc), 'pair')} of labels differ{little}: most {most}. "
        f"No difference found: {same}.{left}"
    )
