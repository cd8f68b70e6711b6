"""A data frame of Dask: partitions come to this process one after another, with the next under way."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pyarrow as pa

from uncone.data.source import BLOCK, Options
from uncone.data.vectors.arrow import ArrowVectors
from uncone.errors import ColumnError, ShapeError

__all__ = ["DaskVectors"]

_FIRST = 64
"""Rows that show what the columns hold."""
_AHEAD = 2
"""Partitions that are computed at once."""


class DaskVectors(ArrowVectors):
    """The rows of a data frame, in the order of its partitions."""

    def __init__(self, frame: Any, options: Options) -> None:  # noqa: ANN401
        self.frame = frame
        schema = self._schema(frame)
        if options.column in schema.names and pa.types.is_large_string(schema.field(options.column).type):
            raise ColumnError(
                f"Column {options.column!r} of the data frame holds texts: Dask turns lists into texts. Set "
                'dask.config.set({"dataframe.convert-string": False}) before the data frame is made.'
            )
        super().__init__("the data frame", "dask", schema, options)

    @staticmethod
    def _schema(frame: Any) -> pa.Schema:  # noqa: ANN401
        """The types of the columns; those of the metadata say nothing of lists."""
        for number in range(frame.npartitions):
            head = frame.partitions[number].head(_FIRST, npartitions=1)
            if len(head):
                return pa.Schema.from_pandas(head, preserve_index=False).remove_metadata()
        raise ShapeError("The data frame has no rows. We need at least 2.")

    def count(self) -> int:
        return len(self.frame)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        frame = self.frame[list(columns)]
        schema = pa.schema([self.schema.field(name) for name in columns])
        under_way: deque[Future[Any]] = deque()
        with ThreadPoolExecutor(_AHEAD) as threads:
            try:
                for number in range(frame.npartitions + _AHEAD):
                    if number < frame.npartitions:
                        under_way.append(threads.submit(frame.partitions[number].compute))
                    if number >= _AHEAD and under_way:
                        table = pa.Table.from_pandas(under_way.popleft().result(), preserve_index=False)
                        yield from table.select(columns).cast(schema).to_batches(BLOCK)
            finally:
                for future in under_way:
                    future.cancel()
