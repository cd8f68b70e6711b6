"""A first look at the texts, before the model sees them: how many, which words, how often."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from uncone.data.selection import Selection, Tally
from uncone.encoders.batching import pools
from uncone.encoders.encoder import Encoder, Window
from uncone.encoders.rows import IGNORED, SINGLE, RowRule

__all__ = ["Survey", "Vocabulary", "survey"]


@dataclass
class Survey:
    """What the texts hold: occurrences of each word, and in how many texts it stands."""

    tally: Tally
    counts: Counter[str] = field(default_factory=Counter)
    contexts: Counter[str] = field(default_factory=Counter)

    @property
    def rows(self) -> int:
        """Words in all."""
        return sum(self.counts.values())


def survey(
    selection: Selection,
    rule: RowRule,
    encoder: Encoder,
    window: Window,
    progress: Callable[[int], None] | None = None,
) -> Survey:
    """Read all texts once; the model is asked only where its tokens are the words."""
    found = Survey(Tally())
    for pool in pools(selection.read()):
        if rule.has_words:
            for names in _names([unit.text for unit in pool], rule, encoder, window):
                found.counts.update(names)
                found.contexts.update(set(names))
        if progress is not None:
            progress(len(pool))
    found.tally = selection.tally
    return found


def _names(texts: Sequence[str], rule: RowRule, encoder: Encoder, window: Window) -> Iterator[list[str]]:
    if rule.rows == "words":
        for text in texts:
            yield rule.identities(text)
        return
    for passages in encoder.passages(texts, window):
        yield [name for laid in rule.lay(passages, encoder) for name in laid.names]


class Vocabulary:
    """The words that are followed, most frequent first, each with a number."""

    def __init__(self, found: Survey, room: int, asked: Sequence[str] = (), seed: int = 0) -> None:
        repeated = [word for word, count in found.counts.items() if count > 1]
        self.asked = [word for word in asked if found.counts[word]]
        self.wanted = len(repeated)
        self._seed, self._cutoff = seed, b"\xff" * 8
        if len(repeated) > room:
            # Not the most frequent: a mean over words is to stand for all of them.
            repeated = sorted(repeated, key=lambda word: _key(word, seed))[:room]
            self._cutoff = _key(repeated[-1], seed) if repeated else b""
        kept = {*repeated, *self.asked}
        self.words = sorted(kept, key=lambda word: (-found.counts[word], word))
        self._numbers = {word: i for i, word in enumerate(self.words)}
        self._counts = found.counts
        self._contexts = found.contexts

    def __len__(self) -> int:
        return len(self.words)

    def number(self, word: str) -> int:
        """The number of a word; SINGLE when it occurs once, IGNORED when there was no room for words like it."""
        place = self._numbers.get(word)
        if place is not None:
            return place
        return SINGLE if self._counts[word] == 1 and _key(word, self._seed) <= self._cutoff else IGNORED

    def drawn(self, k: int, least: int, seed: int = 0) -> list[int]:
        """The numbers of up to k words in at least `least` texts each, drawn by their names, in the order drawn."""
        enough = [word for word in self.words if self._contexts[word] >= least]
        return [self._numbers[word] for word in sorted(enough, key=lambda word: _key(word, seed))[:k]]

    def asked_numbers(self) -> list[int]:
        """The numbers of the words asked for."""
        return [self._numbers[word] for word in self.asked]

    def occurrences(self, number: int) -> int:
        """How often a word was counted."""
        return self._counts[self.words[number]]


def _key(word: str, seed: int) -> bytes:
    salt = seed.to_bytes(8, "little")
    return hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8, salt=salt).digest()
