"""The sum of the unit vectors per group: cosines between sentences or documents, not within."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from uncone.data.arrays.bags import Bags, run_starts
from uncone.data.batch import Batch, IntVector, Matrix, Vector
from uncone.stats.samples.hashing import hash_keys
from uncone.stats.statistic import Statistic
from uncone.stats.words.open_groups import OpenGroups

__all__ = ["GroupedUnitSum"]


class GroupedUnitSum(Statistic):
    """Sums of unit vectors U_s of each group s, kept in `buckets` for a delete-a-group jackknife.

    The baseline over pairs from different groups is (|sum U_s|^2 - sum |U_s|^2)/(n^2 - sum n_s^2).
    A group (the words of a sentence, the chunks of a document) must not straddle batches, unless they are open; rows
    without groups are groups of one. Identical groups share a bucket: they are one sampling unit.

    >>> units = GroupedUnitSum(2)
    >>> units.update(Batch.of(np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]]), groups=np.array([0, 0, 1])))
    >>> units.baseline
    0.5
    """

    additive = ("counts", "group_pairs", "totals", "squares")

    def __init__(self, dim: int, *, buckets: int = 100, seed: int = 0) -> None:
        self.dim = dim
        self.buckets = buckets
        self.seed = seed
        self.counts: IntVector = np.zeros(buckets, np.int64)
        self.group_pairs: IntVector = np.zeros(buckets, np.int64)
        self.totals: Matrix = np.zeros((buckets, dim))
        self.squares: Matrix = np.zeros((buckets, dim))
        self._open = OpenGroups()

    def update(self, batch: Batch) -> None:
        if batch.n == 0:
            return
        names, units, sizes, _, sums = batch.grouped
        if batch.keys.open:
            self._open.put((names, units), sizes, sums)
        else:
            self._add(units, sizes, sums)

    def close(self) -> None:
        if (found := self._open.close()) is not None:
            (_, units), (sizes, sums) = found
            self._add(units, sizes, sums)

    def _add(self, units: IntVector, sizes: IntVector, sums: Matrix) -> None:
        bucket = (hash_keys(units, self.seed) % np.uint64(self.buckets)).astype(np.int64)
        order = np.argsort(bucket, kind="stable")
        starts = run_starts(bucket[order])
        bags, met = Bags(order, starts), bucket[order[starts]]
        self.counts += np.bincount(bucket, weights=sizes, minlength=self.buckets).astype(np.int64)
        self.group_pairs += np.bincount(bucket, weights=sizes**2, minlength=self.buckets).astype(np.int64)
        self.totals[met] += bags.sums(sums)
        self.squares[met] += bags.sums(sums**2)

    @property
    def n(self) -> int:
        """Rows measured."""
        return int(self.counts.sum())

    @property
    def total(self) -> Vector:
        """The sum of all unit vectors (d,)."""
        return np.asarray(self.totals.sum(axis=0))

    @property
    def contributions(self) -> Vector:
        """What each dimension adds to the baseline (d,)."""
        pairs = self.n**2 - int(self.group_pairs.sum())
        total = self.total
        return (total**2 - self.squares.sum(axis=0)) / pairs if pairs else np.full(self.dim, np.nan)

    @property
    def baseline(self) -> float:
        """Mean cosine of two rows of different groups, over all such pairs."""
        return float(self.contributions.sum())

    def jackknife(self) -> NDArray[np.float64]:
        """The baseline without each bucket in turn (buckets,); NaN where a bucket is empty."""
        return np.asarray(self.contributions_without().sum(axis=1), np.float64)

    def contributions_without(self) -> Matrix:
        """What each dimension adds to the baseline without each bucket in turn (buckets, d); NaN where it is empty."""
        rest = self.total - self.totals
        pairs = (self.n - self.counts) ** 2 - (self.group_pairs.sum() - self.group_pairs)
        values = rest**2 - (self.squares.sum(axis=0) - self.squares)
        usable = (self.counts > 0) & (pairs > 0)
        return np.asarray(np.where(usable[:, None], values / np.where(usable, pairs, 1)[:, None], np.nan))
