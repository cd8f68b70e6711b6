"""Vectors written as text, a row at a time: what .jsonl, .csv and word-vector files share; .gz and .zst of each."""

from __future__ import annotations

import gzip
import io
import itertools
import zlib
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from uncone.data.source import Options, Rows, Source
from uncone.errors import FormatError, ShapeError

__all__ = [
    "MISSING",
    "Record",
    "TextVectors",
    "clipped",
    "is_number",
    "number_of",
    "numbered_lines",
    "open_bytes",
    "open_text",
    "text_lines",
]

MISSING = {"", "na", "n/a", "nan", "none", "null"}
"""How tables write a number that is not there."""

_SOME = 2048  # rows per block: text is parsed slowly, and progress should be seen


class Record(NamedTuple):
    """One row as parsed: where it stood, its numbers (None when they are missing), its text and label."""

    line: int
    vector: Sequence[float] | np.ndarray | None
    text: str | None = None
    label: str | None = None


class TextVectors(Source):
    """A file of rows as text; the first row with numbers says how many dimensions there are."""

    def __init__(self, path: Path, options: Options, kind: str) -> None:
        self.path = path
        self.options = options
        self.name = str(path)
        self.kind = kind
        self.dtype = "text"
        self.rows = None
        self.dim = self._first_length()

    def _first_length(self) -> int:
        for record in self.records():
            if record.vector is not None and len(record.vector):
                return len(record.vector)
        raise FormatError(f"{self.path} has no rows with numbers. We need at least 2.")

    @abstractmethod
    def records(self) -> Iterator[Record]:
        """The rows, one by one."""

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Rows]:
        records = self.records()
        while some := list(itertools.islice(records, _SOME)):
            yield Rows(
                np.array([self._checked(record) for record in some], np.float64),
                None if some[0].text is None else [record.text or "" for record in some],
                None if some[0].label is None else [record.label or "" for record in some],
            )

    def _checked(self, record: Record) -> Sequence[float] | np.ndarray:
        if record.vector is None:
            return np.full(self.dim, np.nan)  # counted as a bad row
        if len(record.vector) != self.dim:
            raise ShapeError(
                f"{self.path} is ragged: line {record.line} has {len(record.vector)} numbers, "
                f"the first row has {self.dim}. Every row needs the same dimensions."
            )
        return record.vector


@contextmanager
def open_bytes(path: Path) -> Iterator[IO[bytes]]:
    """A file as bytes, decompressed when its name ends in .gz or .zst; damage is reported in our words."""
    ending = path.suffix.lower()
    with _opened(path, ending) as raw:
        try:
            yield raw
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise FormatError(f"{path} is a damaged .gz file ({error}). Copy it again.") from error
        except OSError as error:
            # pyarrow tells damage by an OSError without a number; those of the system have one.
            if ending != ".zst" or error.errno is not None:
                raise
            raise FormatError(f"{path} is a damaged .zst file ({error}). Copy it again.") from error


def _opened(path: Path, ending: str) -> AbstractContextManager[Any]:
    if ending == ".gz":
        return gzip.open(path, "rb")
    return _open_zst(path) if ending == ".zst" else path.open("rb")


@contextmanager
def _open_zst(path: Path) -> Iterator[IO[bytes]]:
    import pyarrow as pa  # here, so that the other endings do not wait for it

    with path.open("rb") as raw, pa.CompressedInputStream(raw, "zstd") as plain, io.BufferedReader(plain) as stream:
        yield stream


@contextmanager
def open_text(path: Path, errors: str = "strict") -> Iterator[IO[str]]:
    """A text file, decompressed when its name ends in .gz or .zst; damage is reported in our words."""
    with open_bytes(path) as raw, io.TextIOWrapper(raw, "utf-8-sig", errors, newline="") as stream:
        try:
            yield stream
        except UnicodeDecodeError as error:
            raise FormatError(
                f"{path} is not UTF-8 text ({error.reason}). Convert it, for instance with iconv."
            ) from error


def numbered_lines(path: Path, errors: str = "strict") -> Iterator[tuple[int, str]]:
    """The lines of a text file, counted from 1."""
    with open_text(path, errors) as stream:
        yield from enumerate(text_lines(stream, path), start=1)


def text_lines(stream: IO[str], path: Path) -> Iterator[str]:
    """The lines of a stream; binary data in them is an error."""
    for line in stream:
        if "\0" in line:
            raise FormatError(f"{path} holds binary data, where its name promises text.")
        yield line


def number_of(text: str, path: Path, line: int) -> float:
    """The number that a field holds; a missing one is NaN, and its row will be counted as bad."""
    if text.strip().lower() in MISSING:
        return float("nan")
    try:
        return float(text)
    except ValueError as error:
        raise FormatError(
            f"{path}, line {line}: {clipped(text)!r} is not a number. Correct it, or leave the field empty."
        ) from error


def is_number(text: str) -> bool:
    """Whether a field holds a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def clipped(text: str, most: int = 40) -> str:
    """The beginning of a text."""
    return text if len(text) <= most else text[:most] + "…"
