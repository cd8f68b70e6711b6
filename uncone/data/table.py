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
from uncone.data.text_rows import Record, TextVectors, clipped, number_of, open_text, text_lines
from uncone.errors import ColumnError, FormatError, ShapeError

__all__ = ["Table", "open_table", "parse_vector"]


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
        delimiter = "\t" if ".tsv" in self.path.suffixes else ","
        csv.field_size_limit(1 << 30)
        with open_text(self.path) as stream:
            reader = csv.reader(text_lines(stream, self.path), delimiter=delimiter)
            try:
                yield from self._rows(reader)
            except csv.Error as error:
                raise FormatError(f"{self.path}, line {reader.line_num}: {error}. Is it really a table?") from error

    def _rows(self, reader: Any) -> Iterator[Record]:  # noqa: ANN401 - the csv module hides its reader type
        head = list(itertools.islice(reader, 2))
        if not head:
            return
        layout = _layout(self.path, head, self.options)
        rows = itertools.chain(head if not layout.has_header else head[1:], reader)
        for row in rows:
            if not row:
                continue
            line = reader.line_num
            if len(row) != len(layout.names):
                raise ShapeError(
                    f"{self.path} is ragged: line {line} has {len(row)} columns, the first has {len(layout.names)}."
                )
            if layout.vector is not None:
                vector: Any = parse_vector(row[layout.vector], f"{self.path}, line {line}")
            else:
                vector = [number_of(row[i], self.path, line) for i in layout.numeric]
            text, label = (None if i is None else row[i] for i in (layout.text, layout.label))
            yield Record(line, vector, text, label)


def parse_vector(text: str, where: str) -> np.ndarray:
    """The numbers of "[0.1, 0.2]" or of numpy's "[0.1 0.2]".

    >>> parse_vector("[1, 2.5]", "here").tolist()
    [1.0, 2.5]
    """
    if "..." in text:
        raise FormatError(f"{where}: the vector was cut by numpy's printing ('...'). Write it with .tolist() instead.")
    try:
        return np.array(text.strip().strip("[]()").replace(",", " ").split(), np.float64)
    except ValueError as error:
        raise FormatError(f"{where}: {clipped(text)!r} is not a vector such as [0.1, 0.2].") from error


def _layout(path: Path, head: list[list[str]], options: Options) -> _Layout:
    has_header = not all(_isnumber_of(value) or _looks_like_vector(value) for value in head[0])
    names = head[0] if has_header else [f"column {i + 1}" for i in range(len(head[0]))]
    sample = head[1] if has_header and len(head) > 1 else head[0]
    if len(sample) != len(names):
        raise ShapeError(f"{path} is ragged: line 2 has {len(sample)} columns, the first has {len(names)}.")
    text, label = (_place(path, names, name, what) for name, what in ((options.text, "text"), (options.label, "label")))
    vector = _vector_place(path, names, sample, options.column)
    numeric = [i for i, value in enumerate(sample) if _isnumber_of(value) and i not in (text, label)]
    if vector is None and not numeric:
        raise ColumnError(
            f"{path} has no column of vectors such as [0.1, 0.2] and no columns of numbers; "
            f"it has {', '.join(names)}. Name one with --column NAME."
        )
    return _Layout(names, vector, numeric, text, label, has_header)


def _vector_place(path: Path, names: list[str], sample: list[str], wanted: str | None) -> int | None:
    if wanted is not None:
        return _place(path, names, wanted, "column")
    places = [i for i, value in enumerate(sample) if _looks_like_vector(value)]
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


def _looks_like_vector(value: str) -> bool:
    return value.strip().startswith("[")


def _isnumber_of(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True
