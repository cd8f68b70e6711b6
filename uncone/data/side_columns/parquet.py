"""The columns of parquet files beside the vectors, with their types."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from uncone.data.side_columns.columns import VECTOR, Beside, Carried, unique_name
from uncone.data.source import BLOCK, Rows
from uncone.data.vectors.parquet import _damaged
from uncone.errors import ColumnError, FormatError

__all__ = ["ParquetColumns"]


class _ArrowBeside(Beside):
    """The values as they were read."""

    def __init__(self, table: pa.Table) -> None:
        super().__init__([])
        self.table = table

    def lists(self) -> Sequence[Sequence[Any]]:
        return [column.to_pylist() for column in self.table.columns]

    def arrow(self, fields: Sequence[pa.Field]) -> list[pa.Array]:
        return [_whole(column) for column in self.table.columns]


class ParquetColumns(Carried):
    """All columns of files that follow each other but `vector`; each row `repeat` times, with a column of these names.

    `vector` is None when the files hold texts: then the vectors come last.
    """

    def __init__(self, paths: Sequence[Path], vector: str | None, repeat: Sequence[str] = ()) -> None:
        self.paths = paths
        self.repeat = repeat
        with pq.ParquetFile(paths[0]) as file:
            schema = file.schema_arrow
        doubled = [name for name in schema.names if schema.names.count(name) > 1]
        if doubled:
            raise ColumnError(f"{paths[0]} has several columns named {doubled[0]!r}: rename all but one.")
        kept = [field for field in schema if field.name != vector]
        self._schema = pa.schema(kept)
        self.metadata = schema.metadata
        self.names = [field.name for field in kept]
        if repeat:
            self.names.append(unique_name("text_column", self.names))
        self.vector = unique_name(VECTOR, self.names) if vector is None else vector
        self.place = len(self.names) if vector is None else schema.names.index(vector)
        self._batches: Iterator[pa.Table] | None = None
        self._held: pa.Table | None = None

    def fields(self) -> list[pa.Field]:
        return [*self._schema, *([pa.field(self.names[-1], pa.string())] if self.repeat else [])]

    def take(self, rows: Rows) -> Beside:
        wanted = len(rows.vectors)
        if not self.names:
            return Beside([])
        if self._batches is None:
            self._batches = self._read()
        while self._held is None or self._held.num_rows < wanted:
            following = next(self._batches, None)
            if following is None:
                raise FormatError(f"{self.paths[-1]} became shorter while it was read. Is something writing to it?")
            self._held = following if self._held is None else pa.concat_tables([self._held, following])
        taken, self._held = self._held.slice(0, wanted), self._held.slice(wanted)
        return _ArrowBeside(taken)

    def _read(self) -> Iterator[pa.Table]:
        for path in self.paths:
            try:
                yield from self._tables(path)
            except (pa.ArrowException, OSError) as error:
                raise _damaged(path, error) from error

    def _tables(self, path: Path) -> Iterator[pa.Table]:
        with pq.ParquetFile(path, buffer_size=1 << 20, pre_buffer=False) as file:
            missing = [name for name in self._schema.names if name not in file.schema_arrow.names]
            if missing:
                raise ColumnError(f"Shards differ: {path} has no column {missing[0]!r}, {self.paths[0]} has one.")
            for batch in file.iter_batches(batch_size=BLOCK, columns=self._schema.names):
                yield self._repeated(self._fitted(pa.Table.from_batches([batch]), path))

    def _fitted(self, table: pa.Table, path: Path) -> pa.Table:
        try:
            return table.select(self._schema.names).cast(self._schema)
        except (pa.ArrowException, ValueError) as error:
            raise ColumnError(f"Shards differ: {path} has columns of other types than {self.paths[0]}.") from error

    def _repeated(self, table: pa.Table) -> pa.Table:
        if not self.repeat:
            return table
        times = len(self.repeat)
        places = pa.array([row for row in range(table.num_rows) for _ in range(times)], pa.int64())
        names = pa.array(list(self.repeat) * table.num_rows, pa.string())
        return table.take(places).append_column(self.names[-1], names)


def _whole(column: pa.ChunkedArray) -> pa.Array:
    found = column.unify_dictionaries().combine_chunks()
    return pa.concat_arrays(found.chunks) if isinstance(found, pa.ChunkedArray) else found
