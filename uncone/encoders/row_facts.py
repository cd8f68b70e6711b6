"""What is known of some rows beside their vectors: which word each is, of what kind, and where it stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from uncone.data.batch import IntVector
from uncone.encoders.words import Kind

__all__ = ["RowFacts"]


@dataclass(frozen=True)
class RowFacts:
    """Rows by their numbers, in order; `words` are the names under which they are counted, `kinds` as `Kind`.

    `positions` are the places of the rows' first tokens in what the model saw at once, special tokens counted: that of
    the first token is 0. The text of row i is sentences[sentence[i]], where it is characters starts[i] to ends[i].
    """

    rows: IntVector
    words: Sequence[str]
    kinds: IntVector
    positions: IntVector
    sentence: IntVector
    starts: IntVector
    ends: IntVector
    sentences: Sequence[str]

    @property
    def n(self) -> int:
        """Rows."""
        return len(self.rows)

    def at(self, rows: IntVector) -> RowFacts:
        """Those of these rows, by their numbers, in this order; all of them have to be known."""
        return self.take(np.searchsorted(self.rows, rows).astype(np.int64))

    def take(self, places: IntVector) -> RowFacts:
        """Those at these places, in this order; the sentences stay as they are."""
        return RowFacts(
            self.rows[places],
            [self.words[i] for i in places.tolist()],
            self.kinds[places],
            self.positions[places],
            self.sentence[places],
            self.starts[places],
            self.ends[places],
            self.sentences,
        )

    def kind(self, place: int) -> str:
        """What a row is, in a word."""
        return Kind(int(self.kinds[place])).name.lower()

    def shown(self, place: int, reach: int = 40) -> str:
        """A row in its sentence, as a reader wants to see it.

        >>> one = np.zeros(1, np.int64)
        >>> RowFacts(one, ["bank"], one, one + 2, one, one + 2, one + 6, ["a bank of sand"]).shown(0)
        'a [bank] of sand'
        """
        text = self.sentences[int(self.sentence[place])]
        start, end = int(self.starts[place]), int(self.ends[place])
        before, after = text[max(start - reach, 0) : start], text[end : end + reach]
        opened = "…" if start > reach else ""
        closed = "…" if end + reach < len(text) else ""
        return f"{opened}{before}[{text[start:end]}]{after}{closed}"
