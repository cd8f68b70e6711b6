"""Stable hashes of rows, and exact copies found by fingerprints: the same number on every machine, in every order."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from uncone.data.batch import Batch, IntVector, Matrix
from uncone.data.buffers import borrow, give_back
from uncone.stats.statistic import State, Statistic

__all__ = ["Fingerprints", "Sketches", "copy_groups", "fingerprints", "hash_keys", "hash_sample", "row_prints"]

Hashes = NDArray[np.uint64]

_GOLDEN = 0x9E3779B97F4A7C15
_MIX = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
_WORD = (1 << 64) - 1
_TO_MIDDLE = np.uint64(37)  # not 32: a change of all signs would cancel between the two numbers of a word


def hash_keys(keys: IntVector, seed: int = 0) -> Hashes:
    """SplitMix64 of integer keys: uniform 64-bit numbers."""
    offset = np.uint64((seed + 1) * _GOLDEN & _WORD)
    with np.errstate(over="ignore"):
        z = keys.astype(np.uint64) * np.uint64(_GOLDEN) + offset
        return _mix(_mix(z))


def hash_sample(keys: IntVector, limit: int, seed: int = 0) -> IntVector:
    """The places of the `limit` integer keys with the smallest hashes, in order: a uniform sample of them."""
    return np.sort(np.argsort(hash_keys(keys, seed), kind="stable")[:limit])


def _mix(z: Hashes) -> Hashes:
    z = (z ^ (z >> np.uint64(30))) * np.uint64(_MIX[0])
    z = (z ^ (z >> np.uint64(27))) * np.uint64(_MIX[1])
    return z ^ (z >> np.uint64(31))


def fingerprints(vectors: Matrix) -> Hashes:
    """A 64-bit number per row that equal rows share: its 64-bit words times fixed odd weights, mixed.

    The top of a word is first mixed into its middle, because coarse numbers (quantized, one-hot, small integers) have
    only high bits set: the product of a word with 9 set bits on top would keep 9 bits of its weight.
    """
    rows = np.ascontiguousarray(vectors)
    if rows.shape[1] * rows.itemsize % 8:
        rows = np.pad(rows, ((0, 0), (0, 1)))
    words = rows.view(np.uint64)
    mixed = borrow(len(words), words.shape[1], np.uint64)
    np.right_shift(words, _TO_MIDDLE, out=mixed)
    mixed ^= words
    with np.errstate(over="ignore"):
        prints = _mix(np.einsum("ij,j->i", mixed, _weights(words.shape[1])))
    give_back(mixed)
    return prints


@lru_cache
def _weights(n: int) -> Hashes:
    return hash_keys(np.arange(n, dtype=np.int64), seed=7) | np.uint64(1)


_SKETCHED = 16  # numbers of a row that a sketch looks at
_AT_ONCE = 8192


class Fingerprints(Statistic):
    """Fingerprints of the rows; above `limit`, of those rows whose fingerprint falls in one part of 2^level.

    Copies share a fingerprint, so they are kept or dropped together and the share stays right. Where the number of
    `rows` is known, the level is set from the start, so that no part keeps or sends more than its share.

    >>> copies = Fingerprints()
    >>> copies.update(Batch.of(np.array([[1.0, 2.0], [1.0, 2.0], [1.0, 2.5], [1.0, 2.0]])))
    >>> copies.duplicate_share
    0.5
    """

    def __init__(self, limit: int = 4_000_000, rows: int | None = None) -> None:
        self.limit = limit
        self.rows = rows
        self.level = max(-(-(rows or 0) // limit) - 1, 0).bit_length()
        self._parts: list[Hashes] = []
        self._count = 0

    def rows_kept(self, rows: int) -> float:
        """One of 2^level, the smallest with at most `limit` of them."""
        level = math.ceil(math.log2(max(rows / self.limit, 1)))
        return math.ldexp(rows, -max(level, self.level))

    def update(self, batch: Batch) -> None:
        self._add(fingerprints(batch.vectors))

    def absorb(self, other: Fingerprints) -> None:
        if other.level > self.level:
            self.level = other.level
            self._thin()
        for part in other._parts:
            self._add(part)

    def _add(self, prints: Hashes) -> None:
        self._parts.append(self._select(prints))
        self._count += len(self._parts[-1])
        while self._count > self.limit:
            self.level += 1
            self._thin()

    def _thin(self) -> None:
        self._parts = [self._select(np.concatenate(self._parts))] if self._parts else []
        self._count = sum(map(len, self._parts))

    def _select(self, prints: Hashes) -> Hashes:
        if self.level == 0:
            return prints
        sampled: Hashes = prints[prints >> np.uint64(64 - self.level) == 0]
        return sampled

    def state(self) -> State:
        prints = np.sort(np.concatenate([np.empty(0, np.uint64), *self._parts]))
        return {"level": np.array(self.level, np.int64), "kept": prints}

    def _restore(self, state: State) -> None:
        self.level = int(state["level"])
        self._parts = [state["kept"]] if state["kept"].size else []
        self._count = len(state["kept"])

    @property
    def n_compared(self) -> int:
        """Rows whose fingerprints were compared."""
        return self._count

    @property
    def duplicate_share(self) -> float:
        """Share of the rows that repeat an earlier row exactly."""
        prints = self.state()["kept"]
        if not prints.size:
            return 0.0
        return float((prints[1:] == prints[:-1]).sum() / prints.size)


class Sketches(Fingerprints):
    """Fingerprints of the norm and about sixteen numbers of each row, at a tenth of the cost of all of them.

    Copies share a sketch; other rows do so only where they are sparse, coarse or nearly alike. Where no two sketches
    are equal there are no copies.

    >>> sketches = Sketches()
    >>> sketches.update(Batch.of(np.array([[1.0, 2.0], [1.0, 2.5], [1.0, 2.0]])))
    >>> sketches.may_hold_copies
    True
    """

    def update(self, batch: Batch) -> None:
        some = batch.vectors[:, :: -(-batch.dim // _SKETCHED)]
        cells = np.empty((batch.n, some.shape[1] + 1), batch.vectors.dtype)
        cells[:, :-1] = some
        cells[:, -1] = batch.norms
        self._add(fingerprints(cells))

    @property
    def may_hold_copies(self) -> bool:
        """Whether two sketches are equal, or not all were kept."""
        prints = self.state()["kept"]
        return self.level > 0 or bool((prints[1:] == prints[:-1]).any())


def copy_groups(prints: Hashes) -> IntVector | None:
    """The group of each row (n,), numbered from 0: rows with the same fingerprint share one. None when all differ.

    >>> copy_groups(np.array([7, 9, 7], np.uint64))
    array([0, 1, 0])
    """
    ordered = np.sort(prints)
    if (ordered[1:] != ordered[:-1]).all():
        return None
    return np.unique(prints, return_inverse=True)[1].astype(np.int64)


def row_prints(parts: Iterable[Matrix]) -> Hashes:
    """The fingerprints of rows that come in several arrays, in order."""
    blocks = (part[start : start + _AT_ONCE] for part in parts for start in range(0, len(part), _AT_ONCE))
    return np.concatenate([np.empty(0, np.uint64), *map(fingerprints, blocks)])
