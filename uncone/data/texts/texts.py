"""Texts to encode: lines, tables, pipes and lists of strings, and the function that opens them."""

from __future__ import annotations

import io
import itertools
import json
import os
import shutil
import sys
import tempfile
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from uncone.data.storage.files import check_readable, find_files
from uncone.data.storage.path import path_of
from uncone.data.tables.fields import clipped, is_number, list_names, whole_text
from uncone.data.tables.lines import line_blocks, numbered_lines
from uncone.data.tables.memory import MemoryTable
from uncone.data.tables.read import (
    TABLE_SUFFIXES,
    Block,
    TextColumns,
    choose_columns,
    first_row_names_columns,
    open_table,
    plain_suffix,
    requested_columns,
)
from uncone.errors import ColumnError, FormatError, MissingSourceError, OptionError, ShapeError

__all__ = [
    "TEXT_SUFFIXES",
    "LineTexts",
    "ListTexts",
    "ManyTexts",
    "MemoryTexts",
    "SpooledTexts",
    "TableTexts",
    "TextRow",
    "TextSlice",
    "TextSource",
    "open_texts",
    "text_suffix",
]

TEXT_SUFFIXES = (".txt", *TABLE_SUFFIXES)
"""The endings of files that hold texts; all but the last may be followed by .gz or .zst."""


TextRow = tuple[int, str, str | None]
"""One text: its number in the source, from 0, the text itself, and its label if it has one."""


class TextSource(ABC):
    """Where texts come from; it can be read any number of times."""

    name: str
    """What the user called it."""

    kind: str
    """lines, table, jsonl, parquet, list or corpus."""

    files: tuple[Path, ...] = ()
    """What it is read from, for a fingerprint; empty for texts in memory."""

    @abstractmethod
    def read(self) -> Iterator[TextRow]:
        """The texts in their order, as they stand; blank ones too."""


class ListTexts(TextSource):
    """Texts in memory."""

    kind = "list"

    def __init__(self, texts: Sequence[str], name: str = "texts") -> None:
        self.texts = texts
        self.name = name

    def read(self) -> Iterator[TextRow]:
        return ((row, text, None) for row, text in enumerate(self.texts))


class ManyTexts(TextSource):
    """Sources that follow each other, such as the files of a folder; rows are numbered through."""

    def __init__(self, parts: Sequence[TextSource], name: str) -> None:
        self.parts = parts
        self.name = name
        self.kind = parts[0].kind
        self.files = tuple(file for part in parts for file in part.files)

    def read(self) -> Iterator[TextRow]:
        every = itertools.chain.from_iterable(part.read() for part in self.parts)
        return ((row, text, label) for row, (_, text, label) in enumerate(every))


class TextSlice(TextSource):
    """Some texts of a source, which is read from its beginning."""

    def __init__(self, source: TextSource, start: int, stop: int) -> None:
        self.source, self.start, self.stop = source, start, stop
        self.name, self.kind, self.files = source.name, source.kind, source.files

    def read(self) -> Iterator[TextRow]:
        return itertools.islice(self.source.read(), self.start, self.stop)


class MemoryTexts(TextSource):
    """The texts of a table in memory, those of a row one after the other, with their labels."""

    kind = "table"
    name = "table"

    def __init__(self, table: MemoryTable, text: Sequence[str], label: str | None = None) -> None:
        self.text = table.text_columns(text, label)
        self._columns = [table.strings(name) for name in self.text]
        self._labels = table.labels(label)
        lengths = {len(column) for column in (*self._columns, *([self._labels] if self._labels else []))}
        if len(lengths) > 1:
            raise ShapeError(
                f"The columns have {' and '.join(f'{n:,}' for n in sorted(lengths))} rows; they need the same number."
            )

    def read(self) -> Iterator[TextRow]:
        number = 0
        for row, texts in enumerate(zip(*self._columns, strict=True)):
            for text in texts:
                yield number, text, None if self._labels is None else self._labels[row]
                number += 1


