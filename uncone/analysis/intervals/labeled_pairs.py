"""Labeled pairs: how well their similarities separate similar pairs from dissimilar ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uncone.analysis.intervals.pair_units import PairUnits, pair_units
from uncone.analysis.intervals.resampling import REPLICATES, Score, Weights, log_odds_score, score
from uncone.data.lazy_property import once
from uncone.errors import FormatError, ShapeError

__all__ = ["PairCurve", "PairScores", "score_pairs"]

_NAMES = ("roc_auc", "average_precision", "best_f1")


@dataclass(frozen=True, eq=False)
class PairScores:
    """The figures of labeled pairs with their intervals, and the threshold with the best F1.

    The threshold is chosen on the pairs that it is judged on, anew in each replicate, so `best_f1` flatters a little.
    If the similarities cannot be used, all is None and the reason says why. The replicates of two results on the same
    pairs with the same seed are paired.
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

    Without `units`, every pair is independent.

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
    draws = (units or pair_units(n)).replicate(curve, replicates, seed)
    auc = score(float(point[0]), draws[0], n)
    average = log_odds_score(float(point[1]), draws[1], n)
    best = log_odds_score(float(point[2]), draws[2], n, flattered=True)
    by_name = dict(zip(_NAMES, draws, strict=True))
    return PairScores(auc, average, best, curve.best_threshold(), n, positives, "", by_name)


class PairCurve:
    """Labeled pairs sorted once, most similar first: what each threshold accepts, as a function of their weights.

    Pairs of one similarity are a group; `distinct` are their similarities, the highest first, and `thresholds` lie
    half-way between a group that is accepted and the next.
    """

    def __init__(self, truth: NDArray[np.float64], values: NDArray[np.float64]) -> None:
        order = np.argsort(-values, kind="stable")
        self.order, self.truth, self.values = order, truth[order], values[order]
        self.starts = np.flatnonzero(np.diff(self.values, prepend=np.nan) != 0)
        self.distinct = self.values[self.starts]
        below = np.append(self.distinct[1:], self.distinct[-1])
        middle = below + (self.distinct - below) / 2
        # Between neighboring numbers there is no third.
        self.thresholds = np.where(middle > below, middle, self.distinct)

    def __call__(self, weights: Weights) -> NDArray[np.float64]:
        """ROC-AUC, average precision and best F1 (3, r) for blocks of weights (r, n)."""
        similar, accepted, hits = self._cumulative(weights)
        positives, total = hits[:, -1:], accepted[:, -1:]
        other = np.diff(accepted, axis=1, prepend=0) - similar
        below = total - positives - (accepted - hits)  # dissimilar pairs with a lower score
        with np.errstate(invalid="ignore", divide="ignore"):
            auc = (similar * (below + other / 2)).sum(axis=1) / (positives * (total - positives))[:, 0]
            precision = np.where(accepted > 0, hits / accepted, 0.0)
            average = (similar * precision).sum(axis=1) / positives[:, 0]
            best = np.where(positives[:, 0] > 0, self._f1(hits, accepted).max(axis=1), np.nan)
        return np.stack([auc, average, best])

    def accepted_and_hits(self, weights: Weights) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """How many pairs, and how many similar ones, are accepted down to each group: two times (r, groups)."""
        return self._cumulative(weights)[1:]

    @once
    def whole(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The same of the pairs themselves: two times (groups,)."""
        accepted, hits = self.accepted_and_hits(np.ones((1, len(self.values)), np.int64))
        return accepted[0], hits[0]

    def best_threshold(self) -> float:
        """The threshold with the best F1."""
        accepted, hits = self.whole
        return float(self.thresholds[self._f1(hits[None], accepted[None]).argmax()])

    def _cumulative(self, weights: Weights) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """By groups: the similar pairs, and the sums so far of all pairs and of the similar ones."""
        ordered = weights[:, self.order].astype(np.float64)
        similar = np.add.reduceat(ordered * self.truth, self.starts, axis=1)
        return similar, np.add.reduceat(ordered, self.starts, axis=1).cumsum(axis=1), similar.cumsum(axis=1)

    @staticmethod
    def _f1(hits: NDArray[np.float64], accepted: NDArray[np.float64]) -> NDArray[np.float64]:
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.nan_to_num(2 * hits / (accepted + hits[:, -1:]))
