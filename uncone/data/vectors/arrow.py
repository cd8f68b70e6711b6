"""Sources whose rows come as Arrow batches, from databases and data frames."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from copy import copy
from typing import Self

import numpy as np
import pyarrow as pa

from uncone.data.source import Options, Rows, Source, check_dtype
from uncone.data.tables.read import check_columns
from uncone.data.vectors.lists import is_vector_type, list_size, matrix_of, strings_of
from uncone.errors import ColumnError, ShapeError

__all__ = ["ArrowVectors", "pick_column"]


def pick_column(name: str, requested: str | None, vectors: Sequence[str], columns: Sequence[str]) -> str:
    """The column of vectors: the one that was named, or the only one.

    Raises:
        ColumnError: there is none, or several and none was named.
    """
    if requested is not None and requested in vectors:
        return requested
    if requested is None and len(vectors) == 1:
        return vectors[0]
    listed = ", ".join(columns) or "none"
    if requested is not None:
        problem = "no vectors in column" if requested in columns else "no column"
        raise ColumnError(
            f"{name} has {problem} {requested!r}. Vectors: {', '.join(vectors) or 'none'}; all: {listed}."
        )
    if not vectors:
        raise ColumnError(f"{name} returns no column of vectors. Its columns are {listed}.")
    raise ColumnError(f"{name} has several columns of vectors: {', '.join(vectors)}. Name one with --column.")


class ArrowVectors(Source):
    """Rows that come as record batches with a column of lists."""

    carries = False
    """Whether the other columns are read too."""

    def __init__(self, name: str, kind: str, schema: pa.Schema, options: Options) -> None:
        self.kind, self.schema = kind, schema
        self.text, self.label = options.text, options.label
        names = list(schema.names)
        vectors = [field.name for field in schema if is_vector_type(field.type)]
        self.column = pick_column(name, options.column, vectors, names)
        check_columns(name, names, [("text", self.text), ("label", self.label)])
        self.place = names.index(self.column)
        self.name = f"{name}.{self.column}"
        values = schema.field(self.column).type.value_type
        check_dtype(self.name, np.dtype(values.to_pandas_dtype()))
        self.dtype, self.rows = str(values), self.count()
        if self.rows == 0:
            raise ShapeError(f"{name} has no rows. We need at least 2.")
        self.dim = self._first_length(schema.field(self.column).type)

    def _first_length(self, column: pa.DataType) -> int:
        if isinstance(column, pa.FixedSizeListType):
            return int(column.list_size)
        problem = "has no rows. We need at least 2."
        for batch in self.batches([self.column]):
            if (length := list_size(batch.column(self.column))) is not None:
                return length
            if len(batch):
                problem = "holds only NULLs. We need a vector in each row."
        raise ShapeError(f"{self.name} {problem}")

    def count(self) -> int | None:
        """The number of rows; None if only reading tells."""
        return None

    @abstractmethod
    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """All rows, with these columns."""

    def with_columns(self) -> Self:
        other = copy(self)
        other.carries = True
        return other

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Rows]:
        columns = self.schema.names if self.carries else [self.column, self.text, self.label]
        first, beside = 0, None
        others = self.schema.remove(self.place)
        for batch in self.batches(list(dict.fromkeys(name for name in columns if name))):
            vectors = matrix_of(batch.column(self.column), self.dim, self.name, first)
            if self.carries:
                beside = pa.Table.from_batches([batch]).select(others.names).cast(others)
            yield Rows(vectors, strings_of(batch, self.text), strings_of(batch, self.label), beside)
            first += len(vectors)
