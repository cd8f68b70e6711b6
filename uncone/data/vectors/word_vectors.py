"""Word vectors: word2vec, fastText and GloVe as text, and word2vec's binary form."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import numpy as np

from uncone.data.source import BLOCK, Options, Rows, Source
from uncone.data.tables.fields import is_number, parse_number
from uncone.data.tables.lines import numbered_lines
from uncone.data.vectors.tables import Parsed, TextVectors, texts_for_vectors
from uncone.errors import FormatError, ShapeError

__all__ = ["WordVectors", "WordVectorsBinary", "open_binary_words", "open_words"]

_SOME = 2048
_LOOKED_AT = 20  # lines that tell whether there are words


def open_words(path: Path, options: Options) -> Source:
    """Word vectors as text."""
    return WordVectors(path, options, "word vectors")


def open_binary_words(path: Path, options: Options) -> Source:
    """Word vectors in word2vec's binary form."""
    return WordVectorsBinary(path)


class WordVectors(TextVectors):
    """word2vec, fastText and GloVe as text: a word and its numbers a line, with or without a "rows dim" header.

    A file whose lines all begin with a number, as numpy's `savetxt` writes them, has no words.
    """

    def parsed(self) -> Iterator[Parsed]:
        lines = ((line, _fields(text)) for line, text in numbered_lines(self.path, "replace") if text.strip())
        opening = list(itertools.islice(lines, _LOOKED_AT))
        promised = _header(opening[0][1]) if opening else None
        if promised is None and 2 * sum(_mostly_numbers(fields[1:] or fields) for _, fields in opening) < len(opening):
            raise texts_for_vectors(self.path)
        words = 0 if _bare(opening) else 1
        dim = promised[1] if promised else len(opening[0][1]) - words if opening else 0
        count = 0
        rows = itertools.chain(opening[1:] if promised else opening, lines)
        while some := list(itertools.islice(rows, _SOME)):
            count += len(some)
            vectors = [self._vector(line, fields, dim, words) for line, fields in some]
            numbers = [line for line, _ in some]
            yield Parsed(
                vectors, numbers.__getitem__, [" ".join(fields[:-dim]) for _, fields in some] if words else None
            )
        if promised and count != promised[0]:
            raise FormatError(
                f"{self.path}: its header promises {promised[0]:,} words, the file has {count:,}. Copy it again."
            )

    def _vector(self, line: int, fields: list[str], dim: int, words: int) -> list[float]:
        # A word may hold spaces (GloVe 840B has ". . ."), so the vector is counted from the end; but not numbers.
        extra = fields[1:-dim] if words else fields[:-dim]
        if dim < 1 or len(fields) < dim + words or any(map(is_number, extra)):
            raise FormatError(
                f"{self.path}, line {line}: {len(fields) - words} numbers; we need "
                f"{'a word and ' if words else ''}{max(dim, 1)}. Is it a file of word vectors?"
            )
        return [parse_number(field, f"{self.path}, line {line}") for field in fields[-dim:]]


def _mostly_numbers(fields: list[str]) -> bool:
    return 2 * sum(map(is_number, fields)) > len(fields)


def _fields(text: str) -> list[str]:
    return re.split(r"[ \t]+", text.strip(" \t\r\n"))


def _header(fields: list[str]) -> tuple[int, int] | None:
    if len(fields) == 2 and all(re.fullmatch("[0-9]+", field) for field in fields):
        return int(fields[0]), int(fields[1])
    return None


def _bare(opening: list[tuple[int, list[str]]]) -> bool:
    lines = [fields for _, fields in opening if len(fields) > 2 or not _header(fields)]
    return len(lines) > 1 and all(is_number(fields[0]) and "." in fields[0] for fields in lines)


class WordVectorsBinary(Source):
    """word2vec's binary form: "rows dim", then each word, a space and its float32 numbers."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = str(path)
        self.kind = "word2vec"
        self.dtype = "float32"
        with path.open("rb") as file:
            header = file.readline(100).split()
        if _header([field.decode("utf-8", "replace") for field in header]) is None:
            raise FormatError(
                f"{path} is not word2vec's binary form: it should begin with two numbers, "
                "rows and dim. Text forms end in .vec or .txt."
            )
        self.rows, self.dim = int(header[0]), int(header[1])
        if self.rows == 0 or self.dim == 0:
            raise ShapeError(f"{path} is empty: its header says {self.rows} x {self.dim}. We need at least 2 rows.")

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Rows]:
        with self.path.open("rb") as file:
            file.readline(100)
            left = self.rows or 0
            while left:
                some = [self._row(file) for _ in range(min(BLOCK, left))]
                yield Rows(np.stack([vector for _, vector in some]), [word for word, _ in some])
                left -= len(some)
            if file.read(64).strip():
                raise FormatError(
                    f"{self.path} goes on after the {self.rows:,} x {self.dim} that its header promises. Is it damaged?"
                )

    def _row(self, file: IO[bytes]) -> tuple[str, np.ndarray]:
        word = bytearray()
        while (byte := file.read(1)) not in (b" ", b""):
            word += byte
            if len(word) > 10_000:
                raise FormatError(f"{self.path} has a word of over 10,000 bytes: is it word2vec's binary form?")
        data = file.read(4 * self.dim)
        if len(data) < 4 * self.dim:
            raise FormatError(f"{self.path} is truncated: its header promises {self.rows:,} words. Copy it again.")
        return word.decode("utf-8", "replace").strip("\n"), np.frombuffer(data, "<f4")
