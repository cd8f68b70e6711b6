"""Text files as blocks of whole lines, in bounded memory: plain, .gz and .zst."""

from __future__ import annotations

import codecs
import gzip
import io
import zlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from uncone.errors import FormatError, MissingSourceError, ShapeError

__all__ = [
    "LONGEST_LINE",
    "LineBlock",
    "count_lines",
    "file_blocks",
    "line_blocks",
    "numbered_lines",
    "tabbed_lines",
    "too_long",
]

LONGEST_LINE = 1 << 26
"""Bytes of the longest line, or row, that is read: a file without line ends would fill the memory."""

_BLOCK = 1 << 18  # small enough for the cache of a core while several passes look at it
_FIRST = 1 << 16  # the first block is small, because most readers look at a few rows before they begin


class LineBlock(NamedTuple):
    """Whole lines of a file: the number of the first, from 1, and their bytes."""

    first: int
    data: bytes

    def text(self, name: str, errors: str = "strict") -> str:
        """The lines as text.

        Raises:
            FormatError: they are not UTF-8.
        """
        try:
            return self.data.decode("utf-8", errors)
        except UnicodeDecodeError as error:
            raise FormatError(
                f"{name}, line {self.line_at(error.start)}: not UTF-8 (byte 0x{self.data[error.start]:02x}). "
                "Convert it, for instance with iconv -f latin1 -t utf-8."
            ) from error

    def line_at(self, place: int) -> int:
        """The line of a byte."""
        return self.first + count_lines(self.data, place)

    def lines(self, name: str, errors: str = "strict") -> Iterator[tuple[int, str]]:
        """The lines without their ends, numbered; only a line feed ends one."""
        text = self.text(name, errors)
        for number, line in enumerate(text.removesuffix("\n").split("\n"), start=self.first):
            yield number, line.removesuffix("\r")


def line_blocks(stream: IO[bytes], name: str) -> Iterator[LineBlock]:
    """The lines of a stream, a quarter of a megabyte at a time.

    Raises:
        FormatError: UTF-16, a NUL byte, or a line that is too long.
    """
    first, parts, size = 1, list[bytes](), 0
    begun = False
    while data := stream.read(_BLOCK if begun else _FIRST):
        if not begun:
            if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                raise FormatError(f"{name} is UTF-16, not UTF-8. Convert it with iconv -f utf-16 -t utf-8.")
            data, begun = data.removeprefix(codecs.BOM_UTF8), True
        if b"\0" in data:
            line = first + count_lines(data, data.index(b"\0"))
            raise FormatError(f"{name}, line {line}: binary data (a NUL byte); we need text. Is it a text file?")
        end = data.rfind(b"\n") + 1
        if end:
            yield LineBlock(first, b"".join([*parts, memoryview(data)[:end]]))
            first += count_lines(data, end)
            parts, size = [], 0
        parts.append(data[end:])
        size += len(data) - end
        if size > LONGEST_LINE:
            raise too_long(name, first)
    if size:
        yield LineBlock(first, b"".join(parts))


def count_lines(data: bytes, stop: int) -> int:
    """The line ends before a byte; numpy counts ten times as fast as `bytes.count`."""
    return int(np.count_nonzero(np.frombuffer(data, np.uint8, stop) == ord("\n"))) if stop else 0


def too_long(name: str, line: int) -> FormatError:
    """The error for a line or a quoted row that does not end."""
    return FormatError(
        f"{name}, line {line}: longer than {LONGEST_LINE >> 20} MB. Is it a text file, and is every quote closed?"
    )


def file_blocks(path: Path) -> Iterator[LineBlock]:
    """The lines of a file, decompressed if its name ends in .gz or .zst.

    Raises:
        FormatError: it is damaged, or not text.
        MissingSourceError: it cannot be read.
    """
    ending = path.suffix.lower()
    try:
        with _open_stream(path, ending) as stream:
            yield from line_blocks(stream, str(path))
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise FormatError(f"{path} is a damaged .gz file ({error}). Copy it again.") from error
    except OSError as error:
        # pyarrow reports damage by an OSError without a number; those of the system have one.
        if ending == ".zst" and error.errno is None:
            raise FormatError(f"{path} is a damaged .zst file ({error}). Copy it again.") from error
        raise MissingSourceError(f"{path} cannot be read: {error.strerror or error}. Check it and its disk.") from error


def numbered_lines(path: Path, errors: str = "strict") -> Iterator[tuple[int, str]]:
    """The lines of a text file, counted from 1, without their ends.

    Raises:
        MissingSourceError: there is no such file.
    """
    if not path.is_file():
        raise MissingSourceError(f"{path} cannot be read: No such file or directory. Check the path.")
    for block in file_blocks(path):
        yield from block.lines(str(path), errors)


def tabbed_lines(path: Path, names: Sequence[str], *, more: bool = False) -> Iterator[tuple[int, list[str]]]:
    """The fields of every line that is not blank: one per name, and `more` of them only where that is allowed.

    Raises:
        ShapeError: a line has fewer or more columns.
    """
    for line, text in numbered_lines(path):
        if not text.strip():
            continue
        fields = text.split("\t")
        if len(fields) < len(names) or (len(fields) > len(names) and not more):
            need = f"{len(names)}{' or more' if more else ''} ({', '.join(names)})"
            raise ShapeError(f"{path}, line {line}: {len(fields)} columns; we need {need}, with tabs between them.")
        yield line, fields


def _open_stream(path: Path, ending: str) -> AbstractContextManager[Any]:
    if ending == ".gz":
        return _open_gz(path)
    return _open_zst(path) if ending == ".zst" else path.open("rb")


@contextmanager
def _open_gz(path: Path) -> Iterator[IO[bytes]]:
    with path.open("rb") as raw, gzip.open(raw, "rb") as stream:
        yield stream  # type: ignore[misc]  # it reads as one


@contextmanager
def _open_zst(path: Path) -> Iterator[IO[bytes]]:
    import pyarrow as pa  # here, so that the other endings do not wait for it

    with path.open("rb") as raw, pa.CompressedInputStream(raw, "zstd") as plain, io.BufferedReader(plain) as stream:
        yield stream
