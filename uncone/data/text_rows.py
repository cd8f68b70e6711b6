"""Vectors written as text, a row at a time: what .jsonl, .csv and word-vector files share; .gz of each."""

from __future__ import annotations

import gzip
import io
import itertools
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from uncone.data.source import Options, Rows, Source
from uncone.errors import FormatError, ShapeError

__all__ = ["Record", "TextVectors", "clipped", "number_of", "numbered_lines", "open_text", "text_lines"]

_SOME = 2048  # rows per block: text is parsed slowly, and progress should be seen


class Record(NamedTuple):
    """One row as parsed: where it stood, its numbers, its text and label."""

    line: int
    vector: Sequence[float] | np.ndarray
    text: str | None = None
    label: str | None = None


class TextVectors(Source):
    """A file of rows as text; the first row says how many dimensions there are."""

    def __init__(self, path: Path, options: Options, kind: str) -> None:
        self.path = path
        self.options = options
        self.name = str(path)
        self.kind = kind
        self.dtype = "text"
        self.rows = None
        first = next(self.records(), None)
        if first is None:
            raise FormatError(f"{path} has no rows. We need at least 2 rows of numbers.")
        self.dim = len(first.vector)
        if self.dim == 0:
            raise ShapeError(f"{path}, line {first.line}: an empty vector. We need at least 1 dimension.")

    @abstractmethod
    def records(self) -> Iterator[Record]:
        """The rows, one by one."""

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Rows]:
        records = self.records()
        while some := list(itertools.islice(records, _SOME)):
            for record in some:
                if len(record.vector) != self.dim:
                    raise ShapeError(
                        f"{self.path} is ragged: line {record.line} has {len(record.vector)} numbers, "
                        f"the first row has {self.dim}. Every row needs the same dimensions."
                    )
            try:
                vectors = np.array([record.vector for record in some], np.float64)
            except (TypeError, ValueError) as error:
                raise FormatError(f"{self.path}, lines {some[0].line}-{some[-1].line}: {error}") from error
            yield Rows(
                vectors,
                None if some[0].text is None else [record.text or "" for record in some],
                None if some[0].label is None else [record.label or "" for record in some],
            )


@contextmanager
def open_text(path: Path) -> Iterator[IO[str]]:
    """A text file, decompressed when its name ends in .gz; damage is reported in our words."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rb") as raw, io.TextIOWrapper(raw, encoding="utf-8-sig", newline="") as stream:
        try:
            yield stream
        except UnicodeDecodeError as error:
            raise FormatError(
                f"{path} is not UTF-8 text ({error.reason}). Convert it, for instance with iconv."
            ) from error
        except (EOFError, gzip.BadGzipFile) as error:
            raise FormatError(f"{path} is a damaged .gz file ({error}). Copy it again.") from error


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a text file, counted from 1."""
    with open_text(path) as stream:
        yield from enumerate(text_lines(stream, path), start=1)


def text_lines(stream: IO[str], path: Path) -> Iterator[str]:
    """The lines of a stream; binary data in them is an error."""
    for line in stream:
        if "\0" in line:
            raise FormatError(f"{path} holds binary data, where its name promises text.")
        yield line


def number_of(text: str, path: Path, line: int) -> float:
    """The number that a field holds; an empty one is NaN."""
    try:
        return float(text) if text.strip() else float("nan")
    except ValueError as error:
        raise FormatError(f"{path}, line {line}: {clipped(text)!r} is not a number.") from error


def clipped(text: str, most: int = 40) -> str:
    """The beginning of a text."""
    return text if len(text) <= most else text[:most] + "…"