def open_texts(
    source: Any,  # noqa: ANN401 - a path, the name of a corpus or whatever holds strings
    *,
    text: Sequence[str] = (),
    label: str | None = None,
    data: str | os.PathLike[str] | None = None,
) -> TextSource:
    """The texts that a path, a glob, `-`, the name of a corpus or an iterable of strings stands for.

    Args:
        source: .txt (a line is a text), .csv, .tsv, .jsonl, .parquet, a folder or quoted glob of them, `-` for lines
            on standard input, a corpus such as "snli" or "sts:12", or strings in memory.
        text: the columns that hold texts, each also as "one,two"; those of a row follow each other. The columns of a
            table without a header are called 1, 2, 3.
        label: the column that holds labels.
        data: the folder that holds corpora.

    Raises:
        SourceError: there is nothing, or nothing readable, of that name; the subclass and the message tell more.
        OptionError: an object that does not hold strings, or a split that the corpus does not have.

    >>> list(open_texts(["one", "two"]).read())
    [(0, 'one', None), (1, 'two', None)]
    """
    columns = (text,) if isinstance(text, str) else tuple(text)
    if isinstance(source, TextSource):
        return source
    if not isinstance(source, str | os.PathLike):
        if (table := MemoryTable.of(source)) is not None:
            return MemoryTexts(table, columns, label)
        _refuse_columns("strings in memory", columns, label)
        return _in_memory(source)
    path = source if isinstance(source, str) else str(path_of(source))
    try:
        opened = _open_path(path, columns, label, data)
        # The first text is read at the door: damage should show before a model is loaded.
        next(opened.read(), None)
    except OSError as error:
        reason = error.strerror or str(error)
        raise MissingSourceError(f"{path} cannot be read: {reason}. Check the path and its permissions.") from error
    return opened


def text_suffix(path: Path) -> str | None:
    """The ending of a file of texts, without .gz or .zst.

    >>> text_suffix(Path("a.txt.zst")), text_suffix(Path("b.PARQUET")), text_suffix(Path("c.md"))
    ('.txt', '.parquet', None)
    """
    return plain_suffix(path, TEXT_SUFFIXES) or None


def _open_path(path: str, text: tuple[str, ...], label: str | None, data: str | os.PathLike[str] | None) -> TextSource:
    from uncone.data.texts.corpora import CORPORA, corpus_name, open_corpus
    from uncone.data.texts.texts import SpooledTexts

    if path == "-":
        if sys.stdin is None:
            raise MissingSourceError("Standard input is closed. Pipe one text per line into it, or name a file.")
        _refuse_columns("standard input", text, label)
        return SpooledTexts(sys.stdin.buffer, "standard input")
    where = path_of(path)
    if where.is_fifo():
        _refuse_columns(path, text, label)
        with where.open("rb") as stream:
            return SpooledTexts(stream, path)
    files = find_files(path, text_suffix, "texts", TEXT_SUFFIXES)
    if files is not None:
        return ManyTexts([_open_file(file, text, label) for file in files], path)
    if where.exists():
        return _open_file(where, text, label)
    if corpus_name(path) in CORPORA:
        if text or label:
            raise ColumnError(f"The corpus {path} has its own columns: leave out --text and --label.")
        return open_corpus(path, data)
    raise MissingSourceError(
        f"There is no file or folder {path} and no corpus of that name; the corpora are {', '.join(CORPORA)}."
    )


def _open_file(path: Path, text: tuple[str, ...], label: str | None) -> TextSource:
    from uncone.data.texts.texts import LineTexts, TableTexts

    suffix = text_suffix(path)
    if suffix is None:
        raise FormatError(
            f"{path} has an unknown ending {path.suffix!r}; we read texts from {', '.join(TEXT_SUFFIXES)}, "
            "the text ones also as .gz or .zst. Give it the right name, or pipe one text per line into `-`."
        )
    check_readable(path, "at least one text")
    if suffix == ".txt":
        _refuse_columns(str(path), text, label)
        return LineTexts(path)
    return TableTexts(path, text, label)


def _refuse_columns(where: str, text: tuple[str, ...], label: str | None) -> None:
    for option, value in (("text", text), ("label", label)):
        if value:
            raise ColumnError(
                f"{where}: --{option} is for .csv, .tsv, .jsonl and .parquet; bare texts have no columns. Leave it out."
            )


