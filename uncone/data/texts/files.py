"""Texts in text files: lines, tables and JSON lines, and lines that come through a pipe."""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import json
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from uncone.data.texts.columns import TextColumns, asked_columns, choose_columns, first_row_names_columns
from uncone.data.texts.texts import TextRow, TextSource, text_suffix, whole_text
from uncone.data.vectors.text_rows import clipped, open_bytes
from uncone.errors import ColumnError, FormatError, MissingSourceError, ShapeError

__all__ = ["JsonTexts", "LineTexts", "SpooledTexts", "TableTexts"]

_LOOKED_AT = 100  # rows that tell whether the first one is a header


class LineTexts(TextSource):
    """A file in which a line is a text."""

    kind = "lines"

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = str(path)
        self.files = (path,)

    def read(self) -> Iterator[TextRow]:
        for row, (_, line) in enumerate(_file_lines(self.path)):
            yield TextRow(row, _bare(line))


class SpooledTexts(TextSource):
    """The lines of a stream, kept in an unnamed temporary file so that they can be read again."""

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
            for row, (_, line) in enumerate(_lines(stream, self.name)):
                yield TextRow(row, _bare(line))


class _FromStart(io.RawIOBase):
    """An open file with a place of its own, so that two readers of it do not disturb each other."""

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
    """A .csv file, with the usual quoting, or a .tsv file, in which a quote is a letter like any other."""

    kind = "table"

    def __init__(
        self, path: Path, text: Sequence[str] = (), label: str | None = None, *, header: bool | None = None
    ) -> None:
        self.path = path
        self.name = str(path)
        self.files = (path,)
        self.tabs = text_suffix(path) == ".tsv"
        self.width, self.header = 0, False
        self.text: list[int] = []
        self.label: int | None = None
        head = [row for _, row in itertools.islice(self._filled(), _LOOKED_AT)]
        if head:
            self._choose(head, text, label, header)

    def _choose(self, head: list[list[str]], text: Sequence[str], label: str | None, header: bool | None) -> None:
        asked = asked_columns(text, head[0]) + ([] if label is None else [label])
        self.header = first_row_names_columns(head, asked) if header is None else header
        self.width = len(head[0])
        names = head[0] if self.header else [str(number) for number in range(1, self.width + 1)]
        if self.width == 1 and self.header and not self.tabs and ";" in names[0]:
            raise FormatError(
                f"{self.path} has one column, {clipped(names[0])!r}. Write it with commas, not semicolons."
            )
        hint = ", or --text 2 for the second column of a table without a header"
        columns = choose_columns(str(self.path), names, text, label, hint=hint)
        self.text = [names.index(name) for name in columns.text]
        self.label = None if columns.label is None else names.index(columns.label)

    def read(self) -> Iterator[TextRow]:
        count = itertools.count()
        for line, row in itertools.islice(self._filled(), int(self.header), None):
            if len(row) != self.width:
                cure = "Put spaces for tabs inside texts" if self.tabs else "Quote fields that hold a comma"
                raise ShapeError(
                    f"{self.path} is ragged: line {line} has {len(row)} columns, the first has {self.width}. {cure}."
                )
            for place in self.text:
                yield TextRow(next(count), row[place], None if self.label is None else row[self.label])

    def _filled(self) -> Iterator[tuple[int, list[str]]]:
        """The rows; a blank line is one only where it can be an empty text: in a table of one column."""
        width = 0
        for line, row in self._tabbed() if self.tabs else self._quoted():
            if row != [""] or width == 1:
                width = width or len(row)
                yield line, row

    def _tabbed(self) -> Iterator[tuple[int, list[str]]]:
        for line, text in _file_lines(self.path):
            yield line, _bare(text).split("\t")

    def _quoted(self) -> Iterator[tuple[int, list[str]]]:
        csv.field_size_limit(1 << 30)
        # Strict, because otherwise a quote that is never closed swallows the rest of the file.
        reader = csv.reader((text for _, text in _file_lines(self.path)), strict=True)
        line = 1
        try:
            for row in reader:
                yield line, row or [""]
                line = reader.line_num + 1
        except csv.Error as error:
            raise FormatError(
                f"{self.path}, line {line}: not a row of a .csv ({error}). Close quoted fields, and double the quotes "
                "inside them."
            ) from error


