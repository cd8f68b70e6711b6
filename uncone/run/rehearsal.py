"""A rehearsal: every pass of a run over a sample of its vectors, to learn what the whole run will take.

The verb itself is run, on a source that claims all the vectors and an engine that folds a sample of them. So the
passes, their statistics and what they send are those of the run, not a second description of it.
"""

from __future__ import annotations

import subprocess
import sys
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from safetensors.numpy import load

from uncone.data.source import Rows, Source
from uncone.run.fold import SPAN, Fold
from uncone.run.job import Job, Progress, Range, kernel, packed
from uncone.run.threads import one_blas_thread
from uncone.stats.hashing import Fingerprints
from uncone.stats.row_sample import RowSample
from uncone.stats.statistic import Bundle, State, Statistic

__all__ = ["Pass", "Rehearsal", "Repeated", "cpu_seconds", "peak_bytes", "python_bytes", "state_bytes"]

A = TypeVar("A")
S = TypeVar("S")

_LEAST_SECONDS = 0.1
"""Work that is shorter is repeated: the clock of a processor is coarse."""


class Repeated(Source):
    """As many `rows` as there are claimed to be: those of a sample in memory, again and again."""

    random_access = True

    def __init__(self, sample: Source, rows: int, name: str, kind: str) -> None:
        self.sample, self.rows = sample, rows
        self.name, self.kind, self.dtype, self.dim = name, kind, sample.dtype, sample.dim

    @property
    def n_sampled(self) -> int:
        """Rows of the sample."""
        return self.sample.rows or 0

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Rows]:
        """The rows from start to stop."""
        stop = self.rows if stop is None else stop
        while start < (stop or 0):
            first = start % self.n_sampled
            last = min(first + (stop or 0) - start, self.n_sampled)
            yield from self.sample.read(first, last)
            start += last - first


@dataclass(frozen=True)
class Pass:
    """A pass over the vectors: measured CPU seconds and computed sizes, in bytes.

    `seconds_per_row` are those of a worker for a vector in memory, `seconds_per_merge` those of merging the states of
    two chunks. `sent` are the states of all chunks, `received` those of all groups. `folding` a
    chunk and `joining` those of a group are what a worker needs at once, beside Python itself. `written` are the bytes
    of the vectors that the pass writes.
    """

    step: str
    rows: int
    chunks: int
    groups: int
    seconds_per_row: float
    seconds_per_merge: float = 0.0
    flops_per_row: float = 0.0
    sent: int = 0
    received: int = 0
    folding: int = 0
    joining: int = 0
    written: int = 0


class Rehearsal:
    """An engine that folds the first `sample` rows of every job, and gives their statistic for that of all.

    `passes` is what it learned, and `seconds` are those of the processor that it took itself. A sample of rows in the
    statistic is kept as large as it would be of all rows, so that whoever asked for it has as much to do with it.
    """

    def __init__(self, sample: int, progress: Callable[[str, int, int | None], None] | None = None) -> None:
        self.sample = sample
        self.progress = progress
        self.passes: list[Pass] = []
        self.seconds = 0.0
        self.step = "measuring"

    def report(self, step: str, n: int, total: int | None) -> None:
        """Take over the name of the step that is under way."""
        self.step = step

    def groups(self, job: Job[S], groups: Sequence[Sequence[Range]], progress: Progress | None = None) -> Iterator[S]:
        """The statistic of the sample, as if it were that of all groups."""
        if not isinstance(job, Fold):
            raise TypeError(f"A rehearsal folds vectors; it can't do {type(job).__name__}.")
        begun = time.process_time()
        if progress is not None:
            progress(0)
        n_sampled = min(groups[-1][-1][1], self.sample)
        if self.progress is not None:
            self.progress(f"rehearsing {self.step}", n_sampled, n_sampled)
        statistic: Any = replace(job, statistic=_roomy(job.statistic)).chunk(0, n_sampled)
        self.passes.append(_rehearsed(self.step, job, groups, statistic, n_sampled))
        self.seconds += time.process_time() - begun
        yield statistic


