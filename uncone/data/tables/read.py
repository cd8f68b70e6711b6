"""Tables: rows in blocks, columns by name, and the line of every bad value. JSON lines are the simplest one."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from uncone.data.storage.path import path_of
from uncone.data.tables.fields import clipped, is_number, list_names, whole_text
from uncone.data.tables.lines import file_blocks
from uncone.errors import ColumnError, FormatError, MissingSourceError, ShapeError

__all__ = [
    "TABLE_SUFFIXES",
    "Block",
    "HeaderRule",
    "JsonBlock",
    "JsonTable",
    "Table",
    "TextColumns",
    "check_columns",
    "check_unique",
    "choose_columns",
    "first_row_names_columns",
    "open_table",
    "plain_suffix",
    "ragged",
    "read_table",
    "requested_columns",
]

TABLE_SUFFIXES = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet")
"""The endings of tables; all but the last may be followed by .gz or .zst."""

HeaderRule = Callable[[Sequence[Sequence[str]]], bool]
"""Whether the first of some rows names the columns."""


class Block(ABC):
    """Some rows of a table."""

    rows: int

    @abstractmethod
    def values(self, name: str, option: str = "") -> list[Any]:
        """A column; `option` is the flag that named it, for a message."""

    @abstractmethod
    def line(self, row: int) -> int:
        """Where a row of the block stands in the file, from 1."""


class Table(ABC):
    """A file of named columns; those of a table without a header are called 1, 2, 3."""

    unit = "line"
    """What `Block.line` counts."""

    holds_strings = False
    """Whether every value is a valid string, so that nobody has to check."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.names: list[str] = []
        self.text_names: list[str] | None = None
        """The columns that can hold texts; None if all can."""

    @abstractmethod
    def blocks(self, names: Sequence[str] | None = None) -> Iterator[Block]:
        """The rows from the first, with these columns, or all."""

    def where(self, line: int) -> str:
        """A row as a message names it."""
        return f"{self.path}, {self.unit} {line}"

    def check_commas(self) -> None:
        """Refuse a .csv file with semicolons between its columns.

        Raises:
            FormatError: it is one.
        """
        if plain_suffix(self.path) == ".csv" and len(self.names) == 1 and ";" in self.names[0]:
            column = clipped(self.names[0])
            raise FormatError(f"{self.path} has one column, {column!r}. Write it with commas, not semicolons.")

    def pick(self, name: str | None, usual: Sequence[str], role: str) -> str:
        """The column of this name, or the first of a usual name.

        Raises:
            ColumnError: there is none, or several are called so.
        """
        headers = {header.strip().lower(): header for header in reversed(self.names)}
        column = name if name is not None else next((headers[word] for word in usual if word in headers), None)
        if column is None or column not in self.names:
            problem = f"no column {name!r}" if name is not None else f"no column that must be the {role}"
            cure = "Name" if name is not None or not usual else f"Call it {usual[0]!r}, or name"
            raise ColumnError(
                f"{self.path} has {problem}; it has {list_names(self.names)}. {cure} the column of the {role}."
            )
        check_unique(self.path, self.names, [column])
        return column

    def column(self, name: str) -> Iterator[tuple[str, Any]]:
        """The values of a column, each with its place as a message names it."""
        for block in self.blocks([name]):
            for row, value in enumerate(block.values(name)):
                yield self.where(block.line(row)), value

    def texts(self, name: str) -> list[str]:
        """A column of texts; a null is an empty text."""
        return [text for block in self.blocks([name]) for text in self.texts_of(block, name)]

    def texts_of(self, block: Block, name: str, option: str = "") -> list[str]:
        """A column of texts of a block; a null is an empty text.

        Raises:
            FormatError: a value is not a text, or holds half of a character.
        """
        values = block.values(name, option)
        if self.holds_strings:
            return values
        for row, value in enumerate(values):
            if value is not None and not isinstance(value, str):
                hint = f" Name the right field with {option} NAME." if option else ""
                where = self.where(block.line(row))
                raise FormatError(f"{where}: {name!r} is {clipped(str(value))}; we need a text.{hint}")
            if value and not value.isascii():
                whole_text(value, self.where(block.line(row)))
        return [value or "" for value in values]


