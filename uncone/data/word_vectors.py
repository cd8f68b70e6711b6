"""Word vectors: word2vec, fastText and GloVe as text, and word2vec's binary form."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO

import numpy as np

from uncone.data.source import BLOCK, Options, Rows, Source
from uncone.data.text_rows import Record, TextVectors, number_of, numbered_lines
from uncone.errors import FormatError, ShapeError

__all__ = ["WordVectors", "WordVectorsBinary", "open_binary_words", "open_words"]


def open_words(path: Path, options: Options) -> Source:
    """Word vectors as text."""
    return WordVectors(path, options, "word vectors")


def open_binary_words(path: Path, options: Options) -> Source:
    """Word vectors in word2vec's binary form."""
    return WordVectorsBinary(path)


class WordVectors(TextVectors):
    """word2vec, fastText and GloVe as text: a word and its numbers a line, with or without a "rows dim" header."""

    def records(self) -> Iterator[Record]:
        dim: int | None = None
        for line, text in numbered_lines(self.path):
            fields = text.rstrip().split(" ")
            if line == 1 and len(fields) == 2 and all(field.isdigit() for field in fields):
                dim = int(fields[1])
                continue
            if not text.strip():
                continue
            if dim is None:
                dim = len(fields) - 1
            if len(fields) <= dim or dim < 1:
                raise FormatError(
                    f"{self.path}, line {line}: {max(len(fields) - 1, 0)} numbers, where we need a word and {dim} "
                    "numbers. Is it a file of word vectors?"
                )
            # A word may hold spaces (GloVe 840B has ". . ."), so the vector is counted from the end.
            word = " ".join(fields[:-dim])
            yield Record(line, [number_of(field, self.path, line) for field in fields[-dim:]], word)


class WordVectorsBinary(Source):
    """word2vec's binary form: "rows dim", then each word, a space and its float32 numbers."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = str(path)
        self.kind = "word2vec"
        self.dtype = "float32"
        with path.open("rb") as file:
            header = file.readline(100).split()
        if len(header) != 2 or not all(field.isdigit() for field in header):
            raise FormatError(f"{path} is not word2vec's binary form: it should begin with two numbers, rows and dim.")
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
