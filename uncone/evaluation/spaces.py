"""Distinct texts in one space: what repairs are fitted on, and the vectors that they give, without another encoding."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uncone.data.arrays.bags import bag_means
from uncone.data.batch import IntVector, Matrix
from uncone.data.source import BLOCK, Rows, Source
from uncone.encoders.encoder import Encoder
from uncone.encoders.source import Pooling
from uncone.errors import OptionError
from uncone.repairs.repair import Repair

__all__ = ["Gathered", "Sentences", "Space", "Tokens", "pooled_runs"]

_MAPPED = 1 << 16  # tokens that are repaired at once


class Gathered(Source):
    """The rows of a table at some places, one place perhaps twice; none is copied before it is read."""

    def __init__(self, table: NDArray[np.float32], places: IntVector, name: str) -> None:
        self.table, self.places = table, places
        self.name, self.kind, self.dtype = name, "array", "float32"
        self.dim, self.rows = table.shape[1], len(places)
        self.random_access = True

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Rows]:
        """The rows from start to stop."""
        stop = len(self.places) if stop is None else stop
        for first in range(start, stop, BLOCK):
            yield Rows(np.take(self.table, self.places[first : min(first + BLOCK, stop)], axis=0))


class Space(ABC):
    """Distinct texts at one layer with one pooling. A text is found whatever space is around it."""

    level: str

    def __init__(
        self, texts: Sequence[str], dim: int, known: dict[str, Any], note: str, encoder: Encoder | None
    ) -> None:
        self.texts, self.dim, self.known, self.note, self.encoder = texts, dim, known, note, encoder
        self.layer, self.pooling = str(known["layer"]), str(known["pooling"])
        self._places = {text: place for place, text in enumerate(texts)}

    def places(self, texts: Iterable[str]) -> IntVector:
        """Where the texts stand among the distinct ones.

        Raises:
            OptionError: one of them was not encoded.
        """
        try:
            return np.array([self._places[text.strip()] for text in texts], np.int64)
        except KeyError as error:
            raise OptionError(f"The text {error.args[0][:60]!r} is not among those that were encoded.") from error

    @abstractmethod
    def rows(self, texts: Iterable[str], name: str) -> Source:
        """What a repair is fitted on: the vectors of these texts, or of their tokens, in their order."""

    @abstractmethod
    def vectors(self, texts: Iterable[str], repair: Repair | None = None) -> Matrix:
        """One vector per text, repaired; NaN for a text without any."""


class Sentences(Space):
    """One vector per text, (n, d) in all."""

    level = "sentence"

    def __init__(
        self, texts: Sequence[str], matrix: Matrix, known: dict[str, Any], note: str, encoder: Encoder | None = None
    ) -> None:
        super().__init__(texts, matrix.shape[1], known, note, encoder)
        self.matrix = matrix

    def rows(self, texts: Iterable[str], name: str) -> Source:
        """The vectors of these texts."""
        return Gathered(self.matrix, self.places(texts), name)

    def vectors(self, texts: Iterable[str], repair: Repair | None = None) -> Matrix:
        """One vector per text, repaired."""
        found: Matrix = self.matrix[self.places(texts)]
        return found if repair is None else repair.map(found)


class Tokens(Space):
    """The vectors of all subwords (m, d), special tokens left out; those of text i are starts[i] to starts[i + 1].

    They are repaired one by one, and pooled afterwards. `spans` (m, 2) tells where each stands in its text.
    """

    level = "token"

    def __init__(
        self,
        texts: Sequence[str],
        matrix: Matrix,
        sizes: Sequence[int],
        spans: NDArray[np.int64],
        pooling: Pooling,
        encoder: Encoder,
        note: str = "",
    ) -> None:
        known = {
            "layer": ",".join(map(str, pooling.layers)),
            "pooling": pooling.kind,
            "normalize": pooling.normalize,
            "prompt": pooling.prompt,
            "fingerprint": encoder.fingerprint(),
        }
        super().__init__(texts, matrix.shape[1], known, note, encoder)
        self.how, self.matrix, self.spans = pooling, matrix, spans
        self.starts = np.concatenate([[0], np.cumsum(np.asarray(sizes, np.int64))]).astype(np.int64)

    def rows(self, texts: Iterable[str], name: str) -> Source:
        """The vectors of the tokens of these texts."""
        return Gathered(self.matrix, self._tokens(self.places(texts))[0], name)

    def vectors(self, texts: Iterable[str], repair: Repair | None = None) -> Matrix:
        """One vector per text, pooled from repaired tokens."""
        places = self.places(texts)
        tokens, sizes = self._tokens(places)
        return self._pooled(tokens, sizes, repair)

    def words(self, texts: Sequence[str], spans: Sequence[tuple[int, int]], repair: Repair | None = None) -> Matrix:
        """The mean of the tokens that overlap each span of characters; NaN where there are none."""
        chosen = []
        for text, place, (start, end) in zip(texts, self.places(texts).tolist(), spans, strict=True):
            lead = len(text) - len(text.lstrip())
            first, last = self.starts[place : place + 2].tolist()
            own = self.spans[first:last]
            chosen.append(first + np.flatnonzero((own[:, 0] < end - lead) & (own[:, 1] > start - lead)))
        sizes = np.array([len(one) for one in chosen], np.int64)
        return self._pooled(np.concatenate(chosen), sizes, repair)

    def _tokens(self, places: IntVector) -> tuple[IntVector, IntVector]:
        """The tokens of the texts at these places, text by text, and how many each has."""
        sizes = self.starts[places + 1] - self.starts[places]
        before = np.cumsum(sizes) - sizes
        return np.repeat(self.starts[places] - before, sizes) + np.arange(int(sizes.sum())), sizes

    def _pooled(self, tokens: IntVector, sizes: IntVector, repair: Repair | None) -> Matrix:
        dim = self.dim if repair is None else repair._n_features_out
        vectors: Matrix = np.full((len(sizes), dim), np.nan, np.float32)
        ends = np.cumsum(sizes)
        first = 0
        while first < len(sizes):
            # As many texts as have so many tokens, or one.
            begin = int(ends[first] - sizes[first])
            last = max(int(np.searchsorted(ends, begin + _MAPPED, side="right")), first + 1)
            found: Matrix = np.take(self.matrix, tokens[begin : int(ends[last - 1])], axis=0)
            filled = first + np.flatnonzero(sizes[first:last])
            if len(filled):
                found = found if repair is None else repair.map(found)
                vectors[filled] = self.how.finished(pooled_runs(found, sizes[filled], self.how.kind))
            first = last
        return vectors


def pooled_runs(tokens: NDArray[Any], sizes: IntVector, pooling: str, table: Matrix | None = None) -> Matrix:
    """One row per run of `sizes` tokens: of vectors, or of places in a table (mean only)."""
    ends = np.cumsum(sizes)
    if pooling == "last":
        return np.asarray(tokens[ends - 1])
    if pooling == "max":
        return np.asarray(np.maximum.reduceat(tokens, ends - sizes, axis=0))
    if table is not None:
        return bag_means(table, tokens, ends - sizes)
    return bag_means(tokens, np.arange(len(tokens)), ends - sizes)
