"""`measure(source, statistic)`: fold a stream into a statistic, with the same digits however it is run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import DTypeLike

from uncone.data.source import Source
from uncone.data.storage.files import FileStamps, with_absolute_paths
from uncone.errors import OptionError
from uncone.run.engines.threads import Threads
from uncone.run.fold import CHUNK, GROUP, SPAN, Fold, groups_of
from uncone.run.job import Executor, Progress
from uncone.run.rehearsal import Rehearsal
from uncone.run.threads import one_blas_thread
from uncone.stats.statistic import Statistic

__all__ = ["Plan", "StepProgress", "measure", "step_progress"]

S = TypeVar("S", bound=Statistic)
StepProgress = Callable[[str, int, int | None], None]
"""Receives the name of a step, the rows done since the last call, and the number of all rows if it is known."""


@dataclass(frozen=True)
class Plan:
    """How to run: products in `dtype`, on an `engine`, or else in so many threads; 0 is a thread for every core.

    With `any_kernel`, machines with other versions or another BLAS kernel may take part.
    """

    workers: int = 0
    dtype: DTypeLike = np.float32
    engine: Executor | None = None
    any_kernel: bool = False


def step_progress(progress: StepProgress | None, step: str, total: int | None = None) -> Progress | None:
    """The progress of one step."""
    return None if progress is None else lambda count: progress(step, count, total)


def measure(source: Source, statistic: S, plan: Plan | None = None, progress: Progress | None = None) -> S:
    """The statistic of all rows of a source; `progress` is told how many more rows are done.

    Vectors in memory are measured where they are, whatever the engine.

    Raises:
        OptionError: a cluster can't share the work, because the source is read from the beginning.
        FormatError: a file changed meanwhile.
        MissingSourceError: a file vanished meanwhile.
    """
    plan = plan or Plan()
    job, threads = Fold(source, statistic, plan.dtype, None, plan.any_kernel), Threads(plan.workers)
    with one_blas_thread():
        return job.merged(_groups(job, plan.engine, threads, progress))


def _groups(job: Fold[S], engine: Executor | None, threads: Threads, progress: Progress | None) -> Iterator[S]:
    """The statistic of every group of a source, by the engine or in threads."""
    source = job.source
    has_parts = (source.random_access or source.divisible) and source.rows is not None
    files = source.files_between() if engine is not None or has_parts else []
    if engine is not None and (files or isinstance(engine, Rehearsal)):
        if not has_parts:
            raise OptionError(
                f"{source.name} can only be read from the beginning, so a cluster can't share the work. Convert it to "
                "Parquet or .npy, or leave --engine out."
            )
        # Workers may run in another folder.
        source = with_absolute_paths(source)
        sent = replace(job, source=source, stamps=FileStamps.of(source.files_between()))
        return engine.groups(sent, groups_of(source.rows or 0), progress)
    if has_parts:
        groups = groups_of(source.rows or 0)
        if source.random_access or threads.reads_whole_chunks(source, sum(map(len, groups))):
            return _unchanged(files, threads.fold(job, groups, progress))
    return _unchanged(files, _regrouped(job, threads.stream(job, progress)))


def _unchanged(files: Sequence[Path], groups: Iterator[S]) -> Iterator[S]:
    """The groups, and an error if a file changed or vanished before the last of them."""
    stamps = FileStamps.of(files)
    yield from groups
    stamps.check(files)


def _regrouped(job: Fold[S], spans: Iterator[S]) -> Iterator[S]:
    """The spans of a stream merged into chunks, and these into groups: the tree that every engine follows."""
    chunks = (job.merged(part) for part in _runs(spans, CHUNK // SPAN))
    yield from (job.merged(part) for part in _runs(chunks, GROUP // CHUNK))


def _runs(parts: Iterator[S], n: int) -> Iterator[Iterator[S]]:
    """Runs of n parts, each to be used up before the next; the last may be shorter."""
    for first in parts:
        yield chain([first], islice(parts, n - 1))
