"""The contract of tables: rows in blocks, columns by name, and the line of every value that is wrong."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from uncone.data.tables.fields import clipped, list_names, whole_text
from uncone.errors import ColumnError, FormatError, MissingSourceError

__all__ = ["TABLE_SUFFIXES", "Block", "HeaderRule", "Table", "open_table", "plain_suffix", "read_table"]

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

    def check_unique(self, names: Sequence[str | None]) -> None:
        """Refuse names that several columns have.

        Raises:
            ColumnError: there is one.
        """
        for name in names:
            if name is not None and self.names.count(name) > 1:
                raise ColumnError(f"{self.path} has several columns named {name!r}: rename all but one.")

    def pick(self, name: str | None, usual: Sequence[str], what: str) -> str:
        """The column of this name, or the first of a usual name.

        Raises:
            ColumnError: there is none, or several are called so.
        """
        known = {known.strip().lower(): known for known in reversed(self.names)}
        chosen = name if name is not None else next((known[word] for word in usual if word in known), None)
        if chosen is None or chosen not in self.names:
            problem = f"no column {name!r}" if name is not None else f"no column that must be the {what}"
            cure = "Name" if name is not None or not usual else f"Call it {usual[0]!r}, or name"
            raise ColumnError(
                f"{self.path} has {problem}; it has {list_names(self.names)}. {cure} the column of the {what}."
            )
        self.check_unique([chosen])
        return chosen

    def column(self, name: str) -> Iterator[tuple[str, Any]]:
        """The values of a column, each with its place as a message names it."""
        for block in self.blocks([name]):
            for row, value in enumerate(block.values(name)):
                yield self.where(block.line(row)), value

    def texts(self, name: str) -> list[str]:
        """A column of texts; a null is an empty text."""
        texts = []
        for where, value in self.column(name):
            if value is not None and not isinstance(value, str):
                raise FormatError(f"{where}: {name!r} is {clipped(str(value))}, where we need a text.")
            texts.append(whole_text(value or "", where))
        return texts


def plain_suffix(path: Path, known: Sequence[str] = TABLE_SUFFIXES, unzipped: Sequence[str] = (".parquet",)) -> str:
    """The ending among those `known`, without .gz or .zst; "" if there is none.

    >>> plain_suffix(Path("a.jsonl.zst")), plain_suffix(Path("b.PARQUET")), plain_suffix(Path("c.md"))
    ('.jsonl', '.parquet', '')
    """
    endings = [ending.lower() for ending in path.suffixes]
    zipped = bool(endings) and endings[-1] in (".gz", ".zst")
    ending = endings[-2 if zipped else -1] if len(endings) > zipped else ""
    return ending if ending in known and not (zipped and ending in unzipped) else ""


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
        from uncone.data.tables.jsonl import JsonTable

        return JsonTable(path)
    from uncone.data.tables.delimited import DelimitedTable

    quoted = suffix == ".csv" or quoted_tabs
    return DelimitedTable(path, "\t" if suffix == ".tsv" else ",", quoted, header, blank_rows)


def read_table(path: Path, named: Sequence[str | None] = ()) -> Table:
    """A table that has rows; `named` columns such as "1" say that it has no header.

    Raises:
        SourceError: it is missing, not readable, ragged or empty; the subclass and the message tell more.
    """
    from uncone.data.tables.columns import first_row_names_columns

    if not path.is_file():
        raise MissingSourceError(f"There is no file {path}.")
    if not plain_suffix(path):
        raise FormatError(f"{path} has an unknown ending {path.suffix!r}; we read {', '.join(TABLE_SUFFIXES)}.")
    columns = [name for name in named if name is not None]
    table = open_table(path, lambda head: first_row_names_columns(head, columns))
    if not table.names:
        raise FormatError(f"{path} is empty. Was it written to the end?")
    return table
