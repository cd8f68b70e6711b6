"""The points of a map: a sample of rows by the hash of their numbers, the same at every layer and after a repair."""

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
from uncone.encoders.rows.row_facts import RowFacts
from uncone.errors import NoUsableRowsError, OptionError
from uncone.repairs.repair import Mapped
from uncone.repairs.saving import Saved
from uncone.run.measure import measure, step_progress
from uncone.stats.row_sample import RowSample, cutoff_for
from uncone.stats.statistic import Bundle
from uncone.stats.unusable import Unusable
from uncone.verbs.spaces.encoding import Progress
from uncone.verbs.spaces.opener import last_part
from uncone.verbs.spaces.repaired import space_of

__all__ = ["RAW", "REPAIRED", "MapRows", "added_note", "repaired_space", "vector_rows", "whole_texts"]

RAW = "raw"
REPAIRED = "repaired"
_WORD_FILES = ("word vectors", "word2vec")


@dataclass(frozen=True, eq=False)
class MapRows:
    """The points of a map, in one space or several, with their texts, labels and facts.

    `rows` (n,) are their numbers among `total`; the places of the spaces point into them, and texts, labels and facts
    are in their order. `described` describes the source for the report. `counts` are how often each word of the texts
    occurs, `words` the listed words that occur. If `ranked`, the number of a row is its rank by frequency, as in files
    of word vectors. `streams` are the sources that can be read again, by the name of the space. With `unit_length`,
    norms say nothing.
    """

    described: Mapping[str, Any]
    rows: IntVector
    spaces: Sequence[Space]
    total: int
    texts: Texts | None = None
    labels: Sequence[str] | None = None
    facts: RowFacts | None = None
    counts: Mapping[str, int] | None = None
    ranked: bool = False
    words: WordList = field(default_factory=WordList)
    notes: Sequence[str] = ()
    streams: Mapping[str, Source] = field(default_factory=dict)
    unit_length: bool = False

    @property
    def n(self) -> int:
        """The number of points."""
        return len(self.rows)

    def shown_texts(self) -> list[str]:
        """The text of each point, or the part of it that the point is; "" if there are no texts."""
        return [""] * self.n if self.texts is None else [self.texts.text(place) for place in range(self.n)]


def vector_rows(
    source: Source,
    points: int,
    seed: int,
    words: WordList,
    saved: Saved | None = None,
    progress: Progress | None = None,
) -> MapRows:
    """A sample of the vectors of a source, and those with words of the list; with a repair, also repaired.

    Raises:
        NoUsableRowsError: every vector is NaN, infinite or zero.
        OptionError: no text contains a word of the list, or there are no texts.
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
    result = measure(source, statistic, progress=step_progress(progress, "reading", source.rows))
    sample, unusable = result["rows"].sampled, result["unusable"]
    if not sample.n:
        raise NoUsableRowsError(
            f"{source.name}: none of {count(unusable.n_read, 'row')} can be used: {_left_out(unusable)}. Check how "
            "they were made."
        )
    left = unusable.bad + unusable.zero
    notes = [f"{left:,} of {count(unusable.n_read, 'row')} are not on the map: {_left_out(unusable)}."] if left else []
    if len(words):
        if sample.texts is None:
            raise OptionError(f"--words searches texts, but {source.name} has none: name their column with --text.")
        words, unknown = words.restrict(result["listed"].present, source.name)
        n, sample = sample.n, result["listed"].beside(sample)
        notes += [*unknown, *added_note(n, sample.n)]
    vectors = sample.vectors
    after, repair_notes = repaired_space(vectors, saved)
    name = RAW if saved is not None else last_part(source.name)
    spaces = [Space(name, vectors, np.arange(sample.n)), *after]
    streams = {spaces[0].name: source}
    if saved is not None:
        streams[REPAIRED] = Mapped(source, saved.repair)
    return MapRows(
        {"kind": source.kind, "rows": unusable.n_read, "dimensions": source.dim, "dtype": source.dtype},
        sample.rows,
        spaces,
        unusable.n_read - left,
        None if sample.texts is None else whole_texts(sample.texts),
        sample.labels,
        ranked=source.kind in _WORD_FILES and sample.texts is not None,
        words=words,
        notes=[*notes, *repair_notes, *([source.note] if source.note else [])],
        streams=streams if source.rereadable else {},
        unit_length=source.unit_length,
    )


def _left_out(unusable: Unusable) -> str:
    """The reasons why rows are left out, with counts."""
    parts = {"NaN, infinity or numbers over 1e16": unusable.bad, "zero or shorter than 1e-19": unusable.zero}
    return ", ".join(f"{reason} ({n:,})" for reason, n in parts.items() if n)


def added_note(sampled: int, total: int) -> list[str]:
    """A sentence about rows that are shown beside a sample because of their words."""
    more = total - sampled
    return [f"Beside a sample of {count(sampled, 'row')}, {more:,} more with a listed word are shown."] if more else []


def repaired_space(
    vectors: Matrix, saved: Saved | None, repaired: Matrix | None = None
) -> tuple[list[Space], list[str]]:
    """The vectors after a repair as another space, and a note of those that it makes unusable; nothing without one."""
    if saved is None:
        return [], []
    after = saved.repair.map(vectors) if repaired is None else repaired
    usable = np.flatnonzero(np.isfinite(after).all(axis=1))
    lost = len(after) - len(usable)
    notes = [f"The repair gives no numbers for {count(lost, 'row')}, missing on its side."] if lost else []
    return [Space(REPAIRED, after[usable] if lost else after, usable)], notes


def whole_texts(texts: Sequence[str]) -> Texts:
    """One text per point."""
    return Texts(list(texts), np.arange(len(texts)))
