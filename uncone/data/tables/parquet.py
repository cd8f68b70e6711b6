"""Parquet: typed columns, read a part of a row group at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from uncone.data.source import BLOCK
from uncone.data.storage.path import ObjectPath, opened
from uncone.data.tables.fields import clipped
from uncone.data.tables.read import Block, Table
from uncone.errors import FormatError

__all__ = ["ParquetBlock", "ParquetTable"]


class ParquetBlock(Block):
    """A record batch, and the number of its first row."""

    def __init__(self, batch: pa.RecordBatch, first: int) -> None:
        self.batch, self.first = batch, first
        self.rows = batch.num_rows

    def line(self, row: int) -> int:
        return self.first + row

    def values(self, name: str, option: str = "") -> list[Any]:
        return list(self.batch.column(name).to_pylist())


class ParquetTable(Table):
    """A parquet file; `schema` has the types of its columns."""

    unit = "row"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        with self._readable(), opened(path) as source, pq.ParquetFile(source) as file:
            self.schema: pa.Schema = file.schema_arrow
            self.rows = int(file.metadata.num_rows)
            self.group_sizes = [file.metadata.row_group(at).num_rows for at in range(file.metadata.num_row_groups)]
        self.names = list(self.schema.names)
        self.text_names = [field.name for field in self.schema if _holds_texts(field.type)]

    def stored_bytes(self, names: Sequence[str]) -> int:
        """Bytes of these columns as they are stored."""
        with self._readable(), opened(self.path) as source, pq.ParquetFile(source) as file:
            groups = [file.metadata.row_group(at) for at in range(file.metadata.num_row_groups)]
            chunks = [group.column(at) for group in groups for at in range(group.num_columns)]
            return sum(chunk.total_compressed_size for chunk in chunks if chunk.path_in_schema.split(".")[0] in names)

    def blocks(self, names: Sequence[str] | None = None) -> Iterator[ParquetBlock]:
        first = 1
        for batch in self.batches(names):
            with self._readable():
                batch.validate(full=True)  # strings that are not UTF-8 show here
            yield ParquetBlock(batch, first)
            first += batch.num_rows

    def batches(
        self, names: Sequence[str] | None = None, start: int = 0, stop: int | None = None, size: int = BLOCK
    ) -> Iterator[pa.RecordBatch]:
        """The rows from start to stop as they are stored; only the row groups that hold them are read."""
        columns = None if names is None else list(dict.fromkeys(names))
        stop = self.rows if stop is None else stop
        ends = list(accumulate(self.group_sizes))
        groups = [at for at, end in enumerate(ends) if start < end and end - self.group_sizes[at] < stop]
        if not groups:
            return
        first = ends[groups[0]] - self.group_sizes[groups[0]]
        # A buffered stream per column keeps a row group of gigabytes out of memory. From storage, each fetch is large.
        size_read = 1 << (23 if isinstance(self.path, ObjectPath) else 20)
        with (
            self._readable(),
            opened(self.path) as source,
            pq.ParquetFile(source, buffer_size=size_read, pre_buffer=False) as file,
        ):
            for batch in file.iter_batches(batch_size=size, row_groups=groups, columns=columns):
                last = first + batch.num_rows
                if first >= start and last <= stop:
                    yield batch
                elif last > start and first < stop:
                    yield batch.slice(max(start - first, 0), min(last, stop) - max(first, start))
                if last >= stop:
                    return
                first = last

    @contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            yield
        except (pa.ArrowException, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise  # not the file, but the way to it
            reason = clipped(" ".join(str(error).split()), 160)
            raise FormatError(
                f"{self.path} is not a readable parquet file ({reason}). Copy or write it again."
            ) from error


def _holds_texts(column: pa.DataType) -> bool:
    types = pa.types
    values = column.value_type if types.is_dictionary(column) else column
    return bool(types.is_string(values) or types.is_large_string(values) or types.is_string_view(values))
