"""Cache of encoded texts on disk: float32 vectors by space and text, within a size limit.

```text
FOLDER/vectors/<space>/meta.json        what the space is, to be read by people
FOLDER/vectors/<space>/<name>.rows      a shard: hashes of texts, and their rows; written once
```

The name of a space is a hash of everything that its numbers depend on, so that another revision, layer or pooling has
another folder. Texts themselves are not kept, only hashes of 128 bits.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uncone.data.cache_shards import ENDING, DamagedShardError, Index, Shard, read_shard, write_shard
from uncone.errors import OptionError, OutputError

__all__ = [
    "DEFAULT_LIMIT",
    "Entry",
    "SpaceCache",
    "VectorCache",
    "cache_folder",
    "cache_limit",
    "parse_size",
    "text_key",
]

DEFAULT_LIMIT = 5 << 30
"""Bytes that the cache takes unless somebody says otherwise."""

_VERSION = 1
_NAMES = ("model", "path")  # how the user called it: two names of one model share a space
_UNITS = {"": 1, "b": 1, "k": 1 << 10, "kb": 1 << 10, "m": 1 << 20, "mb": 1 << 20, "g": 1 << 30, "gb": 1 << 30}
_UNITS |= {"t": 1 << 40, "tb": 1 << 40}


@dataclass(frozen=True)
class Entry:
    """One space in the cache: its texts, its bytes, and when it was last used, in seconds since 1970."""

    model: str
    layer: str
    pooling: str
    rows: int
    bytes: int
    used: float

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)


@dataclass(frozen=True)
class _File:
    path: Path
    bytes: int
    used: float


def cache_folder() -> Path:
    """Where the cache lies: $UNCONE_CACHE, or `uncone` in the user's cache.

    Raises:
        OptionError: there is no home folder.
    """
    named = os.environ.get("UNCONE_CACHE")
    if named:
        return Path(named)
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "uncone"
    except RuntimeError as error:
        raise OptionError("There is no home folder for the cache. Name a folder with UNCONE_CACHE.") from error


def cache_limit() -> int:
    """How large it may become: $UNCONE_CACHE_SIZE, or 5 GB.

    Raises:
        OptionError: that is not a size.
    """
    named = os.environ.get("UNCONE_CACHE_SIZE")
    return parse_size(named, "UNCONE_CACHE_SIZE") if named else DEFAULT_LIMIT


def parse_size(text: str, option: str = "--cache-size") -> int:
    """Bytes from "5GB", "300 MB" or "0".

    >>> parse_size("5GB") == 5 * 1024**3, parse_size("1.5k")
    (True, 1536)

    Raises:
        OptionError: not a size.
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([a-z]*)\s*", text.lower())
    if match is None or match[2] not in _UNITS:
        raise OptionError(f"{option} is a size such as 5GB or 300MB, not {text!r}; 0 keeps nothing.")
    return int(float(match[1]) * _UNITS[match[2]])


