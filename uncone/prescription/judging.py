"""How well similarities follow the scores, fold by fold, and on pairs drawn again.

The cosines of two folds come from two fits, so they are never ranked with each other: each fold has a score of its own,
and the mean over the folds, weighted with their pairs, is the score. Pairs are drawn again within the folds; those that
share texts are drawn together, as one unit, since they are not independent.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from uncone.evaluation.bootstrap import Replicates
from uncone.evaluation.resampling import replicate
from uncone.prescription.folds import Folds
from uncone.prescription.problem import PairProblem

__all__ = ["Judge"]

_Floats = NDArray[np.float64]
_Score = Callable[[_Floats, _Floats, _Floats, _Floats], _Floats]


class Judge:
    """Spearman, or ROC-AUC for labels, of the similarities of M methods (M, n) over the folds."""

    def __init__(self, pairs: PairProblem, folds: Folds) -> None:
        self.places = [folds.pairs(fold) for fold in range(folds.k)]
        self.weights = np.array([len(place) for place in self.places], np.float64) / len(pairs)
        self._units = [np.unique(folds.unit[place], return_inverse=True)[1] for place in self.places]
        self._gold = [pairs.scores[place] for place in self.places]
        self._score = _auc if pairs.labelled else _spearman

    def in_fold(self, fold: int, similarities: _Floats) -> _Floats:
        """The scores (M,) of similarities (M, pairs of the fold)."""
        return self._drawn(fold, similarities)(np.ones((1, self._units[fold].max() + 1), np.int64))[:, 0]

    def over_folds(self, similarities: _Floats, replicates: int, seed: int) -> Replicates:
        """The scores of similarities (M, n), and on pairs drawn again; the same pairs for all."""
        scores, values = np.zeros(len(similarities)), np.zeros((len(similarities), replicates))
        for fold, (place, weight) in enumerate(zip(self.places, self.weights, strict=True)):
            units = int(self._units[fold].max()) + 1
            own = similarities[:, place]
            scores += weight * self.in_fold(fold, own)
            values += weight * replicate(self._drawn(fold, own), units, replicates, (seed, fold))
        return Replicates(scores, values, similarities.shape[1])

    def _drawn(self, fold: int, similarities: _Floats) -> _Statistic:
        return _Statistic(self._score, self._gold[fold], similarities, self._units[fold])


class _Ranked:
    """A column sorted once, so that its mid-ranks follow from how often each row is drawn."""

    def __init__(self, values: _Floats) -> None:
        self.order = np.argsort(values, kind="stable")
        new = np.diff(values[self.order], prepend=np.nan) != 0
        self.starts = np.flatnonzero(new)
        self.group = np.empty(len(values), np.int64)
        self.group[self.order] = np.cumsum(new) - 1

    def __call__(self, counts: _Floats) -> _Floats:
        """The mid-ranks (n, r), from 0: what lies below, and half of what is equal."""
        tied = np.add.reduceat(counts[self.order], self.starts, axis=0)
        ranks: _Floats = np.cumsum(tied, axis=0)
        ranks -= tied / 2
        return ranks[self.group]


class _Statistic:
    """The scores (M, r) as a function of how often each unit is drawn (r, units); NaN where one is undefined."""

    def __init__(self, score: _Score, gold: _Floats, similarities: _Floats, unit: NDArray[np.int64]) -> None:
        self.score, self.gold, self.unit = score, gold, unit
        self.of_gold = _Ranked(gold)
        self.methods = [_Ranked(row) if np.isfinite(row).all() else None for row in similarities]

    def __call__(self, drawn: NDArray[np.int64]) -> _Floats:
        counts = drawn.T[self.unit].astype(np.float64)
        gold = self.of_gold(counts)
        found = np.full((len(self.methods), len(drawn)), np.nan)
        for at, method in enumerate(self.methods):
            if method is not None:
                found[at] = self.score(counts, self.gold, gold, method(counts))
        return found


def _spearman(counts: _Floats, gold: _Floats, of_gold: _Floats, ranks: _Floats) -> _Floats:
    middle = counts.sum(axis=0) / 2
    x, y = ranks - middle, of_gold - middle
    product = np.einsum("nr,nr,nr->r", counts, x, x) * np.einsum("nr,nr,nr->r", counts, y, y)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(product > 0, np.einsum("nr,nr,nr->r", counts, x, y) / np.sqrt(product), np.nan)


def _auc(counts: _Floats, gold: _Floats, of_gold: _Floats, ranks: _Floats) -> _Floats:
    """The rank sum of the alike, less what they have over each other."""
    alike = gold @ counts
    other = counts.sum(axis=0) - alike
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((np.einsum("n,nr,nr->r", gold, counts, ranks) - alike**2 / 2) / (alike * other))
