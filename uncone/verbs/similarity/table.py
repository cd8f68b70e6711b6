"""The table that `similarity` compares: its texts, the ones beside them, labels and vectors, row by row."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from uncone.analysis.similarity.label_sums import label_text
from uncone.data.batch import Batch, IntVector, Matrix
from uncone.data.open import open_source, suffix_of
from uncone.data.source import Options, Source
from uncone.data.tables.fields import clipped, is_number
from uncone.data.texts.cleaning import clean
from uncone.data.texts.texts import TextSource, text_suffix
from uncone.errors import ColumnError, OptionError, ShapeError, SourceError
from uncone.stats.hashing import hash_sample
from uncone.verbs.encoding import open_space, open_texts_of
from uncone.verbs.options.similarity import SimilarityOptions
from uncone.verbs.tables import MemoryTable

__all__ = ["Table", "cleaned", "holds_vectors", "read_text_table", "read_vector_table", "sampled"]


@dataclass(frozen=True, eq=False)
class Table:
    """Every row of a source: `texts`, `against` and `labels` have one entry each, "" where there is none.

    `kept` are the numbers of the rows that are compared, in order; `vectors` (len(kept), d) are theirs, where the
    table brought them. `left_out` counts the other rows, by reason.
    """

    name: str
    rows: int
    texts: Sequence[str] | None
    kept: IntVector
    against: Sequence[str] | None = None
    labels: Sequence[str] | None = None
    vectors: Matrix | None = None
    dtype: str = "float32"
    in_memory: bool = False
    left_out: Mapping[str, int] = field(default_factory=dict)
    cleaned: Mapping[str, int] = field(default_factory=dict)
    notes: Sequence[str] = ()

    def where(self, kept: IntVector, reason: str) -> Table:
        """Only these rows; the others are counted under a reason."""
        gone = len(self.kept) - len(kept)
        vectors = None if self.vectors is None else self.vectors[np.isin(self.kept, kept)]
        counted = {**self.left_out, reason: gone} if gone else self.left_out
        return replace(self, kept=kept, vectors=vectors, left_out=counted)


def read_text_table(source: Any, options: SimilarityOptions) -> Table:  # noqa: ANN401 - as for similarity
    """The texts of a file, a corpus, a DataFrame or a list, with those beside them and the labels.

    Raises:
        ColumnError: a column is not there, or holds numbers.
        OptionError: two columns are wanted where there is one.
        ShapeError: fewer than two rows have a text.
    """
    text, against, label, labels = options.text_column, options.against, options.label, options.labels
    columns = [name for name in (text, against) if name is not None]
    if against is not None and text is None:
        raise OptionError(f"--against {against} is the second of two text columns: name the first with --text.")
    opened = _opened(source, columns, label, options.data)
    table = _from_texts(opened, text, against, not isinstance(source, str | os.PathLike))
    if labels is not None:
        if len(labels) != table.rows:
            raise ShapeError(f"{table.name} has {table.rows:,} rows but there are {len(labels):,} labels.")
        table = replace(table, labels=[_as_label(one) for one in labels])
    if options.limit is not None and options.limit < table.rows:
        table = _first(table, options.limit)
    return _with_texts(table, text, against)


def read_vector_table(source: Any, asked: SimilarityOptions) -> Table:  # noqa: ANN401 - as for similarity
    """The vectors of a file, a DataFrame column or an array, read as a stream; a seeded sample of very many.

    Raises:
        SourceError: it cannot be read; the message says why.
        ShapeError: fewer than two rows can be used.
    """
    in_memory, limit = not isinstance(source, str | os.PathLike), asked.limit
    labels = None if asked.labels is None else [_as_label(one) for one in asked.labels]
    opened = open_space(source, replace(asked, labels=labels))
    reading = _Reading(asked.sample, asked.seed)
    for rows in opened.read():
        with np.errstate(over="ignore"):
            vectors = np.ascontiguousarray(rows.vectors, dtype=np.float32)
        reading.take(vectors, rows.texts, rows.labels, limit)
        if limit is not None and reading.rows >= limit:
            break
    table = reading.table(opened, in_memory)
    if len(table.kept) < 2:
        raise ShapeError(
            f"{table.name}: {len(table.kept)} of {table.rows:,} rows can be used; cosines need at least 2."
        )
    return table


def holds_vectors(source: Any, text: str | None, label: str | None) -> bool:  # noqa: ANN401 - as for similarity
    """Whether a source that nobody said more about holds vectors: a list column, or a file of nothing else.

    Columns of single numbers beside a text are no vector: they are lengths, scores and years.
    """
    if isinstance(source, str | os.PathLike):
        return _file_holds_vectors(Path(source), text, label)
    if isinstance(source, Source):
        return True
    if isinstance(source, TextSource) or MemoryTable.of(source) is not None:
        return False
    # Looking into an iterator would take its first block away.
    first = next(iter(source), None) if isinstance(source, Iterable) and not isinstance(source, Iterator) else None
    return not isinstance(first, str)


def _file_holds_vectors(path: Path, text: str | None, label: str | None) -> bool:
    if path.is_dir():
        return not any(map(text_suffix, path.iterdir()))
    if text_suffix(path) is None or text_suffix(path) == ".txt" or not path.is_file():
        return text_suffix(path) is None and suffix_of(path) is not None
    try:
        found = open_source(path, Options(None, None, text, label))
    except SourceError:
        return False  # whoever reads it as texts says what is wrong
    return found.kind != "table" or (found.note or "").startswith("vectors from column")


def cleaned(table: Table) -> Table:
    """The same with cleaned texts, without the rows that are then empty or copies of another; each step is counted.

    Raises:
        ShapeError: fewer than two rows are left.
    """
    assert table.texts is not None
    found = clean(table.texts, table.against)
    texts, against = list(table.texts), None if table.against is None else list(table.against)
    for place, row in enumerate(found.rows.tolist()):
        texts[row] = found.texts[place]
        if against is not None and found.against is not None:
            against[row] = found.against[place]
    if len(found.rows) < 2:
        raise ShapeError(f"{table.name} has {len(found.rows)} texts when it is cleaned; cosines need at least 2.")
    made = replace(table, texts=texts, against=against, cleaned=found.counts, left_out={})
    kept = np.intersect1d(found.rows, table.kept)
    return made.where(kept, "empty or copies")


def sampled(table: Table, most: int, seed: int) -> Table:
    """The same with at most so many rows compared, chosen by a hash of their numbers."""
    if len(table.kept) <= most:
        return table
    return table.where(table.kept[hash_sample(table.kept, most, seed)], "not in the sample")


class _Reading:
    """What is kept of a stream of vectors: all names, and the vectors of a sample of usable rows."""

    def __init__(self, sample: int, seed: int) -> None:
        self.sample, self.seed = sample, seed
        self.rows = self.usable = self.bad = self.zero = 0
        self.texts: list[str] = []
        self.labels: list[str] = []
        self.held: list[tuple[IntVector, Matrix]] = []
        self.have = 0

    def take(
        self, vectors: Matrix, texts: Sequence[str] | None, labels: Sequence[str] | None, limit: int | None
    ) -> None:
        stop = len(vectors) if limit is None else min(len(vectors), limit - self.rows)
        batch = Batch.of(vectors[:stop], first_row=self.rows)
        self.rows += stop
        self.usable, self.bad, self.zero = self.usable + batch.n, self.bad + len(batch.bad), self.zero + len(batch.zero)
        for held, new in ((self.texts, texts), (self.labels, labels)):
            held.extend(new[:stop] if new is not None else ())
        self.held.append((batch.rows, np.array(batch.vectors)))
        self.have += batch.n
        if self.have > 2 * self.sample:
            self._prune()

    def _prune(self) -> None:
        rows, vectors = (np.concatenate(parts) for parts in zip(*self.held, strict=True))
        if len(rows) > self.sample:
            chosen = hash_sample(rows, self.sample, self.seed)
            rows, vectors = rows[chosen], vectors[chosen]
        self.held, self.have = [(rows, vectors)], len(rows)

    def table(self, source: Source, in_memory: bool) -> Table:
        if not self.held:
            raise ShapeError(f"{source.name} has no rows. Cosines need at least 2.")
        self._prune()
        kept, vectors = self.held[0]
        reasons = {"not finite": self.bad, "zero": self.zero, "not in the sample": self.usable - len(kept)}
        return Table(
            source.name,
            self.rows,
            self.texts if len(self.texts) == self.rows else None,
            kept,
            labels=self.labels if len(self.labels) == self.rows else None,
            vectors=vectors,
            dtype=source.dtype,
            in_memory=in_memory,
            left_out={reason: count for reason, count in reasons.items() if count},
            notes=[source.note] if source.note else [],
        )


def _from_texts(opened: TextSource, text: str | None, against: str | None, in_memory: bool) -> Table:
    if against is not None and (width := _width(opened)) != 2:
        raise OptionError(
            f"--text {text} and --against {against} are {width} column{'s' if width > 1 else ''}; we need two."
        )
    texts: list[str] = []
    beside: list[str] = []
    labels: list[str] = []
    known: dict[str, str] = {}  # one string for all rows of a label
    labelled = False
    for row in opened.read():
        if against is not None and len(texts) > len(beside):
            beside.append(row.text)
            continue
        texts.append(row.text)
        labels.append(known.setdefault(row.label or "", row.label or ""))
        labelled = labelled or row.label is not None
    return Table(
        opened.name,
        len(texts),
        texts,
        np.arange(len(texts), dtype=np.int64),
        None if against is None else beside,
        labels if labelled else None,
        in_memory=in_memory,
    )


def _opened(source: Any, columns: Sequence[str], label: str | None, data: Any) -> TextSource:  # noqa: ANN401
    try:
        return open_texts_of(source, columns, label, data)
    except ColumnError as error:
        if len(columns) == 2 and f"{columns[1]!r} for --text" in str(error):
            raise ColumnError(str(error).replace("for --text", "for --against", 1)) from error
        raise


def _width(opened: TextSource) -> int:
    """How many columns of a table are read as texts."""
    part = getattr(opened, "parts", [opened])[0]
    columns = getattr(part, "columns", None)
    return len(getattr(part, "text", ()) if columns is None else columns.text)


def _as_label(value: Any) -> str:  # noqa: ANN401 - whatever a column of labels holds
    return label_text(value) or ""


def _first(table: Table, limit: int) -> Table:
    texts, against, labels = (
        None if column is None else column[:limit] for column in (table.texts, table.against, table.labels)
    )
    return replace(table, rows=limit, texts=texts, kept=table.kept[:limit], against=against, labels=labels)


def _with_texts(table: Table, text: str | None, against: str | None) -> Table:
    """Rows without a text are left out and counted; numbers alone are no texts."""
    assert table.texts is not None
    for option, named, column in (("text", text, table.texts), ("against", against, table.against)):
        filled = [one for one in column or () if one.strip()]
        if filled and all(map(is_number, filled)):
            what = f"column {named!r}" if named else "the texts"
            raise ColumnError(
                f"{table.name}: {what} for --{option} holds only numbers, such as {clipped(filled[0])!r}. "
                "Name the column that holds texts."
            )
    beside = table.against or table.texts
    there = [bool(one.strip() and other.strip()) for one, other in zip(table.texts, beside, strict=True)]
    kept = table.where(table.kept[np.flatnonzero(there)], "empty text")
    if not table.rows:
        raise ShapeError(f"{table.name} has no rows; cosines need at least 2.")
    if len(kept.kept) < 2:
        has = "1 of {} rows has" if len(kept.kept) == 1 else "None of {} rows has"
        raise ShapeError(f"{table.name}: {has.format(f'{table.rows:,}')} a text; cosines need at least 2.")
    return kept
