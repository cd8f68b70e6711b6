"""Labeled pairs: how well scores separate similar pairs, where to cut, and which probability a score stands for."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from uncone.analysis.calibration.curves import curves, goals, operate
from uncone.analysis.calibration.results import Background, Curve, Fit, LabeledPairs, ScoreMapping
from uncone.analysis.intervals.bootstrap import bootstrap
from uncone.analysis.intervals.intervals import NORMAL
from uncone.analysis.intervals.labeled_pairs import PairCurve
from uncone.analysis.intervals.pair_units import PairUnits, Texts, pair_units
from uncone.analysis.intervals.resampling import LEVEL, REPLICATES, Score, Weights, log_odds_score, score, wilson
from uncone.data.batch import IntVector
from uncone.errors import FormatError, OptionError, ShapeError

__all__ = [
    "FEWEST",
    "MappingQuality",
    "Mappings",
    "cross_validated",
    "fit_isotonic",
    "fit_logistic",
    "judge",
    "label_pairs",
    "truth_of",
]

FEWEST_PAIRS = 20
"""The minimum of distinct labeled pairs: fewer have no useful interval."""

_Floats = NDArray[np.float64]

_UPPER = 0.8  # of the scale: 4 of 0 to 5, as with the sets of sentence similarity
_HISTOGRAM_BINS = 40


class Truth(NamedTuple):
    """The similar pairs as 1 of (n,), and the rule behind it."""

    similar: _Floats
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
) -> LabeledPairs:
    """Judge scores (n,) by labels (n,); pairs without a finite score are left out.

    Labels are 1 for similar and 0 for dissimilar; of two other numbers the higher is similar, and more are grades.
    `cut` is the lowest grade of similar pairs, by default 80 % of the way from the lowest to the highest. Thresholds
    are chosen for the best F1 and for target `precisions` and `recalls`, and compared with the unrelated pairs of the
    `background`. `texts` are the two texts of each pair, or their names: pairs that share one are resampled together,
    and are in one fold when a mapping is judged.

    Raises:
        ShapeError: not one label per score, or fewer than 20 distinct pairs.
        FormatError: a label is not finite, or all are the same.
        OptionError: a target precision or recall is not a share, or the cut leaves all pairs on one side.
    """
    targets = goals(precisions, recalls)
    grades, values, units, notes = _usable(labels, scores, texts, name)
    truth = truth_of(grades, cut, name)
    n, positives = len(grades), int(truth.similar.sum())
    notes += [note for note in (truth.note, units.note) if note]
    curve = PairCurve(truth.similar, values)
    auc, average = curve(np.ones((1, n), np.int64))[:2, 0].tolist()
    draws = units.replicate(lambda counts: curve(counts)[:2], replicates, seed)
    roc, precision_recall = curves(curve, units, replicates, seed)
    fits = cross_validated(truth.similar, values, units, replicates, seed)
    share = positives / n
    roc_auc = score(auc, draws[0], n)
    notes += _remarks(roc_auc, share, fits.reason)
    return LabeledPairs(
        name=name,
        n=n,
        positives=positives,
        graded=truth.graded,
        cut=truth.cut,
        roc_auc=roc_auc,
        average_precision=log_odds_score(average, draws[1], n),
        roc=roc,
        precision_recall=precision_recall,
        operating=operate(curve, targets, units, background, replicates, seed),
        mappings=fits.mappings,
        spearman=_spearman(grades, values, units, replicates, seed) if truth.graded else None,
        similar=_histogram(values[truth.similar == 1], values),
        dissimilar=_histogram(values[truth.similar == 0], values),
        notes=notes,
        extra={
            "base_rate": share,
            "base_brier": share * (1 - share),
            "units": units.independent,
            "distinct_pairs": units.distinct,
            "by_texts": units.by_texts,
            "folds": fits.folds,
            "ece_noise": fits.noise,
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
    finite = np.isfinite(values)
    n = int(finite.sum())
    notes = []
    if n < len(values):
        notes.append(f"{len(values) - n:,} of {len(values):,} pairs have no score (a vector is zero or not finite).")
    units = pair_units(len(values), texts)
    units = units if finite.all() else units.select(np.flatnonzero(finite))
    if units.distinct < FEWEST_PAIRS:
        distinct, scored = " distinct" if units.distinct < n else "", " with a score" if notes else ""
        few = f"{units.distinct}{distinct} pairs{scored}"
        raise ShapeError(f"{name} has {few}, and calibration needs at least {FEWEST_PAIRS}. Label more.")
    return grades[finite], values[finite], units, notes


def truth_of(labels: ArrayLike, cut: float | None = None, name: str = "The pairs") -> Truth:
    """The similar pairs: those labeled 1, the higher of two numbers, or at least the cut of grades.

    >>> truth_of([0, 2.5, 4, 5]).similar
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
        raise OptionError(
            f"{name}: the labels go from {low:g} to {high:g}, so a least grade of {cut:g} separates no pairs."
        )
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
    draws = bootstrap(grades, values, replicates=replicates, seed=seed, units=units)
    return score(float(draws.scores[0]), draws.values[0], draws.n)


