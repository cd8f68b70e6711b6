"""Word frequencies: counted in the corpus, from the order of a tokenizer, or from the package wordfreq."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from uncone.data.batch import IntVector, Vector
from uncone.data.texts.selection import Selection
from uncone.encoders.batching import pools
from uncone.encoders.encoder import Encoder, Window
from uncone.encoders.rows.segmentation import identity
from uncone.errors import OptionError, require

__all__ = [
    "BINS",
    "UNKNOWN",
    "Frequencies",
    "bin_places",
    "corpus_frequencies",
    "token_frequencies",
    "tokenizer_frequencies",
    "wordfreq_frequencies",
]

BINS = ("0-100", "100-500", "500-5k", "5k-")
"""Bins of frequency rank: the 100 most frequent words are the first."""
UNKNOWN = "unknown"
"""The bin of a word whose frequency is not known."""

_BYTE = re.compile("<0x[0-9A-Fa-f]{2}>")
_EDGES = np.array([100, 500, 5000])


class Frequencies:
    """The share and the rank of each word: 0 is the most frequent; words of equal share are in alphabetical order.

    A word that is not found as written is looked up in any case, in its most frequent form, unless names are `exact`.

    >>> frequencies = Frequencies("a few words", {"the": 0.75, "Bank": 0.25})
    >>> np.exp(frequencies.log(["the", "bank", "river"])).round(2).tolist(), frequencies.bins(["bank", "river"])
    ([0.75, 0.25, nan], ['0-100', 'unknown'])
    """

    def __init__(self, name: str, shares: Mapping[str, float], *, exact: bool = False) -> None:
        self.name = name
        words = sorted((word for word, share in shares.items() if share > 0), key=lambda word: (-shares[word], word))
        self._ranks = {word: rank for rank, word in enumerate(words)}
        self._folded: dict[str, int] = {}
        for rank, word in enumerate(() if exact else words):
            self._folded.setdefault(identity(word), rank)
        self._logs = np.log(np.array([shares[word] for word in words] or [1.0], np.float64))

    def __len__(self) -> int:
        return len(self._ranks)

    def ranks(self, words: Sequence[str]) -> IntVector:
        """The rank of each word, from 0; -1 if it is unknown."""
        return np.array([self._rank(word) for word in words], np.int64)

    def log(self, words: Sequence[str]) -> Vector:
        """The natural logarithm of each word's share; NaN if it is unknown."""
        return self.log_at(self.ranks(words))

    def log_at(self, ranks: IntVector) -> Vector:
        """The same for the words of these ranks."""
        return np.where(ranks < 0, np.nan, self._logs[ranks])

    def bins(self, words: Sequence[str]) -> list[str]:
        """The name of each word's bin of frequency rank, one of BINS, or UNKNOWN."""
        names = [*BINS, UNKNOWN]
        return [names[place] for place in bin_places(self.ranks(words)).tolist()]

    def _rank(self, word: str) -> int:
        rank = self._ranks.get(word)
        return self._folded.get(identity(word), -1) if rank is None else rank


def bin_places(ranks: IntVector) -> IntVector:
    """The place in BINS of each rank; one beyond the last if it is unknown.

    >>> bin_places(np.array([0, 99, 100, 5000, -1])).tolist()
    [0, 0, 1, 3, 4]
    """
    return np.where(ranks < 0, len(BINS), np.searchsorted(_EDGES, ranks, side="right"))


def corpus_frequencies(counts: Mapping[str, int]) -> Frequencies:
    """Frequencies from the counts of words.

    >>> corpus_frequencies({"a": 3, "b": 1}).log(["a"]).round(3).tolist()
    [-0.288]
    """
    return Frequencies("the words of the corpus", _shares(counts))


def tokenizer_frequencies(names: Sequence[str]) -> Frequencies:
    """Frequencies from the order of a tokenizer's tokens, which is by frequency in most.

    The order is all there is: the token of rank r has the share of Zipf's law, 1/(r + 1). The names are those
    of `Encoder.input_table`, which leaves special tokens out. A word that is not one token is unknown, and so are
    bytes and tokens of one character: tokenizers put their alphabet first or last, whatever its frequency.
    """
    order = dict.fromkeys(name for name in names if len(name.lstrip("#▁Ġ")) > 1 and not _BYTE.fullmatch(name))
    total = float((1 / np.arange(1, len(order) + 1)).sum())
    shares = {name: 1 / (rank + 1) / total for rank, name in enumerate(order)}
    return Frequencies("the tokenizer's order (only an order: shares as by Zipf's law)", shares)


def wordfreq_frequencies(language: str = "en") -> Frequencies:
    """Frequencies from the package wordfreq, over many kinds of texts; numbers and punctuation are unknown.

    Raises:
        MissingPackageError: it is not installed; the message has the line that installs it.
        OptionError: it does not know the language.
    """
    require("wordfreq", extra="frequency")
    import wordfreq

    languages = wordfreq.available_languages("best")
    if language not in languages:
        raise OptionError(f"wordfreq has no language {language!r}; it has {', '.join(sorted(languages))}.")
    return Frequencies(f"wordfreq ({language})", wordfreq.get_frequency_dict(language, "best"))


def token_frequencies(encoder: Encoder, selection: Selection, window: Window) -> Frequencies:
    """Frequencies from the number of times that each row of the encoder's table is looked up for these texts.

    The rows of the table are tokens, not words: "play" stands for "play" and for the beginning of "playful", and
    "##ful" is not a word. So a row is counted as its token in the tokenized texts.
    """
    counts: Counter[str] = Counter()
    # No stride: a token in two windows would be counted twice.
    plain = Window(window.size, cut=window.cut)
    for pool in pools(selection.read()):
        tokens: Counter[object] = Counter()
        for passages in encoder.passages([unit.text for unit in pool], plain):
            for passage in passages:
                tokens.update(passage.tokens[i] for i in np.flatnonzero(~passage.special).tolist())
        for token, n in tokens.items():
            counts[encoder.table_name(token)] += n
    return Frequencies("the tokens of the corpus", _shares(counts), exact=True)


def _shares(counts: Mapping[str, int]) -> dict[str, float]:
    total = sum(counts.values())
    return {word: n / total for word, n in counts.items() if n > 0}
