"""Pairs that are labelled alike or not: how well their similarities tell the two apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uncone.analysis.intervals.pair_units import PairUnits, pair_units
from uncone.analysis.intervals.resampling import REPLICATES, Score, Weights, log_odds_score, score
from uncone.errors import FormatError, ShapeError

__all__ = ["PairCurve", "PairScores", "score_pairs"]

_NAMES = ("roc_auc", "average_precision", "best_f1")


@dataclass(frozen=True, eq=False)
class PairScores:
    """The figures with their intervals; the threshold is where F1 is best: at least so similar are alike.

    The threshold is chosen on the pairs that it is judged on, anew in each replicate, so `best_f1` flatters a little.
    Where the similarities cannot be used, all is None and the reason says why. The replicates of two results on the
    same pairs with the same seed are paired.
    """

    roc_auc: Score
    average_precision: Score
    best_f1: Score
    threshold: float | None
    n: int
    positives: int
    reason: str
    replicates: Mapping[str, NDArray[np.float64]]


def score_pairs(
    labels: ArrayLike,
    similarities: ArrayLike,
    *,
    replicates: int = REPLICATES,
    seed: int = 0,
    units: PairUnits | None = None,
) -> PairScores:
    """ROC-AUC, average precision and best F1 of similarities (n,) for labels 0 and 1, as scikit-learn defines them.

    Without `units` every pair is one of its own.

    Raises:
        ShapeError: not one label per similarity.
        FormatError: a label is not 0 or 1, or all are the same.
    """
    truth, values = np.asarray(labels, np.float64), np.asarray(similarities, np.float64)
    n = len(truth)
    if truth.ndim != 1 or truth.shape != values.shape:
        raise ShapeError(f"We need one label per similarity, not {truth.shape} and {values.shape}.")
    if not np.isin(truth, (0, 1)).all():
        raise FormatError("Labels of pairs are 0 and 1. Scores between them are for a correlation.")
    positives = int(truth.sum())
    if positives in (0, n):
        raise FormatError(f"All {n:,} labels are {int(positives > 0)}. We need both 0 and 1.")
    bad = n - int(np.isfinite(values).sum())
    if bad:
        none = Score(None, None, None, n)
        reason = f"{bad:,} of {n:,} similarities are not finite"
        return PairScores(none, none, none, None, n, positives, reason, {})
    curve = PairCurve(truth, values)
    point = curve(np.ones((1, n), np.int64))[:, 0]
    drawn = (units or pair_units(n)).replicate(curve, replicates, seed)
    auc = score(float(point[0]), drawn[0], n)
    average = log_odds_score(float(point[1]), drawn[1], n)
    best = log_odds_score(float(point[2]), drawn[2], n, flattered=True)
    return PairScores(auc, average, best, curve.threshold(), n, positives, "", dict(zip(_NAMES, drawn, strict=True)))


class PairCurve:
    """The figures as a function of the weights of the pairs; these are sorted once, most similar first."""

    def __init__(self, truth: NDArray[np.float64], values: NDArray[np.float64]) -> None:
        order = np.argsort(-values, kind="stable")
        self.order, self.truth, self.values = order, truth[order], values[order]
        self.starts = np.flatnonzero(np.diff(self.values, prepend=np.nan) != 0)  # of groups of equal similarity

    def __call__(self, counts: Weights) -> NDArray[np.float64]:
        """ROC-AUC, average precision and best F1 (3, r) for blocks of counts (r, n)."""
        alike, taken, hits = self.cumulated(counts)
        positives, total = hits[:, -1:], taken[:, -1:]
        other = np.diff(taken, axis=1, prepend=0) - alike
        below = total - positives - (taken - hits)  # unlike pairs that are less similar
        with np.errstate(invalid="ignore", divide="ignore"):
            auc = (alike * (below + other / 2)).sum(axis=1) / (positives * (total - positives))[:, 0]
            precision = np.where(taken > 0, hits / taken, 0.0)
            average = (alike * precision).sum(axis=1) / positives[:, 0]
            best = np.where(positives[:, 0] > 0, self._f1(hits, taken).max(axis=1), np.nan)
        return np.stack([auc, average, best])

    def threshold(self) -> float:
        """Half-way between the least similar pair that is taken where F1 is best and the next one."""
        _, taken, hits = self.cumulated(np.ones((1, len(self.values)), np.int64))
        at = int(self._f1(hits, taken)[0].argmax())
        distinct = self.values[self.starts]
        return float(distinct[at : at + 2].mean())

    def cumulated(self, counts: Weights) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """By groups: the alike pairs, and the sums over the groups so far of all pairs and of the alike."""
        drawn = counts[:, self.order].astype(np.float64)
        alike = np.add.reduceat(drawn * self.truth, self.starts, axis=1)
        return alike, np.add.reduceat(drawn, self.starts, axis=1).cumsum(axis=1), alike.cumsum(axis=1)

    @staticmethod
    def _f1(hits: NDArray[np.float64], taken: NDArray[np.float64]) -> NDArray[np.float64]:
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.nan_to_num(2 * hits / (taken + hits[:, -1:]))
