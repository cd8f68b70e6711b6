"""Similarity within and between labels: a table with intervals, and the AUC that shows whether labels are separable."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uncone.analysis.cosine.units import Units, checked_units
from uncone.analysis.intervals.intervals import LEAST_UNITS, student
from uncone.analysis.number_format import count
from uncone.analysis.similarity.label_sums import LabelSums, above, coded, estimate
from uncone.analysis.similarity.results import Labels, PerLabel
from uncone.analysis.similarity.sampling_units import BackgroundError, cells_of, copies_of
from uncone.data.batch import IntVector, Vector
from uncone.errors import OptionError, ShapeError

__all__ = ["COSINE_GRID", "Auc", "auc_interval", "inconclusive", "label_auc", "per_label", "share_below"]

_TABLE_LABELS, _COUNTED_LABELS = 30, 1000
"""The largest labels: those in the table, which has 30 + 435 lines, and those whose texts are counted."""


def per_label(
    units: ArrayLike,
    labels: Sequence[Hashable],
    background_mean: float,
    seed: int = 0,
    *,
    most: int = _TABLE_LABELS,
    background: BackgroundError = BackgroundError(),  # noqa: B008 - immutable
) -> Labels:
    """Mean and standard deviation of the cosines within each label and between every two, exact over all pairs.

    Distinct texts are the sampling units of the intervals: n texts make n(n-1)/2 pairs, but are only n independent
    observations, and copies are one. Texts without a label (None, NaN, blank) are left out.
    The table has the `most` largest labels. `background_mean` is the mean cosine of unrelated pairs, which is
    subtracted in `above`, and `background` its error: none by default.

    Raises:
        ShapeError: not one label per vector.
        OptionError: no text has a label.
    """
    table = checked_units(units)
    if len(labels) != len(table):
        raise ShapeError(f"We need one label per text: there are {len(labels):,} for {len(table):,} texts.")
    codes, names = coded(labels)
    labeled = np.flatnonzero(codes >= 0)
    if not len(labeled):
        raise OptionError("No text has a label: each is empty. Name another column, or leave the labels out.")
    groups, each = copies_of(table), background.each
    if len(labeled) < len(codes):
        table, codes = table[labeled], codes[labeled]
        groups = None if groups is None else groups[labeled]
        each = None if each is None else each[labeled]
    sums = LabelSums.of(table, codes, groups, each)
    by_size = np.argsort(-sums.counts, kind="stable")
    largest = np.sort(by_size[: max(most, 1)])
    summed = sums.squares(largest)
    numbers = largest.tolist()
    means = [(a, a, sums.within_label(a, float(summed.squares[at, at]))) for at, a in enumerate(numbers)]
    between = sums.between_labels(largest, summed)
    means += [(a, b, mean) for (a, b), mean in zip(combinations(numbers, 2), between, strict=True)]
    rows = [
        PerLabel(names[a], names[b], estimate(mean), above(mean, background_mean, background)) for a, b, mean in means
    ]
    if len(sums.counts) == len(largest) == 2:  # the same pairs have the same interval
        between_all = rows[-1].cosine
    else:
        between_all = estimate(sums.overall(summed.every - summed.within, within=False))
    auc = label_auc(table, codes, seed, groups=groups)
    return Labels(
        {names[a]: int(sums.counts[a]) for a in np.sort(by_size[:_COUNTED_LABELS]).tolist()},
        rows,
        estimate(sums.overall(summed.within, within=True)),
        between_all,
        auc.value,
        auc.low,
        auc.high,
        _sentence(auc, sums, len(labels) - len(labeled), len(largest)),
        sums.cells.texts,
    )


def _sentence(auc: Auc, sums: LabelSums, unlabeled: int, n_shown: int) -> str:
    lines = [_verdict(auc, len(sums.counts))]
    if auc.value is not None and auc.rows < len(sums.codes):
        lines.append(f"The AUC covers all pairs of {auc.rows:,} of {len(sums.codes):,} texts.")
    if n_shown < len(sums.counts):
        lines.append(f"The table has the {n_shown:,} largest of {len(sums.counts):,} labels.")
    if unlabeled:
        lines.append(f"{count(unlabeled, 'text')} without a label {'was' if unlabeled == 1 else 'were'} left out.")
    return " ".join(lines)


def _verdict(auc: Auc, labels: int) -> str:
    if labels == 1:
        return "There is only one label, so there is nothing to separate."
    if auc.value is None:
        return "No label has two texts, so there are no pairs with the same label."
    figures = f"AUC {auc.value:.3f}"
    few = f"{count(auc.texts, 'distinct text')} {'is' if auc.texts == 1 else 'are'} too few to say whether the labels"
    if auc.low is None or auc.high is None:
        return f"{few} are separable ({figures}; 0.5 is chance)."
    figures += f", {auc.low:.3f} to {auc.high:.3f}; 0.5 is chance"
    if auc.texts < LEAST_UNITS or inconclusive(auc.low, auc.high):
        return f"{few} are separable ({figures})."
    if auc.low <= 0.5 <= auc.high:
        pairs = "pairs with the same label are no more similar than pairs with different labels"
        return f"Cosine doesn't separate the labels: {pairs} ({figures})."
    if auc.value < 0.5:
        pairs = "pairs with different labels are more similar than pairs with the same label"
        return f"Cosine doesn't follow the labels: {pairs} ({figures})."
    verdict = "barely separates the labels" if auc.value < 0.6 else "partly separates the labels"
    verdict = "separates the labels well" if auc.value >= 0.8 else verdict
    often = f"a pair with the same label is more similar than one with different labels {100 * auc.value:.0f} times"
    return f"Cosine {verdict}: {often} in 100 ({figures})."


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
    sample = _sample(codes[cells.rows], seed, most)
    rows, copies, text = cells.rows[sample], cells.weights[sample], cells.groups[sample]
    units, codes = units[rows], codes[rows]
    repeated = np.flatnonzero(copies > 1)  # their copies are pairs, too
    first, second = (np.concatenate([side, repeated]) for side in np.triu_indices(len(rows), 1))
    weights = np.asarray(copies[first] * copies[second], np.float64)
    weights[len(weights) - len(repeated) :] = copies[repeated] * (copies[repeated] - 1) / 2
    same = codes[first] == codes[second]
    compared, texts = int(copies.sum()), len(np.unique(text))
    if not same.any() or same.all():
        return Auc(None, None, None, compared, texts)
    cosines = np.rint((units @ units.T)[first, second] * np.float32(COSINE_GRID))
    placements = _placements(cosines, same, weights)
    value = float(np.average(placements[same], weights=weights[same]))
    shares = weights / np.where(same, weights[same].sum(), weights[~same].sum()) * (placements - value)
    each = np.bincount(text[first], shares, cells.texts) + np.bincount(text[second], shares, cells.texts)
    if groups is not None:  # leaving out a text removes its pair with itself once, not twice
        itself = text[first] == text[second]
        each -= np.bincount(text[first[itself]], shares[itself], len(each))
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


def share_below(values: Vector, others: Vector) -> Vector:
    """The share of the others below each value, ties counting half; its mean is the AUC of the values.

    >>> share_below(np.array([0.9, 0.5]), np.array([0.5, 0.1])).tolist()
    [1.0, 0.75]
    """
    ordered = np.sort(others)
    sides = np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right")
    return np.asarray(sides / (2 * len(others)))


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
