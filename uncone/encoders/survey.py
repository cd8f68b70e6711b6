"""Survey of the texts before they are encoded: how many there are, which words they hold, how often."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from uncone.data.texts.selection import Selection, Tally, text_key
from uncone.encoders.batching import FIRST, pools
from uncone.encoders.encoder import Encoder, Window
from uncone.encoders.rows.rows import IGNORED, SINGLE, RowRule
from uncone.encoders.rows.segmentation import Kind

__all__ = ["Edge", "Survey", "Vocabulary", "WordNumbers", "survey"]


class Edge(NamedTuple):
    """What stands before a pool of texts: texts, rows, and rows of distinct texts."""

    texts: int = 0
    rows: int = 0
    distinct_rows: int = 0


@dataclass
class Survey:
    """What the texts hold: occurrences of each word, in how many texts it stands, and the kind it was first met as.

    `rows_of` counts the rows of each kind. Where duplicates are kept, `copies` counts identical texts, by `text_key`:
    a word that stands in copies of one text stands in one text.
    """

    tally: Tally
    counts: Counter[str] = field(default_factory=Counter)
    contexts: Counter[str] = field(default_factory=Counter)
    kinds: dict[str, Kind] = field(default_factory=dict)
    rows_of: Counter[Kind] = field(default_factory=Counter)
    copies: Counter[int] = field(default_factory=Counter)
    distinct_rows: int = 0
    """Words of texts that are not copies of one before."""
    edges: list[Edge] = field(default_factory=lambda: [Edge()])
    """What stands before each pool, and last before the end."""

    def add(self, words: Sequence[tuple[str, Kind]], *, copy: bool = False) -> None:
        """Count the words of one text; `copy` when an identical one was counted."""
        first = dict(reversed(words))
        self.counts.update(name for name, _ in words)
        if not copy:
            self.contexts.update(first.keys())
            self.distinct_rows += len(words)
        self.rows_of.update(kind for _, kind in words)
        for name, kind in first.items():
            self.kinds.setdefault(name, kind)

    @property
    def by_kind(self) -> dict[str, int]:
        """The rows of each kind, by its name."""
        return {kind.name.lower(): n for kind, n in sorted(self.rows_of.items())}

    @property
    def rows(self) -> int:
        """Words in all."""
        return sum(self.counts.values())

    @property
    def distinct(self) -> int:
        """Different texts."""
        return len(self.copies) or self.tally.n_texts

    @property
    def repeated(self) -> Mapping[int, int] | None:
        """How many identical texts there are, by key, where there are several; None when all differ."""
        return {key: n for key, n in self.copies.items() if n > 1} or None


def survey(
    selection: Selection,
    rule: RowRule,
    encoder: Encoder,
    window: Window,
    progress: Callable[[int], None] | None = None,
) -> Survey:
    """Read all texts once; the model runs only if its tokens are the words."""
    result = Survey(Tally())
    for pool in pools(selection.read(), first=FIRST):
        texts = [unit.text for unit in pool]
        copies = [_is_copy(result, text) for text in texts] if selection.keep_duplicates else [False] * len(texts)
        n_texts, rows, distinct_rows = result.edges[-1]
        if rule.has_words:
            for words, copy in zip(_words_of(texts, rule, encoder, window), copies, strict=True):
                result.add(words, copy=copy)
                rows += len(words)
            distinct_rows = result.distinct_rows
        else:
            rows, distinct_rows = rows + len(texts), distinct_rows + copies.count(False)
        result.edges.append(Edge(n_texts + len(texts), rows, distinct_rows))
        if progress is not None:
            progress(len(pool))
    result.tally = selection.tally
    return result


def _is_copy(result: Survey, text: str) -> bool:
    """Count a text; whether an identical one was counted before."""
    key = text_key(text)
    result.copies[key] += 1
    return result.copies[key] > 1


def _words_of(
    texts: Sequence[str], rule: RowRule, encoder: Encoder, window: Window
) -> Iterator[list[tuple[str, Kind]]]:
    if rule.rows == "words":
        for text in texts:
            yield rule.identities(text)
        return
    for passages in encoder.passages(texts, window):
        laid = list(rule.lay(passages, encoder))
        yield [pair for passage in laid for pair in zip(passage.names, passage.kinds, strict=True)]


@dataclass(frozen=True)
class WordNumbers:
    """The number of each word that is followed, and which of the words that occur once count."""

    numbers: Mapping[str, int]
    cutoff: bytes
    seed: int

    def __call__(self, word: str) -> int:
        """The number of a word; SINGLE when it occurs once, IGNORED when there was no room for words like it."""
        place = self.numbers.get(word)
        if place is not None:
            return place
        # A repeated word that has no number lies behind the cutoff.
        return SINGLE if _key(word, self.seed) <= self.cutoff else IGNORED


class Vocabulary:
    """The words that are followed, most frequent first, each with a number."""

    def __init__(self, survey: Survey, room: int, user_words: Sequence[str] = (), seed: int = 0) -> None:
        repeated = [word for word, count in survey.counts.items() if count > 1]
        self.user_words = [word for word in user_words if survey.counts[word]]
        cutoff = b"\xff" * 8
        if len(repeated) > room:
            # Not the most frequent: a mean over words is to stand for all of them.
            repeated = sorted(repeated, key=lambda word: _key(word, seed))[:room]
            cutoff = _key(repeated[-1], seed) if repeated else b""
        followed = {*repeated, *self.user_words}
        self.words = sorted(followed, key=lambda word: (-survey.counts[word], word))
        self._numbers = {word: i for i, word in enumerate(self.words)}
        self.number: Callable[[str], int] = WordNumbers(self._numbers, cutoff, seed)
        self._counts = survey.counts
        self._contexts = survey.contexts
        self._kinds = survey.kinds

    def __len__(self) -> int:
        return len(self.words)

    def sample(self, k: int, least: int, seed: int = 0) -> list[int]:
        """The numbers of up to k words in at least `least` texts each, drawn by their names, in the order drawn."""
        enough = [word for word in self.words if self._contexts[word] >= least]
        return [self._numbers[word] for word in sorted(enough, key=lambda word: _key(word, seed))[:k]]

    def kind(self, word: str) -> str:
        """What a word is, in a word."""
        return self._kinds[word].name.lower()

    def user_word_numbers(self) -> list[int]:
        """The numbers of the words that the user asks for."""
        return [self._numbers[word] for word in self.user_words]

    def occurrences(self, number: int) -> int:
        """How often a word was counted."""
        return self._counts[self.words[number]]


def _key(word: str, seed: int) -> bytes:
    salt = seed.to_bytes(8, "little")
    return hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8, salt=salt).digest()
