"""Rows of a text: words, tokens, the first token or the whole text, and the tokens that each is made of."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import overload

import numpy as np

from uncone.data.batch import IntVector, Keys
from uncone.encoders.encoder import Encoder, Passage
from uncone.encoders.rows.segmentation import Kind, Word, find_words, identity, token_kinds
from uncone.errors import ModelError

__all__ = ["IGNORED", "LEVELS", "POOLINGS", "SINGLE", "Laid", "Layout", "RowRule", "Windows"]


class Windows:
    """The passages of one text. Its tokens, without the special ones, are numbered through the text."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        inside = [np.flatnonzero(~passage.special) for passage in passages]
        self.first = [passage.first_token for passage in passages]
        self.last = [first + len(own) for first, own in zip(self.first, inside, strict=True)]
        starts, ends = (np.zeros(max(self.last), np.int64) for _ in range(2))
        for passage, own, first, last in zip(passages, inside, self.first, self.last, strict=True):
            starts[first:last], ends[first:last] = passage.starts[own], passage.ends[own]
        # Tokens without width say nothing of where they stand.
        self._wide = np.flatnonzero(ends > starts)
        self._starts = np.maximum.accumulate(starts[self._wide])
        self._ends = np.maximum.accumulate(ends[self._wide])

    def of_words(self, words: Sequence[Word]) -> list[int | None]:
        """The window of each word; None when every window cuts it. A word without tokens goes to the first."""
        first = np.searchsorted(self._ends, [word.start for word in words], side="right")
        last = np.searchsorted(self._starts, [word.end for word in words], side="left") - 1
        return [
            self.of_tokens(int(self._wide[a]), int(self._wide[b])) if a <= b else 0
            for a, b in zip(first.tolist(), last.tolist(), strict=True)
        ]

    def of_tokens(self, first: int, last: int) -> int | None:
        """The window that holds these tokens and the most around them on its nearer side; None when none holds all."""
        best, most = None, -1
        for i in range(bisect_right(self.first, first) - 1, -1, -1):
            if self.last[i] <= last:
                break
            before = first - self.first[i] if i else last + self.last[-1]
            behind = self.last[i] - 1 - last if i < len(self.first) - 1 else last + self.last[-1]
            if min(before, behind) > most:
                best, most = i, min(before, behind)
        return best

    def owned(self, window: int) -> IntVector:
        """The places, among the tokens of a window that are not special, of those that belong to it."""
        numbers = range(self.first[window], self.last[window])
        mine = [i for i, number in enumerate(numbers) if self.of_tokens(number, number) == window]
        return np.array(mine, np.int64)


POOLINGS = ("mean", "cls", "max", "last")
LEVELS = ("sentence", "token")
SINGLE = -1
"""The number of a word that occurs once: it needs no place in a table."""
IGNORED = -2
"""The number of a word that is not followed."""

Numbers = Callable[[str], int]


