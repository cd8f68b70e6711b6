"""Side columns: texts, labels and ids of the vectors of a source, row for row, to be written out again."""

from __future__ import annotations

import itertools
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

from uncone.data.source import Rows
from uncone.data.tables.delimited import DelimitedTable
from uncone.data.tables.jsonl import JsonBlock, JsonTable
from uncone.data.tables.read import Table
from uncone.errors import FormatError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "TEXT_COLUMN",
    "VECTOR",
    "JsonColumns",
    "NamedColumns",
    "SideColumns",
    "SideValues",
    "TableColumns",
    "unique_name",
]

VECTOR = "embedding"
"""The name of a column of vectors that had none."""

TEXT_COLUMN = "text_column"
"""The column that tells which text of a row was encoded."""


class SideColumns(ABC):
    """Columns `names` beside the vectors, which are called `vector` and stand before column `place`.

    `wide` are the names of the columns when the vectors are one number per column, `header` whether names are written
    at all: a table without names stays one.
    """

    names: list[str]
    vector: str = VECTOR
    place: int = 0
    wide: list[str] | None = None
    header: bool = True
    metadata: dict[bytes, bytes] | None = None
    """Of a parquet file."""

    @abstractmethod
    def take(self, rows: Rows) -> SideValues:
        """What stands beside these rows, which are the next."""

    @abstractmethod
    def fields(self) -> list[pa.Field]:
        """The columns as they are in a parquet file."""


class SideValues:
    """The values of the columns for some rows: as lists here, other kinds keep them otherwise.

    `whole` are the rows as JSON objects, where keys may be missing, or None where a row was a bare list of numbers.
    """

    def __init__(self, columns: Sequence[Sequence[Any]], whole: Sequence[dict[str, Any] | None] | None = None) -> None:
        self.columns = columns
        self.whole = whole

    def lists(self) -> Sequence[Sequence[Any]]:
        """Column by column, as plain values."""
        return self.columns

    def arrow(self, fields: Sequence[pa.Field]) -> list[pa.Array]:
        """Column by column, of these types."""
        import pyarrow as pa

        return [
            pa.array([_fitted(value, field.type) for value in column], field.type)
            for column, field in zip(self.columns, fields, strict=True)
        ]


class NamedColumns(SideColumns):
    """The texts and labels of the rows themselves: words, or what was given beside an array."""

    def __init__(self, rows: Rows, text: str = "text") -> None:
        self._has = (rows.texts is not None, rows.labels is not None)
        self.names = [name for name, here in zip((text, "label"), self._has, strict=True) if here]
        self.vector = unique_name(VECTOR, self.names)
        self.place = len(self.names)

    def take(self, rows: Rows) -> SideValues:
        given = [values for values, here in zip((rows.texts, rows.labels), self._has, strict=True) if here]
        return SideValues([[""] * len(rows.vectors) if values is None else list(values) for values in given])

    def fields(self) -> list[pa.Field]:
        import pyarrow as pa

        return [pa.field(name, pa.string()) for name in self.names]


class _FileColumns(SideColumns):
    """Columns read from the files again, beside the vectors; a row with several texts comes once for each of them."""

    def __init__(self, tables: Sequence[Table], texts: Sequence[str] = ()) -> None:
        self.tables = tables
        self.texts = texts if len(texts) > 1 else ()
        self._rows: Iterator[Any] | None = None

    @abstractmethod
    def rows(self) -> Iterator[Any]:
        """The rows, from the first."""

    def _next(self, count: int) -> list[Any]:
        if self._rows is None:
            self._rows = self.rows()
        found = list(itertools.islice(self._rows, count))
        if len(found) < count:
            raise FormatError(f"{self.tables[0].path} became shorter while it was read. Is something writing to it?")
        return found


