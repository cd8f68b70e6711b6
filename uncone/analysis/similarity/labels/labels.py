"""How alike texts of one label are, and of two: a table with intervals, and whether labels are separable at all."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from uncone.analysis.intervals.intervals import LEAST_UNITS
from uncone.analysis.number_format import count
from uncone.analysis.similarity.label_codes import coded
from uncone.analysis.similarity.labels.label_sums import LabelSums, PairMean, Sides, Squares, above, estimate
from uncone.analysis.similarity.labels.separability import Auc, label_auc, left_open
from uncone.analysis.similarity.pairwise.unit_rows import checked_units
from uncone.analysis.similarity.results import Estimate, Labels, PerLabel
from uncone.analysis.similarity.sampling_units import KNOWN, BackgroundError, copies_of
from uncone.data.batch import IntVector
from uncone.errors import OptionError, ShapeError

__all__ = ["COUNTED", "MOST_LABELS", "per_label"]

MOST_LABELS = 30
"""Labels in the table, the largest: 30 with themselves and 435 pairs of two. All labels are in the sums below it."""

COUNTED = 1000
"""Labels whose rows are told, the largest."""


def per_label(
    units: ArrayLike,
    labels: Sequence[Hashable],
    background_mean: float,
    seed: int = 0,
    *,
    most: int = MOST_LABELS,
    background: BackgroundError = KNOWN,
) -> Labels:
    """Mean and standard deviation of the cosines within each label and between every two, exact over all pairs.

    Distinct rows are the sampling units of the intervals: n rows make n(n-1)/2 pairs, but no more than n independent
    things, and copies of a row are one. Rows without a label (None, NaN, an empty text) are left out.

    Args:
        units: rows of length 1 (n, d), as `units_of` makes them.
        labels: one per row: texts or numbers.
        background_mean: mean cosine of unrelated pairs; taken off in `above`.
        seed: of the rows that are compared for the AUC, where there are many.
        most: labels in the table, the largest first chosen.
        background: the error of the mean of the background; by default the mean is taken as known.

    Raises:
        ShapeError: not one label per row.
        OptionError: no row has a label.
    """
    table = checked_units(units)
    if len(labels) != len(table):
        raise ShapeError(f"We need one label per row: there are {len(labels):,} for {len(table):,} rows.")
    codes, names = coded(labels)
    kept = np.flatnonzero(codes >= 0)
    if not len(kept):
        raise OptionError("No row has a label: each is empty. Name another column, or leave the labels out.")
    groups, each = copies_of(table), background.each
    if len(kept) < len(codes):
        table, codes = table[kept], codes[kept]
        groups = None if groups is None else groups[kept]
        each = None if each is None else each[kept]
    sums = LabelSums.of(table, codes, groups, each)
    by_size = np.argsort(-sums.counts, kind="stable")
    chosen = np.sort(by_size[: max(most, 1)])
    rows, within, between = _estimates(sums, chosen, names, background_mean, background)
    auc = label_auc(table, codes, seed, groups=groups)
    told = np.sort(by_size[:COUNTED]).tolist()
    return Labels(
        {names[a]: int(sums.counts[a]) for a in told},
        rows,
        within,
        between,
        auc.value,
        auc.low,
        auc.high,
        _sentence(auc, sums, len(labels) - len(kept), len(chosen)),
        sums.cells.texts,
    )


def _estimates(
    sums: LabelSums, chosen: IntVector, names: list[str], mean: float, error: BackgroundError
) -> tuple[list[PerLabel], Estimate, Estimate]:
    """The chosen labels with themselves, every two of them, and all pairs of one label and of two."""
    summed = sums.squares(chosen)
    sides = sums.sides(chosen, summed)
    rows = []
    for at, a in enumerate(chosen.tolist()):
        found = sums.within_label(a, (summed.squares[at, at] - sums.own_fourth(a)) / 2)
        rows.append(PerLabel(names[a], names[a], estimate(found), above(found, mean, error)))
    for (at, a), (bt, b) in combinations(enumerate(chosen.tolist()), 2):
        found = _between(summed, sides, at, bt, int(sums.counts[a] * sums.counts[b]))
        rows.append(PerLabel(names[a], names[b], estimate(found), above(found, mean, error)))
    within = sums.overall(summed.within, within=True)
    if len(sums.counts) == len(chosen) == 2:  # the same pairs have the same interval
        return rows, estimate(within), rows[-1].cosine
    return rows, estimate(within), estimate(sums.overall(summed.every - summed.within, within=False))


def _between(summed: Squares, sides: Sides, a: int, b: int, pairs: int) -> PairMean:
    """The cosines between two labels: a two-sample U-statistic.

    The variance of its mean is that of the texts of either side, each with the mean of the other side. The degrees of
    freedom are Welch's, and fewer than the distinct texts of both.
    """
    mean, square = float(summed.cosines[a, b]) / pairs, float(summed.squares[a, b]) / pairs
    n, m = int(sides.texts[a]), int(sides.texts[b])
    if n < 2 or m < 2:
        return PairMean(mean, square, pairs, np.nan, 0)
    one, other = float(sides.variance[a, b]), float(sides.variance[b, a])
    freedom = (one + other) ** 2 / (one**2 / (n - 1) + other**2 / (m - 1)) if one + other > 1e-30 else n + m - 2
    variance = one + other + 2 * float(sides.shared[a, b])
    covariance = float(sides.covariance[a, b] + sides.covariance[b, a])
    return PairMean(mean, square, pairs, variance, min(freedom, n + m - float(sides.both[a, b]) - 1), covariance)


def _sentence(auc: Auc, sums: LabelSums, unlabelled: int, shown: int) -> str:
    said = [_verdict(auc, sums)]
    if auc.value is not None and auc.rows < len(sums.codes):
        said.append(f"That is over all pairs of {auc.rows:,} rows drawn from {len(sums.codes):,}.")
    if shown < len(sums.counts):
        said.append(f"The table has the {shown:,} largest of {len(sums.counts):,} labels.")
    if unlabelled:
        said.append(f"Left out: {count(unlabelled, 'row')} without a label.")
    return " ".join(said)


def _verdict(auc: Auc, sums: LabelSums) -> str:
    if len(sums.counts) == 1:
        return "There is one label only, so there is nothing to separate."
    if auc.value is None:
        return "No label has two texts, so nothing can be said about pairs of one label."
    shown = f"AUC {auc.value:.3f}"
    few = f"There are too few texts to tell whether the labels are separable: {auc.texts:,} that differ"
    if auc.low is None or auc.high is None:
        return f"{few} ({shown}; 0.5 is chance)."
    shown += f", {auc.low:.3f} to {auc.high:.3f}; 0.5 is chance"
    if auc.texts < LEAST_UNITS or left_open(auc.low, auc.high):
        return f"{few} ({shown})."
    if auc.low <= 0.5 <= auc.high:
        return (
            f"Cosines do not tell the labels apart: a pair of one label is no more alike than a pair of two ({shown})."
        )
    if auc.value < 0.5:
        return f"Cosines do not follow the labels: pairs of two labels are more alike than pairs of one ({shown})."
    how = "hardly tell the labels apart" if auc.value < 0.6 else "tell the labels apart in part"
    how = "tell the labels apart well" if auc.value >= 0.8 else how
    often = f"a pair of one label is more alike than a pair of two {100 * auc.value:.0f} times in 100"
    return f"Cosines {how}: {often} ({shown})."
