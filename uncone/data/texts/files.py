"""Texts in files: lines, tables, and lines that come through a pipe."""

from __future__ import annotations

import io
import itertools
import json
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any

from uncone.data.tables.columns import TextColumns, choose_columns, first_row_names_columns, requested_columns
from uncone.data.tables.fields import clipped, is_number, list_names, whole_text
from uncone.data.tables.lines import line_blocks, numbered_lines
from uncone.data.tables.read import Block, open_table, plain_suffix
from uncone.data.texts.texts import TextRow, TextSource
from uncone.errors import ColumnError, FormatError

__all__ = ["LineTexts", "SpooledTexts", "TableTexts"]

_KINDS = {".csv": "table", ".tsv": "table", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}
_text_row = partial(tuple.__new__, TextRow)
_WORDS = 5  # of a column name that looks like a text


class LineTexts(TextSource):
    """A file in which a line is a text."""

    kind = "lines"

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = str(path)
        self.files = (path,)

    def read(self) -> Iterator[TextRow]:
        for line, text in numbered_lines(self.path):
            yield TextRow(line - 1, text)


class SpooledTexts(TextSource):
    """The lines of a stream, copied to an unnamed temporary file so that they can be read again."""

    kind = "lines"

    def __init__(self, stream: IO[bytes], name: str) -> None:
        self.name = name
        self._spool = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the source
        weakref.finalize(self, self._spool.close)
        shutil.copyfileobj(stream, self._spool)
        self._spool.flush()
        if not self._spool.tell():
            raise FormatError(f"{name} is empty (0 bytes). Pipe one text a line into it.")

    def read(self) -> Iterator[TextRow]:
        with io.BufferedReader(_FromStart(self._spool.fileno())) as stream:
            for block in line_blocks(stream, self.name):
                for line, text in block.lines(self.name):
                    yield TextRow(line - 1, text)


class _FromStart(io.RawIOBase):
    """An open file with a position of its own, so that two readers of it do not disturb each other."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.place = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401 - anything that can be written to
        data = os.pread(self.descriptor, len(buffer), self.place)
        buffer[: len(data)] = data
        self.place += len(data)
        return len(data)


class TableTexts(TextSource):
    """Columns of a .csv, .tsv (in which a quote is a letter like any other), .jsonl or .parquet file."""

    def __init__(
        self, path: Path, text: Sequence[str] = (), label: str | None = None, *, header: bool | None = None
    ) -> None:
        self.path = path
        self.name = str(path)
        self.files = (path,)
        self.kind = _KINDS[plain_suffix(path)]

        def names_columns(head: Sequence[Sequence[str]]) -> bool:
            named = requested_columns(text, head[0]) + ([] if label is None else [label])
            return first_row_names_columns(head, named) if header is None else header

        self.table = open_table(path, names_columns, blank_rows=True)
        self.columns = TextColumns((), None)
        if self.table.names or self.kind == "parquet":
            self.columns = self._choose(text, label)

    def _choose(self, text: Sequence[str], label: str | None) -> TextColumns:
        names, readable = self.table.names, self.table.text_names
        headed = self.kind == "table" and getattr(self.table, "header", False)
        if headed and len(names) == 1 and ";" in names[0] and plain_suffix(self.path) == ".csv":
            raise FormatError(
                f"{self.path} has one column, {clipped(names[0])!r}. Write it with commas, not semicolons."
            )
        hint = ", or --text 2 for the second column of a table without a header" if self.kind == "table" else ""
        columns = choose_columns(self.name, names, text, label, readable, hint)
        if headed and not text and _looks_like_text(columns.text[0]):
            raise ColumnError(
                f"{self.path} has no header: its first row holds {clipped(columns.text[0])!r}. Name the column by its "
                f"number, --text {names.index(columns.text[0]) + 1}, or add a header."
            )
        for name in columns.text if self.kind == "parquet" else ():
            if readable is not None and name not in readable:
                held = getattr(self.table, "schema").field(name).type  # noqa: B009 - a parquet table has one
                raise ColumnError(
                    f"{self.path}: column {name!r} holds {held}, where we need strings. "
                    f"Columns that hold strings: {list_names(readable)}."
                )
        return columns

    def read(self) -> Iterator[TextRow]:
        text, label = self.columns
        first = 0
        for block in self.table.blocks([*text, *([] if label is None else [label])]):
            columns = [self._texts(block, name) for name in text]
            labels: Iterable[str | None] = [None] * block.rows if label is None else self._labels(block, label)
            if len(columns) > 1:  # the texts of a row follow each other
                labels = [of_row for of_row in labels for _ in columns]
            texts: Iterable[str] = (
                columns[0] if len(columns) == 1 else itertools.chain.from_iterable(zip(*columns, strict=True))
            )
            numbers = range(first, first + block.rows * len(columns))
            # As TextRow(...) does it, in half the time.
            yield from map(_text_row, zip(numbers, texts, labels, strict=True))
            first = numbers.stop

    def _texts(self, block: Block, name: str) -> list[str]:
        values = block.values(name, "--text")
        if self.kind == "table":
            return values
        for row, value in enumerate(values if self.kind == "jsonl" else ()):
            where = self.table.where(block.line(row))
            if value is not None and not isinstance(value, str):
                raise FormatError(
                    f"{where}: {name!r} is {clipped(json.dumps(value))}, where we need a string. "
                    "Name the right field with --text NAME."
                )
            whole_text(value or "", where)
        return [value or "" for value in values]

    def _labels(self, block: Block, name: str) -> list[str | None]:
        values = block.values(name, "--label")
        for row, value in enumerate(values if self.kind == "jsonl" else ()):
            if isinstance(value, list | dict):
                where = self.table.where(block.line(row))
                raise FormatError(
                    f"{where}: {name!r} is {clipped(json.dumps(value))}, where we need a word or a number."
                )
        return [None if value is None else str(value) for value in values]


def _looks_like_text(name: str) -> bool:
    """Whether a column name is really a value: a number or a sentence."""
    return is_number(name) or len(name.split()) >= _WORDS