class TableColumns(_FileColumns):
    """Columns of .csv or .tsv files, but those of `vectors`."""

    def __init__(
        self, tables: Sequence[DelimitedTable], vectors: Sequence[str] = (), texts: Sequence[str] = ()
    ) -> None:
        super().__init__(tables, texts)
        first = tables[0]
        first.check_unique(first.names)
        self.keys = [name for name in first.names if name not in set(vectors)]
        self.names = [*self.keys, *([unique_name(TEXT_COLUMN, self.keys)] if self.texts else [])]
        self.header = first.header
        self.vector = unique_name(vectors[0] if len(vectors) == 1 else VECTOR, self.names)
        self.wide = list(vectors) if len(vectors) > 1 else None
        before = first.names.index(vectors[0]) if vectors else len(self.names)
        self.place = sum(name in self.keys for name in first.names[:before]) if vectors else before

    def rows(self) -> Iterator[tuple[str, ...]]:
        for block in (block for table in self.tables for block in table.blocks(self.keys)):
            rows = zip(*(block.values(name) for name in self.keys), strict=True) if self.keys else [()] * block.rows
            for row in rows:
                yield from ((*row, name) for name in self.texts) if self.texts else [row]

    def take(self, rows: Rows) -> SideValues:
        found = self._next(len(rows.vectors))
        return SideValues(list(zip(*found, strict=True)))

    def fields(self) -> list[pa.Field]:
        """Numbers if every value of the file is a number written the usual way, else the text as it stands."""
        import pyarrow as pa

        kinds: list[set[str]] = [{"int", "float"} for _ in self.names]
        filled = [False] * len(self.names)
        for row in self.rows():
            for i, value in enumerate(row):
                if kinds[i] and value:
                    kinds[i] &= _number_kinds(value)
                    filled[i] = True
        types = [
            pa.string() if not (kind and full) else pa.int64() if "int" in kind else pa.float64()
            for kind, full in zip(kinds, filled, strict=True)
        ]
        return [pa.field(name, kind) for name, kind in zip(self.names, types, strict=True)]


class JsonColumns(_FileColumns):
    """Fields of .jsonl files beside `vector`; all keys of all rows, in the order in which they occur."""

    def __init__(self, tables: Sequence[JsonTable], vector: str | None, texts: Sequence[str] = ()) -> None:
        super().__init__(tables, texts)
        self._kinds: dict[str, set[str]] = {}
        for row in self.rows():
            for key, value in row.items() if isinstance(row, dict) else ():
                if key != vector:
                    self._kinds.setdefault(key, set()).add(_kind(value))
        self.names = list(self._kinds)
        self.vector = unique_name(VECTOR, self.names) if vector is None else vector
        self.place = len(self.names)

    def rows(self) -> Iterator[Any]:
        for row in (row for table in self.tables for block in table.blocks() for row in cast(JsonBlock, block).objects):
            yield from (
                ({**row, unique_name(TEXT_COLUMN, list(row)): name} for name in self.texts) if self.texts else [row]
            )

    def take(self, rows: Rows) -> SideValues:
        objects = [row if isinstance(row, dict) else None for row in self._next(len(rows.vectors))]
        return SideValues([[None if row is None else row.get(name) for row in objects] for name in self.names], objects)

    def fields(self) -> list[pa.Field]:
        """A type where all values share one, else the value as JSON."""
        import pyarrow as pa

        types = {
            frozenset({"int"}): pa.int64(),
            frozenset({"float"}): pa.float64(),
            frozenset({"int", "float"}): pa.float64(),
            frozenset({"bool"}): pa.bool_(),
        }
        return [
            pa.field(name, types.get(frozenset(kinds - {"null"}), pa.string())) for name, kinds in self._kinds.items()
        ]


def unique_name(name: str, taken: Sequence[str]) -> str:
    """The name, with a number behind it when a column is called so already.

    >>> unique_name("embedding", ["id", "embedding"])
    'embedding_2'
    """
    names = itertools.chain([name], (f"{name}_{i}" for i in itertools.count(2)))
    return next(free for free in names if free not in taken)


def _number_kinds(text: str) -> set[str]:
    """Which numbers say the same as the text, to the last digit; 007 is a name."""
    if re.fullmatch(r"-?[1-9][0-9]{0,17}|0", text):
        return {"int", "float"} if len(text) <= 15 else {"int"}
    return {"float"} if len(text) <= 17 and re.fullmatch(r"-?(0|[1-9][0-9]*)\.[0-9]+(e[+-]?[0-9]+)?", text) else set()


def _kind(value: Any) -> str:  # noqa: ANN401 - JSON
    if isinstance(value, bool) or value is None:
        return "null" if value is None else "bool"
    if isinstance(value, int):
        return "int" if -(2**63) <= value < 2**63 else "wide"
    return {float: "float", str: "str"}.get(type(value), "nested")


def _fitted(value: Any, kind: pa.DataType) -> Any:  # noqa: ANN401 - a field or a JSON value
    import pyarrow as pa

    if value is None or pa.types.is_boolean(kind):
        return value
    if pa.types.is_string(kind):
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return text.encode("utf-8", "replace").decode()  # half a character has no place in a parquet file
    if value == "":
        return None
    return int(value) if pa.types.is_integer(kind) else float(value)
