"""How well similarities follow the scores, fold by fold, and on draws of the pairs.

The cosines of two folds come from two fits, so they are never ranked with each other: each fold has a score of its own,
and the mean over the folds, weighted with their pairs, is the score. Pairs that share texts are drawn together.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from uncone.analysis.intervals.bootstrap import Replicates, centered
from uncone.analysis.intervals.resampling import Weights
from uncone.analysis.intervals.weighted import Auc, Spearman
from uncone.data.batch import IntVector
from uncone.evaluation.prescribe.folds import Folds
from uncone.evaluation.prescribe.problem import PairProblem

__all__ = ["Judge"]

_Floats = NDArray[np.float64]


class Judge:
    """Spearman, or ROC-AUC for labels, of the similarities of M methods (M, n) over the folds."""

    def __init__(self, pairs: PairProblem, folds: Folds) -> None:
        self.places = [folds.pairs(fold) for fold in range(folds.k)]
        self.weights = np.array([len(place) for place in self.places], np.float64) / len(pairs)
        self._pairs, self._units = pairs, folds.units

    def on(self, places: IntVector, similarities: _Floats) -> _Floats:
        """The scores (M,) of the similarities (M, pairs) of some pairs; NaN where there are none to tell apart."""
        if not len(places):
            return np.full(len(similarities), np.nan)
        return self._score(places, similarities)(np.ones((1, len(places)), np.int64))[:, 0]

    def over_folds(self, similarities: _Floats, replicates: int, seed: int) -> Replicates:
        """The scores of similarities (M, n), and on draws of the pairs; the same draws for all."""
        each = [self._score(place, similarities[:, place]) for place in self.places]

        def statistic(drawn: Weights) -> _Floats:
            found = [one(drawn[:, place]) for one, place in zip(each, self.places, strict=True)]
            return np.asarray(np.einsum("f,fmr->mr", self.weights, np.stack(found)))

        scores = statistic(np.ones((1, similarities.shape[1]), np.int64))[:, 0]
        values = self._units.replicate(statistic, replicates, seed, centers=len(self.places))
        return centered(scores, values, similarities.shape[1], self._units.independent)

    def _score(self, places: IntVector, similarities: _Floats) -> Auc | Spearman:
        return (Auc if self._pairs.labelled else Spearman)(self._pairs.scores[places], similarities)
