"""Word similarity for static vectors: do cosines of words rank pairs as people do?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from uncone.analysis.cosine.units import pair_cosines
from uncone.analysis.intervals.bootstrap import bootstrap
from uncone.analysis.intervals.correlation import aggregate
from uncone.analysis.intervals.pair_units import pair_units
from uncone.analysis.intervals.resampling import LEVEL, REPLICATES, Score, score
from uncone.data.tasks.wordsim import WordPairs
from uncone.errors import ShapeError
from uncone.evaluation.table import TaskScores

__all__ = ["WordScores", "word_similarity"]

_FEWEST = 10


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
    kept = (left >= 0) & (right >= 0)
    cosines = pair_cosines(rows[left[kept]], rows[right[kept]])
    gold = pairs.scores[kept]
    usable = np.isfinite(cosines)  # a zero vector is none
    gold, cosines = gold[usable], cosines[usable]
    n = len(gold)
    lost = len(pairs) - n, tuple(sorted(missing))
    units = pair_units(n, (left[kept][usable].tolist(), right[kept][usable].tolist()))
    whole = aggregate(gold, cosines) if units.distinct >= _FEWEST else None
    if whole is None or whole.all is None:
        few = f"only {units.distinct} of {len(pairs):,} pairs are distinct and have vectors, and we need {_FEWEST}"
        return WordScores({"spearman": Score(None, None, None, n)}, {}, {}, 0, *lost, whole.reason if whole else few)
    drawn = bootstrap(gold, cosines, replicates=replicates, seed=seed, units=units).values[0]
    spearman = score(whole.all, drawn, n, level)
    return WordScores({"spearman": spearman}, {"spearman": drawn}, {}, units.independent, *lost)
