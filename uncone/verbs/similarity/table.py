"""The table that `similarity` compares: its texts, the ones beside them, labels and vectors, row by row."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np

from uncone.analysis.similarity.label_codes import label_text
from uncone.data.batch import Batch, IntVector, Matrix
from uncone.data.open import open_source
from uncone.data.source import Options, Source
from uncone.data.tables.columns import choose_columns
from uncone.data.tables.fields import clipped, is_number
from uncone.data.texts.cleaning import clean
from uncone.data.texts.texts import TextSource
from uncone.errors import ColumnError, OptionError, ShapeError
from uncone.stats.samples.hashing import hash_keys
from uncone.verbs.encoding import open_texts_of

__all__ = ["Table", "cleaned", "read_text_table", "read_vector_table", "sampled"]

_LOOKED_AT = 100  # rows that tell what a column holds


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


def read_text_table(
    source: Any,  # noqa: ANN401 - as for similarity
    *,
    text: str | None = None,
    against: str | None = None,
    label: str | None = None,
    labels: Sequence[str] | None = None,
    data: str | os.PathLike[str] | None = None,
    limit: int | None = None,
) -> Table:
    """The texts of a file, a corpus, a DataFrame or a list, with those beside them and the labels.

    Raises:
        ColumnError: a column is not there, or holds numbers.
        OptionError: two columns are wanted where there is one.
        ShapeError: fewer than two rows have a text.
    """
    if isinstance(source, Mapping) or hasattr(source, "columns"):
        table = _from_columns(source, text, against, label)
    else:
        columns = [name for name in (text, against) if name is not None]
        if against is not None and text is None:
            raise OptionError(f"--against {against} is the second of two text columns: name the first with --text.")
        opened = _opened(source, columns, label, data)
        table = _from_texts(opened, text, against, not isinstance(source, str | os.PathLike))
    if labels is not None:
        if len(labels) != table.rows:
            raise ShapeError(f"{table.name} has {table.rows:,} rows but there are {len(labels):,} labels.")
        table = replace(table, labels=[_as_label(one) for one in labels])
    if limit is not None and limit < table.rows:
        table = _first(table, limit)
    return _with_texts(table, text, against)


def read_vector_table(
    source: Any,  # noqa: ANN401 - as for similarity
    options: Options,
    *,
    texts: Sequence[str] | None = None,
    labels: Sequence[Any] | None = None,
    sample: int,
    seed: int,
    limit: int | None = None,
) -> Table:
    """The vectors of a file, a DataFrame column or an array, read as a stream; a seeded sample of very many.

    Raises:
        SourceError: it cannot be read; the message says why.
        ShapeError: fewer than two rows can be used.
    """
    in_memory = not isinstance(source, str | os.PathLike)
    if isinstance(source, Mapping) or hasattr(source, "columns"):
        source, texts, labels = _vector_columns(source, options, texts, labels)
        options = Options()
    named = None if labels is None else [_as_label(one) for one in labels]
    opened = open_source(source, options, texts=texts, labels=named)
    reading = _Reading(sample, seed)
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
    order = np.argsort(hash_keys(table.kept, seed), kind="stable")
    return table.where(np.sort(table.kept[order[:most]]), "not in the sample")


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
            chosen = np.sort(np.argsort(hash_keys(rows, self.seed), kind="stable")[: self.sample])
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


def _from_columns(frame: Any, text: str | None, against: str | None, label: str | None) -> Table:  # noqa: ANN401
    """The columns of a DataFrame, or of a mapping from names to lists."""
    names = _names(frame)
    strings = [name for name in names if any(isinstance(one, str) for one in islice(frame[name], _LOOKED_AT))]
    wanted = [] if text is None else [text]
    chosen = choose_columns("The table", names, [*wanted, *([against] if against is not None else [])], label, strings)
    for option, name in (("text", chosen.text[0]), ("against", against)):
        if name is not None and name not in strings:
            first = next(iter(frame[name]), None)
            raise ColumnError(
                f"Column {name!r} for --{option} holds {type(first).__name__} values, where we need strings. "
                f"Columns of strings: {clipped(', '.join(strings) or 'none', 200)}."
            )
    texts = [row.text for row in open_texts_of(frame[chosen.text[0]]).read()]
    beside = None if against is None else [row.text for row in open_texts_of(frame[against]).read()]
    named = None if label is None else [_as_label(one) for one in frame[label]]
    lengths = {len(column) for column in (texts, beside, named) if column is not None}
    if len(lengths) > 1:
        raise ShapeError(f"The columns have {' and '.join(f'{n:,}' for n in sorted(lengths))} rows: give equal ones.")
    kept = np.arange(len(texts), dtype=np.int64)
    return Table("table", len(texts), texts, kept, beside, named, in_memory=True)


def _vector_columns(
    frame: Any,  # noqa: ANN401 - a DataFrame or a mapping
    options: Options,
    texts: Sequence[str] | None,
    labels: Sequence[Any] | None,
) -> tuple[Any, Sequence[str] | None, Sequence[Any] | None]:
    names = _names(frame)
    for option, name in (("column", options.column), ("text", options.text), ("label", options.label)):
        if name is not None and name not in names:
            raise ColumnError(f"The table has no column {name!r} for --{option}; it has {', '.join(names)}.")
    if options.text is not None:
        texts = [row.text for row in open_texts_of(frame[options.text]).read()]
    if options.label is not None:
        labels = list(frame[options.label])
    return list(frame[options.column]), texts, labels


def _names(frame: Any) -> list[str]:  # noqa: ANN401 - a DataFrame or a mapping
    return [str(name) for name in (frame.keys() if isinstance(frame, Mapping) else frame.columns)]


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
