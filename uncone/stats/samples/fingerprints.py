"""How many rows are exact copies of another, from fingerprints of their bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from uncone.data.batch import Batch
from uncone.stats.samples.hashing import Hashes, fingerprints
from uncone.stats.statistic import State, Statistic

__all__ = ["Fingerprints"]


class Fingerprints(Statistic):
    """Fingerprints of the rows; above `limit`, of those rows whose fingerprint falls in one part of 2^level.

    Copies share a fingerprint, so they are kept or dropped together and the share stays right.

    >>> copies = Fingerprints()
    >>> copies.update(Batch.of(np.array([[1.0, 2.0], [1.0, 2.0], [1.0, 2.5], [1.0, 2.0]])))
    >>> copies.duplicate_share
    0.5
    """

    def __init__(self, limit: int = 4_000_000) -> None:
        self.limit = limit
        self.level = 0
        self._parts: list[Hashes] = []
        self._kept = 0

    @property
    def settings(self) -> dict[str, Any]:
        return {"limit": self.limit}

    def update(self, batch: Batch) -> None:
        self._add(fingerprints(batch.vectors))

    def absorb(self, other: Fingerprints) -> None:
        if other.level > self.level:
            self.level = other.level
            self._thin()
        for part in other._parts:
            self._add(part)

    def _add(self, prints: Hashes) -> None:
        self._parts.append(self._chosen(prints))
        self._kept += len(self._parts[-1])
        while self._kept > self.limit:
            self.level += 1
            self._thin()

    def _thin(self) -> None:
        self._parts = [self._chosen(np.concatenate(self._parts))] if self._parts else []
        self._kept = sum(map(len, self._parts))

    def _chosen(self, prints: Hashes) -> Hashes:
        if self.level == 0:
            return prints
        chosen: Hashes = prints[prints >> np.uint64(64 - self.level) == 0]
        return chosen

    def state(self) -> State:
        kept = np.sort(np.concatenate([np.empty(0, np.uint64), *self._parts]))
        return {"level": np.array(self.level, np.int64), "kept": kept}

    def _restore(self, state: State) -> None:
        self.level = int(state["level"])
        self._parts = [state["kept"]] if state["kept"].size else []
        self._kept = len(state["kept"])

    @property
    def kept(self) -> int:
        """Rows whose fingerprints were compared."""
        return self._kept

    @property
    def duplicate_share(self) -> float:
        """Share of the rows that repeat an earlier row exactly."""
        kept = self.state()["kept"]
        if not kept.size:
            return 0.0
        return float((kept[1:] == kept[:-1]).sum() / kept.size)
