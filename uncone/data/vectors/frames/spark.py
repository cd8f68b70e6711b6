"""A data frame of Spark: partitions come to this process one after another, as Arrow batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from uncone.data.source import BLOCK, Options
from uncone.data.vectors.arrow import ArrowVectors
from uncone.errors import WorkerError

__all__ = ["SparkVectors"]


class SparkVectors(ArrowVectors):
    """The rows of a data frame, in the order of its partitions."""

    def __init__(self, frame: Any, options: Options) -> None:  # noqa: ANN401
        from pyspark.sql.pandas.types import to_arrow_schema

        self.frame = frame
        super().__init__("the data frame", "spark", to_arrow_schema(frame.schema), options)

    def count(self) -> int:
        with _errors():
            return int(self.frame.count())

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        def packed(batches: Iterator[Any]) -> Iterator[Any]:
            """A row of bytes for each batch; a function in a function is sent as it is, without uncone."""
            import pyarrow

            for batch in batches:
                page = pyarrow.BufferOutputStream()
                with pyarrow.ipc.new_stream(page, batch.schema) as stream:
                    stream.write_batch(batch)
                yield pyarrow.RecordBatch.from_pydict({"data": [page.getvalue().to_pybytes()]})

        with _errors():
            pages = self.frame.select(*columns).mapInArrow(packed, "data binary")
            for row in pages.toLocalIterator(prefetchPartitions=True):
                table = pa.ipc.open_stream(bytes(row[0])).read_all()
                yield from table.rename_columns(list(columns)).to_batches(BLOCK)


@contextmanager
def _errors() -> Iterator[None]:
    """Errors of Spark as ours, in a line."""
    try:
        yield
    except Exception as error:  # of pyspark, or of py4j beneath it, which only some installations have
        if not type(error).__module__.startswith(("pyspark.", "py4j.")):
            raise
        lines = str(error).splitlines()
        reason = next((line for line in reversed(lines) if line.startswith("Caused by: ")), lines[0])
        reason = reason.removeprefix("Caused by: ")
        raise WorkerError(f"Spark could not read the data frame: {reason}") from error