def check_columns(
    where: object, names: Sequence[str], requested: Iterable[tuple[str, str | None]], kind: str = "column"
) -> None:
    """Refuse the name that an option gives if no column has it, or several have.

    >>> check_columns("a.csv", ["a", "b"], [("text", "a"), ("label", None)])

    Raises:
        ColumnError: there is one such name.
    """
    for option, name in requested:
        if name is not None and name not in names:
            raise ColumnError(f"{where} has no {kind} {name!r} for --{option}; it has {list_names(names)}.")
        check_unique(where, names, [name])


def check_unique(where: object, names: Sequence[str], requested: Iterable[str | None]) -> None:
    """Refuse names that several columns have.

    Raises:
        ColumnError: there is one.
    """
    for name in requested:
        if name is not None and names.count(name) > 1:
            raise ColumnError(f"{where} has several columns named {name!r}: rename all but one.")


def ragged(where: object, place: str, size: str, first: object, cure: str = "") -> ShapeError:
    """The error for a row of another size than the first."""
    advice = cure or "Every row needs the same dimensions."
    return ShapeError(f"{where} is ragged: {place} has {size}, the first has {first}. {advice}")


def plain_suffix(path: Path, suffixes: Sequence[str] = TABLE_SUFFIXES, unzipped: Sequence[str] = (".parquet",)) -> str:
    """The ending among these suffixes, without .gz or .zst; "" if there is none.

    >>> plain_suffix(Path("a.jsonl.zst")), plain_suffix(Path("b.PARQUET")), plain_suffix(Path("c.md"))
    ('.jsonl', '.parquet', '')
    """
    endings = [ending.lower() for ending in path.suffixes]
    zipped = bool(endings) and endings[-1] in (".gz", ".zst")
    ending = endings[-2 if zipped else -1] if len(endings) > zipped else ""
    return ending if ending in suffixes and not (zipped and ending in unzipped) else ""


def open_table(
    path: Path, header: bool | HeaderRule = True, *, quoted_tabs: bool = False, blank_rows: bool = False
) -> Table:
    """A .csv, .tsv, .jsonl or .parquet file.

    Args:
        path: the file.
        header: whether the first row of a .csv or .tsv names the columns, or the rule that decides.
        quoted_tabs: whether quotes in a .tsv mean what they mean in a .csv; otherwise they are letters.
        blank_rows: whether a blank line in a .csv or .tsv of one column is a row.
    """
    suffix = plain_suffix(path)
    if suffix == ".parquet":
        from uncone.data.tables.parquet import ParquetTable

        return ParquetTable(path)
    if suffix in (".jsonl", ".ndjson"):
        return JsonTable(path)
    from uncone.data.tables.delimited import DelimitedTable

    quoted = suffix == ".csv" or quoted_tabs
    return DelimitedTable(path, "\t" if suffix == ".tsv" else ",", quoted, header, blank_rows)


def read_table(source: Any, columns: Sequence[str | None] = ()) -> Table:  # noqa: ANN401 - a path, or a table in memory
    """A table that has rows: a file, or columns in memory. Columns such as "1" mean that it has no header.

    Raises:
        SourceError: it is missing, not readable, ragged or empty; the subclass and the message tell more.
    """
    from uncone.data.tables.memory import ColumnTable, MemoryTable

    memory = MemoryTable.of(source)
    table = _open_file(path_of(source), columns) if memory is None else ColumnTable(memory)
    if not table.names:
        raise FormatError(f"{table.path} is empty. Was it written to the end?")
    table.check_commas()
    if not any(block.rows for block in table.blocks([])):
        raise FormatError(f"{table.path} has a header but no rows below it. Was it written to the end?")
    return table


def _open_file(path: Path, columns: Sequence[str | None]) -> Table:
    if not path.is_file():
        raise MissingSourceError(f"There is no file {path}.")
    if not plain_suffix(path):
        raise FormatError(f"{path} has an unknown ending {path.suffix!r}; we read {', '.join(TABLE_SUFFIXES)}.")
    names = [name for name in columns if name is not None]
    return open_table(path, lambda head: first_row_names_columns(head, names))


_USUAL = ("text", "sentence", "content", "body")


class TextColumns(NamedTuple):
    """The columns to read, by name."""

    text: tuple[str, ...]
    label: str | None


def requested_columns(text: Sequence[str], names: Sequence[str]) -> list[str]:
    """The columns that `--text` names, each once; "a,b" is two of them unless a column is called so.

    >>> requested_columns(["a,b", "c"], ["a", "b", "c"]), requested_columns(["a,b"], ["a,b"])
    (['a', 'b', 'c'], ['a,b'])
    """
    parts = [[item] if item in names else [part.strip() for part in item.split(",")] for item in text]
    return list(dict.fromkeys(name for part in parts for name in part))


