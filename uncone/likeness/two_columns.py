"""Two texts in every row: the cosine of each such pair, by label, and whether labels differ in it at all."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uncone.data.batch import IntVector
from uncone.diagnosis.words import count
from uncone.errors import NoUsableRowsError, ShapeError
from uncone.evaluation.cosines import pair_cosines
from uncone.likeness.codes import coded, label_text
from uncone.likeness.label_sums import estimate
from uncone.likeness.labels import above
from uncone.likeness.results import PerLabel, TwoColumns
from uncone.likeness.separability import auc_interval, left_open

__all__ = ["MOST_COMPARED", "two_columns"]

MOST_COMPARED = 12
"""Labels in the table, the largest: 66 comparisons of two."""

_FEWEST = 3
"""Rows of a label that a comparison needs."""
_GRID = 2.0**21
"""Cosines are compared to 5e-7, so that rounding makes no difference."""

Floats = NDArray[np.float64]


def two_columns(
    left: ArrayLike,
    right: ArrayLike,
    labels: Sequence[Hashable] | None = None,
    background_mean: float = 0.0,
    *,
    groups: Sequence[Hashable] | None = None,
) -> TwoColumns:
    """The cosine of every row of `left` (n, d) with the same row of `right`, and its distribution by label.

    A row that has no direction has the cosine NaN, and is left out of the table, as is one without a label. The AUC of
    "a over b" is the probability that a pair labelled a is more alike than one labelled b, half of the ties counted;
    the label that scores higher comes first.

    Args:
        left: vectors of the first texts, of any length.
        right: vectors of the second texts.
        labels: one per row: texts or numbers.
        background_mean: mean cosine of unrelated pairs; taken off in `above`.
        groups: what rows have in common, for instance the first text when it stands in several rows: they are one
            sampling unit of the intervals then. None is a group of its own.

    Raises:
        ShapeError: the two are not of one shape, or not one label or group per row.
        NoUsableRowsError: no row has two directions.
    """
    cosines = pair_cosines(left, right)
    n = len(cosines)
    for what, given in (("label", labels), ("group", groups)):
        if given is not None and len(given) != n:
            raise ShapeError(f"We need one {what} per row: there are {len(given):,} for {n:,} rows.")
    known = np.isfinite(cosines)
    if not known.any():
        raise NoUsableRowsError(f"None of the {n:,} rows has two vectors with a direction: there is no cosine.")
    codes, names = (np.zeros(n, np.int64), ["all"]) if labels is None else coded(labels)
    units = np.arange(n) if groups is None else _units(groups)
    counts = np.bincount(codes[known & (codes >= 0)], minlength=len(names))
    chosen = np.sort(np.argsort(-counts, kind="stable")[:MOST_COMPARED])
    chosen = chosen[counts[chosen] > 0]
    sides = {names[a]: _side(cosines, units, known & (codes == a)) for a in chosen.tolist()}
    table = [_per_label(name, *side, background_mean) for name, side in sides.items()]
    auc = {f"{a} over {b}": found for a, b, found in _compared(sides)}
    shown = None if labels is None else [label_text(label) or "" for label in labels]
    more = int((counts > 0).sum()) - len(chosen)
    return TwoColumns(cosines, shown, table, auc, "" if labels is None else _differs(sides, auc, more))


def _compared(sides: Mapping[str, tuple[Floats, IntVector]]) -> Iterator[tuple[str, str, tuple[float, float, float]]]:
    """Every two labels, the one that scores higher first, with the AUC: so it is a half or more."""
    for a, b in combinations(sides, 2):
        found = _auc(*sides[a], *sides[b])
        if found is None:
            continue
        value, low, high = found
        yield (a, b, found) if value >= 0.5 else (b, a, (1 - value, 1 - high, 1 - low))


def _units(groups: Sequence[Hashable]) -> IntVector:
    """Groups as numbers; a row without one is a group of its own."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault((at,) if one is None else one, len(numbers)) for at, one in enumerate(groups)])


def _side(cosines: Floats, units: IntVector, mask: NDArray[np.bool_]) -> tuple[Floats, IntVector]:
    return cosines[mask], units[mask]


def _per_label(name: str, cosines: Floats, units: IntVector, background_mean: float) -> PerLabel:
    n, mean = len(cosines), float(cosines.mean())
    _, place = np.unique(units, return_inverse=True)
    summed = np.bincount(place, cosines - mean)
    g = len(summed)
    variance = float(summed @ summed) / n**2 * g / (g - 1) if g > 1 else math.nan
    found = estimate(mean, float((cosines**2).mean()), n, variance, g - 1)
    return PerLabel(name, name, found, above(found, background_mean))


def _auc(one: Floats, one_units: IntVector, other: Floats, other_units: IntVector) -> tuple[float, float, float] | None:
    """The AUC with its interval, by DeLong's variance; rows of one group are added up first."""
    n, m = len(one), len(other)
    if min(n, m) < _FEWEST:
        return None
    one, other = np.rint(one * _GRID), np.rint(other * _GRID)
    over = _share_below(one, other)
    value = float(over.mean())
    ones = (over - value) / n * math.sqrt(n / (n - 1))
    others = (1 - _share_below(other, one) - value) / m * math.sqrt(m / (m - 1))
    _, place = np.unique(np.concatenate([one_units, other_units]), return_inverse=True)
    each = np.bincount(place, np.concatenate([ones, others]))
    a, b = float(ones @ ones), float(others @ others)
    freedom = (a + b) ** 2 / (a**2 / (n - 1) + b**2 / (m - 1)) if a + b > 0 else min(n, m) - 1
    independent = min(len(np.unique(one_units)), len(np.unique(other_units)))
    low, high = auc_interval(value, float(each @ each), freedom, independent)
    return None if low is None or high is None else (value, low, high)


def _share_below(values: Floats, others: Floats) -> Floats:
    """The share of the others that each value is greater than, ties half."""
    ordered = np.sort(others)
    sides = np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right")
    return np.asarray(sides / (2 * len(others)))


def _differs(sides: Mapping[str, object], auc: Mapping[str, tuple[float, float, float]], more: int) -> str:
    if not sides:
        return "No row with two texts has a label, so there is nothing to compare."
    if len(sides) == 1:
        return "There is one label only, so there is nothing to compare."
    if not auc:
        return f"There are too few rows to compare labels: each needs at least {_FEWEST}."
    apart = {name: found for name, found in auc.items() if not found[1] <= 0.5 <= found[2]}
    most = max(auc, key=lambda name: abs(auc[name][0] - 0.5))
    left = f" The table has the {len(sides)} largest of {len(sides) + more:,} labels." if more else ""
    if not apart and any(left_open(low, high) for _, low, high in auc.values()):
        return f"There are too few rows to tell whether the labels differ; the most {_shown(most, auc[most])}.{left}"
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
        pairs = count(len(auc), "pair")
        said = f"{len(apart)} of {pairs} of labels differ{little}: most {_shown(most, auc[most])}. Not: {alike}"
    return f"{said}; 0.5 is chance.{left}" if len(apart) == len(auc) else f"{said}.{left}"


def _shown(name: str, auc: tuple[float, float, float]) -> str:
    return f"{name} (AUC {auc[0]:.3f}, {auc[1]:.3f} to {auc[2]:.3f})"
