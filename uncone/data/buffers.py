"""Working memory: buffers that a thread reuses, and an append-only row store backed by a few large memory maps."""

from __future__ import annotations

import math
import mmap
import threading
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from uncone.data.batch import IntVector

__all__ = ["Shelf", "borrow", "give_back"]

_local = threading.local()


def borrow(n: int, d: int, dtype: DTypeLike) -> NDArray[Any]:
    """An (n, d) array with arbitrary content; `give_back` it for the next borrower of this thread."""
    pool = _pool()
    for place, buffer in enumerate(pool):
        if buffer.shape == (n, d) and buffer.dtype == dtype:
            return pool.pop(place)
    return np.empty((n, d), dtype)


def give_back(array: NDArray[Any]) -> None:
    """Let this thread use the array again; the oldest of more than three is let go."""
    pool = _pool()
    pool.append(array)
    del pool[:-3]


def _pool() -> list[NDArray[Any]]:
    pool: list[NDArray[Any]] = _local.__dict__.setdefault("pool", [])
    return pool


_FURTHER = 1024
_SMALL = 1 << 16
"""Bytes of a piece that is left to the heap."""

Column = NDArray[Any]


class Shelf:
    """Rows put down one behind the other, with everything that is known of each; room for `rows` at first.

    >>> shelf = Shelf(2)
    >>> shelf.put(np.array([2, 0]), numbers=np.array([10, 11, 12]), vectors=np.array([[1.0], [2.0], [3.0]]))
    >>> shelf.put(np.array([0]), numbers=np.array([13]), vectors=np.array([[4.0]]))
    >>> shelf.n, shelf.column("numbers").tolist(), [piece.tolist() for piece in shelf.pieces("vectors")]
    (3, [12, 10, 13], [[[3.0], [1.0]], [[4.0]]])
    """

    def __init__(self, rows: int) -> None:
        self._rows = rows
        self._columns: dict[str, _Pieces] = {}
        self.n = 0

    def put(self, places: IntVector, **columns: Column | None) -> None:
        """Copy the chosen rows of these columns here; one that is not given is not known."""
        self.n += len(places)
        for name, column in columns.items():
            if column is not None:
                self._columns.setdefault(name, _Pieces(self._rows)).put(column, places)

    def pieces(self, name: str) -> list[Column]:
        """A column, in the pieces it is kept in."""
        return self._columns[name].all if name in self._columns else []

    def column(self, name: str) -> Column | None:
        """A column in one piece; none unless every row has it."""
        pieces = self.pieces(name)
        whole = np.concatenate(pieces) if pieces else None
        return whole if whole is not None and len(whole) == self.n else None


class _Pieces:
    """A column in pieces: the first has room for `rows`, the others for a thousand or more."""

    def __init__(self, rows: int) -> None:
        self._rows = rows
        self._full: list[Column] = []
        self._piece: Column | None = None
        self._taken = 0

    def put(self, column: Column, places: IntVector) -> None:
        if self._piece is None or self._taken + len(places) > len(self._piece):
            self._full = self.all
            rows = self._rows if self._piece is None else max(self._rows, _FURTHER)
            self._piece, self._taken = _room((max(rows, len(places)), *column.shape[1:]), column.dtype), 0
        place = self._piece[self._taken : self._taken + len(places)]
        np.take(column, places, axis=0, out=place, mode="clip")
        self._taken += len(places)

    @property
    def all(self) -> list[Column]:
        if self._piece is None or self._taken == 0:
            return list(self._full)
        # A view would keep the whole piece, however little of it is taken.
        whole = 2 * self._taken > len(self._piece)
        return [*self._full, self._piece[: self._taken] if whole else self._piece[: self._taken].copy()]


def _room(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Column:
    """An array with arbitrary content, in memory of its own unless it is small."""
    size = math.prod(shape)
    if size * dtype.itemsize < _SMALL:
        return np.empty(shape, dtype)
    # Private where there is a choice: memory that is shared would be so with a process that is forked.
    private = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
    return np.frombuffer(mmap.mmap(-1, size * dtype.itemsize, **private), dtype, size).reshape(shape)
