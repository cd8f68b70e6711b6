"""The sum of the unit vectors of every word of a table: self-similarity and the similarity of types in one array."""

from __future__ import annotations

import numpy as np

from uncone.data.bags import OpenGroups, run_starts
from uncone.data.batch import Batch, IntVector, Matrix, Vector
from uncone.stats.statistic import State, Statistic

__all__ = ["WordSums"]


class WordSums(Statistic):
    """For each of `words` words: U = sum of its unit vectors, its occurrences n, and the same per sentence.

    SelfSim over pairs from different sentences is (|U|^2 - sum |U_s|^2)/(n^2 - sum n_s^2). Rows with the word
    number -1 are words that occur once: only their sum is kept. Other negative numbers are not followed. With
    `copied`, sentences repeat: the sum over the k copies of a sentence is k U_s, so that pairs of copies are left out
    by sum k |U_s|^2 and sum k n_s^2.

    >>> sums = WordSums(2, 1)
    >>> rows = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]])
    >>> sums.update(Batch.of(rows, groups=np.array([0, 1, 2]), words=np.array([0, 0, 0])))
    >>> sums.selfsim().round(4).tolist()
    [0.3333]
    """

    additive = (
        *("totals", "counts", "_contexts", "pairs", "squares"),
        *("_copy_pairs", "_copy_squares", "singles", "single_total"),
    )

    def __init__(self, dim: int, words: int, *, copied: bool = False) -> None:
        self.dim = dim
        self.words = words
        self.copied = copied
        self.totals: Matrix = np.zeros((words, dim))
        self.counts: IntVector = np.zeros(words, np.int64)
        self.pairs: IntVector = np.zeros(words, np.int64)
        self.squares: Vector = np.zeros(words)
        self._contexts: Vector = np.zeros(words)
        self._copy_pairs: IntVector = np.zeros(words * copied, np.int64)
        self._copy_squares: Vector = np.zeros(words * copied)
        self._open = OpenGroups()
        self.singles = 0
        self.single_total: Vector = np.zeros(dim)

    def update(self, batch: Batch) -> None:
        if batch.words is None or batch.n == 0:
            return
        alone = batch.words == -1
        if alone.any():
            self.singles += int(alone.sum())
            self.single_total += batch.inverse_norms[alone] @ batch.vectors[alone]
        bags, words, first, sizes, rows, pairs, several, several_bags = batch.keys.word_bags
        if not words.size:
            return
        self.totals[words] += bags.sums(batch.vectors, batch.inverse_norms)
        self.counts[words] += np.add.reduceat(sizes, first)
        copies = None if batch.keys.copies is None else batch.keys.copies[rows]
        if batch.keys.open:
            assert batch.groups is not None
            names = batch.words[rows], batch.groups[rows], np.ones_like(sizes) if copies is None else copies
            self._open.put(names, sizes, pairs.sums(batch.vectors, batch.inverse_norms).astype(np.float64))
            return
        # |U_s|^2 for the occurrences of a word in one sentence; a single one has length one.
        squares = np.ones(len(sizes))
        together = several_bags.sums(batch.vectors, batch.inverse_norms)
        squares[several] = np.vecdot(together, together)
        self._add_pairs(words, first, sizes, squares, copies)

    def close(self) -> None:
        if (groups := self._open.close()) is not None:
            (words, _, copies), (sizes, sums) = groups
            first = run_starts(words)
            self._add_pairs(words[first], first, sizes, np.vecdot(sums, sums), copies)

    def _add_pairs(
        self, words: IntVector, first: IntVector, sizes: IntVector, squares: Vector, copies: IntVector | None
    ) -> None:
        """Count pairs of a word and a sentence."""
        self.pairs[words] += np.add.reduceat(sizes**2, first)
        self.squares[words] += np.add.reduceat(squares, first)
        self._contexts[words] += np.add.reduceat(np.ones(len(sizes)) if copies is None else 1 / copies, first)
        if self.copied:
            times = np.ones_like(sizes) if copies is None else copies
            self._copy_pairs[words] += np.add.reduceat(times * sizes**2, first)
            self._copy_squares[words] += np.add.reduceat(times * squares, first)

    def absorb(self, other: WordSums) -> None:
        met = np.flatnonzero(other.counts)
        for name in self._tables:
            getattr(self, name)[met] += getattr(other, name)[met]
        self.singles += other.singles
        self.single_total += other.single_total

    @property
    def _tables(self) -> tuple[str, ...]:
        """The attributes with a place for every word."""
        copies = ("_copy_pairs", "_copy_squares") if self.copied else ()
        return ("totals", "counts", "_contexts", "pairs", "squares", *copies)

    def snapshot(self) -> State:
        """Only the words that were met: a part of the texts has few of them."""
        met = np.flatnonzero(self.counts)
        tables = {name: getattr(self, name)[met] for name in self._tables}
        return {"met": met, **tables, "singles": np.asarray(self.singles), "single_total": self.single_total}

    def resume(self, snapshot: State) -> None:
        for name in self._tables:
            getattr(self, name)[snapshot["met"]] = snapshot[name]
        self.singles = snapshot["singles"].item()
        self.single_total = snapshot["single_total"].copy()

    @property
    def contexts(self) -> IntVector:
        """The different sentences that each word stands in (words,)."""
        return np.rint(self._contexts).astype(np.int64)

    def selfsim(self, *, apart: bool = False) -> Vector:
        """Mean cosine of each word's occurrences in different sentences (words,); NaN with fewer than two.

        `apart`: without pairs from copies of a sentence.
        """
        apart = apart and self.copied
        pairs = self.counts**2 - (self._copy_pairs if apart else self.pairs)
        values = np.vecdot(self.totals, self.totals) - (self._copy_squares if apart else self.squares)
        return np.asarray(np.where(pairs > 0, values / np.where(pairs > 0, pairs, 1), np.nan))
