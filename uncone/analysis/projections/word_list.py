"""A list of words to find in texts, and samples of the rows that contain them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uncone.data.batch import Batch, IntVector
from uncone.encoders.rows.segmentation import find_words, identity
from uncone.errors import OptionError
from uncone.stats.row_sample import RowSample, SampledRows
from uncone.stats.statistic import Bundle

__all__ = ["OF_EACH", "ListedRows", "WordList", "bare"]

OF_EACH = 500
"""Rows that contain a word of the list, at most, that are shown in addition to a sample."""
_EXAMPLES = 8


class WordList:
    """Words, case-insensitive; a text contains one if it is among its words, or is the whole text.

    >>> words = WordList(["river", "Bank"])
    >>> words.first("the BANK of the river"), words.first("a bank"), words.first("a shore")
    (0, 1, -1)
    """

    def __init__(self, words: Sequence[str] = ()) -> None:
        self.words = tuple(dict.fromkeys(word.strip() for word in words if word.strip()))
        self.places = {identity(word): place for place, word in reversed(list(enumerate(self.words)))}

    def __len__(self) -> int:
        return len(self.words)

    def contained(self, text: str) -> set[int]:
        """The places in the list of all words that the text contains."""
        own = {identity(text[word.start : word.end]) for word in find_words(text)} | {identity(text.strip())}
        return {self.places[word] for word in own if word in self.places}

    def first(self, text: str) -> int:
        """The first word of the list that the text contains; -1 if it contains none."""
        return min(self.contained(text), default=-1)

    def firsts(self, texts: Sequence[str] | None, n: int) -> IntVector:
        """The first word of each of n texts."""
        return np.full(n, -1, np.int64) if texts is None else np.array([self.first(text) for text in texts], np.int64)

    def restrict(self, present: set[str], name: str) -> tuple[WordList, list[str]]:
        """The words of the list that are `present`, and a note that names the others.

        Raises:
            OptionError: none is present.
        """
        words = [word for word in self.words if identity(word) in present]
        unknown = [word for word in self.words if identity(word) not in present]
        more = f" and {len(unknown) - _EXAMPLES} more" if len(unknown) > _EXAMPLES else ""
        examples = f"{', '.join(unknown[:_EXAMPLES])}{more}"
        if unknown and not words:
            raise OptionError(f"{name} contains none of the words of --words: {examples}. Name some that it contains.")
        return WordList(words), [f"Not in the texts: {examples}."] if unknown else []


class ListedRows(Bundle):
    """Up to `OF_EACH` rows whose texts contain each word of a list, by the hashes of their numbers."""

    def __init__(self, words: WordList, **members: RowSample) -> None:
        super().__init__(**members)
        self.words = words

    @classmethod
    def of(cls, words: WordList, dim: int, seed: int = 0) -> ListedRows:
        """An empty sample."""
        return cls(words, **{f"word{place}": RowSample(dim, OF_EACH, seed=seed) for place in range(len(words))})

    @property
    def settings(self) -> dict[str, Any]:
        """What two samples must share to be merged."""
        return {"words": self.words, **super().settings}

    def update(self, batch: Batch) -> None:
        """Keep the rows of a batch that contain a word."""
        words = [self.words.contained(text) for text in batch.texts or ()]
        for place in set().union(*words):
            mine: NDArray[np.bool_] = np.array([place in own for own in words], np.bool_)
            self.members[f"word{place}"].update(batch.where(mine))

    @property
    def present(self) -> set[str]:
        """The words that occur, in the form in which they are compared."""
        return {word for word, place in self.words.places.items() if self[f"word{place}"].sampled.n}

    def beside(self, sample: SampledRows) -> SampledRows:
        """The rows of a sample and those that contain a word, in their order, each once."""
        samples = [rows for place in range(len(self.words)) if (rows := self[f"word{place}"].sampled).n]
        joined = SampledRows.joined([sample, *samples])
        _, first = np.unique(joined.rows, return_index=True)
        return joined.take(first) if len(first) > sample.n else sample


def bare(name: str) -> str:
    r"""A word or token without the mark for the space before it, in the form in which words are compared.

    >>> bare("\u0120The"), bare("\u2581a"), bare("##ing")
    ('the', 'a', '##ing')
    """
    return identity(name.lstrip("\u0120\u2581 ") or name)
