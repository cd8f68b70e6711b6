"""A shard of the cache: some rows under the hashes of their texts, in one file that is written once and never changed.

```text
head     8 bytes of magic, rows and numbers per row as <u4, crc32 of the table as <u4, crc32 of the 20 bytes before
table    per row: 16 bytes, the hash of its text; crc32 of hash and row as <u4
rows     float32, little-endian
```

Its size follows from its head, every row has a checksum: a file that was cut or changed is noticed, whatever did it.
"""

from __future__ import annotations

import contextlib
import os
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

__all__ = ["ENDING", "DamagedShardError", "Index", "Shard", "read_shard", "write_shard"]

ENDING = ".rows"

_MAGIC = b"uncone\0\1"
_HEAD = struct.Struct("<8sIII")
_ENTRY = np.dtype([("key", "V16"), ("check", "<u4")])


class DamagedShardError(Exception):
    """A shard that cannot be trusted; caught by the cache, which drops it."""


@dataclass(frozen=True)
class Shard:
    """The table of a shard: the hash and the checksum of every row."""

    path: Path
    width: int
    table: NDArray[np.void]

    @property
    def keys(self) -> NDArray[np.uint64]:
        """The hashes (n, 2), as two numbers each."""
        return np.ascontiguousarray(self.table["key"]).view("<u8").reshape(-1, 2)

    def rows(self, places: NDArray[np.int64]) -> NDArray[np.float32]:
        """The rows at these places (m, width), which are in ascending order.

        Raises:
            DamagedShardError: a row is not what was written.
            OSError: the file is gone, or the disk fails.
        """
        rows = np.empty((len(places), self.width), "<f4")
        start = _HEAD.size + 4 + self.table.nbytes
        breaks = np.flatnonzero(np.diff(places) != 1) + 1
        with self.path.open("rb", buffering=0) as file:
            for run in np.split(np.arange(len(places)), breaks):  # rows that follow each other are read at once
                if len(run):
                    position = start + int(places[run[0]]) * 4 * self.width
                    _fill(file.fileno(), rows[run[0] : run[-1] + 1], position)
        entries = self.table[places]
        if _checks(entries["key"], rows) != entries["check"].tolist():
            raise DamagedShardError("a row has another checksum")
        return rows


def _fill(descriptor: int, block: NDArray[np.float32], position: int) -> None:
    view = memoryview(block.view(np.uint8).reshape(-1).data)
    while len(view):
        got = os.preadv(descriptor, [view], position)
        if got == 0:
            raise DamagedShardError("it is shorter than it was")
        view, position = view[got:], position + got


def _checks(keys: NDArray[np.void], rows: NDArray[np.float32]) -> list[int]:
    """The checksum of each row together with its hash, so that a row cannot pass for another's."""
    names = np.ascontiguousarray(keys).tobytes()
    data = memoryview(np.ascontiguousarray(rows, "<f4").view(np.uint8).reshape(-1).data)
    size = 4 * rows.shape[1]
    return [
        zlib.crc32(data[i * size : (i + 1) * size], zlib.crc32(names[16 * i : 16 * i + 16])) for i in range(len(rows))
    ]


def read_shard(path: Path, width: int) -> Shard:
    """The table of a shard of rows of this width.

    Raises:
        DamagedShardError: it is no whole shard.
        OSError: the file is gone, or the disk fails.
    """
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        head = file.read(_HEAD.size + 4)
        if len(head) < _HEAD.size + 4 or zlib.crc32(head[:-4]) != int.from_bytes(head[-4:], "little"):
            raise DamagedShardError("its head is damaged")
        magic, n, of_row, check = _HEAD.unpack(head[:-4])
        if magic != _MAGIC or of_row != width:
            raise DamagedShardError("its head is of another kind")
        if size != len(head) + n * (_ENTRY.itemsize + 4 * width):
            raise DamagedShardError(f"it has {size:,} bytes, which is not what its head promises")
        table = file.read(n * _ENTRY.itemsize)
    if zlib.crc32(table) != check:
        raise DamagedShardError("its table is damaged")
    return Shard(path, width, np.frombuffer(table, _ENTRY))


def write_shard(folder: Path, keys: Sequence[bytes], rows: NDArray[np.float32]) -> Path:
    """Write a shard under a new name; it appears whole or not at all, whoever else writes at the same time.

    There is no fsync: what a power cut leaves behind fails its checksums, and is made again.

    Raises:
        OSError: the folder is gone, the disk is full.
    """
    table = np.empty(len(keys), _ENTRY)
    table["key"] = np.frombuffer(b"".join(keys), "V16")
    table["check"] = _checks(table["key"], rows)
    data = table.tobytes()
    head = _HEAD.pack(_MAGIC, len(keys), rows.shape[1], zlib.crc32(data))
    name = os.urandom(8).hex()
    temporary, path = folder / f"{name}.part", folder / f"{name}{ENDING}"
    try:
        with temporary.open("xb") as file:
            file.write(head + zlib.crc32(head).to_bytes(4, "little") + data)
            file.write(memoryview(np.ascontiguousarray(rows, "<f4").view(np.uint8).reshape(-1).data))
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    return path


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
