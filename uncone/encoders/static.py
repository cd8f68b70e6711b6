"""Static word vectors (GloVe, word2vec, fastText) as a model with one layer."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from uncone.data.batch import IntVector, Matrix
from uncone.data.open import open_source, suffix_of
from uncone.data.runs import bag_means
from uncone.encoders.encoder import Encoder, Passage, States, Window
from uncone.encoders.words import find_words
from uncone.errors import ModelError

__all__ = ["StaticEncoder", "WordPassages", "is_static"]


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
            0,
            len(text),
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
        self._vectors: Matrix = np.empty((0, self.dim), np.float32)

    def prepare(self, texts: Iterable[str]) -> None:
        """Read the vectors of the words of these texts, in any case in which the file has them.

        Raises:
            ModelError: the file has none of them.
        """
        wanted = {text[word.start : word.end].casefold() for text in texts for word in find_words(text)}
        places: dict[str, int] = {}
        kept: list[Matrix] = []
        for rows in self.source.read():
            if rows.texts is None:
                raise ModelError(f"{self.path} holds numbers without words; a static model needs a word on every line.")
            chosen = [
                i for i, word in enumerate(rows.texts) if word.casefold() in wanted and places.setdefault(word, -1) < 0
            ]
            for i in chosen:
                places[rows.texts[i]] = len(kept)
                kept.append(np.asarray(rows.vectors[i], np.float32))
        if not kept:
            raise ModelError(f"{self.path} has a vector for none of the {len(wanted):,} words of the texts.")
        self._places, self._vectors = places, np.stack(kept)

    def _knows(self, word: str) -> bool:
        return self._place(word) is not None

    def _place(self, word: str) -> int | None:
        for form in (word, word.lower(), word.casefold(), word.capitalize()):
            if form in self._places:
                return self._places[form]
        return None

    def encode(self, batch: Sequence[Passage]) -> States:
        places = [self._place(word) for passage in batch for word in passage.tokens]
        return _Looked(self._vectors[np.array(places, np.int64)])

    def fingerprint(self) -> str:
        from uncone.data.digest import file_digest

        return file_digest([self.path])
