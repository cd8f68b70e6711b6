"""Side columns: texts, labels and ids of the vectors of a source, row for row, to be written out again."""

from __future__ import annotations

import copy
import itertools
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from uncone.data.lazy_property import once
from uncone.data.source import Rows, Source
from uncone.data.tables.delimited import DelimitedTable
from uncone.data.tables.read import JsonBlock, JsonTable, Table, check_unique
from uncone.data.texts.texts import ManyTexts, TableTexts, TextSource
from uncone.data.vectors.shards import Shards
from uncone.data.vectors.tables import JsonVectors, TableVectors
from uncone.errors import ColumnError, FormatError

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
    "columns_beside",
    "file_columns",
    "files_of",
    "parts_of",
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

    def part(self, file: int | None, first: int) -> SideColumns:
        """The same columns from row `first` on, of one of the files or of all; the fields stay those of all files."""
        return self


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
            pa.array([_convert(value, field.type) for value in column], field.type)
            for column, field in zip(self.columns, fields, strict=True)
        ]


class NamedColumns(SideColumns):
    """The texts and labels of the rows themselves: words, or what was given beside an array."""

    def __init__(self, rows: Rows, text: str = "text") -> None:
        self._has = (rows.texts is not None, rows.labels is not None)
        self.names = [name for name, present in zip((text, "label"), self._has, strict=True) if present]
        self.vector = unique_name(VECTOR, self.names)
        self.place = len(self.names)

    def take(self, rows: Rows) -> SideValues:
        columns = [values for values, present in zip((rows.texts, rows.labels), self._has, strict=True) if present]
        return SideValues([[""] * len(rows.vectors) if values is None else list(values) for values in columns])

    def fields(self) -> list[pa.Field]:
        import pyarrow as pa

        return [pa.field(name, pa.string()) for name in self.names]


class _FileColumns(SideColumns):
    """Columns read from the files again, beside the vectors; a row with several texts comes once for each of them."""

    def __init__(self, tables: Sequence[Table], texts: Sequence[str] = ()) -> None:
        self.tables = tables
        self.texts = texts if len(texts) > 1 else ()
        self._first = 0
        self._rows: Iterator[Any] | None = None

    @abstractmethod
    def rows(self) -> Iterator[Any]:
        """The rows, from the first."""

    @once
    def _fields(self) -> list[pa.Field]:
        """The columns of all files: it may take to read them."""
        return self._read_fields()

    @abstractmethod
    def _read_fields(self) -> list[pa.Field]: ...

    def fields(self) -> list[pa.Field]:
        return self._fields

    def part(self, file: int | None, first: int) -> SideColumns:
        part = copy.copy(self)
        part.tables = self.tables if file is None else [self.tables[file]]
        part._first, part._rows = first, None
        return part

    def _next(self, count: int) -> list[Any]:
        if self._rows is None:
            self._rows = itertools.islice(self.rows(), self._first, None)
        rows = list(itertools.islice(self._rows, count))
        if len(rows) < count:
            raise FormatError(f"{self.tables[0].path} shrank while being read. Is something writing to it?")
        return rows


class TableColumns(_FileColumns):
    """Columns of .csv or .tsv files, but those of `vectors`."""

    def __init__(
        self, tables: Sequence[DelimitedTable], vectors: Sequence[str] = (), texts: Sequence[str] = ()
    ) -> None:
        super().__init__(tables, texts)
        first = tables[0]
        check_unique(first.path, first.names, first.names)
        self.keys = [name for name in first.names if name not in set(vectors)]
        self.names = [*self.keys, *([unique_name(TEXT_COLUMN, self.keys)] if self.texts else [])]
        self.header = first.header
        self.vector = unique_name(vectors[0] if len(vectors) == 1 else VECTOR, self.names)
        self.wide = list(vectors) if len(vectors) > 1 else None
        before = first.names.index(vectors[0]) if vectors else len(self.names)
        self.place = sum(name in self.keys for name in first.names[:before]) if vectors else before

    def rows(self) -> Iterator[tuple[str, ...]]:
        for block in (block for table in self.tables for block in table.blocks(self.keys or table.names[:1])):
            rows = zip(*(block.values(name) for name in self.keys), strict=True) if self.keys else [()] * block.rows
            for row in rows:
                yield from ((*row, name) for name in self.texts) if self.texts else [row]

    def take(self, rows: Rows) -> SideValues:
        records = self._next(len(rows.vectors))
        return SideValues(list(zip(*records, strict=True)))

    def _read_fields(self) -> list[pa.Field]:
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
        return self._values(self._next(len(rows.vectors)))

    def _values(self, rows: Sequence[Any]) -> SideValues:
        objects = [row if isinstance(row, dict) else None for row in rows]
        return SideValues([[None if row is None else row.get(name) for row in objects] for name in self.names], objects)

    def _read_fields(self) -> list[pa.Field]:
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