class JsonTexts(TextSource):
    """One JSON object per line; the first one tells the fields."""

    kind = "jsonl"

    def __init__(self, path: Path, text: Sequence[str] = (), label: str | None = None) -> None:
        self.path = path
        self.name = str(path)
        self.files = (path,)
        self.columns = TextColumns((), None)
        first = next((row for _, row in self._objects()), None)
        if first is not None:
            readable = [name for name, value in first.items() if value is None or isinstance(value, str)]
            self.columns = choose_columns(str(path), list(first), text, label, readable)

    def read(self) -> Iterator[TextRow]:
        count = itertools.count()
        for line, row in self._objects():
            label = None if self.columns.label is None else self._label(row, self.columns.label, line)
            for name in self.columns.text:
                yield TextRow(next(count), self._text(row, name, line), label)

    def _text(self, row: dict[str, Any], name: str, line: int) -> str:
        value = self._value(row, name, "text", line)
        if value is not None and not isinstance(value, str):
            raise FormatError(
                f"{self.path}, line {line}: {name!r} is {clipped(json.dumps(value))}, where we need a string. "
                "Name the right field with --text NAME."
            )
        return whole_text(value or "", f"{self.path}, line {line}")

    def _label(self, row: dict[str, Any], name: str, line: int) -> str | None:
        value = self._value(row, name, "label", line)
        if isinstance(value, list | dict):
            found = clipped(json.dumps(value))
            raise FormatError(f"{self.path}, line {line}: {name!r} is {found}, where we need a word or a number.")
        return None if value is None else str(value)

    def _value(self, row: dict[str, Any], name: str, option: str, line: int) -> Any:  # noqa: ANN401 - JSON
        if name not in row:
            keys = clipped(", ".join(row) or "nothing", 200)
            raise ColumnError(f"{self.path}, line {line}: no {name!r} for --{option}; the row has {keys}.")
        return row[name]

    def _objects(self) -> Iterator[tuple[int, dict[str, Any]]]:
        for line, text in _file_lines(self.path):
            if not text.strip():
                continue
            try:
                row = json.loads(text)
            except (ValueError, RecursionError) as error:
                reason = clipped(" ".join(str(error).split()), 80)
                raise FormatError(
                    f"{self.path}, line {line}: not JSON ({reason}). We need one object a line."
                ) from error
            if not isinstance(row, dict):
                raise FormatError(f"{self.path}, line {line}: a {type(row).__name__}, where we need an object.")
            yield line, row


def _file_lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        with open_bytes(path) as stream:
            yield from _lines(stream, str(path))
    except OSError as error:
        raise MissingSourceError(f"{path} cannot be read: {error.strerror or error}. Check it and its disk.") from error


def _lines(stream: IO[bytes], name: str) -> Iterator[tuple[int, str]]:
    """The lines of a file, counted from 1 and with their ends; only a line feed ends one."""
    for number, data in enumerate(stream, start=1):
        if number == 1 and data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            raise FormatError(f"{name} is UTF-16, and we need UTF-8. Convert it with iconv -f utf-16 -t utf-8.")
        if b"\0" in data:
            raise FormatError(
                f"{name}, line {number}: binary data (a NUL byte), where we need text. Is it a text file?"
            )
        try:
            line = data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise FormatError(
                f"{name}, line {number}: not UTF-8 (byte 0x{data[error.start]:02x}). "
                "Convert it, for instance with iconv -f latin1 -t utf-8."
            ) from error
        yield number, line.removeprefix("\ufeff") if number == 1 else line


def _bare(line: str) -> str:
    return line.removesuffix("\n").removesuffix("\r")