@dataclass(frozen=True)
class RowRule:
    """What the user asked for: what a row is, how subwords or tokens are pooled, which kinds of them count."""

    rows: str = "words"
    word_pooling: str = "mean"
    pooling: str = "mean"
    kinds: frozenset[Kind] = frozenset({Kind.WORD, Kind.NUMBER, Kind.SYMBOL, Kind.PIECE})
    cased: bool = False
    special: bool | None = None
    """Whether special tokens count: by default not among tokens, but in the mean of a text."""

    @property
    def keeps_special(self) -> bool:
        """Whether special tokens count."""
        return self.special if self.special is not None else not self.has_words

    @property
    def has_words(self) -> bool:
        """Whether a row is part of a text and has a name that comes again."""
        return self.rows in ("words", "tokens")

    def identities(self, text: str) -> list[tuple[str, Kind]]:
        """The words of a text by the names under which they are counted, and their kinds."""
        return [(identity(text[w.start : w.end], self.cased), w.kind) for w in find_words(text) if w.kind in self.kinds]

    def lay(self, passages: Sequence[Passage], encoder: Encoder) -> Iterator[Laid]:
        """The rows of the passages of one text, in their order; they get their numbers later."""
        if self.rows == "words":
            yield from self._words(passages)
        elif self.rows == "tokens":
            yield from self._tokens(passages, encoder)
        else:
            yield from (self._whole(passage, encoder) for passage in passages)

    def _words(self, passages: Sequence[Passage]) -> Iterator[Laid]:
        text = passages[0].text
        words = [word for word in find_words(text) if word.kind in self.kinds]
        if len(passages) == 1:
            yield self._laid(passages[0], words)
            return
        inside: list[list[Word]] = [[] for _ in passages]
        cut = 0
        for word, window in zip(words, Windows(passages).of_words(words), strict=True):
            if window is None:
                cut += 1
            else:
                inside[window].append(word)
        for passage, own in zip(passages, inside, strict=True):
            laid = self._laid(passage, own)
            laid.cut, cut = cut, 0
            yield laid

    def _laid(self, passage: Passage, words: Sequence[Word]) -> Laid:
        text = passage.text
        return Laid(
            passage,
            np.array([word.start for word in words], np.int64),
            np.array([word.end for word in words], np.int64),
            [identity(text[word.start : word.end], self.cased) for word in words],
            [word.kind for word in words],
        )

    def _tokens(self, passages: Sequence[Passage], encoder: Encoder) -> Iterator[Laid]:
        windows = Windows(passages) if len(passages) > 1 else None
        for number, passage in enumerate(passages):
            places = np.flatnonzero(~passage.special)
            mine = places if windows is None else places[windows.owned(number)]
            mine = mine[passage.ends[mine] > passage.starts[mine]]
            kinds = token_kinds(passage.text, passage.starts[mine], passage.ends[mine])
            mine = mine[[kind in self.kinds for kind in kinds]] if mine.size else mine
            added = np.flatnonzero(passage.special) if self.keeps_special else mine[:0]
            tokens = np.sort(np.concatenate([mine, added]))
            names = [encoder.token_name(passage.tokens[i]) for i in tokens.tolist()]
            kind_of = dict(zip(mine.tolist(), (kind for kind in kinds if kind in self.kinds), strict=True))
            kinds = [kind_of.get(i, Kind.SPECIAL) for i in tokens.tolist()]
            yield Laid(passage, passage.starts[tokens], passage.ends[tokens], names, kinds, tokens=tokens)

    def _whole(self, passage: Passage, encoder: Encoder) -> Laid:
        if self.rows == "cls" and not passage.special[:1].any():
            raise ModelError(
                f"{encoder.name} puts no special token in front of a text, so there is no CLS vector. "
                "Try --rows sentences."
            )
        ends = np.array([len(passage.text)], np.int64)
        return Laid(passage, np.zeros(1, np.int64), ends, [passage.text])

    @property
    def pooled_as(self) -> str:
        """How the tokens of a whole text become one vector."""
        return "cls" if self.rows == "cls" else self.pooling

    def layout(self, batch: Sequence[Laid], numbers: Numbers, *, going_on: bool = False) -> Layout:
        """The tokens of every row of a batch; its texts may be `going_on` in later ones."""
        if self.rows == "words":
            tokens, starts, covered = _word_bags(batch)
            if self.word_pooling != "mean" and len(starts):
                ends = np.append(starts[1:], len(tokens))
                tokens = tokens[starts] if self.word_pooling == "first" else tokens[ends - 1]
                starts = np.arange(len(tokens))
        elif self.rows == "tokens":
            tokens = np.concatenate([laid.tokens + base for laid, base in zip(batch, _bases(batch), strict=True)])
            starts, covered = np.arange(len(tokens)), np.ones(len(tokens), np.bool_)
        else:
            tokens, starts = _text_bags(batch, self.pooled_as, self.keeps_special)
            covered = np.ones(len(batch), np.bool_)
        word_numbers = [numbers(name) if self.has_words else IGNORED for laid in batch for name in laid.names]
        sizes = [laid.n for laid in batch]

        def spread(values: Sequence[int | None]) -> IntVector | None:
            """A number per text, for each of its rows that has tokens."""
            return None if values[0] is None else np.repeat(np.array(values, np.int64), sizes)[covered]

        units, distinct = spread([laid.unit for laid in batch]), spread([laid.distinct for laid in batch])
        inside = np.concatenate([laid.offset + np.arange(laid.n) for laid in batch])[covered]
        keys = Keys(
            spread([laid.group for laid in batch]),
            np.array(word_numbers, np.int64)[covered],
            units,
            spread([laid.copies for laid in batch]),
            None if units is None else units + inside,  # they wrap around, which does no harm
            None if distinct is None else np.where(distinct >= 0, distinct + inside, -1),
            open=going_on,
        )
        names = _Names(batch, np.flatnonzero(covered), tokens[starts] if len(starts) else tokens, _bases(batch))
        rows = np.concatenate([laid.first_row + np.arange(laid.n) for laid in batch])[covered]
        return Layout(tokens, starts, rows, names, keys)


