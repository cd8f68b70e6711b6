"""Similarity within and between labels: a table with intervals, and whether labels are separable at all."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from uncone.analysis.cosine.units import checked_units
from uncone.analysis.intervals.intervals import LEAST_UNITS
from uncone.analysis.number_format import count
from uncone.analysis.similarity.label_codes import coded
from uncone.analysis.similarity.labels.label_sums import LabelSums, above, estimate
from uncone.analysis.similarity.labels.separability import Auc, inconclusive, label_auc
from uncone.analysis.similarity.results import Labels, PerLabel
from uncone.analysis.similarity.sampling_units import BackgroundError, copies_of
from uncone.errors import OptionError, ShapeError

__all__ = ["per_label"]

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

    Args:
        units: unit vectors (n, d).
        labels: one per vector: texts or numbers.
        background_mean: mean cosine of unrelated pairs, subtracted in `above`.
        seed: of the sample for the AUC if there are many texts.
        most: number of labels in the table, largest first.
        background: the error of the mean of the background; by default that is taken as known.

    Raises:
        ShapeError: not one label per vector.
        OptionError: no text has a label.
    """
    table = checked_units(units)
    if len(labels) != len(table):
        raise ShapeError(f"We need one label per text: there are {len(labels):,} for {len(table):,} texts.")
    codes, names = coded(labels)
    known = np.flatnonzero(codes >= 0)
    if not len(known):
        raise OptionError("No text has a label: each is empty. Name another column, or leave the labels out.")
    groups, each = copies_of(table), background.each
    if len(known) < len(codes):
        table, codes = table[known], codes[known]
        groups = None if groups is None else groups[known]
        each = None if each is None else each[known]
    sums = LabelSums.of(table, codes, groups, each)
    by_size = np.argsort(-sums.counts, kind="stable")
    chosen = np.sort(by_size[: max(most, 1)])
    summed = sums.squares(chosen)
    numbers = chosen.tolist()
    means = [(a, a, sums.within_label(a, float(summed.squares[at, at]))) for at, a in enumerate(numbers)]
    between = sums.between_labels(chosen, summed)
    means += [(a, b, mean) for (a, b), mean in zip(combinations(numbers, 2), between, strict=True)]
    rows = [
        PerLabel(names[a], names[b], estimate(mean), above(mean, background_mean, background)) for a, b, mean in means
    ]
    if len(sums.counts) == len(chosen) == 2:  # the same pairs have the same interval
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
        _sentence(auc, sums, len(labels) - len(known), len(chosen)),
        sums.cells.texts,
    )


def _sentence(auc: Auc, sums: LabelSums, unlabeled: int, shown: int) -> str:
    lines = [_verdict(auc, len(sums.counts))]
    if auc.value is not None and auc.rows < len(sums.codes):
        lines.append(f"The AUC covers all pairs of {auc.rows:,} of {len(sums.codes):,} texts.")
    if shown < len(sums.counts):
        lines.append(f"The table has the {shown:,} largest of {len(sums.counts):,} labels.")
    if unlabeled:
        lines.append(f"{count(unlabeled, 'text')} without a label {'was' if unlabeled == 1 else 'were'} left out.")
    return " ".join(lines)


def _verdict(auc: Auc, labels: int) -> str:
    if labels == 1:
        return "There is only one label, so there is nothing to separate."
    if auc.value is None:
        return "No label has two texts, so there are no pairs with the same label."
    shown = f"AUC {auc.value:.3f}"
    few = f"{count(auc.texts, 'distinct text')} {'is' if auc.texts == 1 else 'are'} too few to say whether the labels"
    if auc.low is None or auc.high is None:
        return f"{few} are separable ({shown}; 0.5 is chance)."
    shown += f", {auc.low:.3f} to {auc.high:.3f}; 0.5 is chance"
    if auc.texts < LEAST_UNITS or inconclusive(auc.low, auc.high):
        return f"{few} are separable ({shown})."
    if auc.low <= 0.5 <= auc.high:
        pairs = "pairs with the same label are no more similar than pairs with different labels"
        return f"Cosine doesn't separate the labels: {pairs} ({shown})."
    if auc.value < 0.5:
        pairs = "pairs with different labels are more similar than pairs with the same label"
        return f"Cosine doesn't follow the labels: {pairs} ({shown})."
    how = "barely separates the labels" if auc.value < 0.6 else "partly separates the labels"
    how = "separates the labels well" if auc.value >= 0.8 else how
    often = f"a pair with the same label is more similar than one with different labels {100 * auc.value:.0f} times"
    return f"Cosine {how}: {often} in 100 ({shown})."
