"""Sampled occurrences of chosen words: their vectors, for measures that sums alone cannot give."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from uncone.data.batch import Batch, IntVector, Matrix
from uncone.data.buffers import Shelf
from uncone.stats.hashing import hash_keys
from uncone.stats.statistic import State, Statistic

__all__ = ["Occurrence", "Occurrences"]

_AT_FIRST = 64
"""Rows that there is room for before more is taken."""


class Occurrence(NamedTuple):
    """The occurrences of a word in distinct texts: sampling units (n,), copies of each text (n,), vectors (n, d)."""

    units: IntVector
    copies: IntVector
    vectors: Matrix


class _Part(NamedTuple):
    words: IntVector
    rows: IntVector
    units: IntVector
    copies: IntVector
    vectors: Matrix


class Occurrences(Statistic):
    """Up to `most` occurrences of each of the words `chosen`: all of them, or those with the smallest hashes.

    >>> kept = Occurrences(1, followed=(3,))
    >>> kept.update(Batch.of(np.array([[1.0], [2.0], [3.0]]), words=np.array([3, 0, 3])))
    >>> kept.by_word()[3].vectors.tolist()
    [[1.0], [3.0]]
    """

    def __init__(self, dim: int, *, followed: Sequence[int] = (), most: int = 1000, seed: int = 0) -> None:
        self.dim = dim
        self.followed = tuple(followed)
        self.most = most
        self.seed = seed
        self._parts: list[_Part] = []
        self._shelf = Shelf(_AT_FIRST)
        self._words = np.array(sorted(self.followed), np.int64)

    def update(self, batch: Batch) -> None:
        batch = batch.without_copies
        if batch.words is None:
            return
        mine = np.flatnonzero(np.isin(batch.words, self._words))
        if mine.size:
            rows = batch.distinct_rows
            units = batch.rows if batch.units is None else batch.units
            copies = np.ones(batch.n, np.int64) if batch.keys.copies is None else batch.keys.copies
            columns = {"words": batch.words, "rows": rows, "units": units, "copies": copies}
            self._shelf.put(mine, vectors=batch.vectors, **columns)
            self._trim_now_and_then()

    def _trim_now_and_then(self) -> None:
        # Not each time, so that the copying stays linear; at most twice what is kept is held.
        if self._shelf.n + sum(len(part[0]) for part in self._parts) > 2 * self.most * max(len(self.followed), 1):
            self._trim()

    def _close(self) -> None:
        """What is on the shelf becomes a part."""
        if self._shelf.n:
            columns = {name: np.concatenate(self._shelf.pieces(name)) for name in _Part._fields}
            columns["vectors"] = columns["vectors"].astype(np.float32, copy=False)
            self._parts.append(_Part(**columns))
        self._shelf = Shelf(_AT_FIRST)

    def _trim(self) -> None:
        self._close()
        if not self._parts:
            return
        joined = self._merge()
        words, rows = joined.words, joined.rows
        order = np.lexsort((rows, hash_keys(rows, self.seed), words))
        ordered = words[order]
        first = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
        rank = np.arange(len(words)) - np.repeat(first, np.diff(np.append(first, len(words))))
        places = order[rank < self.most]
        places = places[np.argsort(rows[places], kind="stable")]
        self._parts = [_Part(**{name: column[places] for name, column in joined._asdict().items()})]

    def _merge(self) -> _Part:
        if len(self._parts) == 1:
            return self._parts[0]
        return _Part(**{name: np.concatenate([getattr(part, name) for part in self._parts]) for name in _Part._fields})

    def absorb(self, other: Occurrences) -> None:
        other._close()
        self._parts += other._parts
        self._trim_now_and_then()

    def state(self) -> State:
        self._trim()
        return self._part._asdict()

    @property
    def _part(self) -> _Part:
        """What is left after `_trim`."""
        nothing = np.empty(0, np.int64)
        empty = _Part(nothing, nothing, nothing, nothing, np.empty((0, self.dim), np.float32))
        return self._parts[0] if self._parts else empty

    def _restore(self, state: State) -> None:
        self._parts = [_Part(**state)] if len(state["words"]) else []
        self._shelf = Shelf(_AT_FIRST)

    def by_word(self) -> dict[int, Occurrence]:
        """The kept occurrences of each word that was met, in the order of the rows."""
        self._trim()
        part = self._part
        order = np.argsort(part.words, kind="stable")
        words, first = np.unique(part.words[order], return_index=True)
        if not len(words):
            return {}
        columns = (np.split(column[order], first[1:]) for column in (part.units, part.copies, part.vectors))
        return {int(word): Occurrence(*parts) for word, *parts in zip(words, *columns, strict=True)}
