"""The table that `similarity` compares: its texts, those of a second column, labels and vectors, row by row."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from uncone.data.batch import Batch, IntVector, Matrix
from uncone.data.open import open_source, suffix_of
from uncone.data.source import Options, Source
from uncone.data.storage.path import path_of
from uncone.data.tables.fields import clipped, is_number, label_text
from uncone.data.tables.memory import MemoryTable
from uncone.data.texts.cleaning import clean
from uncone.data.texts.texts import TextSource, text_suffix
from uncone.data.vectors.databases.url import is_database
from uncone.data.vectors.frames.open import is_frame
from uncone.errors import ColumnError, OptionError, ShapeError, SourceError
from uncone.stats.hashing import hash_sample
from uncone.stats.row_sample import RowSample
from uncone.stats.unusable import Unusable
from uncone.verbs.options.similarity import SimilarityOptions
from uncone.verbs.spaces.encoding import open_space, open_texts_of

__all__ = ["NOT_SAMPLED", "Table", "cleaned", "holds_vectors", "read_text_table", "read_vector_table", "sampled"]

NOT_SAMPLED = "not in the sample"
"""The reason why rows beyond --sample are left out."""


@dataclass(frozen=True, eq=False)
class Table:
    """A table of texts or vectors: `texts`, `against` and `labels` have one entry per row, "" if there is none.

    `places` are the numbers of the rows that are compared, in order; `vectors` (len(places), d) are theirs if the
    source holds vectors. `left_out` counts the other rows, by reason.
    """

    name: str
    rows: int
    texts: Sequence[str] | None
    places: IntVector
    against: Sequence[str] | None = None
    labels: Sequence[str] | None = None
    vectors: Matrix | None = None
    dtype: str = "float32"
    in_memory: bool = False
    unit_length: bool = False
    left_out: Mapping[str, int] = field(default_factory=dict)
    cleaned: Mapping[str, int] = field(default_factory=dict)
    notes: Sequence[str] = ()

    def select(self, places: IntVector, reason: str) -> Table:
        """The table with fewer rows compared; the others are counted under a reason."""
        dropped = len(self.places) - len(places)
        left_out = {**self.left_out, reason: dropped} if dropped else self.left_out
        return replace(self, places=places, left_out=left_out)

    def compared(self, column: Sequence[str] | None) -> list[str]:
        """The texts of a column in the rows that are compared, without white space around them."""
        return [] if column is None else [column[row].strip() for row in self.places.tolist()]


def read_text_table(source: Any, options: SimilarityOptions) -> Table:  # noqa: ANN401 - as for similarity
    """The texts of a file, a corpus, a DataFrame or a list, with those beside them and the labels.

    Raises:
        ColumnError: a column is not there, or holds numbers.
        OptionError: two columns are named, but there is one.
        ShapeError: fewer than two rows have a text.
    """
    text, against, labels = options.text_column, options.against, options.labels
    columns = [name for name in (text, against) if name is not None]
    if against is not None and text is None:
        raise OptionError(f"--against {against} is the second of two text columns: name the first with --text.")
    try:
        opened = open_texts_of(source, columns, options.label, options.data)
    except ColumnError as error:
        if len(columns) == 2 and f"{columns[1]!r} for --text" in str(error):
            raise ColumnError(str(error).replace("for --text", "for --against", 1)) from error
        raise
    table = _from_texts(opened, text, against, not isinstance(source, str | os.PathLike))
    if labels is not None:
        if len(labels) != table.rows:
            raise ShapeError(f"{table.name} has {table.rows:,} rows but there are {len(labels):,} labels.")
        table = replace(table, labels=_label_texts(labels))
    if options.limit is not None and options.limit < table.rows:
        first: dict[str, Any] = {name: getattr(table, name) for name in ("texts", "against", "labels", "places")}
        first = {name: None if column is None else column[: options.limit] for name, column in first.items()}
        table = replace(table, rows=options.limit, **first)
    return _with_texts(table, text, against)


def read_vector_table(source: Any, options: SimilarityOptions) -> Table:  # noqa: ANN401 - as for similarity
    """The vectors of a file, a DataFrame column or an array, read as a stream; a seeded sample of very many.

    Raises:
        SourceError: it cannot be read; the message says why.
        ShapeError: fewer than two rows can be used.
    """
    labels = None if options.labels is None else _label_texts(options.labels)
    opened = open_space(source, replace(options, labels=labels))
    sample = RowSample(opened.dim, options.sample, seed=options.seed, keep_texts=False)
    unusable, names = Unusable(), {"texts": list[str](), "labels": list[str]()}
    for part in opened.read():
        stop = len(part.vectors) if options.limit is None else min(len(part.vectors), options.limit - unusable.n_read)
        with np.errstate(over="ignore"):
            vectors = np.ascontiguousarray(part.vectors[:stop], dtype=np.float32)
        batch = Batch.of(vectors, first_row=unusable.n_read)
        sample.update(batch)
        unusable.update(batch)
        for name, column in names.items():
            column.extend((getattr(part, name) or ())[:stop])
        if unusable.n_read == options.limit:
            break
    rows, sampled = unusable.n_read, sample.sampled
    if not rows:
        raise ShapeError(f"{opened.name} has no rows. Cosines need at least 2.")
    if sampled.n < 2:
        raise ShapeError(f"{opened.name}: {sampled.n} of {rows:,} rows can be used; cosines need at least 2.")
    unsampled = rows - unusable.bad - unusable.zero - sampled.n
    reasons = {"not finite": unusable.bad, "zero": unusable.zero, NOT_SAMPLED: unsampled}
    return Table(
        opened.name,
        rows,
        names["texts"] if len(names["texts"]) == rows else None,
        sampled.rows,
        labels=names["labels"] if len(names["labels"]) == rows else None,
        vectors=sampled.vectors,
        dtype=opened.dtype,
        in_memory=not isinstance(source, str | os.PathLike),
        left_out={reason: n for reason, n in reasons.items() if n},
        notes=[opened.note] if opened.note else [],
        unit_length=opened.unit_length,
    )


def holds_vectors(source: Any, text: str | None, label: str | None) -> bool:  # noqa: ANN401 - as for similarity
    """Whether a source holds vectors, without an option that says so: a list column, or a file of nothing else.

    Columns of single numbers beside a text are no vector: they are lengths, scores and years.
    """
    if isinstance(source, Source) or is_frame(source) or (isinstance(source, str) and is_database(source)):
        return True
    if isinstance(source, str | os.PathLike):
        return _file_holds_vectors(path_of(source), text, label)
    if isinstance(source, TextSource) or MemoryTable.of(source) is not None:
        return False
    # Looking into an iterator would consume its first block.
    first = next(iter(source), None) if isinstance(source, Iterable) and not isinstance(source, Iterator) else None
    return not isinstance(first, str)


def _file_holds_vectors(path: Path, text: str | None, label: str | None) -> bool:
    if path.is_dir():
        return not any(map(text_suffix, path.iterdir()))
    if text_suffix(path) is None or text_suffix(path) == ".txt" or not path.is_file():
        return text_suffix(path) is None and suffix_of(path) is not None
    try:
        source = open_source(path, Options(None, None, text, label))
    except SourceError:
        return False  # reading it as texts raises with the reason
    return source.kind != "table" or (source.note or "").startswith("vectors from column")


def cleaned(table: Table) -> Table:
    """The table with cleaned texts, without empty rows and copies; each step is counted.

    Raises:
        ShapeError: fewer than two rows are left.
    """
    assert table.texts is not None
    clean_texts = clean(table.texts, table.against)
    texts, against = list(table.texts), None if table.against is None else list(table.against)
    for place, row in enumerate(clean_texts.rows.tolist()):
        texts[row] = clean_texts.texts[place]
        if against is not None and clean_texts.against is not None:
            against[row] = clean_texts.against[place]
    if len(clean_texts.rows) < 2:
        raise ShapeError(f"{table.name} has {len(clean_texts.rows)} texts after cleaning; cosines need at least 2.")
    whole = replace(table, texts=texts, against=against, cleaned=clean_texts.counts, left_out={})
    return whole.select(np.intersect1d(clean_texts.rows, table.places), "empty or copies")


def sampled(table: Table, limit: int, seed: int) -> Table:
    """The table with at most `limit` rows compared, chosen by a hash of their numbers."""
    if len(table.places) <= limit:
        return table
    return table.select(table.places[hash_sample(table.places, limit, seed)], NOT_SAMPLED)


def _from_texts(opened: TextSource, text: str | None, against: str | None, in_memory: bool) -> Table:
    if against is not None and (width := _width(opened)) != 2:
        raise OptionError(
            f"--text {text} and --against {against} are {width} column{'s' if width > 1 else ''}; we need two."
        )
    texts: list[str] = []
    beside: list[str] = []
    labels: list[str] = []
    interned: dict[str, str] = {}  # one string for all rows of a label
    has_labels = False
    for _, content, name in opened.read():
        if against is not None and len(texts) > len(beside):
            beside.append(content)
            continue
        texts.append(content)
        labels.append(interned.setdefault(name or "", name or ""))
        has_labels = has_labels or name is not None
    return Table(
        opened.name,
        len(texts),
        texts,
        np.arange(len(texts), dtype=np.int64),
        None if against is None else beside,
        labels if has_labels else None,
        in_memory=in_memory,
    )


def _width(opened: TextSource) -> int:
    """How many columns of a table are read as texts."""
    part = getattr(opened, "parts", [opened])[0]
    columns = getattr(part, "columns", None)
    return len(getattr(part, "text", ()) if columns is None else columns.text)


def _label_texts(labels: Sequence[Any]) -> list[str]:
    return [label_text(label) or "" for label in labels]


def _with_texts(table: Table, text: str | None, against: str | None) -> Table:
    """The table without rows that have no text, which are counted; numbers alone are no texts."""
    assert table.texts is not None
    for option, name, column in (("text", text, table.texts), ("against", against, table.against)):
        filled = [value for value in column or () if value.strip()]
        if filled and all(map(is_number, filled)):
            label = f"column {name!r}" if name else "the texts"
            raise ColumnError(
                f"{table.name}: {label} for --{option} holds only numbers, such as {clipped(filled[0])!r}. "
                "Name the column that holds texts."
            )
    beside = table.against or table.texts
    has_texts = [bool(left.strip() and right.strip()) for left, right in zip(table.texts, beside, strict=True)]
    whole = table.select(table.places[np.flatnonzero(has_texts)], "empty text")
    if not table.rows:
        raise ShapeError(f"{table.name} has no rows; cosines need at least 2.")
    if len(whole.places) < 2:
        few = "1" if len(whole.places) else "None"
        raise ShapeError(f"{table.name}: {few} of {table.rows:,} rows has a text; cosines need at least 2.")
    return whole
