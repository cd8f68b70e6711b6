"""Tables in memory: DataFrames of pandas and polars, Arrow tables, datasets.Dataset, and mappings of columns."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from uncone.data.tables.fields import label_text, list_names
from uncone.data.tables.read import Block, Table, check_columns, choose_columns
from uncone.errors import ColumnError

__all__ = ["ColumnTable", "MemoryTable", "is_path"]

_SAMPLE = 100  # values that show what a column holds


class MemoryTable:
    """The columns of a table in memory, by name."""

    def __init__(self, table: Any, keys: Sequence[Any]) -> None:  # noqa: ANN401 - whatever holds columns
        self.table, self._keys = table, {str(key): key for key in keys}
        self.names = list(self._keys)

    @classmethod
    def of(cls, value: Any) -> MemoryTable | None:  # noqa: ANN401 - whatever a user has
        """The table that a value is; None if it is none.

        >>> MemoryTable.of({"text": ["a", "b"]}).names, MemoryTable.of(["a", "b"])
        (['text'], None)
        """
        names = list(value) if isinstance(value, Mapping) else getattr(value, "column_names", None)
        if names is None and hasattr(value, "__getitem__"):
            names = getattr(value, "columns", None)
        return None if names is None or isinstance(names, dict) else cls(value, list(names))

    def column(self, name: str, option: str) -> list[Any]:
        """The values of a column.

        Raises:
            ColumnError: there is none of that name.
        """
        check_columns("The table", self.names, [(option, name)])
        values = self.table[self._keys[name]]
        if isinstance(values, str):
            raise ColumnError(f"Column {name!r} of the table is a single text. Give a list of values, one per row.")
        for convert in ("to_pylist", "to_list", "tolist"):
            if hasattr(values, convert):
                return list(getattr(values, convert)())
        return list(values)

    def labels(self, name: str | None) -> list[str] | None:
        """The labels in a column."""
        return None if name is None else [label_text(value) or "" for value in self.column(name, "label")]

    def vectors(self, name: str | None) -> Any:  # noqa: ANN401 - whatever can become an array
        """The vectors in a column, in the only one that holds lists of numbers, or in the numbers of all columns.

        Raises:
            ColumnError: no column does, or several do.
        """
        if name is None:
            columns = [column for column in self.names if self._first(column, lambda value: np.ndim(value) == 1)]
            if not columns and all(self._first(column, lambda value: isinstance(value, Real)) for column in self.names):
                return np.column_stack([self.column(column, "column") for column in self.names]).astype(np.float64)
            if len(columns) != 1:
                problem = f"several columns of vectors: {list_names(columns)}" if columns else "no column of vectors"
                raise ColumnError(f"The table has {problem}. Name one with column=, or a model= to encode texts.")
            name = columns[0]
        return self.column(name, "column")

    def strings(self, name: str, option: str = "text") -> list[str]:
        """The texts in a column; a missing one is empty.

        Raises:
            ColumnError: there is no such column, or it holds something else.
        """
        values = self.column(name, option)
        wrong = next((value for value in values if not isinstance(value, str) and not _is_missing(value)), None)
        if wrong is not None or not any(isinstance(value, str) for value in values):
            raise ColumnError(
                f"Column {name!r} for --{option} holds {type(values[0] if wrong is None else wrong).__name__} values, "
                f"where we need strings. Columns of strings: {list_names(self.string_columns) or 'none'}."
            )
        return [value if isinstance(value, str) else "" for value in values]

    @property
    def string_columns(self) -> list[str]:
        """The columns whose first values are strings."""
        return [name for name in self.names if self._first(name, lambda value: isinstance(value, str))]

    def text_columns(self, requested: Sequence[str], label: str | None = None) -> list[str]:
        """The columns with texts: those that are named, or the one that must be meant.

        Raises:
            ColumnError: there is none of that name, or several could be meant.
        """
        return list(choose_columns("The table", self.names, list(requested), label, self.string_columns).text)

    def _first(self, name: str, is_kind: Any) -> bool:  # noqa: ANN401 - a test of a value
        values = self.table[self._keys[name]]
        return any(is_kind(value.as_py() if hasattr(value, "as_py") else value) for value in islice(values, _SAMPLE))


class ColumnTable(Table):
    """A table in memory, read as a file is read: one block, whose rows are numbered from 1."""

    unit = "row"

    def __init__(self, columns: MemoryTable) -> None:
        super().__init__(Path("the table"))
        self.names, self._columns = columns.names, columns

    def blocks(self, names: Sequence[str] | None = None) -> Iterator[Block]:
        yield _Columns(self._columns, (self.names if names is None else names) or self.names)


class _Columns(Block):
    def __init__(self, columns: MemoryTable, names: Sequence[str]) -> None:
        self._columns = columns
        self.rows = len(columns.column(names[0], "")) if names else 0

    def values(self, name: str, option: str = "") -> list[Any]:
        return [None if _is_missing(value) else value for value in self._columns.column(name, option)]

    def line(self, row: int) -> int:
        return row + 1


def is_path(source: object) -> bool:
    """Whether a source is named, by a path or as a known set, and not a table in memory."""
    return isinstance(source, str | os.PathLike)


def _is_missing(value: object) -> bool:
    return value is None or value != value or type(value).__name__ in ("NAType", "NaTType")
