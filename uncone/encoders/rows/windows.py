"""Which window of a long text a word belongs to: one that holds all of its tokens, with the most context around."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

import numpy as np

from uncone.data.batch import IntVector
from uncone.encoders.encoder import Passage
from uncone.encoders.segmentation import Word

__all__ = ["Windows"]


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
