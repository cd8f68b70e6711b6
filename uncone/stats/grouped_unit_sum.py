"""The sum of the unit vectors per group: cosines between sentences or documents, not within."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from uncone.data.batch import Batch, IntVector, Matrix, Vector
from uncone.stats.hashing import hash_keys
from uncone.stats.statistic import State, Statistic

__all__ = ["GroupedUnitSum"]


class GroupedUnitSum(Statistic):
    """Sums of unit vectors U_s of each group s, kept in `buckets` for a delete-a-group jackknife.

    The baseline over pairs from different groups is (|sum U_s|^2 - sum |U_s|^2)/(n^2 - sum n_s^2).
    A group (the words of a sentence, the chunks of a document) must not straddle batches; rows without groups are
    groups of one.

    >>> units = GroupedUnitSum(2)
    >>> units.update(Batch.of(np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]]), groups=np.array([0, 0, 1])))
    >>> units.baseline
    0.5
    """

    def __init__(self, dim: int, *, buckets: int = 100, seed: int = 0) -> None:
        self.dim = dim
        self.buckets = buckets
        self.seed = seed
        self.counts: IntVector = np.zeros(buckets, np.int64)
        self.group_pairs: IntVector = np.zeros(buckets, np.int64)
        self.totals: Matrix = np.zeros((buckets, dim))
        self.squares: Matrix = np.zeros((buckets, dim))

    @property
    def settings(self) -> dict[str, Any]:
        return {"dim": self.dim, "buckets": self.buckets, "seed": self.seed}

    def update(self, batch: Batch) -> None:
        if batch.n == 0:
            return
        groups = batch.rows if batch.groups is None else batch.groups
        names, first, sizes = _runs(groups)
        units = batch.vectors / batch.norms[:, None].astype(batch.vectors.dtype)
        sums = np.add.reduceat(units[np.argsort(groups, kind="stable")], first, axis=0, dtype=np.float64)
        bucket = (hash_keys(names, self.seed) % np.uint64(self.buckets)).astype(np.int64)
        np.add.at(self.counts, bucket, sizes)
        np.add.at(self.group_pairs, bucket, sizes**2)
        np.add.at(self.totals, bucket, sums)
        np.add.at(self.squares, bucket, sums**2)

    def absorb(self, other: GroupedUnitSum) -> None:
        self.counts += other.counts
        self.group_pairs += other.group_pairs
        self.totals += other.totals
        self.squares += other.squares

    def state(self) -> State:
        return {
            "counts": self.counts,
            "group_pairs": self.group_pairs,
            "totals": self.totals,
            "squares": self.squares,
        }

    def _restore(self, state: State) -> None:
        self.counts = state["counts"].copy()
        self.group_pairs = state["group_pairs"].copy()
        self.totals = state["totals"].copy()
        self.squares = state["squares"].copy()

    @property
    def n(self) -> int:
        """Rows measured."""
        return int(self.counts.sum())

    @property
    def contributions(self) -> Vector:
        """What each dimension adds to the baseline (d,)."""
        pairs = self.n**2 - int(self.group_pairs.sum())
        total = self.totals.sum(axis=0)
        return (total**2 - self.squares.sum(axis=0)) / pairs if pairs else np.full(self.dim, np.nan)

    @property
    def baseline(self) -> float:
        """Mean cosine of two rows of different groups, over all such pairs."""
        return float(self.contributions.sum())

    def jackknife(self) -> NDArray[np.float64]:
        """The baseline without each bucket in turn, for the buckets that hold rows."""
        filled = np.flatnonzero(self.counts)
        total, squares = self.totals.sum(axis=0), self.squares.sum()
        rest = total - self.totals[filled]
        pairs = (self.n - self.counts[filled]) ** 2 - (self.group_pairs.sum() - self.group_pairs[filled])
        values = np.einsum("ij,ij->i", rest, rest) - (squares - self.squares[filled].sum(axis=1))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(values / pairs, np.float64)


def _runs(groups: IntVector) -> tuple[IntVector, IntVector, IntVector]:
    """Group names in order, where each begins among the sorted rows, and how long it is."""
    names, first, sizes = np.unique(np.sort(groups), return_index=True, return_counts=True)
    return names.astype(np.int64), first.astype(np.int64), sizes.astype(np.int64)
