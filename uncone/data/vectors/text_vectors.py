"""Vectors written as text: what tables, JSON lines and word-vector files share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from uncone.data.source import Options, Rows, Source
from uncone.errors import FormatError, ShapeError

__all__ = ["Parsed", "TextVectors", "texts_for_vectors"]

_SOME = 2048  # rows per block: text is parsed slowly, and progress should show


class Parsed(NamedTuple):
    """Some rows as parsed: vectors (None for a missing one), the line of each, texts and labels."""

    vectors: Sequence[Sequence[float] | NDArray[np.float64] | None]
    line: Callable[[int], int]
    texts: Sequence[str] | None = None
    labels: Sequence[str] | None = None


class TextVectors(Source):
    """A file of vectors as text; the first one that is not missing has the dimension."""

    dtype = "text"
    rows = None

    def __init__(self, path: Path, options: Options, kind: str) -> None:
        self.path = path
        self.options = options
        self.name = str(path)
        self.kind = kind
        lengths = (len(vector) for part in self.parsed() for vector in part.vectors if vector is not None)
        self.dim = next(filter(None, lengths), 0)
        if not self.dim:
            raise FormatError(f"{path} has no rows with numbers. We need at least 2.")

    @abstractmethod
    def parsed(self) -> Iterator[Parsed]:
        """The rows, some at a time."""

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Rows]:
        for part in self.parsed():
            for first in range(0, len(part.vectors), _SOME):
                rows = slice(first, first + _SOME)
                vectors = [self._checked(vector, part, row) for row, vector in enumerate(part.vectors[rows], first)]
                texts = None if part.texts is None else part.texts[rows]
                yield Rows(np.array(vectors, np.float64), texts, None if part.labels is None else part.labels[rows])

    def _checked(
        self, vector: Sequence[float] | NDArray[np.float64] | None, part: Parsed, row: int
    ) -> Sequence[float] | NDArray[np.float64]:
        if vector is None:
            return np.full(self.dim, np.nan)  # counted as a bad row
        if len(vector) != self.dim:
            raise ShapeError(
                f"{self.path} is ragged: line {part.line(row)} has {len(vector)} numbers, "
                f"the first row has {self.dim}. Every row needs the same dimensions."
            )
        return vector


def texts_for_vectors(path: Path, columns: str = "") -> FormatError:
    """The error for a file of texts given where vectors are needed."""
    named = f" ({columns})" if columns else ""
    return FormatError(
        f"{path} holds texts{named}, where we need vectors. Add --model NAME to encode the texts with a model."
    )
