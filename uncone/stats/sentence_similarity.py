"""Similarity of the words within a sentence: the mean cosine of each with the mean of all."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from uncone.data.bags import OpenGroups
from uncone.data.batch import Batch, IntVector, Matrix, Vector
from uncone.stats.hashing import hash_keys
from uncone.stats.statistic import State, Statistic

__all__ = ["SentenceSimilarity"]


class SentenceSimilarity(Statistic):
    """IntraSim(s) = mean_i cos(m, x_i), m the mean of the sentence's vectors; sentences of two rows or more.

    Since sum_i cos(m, x_i) = m.U_s/|m| with U_s the sum of the unit vectors, it takes two sums per sentence. Kept are
    the sums of IntraSim in `buckets` of sentences, how many sentences of each bucket have which length, and, with
    `keep`, the value of every sentence. Identical sentences share a bucket.

    >>> similarity = SentenceSimilarity()
    >>> similarity.update(Batch.of(np.array([[1.0, 0.0], [0.0, 1.0]]), groups=np.array([5, 5])))
    >>> round(similarity.mean, 4), similarity.lengths[0].tolist()
    (0.7071, [2])
    """

    additive = ("counts", "totals")

    def __init__(self, *, buckets: int = 100, seed: int = 0, keep: bool = False) -> None:
        self.buckets = buckets
        self.seed = seed
        self.keep = keep
        self.counts: IntVector = np.zeros(buckets, np.int64)
        self.totals: Vector = np.zeros(buckets)
        self._cells: IntVector = np.empty(0, np.int64)  # length * buckets + bucket
        self._sentences: IntVector = np.empty(0, np.int64)
        self._kept: list[Matrix] = []
        self._open = OpenGroups()

    def update(self, batch: Batch) -> None:
        if batch.n == 0:
            return
        names, units, sizes, sums, unit_sums = batch.grouped
        if batch.keys.open:
            self._open.put((names, units), sizes, sums, unit_sums)
        else:
            self._add(names, units, sizes, sums, unit_sums)

    def close(self) -> None:
        if (groups := self._open.close()) is not None:
            (names, units), (sizes, sums, unit_sums) = groups
            self._add(names, units, sizes, sums, unit_sums)

    def _add(self, names: IntVector, units: IntVector, sizes: IntVector, sums: Matrix, unit_sums: Matrix) -> None:
        several = sizes > 1
        names, units, sizes = names[several], units[several], sizes[several]
        sums, unit_sums = sums[several], unit_sums[several]
        lengths = np.sqrt(np.vecdot(sums, sums))
        # Vectors that cancel out have no mean to be compared with.
        values = np.where(lengths > 0, np.vecdot(sums, unit_sums) / np.where(lengths > 0, lengths, 1) / sizes, 0.0)
        bucket = (hash_keys(units, self.seed) % np.uint64(self.buckets)).astype(np.int64)
        self.counts += np.bincount(bucket, minlength=self.buckets)
        self.totals += np.bincount(bucket, weights=values, minlength=self.buckets)
        self._count_lengths(*np.unique(sizes * self.buckets + bucket, return_counts=True))
        if self.keep:
            self._kept.append(np.stack([names, sizes, values], axis=1).astype(np.float64))

    def _count_lengths(self, cells: IntVector, sentences: IntVector) -> None:
        both = np.concatenate([self._cells, cells])
        self._cells, place = np.unique(both, return_inverse=True)
        counts = np.concatenate([self._sentences, sentences])
        self._sentences = np.bincount(place, weights=counts, minlength=len(self._cells)).astype(np.int64)

    def absorb(self, other: SentenceSimilarity) -> None:
        super().absorb(other)
        self._count_lengths(other._cells, other._sentences)
        self._kept += other._kept

    def state(self) -> State:
        return {**super().state(), "cells": self._cells, "sentences": self._sentences, "kept": self.values}

    def _restore(self, state: State) -> None:
        super()._restore(state)
        self._cells, self._sentences = state["cells"].copy(), state["sentences"].copy()
        self._kept = [state["kept"].copy()] if len(state["kept"]) else []

    @property
    def values(self) -> Matrix:
        """Group, length and IntraSim of every sentence (sentences, 3), in the order of the groups, when kept."""
        if not self._kept:
            return np.empty((0, 3))
        rows = np.concatenate(self._kept)
        return np.asarray(rows[np.argsort(rows[:, 0], kind="stable")])

    @property
    def lengths(self) -> tuple[IntVector, IntVector]:
        """The lengths of the sentences (l,), and how many of each bucket have which (l, buckets)."""
        lengths, place = np.unique(self._cells // self.buckets, return_inverse=True)
        sentences = np.zeros((len(lengths), self.buckets), np.int64)
        sentences[place, self._cells % self.buckets] = self._sentences
        return lengths, sentences

    @property
    def n(self) -> int:
        """Sentences of two rows or more."""
        return int(self.counts.sum())

    @property
    def mean(self) -> float:
        """Mean IntraSim over sentences."""
        return float(self.totals.sum() / self.n) if self.n else float("nan")

    def jackknife(self) -> NDArray[np.float64]:
        """The mean without each bucket in turn (buckets,); NaN where a bucket is empty."""
        rest = self.n - self.counts
        usable = (self.counts > 0) & (rest > 0)
        values = (self.totals.sum() - self.totals) / np.where(usable, rest, 1)
        return np.asarray(np.where(usable, values, np.nan), np.float64)