class _PointColumns(JsonColumns):
    """The ids and fields of the points of a database, read beside the vectors."""

    def __init__(self, source: Any) -> None:  # noqa: ANN401 - PointVectors
        self._source = source
        super().__init__([], None)
        self.vector = unique_name(source.column or VECTOR, self.names)

    def rows(self) -> Iterator[Any]:
        yield from self._source.objects()

    def take(self, rows: Rows) -> SideValues:
        return self._values(rows.beside)


def unique_name(name: str, names_in_use: Sequence[str]) -> str:
    """The name, with a number behind it when a column is called so already.

    >>> unique_name("embedding", ["id", "embedding"])
    'embedding_2'
    """
    names = itertools.chain([name], (f"{name}_{i}" for i in itertools.count(2)))
    return next(free for free in names if free not in names_in_use)


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


def _convert(value: Any, kind: pa.DataType) -> Any:  # noqa: ANN401 - a field or a JSON value
    import pyarrow as pa

    if value is None or pa.types.is_boolean(kind):
        return value
    if pa.types.is_string(kind):
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return text.encode("utf-8", "replace").decode()  # half a character has no place in a parquet file
    if value == "":
        return None
    return int(value) if pa.types.is_integer(kind) else float(value)


def columns_beside(source: Source, first: Rows) -> SideColumns:
    """The columns beside the vectors: those of the file, or the texts and labels that the `first` rows show."""
    inner = parts_of(source)[0]
    if isinstance(first.beside, list):
        return _PointColumns(inner)
    if first.beside is not None:
        from uncone.data.writing.parquet_columns import ArrowColumns

        return ArrowColumns(inner, first.beside.schema)
    words = getattr(inner, "kind", "") in ("word vectors", "word2vec")
    return file_columns(source) or NamedColumns(first, "word" if words else "text")


def file_columns(source: Source) -> SideColumns | None:
    """The columns beside the vectors in the files that a source is read from."""
    inner = parts_of(source)
    texts = getattr(inner[0], "texts", None)
    if isinstance(texts, TextSource):
        return _of_texts(list(texts.parts) if isinstance(texts, ManyTexts) else [texts])
    return _of_vectors(inner)


def parts_of(source: Source) -> list[Any]:
    """The sources that really read, without what is wrapped around them."""
    while isinstance(inner := getattr(source, "source", None), Source):
        source = inner
    if isinstance(source, Shards):
        return [inner for part in source.parts for inner in parts_of(part)]
    return [source]


def files_of(source: Source) -> list[Path]:
    """The files that a source is read from; none for what is in memory."""
    files: list[Path] = []
    for part in parts_of(source):
        texts, path = getattr(part, "texts", None), getattr(part, "path", None)
        files += list(texts.files) if isinstance(texts, TextSource) else []
        files += [path] if isinstance(path, Path) else []
    return files


def _of_vectors(parts: Sequence[Any]) -> SideColumns | None:
    if all(isinstance(part, TableVectors) for part in parts):
        first = parts[0]
        for part in parts:
            if _layout(part) != _layout(first):
                raise ColumnError(
                    f"Shards differ: {part.path} has other columns than {first.path}. Fix them one by one."
                )
        tables = [part.table for part in parts]
        return TableColumns(tables, first.numeric if first.vector is None else [first.vector])
    if all(isinstance(part, JsonVectors) for part in parts):
        column = next((part.column for part in parts if part.column is not None), None)
        return JsonColumns([part.table for part in parts], column)
    if all(part.kind == "parquet" for part in parts):
        from uncone.data.writing.parquet_columns import ParquetColumns

        return ParquetColumns([part.table for part in parts], parts[0].column)
    return None


def _layout(part: TableVectors) -> tuple[Any, ...]:
    return part.table.names, part.table.header, part.vector, part.numeric, part.options


def _of_texts(parts: Sequence[TextSource]) -> SideColumns | None:
    """All columns of tables of texts, if the tables have the same layout."""
    sources = [part for part in parts if isinstance(part, TableTexts)]
    first = sources[0] if sources else None
    if first is None or len(sources) < len(parts) or any(part.kind != first.kind for part in sources):
        return None
    tables: list[Any] = [part.table for part in sources]
    same = all(part.columns.text == first.columns.text for part in sources)
    if first.kind == "parquet":
        from uncone.data.writing.parquet_columns import ParquetColumns

        return ParquetColumns(tables, None, first.columns.text)
    if first.kind == "jsonl":
        return JsonColumns(tables, None, first.columns.text) if same else None
    same = same and all((table.names, table.header) == (tables[0].names, tables[0].header) for table in tables)
    return TableColumns(tables, (), first.columns.text) if same else None
