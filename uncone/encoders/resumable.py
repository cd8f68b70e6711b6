"""Texts whose vectors are recorded in a journal beside the output, so that a killed run goes on where it stopped."""

from __future__ import annotations

import fcntl
import hashlib
import json
import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from uncone.data.batch import Matrix
from uncone.data.source import Rows, Source
from uncone.data.writing.atomic import writing
from uncone.encoders.cached import CachedTexts, space_identity
from uncone.encoders.source import ModelTexts
from uncone.errors import OutputError

__all__ = ["ResumableTexts", "journal_of"]

_MAGIC = b"uncone\0journal\0\1"
_RECORD = struct.Struct("<II16s")  # texts, crc32 of the numbers, hash of the texts


def journal_of(out: Path) -> Path:
    """The journal of an output: a hidden file beside it."""
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
        rows = self._replayed(self._file, len(texts), digest) if self._replays else None
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

    def _replayed(self, file: IO[bytes], count: int, digest: bytes) -> Matrix | None:
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
