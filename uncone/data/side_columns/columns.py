"""The columns that stand beside the vectors of a source, row for row, so that they can be written out again."""

from __future__ import annotations

import csv
import itertools
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uncone.data.source import Rows
from uncone.data.vectors.text_rows import open_text, text_lines
from uncone.errors import FormatError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["VECTOR", "Beside", "Carried", "JsonColumns", "NamedColumns", "TableColumns", "csv_rows", "unique_name"]

VECTOR = "embedding"
"""What a column of vectors is called that had no name."""


class Carried(ABC):
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
    def take(self, rows: Rows) -> Beside:
        """What stands beside these rows, which are the next."""

    @abstractmethod
    def fields(self) -> list[pa.Field]:
        """The columns as they are in a parquet file."""


class Beside:
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


class NamedColumns(Carried):
    """The texts and labels of the rows themselves: words, or what was given beside an array."""

    def __init__(self, rows: Rows, text: str = "text") -> None:
        self._has = (rows.texts is not None, rows.labels is not None)
        self.names = [name for name, here in zip((text, "label"), self._has, strict=True) if here]
        self.vector = unique_name(VECTOR, self.names)
        self.place = len(self.names)

    def take(self, rows: Rows) -> Beside:
        given = [values for values, here in zip((rows.texts, rows.labels), self._has, strict=True) if here]
        return Beside([[""] * len(rows.vectors) if values is None else list(values) for values in given])

    def fields(self) -> list[pa.Field]:
        import pyarrow as pa

        return [pa.field(name, pa.string()) for name in self.names]


class _FileColumns(Carried):
    """Columns that are read from the file again, beside the vectors."""

    where: str

    def __init__(self) -> None:
        self._rows: Iterator[Any] | None = None

    @abstractmethod
    def read(self) -> Iterator[Any]:
        """The rows, from the first."""

    def _next(self, rows: Rows) -> list[Any]:
        if self._rows is None:
            self._rows = self.read()
        found = list(itertools.islice(self._rows, len(rows.vectors)))
        if len(found) < len(rows.vectors):
            raise FormatError(f"{self.where} became shorter while it was read. Is something writing to it?")
        return found


class TableColumns(_FileColumns):
    """Columns of a .csv or .tsv file: `places` of each row that `read` gives."""

    def __init__(
        self,
        where: str,
        read: Callable[[], Iterator[list[str]]],
        names: Sequence[str],
        places: Sequence[int],
        vector: str = VECTOR,
        place: int | None = None,
        *,
        wide: list[str] | None = None,
        header: bool = True,
    ) -> None:
        super().__init__()
        self.where, self._read, self.places = where, read, places
        self.names, self.header, self.wide = list(names), header, wide
        self.vector = unique_name(vector, self.names)
        self.place = len(places) if place is None else place

    def read(self) -> Iterator[list[str]]:
        return self._read()

    def take(self, rows: Rows) -> Beside:
        found = self._next(rows)
        return Beside([[row[place] for row in found] for place in self.places])

    def fields(self) -> list[pa.Field]:
        """Numbers where every value of the file is a number written the usual way, else the text as it stands."""
        import pyarrow as pa

        could = [{"int", "float"} for _ in self.places]
        filled = [False] * len(self.places)
        for row in self.read():
            for i, place in enumerate(self.places):
                if could[i] and row[place]:
                    could[i] &= _number_kinds(row[place])
                    filled[i] = True
        types = [
            pa.string() if not (kinds and full) else pa.int64() if "int" in kinds else pa.float64()
            for kinds, full in zip(could, filled, strict=True)
        ]
        return [pa.field(name, kind) for name, kind in zip(self.names, types, strict=True)]


class JsonColumns(_FileColumns):
    """Fields of a .jsonl file beside `vector`; all keys of all rows, in the order in which they are met."""

    def __init__(self, where: str, read: Callable[[], Iterator[Any]], vector: str | None) -> None:
        super().__init__()
        self.where, self._read = where, read
        self._kinds: dict[str, set[str]] = {}
        for row in self._read():
            for key, value in row.items() if isinstance(row, dict) else ():
                if key != vector:
                    self._kinds.setdefault(key, set()).add(_kind(value))
        self.names = list(self._kinds)
        self.vector = unique_name(VECTOR, self.names) if vector is None else vector
        self.place = len(self.names)

    def read(self) -> Iterator[Any]:
        return self._read()

    def take(self, rows: Rows) -> Beside:
        found = self._next(rows)
        objects = [row if isinstance(row, dict) else None for row in found]
        return Beside([[None if row is None else row.get(name) for row in objects] for name in self.names], objects)

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


def csv_rows(path: Path) -> Iterator[list[str]]:
    """The rows of a table of vectors as its reader sees them; blank lines are empty rows."""
    tabs = path.name.lower().removesuffix(".gz").endswith(".tsv")
    csv.field_size_limit(1 << 30)
    with open_text(path) as stream:
        yield from csv.reader(text_lines(stream, path), delimiter="\t" if tabs else ",")


def unique_name(name: str, taken: Sequence[str]) -> str:
    """The name, with a number behind it when a column is called so already.

    >>> unique_name("embedding", ["id", "embedding"])
    'embedding_2'
    """
    names = itertools.chain([name], (f"{name}_{i}" for i in itertools.count(2)))
    return next(one for one in names if one not in taken)


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
