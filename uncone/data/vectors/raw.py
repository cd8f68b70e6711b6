"""Matrices that lie on disk as plain numbers: .npy, safetensors; read by offset into a reused buffer."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from uncone.data.arrays.buffers import borrow, give_back
from uncone.data.batch import CUT
from uncone.data.source import BLOCK, Place, Rows, Source, check_dtype, check_shape
from uncone.errors import FormatError

__all__ = ["BFLOAT16", "RawMatrix"]

BFLOAT16 = "bfloat16"


@dataclass
class RawMatrix(Source):
    """`shape` numbers of `dtype` from byte `offset` of a file; row by row, or column by column (`by_column`).

    Reads go through `pread` into one buffer that stays in the cache; a memory map would count every page as ours.
    """

    path: Path
    offset: int
    stored: np.dtype[np.generic]
    shape: tuple[int, ...]
    name: str
    kind: str
    by_column: bool = False
    bfloat16: bool = False

    def __post_init__(self) -> None:
        """Check what the header promised against the file."""
        check_dtype(self.name, np.dtype(np.float32) if self.bfloat16 else self.stored)
        self.rows, self.dim = check_shape(self.name, self.shape)
        self.dtype = BFLOAT16 if self.bfloat16 else self.stored.name
        self.random_access = True
        needed = self.offset + self.rows * self.dim * self.stored.itemsize
        size = self.path.stat().st_size
        if size < needed:
            raise FormatError(
                f"{self.name} is truncated: its header promises {self.rows:,} x {self.dim} ({needed:,} bytes), "
                f"the file has {size:,}. Copy or write it again."
            )

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Rows]:
        return self.read_into(lambda rows: None, start, self.shape[0] if stop is None else stop)

    def read_into(self, place: Place, start: int, stop: int) -> Iterator[Rows]:
        stop = min(stop, self.shape[0])
        if self.by_column:
            yield from self._read_columns(start, stop)
            return
        buffer = borrow(CUT, self.dim, self.stored)
        try:
            with self.path.open("rb", buffering=0) as file:
                for first in range(start, stop, CUT):
                    rows = min(CUT, stop - first)
                    given = None if self.bfloat16 else place(rows)
                    block = buffer[:rows] if given is None or given.dtype != self.stored else given
                    self._fill(file.fileno(), block, first)
                    yield Rows(self._numbers(block))
        finally:
            give_back(buffer)

    def _fill(self, descriptor: int, block: NDArray[np.generic], first: int) -> None:
        view = memoryview(block.view(np.uint8).reshape(-1).data)
        position = self.offset + first * self.dim * self.stored.itemsize
        while len(view):
            got = os.preadv(descriptor, [view], position)
            if got == 0:
                raise FormatError(f"{self.name} became shorter while it was read. Is something writing to it?")
            view, position = view[got:], position + got

    def _read_columns(self, start: int, stop: int) -> Iterator[Rows]:
        table = np.memmap(self.path, self.stored, "r", self.offset, (self.rows or 0, self.dim), order="F")
        for first in range(start, stop, BLOCK):
            yield Rows(self._numbers(np.ascontiguousarray(table[first : min(first + BLOCK, stop)])))

    def _numbers(self, block: NDArray[np.generic]) -> NDArray[np.generic]:
        if not self.bfloat16:
            return block
        return (block.astype(np.uint32) << np.uint32(16)).view(np.float32)
