"""Parquet: vectors in a list column, texts and labels in others; pages are read as they are needed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from uncone.data.batch import batch_rows
from uncone.data.source import Options, Rows, Source, check_dtype
from uncone.data.tables.parquet import ParquetTable
from uncone.data.tables.read import check_columns, check_unique
from uncone.data.vectors.lists import is_vector_type, list_size, matrix_of, strings_of
from uncone.data.vectors.tables import texts_for_vectors
from uncone.errors import ColumnError, ShapeError

_FEW = 16
"""Rows that are enough to see how long the lists are."""

__all__ = ["ParquetVectors", "open_parquet"]


def open_parquet(path: Path, options: Options) -> Source:
    """The list column of a parquet file: the only one, or the one that `--column` names."""
    return ParquetVectors(path, options)


class ParquetVectors(Source):
    """A FixedSizeList, List or LargeList column of numbers."""

    def __init__(self, path: Path, options: Options) -> None:
        self.path = path
        self.kind = "parquet"
        self.divisible = True
        self.table = ParquetTable(path)
        schema, self.rows = self.table.schema, self.table.rows
        check_unique(path, schema.names, [options.column])
        self.column = _vector_column(path, schema, options.column)
        check_columns(path, schema.names, [("text", options.text), ("label", options.label)])
        self.text, self.label = options.text, options.label
        self.name = f"{path}[{self.column}]"
        values = schema.field(self.column).type.value_type
        check_dtype(self.name, np.dtype(values.to_pandas_dtype()))
        self.dtype = str(values)
        if not self.rows:
            raise ShapeError(f"{self.name} is empty: 0 rows. We need at least 2.")
        self.dim = self._length(schema.field(self.column).type, options.dim)

    def _length(self, column: pa.DataType, dim: int | None) -> int:
        if isinstance(column, pa.FixedSizeListType):
            return int(column.list_size)
        if dim is not None:
            return dim
        for batch in self.table.batches([self.column], size=_FEW):
            if (length := list_size(batch.column(self.column))) is not None:
                return length
        raise ShapeError(f"{self.name} holds only nulls and empty lists. We need a list of numbers in each row.")

    def stored_bytes(self) -> int:
        return self.table.stored_bytes([name for name in (self.column, self.text, self.label) if name])

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Rows]:
        first = start
        columns = [name for name in (self.column, self.text, self.label) if name]
        for batch in self.table.batches(columns, start, stop, batch_rows(self.dim)):
            vectors = matrix_of(batch.column(self.column), self.dim, self.name, first)
            yield Rows(vectors, strings_of(batch, self.text), strings_of(batch, self.label))
            first += len(vectors)


def _vector_column(path: Path, schema: pa.Schema, requested: str | None) -> str:
    lists = [field.name for field in schema if is_vector_type(field.type)]
    if requested is None and len(lists) == 1:
        return str(lists[0])
    if requested is not None and requested in lists:
        return requested
    columns = ", ".join(f"{field.name} ({field.type})" for field in schema)
    if requested is None:
        if not lists and any(
            pa.types.is_string(field.type) or pa.types.is_large_string(field.type) for field in schema
        ):
            raise texts_for_vectors(path, columns)
        problem = "several columns of number lists" if lists else "no column of number lists"
        raise ColumnError(f"{path} has {problem}: {columns}. Name one with --column NAME.")
    problem = "no column" if requested not in schema.names else "no list of numbers in column"
    good = ", ".join(lists) or f"none; the columns are {columns}"
    raise ColumnError(f"{path} has {problem} {requested!r}. Columns that hold vectors: {good}.")
