"""Cache of encoded texts on disk: float32 vectors by space and text, within a size limit.

```text
FOLDER/vectors/<space>/meta.json    what the space is, for people to read
FOLDER/vectors/<space>/<name>.rows  a shard: some rows under the hashes of their texts; written once, never changed
```

A space is named by a hash of everything that its numbers depend on, so another revision, layer or pooling has another
folder. The texts themselves are not stored, only 128-bit hashes. A shard consists of

```text
head     8 bytes of magic; rows, numbers per row and crc32 of the table as <u4; crc32 of these 20 bytes
table    per row: 16 bytes, the hash of its text; crc32 of hash and row as <u4
rows     float32, little-endian
```

Its size follows from its head and every row has a checksum, so a file that was truncated or changed is noticed.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import os
import re
import struct
import time
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uncone.errors import OptionError, OutputError

__all__ = ["DEFAULT_LIMIT", "Entry", "SpaceCache", "VectorCache", "cache_folder", "cache_limit"]

Keys = NDArray[np.uint64]
Rows = NDArray[np.float32]

DEFAULT_LIMIT = 5 << 30  # bytes, unless the user sets another limit

_VERSION = 1
_LABELS = ("model", "path")  # how the user called a model: two names of one model share a space
_MAGIC = b"uncone\0\1"
_HEAD = struct.Struct("<8s4I")
_TABLE = np.dtype([("key", "<u8", 2), ("check", "<u4")])
_INDEX = np.dtype([("key", "<u8", 2), ("shard", "<i4"), ("row", "<i4")])
_SMALL = 256  # rows: shards below it are merged when there are many
_MANY = 64
_TOUCH = 60.0  # seconds between two updates of the time when a shard was last used
_ABANDONED = 3600.0  # seconds after which a half-written file belongs to a process that was killed


def cache_folder() -> Path:
    """The folder of the cache: $UNCONE_CACHE, or `uncone` in the user's cache.

    Raises:
        OptionError: there is no home folder.
    """
    folder, user_cache = os.environ.get("UNCONE_CACHE"), os.environ.get("XDG_CACHE_HOME")
    try:
        return Path(folder or Path(user_cache or Path.home() / ".cache", "uncone"))
    except RuntimeError as error:
        raise OptionError("There is no home folder for the cache. Set UNCONE_CACHE to a folder.") from error


def cache_limit() -> int:
    """The largest size of the cache in bytes: $UNCONE_CACHE_SIZE such as "5GB", "300 MB" or "0", or 5 GB.

    Raises:
        OptionError: that is not a size.
    """
    size = os.environ.get("UNCONE_CACHE_SIZE")
    if not size:
        return DEFAULT_LIMIT
    match = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([kmgt]?)b?\s*", size.lower())
    if match is None:
        raise OptionError(f"UNCONE_CACHE_SIZE must be a size such as 5GB, not {size!r}; 0 turns the cache off.")
    return int(float(match[1]) * 1024 ** " kmgt".index(match[2] or " "))


@dataclass(frozen=True)
class Entry:
    """A space in the cache: its texts, its bytes, and when it was last used, in seconds since 1970."""

    model: str
    layer: str
    pooling: str
    rows: int
    bytes: int
    used: float


class VectorCache:
    """Rows of encoded texts in a folder, under `limit_bytes`; the least recently used shards are removed first.

    A failing cache never ends a run: damaged shards are dropped, and a full or read-only disk switches writing off.
    `notes` says so.
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None, limit_bytes: int | None = None) -> None:
        self.folder = cache_folder() if folder is None else Path(folder)
        self.limit = cache_limit() if limit_bytes is None else limit_bytes
        self.notes: list[str] = []
        self.writes = self.limit > 0
        self._metas: dict[Path, dict[str, Any]] = {}
        self._bytes: int | None = None  # of all shards when they were last listed, and written since
        self._new_bytes = 0

    def space(self, meta: Mapping[str, Any], dim: int) -> SpaceCache:
        """The rows of `dim` numbers of the space that `meta` describes: plain JSON, everything that they depend on.

        If it contains a `fingerprint` of the model, `model` and `path` are only for people and may differ.
        """
        identity = {"version": _VERSION, "dim": dim, **meta, "width": dim}
        hashed = {key: value for key, value in identity.items() if "fingerprint" not in identity or key not in _LABELS}
        data = json.dumps(hashed, sort_keys=True).encode()
        folder = self.folder / "vectors" / hashlib.blake2b(data, digest_size=16).hexdigest()
        self._metas[folder] = identity
        return SpaceCache(folder, dim, self)

    def admit(self, folder: Path, size: int) -> bool:
        """Make the folder of a space, and room for `size` bytes; False if nothing is to be written.

        Raises:
            OSError: the folder cannot be made.
        """
        if not self.writes or size > self.limit:
            return False
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if folder in self._metas and not _read_meta(folder):
            meta = {**self._metas[folder], "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
            text = json.dumps(meta, indent=2, ensure_ascii=False)
            _write_file(folder / "meta.json", [text.encode("utf-8", "replace")])
        self._new_bytes += size
        # Other processes write too, so the folder is listed again now and then.
        if self._bytes is None or self._bytes + self._new_bytes > self.limit or self._new_bytes > self.limit // 64:
            self._evict(size)
        return True

    def fail(self, error: OSError) -> None:
        """Switch writing off for this run."""
        if self.writes:
            self.writes = False
            self.notes.append(f"The cache in {self.folder} is switched off for this run: {_reason(error)}.")

    def entries(self) -> list[Entry]:
        """Every space in the cache, most recently used first."""
        return sorted(map(_entry, self._spaces()), key=lambda entry: -entry.used)

    def clear(self, model: str | None = None) -> list[Entry]:
        """Remove all spaces, or those of one model by its name or folder, and return what they were.

        Raises:
            OutputError: they may not be removed.
        """
        removed = []
        for folder in self._spaces():
            meta = _read_meta(folder)
            if model is None or model == meta.get("model") or str(Path(model).resolve()) == meta.get("path"):
                removed.append(_entry(folder))
                try:
                    _remove(folder)
                except OSError as error:
                    message = f"{folder} cannot be cleared: {_reason(error)}. Check its permissions."
                    raise OutputError(message) from error
        self._bytes = None
        return removed

    def _evict(self, size: int) -> None:
        """Remove the least recently used shards until `size` more bytes fit, and what killed processes left."""
        spaces = self._spaces()
        files = sorted(file for folder in spaces for file in _shard_files(folder))
        total = sum(shard_bytes for _, shard_bytes, _ in files)
        for _, shard_bytes, path in files:
            if total + size <= self.limit:
                break
            path.unlink(missing_ok=True)
            total -= shard_bytes
        self._bytes, self._new_bytes = total, size
        for folder in spaces:
            for part in folder.glob("*.part"):
                with contextlib.suppress(FileNotFoundError):
                    if time.time() - part.stat().st_mtime > _ABANDONED:
                        part.unlink()
            if folder not in self._metas and not _shard_files(folder):
                _remove(folder)

    def _spaces(self) -> list[Path]:
        return [path for path in sorted((self.folder / "vectors").glob("*")) if path.is_dir()]


def _reason(error: OSError) -> str:
    return error.strerror or str(error)


def _shard_files(folder: Path) -> list[tuple[float, int, Path]]:
    """The time of last use, the bytes and the path of every shard of a space."""
    files = []
    for path in folder.glob("*.rows"):
        with contextlib.suppress(FileNotFoundError):  # other processes remove shards too
            status = path.stat()
            files.append((status.st_mtime, status.st_size, path))
    return files


def _entry(folder: Path) -> Entry:
    meta, files = _read_meta(folder), _shard_files(folder)
    size, width = sum(shard_bytes for _, shard_bytes, _ in files), meta.get("width")
    rows = (size - _HEAD.size * len(files)) // (_TABLE.itemsize + 4 * width) if isinstance(width, int) else 0
    model, layer, pooling = (str(meta.get(key, "?")) for key in ("model", "layer", "pooling"))
    return Entry(model, layer, pooling, rows, size, max(files)[0] if files else 0.0)


def _read_meta(folder: Path) -> dict[str, Any]:
    """What a space is; empty if that is missing or damaged."""
    try:
        meta = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return meta if isinstance(meta, dict) else {}


def _remove(folder: Path) -> None:
    """Remove a space, but only our own files; if a process writes to it meanwhile, the folder stays."""
    for pattern in ("*.rows", "*.part", "meta.json"):
        for path in folder.glob(pattern):
            path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        folder.rmdir()


def _write_file(path: Path, parts: Iterable[bytes | memoryview]) -> None:
    """Write a file that appears complete or not at all, however many processes write.

    There is no fsync: what a power cut leaves behind fails its checksums and is encoded again.
    """
    temporary = path.with_name(f"{os.urandom(8).hex()}.part")
    try:
        with temporary.open("xb") as file:
            file.writelines(parts)
        temporary.replace(path)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


class _DamagedShardError(OSError):
    """A shard that is not what was written; the cache drops it."""


@dataclass(frozen=True)
class _Shard:
    """The table of a shard: the hash and the checksum of every row."""

    path: Path
    width: int
    table: NDArray[np.void]

    def rows(self, places: NDArray[np.int64]) -> Rows:
        """The rows at these places (m, width), which are in ascending order."""
        rows = np.empty((len(places), self.width), "<f4")
        starts = [0, *(np.flatnonzero(np.diff(places) != 1) + 1).tolist(), len(places)]
        with self.path.open("rb") as file:
            for start, stop in itertools.pairwise(starts):  # adjacent rows are read at once
                file.seek(_HEAD.size + self.table.nbytes + 4 * self.width * int(places[start]))
                if file.readinto(rows[start:stop].data) != 4 * self.width * (stop - start):
                    raise _DamagedShardError("it is shorter than it was")
        entries = self.table[places]
        if _checksums(entries["key"], rows) != entries["check"].tolist():
            raise _DamagedShardError("a row has another checksum")
        return rows


def _checksums(keys: Keys, rows: Rows) -> list[int]:
    """The checksum of each row together with its hash, so that a row can't pass for another."""
    return [zlib.crc32(row, zlib.crc32(key)) for key, row in zip(np.ascontiguousarray(keys), rows, strict=True)]


def _read_shard(path: Path, width: int) -> _Shard:
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        head = file.read(_HEAD.size)
        if len(head) < _HEAD.size or zlib.crc32(head[:-4]) != int.from_bytes(head[-4:], "little"):
            raise _DamagedShardError("its head is damaged")
        magic, n, shard_width, check, _ = _HEAD.unpack(head)
        if magic != _MAGIC or shard_width != width:
            raise _DamagedShardError("its head is of another kind")
        if size != _HEAD.size + n * (_TABLE.itemsize + 4 * width):
            raise _DamagedShardError(f"it has {size:,} bytes, which is not what its head promises")
        table = file.read(n * _TABLE.itemsize)
    if zlib.crc32(table) != check:
        raise _DamagedShardError("its table is damaged")
    return _Shard(path, width, np.frombuffer(table, _TABLE))


def _write_shard(folder: Path, keys: Keys, rows: Rows) -> None:
    """Write a shard under a new name."""
    rows = np.ascontiguousarray(rows, "<f4")
    table = np.empty(len(keys), _TABLE)
    table["key"], table["check"] = keys, _checksums(keys, rows)
    data = table.tobytes()
    head = _HEAD.pack(_MAGIC, *rows.shape, zlib.crc32(data), 0)[:-4]
    parts: list[bytes | memoryview] = [head, zlib.crc32(head).to_bytes(4, "little"), data, rows.data]
    _write_file(folder / f"{os.urandom(8).hex()}.rows", parts)


class SpaceCache:
    """Rows of `width` float32 numbers by text. `find` and `put` never raise because of the disk.

    Every `put` becomes a file of its own that appears complete: processes that write at the same time, or are killed,
    leave no half rows. Damaged shards are dropped with a note, and their texts are unknown from then on.
    """

    def __init__(self, folder: Path, width: int, cache: VectorCache) -> None:
        self.folder = folder
        self.width = width
        self.cache = cache
        self._shards: dict[int, _Shard] = {}
        self._numbers = itertools.count()
        # Sorted by the first half of the hash. Of two texts with equal first halves only one is ever found.
        self._index = np.array([((0, 0), -1, 0)], _INDEX)
        self._stamp: int | None = None
        self._ignored: set[str] = set()

    def find(self, texts: Sequence[str]) -> tuple[NDArray[np.bool_], Rows]:
        """Whether each text is known (n), and its row (n, width), NaN where it is not."""
        keys = _keys(texts)
        while True:
            shards, places = self._locate(keys)
            rows = np.full((len(texts), self.width), np.nan, np.float32)
            for number in np.unique(shards[shards >= 0]).tolist():
                mine = np.flatnonzero(shards == number)
                distinct, inverse = np.unique(places[mine], return_inverse=True)
                block = self._read(self._shards[number], distinct)
                if block is None:
                    break
                rows[mine] = block[inverse]
            else:
                return shards >= 0, rows

    def put(self, texts: Sequence[str], rows: NDArray[np.floating[Any]]) -> None:
        """Store the rows of texts, except those that are known already or not finite."""
        block = np.asarray(rows, np.float32).reshape(len(texts), self.width)
        keys = _keys(texts)
        new = np.isfinite(block).all(axis=1) & (self._locate(keys)[0] < 0)
        if new.any():
            try:
                if self._write(keys[new], block[new]):
                    self._compact()
            except OSError as error:
                self.cache.fail(error)

    def _locate(self, keys: Keys) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The shard of each hash, -1 if there is none, and the row in it."""
        self._refresh()
        places = np.searchsorted(self._index["key"][:, 0], keys[:, 0]).clip(max=len(self._index) - 1)
        entries = self._index[places]
        return np.where((entries["key"] == keys).all(axis=1), entries["shard"], -1), entries["row"]

    def _refresh(self) -> None:
        """Update the index with the shards that were written or removed since the last look, by any process."""
        stamp, names = None, set[str]()
        with contextlib.suppress(OSError):
            stamp = self.folder.stat().st_mtime_ns
            if stamp == self._stamp:
                return
            names = {name for name in os.listdir(self.folder) if name.endswith(".rows")}  # noqa: PTH208 - names do
        self._stamp, names = stamp, names - self._ignored
        if any(shard.path.name not in names for shard in self._shards.values()):
            self._shards = {number: shard for number, shard in self._shards.items() if shard.path.name in names}
            self._index = self._index[np.isin(self._index["shard"], [-1, *self._shards])]
        blocks = [np.empty(0, _INDEX)]
        for name in sorted(names - {shard.path.name for shard in self._shards.values()}):
            try:
                shard = _read_shard(self.folder / name, self.width)
            except OSError as error:
                self._drop(self.folder / name, error)
                continue
            number = next(self._numbers)
            self._shards[number] = shard
            block = np.empty(len(shard.table), _INDEX)
            block["key"], block["shard"], block["row"] = shard.table["key"], number, np.arange(len(block))
            blocks.append(block)
        new = np.concatenate(blocks)
        new = new[np.argsort(new["key"][:, 0])]
        self._index = np.insert(self._index, np.searchsorted(self._index["key"][:, 0], new["key"][:, 0]), new)

    def _read(self, shard: _Shard, places: NDArray[np.int64]) -> Rows | None:
        """The rows at these places of a shard; None if it turns out to be damaged or gone."""
        try:
            rows = shard.rows(places)
        except OSError as error:
            self._drop(shard.path, error)
            return None
        with contextlib.suppress(OSError):  # in a read-only cache it will look older than it is
            if time.time() - shard.path.stat().st_mtime > _TOUCH:
                os.utime(shard.path)
        return rows

    def _drop(self, path: Path, error: OSError) -> None:
        self._ignored.add(path.name)
        self._stamp = None
        if isinstance(error, FileNotFoundError):
            return  # another process cleared the cache or merged small shards
        note = f"A damaged file of the cache was dropped, and its texts are encoded again ({_reason(error)})."
        try:
            path.unlink(missing_ok=True)
        except OSError:
            note = f"A file of the cache cannot be used ({_reason(error)}): {path}."
        self.cache.notes.append(note)

    def _write(self, keys: Keys, rows: Rows) -> bool:
        """Write a shard, and return whether there was room for it."""
        distinct = np.sort(np.unique(keys, axis=0, return_index=True)[1])
        size = _HEAD.size + len(distinct) * (_TABLE.itemsize + 4 * self.width)
        if not self.cache.admit(self.folder, size):
            return False
        try:
            _write_shard(self.folder, keys[distinct], rows[distinct])
        except FileNotFoundError:  # another process cleared the cache in between
            if not self.cache.admit(self.folder, size):
                return False
            _write_shard(self.folder, keys[distinct], rows[distinct])
        return True

    def _compact(self) -> None:
        """Merge small shards if there are many of them, as single sentences leave them."""
        self._refresh()
        small = [shard for shard in self._shards.values() if len(shard.table) < _SMALL]
        if len(small) < _MANY:
            return
        blocks = {shard.path: self._read(shard, np.arange(len(shard.table))) for shard in small}
        rows = [block for block in blocks.values() if block is not None]
        keys = [shard.table["key"] for shard in small if blocks[shard.path] is not None]
        if rows and self._write(np.concatenate(keys), np.concatenate(rows)):
            for shard in small:
                shard.path.unlink(missing_ok=True)


def _keys(texts: Sequence[str]) -> Keys:
    """The 128-bit hashes of texts (n, 2), as two numbers each."""
    hashes = (hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest() for text in texts)
    return np.frombuffer(b"".join(hashes), "<u8").reshape(-1, 2)
