"""Columns beside the vectors that keep their Arrow types: of Parquet files, of databases and of data frames."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from uncone.data.source import Rows
from uncone.data.tables.parquet import ParquetTable
from uncone.data.tables.read import check_unique
from uncone.data.writing.side_columns import TEXT_COLUMN, VECTOR, SideColumns, SideValues, unique_name
from uncone.errors import ColumnError, FormatError

__all__ = ["ArrowColumns", "ParquetColumns"]


class _ArrowValues(SideValues):
    """The values as they were read."""

    def __init__(self, table: pa.Table) -> None:
        super().__init__([])
        self.table = table

    def lists(self) -> Sequence[Sequence[Any]]:
        return [column.to_pylist() for column in self.table.columns]

    def arrow(self, fields: Sequence[pa.Field]) -> list[pa.Array]:
        return [_whole(column) for column in self.table.columns]


class ParquetColumns(SideColumns):
    """All columns of files that follow each other but `vector`; each row once for each of several `texts`.

    `vector` is None if the files hold texts: then the vectors come last.
    """

    def __init__(self, tables: Sequence[ParquetTable], vector: str | None, texts: Sequence[str] = ()) -> None:
        self.tables = tables
        self.texts = texts if len(texts) > 1 else ()
        first = tables[0]
        check_unique(first.path, first.names, first.names)
        fields = [field for field in first.schema if field.name != vector]
        self._schema = pa.schema(fields)
        self.metadata = first.schema.metadata
        self.names = [field.name for field in fields]
        if self.texts:
            self.names.append(unique_name(TEXT_COLUMN, self.names))
        self.vector = unique_name(VECTOR, self.names) if vector is None else vector
        self.place = len(self.names) if vector is None else first.names.index(vector)
        self._first = 0
        self._batches: Iterator[pa.Table] | None = None
        self._rest: pa.Table | None = None

    def fields(self) -> list[pa.Field]:
        return [*self._schema, *([pa.field(self.names[-1], pa.string())] if self.texts else [])]

    def part(self, file: int | None, first: int) -> SideColumns:
        part = copy.copy(self)
        part.tables = self.tables if file is None else [self.tables[file]]
        part._first, part._batches, part._rest = first, None, None
        return part

    def take(self, rows: Rows) -> SideValues:
        n_rows = len(rows.vectors)
        if not self.names:
            return SideValues([])
        if self._batches is None:
            self._batches = self._from_first()
        while self._rest is None or self._rest.num_rows < n_rows:
            following = next(self._batches, None)
            if following is None:
                raise FormatError(f"{self.tables[-1].path} shrank while being read. Is something writing to it?")
            self._rest = following if self._rest is None else pa.concat_tables([self._rest, following])
        block, self._rest = self._rest.slice(0, n_rows), self._rest.slice(n_rows)
        return _ArrowValues(block)

    def _from_first(self) -> Iterator[pa.Table]:
        """The rows from the first of this part on, which may be in the middle of a row with several texts."""
        rows, texts = divmod(self._first, len(self.texts) or 1)
        batches = self._read(rows)
        if texts and (batch := next(batches, None)) is not None:
            yield batch.slice(texts)
        yield from batches

    def _read(self, start: int) -> Iterator[pa.Table]:
        for table in self.tables:
            missing = [name for name in self._schema.names if name not in table.names]
            if missing:
                raise ColumnError(
                    f"Shards differ: {table.path} has no column {missing[0]!r}, {self.tables[0].path} has one."
                )
            for batch in table.batches(self._schema.names, start):
                yield self._repeat(self._convert(pa.Table.from_batches([batch]), table.path))
            start = max(start - table.rows, 0)

    def _convert(self, table: pa.Table, path: Path) -> pa.Table:
        try:
            return table.select(self._schema.names).cast(self._schema)
        except (pa.ArrowException, ValueError) as error:
            raise ColumnError(
                f"Shards differ: {path} has columns of other types than {self.tables[0].path}."
            ) from error

    def _repeat(self, table: pa.Table) -> pa.Table:
        if not self.texts:
            return table
        times = len(self.texts)
        places = pa.array([row for row in range(table.num_rows) for _ in range(times)], pa.int64())
        names = pa.array(list(self.texts) * table.num_rows, pa.string())
        return table.take(places).append_column(self.names[-1], names)


class ArrowColumns(SideColumns):
    """Columns that a database or a data frame gives beside the vectors."""

    def __init__(self, source: Any, schema: pa.Schema) -> None:  # noqa: ANN401 - any source with a column and its place
        self._schema, self.names = schema, list(schema.names)
        self.vector, self.place = unique_name(source.column, self.names), source.place

    def take(self, rows: Rows) -> SideValues:
        return _ArrowValues(rows.beside)

    def fields(self) -> list[pa.Field]:
        return list(self._schema)


def _whole(column: pa.ChunkedArray) -> pa.Array:
    combined = column.unify_dictionaries().combine_chunks()
    return pa.concat_arrays(combined.chunks) if isinstance(combined, pa.ChunkedArray) else combined
