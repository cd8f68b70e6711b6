"""The cached rows of one space: one model at one layer with one pooling, one folder."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from uncone.data.cache.index import Index
from uncone.data.cache.shard import ENDING, DamagedShardError, Shard, read_shard, write_shard

__all__ = ["Keeper", "SpaceCache", "sweep", "text_key"]

_SMALL = 256  # rows: shards below it are put together when there are many
_MANY = 64
_TOUCH = 60.0  # seconds between two marks that a shard was used
_PAUSE = 3600.0  # seconds after which a half-written file belongs to a process that was killed


def text_key(text: str) -> bytes:
    """The 128-bit hash under which the row of a text is kept.

    >>> len(text_key("a text"))
    16
    """
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


class Keeper(Protocol):
    """Who decides whether there is room: the cache that a space belongs to."""

    notes: list[str]

    def admit(self, folder: Path, size: int) -> bool:
        """Make the folder of a space, and room for so many bytes; False when nothing more is to be written."""

    def fail(self, error: OSError) -> None:
        """Write nothing more in this run."""


class SpaceCache:
    """Rows of `width` float32 numbers by text. `find` and `put` never raise for the sake of the disk.

    Every `put` becomes a file of its own that appears whole: processes that write at once, or are killed, leave no
    half rows. What is damaged is dropped, said in the notes of the cache, and simply not known any more.
    """

    def __init__(self, folder: Path, width: int, keeper: Keeper) -> None:
        self.folder = folder
        self.width = width
        self.keeper = keeper
        self._index = Index()
        self._shards: list[Shard] = []
        self._names: dict[str, int] = {}
        self._ignored: set[str] = set()
        self._seen: int | None = None
        self._touched: dict[str, float] = {}

    def find(self, texts: Sequence[str]) -> tuple[NDArray[np.bool_], NDArray[np.float32]]:
        """Which texts are known (n), and their rows (n, width), NaN where they are not."""
        keys = _numbers([text_key(text) for text in texts])
        while True:
            self._refresh()
            shards, places = self._index.find(keys)
            rows = np.full((len(texts), self.width), np.nan, np.float32)
            taken = [self._take(int(one), shards, places, rows) for one in np.unique(shards[shards >= 0])]
            if all(taken):
                return shards >= 0, rows

    def _take(self, number: int, shards: NDArray[np.int64], places: NDArray[np.int64], rows: NDArray[Any]) -> bool:
        """Read the rows that stand in one shard; False when it turned out to be damaged or gone."""
        shard = self._shards[number]
        mine = np.flatnonzero(shards == number)
        mine = mine[np.argsort(places[mine], kind="stable")]
        wanted, back = np.unique(places[mine], return_inverse=True)
        try:
            rows[mine] = shard.rows(wanted)[back]
        except FileNotFoundError:
            self._forget(shard.path.name)  # somebody cleared the cache, or put small shards together
            return False
        except (DamagedShardError, OSError) as error:
            self._drop(shard.path, error)
            return False
        self._touch(shard.path)
        return True

    def put(self, texts: Sequence[str], rows: NDArray[np.floating[Any]]) -> None:
        """Keep the rows of texts; those known already, and rows that are not numbers, are passed over."""
        whole = np.asarray(rows, np.float32).reshape(len(texts), self.width)
        keys = [text_key(text) for text in texts]
        self._refresh()
        known = self._index.find(_numbers(keys))[0] >= 0
        usable = np.isfinite(whole).all(axis=1) & ~known
        new = {keys[i]: i for i in np.flatnonzero(usable).tolist()}
        if not new:
            return
        try:
            self._write(list(new), whole[list(new.values())])
            self._compact()
        except OSError as error:
            self.keeper.fail(error)

    def _write(self, keys: Sequence[bytes], rows: NDArray[np.float32]) -> None:
        size = len(keys) * (4 * self.width + 20) + 24
        if not self.keeper.admit(self.folder, size):
            return
        try:
            write_shard(self.folder, keys, rows)
        except FileNotFoundError:  # somebody cleared the cache in between
            if self.keeper.admit(self.folder, size):
                write_shard(self.folder, keys, rows)

    def _compact(self) -> None:
        """Put small shards together when there are many, as single sentences leave them."""
        self._refresh()
        small = [shard for shard in self._shards if len(shard.table) < _SMALL]
        if len(small) < _MANY:
            return
        kept: dict[bytes, NDArray[np.float32]] = {}
        merged = []
        for shard in small:
            try:
                rows = shard.rows(np.arange(len(shard.table)))
            except FileNotFoundError:
                continue
            except DamagedShardError as error:
                self._drop(shard.path, error)
                continue
            kept |= {key.tobytes(): row for key, row in zip(shard.table["key"], rows, strict=True)}
            merged.append(shard)
        if kept:
            self._write(list(kept), np.stack(list(kept.values())))
        for shard in merged:
            shard.path.unlink(missing_ok=True)

    def _refresh(self) -> None:
        """See what was written or removed since the last look, by us or by others."""
        try:
            stamp = self.folder.stat().st_mtime_ns
        except OSError:
            stamp = -1
        if stamp == self._seen:
            return
        self._seen = stamp
        names = _listed(self.folder) - self._ignored if stamp != -1 else set()
        if set(self._names) - names:
            self._index, self._shards, self._names = Index(), [], {}
        for name in sorted(names - set(self._names)):
            try:
                shard = read_shard(self.folder / name, self.width)
            except FileNotFoundError:
                continue
            except (DamagedShardError, OSError) as error:
                self._drop(self.folder / name, error)
                continue
            self._names[name] = len(self._shards)
            self._index.add(shard.keys, len(self._shards))
            self._shards.append(shard)

    def _forget(self, name: str) -> None:
        self._ignored.add(name)
        self._seen = None

    def _drop(self, path: Path, error: Exception) -> None:
        self._forget(path.name)
        reason = error.strerror or str(error) if isinstance(error, OSError) else str(error)
        try:
            path.unlink(missing_ok=True)
            self.keeper.notes.append(
                f"A damaged file of the cache was dropped, and its texts are encoded again ({reason})."
            )
        except OSError:
            self.keeper.notes.append(f"A file of the cache cannot be used ({reason}): {path}.")

    def _touch(self, path: Path) -> None:
        """Mark a shard as used, now and then: the time of its last change is the time of its last use."""
        now = time.time()
        if now - self._touched.get(path.name, 0.0) < _TOUCH:
            return
        self._touched[path.name] = now
        try:
            os.utime(path)
        except OSError:
            self._touched[path.name] = now + 1e9  # not ours to mark: it will look older than it is


def sweep(folder: Path) -> None:
    """Remove what killed processes left half-written in a space."""
    for part in folder.glob("*.part"):
        try:
            if time.time() - part.stat().st_mtime > _PAUSE:
                part.unlink()
        except FileNotFoundError:
            continue


def _listed(folder: Path) -> set[str]:
    try:
        return {name for name in os.listdir(folder) if name.endswith(ENDING)}  # noqa: PTH208 - names are enough
    except OSError:
        return set()


def _numbers(keys: Sequence[bytes]) -> NDArray[np.uint64]:
    return np.frombuffer(b"".join(keys), "<u8").reshape(-1, 2) if keys else np.empty((0, 2), np.uint64)
