"""Static word vectors (GloVe, word2vec, fastText) as a model with one layer."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from uncone.data.bags import bag_means
from uncone.data.batch import IntVector, Matrix
from uncone.data.open import open_source, suffix_of
from uncone.encoders.encoder import Encoder, Passage, States, Window
from uncone.encoders.rows.segmentation import find_words
from uncone.errors import ModelError

__all__ = ["StaticEncoder", "WordPassages", "is_static"]

_MOST = 200_000
"""Words of a file that its table holds."""


def is_static(path: Path) -> bool:
    """Whether a file holds word vectors."""
    return suffix_of(path) in (".vec", ".txt", ".bin") and os.path.isfile(path)  # noqa: PTH113 - never raises


class WordPassages(Encoder):
    """An encoder whose tokens are the words of a text, as we find them."""

    def passages(self, texts: Sequence[str], window: Window) -> list[list[Passage]]:
        return [[self._passage(text)] for text in texts]

    def _passage(self, text: str) -> Passage:
        words = [word for word in find_words(text) if self._knows(text[word.start : word.end])]
        return Passage(
            text,
            [text[word.start : word.end] for word in words],
            np.array([word.start for word in words], np.int64),
            np.array([word.end for word in words], np.int64),
            np.zeros(len(words), np.bool_),
        )

    def _knows(self, word: str) -> bool:
        return True


class _Looked(States):
    """One vector per token, the same wherever it stands."""

    def __init__(self, vectors: Matrix) -> None:
        self.vectors = vectors

    def pooled(self, layer: int, tokens: IntVector, starts: IntVector) -> Matrix:
        return bag_means(self.vectors, tokens, starts)

    def longest(self, layer: int, tokens: IntVector, starts: IntVector) -> Matrix:
        return np.asarray(np.maximum.reduceat(self.vectors[tokens], starts, axis=0))


class StaticEncoder(WordPassages):
    """Word vectors from a file; only the words of the corpus are kept in memory."""

    kind = "static vectors"
    layers = 1
    window = None

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = str(path)
        self.source = open_source(path)
        self.dim = self.source.dim
        self.bytes_per_token = 8 * self.dim
        self._places: dict[str, int] = {}
        self._any_case: dict[str, int] = {}
        self._names: list[str] = []
        self._vectors: Matrix = np.empty((0, self.dim), np.float32)

    def prepare(self, texts: Iterable[str]) -> None:
        """Read the vectors of the words of these texts, in any case in which the file has them.

        Raises:
            ModelError: the file has none of them.
        """
        vocabulary = {_fold_case(text[word.start : word.end]) for text in texts for word in find_words(text)}
        places: dict[str, int] = {}
        vectors: list[Matrix] = []
        for rows in self.source.read():
            if rows.texts is None:
                raise ModelError(f"{self.path} holds numbers without words; a static model needs a word on every line.")
            for i, word in enumerate(map(_compose, rows.texts)):
                if word not in places and _fold_case(word) in vocabulary:
                    places[word] = len(vectors)
                    with np.errstate(over="ignore"):  # numbers beyond float32 are reported as rows that cannot be used
                        vectors.append(np.asarray(rows.vectors[i], np.float32))
        if not vectors:
            raise ModelError(f"{self.path} has a vector for none of the {len(vocabulary):,} words of the texts.")
        self._places, self._names, self._vectors = places, list(places), np.stack(vectors)
        self._any_case = {}
        for word, place in places.items():
            self._any_case.setdefault(_fold_case(word), place)

    def _knows(self, word: str) -> bool:
        return self._place(word) is not None

    def _place(self, word: str) -> int | None:
        word = _compose(word)
        for form in (word, word.lower()):
            if form in self._places:
                return self._places[form]
        return self._any_case.get(_fold_case(word))

    def encode(self, batch: Sequence[Passage]) -> States:
        places = [self._place(word) for passage in batch for word in passage.tokens]
        return _Looked(self._vectors[np.array(places, np.int64)])

    def input_table(self, *, marked: bool = False) -> tuple[Sequence[str], Matrix] | None:
        """The words of the file in its order, and their vectors; of a very long file the first."""
        rows_of_words: dict[str, int] = {}
        parts: list[Matrix] = []
        read = 0
        for rows in self.source.read():
            words = [_compose(word) for word in rows.texts or ()]
            # As in other readers, the first of two lines for one word counts.
            new = [i for i, word in enumerate(words) if rows_of_words.setdefault(word, read + i) == read + i]
            with np.errstate(over="ignore"):
                parts.append(np.asarray(rows.vectors[new], np.float32))
            read += len(words)
            if len(rows_of_words) >= _MOST and read < (self.source.rows or read + 1):
                self.table_note = f"Of {self.path} only the first {len(rows_of_words):,} words are taken."
                break
        return (list(rows_of_words), np.concatenate(parts)) if rows_of_words else None

    def table_name(self, token: str) -> str:
        place = self._place(token)
        return token if place is None else self._names[place]

    def fingerprint(self) -> str:
        from uncone.data.storage.files import file_digest

        return file_digest([self.path])


def _compose(word: str) -> str:
    return word if word.isascii() else unicodedata.normalize("NFC", word)


def _fold_case(word: str) -> str:
    return _compose(word.casefold())
