"""Facts about rows beside their vectors: the word, its kind and its place in the text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from uncone.data.batch import IntVector
from uncone.encoders.rows.rows import Laid, Layout
from uncone.encoders.rows.segmentation import Kind

__all__ = ["RowFacts", "facts_of", "joined_facts"]

_NO_KIND = -1
"""A whole text is neither a word nor a number."""
_NOTHING = np.empty(0, np.int64)


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
        kind = int(self.kinds[place])
        return "text" if kind == _NO_KIND else Kind(kind).name.lower()

    def excerpt(self, place: int, reach: int = 40) -> str:
        """A row in its sentence, as a reader wants to see it.

        >>> one = np.zeros(1, np.int64)
        >>> RowFacts(one, ["bank"], one, one + 2, one, one + 2, one + 6, ["a bank of sand"]).excerpt(0)
        'a [bank] of sand'
        """
        text = self.sentences[int(self.sentence[place])]
        start, end = int(self.starts[place]), int(self.ends[place])
        before, after = text[max(start - reach, 0) : start], text[end : end + reach]
        opened = "…" if start > reach else ""
        closed = "…" if end + reach < len(text) else ""
        return f"{opened}{before}[{text[start:end]}]{after}{closed}"


def facts_of(batch: Sequence[Laid], layout: Layout, rows: IntVector) -> RowFacts:
    """What is known of those of `rows` (in order) that stand in a batch; the batch is numbered in its order."""
    places = np.flatnonzero(np.isin(layout.rows, rows, assume_unique=True))
    firsts = np.array([laid.first_row for laid in batch], np.int64)
    lengths = np.array([laid.passage.length for laid in batch], np.int64)
    numbers = layout.rows[places]
    passage_numbers = np.searchsorted(firsts, numbers, side="right") - 1
    inside = numbers - firsts[passage_numbers]
    positions = list(zip(passage_numbers.tolist(), inside.tolist(), strict=True))
    sentences = list(dict.fromkeys(laid.passage.text for laid in batch))
    sentence_numbers = {text: place for place, text in enumerate(sentences)}
    of = np.array([sentence_numbers[laid.passage.text] for laid in batch], np.int64)
    tokens = layout.tokens[layout.starts[places]] if len(places) else places
    return RowFacts(
        numbers,
        [batch[laid].names[i] for laid, i in positions],
        np.array([batch[laid].kinds[i] if batch[laid].kinds else _NO_KIND for laid, i in positions], np.int64),
        tokens - (np.cumsum(lengths) - lengths)[passage_numbers],
        of[passage_numbers],
        np.array([batch[laid].starts[i] for laid, i in positions], np.int64),
        np.array([batch[laid].ends[i] for laid, i in positions], np.int64),
        sentences,
    )


def joined_facts(parts: Sequence[RowFacts]) -> RowFacts:
    """Those of several batches that follow each other, as one; only sentences that a row stands in are kept."""
    sentences: dict[str, int] = {}
    of = []
    for part in parts:
        texts = [part.sentences[i] for i in part.sentence.tolist()]
        of.append(np.array([sentences.setdefault(text, len(sentences)) for text in texts], np.int64))
    columns = [[getattr(part, name) for part in parts] for name in ("rows", "kinds", "positions", "starts", "ends")]
    rows, kinds, positions, starts, ends = (np.concatenate([*column, _NOTHING]) for column in columns)
    words = [word for part in parts for word in part.words]
    return RowFacts(rows, words, kinds, positions, np.concatenate([*of, _NOTHING]), starts, ends, list(sentences))
