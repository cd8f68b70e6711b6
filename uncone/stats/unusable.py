"""Unusable vectors: how many are not finite or zero, and the numbers of the first of them."""

from __future__ import annotations

import numpy as np

from uncone.data.batch import Batch, IntVector
from uncone.stats.statistic import State, Statistic

__all__ = ["Unusable"]


class Unusable(Statistic):
    """Rows seen, rows with NaN or infinity, zero rows; the first few numbers of each.

    >>> counts = Unusable()
    >>> counts.update(Batch.of(np.array([[1.0, np.inf], [0.0, 0.0], [1.0, 2.0]])))
    >>> counts.n_read, counts.bad, counts.zero, counts.zero_rows.tolist()
    (3, 1, 1, [1])
    """

    def __init__(self, keep: int = 5) -> None:
        self.keep = keep
        self.n_read = 0
        self.bad = 0
        self.zero = 0
        self.bad_rows: IntVector = np.empty(0, np.int64)
        self.zero_rows: IntVector = np.empty(0, np.int64)

    def update(self, batch: Batch) -> None:
        self._count(batch.n_read, len(batch.bad), len(batch.zero), batch.bad, batch.zero)

    def absorb(self, other: Unusable) -> None:
        self._count(other.n_read, other.bad, other.zero, other.bad_rows, other.zero_rows)

    def _count(self, n_read: int, bad: int, zero: int, bad_rows: IntVector, zero_rows: IntVector) -> None:
        self.n_read += n_read
        self.bad += bad
        self.zero += zero
        if bad or zero:
            self.bad_rows = np.sort(np.concatenate([self.bad_rows, bad_rows]))[: self.keep]
            self.zero_rows = np.sort(np.concatenate([self.zero_rows, zero_rows]))[: self.keep]

    def state(self) -> State:
        return {
            "counts": np.array([self.n_read, self.bad, self.zero], np.int64),
            "bad_rows": self.bad_rows,
            "zero_rows": self.zero_rows,
        }

    def _restore(self, state: State) -> None:
        self.n_read, self.bad, self.zero = (int(count) for count in state["counts"])
        self.bad_rows = state["bad_rows"]
        self.zero_rows = state["zero_rows"]