def _histogram(some: _Floats, every: _Floats) -> Mapping[str, Sequence[float]]:
    """Of some of the scores, in bins over all of them."""
    low, high = float(every.min()), float(every.max())
    least = 1e-9 * max(abs(low), abs(high), 1e-9)  # so that there is room for bins where all differ by rounding only
    counts, edges = np.histogram(some, _HISTOGRAM_BINS, (low, max(high, low + least)))
    return {"edges": edges.tolist(), "counts": counts.tolist()}


FOLDS = 5
"""Folds of the cross-validation: a mapping is fitted on four fifths of the pairs and judged on the fifth."""

FEWEST = 5
"""Distinct similar pairs, and dissimilar ones, without which there is nothing to fit."""

_MORE_FOLDS = 50  # if texts link so many pairs that folds of a fifth would leave too few to fit on

_WEAK = 1e4
"""C of the penalty on the slope of standardized scores: it shifts a slope by some 1e-6 of itself, and keeps it finite
if a threshold separates all pairs."""

_KNOTS = 101  # of a logistic curve as it is drawn
_BINS = 10


class MappingQuality(NamedTuple):
    """Brier score, expected calibration error and the part that noise alone makes, and reliability with its bins.

    The bins hold equally many pairs, as far as ties allow.
    """

    brier: Score
    ece: Score
    noise: float
    reliability: Curve
    sizes: list[int]


class Mappings(NamedTuple):
    """The mappings, the better first, with the noise in the calibration error of each; or why there are none."""

    mappings: list[ScoreMapping]
    noise: dict[str, float]
    folds: int = 0
    reason: str = ""


def fit_logistic(scores: _Floats, truth: _Floats) -> Fit:
    """The most likely logistic curve that does not fall; constant if a falling one would fit better.

    It stays finite if a threshold separates all pairs.
    """
    center, spread, share = float(scores.mean()), float(scores.std()), float(truth.mean())
    slope, intercept = 0.0, float(np.log(share / (1 - share)))
    if spread > 1e-12 * abs(center):
        model = LogisticRegression(C=_WEAK, tol=1e-8, max_iter=1000)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # a thousand steps on two numbers are enough
            model.fit(((scores - center) / spread)[:, None], truth)
        if model.coef_[0, 0] > 0:
            slope = float(model.coef_[0, 0]) / spread
            intercept = float(model.intercept_[0]) - slope * center
    x = np.linspace(scores.min(), scores.max(), _KNOTS)
    return Fit(np.stack([x, Fit(x, slope, intercept)(x)], axis=1), slope, intercept)


def fit_isotonic(scores: _Floats, truth: _Floats) -> Fit:
    """The rising steps of the least squares, interpolated between; constant beyond the scores."""
    model = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(scores, truth)
    return Fit(np.stack([model.X_thresholds_, model.y_thresholds_], axis=1).astype(np.float64))


_KINDS: dict[str, Callable[[_Floats, _Floats], Fit]] = {"logistic": fit_logistic, "isotonic": fit_isotonic}


