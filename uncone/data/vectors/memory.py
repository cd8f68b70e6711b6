"""Vectors in memory: an array, a column of lists, an iterator of blocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uncone.data.source import BLOCK, Rows, Source, check_dtype, check_shape
from uncone.data.tables.read import ragged
from uncone.errors import DtypeError, ShapeError

__all__ = ["ArrayVectors", "BlockStream", "in_memory"]


class ArrayVectors(Source):
    """A 2-D array."""

    def __init__(self, array: NDArray[np.generic], name: str = "array") -> None:
        self.name = name
        self.kind = "array"
        check_dtype(name, array.dtype)
        self.rows, self.dim = check_shape(name, array.shape)
        self.dtype = array.dtype.name
        self.array = array
        self.random_access = True

    def stored_bytes(self) -> int:
        return self.array.nbytes

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Rows]:
        stop = self.rows if stop is None else stop
        for first in range(start, stop or 0, BLOCK):
            yield Rows(self.array[first : min(first + BLOCK, stop or 0)])


class BlockStream(Source):
    """An iterator of (m, d) blocks, read once."""

    rereadable = False

    def __init__(self, blocks: Iterable[Any], name: str = "blocks") -> None:
        self.name = name
        self.kind = "blocks"
        self.rows = None
        iterator = iter(blocks)
        first = next(iterator, None)
        if first is None:
            raise ShapeError(f"{name} is an empty iterator. We need blocks of shape (rows, dimensions).")
        opening = np.asarray(first)
        check_dtype(name, opening.dtype)
        _, self.dim = check_shape(name, opening.shape)
        self.dtype = opening.dtype.name
        self._blocks: Iterator[Any] | None = chain([opening], iterator)

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Rows]:
        if self._blocks is None:
            raise ShapeError(f"{self.name}: an iterator can be read only once. Give an array or a file instead.")
        blocks, self._blocks = self._blocks, None
        for block in blocks:
            vectors = np.asarray(block)
            check_dtype(self.name, vectors.dtype)
            _, dim = check_shape(self.name, vectors.shape)
            if dim != self.dim:
                raise ShapeError(f"{self.name}: a block has {dim} dimensions, the first had {self.dim}.")
            yield Rows(vectors)


def in_memory(value: Any, name: str | None = None) -> Source:  # noqa: ANN401 - whatever the user has
    """A source for an array, a tensor, a list of lists, a column of vectors or an iterator of blocks."""
    if isinstance(value, Iterator):
        return BlockStream(value, name or "blocks")
    column = getattr(value, "name", None)
    name = name or (column if isinstance(column, str) else None) or "array"
    try:
        array = np.asarray(value)
    except (ValueError, TypeError) as error:
        raise ShapeError(f"{name} is not a table of numbers: {error}. Every row needs the same dimensions.") from error
    if array.dtype == object and array.ndim == 1:
        array = _stack(array, name)
    if array.dtype.kind == "i" and isinstance(value, Sequence):
        array = array.astype(np.float64)  # a list of lists has no dtype of its own
    return ArrayVectors(array, name)


def _stack(column: NDArray[Any], name: str) -> NDArray[np.generic]:
    rows = [None if row is None or np.ndim(row) == 0 else np.asarray(row) for row in column]
    first = next((row for row in rows if row is not None), None)
    if first is None:
        raise DtypeError(f"{name} holds {type(column[0]).__name__} values; we need one list of numbers per row.")
    for place, row in enumerate(rows):
        if row is not None and row.shape != first.shape:
            raise ragged(name, f"row {place:,}", f"shape {row.shape}", first.shape)
    missing = np.full(first.shape, np.nan, np.float32)
    stacked: NDArray[np.generic] = np.stack([missing if row is None else row for row in rows])
    if stacked.dtype.kind == "i" and stacked.dtype.itemsize > 1:
        stacked = stacked.astype(np.float64)
    return stacked
