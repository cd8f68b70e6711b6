"""The vectors of some words' occurrences themselves: what cannot be had from sums."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from uncone.data.batch import Batch, IntVector, Matrix
from uncone.data.shelf import Shelf
from uncone.stats.hashing import hash_keys
from uncone.stats.statistic import State, Statistic

__all__ = ["Occurrences"]

_AT_FIRST = 64
"""Rows that there is room for before more is taken."""


class Occurrences(Statistic):
    """Up to `most` occurrences of each of the words `chosen`: all of them, or those with the smallest hashes.

    >>> kept = Occurrences(1, chosen=(3,))
    >>> kept.update(Batch.of(np.array([[1.0], [2.0], [3.0]]), words=np.array([3, 0, 3])))
    >>> kept.by_word()[3].tolist()
    [[1.0], [3.0]]
    """

    def __init__(self, dim: int, *, chosen: Sequence[int] = (), most: int = 1000, seed: int = 0) -> None:
        self.dim = dim
        self.chosen = tuple(chosen)
        self.most = most
        self.seed = seed
        self._parts: list[tuple[IntVector, IntVector, Matrix]] = []
        self._shelf = Shelf(_AT_FIRST)
        self._wanted = np.array(sorted(self.chosen), np.int64)

    @property
    def settings(self) -> dict[str, Any]:
        return {"dim": self.dim, "chosen": self.chosen, "most": self.most, "seed": self.seed}

    def update(self, batch: Batch) -> None:
        if batch.words is None:
            return
        mine = np.flatnonzero(np.isin(batch.words, self._wanted))
        if mine.size:
            self._shelf.put(mine, words=batch.words, rows=batch.rows, vectors=batch.vectors)
            self._trim_now_and_then()

    def _trim_now_and_then(self) -> None:
        # Not each time, so that the copying stays linear; at most twice what is kept is held.
        if self._shelf.n + sum(len(part[0]) for part in self._parts) > 2 * self.most * max(len(self.chosen), 1):
            self._trim()

    def _close(self) -> None:
        """What is on the shelf becomes a part."""
        words, rows, vectors = (self._shelf.column(name) for name in ("words", "rows", "vectors"))
        if words is not None and rows is not None and vectors is not None:
            self._parts.append((words, rows, vectors.astype(np.float32, copy=False)))
        self._shelf = Shelf(_AT_FIRST)

    def _trim(self) -> None:
        self._close()
        if not self._parts:
            return
        words, rows, vectors = self._joined()
        order = np.lexsort((rows, hash_keys(rows, self.seed), words))
        ordered = words[order]
        first = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
        rank = np.arange(len(words)) - np.repeat(first, np.diff(np.append(first, len(words))))
        kept = order[rank < self.most]
        kept = kept[np.argsort(rows[kept], kind="stable")]
        self._parts = [(words[kept], rows[kept], vectors[kept])]

    def _joined(self) -> tuple[IntVector, IntVector, Matrix]:
        if len(self._parts) == 1:
            return self._parts[0]
        words, rows, vectors = (np.concatenate(parts) for parts in zip(*self._parts, strict=True))
        return words, rows, vectors

    def absorb(self, other: Occurrences) -> None:
        other._close()
        self._parts += other._parts
        self._trim_now_and_then()

    def state(self) -> State:
        self._trim()
        if not self._parts:
            nothing = np.empty(0, np.int64)
            return {"words": nothing, "rows": nothing, "vectors": np.empty((0, self.dim), np.float32)}
        words, rows, vectors = self._parts[0]
        return {"words": words, "rows": rows, "vectors": vectors}

    def _restore(self, state: State) -> None:
        self._parts = [(state["words"], state["rows"], state["vectors"])] if len(state["words"]) else []
        self._shelf = Shelf(_AT_FIRST)

    def by_word(self) -> dict[int, Matrix]:
        """The kept occurrences of each word that was met (n, d), in the order of the rows."""
        state = self.state()
        order = np.argsort(state["words"], kind="stable")
        words, first = np.unique(state["words"][order], return_index=True)
        parts = np.split(state["vectors"][order], first[1:]) if len(words) else []
        return {int(word): part for word, part in zip(words, parts, strict=True)}