def cross_validated(truth: _Floats, scores: _Floats, units: PairUnits, replicates: int, seed: int) -> Mappings:
    """Both mappings fitted on all pairs, the better by its held-out Brier score first; or why there is none."""
    n = len(truth)
    dissimilar, similar = (units.select(np.flatnonzero(truth == kind)).distinct for kind in (0, 1))
    if min(dissimilar, similar) < FEWEST:
        few, kind = (similar, "similar") if similar <= dissimilar else (dissimilar, "dissimilar")
        reason = f"{few} of {units.distinct:,} distinct pairs are {kind}, and a mapping needs {FEWEST}."
        return Mappings([], {}, reason=f"No probabilities: {reason}")
    if (scores == scores[0]).all():
        return Mappings([], {}, reason="No probabilities: all scores are the same.")
    for folds in (FOLDS, _MORE_FOLDS):
        fold = units.folds(truth, folds, seed)
        test_folds = [fold == number for number in np.unique(fold)]
        # No text stands on both sides: a fold is judged by a fit on pairs that share no text with it.
        train_folds = [units.clear_of(rows) for rows in test_folds]
        if min(int(rows.sum()) for rows in train_folds) >= n / 2:
            break
    if any(len(np.unique(truth[rows])) < 2 for rows in train_folds):
        reason = "No probabilities: too many pairs share texts, so no fold can be judged by pairs without its texts."
        return Mappings([], {}, reason=reason)
    mappings, noise = [], {}
    for kind, fit in _KINDS.items():
        held_out = np.empty(n)
        for train, test in zip(train_folds, test_folds, strict=True):
            held_out[test] = fit(scores[train], truth[train])(scores[test])
        whole = fit(scores, truth)
        brier, ece, noise[kind], reliability, sizes = judge(truth, held_out, units, replicates, seed)
        mappings.append(ScoreMapping(kind, whole.knots, whole.slope, whole.intercept, brier, ece, reliability, sizes))
    return Mappings(sorted(mappings, key=lambda mapping: mapping.brier.value or 0.0), noise, len(test_folds))


def judge(truth: _Floats, predicted: _Floats, units: PairUnits, replicates: int, seed: int) -> MappingQuality:
    """Judge probabilities by the labels; there are ten bins, fewer under 100 distinct pairs, with ties in one bin.

    Noise alone gives a perfect mapping a calibration error. Draws show how much: with D the gaps between prediction
    and truth of the bins and D* those of a draw, it is the error of D* - D. The interval of the error therefore begins
    at the value less the 97.5 % point of that noise (by the triangle inequality the truth is no further below), and
    ends 1.96 standard deviations above the value, as noise only ever raises it.
    """
    n = len(truth)
    place = _bins(predicted, min(_BINS, units.distinct // 10))
    sizes = np.bincount(place).astype(np.float64)
    inside = np.zeros((n, len(sizes)))
    inside[np.arange(n), place] = 1.0
    gaps, squares = inside * (predicted - truth)[:, None], (predicted - truth) ** 2
    mean_gaps = gaps.mean(axis=0)

    def figures(counts: Weights) -> _Floats:
        total = counts.sum(axis=1)
        own = counts @ gaps / total[:, None]
        return np.stack([counts @ squares / total, np.abs(own).sum(axis=1), np.abs(own - mean_gaps).sum(axis=1)])

    briers, errors, noise = units.replicate(figures, replicates, seed)
    error = float(np.abs(mean_gaps).sum())
    low = max(error - float(np.quantile(noise, (1 + LEVEL) / 2)), 0.0)
    ece = Score(error, low, min(error + NORMAL * float(errors.std()), 1.0), n)
    positives = truth @ inside
    trials = np.array([units.select(np.flatnonzero(place == number)).independent for number in range(len(sizes))])
    reliability = Curve(predicted @ inside / sizes, positives / sizes, *wilson(positives / sizes * trials, trials))
    brier = score(float(squares.mean()), briers, n)
    return MappingQuality(brier, ece, float(noise.mean()), reliability, sizes.astype(int).tolist())


def _bins(predicted: _Floats, bins: int) -> IntVector:
    """The bin of each prediction, numbered without gaps; the edges are quantiles, as in scikit-learn."""
    edges = np.quantile(predicted, np.linspace(0, 1, max(bins, 2) + 1))[1:-1]
    return np.unique(np.searchsorted(edges, predicted), return_inverse=True)[1].astype(np.int64)
