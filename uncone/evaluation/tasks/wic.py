"""Words in context: one sense or two, by the cosine of the word's two vectors and a threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from uncone.analysis.cosine.units import pair_cosines
from uncone.analysis.intervals.pair_units import PairUnits, pair_units
from uncone.analysis.intervals.resampling import REPLICATES, mean_size, share_score
from uncone.errors import NoUsableRowsError, ShapeError
from uncone.evaluation.table import TaskScores

__all__ = ["SenseScores", "Senses", "best_threshold", "same_sense"]


class Senses(NamedTuple):
    """The vectors of a word in two sentences, (n, d) each, and whether it means the same in both."""

    left: ArrayLike
    right: ArrayLike
    labels: ArrayLike


@dataclass(frozen=True, eq=False)
class SenseScores(TaskScores):
    """The accuracy on the test, with the threshold that was best on the train; `lost` words had no direction."""

    threshold: float
    train_accuracy: float
    lost: int


def best_threshold(similarities: ArrayLike, labels: ArrayLike) -> tuple[float, float]:
    """The threshold from which on `same` is right most often, and how often that is.

    It lies half-way between two similarities; it is infinite where it is best to say the same of all. Of several, the
    lowest is taken.

    >>> best_threshold([0.1, 0.4, 0.6, 0.9], [False, True, True, True])
    (0.25, 1.0)

    Raises:
        ShapeError: not one label per similarity.
        NoUsableRowsError: there is none that is finite.
    """
    values, truth = np.asarray(similarities, np.float64), np.asarray(labels, np.bool_)
    if values.shape != truth.shape or values.ndim != 1:
        raise ShapeError(f"We need one label per similarity, not {truth.shape} and {values.shape}.")
    known = np.isfinite(values)
    if not known.any():
        raise NoUsableRowsError(f"None of {len(values):,} similarities is finite, so no threshold can be chosen.")
    order = np.argsort(values[known], kind="stable")
    values, truth = values[known][order], truth[known][order]
    # Right with the first k below the threshold: unlike ones among them, alike ones among the rest.
    right = np.concatenate([[0], np.cumsum(~truth)]) + truth.sum() - np.concatenate([[0], np.cumsum(truth)])
    cuts = np.flatnonzero(np.concatenate([[True], np.diff(values) > 0, [True]]))
    best = int(cuts[right[cuts].argmax()])
    middle = -np.inf if best == 0 else np.inf if best == len(values) else float(values[best - 1 : best + 1].mean())
    return float(middle), float(right[best] / len(values))


def same_sense(
    train: Senses,
    test: Senses,
    *,
    replicates: int = REPLICATES,
    seed: int = 0,
    units: PairUnits | None = None,
) -> SenseScores:
    """The accuracy on `test` of the threshold chosen on `train`; a word without a direction is said to differ.

    `units` are those of the test: pairs of sentences that share one are drawn together.

    Raises:
        ShapeError: the vectors and labels do not match.
        NoUsableRowsError: no word of the train has a direction.
    """
    threshold, on_train = best_threshold(pair_cosines(train.left, train.right), train.labels)
    cosines, truth = pair_cosines(test.left, test.right), np.asarray(test.labels, np.bool_)
    if cosines.shape != truth.shape or not len(truth):
        raise ShapeError(f"We need one label per pair of vectors, not {truth.shape} and {cosines.shape}.")
    right = ((cosines >= threshold) == truth).astype(np.float64)
    n = len(right)
    units = units or pair_units(n)
    drawn = units.replicate(lambda counts: counts @ right / counts.sum(axis=1), replicates, seed)
    size = mean_size(right, units.effective_items)
    accuracy = share_score(float(right.mean()), drawn, n, size)
    known = {"accuracy": accuracy}, {"accuracy": drawn}, {"accuracy": size}
    return SenseScores(*known, units.independent, threshold, on_train, int(np.isnan(cosines).sum()))