def _rehearsed(step: str, job: Fold[Any], groups: Sequence[Sequence[Range]], full: Statistic, n_sampled: int) -> Pass:
    """What a pass takes, by a sample of `n_sampled` rows and a statistic of it that is as large as that of all rows."""
    part = job.chunk(0, min(n_sampled, SPAN))  # for the first time: buffers, and what is computed once
    overhead = len(packed(part.snapshot(), {"kernel": kernel()})) - _bytes(part.snapshot())

    def size(rows: int) -> int:
        return round(state_bytes(job.statistic, full, n_sampled, rows)) + overhead

    chunks = Counter(stop - start for group in groups for start, stop in group)
    merged = Counter(group[-1][1] - group[0][0] for group in groups)
    largest = size(max(chunks))
    folding = peak_bytes(lambda: job.span(0, min(n_sampled, SPAN))) + 2 * largest
    joining = (max(map(len, groups)) + 1) * largest + 2 * size(max(merged))
    return Pass(
        step=step,
        rows=groups[-1][-1][1],
        chunks=sum(chunks.values()),
        groups=len(groups),
        seconds_per_row=cpu_seconds(lambda: job.chunk(0, n_sampled)) / n_sampled,
        seconds_per_merge=_seconds_per_merge(part),
        flops_per_row=job.statistic.flops_per_row + job.source.flops_per_row,
        sent=sum(size(rows) * n for rows, n in chunks.items()),
        received=sum(size(rows) * n for rows, n in merged.items()),
        folding=folding,
        joining=joining,
    )


def cpu_seconds(work: Callable[[], object]) -> float:
    """What one round of some work takes of the processor, by as many rounds as it takes to tell."""
    begun, rounds = time.process_time(), 0
    while rounds == 0 or time.process_time() - begun < _LEAST_SECONDS:
        work()
        rounds += 1
    return (time.process_time() - begun) / rounds


def state_bytes(statistic: Statistic, folded: Any, n_sampled: int, rows: int) -> float:  # noqa: ANN401 - of the same kind
    """Bytes of the state of a statistic after `rows` rows, by one of the same kind that was `folded` over fewer."""
    if isinstance(statistic, Bundle):
        return sum(state_bytes(member, folded[name], n_sampled, rows) for name, member in statistic.members.items())
    size, n_kept = _bytes(folded.snapshot()), statistic.rows_kept(rows)
    return size if n_kept is None else size * n_kept / (folded.rows_kept(n_sampled) or 1)


def python_bytes(modules: Iterable[str]) -> int:
    """What a fresh Python takes in memory that has imported uncone's fold and these modules, as a worker has."""
    imports = "; ".join(f"import {name}" for name in ("uncone.run.fold", *sorted(set(modules))))
    code = f"{imports}; from uncone.run.memory import resident_bytes; print(resident_bytes())"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return int(process.stdout.split()[-1])


def _roomy(statistic: Any) -> Any:  # noqa: ANN401 - of any kind, which it keeps
    """An empty statistic that keeps as many rows of a sample as it would of all rows."""
    if isinstance(statistic, Bundle):
        return Bundle(**{name: _roomy(member) for name, member in statistic.members.items()})
    for kind, bound in ((RowSample, "cutoff"), (Fingerprints, "rows")):
        if isinstance(statistic, kind):
            return type(statistic)(**{**statistic.settings, bound: None})
    return statistic.empty()


def _seconds_per_merge(part: Statistic) -> float:
    """Packing the state of a part, unpacking it and adding it to another."""

    def merge() -> None:
        total, other = part.empty(), part.empty()
        total.absorb(part)
        other.resume(load(packed(part.snapshot(), {})))
        total.absorb(other)

    return cpu_seconds(merge)


def peak_bytes(work: Callable[[], object]) -> int:
    """The most bytes that some work has in use, in a thread that has no buffers yet."""
    tracemalloc.start()
    try:
        with one_blas_thread(), ThreadPoolExecutor(1) as thread:
            thread.submit(work).result()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _bytes(state: State) -> int:
    return sum(array.nbytes for array in state.values())
