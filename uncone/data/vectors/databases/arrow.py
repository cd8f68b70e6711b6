"""Sources of databases that hand over Arrow batches."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from uncone.data.source import Options, Rows, Source, check_dtype
from uncone.data.tables.read import check_columns
from uncone.data.vectors.databases.url import DatabaseUrl
from uncone.data.vectors.lists import is_vector_type, list_size, matrix_of, strings_of
from uncone.errors import ColumnError, ShapeError

__all__ = ["ArrowVectors", "pick_column", "side_names"]


def side_names(url: DatabaseUrl, options: Options) -> tuple[str | None, str | None]:
    """The columns of texts and labels: those of the options, else of the URL."""
    return options.text or url.values.get("text"), options.label or url.values.get("label")


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

    def __init__(self, url: DatabaseUrl, options: Options, schema: pa.Schema) -> None:
        self.url, self.kind = url, url.scheme
        self.text, self.label = side_names(url, options)
        names = list(schema.names)
        vectors = [field.name for field in schema if is_vector_type(field.type)]
        self.column = pick_column(url.name, options.column or url.values.get("column"), vectors, names)
        check_columns(url.name, names, [("text", self.text), ("label", self.label)])
        self.name = f"{url.name}.{self.column}"
        values = schema.field(self.column).type.value_type
        check_dtype(self.name, np.dtype(values.to_pandas_dtype()))
        self.dtype, self.rows = str(values), self.count()
        if not self.rows:
            raise ShapeError(f"{url.name} has no rows. We need at least 2.")
        self.dim = self._first_length(schema.field(self.column).type)

    def _first_length(self, column: pa.DataType) -> int:
        if isinstance(column, pa.FixedSizeListType):
            return int(column.list_size)
        for batch in self.batches([self.column]):
            if (length := list_size(batch.column(self.column))) is not None:
                return length
        raise ShapeError(f"{self.name} holds only NULLs. We need a vector in each row.")

    @abstractmethod
    def count(self) -> int | None:
        """The number of rows; None if only reading tells."""

    @abstractmethod
    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """All rows, with these columns."""

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Rows]:
        first = 0
        for batch in self.batches([name for name in (self.column, self.text, self.label) if name]):
            vectors = matrix_of(batch.column(self.column), self.dim, self.name, first)
            yield Rows(vectors, strings_of(batch, self.text), strings_of(batch, self.label))
            first += len(vectors)
