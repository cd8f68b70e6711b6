"""The rows of a map: a sample by the hash of their numbers, so that every layer and both sides of a repair show one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from uncone.analysis.number_format import count
from uncone.analysis.projections.pictures import Space
from uncone.analysis.projections.results import Texts
from uncone.analysis.projections.word_list import ListedRows, WordList
from uncone.data.batch import IntVector, Matrix
from uncone.data.source import Source
from uncone.encoders.row_facts import RowFacts
from uncone.errors import NoUsableRowsError, OptionError
from uncone.repairs.repaired_source import Mapped
from uncone.repairs.saving import Saved
from uncone.run.measure import measure
from uncone.stats.row_sample import RowSample, SampledRows, cutoff_for
from uncone.stats.statistic import Bundle
from uncone.stats.unusable import Unusable
from uncone.verbs.encoding import Progress
from uncone.verbs.repaired_spaces import space_of

__all__ = ["RAW", "REPAIRED", "Gathered", "beside_note", "both_sides", "vector_rows", "whole_texts"]

RAW = "raw"
REPAIRED = "repaired"
_WORD_FILES = ("word vectors", "word2vec")


@dataclass(frozen=True, eq=False)
class Gathered:
    """Rows to map, in one space or in several, and what is known of each.

    `rows` (n,) are their numbers among `total`; the places of the spaces point into them, and texts, labels and facts
    are in their order. `counts` are how often each word of the texts occurs. `ranked` says that the number of a row is
    its rank by frequency, as in files of word vectors. `streams` are what can be read again, by the space's name.
    """

    told: Mapping[str, Any]
    rows: IntVector
    spaces: Sequence[Space]
    total: int
    texts: Texts | None = None
    labels: Sequence[str] | None = None
    facts: RowFacts | None = None
    counts: Mapping[str, int] | None = None
    ranked: bool = False
    words: WordList = field(default_factory=WordList)
    """Those of the word list that are known."""
    notes: Sequence[str] = ()
    streams: Mapping[str, Source] = field(default_factory=dict)

    @property
    def n(self) -> int:
        """Rows."""
        return len(self.rows)

    def shown(self, place: int) -> str | None:
        """The text of a row, or the part of it that the row is."""
        if self.texts is None:
            return None
        whole = self.texts.sentences[int(self.texts.sentence[place])]
        if self.texts.starts is None or self.texts.ends is None:
            return whole
        return whole[int(self.texts.starts[place]) : int(self.texts.ends[place])]


def vector_rows(
    source: Source,
    points: int,
    seed: int,
    words: WordList,
    saved: Saved | None = None,
    progress: Progress | None = None,
) -> Gathered:
    """A sample of the vectors of a source, and those with words of the list; with a repair, as they are and repaired.

    Raises:
        NoUsableRowsError: every row is NaN, infinite or zero.
        OptionError: none of the words is there.
        OtherSpaceError: the repair takes vectors of another dimension.
    """
    space = space_of(source)
    if saved is not None:
        space.check_fits(saved.repair)
    cutoff = None if source.rows is None else cutoff_for(points, source.rows, seed)
    statistic = Bundle(
        rows=RowSample(source.dim, points, seed=seed, cutoff=cutoff),
        unusable=Unusable(),
        listed=ListedRows.of(words, source.dim, seed),
    )
    told = None if progress is None else lambda done: progress("reading", done, source.rows)
    found = measure(source, statistic, progress=told)
    sample, unusable = found["rows"].sampled, found["unusable"]
    if not sample.n:
        raise NoUsableRowsError(
            f"{source.name}: none of {count(unusable.seen, 'row')} can be used: {_left_out(unusable)}. Look at how "
            "they were made."
        )
    left = unusable.bad + unusable.zero
    notes = [f"{left:,} of {count(unusable.seen, 'row')} are not on the map: {_left_out(unusable)}."] if left else []
    if len(words):
        words, unknown = words.known(_there(found["listed"], sample, source.name), source.name)
        drawn, sample = sample.n, found["listed"].beside(sample)
        notes += [*unknown, *beside_note(drawn, sample.n)]
    places, vectors = np.arange(sample.n), sample.vectors
    after, more = both_sides(vectors, saved)
    spaces = [Space(RAW if saved is not None else _short(source.name), vectors, places), *after]
    streams = {spaces[0].name: source}
    if saved is not None:
        streams[REPAIRED] = Mapped(source, saved.repair)
    return Gathered(
        {"kind": source.kind, "rows": unusable.seen, "dimensions": source.dim, "dtype": source.dtype},
        sample.rows,
        spaces,
        unusable.seen - left,
        None if sample.texts is None else whole_texts(sample.texts),
        sample.labels,
        ranked=source.kind in _WORD_FILES and sample.texts is not None,
        words=words,
        notes=[*notes, *more, *([source.note] if source.note else [])],
        streams=streams if source.rereadable else {},
    )


def _left_out(found: Unusable) -> str:
    """Why rows are left out, and how many."""
    parts = {"NaN, infinity or numbers over 1e16": found.bad, "zero or shorter than 1e-19": found.zero}
    return ", ".join(f"{why} ({n:,})" for why, n in parts.items() if n)


def beside_note(drawn: int, shown: int) -> list[str]:
    """A sentence about rows that are shown beside a sample because of their words."""
    more = shown - drawn
    return [f"Beside a sample of {count(drawn, 'row')}, {more:,} more with a listed word are shown."] if more else []


def _there(listed: ListedRows, sample: SampledRows, name: str) -> set[str]:
    if sample.texts is None:
        raise OptionError(f"--words looks for words in the rows' texts, and {name} has none: name them with --text.")
    return listed.present


def both_sides(vectors: Matrix, saved: Saved | None, repaired: Matrix | None = None) -> tuple[list[Space], list[str]]:
    """The same rows after a repair, as another space, and a note of those that it makes unusable."""
    if saved is None:
        return [], []
    after = saved.repair.map(vectors) if repaired is None else repaired
    usable = np.flatnonzero(np.isfinite(after).all(axis=1))
    lost = len(after) - len(usable)
    notes = [f"The repair gives no numbers for {count(lost, 'row')}, missing on its side."] if lost else []
    return [Space(REPAIRED, after[usable] if lost else after, usable)], notes


def whole_texts(texts: Sequence[str]) -> Texts:
    """A text for every row."""
    return Texts(list(texts), np.arange(len(texts)))


def _short(name: str) -> str:
    return name.rstrip("/").rsplit("/", 1)[-1] or name
