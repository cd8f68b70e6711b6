"""The columns of parquet files beside the vectors, with their types."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from uncone.data.side_columns.columns import TEXT_COLUMN, VECTOR, SideColumns, SideValues, unique_name
from uncone.data.source import Rows
from uncone.data.tables.parquet import ParquetTable
from uncone.errors import ColumnError, FormatError

__all__ = ["ParquetColumns"]


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
        first.check_unique(first.names)
        kept = [field for field in first.schema if field.name != vector]
        self._schema = pa.schema(kept)
        self.metadata = first.schema.metadata
        self.names = [field.name for field in kept]
        if self.texts:
            self.names.append(unique_name(TEXT_COLUMN, self.names))
        self.vector = unique_name(VECTOR, self.names) if vector is None else vector
        self.place = len(self.names) if vector is None else first.names.index(vector)
        self._batches: Iterator[pa.Table] | None = None
        self._held: pa.Table | None = None

    def fields(self) -> list[pa.Field]:
        return [*self._schema, *([pa.field(self.names[-1], pa.string())] if self.texts else [])]

    def take(self, rows: Rows) -> SideValues:
        wanted = len(rows.vectors)
        if not self.names:
            return SideValues([])
        if self._batches is None:
            self._batches = self._read()
        while self._held is None or self._held.num_rows < wanted:
            following = next(self._batches, None)
            if following is None:
                raise FormatError(
                    f"{self.tables[-1].path} became shorter while it was read. Is something writing to it?"
                )
            self._held = following if self._held is None else pa.concat_tables([self._held, following])
        taken, self._held = self._held.slice(0, wanted), self._held.slice(wanted)
        return _ArrowValues(taken)

    def _read(self) -> Iterator[pa.Table]:
        for table in self.tables:
            missing = [name for name in self._schema.names if name not in table.names]
            if missing:
                raise ColumnError(
                    f"Shards differ: {table.path} has no column {missing[0]!r}, {self.tables[0].path} has one."
                )
            for batch in table.batches(self._schema.names):
                yield self._repeated(self._fitted(pa.Table.from_batches([batch]), table.path))

    def _fitted(self, table: pa.Table, path: Path) -> pa.Table:
        try:
            return table.select(self._schema.names).cast(self._schema)
        except (pa.ArrowException, ValueError) as error:
            raise ColumnError(
                f"Shards differ: {path} has columns of other types than {self.tables[0].path}."
            ) from error

    def _repeated(self, table: pa.Table) -> pa.Table:
        if not self.texts:
            return table
        times = len(self.texts)
        places = pa.array([row for row in range(table.num_rows) for _ in range(times)], pa.int64())
        names = pa.array(list(self.texts) * table.num_rows, pa.string())
        return table.take(places).append_column(self.names[-1], names)


def _whole(column: pa.ChunkedArray) -> pa.Array:
    found = column.unify_dictionaries().combine_chunks()
    return pa.concat_arrays(found.chunks) if isinstance(found, pa.ChunkedArray) else found