def choose_columns(
    where: str,
    names: Sequence[str],
    text: Sequence[str],
    label: str | None,
    readable: Sequence[str] | None = None,
    hint: str = "",
) -> TextColumns:
    """The columns of a source that has these `names`, of which the `readable` ones can hold texts.

    Raises:
        ColumnError: a column is not there or not unique, or none was named and several could be meant.

    >>> choose_columns("a.csv", ["id", "Text", "n"], [], "n")
    TextColumns(text=('Text',), label='n')
    """
    requested = requested_columns(text, names)
    check_columns(where, names, [*(("text", name) for name in requested), ("label", label)])
    if requested:
        return TextColumns(tuple(requested), label)
    # A column without a name is the index that pandas writes.
    free = [name for name in (names if readable is None else readable) if name != label and name.strip()]
    usual = [name for word in _USUAL for name in free if name.strip().lower() == word]
    if len(free) != 1 and not usual:
        problem = "several columns" if free else "no column that must be the text"
        raise ColumnError(f"{where} has {problem}: {list_names(names)}. Name one or several with --text NAME{hint}.")
    text_column = free[0] if len(free) == 1 else usual[0]
    check_unique(where, names, [text_column])
    return TextColumns((text_column,), label)


def first_row_names_columns(head: Sequence[Sequence[str]], requested: Sequence[str]) -> bool:
    """Whether the first row of a table is a header, to judge by the columns that were asked for.

    Numbers in range mean a table without one, unless the header itself is made of numbers. A number with nothing but
    numbers below it is no name, but a value such as the label 1.

    >>> first_row_names_columns([["good film", "1"], ["bad film", "0"]], ["1"])
    False
    >>> first_row_names_columns([["0", "1"], ["good", "film"]], ["1"])
    True
    """
    first, below = head[0], head[1:]
    if not requested or not all(name.isdecimal() and 1 <= int(name) <= len(first) for name in requested):
        return True
    places = [first.index(name) for name in requested if name in first]
    return any(value.strip() and not is_number(value) for at in places for row in below for value in row[at : at + 1])


class JsonBlock(Block):
    """Parsed lines: objects, or bare lists if the table allows them."""

    def __init__(self, path: Path, lines: Sequence[int], objects: Sequence[Any]) -> None:
        self.path, self.lines, self.objects = path, lines, objects
        self.rows = len(objects)

    def line(self, row: int) -> int:
        return self.lines[row]

    def values(self, name: str, option: str = "") -> list[Any]:
        for line, row in zip(self.lines, self.objects, strict=True):
            if name not in row:
                purpose = f" for {option}" if option else ""
                keys = clipped(", ".join(row) or "nothing", 200)
                raise ColumnError(f"{self.path}, line {line}: no {name!r}{purpose}; the row has {keys}.")
        return [row[name] for row in self.objects]


class JsonTable(Table):
    """One object per line; the first one names the columns. `lists` allows bare lists of numbers among them."""

    def __init__(self, path: Path, *, lists: bool = False) -> None:
        super().__init__(path)
        self.lists = lists
        first: Any = next((block.objects[0] for block in self.blocks()), {})
        items = first if isinstance(first, dict) else {}
        self.names = list(items)
        self.text_names = [name for name, value in items.items() if value is None or isinstance(value, str)]

    def blocks(self, names: Sequence[str] | None = None) -> Iterator[JsonBlock]:
        for block in file_blocks(self.path):
            parsed = [(line, self._parse(text, line)) for line, text in block.lines(str(self.path)) if text.strip()]
            if parsed:
                yield JsonBlock(self.path, [line for line, _ in parsed], [row for _, row in parsed])

    def _parse(self, text: str, line: int) -> Any:  # noqa: ANN401 - JSON
        try:
            row = json.loads(text)
        except (ValueError, RecursionError) as error:
            reason = clipped(" ".join(str(error).split()), 80)
            raise FormatError(f"{self.where(line)}: not JSON ({reason}). We need one object per line.") from error
        if isinstance(row, dict) or (self.lists and isinstance(row, list)):
            return row
        need = "an object or a list of numbers" if self.lists else "an object"
        raise FormatError(f"{self.where(line)}: a {type(row).__name__}; we need {need}.")
