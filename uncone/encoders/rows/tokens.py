"""Tokens by name: what a repair needs that weighs each token by how often it occurs."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np

from uncone.data.batch import Matrix, Vector
from uncone.data.source import Source
from uncone.encoders.encoder import Encoder, Passage

__all__ = ["TokenSource", "TokenWeights", "Weigh", "token_names"]

Weigh = Callable[[str], float]
"""The weight of a token, by its name in the table of the encoder."""


class TokenSource(Source):
    """The tokens of texts as rows, of which it is known what they are and which text they stand in."""

    has_words: bool = False
    """Whether the tokens are whole words."""

    @abstractmethod
    def counts(self) -> Mapping[str, int]:
        """How often each token occurs, by its name; nothing is encoded for it."""

    @abstractmethod
    def text_means(self, weigh: Weigh) -> Iterator[Matrix]:
        """For each text the mean of its tokens, each times its weight; NaN for a text without tokens."""


class TokenWeights:
    """The weights of tokens; each token is looked up once."""

    def __init__(self, encoder: Encoder, weigh: Weigh) -> None:
        self._encoder, self._weigh = encoder, weigh
        self._weights: dict[object, float] = {}

    def of(self, passages: Iterable[Passage | None]) -> Vector:
        """The weight of every token that is not special, in reading order."""
        return np.array([self._weight(token) for token in _tokens(passages)], np.float32)

    def _weight(self, token: object) -> float:
        weight = self._weights.get(token)
        if weight is None:
            weight = self._weights[token] = self._weigh(self._encoder.table_name(token))
        return weight


def token_names(encoder: Encoder, passages: Iterable[Passage | None], numbers: dict[str, int]) -> list[int]:
    """The number of every token that is not special; new names are added to `numbers`."""
    by_token: dict[object, int] = {}
    listed = []
    for token in _tokens(passages):
        number = by_token.get(token)
        if number is None:
            number = by_token[token] = numbers.setdefault(encoder.table_name(token), len(numbers))
        listed.append(number)
    return listed


def _tokens(passages: Iterable[Passage | None]) -> Iterator[object]:
    for passage in passages:
        if passage is not None:
            yield from (passage.tokens[place] for place in np.flatnonzero(~passage.special).tolist())
