"""Spark: chunks are folded and merged by `mapInArrow`, on data frames alone, as Connect has them.

What a worker makes goes through Java in pieces of a few megabytes: Java usually has a gigabyte, holds several copies of
a row, and runs out of memory over rows of 50 MB.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, TypeVar

from uncone.data.tables.fields import clipped
from uncone.errors import WorkerError, require
from uncone.run.engines.address import check_address, quiet
from uncone.run.job import Job, Progress, Range
from uncone.run.threads import cores

require("pyspark", "pandas", extra="spark")

__all__ = ["Spark"]

S = TypeVar("S")
_NAMES = {"spark": "Spark", "sc": "Spark Connect"}
"""What answers at an address, by its scheme."""
_FAILURES = 8  # of a task before Spark gives up; plain local[2] has no retry and would lose the run
_PIECE = 2 << 20
"""Bytes of a piece."""
_PARTITIONS = 16
"""Parts of a result that go to the driver, few of them at a time."""
_SCHEMA = "part long, place long, piece long, state binary"


class Spark:
    """A Spark cluster: `address` is a master such as spark://host:port, or sc://host:port for Connect.

    Without an address, Spark is started here. A session that this process has is used as it is.
    """

    def __init__(self, address: str | None = None, workers: int = 0) -> None:
        from pyspark.sql import SparkSession

        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        if address is not None and "://" in address:
            check_address(address, _NAMES.get(address.partition("://")[0], "Spark on Kubernetes"))
        builder = SparkSession.builder.appName("uncone")
        if address is not None and address.startswith("sc://"):
            builder = builder.remote(address)
        else:
            builder = builder.master(address or f"local[{workers or cores()},{_FAILURES}]")
            settings = {
                "spark.ui.enabled": "false",
                "spark.task.maxFailures": str(_FAILURES),
                "spark.driver.maxResultSize": "0",
                "spark.ui.showConsoleProgress": "false",
                "spark.log.level": "ERROR",
            }
            if address is None:
                os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
                settings["spark.driver.host"] = "127.0.0.1"
            for name, value in settings.items():
                builder = builder.config(name, value)
        # Spark warns of pandas 3, of which no part is used.
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        try:
            with quiet():
                self.session = builder.getOrCreate()
        except Exception as error:  # of Spark, of the way to Java, or of gRPC
            reason = clipped(" ".join(str(error).split()), 120)
            where = "on this machine" if address is None else f"at {address}"
            raise WorkerError(
                f"Spark could not be started {where} ({reason}). It needs Java, or a Connect server."
            ) from error

    def groups(self, job: Job[S], groups: Sequence[Sequence[Range]], progress: Progress | None = None) -> Iterator[S]:
        """The result of each group, in order; a chunk is a partition of its own."""
        from pyspark.errors import PySparkException

        chunks = [(at, place, chunk) for at, group in enumerate(groups) for place, chunk in enumerate(group)]
        size = _PIECE

        def fold(batches: Iterator[Any]) -> Iterator[Any]:
            for number in [number for batch in batches for number in batch.column(0).to_pylist()]:
                at, place, chunk = chunks[number]
                yield from _pieces(at, place, job.fold(chunk), size)

        def join(batches: Iterator[Any]) -> Iterator[Any]:
            for at, states in _whole(row for batch in batches for row in _rows(batch)):
                yield from _pieces(at, 0, job.join(states), size)

        numbers = self.session.range(0, len(chunks), 1, len(chunks))
        folded = numbers.mapInArrow(fold, _SCHEMA).repartition(len(groups), "part")
        joined = folded.sortWithinPartitions("part", "place", "piece").mapInArrow(join, _SCHEMA)
        try:
            # Not `toLocalIterator`: Java would keep all that it gave, until the session ends.
            table = joined.repartition(_PARTITIONS * len(groups), "part", "piece").toArrow()
        except PySparkException as error:
            raise WorkerError(f"Spark could not finish: {str(error).splitlines()[0]}") from error
        states = {at: state for at, (state,) in _whole(sorted(_rows(table)))}
        if len(states) != len(groups):
            raise WorkerError(f"Spark returned {len(states)} of {len(groups)} results. Try again with more memory.")
        for at, group in enumerate(groups):
            if progress is not None:
                progress(group[-1][1] - group[0][0])
            yield job.received(states[at])


def _pieces(at: int, place: int, state: bytes, size: int) -> Iterator[Any]:
    """The rows of a state, in batches of Arrow."""
    import pyarrow as pa

    for number, start in enumerate(range(0, len(state), size)):
        values = [[at], [place], [number], [state[start : start + size]]]
        yield pa.RecordBatch.from_arrays([pa.array(value) for value in values], ["part", "place", "piece", "state"])


def _whole(rows: Iterable[Sequence[Any]]) -> Iterator[tuple[int, list[bytes]]]:
    """The states of every group, from pieces in their order."""
    for at, group in groupby(rows, itemgetter(0)):
        yield at, [b"".join(row[3] for row in state) for _, state in groupby(group, itemgetter(1))]


def _rows(batch: Any) -> Iterator[tuple[Any, ...]]:  # noqa: ANN401 - a batch or a table of pyarrow
    return zip(*(column.to_pylist() for column in batch.columns), strict=True)
