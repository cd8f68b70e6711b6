"""What a cluster adds to the work of threads: the measuring pass of `check` over uneven Parquet shards.

    python -m benchmarks.engines                       1,280,000 x 384 in 16 shards, two workers
    python -m benchmarks.engines --rows 100000 --rounds 1 --engines ray

CPU seconds of this process and of every process under it: workers, and what an engine runs beside them. Each engine has
run once before, so that nothing is imported or started. The best of several rounds counts, threads and engine in turn.
"""

from __future__ import annotations

import argparse
import itertools
import os
import platform
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
import psutil

from benchmarks.page import put
from uncone.analysis.space.space import measure_space
from uncone.data.open import open_source
from uncone.run.engines.open import open_engine
from uncone.run.job import Executor
from uncone.run.measure import Plan

DIM, SHARDS, WORKERS = 384, 16, 2
BOUNDS = {"ray": "at most 1.15, and 5 %"}


class Seconds(NamedTuple):
    """CPU seconds of this process, and of those under it."""

    driver: float
    others: float

    @property
    def total(self) -> float:
        return self.driver + self.others


def make(folder: Path, n: int) -> None:
    """Shards of many sizes around a common mean, with a falling spectrum, and row groups of several sizes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    shares = rng.uniform(0.2, 2.0, SHARDS)
    edges = [0, *np.floor(np.cumsum(shares / shares.sum())[:-1] * n).astype(int), n]
    spread = (10 * np.arange(1, DIM + 1) ** -0.5).astype(np.float32)
    mean = 1.2 * rng.standard_normal(DIM, dtype=np.float32)
    folder.mkdir()
    for place, (start, stop) in enumerate(itertools.pairwise(edges)):
        schema = pa.schema({"vector": pa.list_(pa.float32(), DIM)})
        with pq.ParquetWriter(folder / f"part-{place}.parquet", schema) as writer:
            for first in range(start, stop, 20_000 + 5_000 * place):
                size = min(20_000 + 5_000 * place, stop - first)
                rows = rng.standard_normal((size, DIM), dtype=np.float32) * spread + mean
                writer.write_table(
                    pa.table([pa.FixedSizeListArray.from_arrays(rows.ravel(), DIM)], schema=schema),
                    row_group_size=size,
                )


def cpu() -> tuple[float, dict[int, float]]:
    """CPU seconds of this process, and of each under it."""
    children = {}
    for process in psutil.Process().children(recursive=True):
        try:
            times = process.cpu_times()
        except psutil.Error:  # it has ended meanwhile
            continue
        children[process.pid] = times.user + times.system
    own = psutil.Process().cpu_times()
    return own.user + own.system, children


def one_pass(folder: Path, engine: Executor | None) -> Seconds:
    """The cost of a pass over the rows."""
    driver, before = cpu()
    measure_space(open_source(folder), Plan(WORKERS, engine=engine))
    later, after = cpu()
    return Seconds(later - driver, sum(seconds - before.get(pid, 0.0) for pid, seconds in after.items()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_280_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--engines", default="ray,dask,spark")
    arguments = parser.parse_args()
    best: dict[str, list[Seconds]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "shards"
        make(folder, arguments.rows)
        for name in arguments.engines.split(","):  # one after the other: processes of Dask cost CPU when they wait
            engine = open_engine(name, None, WORKERS)
            rounds = [[one_pass(folder, each) for each in (None, engine)] for _ in range(arguments.rounds + 1)]
            best[name] = [min(passes, key=lambda seconds: seconds.total) for passes in zip(*rounds[1:], strict=True)]
    print(text := table(best, arguments.rows))
    if all(getattr(arguments, name) == parser.get_default(name) for name in ("rows", "engines")):
        put(text, "bench engines")


def table(best: dict[str, list[Seconds]], n: int) -> str:
    local = min(threads.total for threads, _ in best.values())
    lines = [
        f"The measuring pass of `check` over {n:,} x {DIM} in {SHARDS} uneven Parquet shards takes {local:.1f} CPU "
        f"seconds in {WORKERS} threads, on {len(os.sched_getaffinity(0))} cores, Python {platform.python_version()}. "
        f"With {WORKERS} workers of an engine that is warm:",
        "",
        "| engine | CPU seconds, to those of threads | share of the driver | bound |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {name} | {spent.total / threads.total:.2f} | {spent.driver / spent.total:.1%} | {BOUNDS.get(name, '')} |"
        for name, (threads, spent) in best.items()
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
