"""The sum of the unit vectors of every word of a table: self-similarity and the similarity of types in one array."""

from __future__ import annotations

from typing import Any

import numpy as np

from uncone.data.batch import Batch, IntVector, Matrix, Vector
from uncone.stats.statistic import State, Statistic

__all__ = ["WordSums"]


class WordSums(Statistic):
    """For each of `words` words: U = sum of its unit vectors, its occurrences n, and the same per sentence.

    SelfSim over pairs from different sentences is (|U|^2 - sum |U_s|^2)/(n^2 - sum n_s^2). Rows with the word
    number -1 are words that occur once: only their sum is kept. Other negative numbers are not followed.

    >>> sums = WordSums(2, 1)
    >>> rows = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]])
    >>> sums.update(Batch.of(rows, groups=np.array([0, 1, 2]), words=np.array([0, 0, 0])))
    >>> sums.selfsim().round(4).tolist()
    [0.3333]
    """

    def __init__(self, dim: int, words: int) -> None:
        self.dim = dim
        self.words = words
        self.totals: Matrix = np.zeros((words, dim))
        self.counts: IntVector = np.zeros(words, np.int64)
        self.contexts: IntVector = np.zeros(words, np.int64)
        self.pairs: IntVector = np.zeros(words, np.int64)
        self.squares: Vector = np.zeros(words)
        self.singles = 0
        self.single_total: Vector = np.zeros(dim)

    @property
    def settings(self) -> dict[str, Any]:
        return {"dim": self.dim, "words": self.words}

    def update(self, batch: Batch) -> None:
        if batch.words is None or batch.n == 0:
            return
        alone = batch.words == -1
        if alone.any():
            self.singles += int(alone.sum())
            self.single_total += batch.inverse_norms[alone] @ batch.vectors[alone]
        bags, found, first, sizes, several, pair_bags = batch.keys.word_bags
        if not found.size:
            return
        self.totals[found] += bags.sums(batch.vectors, batch.inverse_norms)
        self.counts[found] += np.add.reduceat(sizes, first)
        self.pairs[found] += np.add.reduceat(sizes**2, first)
        self.contexts[found] += np.diff(np.append(first, len(sizes)))
        # |U_s|^2 for the occurrences of a word in one sentence; a single one has length one.
        squares = np.ones(len(sizes))
        together = pair_bags.sums(batch.vectors, batch.inverse_norms)
        squares[several] = np.vecdot(together, together)
        self.squares[found] += np.add.reduceat(squares, first)

    def absorb(self, other: WordSums) -> None:
        self.totals += other.totals
        self.counts += other.counts
        self.contexts += other.contexts
        self.pairs += other.pairs
        self.squares += other.squares
        self.singles += other.singles
        self.single_total += other.single_total

    def state(self) -> State:
        return {
            "totals": self.totals,
            "counts": self.counts,
            "contexts": self.contexts,
            "pairs": self.pairs,
            "squares": self.squares,
            "singles": np.array(self.singles, np.int64),
            "single_total": self.single_total,
        }

    def _restore(self, state: State) -> None:
        self.totals, self.squares = state["totals"].copy(), state["squares"].copy()
        self.counts, self.contexts, self.pairs = (state[key].copy() for key in ("counts", "contexts", "pairs"))
        self.singles, self.single_total = int(state["singles"]), state["single_total"].copy()

    def selfsim(self) -> Vector:
        """Mean cosine of each word's occurrences in different sentences (words,); NaN with fewer than two."""
        pairs = self.counts**2 - self.pairs
        values = np.vecdot(self.totals, self.totals) - self.squares
        return np.asarray(np.where(pairs > 0, values / np.where(pairs > 0, pairs, 1), np.nan))
