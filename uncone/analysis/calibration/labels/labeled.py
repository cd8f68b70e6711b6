"""What labeled pairs say about scores: how well they separate similar pairs, where to cut, and probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uncone.analysis.calibration.labels.curves import Cuts, curves
from uncone.analysis.calibration.labels.mappings import cross_validated
from uncone.analysis.calibration.labels.operating_points import goals, operate
from uncone.analysis.calibration.results import Background, Labelled
from uncone.analysis.intervals.bootstrap import bootstrap
from uncone.analysis.intervals.pair_units import PairUnits, Texts, pair_units
from uncone.analysis.intervals.resampling import REPLICATES, Score, log_odds_score, score
from uncone.errors import FormatError, OptionError, ShapeError

__all__ = ["FEWEST_PAIRS", "Truth", "label_pairs", "truth_of"]

FEWEST_PAIRS = 20
"""Of fewer distinct labelled pairs no interval would be worth its name."""

_Floats = NDArray[np.float64]

_UPPER = 0.8  # of the scale: 4 of 0 to 5, as with the sets of sentence similarity
_BINS = 40


class Truth(NamedTuple):
    """Which pairs are alike (n,), and by which rule."""

    alike: _Floats
    graded: bool
    cut: float | None
    note: str = ""


def label_pairs(
    labels: ArrayLike,
    scores: ArrayLike,
    *,
    name: str,
    background: Background | None = None,
    precisions: Sequence[float] = (),
    recalls: Sequence[float] = (),
    replicates: int = REPLICATES,
    seed: int = 0,
    cut: float | None = None,
    texts: Texts | None = None,
) -> Labelled:
    """Judge scores (n,) by labels (n,), which are 0 and 1 or grades; pairs without a finite score are left out.

    Args:
        labels: 1 for similar, 0 for dissimilar; of two other numbers the higher is similar; more are grades.
        scores: the similarity of each pair.
        name: of the pairs, for messages.
        background: the unrelated pairs that each threshold is compared with.
        precisions: target precisions, each above 0 and at most 1.
        recalls: target recalls likewise.
        replicates: bootstrap resamples for the intervals.
        seed: of the resamples and the folds.
        cut: the lowest grade of similar pairs; by default 80 % of the way from the lowest to the highest grade.
        texts: the two texts of each pair, or what names them. Pairs that share one are resampled together, and stand
            in one fold when a mapping is judged.

    Raises:
        ShapeError: not one label per score, or fewer than 20 distinct pairs.
        FormatError: a label is not finite, or all are the same.
        OptionError: a wanted precision or recall is not a share, or the cut leaves all pairs on one side.
    """
    wanted = goals(precisions, recalls)
    grades, values, units, notes = _usable(labels, scores, texts, name)
    truth = truth_of(grades, cut, name)
    n, positives = len(grades), int(truth.alike.sum())
    notes += [note for note in (truth.note, units.note) if note]
    cuts = Cuts(truth.alike, values)
    auc, average = cuts(np.ones((1, n), np.int64))[:2, 0].tolist()
    drawn = units.replicate(lambda counts: cuts(counts)[:2], replicates, seed)
    roc, precision_recall = curves(cuts, units, replicates, seed)
    mapped = cross_validated(truth.alike, values, units, replicates, seed)
    share = positives / n
    roc_auc = score(auc, drawn[0], n)
    notes += _remarks(roc_auc, share, mapped.reason)
    return Labelled(
        name=name,
        n=n,
        positives=positives,
        graded=truth.graded,
        cut=truth.cut,
        roc_auc=roc_auc,
        average_precision=log_odds_score(average, drawn[1], n),
        roc=roc,
        precision_recall=precision_recall,
        operating=operate(cuts, wanted, units, background, replicates, seed),
        mappings=mapped.mappings,
        spearman=_spearman(grades, values, units, replicates, seed) if truth.graded else None,
        alike=_histogram(values[truth.alike == 1], values),
        unlike=_histogram(values[truth.alike == 0], values),
        notes=notes,
        extra={
            "base_rate": share,
            "base_brier": share * (1 - share),
            "units": units.independent,
            "distinct_pairs": units.distinct,
            "by_texts": units.by_texts,
            "folds": mapped.folds,
            "ece_noise": mapped.noise,
        },
    )


def _usable(
    labels: ArrayLike, scores: ArrayLike, texts: Texts | None, name: str
) -> tuple[_Floats, _Floats, PairUnits, list[str]]:
    """Grades, scores and units of the pairs that have a score, and a note of those that have none."""
    grades, values = np.asarray(labels, np.float64), np.asarray(scores, np.float64)
    if grades.ndim != 1 or grades.shape != values.shape:
        raise ShapeError(f"{name} needs one label per score, not {grades.shape} and {values.shape}.")
    bad = int((~np.isfinite(grades)).sum())
    if bad:
        raise FormatError(f"{name}: {bad:,} of {len(grades):,} labels are not finite. Leave those pairs out.")
    known = np.isfinite(values)
    n = int(known.sum())
    notes = []
    if n < len(values):
        notes.append(f"{len(values) - n:,} of {len(values):,} pairs have no score (a vector is zero or not finite).")
    units = pair_units(len(values), texts)
    units = units if known.all() else units.select(np.flatnonzero(known))
    if units.distinct < FEWEST_PAIRS:
        distinct, scored = " distinct" if units.distinct < n else "", " with a score" if notes else ""
        few = f"{units.distinct}{distinct} pairs{scored}"
        raise ShapeError(f"{name} has {few}, and calibration needs at least {FEWEST_PAIRS}. Label more.")
    return grades[known], values[known], units, notes


def truth_of(labels: ArrayLike, cut: float | None = None, name: str = "The pairs") -> Truth:
    """Which pairs are alike: those labelled 1, the higher of two numbers, or at least the cut of grades.

    >>> truth_of([0, 2.5, 4, 5]).alike
    array([0., 0., 1., 1.])

    Raises:
        FormatError: all labels are the same.
        OptionError: the cut leaves all pairs on one side.
    """
    grades = np.asarray(labels, np.float64)
    n, kinds = len(grades), np.unique(grades)
    low, high = kinds[0], kinds[-1]
    if low == high:
        raise FormatError(f"{name}: all {n:,} labels are {low:g}. Calibration needs similar and dissimilar pairs.")
    graded = len(kinds) > 2
    if cut is not None and not low < cut <= high:
        raise OptionError(f"{name}: the labels go from {low:g} to {high:g}, so a cut of {cut:g} separates no pairs.")
    if not graded:
        plain = (low, high) == (0.0, 1.0)
        note = "" if plain else f"The labels are {low:g} and {high:g}: pairs labeled {high:g} count as similar."
        return Truth((grades == high).astype(np.float64), False, None, note)
    note = ""
    if cut is None:
        cut = float(low + _UPPER * (high - low))
        note = f"Grades go from {low:g} to {high:g}: pairs graded {cut:g} or more count as similar, the upper fifth."
    return Truth((grades >= cut).astype(np.float64), True, float(cut), note)


def _remarks(auc: Score, share: float, refusal: str) -> list[str]:
    notes = []
    if auc.high is not None and auc.high < 0.5:
        notes.append(f"Dissimilar pairs score higher than similar ones (AUC {auc.value:.2f}). Are the labels reversed?")
    elif auc.low is not None and auc.low <= 0.5:
        notes.append(f"The scores may not separate similar pairs: the AUC is {auc.value:.2f}, and 0.5 is possible.")
    validity = (
        f"The probabilities hold if {100 * share:.1f} % of pairs are similar, as here. If fewer are, they are too high."
    )
    return [*notes, refusal or validity]


def _spearman(grades: _Floats, values: _Floats, units: PairUnits, replicates: int, seed: int) -> Score:
    found = bootstrap(grades, values, replicates=replicates, seed=seed, units=units)
    return score(float(found.scores[0]), found.values[0], found.n)


def _histogram(some: _Floats, every: _Floats) -> Mapping[str, Sequence[float]]:
    """Of some of the scores, in bins over all of them."""
    low, high = float(every.min()), float(every.max())
    least = 1e-9 * max(abs(low), abs(high), 1e-9)  # so that there is room for bins where all differ by rounding only
    counts, edges = np.histogram(some, _BINS, (low, max(high, low + least)))
    return {"edges": edges.tolist(), "counts": counts.tolist()}
