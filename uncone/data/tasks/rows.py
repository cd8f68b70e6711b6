"""Rows of task files: fields between tabs, and tables of named columns; every complaint tells the line."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from uncone.data.texts.columns import first_row_names_columns
from uncone.data.texts.files import LineTexts
from uncone.data.texts.texts import text_suffix, whole_text
from uncone.data.vectors.text_rows import clipped
from uncone.errors import ColumnError, FormatError, MissingSourceError, ShapeError

__all__ = ["Table", "lines_of", "number_in", "read_table", "tabbed"]

_KINDS = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet")
_LOOKED_AT = 100  # rows that tell whether the first one is a header


@dataclass(frozen=True)
class Table:
    """The rows of a file by the names of their columns; those of a table without a header are 1, 2, 3."""

    path: Path
    names: list[str]
    rows: list[tuple[int, Mapping[str, Any]]]

    def where(self, line: int) -> str:
        """A row as a message names it."""
        return f"{self.path}, {'row' if text_suffix(self.path) == '.parquet' else 'line'} {line}"

    def pick(self, asked: str | None, usual: Sequence[str], what: str) -> str:
        """The column that was asked for, or the one of a usual name.

        Raises:
            ColumnError: there is none, or several are called so.
        """
        known = {name.strip().lower(): name for name in reversed(self.names)}
        name = asked if asked is not None else next((known[one] for one in usual if one in known), None)
        if name is None or name not in self.names:
            problem = f"no column {asked!r}" if asked is not None else f"no column that must be the {what}"
            has = clipped(", ".join(clipped(one) or "(unnamed)" for one in self.names) or "none", 200)
            cure = "Name" if asked is not None or not usual else f"Call it {usual[0]!r}, or name"
            raise ColumnError(f"{self.path} has {problem}; it has {has}. {cure} the column of the {what}.")
        if self.names.count(name) > 1:
            raise ColumnError(f"{self.path} has several columns named {name!r}: rename all but one.")
        return name

    def column(self, name: str) -> Iterator[tuple[str, Any]]:
        """The values of a column, each with its place as a message names it."""
        for line, row in self.rows:
            if name not in row:
                raise ColumnError(f"{self.where(line)}: no {name!r}; the row has {clipped(', '.join(row), 200)}.")
            yield self.where(line), row[name]

    def texts(self, name: str) -> list[str]:
        """A column of texts; a null is an empty text."""
        found = []
        for where, value in self.column(name):
            if value is not None and not isinstance(value, str):
                raise FormatError(f"{where}: {name!r} is {clipped(str(value))}, where we need a text.")
            found.append(whole_text(value or "", where))
        return found


def number_in(value: object, where: str, low: float = -math.inf, high: float = math.inf) -> float:
    """The number that a field holds, which has to be finite and in range.

    >>> number_in("3.5", "a.tsv, line 1", 0, 5)
    3.5

    Raises:
        FormatError: it is no number, or out of range.
    """
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError) as error:
        raise FormatError(f"{where}: {clipped(str(value))!r} is not a number, where we need a score.") from error
    if not math.isfinite(number) or not low <= number <= high:
        need = "a finite one" if math.isinf(low) else f"one from {low:g} to {high:g}"
        raise FormatError(f"{where}: the score {clipped(str(value))} is out of range; we need {need}.")
    return number


def lines_of(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a text file, counted from 1, blank ones too; a quote is a letter like any other."""
    if not path.is_file():
        raise MissingSourceError(f"There is no file {path}.")
    for found in LineTexts(path).read():
        yield found.row + 1, found.text


def tabbed(path: Path, names: Sequence[str], *, more: bool = False) -> Iterator[tuple[int, list[str]]]:
    """The fields of every line that is not blank: one per name, and `more` of them only where that is allowed.

    Raises:
        ShapeError: a line has fewer or more columns.
    """
    for line, text in lines_of(path):
        if not text.strip():
            continue
        fields = text.split("\t")
        if len(fields) < len(names) or (len(fields) > len(names) and not more):
            need = f"{len(names)}{' or more' if more else ''} ({', '.join(names)})"
            raise ShapeError(
                f"{path}, line {line}: {len(fields)} columns, where we need {need}, with tabs between them."
            )
        yield line, fields


def read_table(path: Path, asked: Sequence[str | None] = ()) -> Table:
    """A .csv, .tsv, .jsonl or .parquet file; `asked` tells by numbers such as "1" that there is no header.

    Raises:
        SourceError: it is not there, not readable or ragged; the subclass and the message tell more.
    """
    suffix = text_suffix(path)
    if not path.is_file():
        raise MissingSourceError(f"There is no file {path}.")
    if suffix not in _KINDS:
        raise FormatError(f"{path} has an unknown ending {path.suffix!r}; we read {', '.join(_KINDS)}.")
    if suffix == ".parquet":
        return _parquet(path)
    if suffix in (".jsonl", ".ndjson"):
        return _json(path)
    rows = list(_quoted(path) if suffix == ".csv" else ((n, t.split("\t")) for n, t in lines_of(path) if t.strip()))
    if not rows:
        raise FormatError(f"{path} is empty. Was it written to the end?")
    first = rows[0][1]
    head = [fields for _, fields in rows[:_LOOKED_AT]]
    header = first_row_names_columns(head, [name for name in asked if name is not None])
    names = first if header else [str(number) for number in range(1, len(first) + 1)]
    for line, fields in rows:
        if len(fields) != len(names):
            cure = "Quote fields that hold a comma" if suffix == ".csv" else "Put spaces for tabs inside texts"
            raise ShapeError(
                f"{path} is ragged: line {line} has {len(fields)} columns, the first has {len(names)}. {cure}."
            )
    return Table(path, names, [(line, dict(zip(names, fields, strict=True))) for line, fields in rows[header:]])


def _quoted(path: Path) -> Iterator[tuple[int, list[str]]]:
    csv.field_size_limit(1 << 30)
    # Strict, because otherwise a quote that is never closed swallows the rest of the file.
    reader = csv.reader((f"{text}\n" for _, text in lines_of(path)), strict=True)
    line = 1
    try:
        for fields in reader:
            if fields:
                yield line, fields
            line = reader.line_num + 1
    except csv.Error as error:
        raise FormatError(
            f"{path}, line {line}: not a row of a .csv ({error}). Close quoted fields, and double the quotes inside."
        ) from error


def _json(path: Path) -> Table:
    rows: list[tuple[int, Mapping[str, Any]]] = []
    for line, text in lines_of(path):
        if not text.strip():
            continue
        try:
            row = json.loads(text)
        except (ValueError, RecursionError) as error:
            reason = clipped(" ".join(str(error).split()), 80)
            raise FormatError(f"{path}, line {line}: not JSON ({reason}). We need one object a line.") from error
        if not isinstance(row, dict):
            raise FormatError(f"{path}, line {line}: a {type(row).__name__}, where we need an object.")
        rows.append((line, row))
    if not rows:
        raise FormatError(f"{path} is empty. Was it written to the end?")
    return Table(path, list(rows[0][1]), rows)


def _parquet(path: Path) -> Table:
    import pyarrow as pa  # here, so that the other kinds do not wait for it
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
        reason = clipped(" ".join(str(error).split()), 160)
        raise FormatError(f"{path} is not a readable parquet file ({reason}). Copy or write it again.") from error
    return Table(path, list(table.column_names), list(enumerate(table.to_pylist(), start=1)))
