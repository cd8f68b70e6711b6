"""A Parquet file that waits for the last row, for databases that take a whole table at once."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq

from uncone.data.batch import Matrix
from uncone.data.source import BLOCK
from uncone.data.writing.databases.target import Target
from uncone.data.writing.side_columns import SideValues
from uncone.data.writing.sinks import ParquetSink, Plan, Sink

__all__ = ["SpooledTarget"]


class SpooledTarget(Target):
    """A database that takes a stream of record batches as a new table."""

    @property
    @abstractmethod
    def folder(self) -> Path:
        """The folder that the database is in, which has room for it twice."""

    @abstractmethod
    def load(self, rows: pa.RecordBatchReader) -> None:
        """Write the whole table, or nothing."""

    @contextmanager
    def open(self, plan: Plan) -> Iterator[Sink]:
        with TemporaryDirectory(prefix=".uncone-", dir=self.folder) as room:
            yield _Spool(Path(room) / "rows.parquet", plan, self)


class _Spool(Sink):
    holds_columns = True

    def __init__(self, path: Path, plan: Plan, target: SpooledTarget) -> None:
        self.path, self.target = path, target
        self.column = target.url.values.get("column", plan.carried.vector)
        self.plan = plan
        self.parquet = ParquetSink(path, plan)

    def write(self, vectors: Matrix, values: SideValues) -> None:
        self.parquet.write(vectors, values)

    def close(self, rows: int) -> None:
        self.parquet.close(rows)
        with pq.ParquetFile(self.path) as file:
            schema = file.schema_arrow
            names = [self.column if name == self.plan.carried.vector else name for name in schema.names]
            schema = pa.schema([field.with_name(name) for field, name in zip(schema, names, strict=True)])
            batches = (batch.rename_columns(names) for batch in file.iter_batches(BLOCK))
            self.target.load(pa.RecordBatchReader.from_batches(schema, batches))

    def abandon(self) -> None:
        self.parquet.abandon()
