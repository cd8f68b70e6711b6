"""A list of words to look for: in which rows they stand, and rows that hold them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uncone.data.batch import Batch, IntVector
from uncone.encoders.segmentation import find_words, identity
from uncone.errors import OptionError
from uncone.stats.bundle import Bundle
from uncone.stats.samples.row_sample import RowSample, SampledRows

__all__ = ["OF_EACH", "ListedRows", "WordList", "bare"]

OF_EACH = 500
"""Rows with a word of the list that are shown beside a sample, at most, for each word."""
_NAMED = 8


class WordList:
    """Words, whatever their case; a text holds one when it stands among its words, or is the whole text.

    >>> found = WordList(["river", "Bank"])
    >>> found.first("the BANK of the river"), found.first("a bank"), found.first("a shore")
    (0, 1, -1)
    """

    def __init__(self, words: Sequence[str] = ()) -> None:
        self.words = tuple(dict.fromkeys(word.strip() for word in words if word.strip()))
        self.places = {identity(word): place for place, word in reversed(list(enumerate(self.words)))}

    def __len__(self) -> int:
        return len(self.words)

    def held(self, text: str) -> set[int]:
        """The places in the list of all words that the text holds."""
        own = {identity(text[word.start : word.end]) for word in find_words(text)} | {identity(text.strip())}
        return {self.places[word] for word in own if word in self.places}

    def first(self, text: str) -> int:
        """The first word of the list that the text holds; -1 when it holds none."""
        return min(self.held(text), default=-1)

    def firsts(self, texts: Sequence[str] | None, n: int) -> IntVector:
        """That of each of n texts."""
        return np.full(n, -1, np.int64) if texts is None else np.array([self.first(text) for text in texts], np.int64)

    def known(self, there: set[str], name: str) -> tuple[WordList, list[str]]:
        """The words of the list that are `there`, and a note that names the others.

        Raises:
            OptionError: none is there.
        """
        known = [word for word in self.words if identity(word) in there]
        unknown = [word for word in self.words if identity(word) not in there]
        more = f" and {len(unknown) - _NAMED} more" if len(unknown) > _NAMED else ""
        named = f"{', '.join(unknown[:_NAMED])}{more}"
        if unknown and not known:
            raise OptionError(f"{name} holds none of the words of --words: {named}. Name some that stand in it.")
        return WordList(known), [f"Not in the texts: {named}."] if unknown else []


class ListedRows(Bundle):
    """Up to `OF_EACH` rows whose texts hold each word of a list, by the hashes of their numbers."""

    def __init__(self, words: WordList, **members: RowSample) -> None:
        super().__init__(**members)
        self.words = words

    @classmethod
    def of(cls, words: WordList, dim: int, seed: int = 0) -> ListedRows:
        """One that has seen nothing."""
        return cls(words, **{f"word{place}": RowSample(dim, OF_EACH, seed=seed) for place in range(len(words))})

    @property
    def settings(self) -> dict[str, Any]:
        """What two of them share."""
        return {"words": self.words, **super().settings}

    def update(self, batch: Batch) -> None:
        """Keep the rows of a batch that hold a word."""
        held = [self.words.held(text) for text in batch.texts or ()]
        for place in set().union(*held):
            mine: NDArray[np.bool_] = np.array([place in own for own in held], np.bool_)
            self.members[f"word{place}"].update(batch.where(mine))

    @property
    def there(self) -> set[str]:
        """The words that were met, by the names under which they are compared."""
        return {word for word, place in self.words.places.items() if self[f"word{place}"].sampled.n}

    def beside(self, sample: SampledRows) -> SampledRows:
        """The rows of a sample and those that hold a word, in their order, each once."""
        found = [one for place in range(len(self.words)) if (one := self[f"word{place}"].sampled).n]
        joined = SampledRows.joined([sample, *found])
        _, first = np.unique(joined.rows, return_index=True)
        return joined.take(first) if len(first) > sample.n else sample


def bare(name: str) -> str:
    r"""A word or token without the mark for the space before it, by the name under which words are compared.

    >>> bare("\u0120The"), bare("\u2581a"), bare("##ing")
    ('the', 'a', '##ing')
    """
    return identity(name.lstrip("\u0120\u2581 ") or name)
