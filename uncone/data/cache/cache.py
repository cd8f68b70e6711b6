"""What was encoded once is kept on disk: float32 rows by space and text, within a limit.

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
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from uncone.data.cache.shard import ENDING
from uncone.data.cache.space import SpaceCache, sweep
from uncone.errors import OptionError, OutputError

__all__ = ["DEFAULT_LIMIT", "Entry", "VectorCache", "cache_folder", "cache_limit", "parse_size"]

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
    found = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([a-z]*)\s*", text.lower())
    if found is None or found[2] not in _UNITS:
        raise OptionError(f"{option} is a size such as 5GB or 300MB, not {text!r}; 0 keeps nothing.")
    return int(float(found[1]) * _UNITS[found[2]])


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
        self._unseen = 0

    @property
    def _root(self) -> Path:
        return self.folder / "vectors"

    def space(self, meta: Mapping[str, Any], dim: int) -> SpaceCache:
        """The rows of `dim` numbers of the space that `meta` tells: plain JSON, everything that they depend on.

        With a `fingerprint` of the model in it, `model` and `path` are only for people: they may differ.
        """
        told = {"version": _VERSION, "dim": dim, **meta, "width": dim}
        matters = {key: value for key, value in told.items() if "fingerprint" not in told or key not in _NAMES}
        data = json.dumps(matters, sort_keys=True).encode()
        folder = self._root / hashlib.blake2b(data, digest_size=16).hexdigest()
        self._metas[folder] = told
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
        self._unseen += size
        # Others write too, so one looks again now and then.
        if self._bytes is None or self._bytes + self._unseen > self.limit or self._unseen > self.limit // 64:
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
        self._bytes, self._unseen = total, size
        for folder in self._spaces():
            sweep(folder)
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
                    found = path.stat()
                    yield _File(path, found.st_size, found.st_mtime)

    def entries(self) -> list[Entry]:
        """Every space in the cache, the last used first."""
        found = [self._entry(folder, meta) for folder, meta in self._told()]
        return sorted(found, key=lambda entry: -entry.used)

    def clear(self, model: str | None = None) -> list[Entry]:
        """Remove all spaces, or those of one model by its name or folder; returns what they were.

        Raises:
            OutputError: they may not be removed.
        """
        gone = []
        for folder, meta in self._told():
            if model is None or _is_named(meta, model):
                entry = self._entry(folder, meta)
                try:
                    _remove(folder)
                except OSError as error:
                    reason = error.strerror or str(error)
                    raise OutputError(f"{folder} cannot be cleared: {reason}. Check its owner and mode.") from error
                gone.append(entry)
        self._bytes = None
        return gone

    def _told(self) -> list[tuple[Path, dict[str, Any]]]:
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


def _is_named(meta: Mapping[str, Any], model: str) -> bool:
    return model == meta.get("model") or (meta.get("path") is not None and str(Path(model).resolve()) == meta["path"])


def _read_meta(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


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
