"""`measure(source, statistic)`: fold a stream into a statistic, with the same digits however it is run.

The rows are cut into spans of a fixed number of rows. Each span is folded on its own, in one thread or process with
one BLAS thread, and the spans are merged in their order. Neither the sharding of the files nor the number of threads
or processes moves a cut, so none of them moves a digit.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import DTypeLike
from threadpoolctl import ThreadpoolController

from uncone.data.batch import Batch
from uncone.data.source import BLOCK, Rows, Source, batches, regrid
from uncone.errors import WorkerError
from uncone.run.threads import cores, one_blas_thread
from uncone.stats.statistic import Statistic

__all__ = ["SPAN", "Plan", "StepProgress", "measure", "step_progress"]

S = TypeVar("S", bound=Statistic)
Progress = Callable[[int], None]
StepProgress = Callable[[str, int, int | None], None]
"""Receives the name of a step, the rows done since the last call, and the number of all rows if it is known."""

SPAN = 2 * BLOCK
"""Rows that are folded together before merging."""


@dataclass(frozen=True)
class Plan:
    """How to run: products in `dtype`, in `workers` processes. 0 is a thread for every core; 1 is a single thread."""

    workers: int = 0
    dtype: DTypeLike = np.float32


def step_progress(progress: StepProgress | None, step: str, total: int | None = None) -> Progress | None:
    """The progress of one step."""
    return None if progress is None else lambda count: progress(step, count, total)


def measure(source: Source, statistic: S, plan: Plan | None = None, progress: Progress | None = None) -> S:
    """The statistic of all rows of a source; `progress` is told how many more rows are done."""
    plan = plan or Plan()
    tasks = _ranges(source) if source.random_access else _spans(source.read())
    total = statistic.empty()
    with one_blas_thread(), _executor(source, statistic, plan) as (executor, at_once):
        try:
            for part, rows in _in_order(executor, tasks, source, statistic, plan, at_once):
                total.absorb(part)
                if progress is not None:
                    progress(rows)
        except BrokenProcessPool as error:
            raise WorkerError("A worker process died, perhaps out of memory. Try fewer --workers.") from error
    return total


@dataclass(frozen=True)
class _Span:
    """A task: rows from `start` to `stop`; the rows themselves when the source cannot be read twice."""

    start: int
    stop: int
    rows: tuple[Rows, ...] | None = None


def _ranges(source: Source) -> Iterator[_Span]:
    rows = source.rows or 0
    for start in range(0, rows, SPAN):
        yield _Span(start, min(start + SPAN, rows))


def _spans(stream: Iterator[Rows]) -> Iterator[_Span]:
    blocks = (Rows(block.vectors.copy(), block.texts, block.labels) for block in regrid(stream, BLOCK))
    start = 0
    while span := tuple(islice(blocks, SPAN // BLOCK)):
        stop = start + sum(len(block.vectors) for block in span)
        yield _Span(start, stop, span)
        start = stop


def _fold(statistic: S, span: _Span, source: Source | None, dtype: DTypeLike) -> S:
    part = statistic.empty()
    for batch in _batches_of(span, source, dtype, part):
        part.update(batch)
    part.finish()
    return part


def _batches_of(span: _Span, source: Source | None, dtype: DTypeLike, reader: Statistic) -> Iterator[Batch]:
    if span.rows is not None:
        return batches(iter(span.rows), dtype, span.start)
    assert source is not None
    return batches(source.read_into(reader.place, span.start, span.stop), dtype, span.start)


@contextmanager
def _executor(source: Source, statistic: Statistic, plan: Plan) -> Iterator[tuple[Executor, int]]:
    if plan.workers > 1:
        _check_guard()
        sent = source if source.random_access else None
        executor: Executor = ProcessPoolExecutor(
            plan.workers, get_context("spawn"), _prepare, (statistic.empty(), sent, plan.dtype)
        )
        at_once = plan.workers + 1
    else:
        threads = plan.workers or cores()
        executor, at_once = ThreadPoolExecutor(threads), threads + 1
    try:
        yield executor, at_once
    finally:
        executor.shutdown(wait=True, cancel_futures=True)


def _check_guard() -> None:
    """Refuse to start workers from a script that would start its work again in every one of them, without end."""
    script = getattr(sys.modules["__main__"], "__file__", None)
    if script is not None and Path(script).is_file() and b"__name__" not in Path(script).read_bytes():
        raise WorkerError(
            f"{script} starts worker processes, and each of them imports it again. Put its code under "
            '`if __name__ == "__main__":`, or leave workers out.'
        )


@contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """Ctrl-C waits, and the processes that are started here never see it: it is for the parent, which ends them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _in_order(
    executor: Executor, tasks: Iterable[_Span], source: Source, statistic: S, plan: Plan, at_once: int
) -> Iterator[tuple[S, int]]:
    """The parts in the order of the rows; never more than `at_once` under way, so memory stays bounded."""
    under_way: deque[tuple[Future[S], int]] = deque()
    for span in tasks:
        if plan.workers > 1:
            with _interrupts_held_back():  # this may start a worker
                future: Future[S] = executor.submit(_fold_in_worker, span)
        else:
            future = executor.submit(_fold, statistic, span, source, plan.dtype)
        under_way.append((future, span.stop - span.start))
        if len(under_way) >= at_once:
            first, rows = under_way.popleft()
            yield first.result(), rows
    for first, rows in under_way:
        yield first.result(), rows


_worker_state: tuple[Statistic, Source | None, DTypeLike] | None = None


def _prepare(statistic: Statistic, source: Source | None, dtype: DTypeLike) -> None:
    """In a new worker: remember what to measure, on one BLAS thread for good."""
    global _worker_state
    _worker_state = statistic, source, dtype
    ThreadpoolController().limit(limits=1, user_api="blas")
    threading.Thread(target=_end_with_the_parent, daemon=True).start()


def _end_with_the_parent() -> None:
    """A worker whose parent was killed would wait for work for ever."""
    parent = parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)


def _fold_in_worker(span: _Span) -> Any:  # noqa: ANN401 - the kind of statistic that _prepare was given
    assert _worker_state is not None
    statistic, source, dtype = _worker_state
    return _fold(statistic, span, source, dtype)
