"""Spark: chunks are folded by `mapInArrow` and merged by `applyInArrow`, on data frames alone, as Connect has them."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator, Sequence
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
        import pyarrow as pa
        import pyarrow.compute as pc
        from pyspark.errors import PySparkException

        chunks = [(at, place, chunk) for at, group in enumerate(groups) for place, chunk in enumerate(group)]
        schema = "part long, place long, state binary"

        def fold(batches: Iterator[Any]) -> Iterator[Any]:
            for number in [number for batch in batches for number in batch.column(0).to_pylist()]:
                at, place, chunk = chunks[number]
                yield pa.RecordBatch.from_pydict({"part": [at], "place": [place], "state": [job.fold(chunk)]})

        def join(parts: Any) -> Any:  # noqa: ANN401 - a table of pyarrow
            order = pc.sort_indices(parts["place"]).to_pylist()
            state = job.join(parts["state"][place].as_py() for place in order)
            return pa.table({"part": [parts["part"][0].as_py()], "place": [0], "state": [state]})

        numbers = self.session.range(0, len(chunks), 1, len(chunks))
        try:
            folded = numbers.mapInArrow(fold, schema)
            rows = folded.groupBy("part").applyInArrow(join, schema).collect()
        except PySparkException as error:
            raise WorkerError(f"Spark could not finish: {str(error).splitlines()[0]}") from error
        states = {row["part"]: bytes(row["state"]) for row in rows}
        for at, group in enumerate(groups):
            if progress is not None:
                progress(group[-1][1] - group[0][0])
            yield job.received(states[at])
