"""Tables: .csv and .tsv with a column of vectors as text, or with one number per column."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from uncone.data.source import Options, Source
from uncone.data.vectors.text_rows import (
    MISSING,
    Record,
    TextVectors,
    clipped,
    is_number,
    number_of,
    open_text,
    text_lines,
)
from uncone.errors import ColumnError, FormatError, ShapeError

__all__ = ["Table", "open_table", "parse_vector"]

_LOOKED_AT = 100  # rows that tell what the columns hold


def open_table(path: Path, options: Options) -> Source:
    """A .csv or .tsv file."""
    return Table(path, options, "table")


@dataclass(frozen=True)
class _Layout:
    """Where a table keeps things: its vector column or its numeric columns, its text and label."""

    names: list[str]
    vector: int | None
    numeric: list[int]
    text: int | None
    label: int | None
    has_header: bool


class Table(TextVectors):
    """A .csv or .tsv file: one column that holds vectors as text ("[0.1, ...]"), or one number per column."""

    def records(self) -> Iterator[Record]:
        ending = self.path.name.lower().removesuffix(".gz")
        csv.field_size_limit(1 << 30)
        with open_text(self.path) as stream:
            reader = csv.reader(text_lines(stream, self.path), delimiter="\t" if ending.endswith(".tsv") else ",")
            try:
                yield from self._rows(reader)
            except csv.Error as error:
                raise FormatError(f"{self.path}, line {reader.line_num}: {error}. Is it really a table?") from error

    def _rows(self, reader: Any) -> Iterator[Record]:  # noqa: ANN401 - the csv module hides its reader type
        head = [(reader.line_num, row) for row in itertools.islice(reader, _LOOKED_AT) if row]
        if not head:
            return
        layout = _layout(self.path, [row for _, row in head], self.options)
        self.note = _note(layout)
        rest = ((reader.line_num, row) for row in reader if row)
        for line, row in itertools.chain(head[1:] if layout.has_header else head, rest):
            if len(row) != len(layout.names):
                raise ShapeError(
                    f"{self.path} is ragged: line {line} has {len(row)} columns, the first has {len(layout.names)}. "
                    "Quote fields that hold a delimiter."
                )
            if layout.vector is not None:
                vector: Any = parse_vector(row[layout.vector], f"{self.path}, line {line}")
            else:
                vector = [number_of(row[i], self.path, line) for i in layout.numeric]
            text, label = (None if i is None else row[i] for i in (layout.text, layout.label))
            yield Record(line, vector, text, label)


def parse_vector(text: str, where: str) -> np.ndarray | None:
    """The numbers of "[0.1, 0.2]" or of numpy's "[0.1 0.2]"; None for an empty field.

    >>> parse_vector("[1, 2.5]", "here").tolist()
    [1.0, 2.5]
    """
    text = text.strip()
    if text.lower() in MISSING:
        return None
    if "..." in text:
        raise FormatError(f"{where}: the vector was cut by numpy's printing ('...'). Write it with .tolist() instead.")
    inside = text[1:-1] if text[:1] + text[-1:] in ("[]", "()") else text
    words = inside.replace(",", " ").split()
    try:
        return np.array(["nan" if word.lower() in MISSING else word for word in words], np.float64)
    except ValueError as error:
        raise FormatError(f"{where}: {clipped(text)!r} is not a vector such as [0.1, 0.2].") from error


def _layout(path: Path, head: list[list[str]], options: Options) -> _Layout:
    has_header = _is_header(head)
    names = head[0] if has_header else [f"column {i + 1}" for i in range(len(head[0]))]
    sample = [row for row in head[has_header:] if len(row) == len(names)]
    text, label = (_place(path, names, name, what) for name, what in ((options.text, "text"), (options.label, "label")))
    vector = _vector_place(path, names, sample, options.column)
    numeric = [
        i
        for i, name in enumerate(names)
        if i not in (text, label) and not _is_index(name) and _is_numeric([row[i] for row in sample])
    ]
    # Among fractions, a column of whole numbers is an id, a label or a year, not a dimension.
    fractions = [i for i in numeric if any(_is_fraction(row[i]) for row in sample)]
    numeric = fractions or numeric
    if vector is None and len(numeric) < 2:
        raise ColumnError(
            f"{path} has no column of vectors such as [0.1, 0.2] and no columns of numbers; "
            f"it has {', '.join(names)}. Name one with --column NAME."
        )
    return _Layout(names, vector, numeric, text, label, has_header)


def _is_header(head: list[list[str]]) -> bool:
    """Whether the first row names the columns; pandas names them 0, 1, 2 when nobody else does."""
    first = [value.strip() for value in head[0]]
    named = [value for value in first if value]
    if not all(is_number(value) or _looks_like_vector(value) for value in named):
        return True
    return len(head) > 1 and len(named) > 1 and named == [str(i) for i in range(len(named))]


def _vector_place(path: Path, names: list[str], sample: list[list[str]], wanted: str | None) -> int | None:
    if wanted is not None:
        place = _place(path, names, wanted, "column")
        if sample and place is not None and _is_numeric([row[place] for row in sample]):
            raise ColumnError(f"Column {wanted!r} of {path} holds numbers, where we need vectors such as [0.1, 0.2].")
        return place
    places = [i for i in range(len(names)) if any(_looks_like_vector(row[i]) for row in sample)]
    if len(places) > 1:
        found = ", ".join(names[i] for i in places)
        raise ColumnError(f"{path} has several columns of vectors: {found}. Name one with --column NAME.")
    return places[0] if places else None


def _place(path: Path, names: list[str], wanted: str | None, option: str) -> int | None:
    if wanted is None:
        return None
    if wanted not in names:
        raise ColumnError(f"{path} has no column {wanted!r} for --{option}; it has {', '.join(names)}.")
    return names.index(wanted)


def _note(layout: _Layout) -> str | None:
    if layout.vector is not None:
        return f"vectors from column {layout.names[layout.vector]!r}"
    left = [name or "(unnamed)" for i, name in enumerate(layout.names) if i not in layout.numeric]
    return f"{len(layout.numeric)} columns of numbers" + (
        f"; left out: {clipped(', '.join(left), 120)}" if left else ""
    )


def _is_index(name: str) -> bool:
    """Whether a column counts rows: pandas writes its index without a name."""
    return name.strip().lower() in {"", "id", "idx", "index", "row", "unnamed: 0"}


def _is_fraction(value: str) -> bool:
    return bool(set(value) & set(".eE")) and is_number(value)


def _looks_like_vector(value: str) -> bool:
    return value.strip().startswith("[")


def _is_numeric(values: list[str]) -> bool:
    known = [value for value in values if value.strip().lower() not in MISSING]
    return bool(known) and all(map(is_number, known))
