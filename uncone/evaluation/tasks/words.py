"""Words: the same sense in two sentences or not (WiC), and how cosines of static vectors rank pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from uncone.analysis.cosine.units import pair_cosines
from uncone.analysis.intervals.bootstrap import bootstrap
from uncone.analysis.intervals.correlation import aggregate
from uncone.analysis.intervals.pair_units import PairUnits, pair_units
from uncone.analysis.intervals.resampling import LEVEL, REPLICATES, Score, mean_size, score, share_score
from uncone.data.tasks.words import WordPairs
from uncone.errors import NoUsableRowsError, ShapeError
from uncone.evaluation.table import TaskScores

__all__ = ["SenseScores", "Senses", "WordScores", "best_threshold", "same_sense", "word_similarity"]

_FEWEST = 10


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
    """The threshold on the similarity with the best accuracy, and that accuracy.

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
    finite = np.isfinite(values)
    if not finite.any():
        raise NoUsableRowsError(f"None of {len(values):,} similarities is finite, so no threshold can be chosen.")
    order = np.argsort(values[finite], kind="stable")
    values, truth = values[finite][order], truth[finite][order]
    # Correct with the first k below the threshold: different senses among them, same senses among the rest.
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
    samples = units.replicate(lambda counts: counts @ right / counts.sum(axis=1), replicates, seed)
    size = mean_size(right, units.effective_items)
    accuracy = share_score(float(right.mean()), samples, n, size)
    figures = {"accuracy": accuracy}, {"accuracy": samples}, {"accuracy": size}
    return SenseScores(*figures, units.independent, threshold, on_train, int(np.isnan(cosines).sum()))


@dataclass(frozen=True, eq=False)
class WordScores(TaskScores):
    """Spearman over the pairs whose words both have a vector; None with a reason if it is undefined.

    `missing` are the words without a vector, and `left_out` the pairs that were left out for it. Two results can be
    compared only if they leave out the same. Pairs that share words are drawn together.
    """

    left_out: int
    missing: tuple[str, ...]
    reason: str = ""


def word_similarity(
    pairs: WordPairs,
    words: Sequence[str],
    vectors: ArrayLike,
    *,
    replicates: int = REPLICATES,
    seed: int = 0,
    level: float = LEVEL,
) -> WordScores:
    """Spearman of the cosines of word vectors (n, d) with people's scores; a word is looked up also in lower case.

    Raises:
        ShapeError: not one vector per word.
    """
    rows = np.asarray(vectors)
    if rows.ndim != 2 or len(rows) != len(words):
        raise ShapeError(f"There are {len(words):,} words, but vectors of the shape {rows.shape}: give one per word.")
    places = {word: place for place, word in reversed(list(enumerate(words)))}

    def place(word: str) -> int:
        return places.get(word, places.get(word.lower(), -1))

    left, right = (np.array([place(word) for word in side]) for side in (pairs.left, pairs.right))
    missing = {word for side in (pairs.left, pairs.right) for word in side if place(word) < 0}
    has_vectors = (left >= 0) & (right >= 0)
    cosines = pair_cosines(rows[left[has_vectors]], rows[right[has_vectors]])
    gold = pairs.scores[has_vectors]
    usable = np.isfinite(cosines)  # a zero vector has no cosine
    gold, cosines = gold[usable], cosines[usable]
    n = len(gold)
    lost = len(pairs) - n, tuple(sorted(missing))
    units = pair_units(n, (left[has_vectors][usable].tolist(), right[has_vectors][usable].tolist()))
    whole = aggregate(gold, cosines) if units.distinct >= _FEWEST else None
    if whole is None or whole.all is None:
        few = f"only {units.distinct} of {len(pairs):,} pairs are distinct and have vectors, and we need {_FEWEST}"
        return WordScores({"spearman": Score(None, None, None, n)}, {}, {}, 0, *lost, whole.reason if whole else few)
    samples = bootstrap(gold, cosines, replicates=replicates, seed=seed, units=units).values[0]
    spearman = score(whole.all, samples, n, level)
    return WordScores({"spearman": spearman}, {"spearman": samples}, {}, units.independent, *lost)
