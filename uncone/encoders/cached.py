"""Texts whose vectors come from the cache, or from a journal beside the output that lets a killed run go on."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from uncone.data.batch import Matrix
from uncone.data.cache import VectorCache, cache_folder
from uncone.data.source import Rows, Source
from uncone.data.storage.path import ObjectPath
from uncone.data.texts.texts import TextSource
from uncone.data.writing.atomic import writing
from uncone.encoders.text_vectors import ModelTexts
from uncone.errors import OutputError

__all__ = ["CachedTexts", "ResumableTexts", "journal_of", "space_identity"]


class CachedTexts(Source):
    """The rows of `source`, each distinct text encoded once in its life, in the same order and with the same names.

    A text's vector is the one of the batch in which it was first encoded. Batches pad differently, so with and without
    the cache the digits agree to the rounding of float32 (about 1e-6 of the length), not to the bit. Whether a text was
    truncated is kept with it, so that the note says the same.

    `n_encoded` and `n_cached` count the texts of the last reading; `notes` tells what went wrong with the cache.
    """

    def __init__(self, source: ModelTexts, cache: VectorCache) -> None:
        self.source = source
        self.cache = cache
        self.name, self.kind, self.dtype = source.name, source.kind, source.dtype
        self.dim, self.rows, self.note = source.dim, source.rows, source.note
        self.n_encoded = self.n_cached = 0
        # One number more in each row: whether the text was truncated.
        self.space = cache.space(space_identity(source), source.dim + 1)

    @property
    def notes(self) -> list[str]:
        """What went wrong with the cache."""
        return self.cache.notes

    def with_texts(self, texts: TextSource) -> CachedTexts:
        return CachedTexts(self.source.with_texts(texts), self.cache)

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Rows]:
        self.n_encoded = self.n_cached = 0
        yield from self.source.rows_of(self.vectors_of)
        self.note = self.source.note

    def vectors_of(self, texts: Sequence[str]) -> tuple[Matrix, NDArray[np.bool_]]:
        """The vectors of texts that are not blank, and which of these were truncated."""
        distinct = {text: i for i, text in enumerate(dict.fromkeys(texts))}
        names = list(distinct)
        cached, rows = self.space.find(names)
        missing = np.flatnonzero(~cached)
        if len(missing):
            self.source.prepare()
            new = [names[i] for i in missing.tolist()]
            vectors, cut = self.source.encode(new)
            rows[missing] = np.column_stack([vectors, cut])
            self.space.put(new, rows[missing])
        self.n_encoded += len(missing)
        self.n_cached += len(names) - len(missing)
        whole = rows[[distinct[text] for text in texts]]
        return whole[:, :-1], whole[:, -1] > 0


def space_identity(source: ModelTexts) -> dict[str, Any]:
    """Everything that the vectors of a source depend on beside the texts, as plain JSON."""
    name = source.model
    path = str(Path(name).resolve()) if os.path.exists(name) else None  # noqa: PTH110 - never raises
    return {"model": name, "path": path, "dim": source.dim, **source.identity(), "content": _content(source.files)}


def _content(files: Iterable[Path]) -> str:
    """A hash over every byte of a model: a fine-tuned head alone must give another space."""
    digest = hashlib.sha256()
    for path in sorted(files, key=lambda path: path.name):
        status = path.stat()
        digest.update(f"{path.name} {_file_content(str(path), status.st_size, status.st_mtime_ns)}\n".encode())
    return digest.hexdigest()[:32]


@lru_cache(maxsize=1024)
def _file_content(path: str, size: int, changed: int) -> str:
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


_MAGIC = b"uncone\0journal\0\1"
_RECORD = struct.Struct("<II16s")  # texts, crc32 of the numbers, hash of the texts


def journal_of(out: Path) -> Path:
    """The journal of an output: a hidden file beside it, or in the cache if the output is in object storage."""
    if isinstance(out, ObjectPath):
        folder = cache_folder() / "journals"
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f"{hashlib.sha256(str(out).encode()).hexdigest()[:32]}.journal"
    return out.resolve().parent / f".{out.name[:200]}.journal"


class ResumableTexts(Source):
    """The rows of `source`, from a journal as far as that goes.

    The journal has a record per pool of texts, checked by a hash of the texts and a checksum of the numbers. A pool is
    encoded in the same batches whether a run was interrupted before it or not, so a resumed run gives the same bytes.
    `resumed` counts the texts that came from the journal.
    """

    def __init__(
        self,
        source: ModelTexts | CachedTexts,
        rows: int,
        out: Path,
        batch_size: int | None = None,
        progress: Callable[[str, int, int | None], None] | None = None,
    ) -> None:
        self.source = source
        self.inner = source.source if isinstance(source, CachedTexts) else source
        self.name, self.kind, self.dtype, self.dim = source.name, source.kind, source.dtype, source.dim
        self.rows, self.note = rows, source.note
        self.out, self.journal = out, journal_of(out)
        self.progress = progress
        self.resumed = self.truncated = 0
        identity = json.dumps({**space_identity(self.inner), "batch_size": batch_size}, sort_keys=True)
        self._head = _MAGIC + hashlib.sha256(identity.encode()).digest()
        self._file: IO[bytes] | None = None
        self._replays = False

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Rows]:
        self.resumed = self.truncated = 0
        with writing(self.out):
            self._file = self.journal.open("r+b" if self.journal.exists() else "w+b")
        with self._file as file:
            self._lock(file)
            self._replays = file.read(len(self._head)) == self._head
            if not self._replays:
                self._begin(file)
            for rows in self.inner.rows_of(self._vectors):
                if self.progress is not None:
                    self.progress("encoding", len(rows.vectors), self.rows)
                yield rows
        self.note = self.inner.note

    def remove_journal(self) -> None:
        """Remove the journal, when the output is complete."""
        self.journal.unlink(missing_ok=True)

    def _lock(self, file: IO[bytes]) -> None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise OutputError(f"Another run is writing {self.out} now. Wait for it, or name another file.") from error

    def _begin(self, file: IO[bytes]) -> None:
        with writing(self.out):
            file.seek(0)
            file.truncate()
            file.write(self._head)

    def _vectors(self, texts: Sequence[str]) -> tuple[Matrix, NDArray[np.bool_]]:
        assert self._file is not None
        digest = hashlib.blake2b("\0".join(texts).encode("utf-8", "surrogatepass"), digest_size=16).digest()
        rows = self._replay(self._file, len(texts), digest) if self._replays else None
        if rows is None:
            if isinstance(self.source, CachedTexts):
                vectors, cut = self.source.vectors_of(texts)
            else:
                self.source.prepare()
                vectors, cut = self.source.encode(texts)
            rows = np.column_stack([vectors, cut]).astype(np.float32, copy=False)
            self._record(self._file, rows, digest)
        else:
            self.resumed += len(texts)
        cut = rows[:, -1] > 0
        self.truncated += int(cut.sum())
        return rows[:, :-1], cut

    def _replay(self, file: IO[bytes], count: int, digest: bytes) -> Matrix | None:
        """The next record, if it is whole and of these texts; else the journal ends before it."""
        place = file.tell()
        head = file.read(_RECORD.size)
        size = 4 * count * (self.dim + 1)
        if len(head) == _RECORD.size:
            texts, check, recorded = _RECORD.unpack(head)
            data = file.read(size) if (texts, recorded) == (count, digest) else b""
            if len(data) == size and zlib.crc32(data) == check:
                return np.frombuffer(data, "<f4").reshape(count, -1)
        self._replays = False
        with writing(self.out):
            file.seek(place)
            file.truncate()
        return None

    def _record(self, file: IO[bytes], rows: Matrix, digest: bytes) -> None:
        data = np.ascontiguousarray(rows, "<f4").tobytes()
        try:
            with writing(self.out):
                file.write(_RECORD.pack(len(rows), zlib.crc32(data), digest) + data)
                file.flush()
        except OutputError as error:
            again = "Run the same command again when there is room: it goes on where it stopped."
            raise OutputError(f"{error} {again}") from error
