"""Which hash stands in which shard: sorted runs, searched for many hashes at once."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

__all__ = ["Index"]

Keys = NDArray[np.uint64]


@dataclass(frozen=True)
class _Run:
    """Hashes in the order of their first half, with the shard and the row of each."""

    high: NDArray[np.uint64]
    low: NDArray[np.uint64]
    shard: NDArray[np.int64]
    row: NDArray[np.int64]

    def with_older(self, other: _Run) -> _Run:
        """Both; of equal hashes this one's come first."""
        high = np.concatenate([self.high, other.high])
        order = np.argsort(high, kind="stable")
        low, shard = np.concatenate([self.low, other.low]), np.concatenate([self.shard, other.shard])
        return _Run(high[order], low[order], shard[order], np.concatenate([self.row, other.row])[order])


@dataclass
class Index:
    """Hashes (n, 2) of many shards. Adding one costs little however many there are: runs double in length.

    Two texts with equal first halves of 64 bits would hide each other; then one of them is simply never found.
    """

    runs: list[_Run] = field(default_factory=list)

    def add(self, keys: Keys, shard: int) -> None:
        """The hashes of a shard."""
        order = np.argsort(keys[:, 0], kind="stable")
        whole = np.full(len(keys), shard, np.int64)
        self.runs.append(_Run(keys[order, 0], keys[order, 1], whole, order.astype(np.int64)))
        while len(self.runs) > 1 and 2 * len(self.runs[-1].high) >= len(self.runs[-2].high):
            newer, older = self.runs.pop(), self.runs.pop()
            self.runs.append(newer.with_older(older))

    def find(self, keys: Keys) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The shard of each hash, -1 where there is none, and the row in it.

        >>> index = Index()
        >>> index.add(np.array([[7, 1], [5, 2]], np.uint64), 3)
        >>> [one.tolist() for one in index.find(np.array([[5, 2], [5, 9], [6, 0]], np.uint64))]
        [[3, -1, -1], [1, -1, -1]]
        """
        shards, rows = (np.full(len(keys), -1, np.int64) for _ in range(2))
        for run in self.runs:  # the newest are last, and have the last word
            if len(run.high):
                places = np.searchsorted(run.high, keys[:, 0]).clip(max=len(run.high) - 1)
                same = (run.high[places] == keys[:, 0]) & (run.low[places] == keys[:, 1])
                shards[same], rows[same] = run.shard[places[same]], run.row[places[same]]
        return shards, rows