class VectorCache:
    """Rows of encoded texts in a folder, under `limit_bytes`; the shards that were not used for longest go first.

    Nothing that goes wrong with it ends a run: what is damaged is dropped, and a disk that is full, or may not be
    written to, switches writing off. `notes` says so.
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None, limit_bytes: int | None = None) -> None:
        self.folder = cache_folder() if folder is None else Path(folder)
        self.limit = cache_limit() if limit_bytes is None else limit_bytes
        self.notes: list[str] = []
        self.writes = self.limit > 0
        self._metas: dict[Path, dict[str, Any]] = {}
        self._bytes: int | None = None
        self._unlisted = 0

    @property
    def _root(self) -> Path:
        return self.folder / "vectors"

    def space(self, meta: Mapping[str, Any], dim: int) -> SpaceCache:
        """The rows of `dim` numbers of the space that `meta` tells: plain JSON, everything that they depend on.

        With a `fingerprint` of the model in it, `model` and `path` are only for people: they may differ.
        """
        identity = {"version": _VERSION, "dim": dim, **meta, "width": dim}
        matters = {key: value for key, value in identity.items() if "fingerprint" not in identity or key not in _NAMES}
        data = json.dumps(matters, sort_keys=True).encode()
        folder = self._root / hashlib.blake2b(data, digest_size=16).hexdigest()
        self._metas[folder] = identity
        return SpaceCache(folder, dim, self)

    def admit(self, folder: Path, size: int) -> bool:
        """Make the folder of a space and room for so many bytes; False when nothing more is to be written.

        Raises:
            OSError: the folder cannot be made.
        """
        if not self.writes or size > self.limit:
            return False
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        meta = folder / "meta.json"
        if folder in self._metas and _read_meta(meta) is None:
            _write_meta(meta, {**self._metas[folder], "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())})
        self._unlisted += size
        # Others write too, so one looks again now and then.
        if self._bytes is None or self._bytes + self._unlisted > self.limit or self._unlisted > self.limit // 64:
            self._evict(size)
        return True

    def fail(self, error: OSError) -> None:
        """Write nothing more in this run."""
        if self.writes:
            self.writes = False
            reason = error.strerror or str(error)
            self.notes.append(f"The cache in {self.folder} is switched off for this run: {reason}.")

    def _evict(self, size: int) -> None:
        """Remove the shards that were not used for longest, until `size` more bytes fit."""
        files = sorted(self._files(), key=lambda file: file.used)
        total = sum(file.bytes for file in files)
        for file in files:
            if total + size <= self.limit:
                break
            file.path.unlink(missing_ok=True)
            total -= file.bytes
        self._bytes, self._unlisted = total, size
        for folder in self._spaces():
            _sweep(folder)
            if folder not in self._metas and not any(folder.glob(f"*{ENDING}")):
                _remove(folder)

    def _spaces(self) -> list[Path]:
        try:
            return sorted(path for path in self._root.iterdir() if path.is_dir())
        except (FileNotFoundError, NotADirectoryError):
            return []

    def _files(self, folder: Path | None = None) -> Iterator[_File]:
        for space in self._spaces() if folder is None else [folder]:
            for path in space.glob(f"*{ENDING}"):
                with contextlib.suppress(FileNotFoundError):  # another process removes things too
                    status = path.stat()
                    yield _File(path, status.st_size, status.st_mtime)

    def entries(self) -> list[Entry]:
        """Every space in the cache, the last used first."""
        entries = [self._entry(folder, meta) for folder, meta in self._metas_on_disk()]
        return sorted(entries, key=lambda entry: -entry.used)

    def clear(self, model: str | None = None) -> list[Entry]:
        """Remove all spaces, or those of one model by its name or folder; returns what they were.

        Raises:
            OutputError: they may not be removed.
        """
        removed = []
        for folder, meta in self._metas_on_disk():
            if model is None or _is_of_model(meta, model):
                entry = self._entry(folder, meta)
                try:
                    _remove(folder)
                except OSError as error:
                    reason = error.strerror or str(error)
                    raise OutputError(f"{folder} cannot be cleared: {reason}. Check its owner and mode.") from error
                removed.append(entry)
        self._bytes = None
        return removed

    def _metas_on_disk(self) -> list[tuple[Path, dict[str, Any]]]:
        return [(folder, _read_meta(folder / "meta.json") or {}) for folder in self._spaces()]

    def _entry(self, folder: Path, meta: Mapping[str, Any]) -> Entry:
        files = list(self._files(folder))
        size = sum(file.bytes for file in files)
        # A shard is a head of 24 bytes, and 20 bytes besides each row.
        width = meta.get("width")
        each = 20 + 4 * width if isinstance(width, int) else 0
        rows = (size - 24 * len(files)) // each if each else 0
        layer, pooling = (str(meta.get(key, "?")) for key in ("layer", "pooling"))
        used = max((file.used for file in files), default=0.0)
        return Entry(str(meta.get("model", "?")), layer, pooling, rows, size, used)


def _is_of_model(meta: Mapping[str, Any], model: str) -> bool:
    return model == meta.get("model") or (meta.get("path") is not None and str(Path(model).resolve()) == meta["path"])


def _read_meta(path: Path) -> dict[str, Any] | None:
    try:
        meta = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return meta if isinstance(meta, dict) else None


def _write_meta(path: Path, meta: Mapping[str, Any]) -> None:
    temporary = path.with_name(f"{os.urandom(8).hex()}.part")
    try:
        temporary.write_text(json.dumps(meta, indent=2, ensure_ascii=False), encoding="utf-8", errors="replace")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _remove(folder: Path) -> None:
    """Remove a space, but nothing that is not ours; a process that writes to it meanwhile keeps it."""
    for pattern in (f"*{ENDING}", "*.part", "meta.json"):
        for path in folder.glob(pattern):
            path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        folder.rmdir()


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


class SpaceCache:
    """Rows of `width` float32 numbers by text. `find` and `put` never raise for the sake of the disk.

    Every `put` becomes a file of its own that appears whole: processes that write at once, or are killed, leave no
    half rows. What is damaged is dropped, said in the notes of the cache, and simply not known any more.
    """

    def __init__(self, folder: Path, width: int, cache: VectorCache) -> None:
        self.folder = folder
        self.width = width
        self.cache = cache
        self._index = Index()
        self._shards: list[Shard] = []
        self._names: dict[str, int] = {}
        self._ignored: set[str] = set()
        self._stamp: int | None = None
        self._touched: dict[str, float] = {}

    def find(self, texts: Sequence[str]) -> tuple[NDArray[np.bool_], NDArray[np.float32]]:
        """Which texts are known (n), and their rows (n, width), NaN where they are not."""
        keys = _numbers([text_key(text) for text in texts])
        while True:
            self._refresh()
            shards, places = self._index.find(keys)
            rows = np.full((len(texts), self.width), np.nan, np.float32)
            complete = [self._take(int(one), shards, places, rows) for one in np.unique(shards[shards >= 0])]
            if all(complete):
                return shards >= 0, rows

    def _take(self, number: int, shards: NDArray[np.int64], places: NDArray[np.int64], rows: NDArray[Any]) -> bool:
        """Read the rows that stand in one shard; False when it turned out to be damaged or gone."""
        shard = self._shards[number]
        mine = np.flatnonzero(shards == number)
        mine = mine[np.argsort(places[mine], kind="stable")]
        distinct, back = np.unique(places[mine], return_inverse=True)
        try:
            rows[mine] = shard.rows(distinct)[back]
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
            self.cache.fail(error)

    def _write(self, keys: Sequence[bytes], rows: NDArray[np.float32]) -> None:
        size = len(keys) * (4 * self.width + 20) + 24
        if not self.cache.admit(self.folder, size):
            return
        try:
            write_shard(self.folder, keys, rows)
        except FileNotFoundError:  # somebody cleared the cache in between
            if self.cache.admit(self.folder, size):
                write_shard(self.folder, keys, rows)

    def _compact(self) -> None:
        """Put small shards together when there are many, as single sentences leave them."""
        self._refresh()
        small = [shard for shard in self._shards if len(shard.table) < _SMALL]
        if len(small) < _MANY:
            return
        rows_by_key: dict[bytes, NDArray[np.float32]] = {}
        merged = []
        for shard in small:
            try:
                rows = shard.rows(np.arange(len(shard.table)))
            except FileNotFoundError:
                continue
            except DamagedShardError as error:
                self._drop(shard.path, error)
                continue
            rows_by_key |= {key.tobytes(): row for key, row in zip(shard.table["key"], rows, strict=True)}
            merged.append(shard)
        if rows_by_key:
            self._write(list(rows_by_key), np.stack(list(rows_by_key.values())))
        for shard in merged:
            shard.path.unlink(missing_ok=True)

    def _refresh(self) -> None:
        """See what was written or removed since the last look, by us or by others."""
        try:
            stamp = self.folder.stat().st_mtime_ns
        except OSError:
            stamp = -1
        if stamp == self._stamp:
            return
        self._stamp = stamp
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
        self._stamp = None

    def _drop(self, path: Path, error: Exception) -> None:
        self._forget(path.name)
        reason = error.strerror or str(error) if isinstance(error, OSError) else str(error)
        try:
            path.unlink(missing_ok=True)
            self.cache.notes.append(
                f"A damaged file of the cache was dropped, and its texts are encoded again ({reason})."
            )
        except OSError:
            self.cache.notes.append(f"A file of the cache cannot be used ({reason}): {path}.")

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


def _sweep(folder: Path) -> None:
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