def _in_memory(source: Any) -> TextSource:  # noqa: ANN401 - whatever the user has
    kind = type(source).__name__
    if hasattr(source, "to_pylist"):
        source = source.to_pylist()  # an Arrow column
    if not isinstance(source, Iterable):
        raise OptionError(f"A {kind} is not a list of texts. Give one column of strings, such as table['text'].")
    missing = source.isna().tolist() if hasattr(source, "isna") else None
    texts = []
    for row, value in enumerate(source):
        empty = value is None if missing is None else missing[row]
        if not empty and not isinstance(value, str):
            raise OptionError(f"Text {row:,} of the {kind} is a {type(value).__name__}; we need strings.")
        texts.append("" if empty else whole_text(str(value), f"Text {row:,} of the {kind}"))
    name = getattr(source, "name", None)
    return ListTexts(texts, name if isinstance(name, str) else "texts")


_KINDS = {".csv": "table", ".tsv": "table", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}
_WORDS = 5  # of a column name that looks like a text


class LineTexts(TextSource):
    """A file in which a line is a text."""

    kind = "lines"

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = str(path)
        self.files = (path,)

    def read(self) -> Iterator[TextRow]:
        return ((line - 1, text, None) for line, text in numbered_lines(self.path))


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
            raise FormatError(f"{name} is empty (0 bytes). Pipe one text per line into it.")

    def read(self) -> Iterator[TextRow]:
        with io.BufferedReader(_FromStart(self._spool.fileno())) as stream:
            for block in line_blocks(stream, self.name):
                yield from ((line - 1, text, None) for line, text in block.lines(self.name))


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
            requested = requested_columns(text, head[0]) + ([] if label is None else [label])
            return first_row_names_columns(head, requested) if header is None else header

        self.table = open_table(path, names_columns, blank_rows=True)
        self.columns = TextColumns((), None)
        if self.table.names or self.kind == "parquet":
            self.columns = self._choose(text, label)

    def _choose(self, text: Sequence[str], label: str | None) -> TextColumns:
        names, readable = self.table.names, self.table.text_names
        self.table.check_commas()
        hint = ", or --text 2 for the second column of a table without a header" if self.kind == "table" else ""
        columns = choose_columns(self.name, names, text, label, readable, hint)
        headed = self.kind == "table" and getattr(self.table, "header", False)
        if headed and not text and _looks_like_text(columns.text[0]):
            raise ColumnError(
                f"{self.path} has no header: its first row holds {clipped(columns.text[0])!r}. Name the column by its "
                f"number, --text {names.index(columns.text[0]) + 1}, or add a header."
            )
        for name in columns.text if self.kind == "parquet" else ():
            if readable is not None and name not in readable:
                dtype = getattr(self.table, "schema").field(name).type  # noqa: B009 - a parquet table has one
                raise ColumnError(
                    f"{self.path}: column {name!r} holds {dtype}; we need strings. "
                    f"Columns that hold strings: {list_names(readable)}."
                )
        return columns

    def read(self) -> Iterator[TextRow]:
        # A chain of zips: a generator that hands on every row would take half as long again.
        return itertools.chain.from_iterable(self._rows())

    def _rows(self) -> Iterator[Iterable[TextRow]]:
        names, label = self.columns
        first = 0
        for block in self.table.blocks([*names, *([] if label is None else [label])]):
            columns = [self.table.texts_of(block, name, "--text") for name in names]
            labels: Iterable[str | None] = itertools.repeat(None) if label is None else self._labels(block, label)
            texts: Iterable[str] = columns[0]
            if len(columns) > 1:  # the texts of a row follow each other
                texts = itertools.chain.from_iterable(zip(*columns, strict=True))
                labels = (value for value in labels for _ in columns)
            stop = first + block.rows * len(columns)
            yield zip(range(first, stop), texts, labels, strict=False)
            first = stop

    def _labels(self, block: Block, name: str) -> list[str | None]:
        values = block.values(name, "--label")
        for row, value in enumerate(values if self.kind == "jsonl" else ()):
            if isinstance(value, list | dict):
                where = self.table.where(block.line(row))
                raise FormatError(f"{where}: {name!r} is {clipped(json.dumps(value))}; we need a word or a number.")
        return [None if value is None else str(value) for value in values]


def _looks_like_text(name: str) -> bool:
    """Whether a column name is really a value: a number or a sentence."""
    return is_number(name) or len(name.split()) >= _WORDS