@dataclass
class Laid:
    """A passage with its rows: where each begins and ends in the text, its name and kind; `cut` words were lost."""

    passage: Passage
    starts: IntVector
    ends: IntVector
    names: list[str]
    kinds: list[Kind] = field(default_factory=list)
    cut: int = 0
    tokens: IntVector = field(default_factory=lambda: np.empty(0, np.int64))
    group: int = 0
    first_row: int = 0
    unit: int | None = None
    """What the text shares with identical texts."""
    copies: int | None = None
    """How many identical texts there are, where texts repeat."""
    distinct: int | None = None
    """Where texts repeat: the rows of distinct texts before this text, or -1 if it is a copy of one of them."""
    offset: int = 0
    """Rows of the text in the windows before."""

    @property
    def n(self) -> int:
        """Rows."""
        return len(self.names)


@dataclass(frozen=True)
class Layout:
    """The rows of a batch: bag i is tokens[starts[i] : starts[i + 1]]; its row number, its name, and its keys."""

    tokens: IntVector
    starts: IntVector
    rows: IntVector
    names: Sequence[str]
    keys: Keys

    @property
    def n(self) -> int:
        """Rows."""
        return len(self.starts)


class _Names(Sequence[str]):
    """A name for each row, made only when it is asked for: the word, its place and the text around it."""

    def __init__(self, batch: Sequence[Laid], covered: IntVector, tokens: IntVector, bases: IntVector) -> None:
        self._batch, self._covered, self._tokens, self._bases = batch, covered, tokens, bases
        self._ends = np.cumsum([laid.n for laid in batch])

    def __len__(self) -> int:
        return len(self._covered)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, slice):
            return [self[i] for i in range(*place.indices(len(self)))]
        row = int(self._covered[place])
        number = int(np.searchsorted(self._ends, row, side="right"))
        laid = self._batch[number]
        inside = row - (int(self._ends[number]) - laid.n)
        start, end, text = int(laid.starts[inside]), int(laid.ends[inside]), laid.passage.text
        if end - start == len(text):
            return text[:80]
        position = int(self._tokens[place]) - int(self._bases[number])
        word = text[start:end] if end > start else laid.names[inside]
        around = text[max(start - 30, 0) : end + 30].strip()
        return f"{word} (token {position}) in “{around}”"


def _bases(batch: Sequence[Laid]) -> IntVector:
    """The number of the first token of each passage in the batch."""
    lengths = [laid.passage.length for laid in batch]
    return np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int64)


def _word_bags(batch: Sequence[Laid]) -> tuple[IntVector, IntVector, np.ndarray]:
    """The tokens that overlap each word, and which words have any.

    Offsets may include the space before a word, and a token may cover two words: overlap settles both. The texts are
    laid end to end, so that one search serves the batch.
    """
    bases = np.concatenate([[0], np.cumsum([len(laid.passage.text) + 1 for laid in batch])[:-1]])
    word_starts = np.concatenate([laid.starts + base for laid, base in zip(batch, bases, strict=True)])
    word_ends = np.concatenate([laid.ends + base for laid, base in zip(batch, bases, strict=True)])
    starts = np.concatenate([laid.passage.starts + base for laid, base in zip(batch, bases, strict=True)])
    ends = np.concatenate([laid.passage.ends + base for laid, base in zip(batch, bases, strict=True)])
    special = np.concatenate([laid.passage.special for laid in batch])
    real = np.flatnonzero(~special & (ends > starts))
    first = np.searchsorted(word_ends, starts[real], side="right")
    last = np.searchsorted(word_starts, ends[real], side="left") - 1
    overlaps = (last - first + 1).clip(min=0)
    tokens = np.repeat(real, overlaps)
    before = np.cumsum(overlaps) - overlaps
    words = np.repeat(first - before, overlaps) + np.arange(len(tokens))
    order = np.argsort(words, kind="stable")
    sizes = np.bincount(words, minlength=len(word_starts))
    covered = sizes > 0
    bags = np.concatenate([[0], np.cumsum(sizes[covered])[:-1]]) if covered.any() else np.empty(0)
    return tokens[order].astype(np.int64), bags.astype(np.int64), covered


def _text_bags(batch: Sequence[Laid], pooling: str, with_special: bool) -> tuple[IntVector, IntVector]:
    special = np.concatenate([laid.passage.special for laid in batch])
    lengths = np.array([laid.passage.length for laid in batch])
    group = np.repeat(np.arange(len(batch)), lengths)
    bare = np.bincount(group, weights=~special, minlength=len(batch)) == 0
    # A text of nothing but special tokens keeps them: there is nothing else.
    tokens = np.flatnonzero(~special | bare[group] | with_special)
    starts = np.searchsorted(group[tokens], np.arange(len(batch)))
    if pooling == "cls":
        return _bases(batch), np.arange(len(batch))
    if pooling == "last":
        return tokens[np.append(starts[1:], len(tokens)) - 1], np.arange(len(batch))
    return tokens, starts.astype(np.int64)
