"""From score to probability: a logistic and an isotonic mapping, judged on pairs they were not fitted on.

The logistic mapping is Platt's (1999), the isotonic one Zadrozny and Elkan's (2002).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from uncone.analysis.calibration.labels.curves import wilson
from uncone.analysis.calibration.results import Curve, Fit, ScoreMapping
from uncone.analysis.intervals.pair_units import PairUnits
from uncone.analysis.intervals.resampling import LEVEL, Score, Weights, score
from uncone.data.batch import IntVector

__all__ = ["FEWEST", "FOLDS", "Judged", "Mapped", "cross_validated", "fit_isotonic", "fit_logistic", "judge"]

FOLDS = 5
"""In each turn a mapping is fitted on four fifths of the pairs and judged on the fifth."""

FEWEST = 5
"""Distinct similar pairs, and dissimilar ones, without which there is nothing to fit."""

_MORE_FOLDS = 50  # if texts link so many pairs that folds of a fifth would leave too few to fit on

_Floats = NDArray[np.float64]

_WEAK = 1e4
"""C of the penalty on the slope of standardized scores: it shifts a slope by some 1e-6 of itself, and keeps it finite
if a threshold separates all pairs."""

_KNOTS = 101  # of a logistic curve as it is drawn
_BINS = 10
_Z = 1.959963984540054


class Judged(NamedTuple):
    """Brier score, expected calibration error and what of it noise alone would make, and reliability with its bins.

    The bins hold equally many pairs, as near as ties let them.
    """

    brier: Score
    ece: Score
    noise: float
    reliability: Curve
    sizes: list[int]


class Mapped(NamedTuple):
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


def cross_validated(truth: _Floats, scores: _Floats, units: PairUnits, replicates: int, seed: int) -> Mapped:
    """Both mappings fitted on all pairs, the better by its held-out Brier score first; or why there is none."""
    n = len(truth)
    unlike, alike = (units.select(np.flatnonzero(truth == kind)).distinct for kind in (0, 1))
    if min(unlike, alike) < FEWEST:
        few, kind = (alike, "similar") if alike <= unlike else (unlike, "dissimilar")
        reason = f"{few} of {units.distinct:,} distinct pairs are {kind}, and a mapping needs {FEWEST}."
        return Mapped([], {}, reason=f"No probabilities: {reason}")
    if (scores == scores[0]).all():
        return Mapped([], {}, reason="No probabilities: all scores are the same.")
    for folds in (FOLDS, _MORE_FOLDS):
        fold = units.folds(truth, folds, seed)
        tested = [fold == one for one in np.unique(fold)]
        # No text stands on both sides: a fold is judged by a fit on pairs that share no text with it.
        kept = [units.clear_of(rows) for rows in tested]
        if min(int(rows.sum()) for rows in kept) >= n / 2:
            break
    if any(len(np.unique(truth[rows])) < 2 for rows in kept):
        reason = "No probabilities: too many pairs share texts, so no fold can be judged by pairs without its texts."
        return Mapped([], {}, reason=reason)
    mappings, noise = [], {}
    for kind, fit in _KINDS.items():
        held_out = np.empty(n)
        for rows, judged in zip(kept, tested, strict=True):
            held_out[judged] = fit(scores[rows], truth[rows])(scores[judged])
        whole = fit(scores, truth)
        brier, ece, noise[kind], reliability, sizes = judge(truth, held_out, units, replicates, seed)
        mappings.append(ScoreMapping(kind, whole.knots, whole.slope, whole.intercept, brier, ece, reliability, sizes))
    return Mapped(sorted(mappings, key=lambda mapping: mapping.brier.value or 0.0), noise, len(tested))


def judge(truth: _Floats, predicted: _Floats, units: PairUnits, replicates: int, seed: int) -> Judged:
    """Judge probabilities by what came true; there are ten bins, fewer under 100 distinct pairs.

    Ties are in one bin.

    Noise alone gives a perfect mapping a calibration error. How much, draws tell: with D the gaps between prediction
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

    def drawn(counts: Weights) -> _Floats:
        total = counts.sum(axis=1)
        own = counts @ gaps / total[:, None]
        return np.stack([counts @ squares / total, np.abs(own).sum(axis=1), np.abs(own - mean_gaps).sum(axis=1)])

    briers, errors, noise = units.replicate(drawn, replicates, seed)
    error = float(np.abs(mean_gaps).sum())
    low = max(error - float(np.quantile(noise, (1 + LEVEL) / 2)), 0.0)
    ece = Score(error, low, min(error + _Z * float(errors.std()), 1.0), n)
    alike = truth @ inside
    known = np.array([units.select(np.flatnonzero(place == one)).independent for one in range(len(sizes))])
    reliability = Curve(predicted @ inside / sizes, alike / sizes, *wilson(alike / sizes * known, known))
    brier = score(float(squares.mean()), briers, n)
    return Judged(brier, ece, float(noise.mean()), reliability, sizes.astype(int).tolist())


def _bins(predicted: _Floats, bins: int) -> IntVector:
    """The bin of each prediction, numbered without gaps; the edges are quantiles, as in scikit-learn."""
    edges = np.quantile(predicted, np.linspace(0, 1, max(bins, 2) + 1))[1:-1]
    return np.unique(np.searchsorted(edges, predicted), return_inverse=True)[1].astype(np.int64)
