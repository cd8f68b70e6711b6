"""All cores at work, each with one BLAS thread: faster here than one thread with many, and its sums are fixed."""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from typing import TypeVar

from threadpoolctl import ThreadpoolController

__all__ = ["cores", "in_order", "on_all_cores", "one_blas_thread"]

A = TypeVar("A")
B = TypeVar("B")


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0))


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Every BLAS on one thread: those of numpy and scipy in all threads, one that OpenMP drives in this thread."""
    with _loaded_blas(len(sys.modules)).limit(limits=1, user_api="blas"):
        yield


@lru_cache(maxsize=1)
def _loaded_blas(_modules: int) -> ThreadpoolController:
    """The BLAS libraries of this process, searched again only after a further import, which may have loaded another.

    The search reads the memory map of the process: 10 ms where torch and scipy are loaded.
    """
    return ThreadpoolController()


@contextmanager
def on_all_cores() -> Iterator[ThreadPoolExecutor]:
    """A thread for every core, and one BLAS thread in each."""
    with one_blas_thread(), ThreadPoolExecutor(cores()) as threads:
        yield threads


def in_order(work: Callable[[A], B], tasks: Iterable[A], at_once: int | None = None) -> Iterator[B]:
    """What `work` makes of each task, in their order, on all cores.

    At most `at_once` tasks are under way or waiting, and never more than one above the number of cores: so memory stays
    bounded when results are large, or tasks without end.

    >>> list(in_order(lambda n: n * n, range(4)))
    [0, 1, 4, 9]
    """
    at_once = cores() + 1 if at_once is None else max(1, min(at_once, cores() + 1))
    under_way: deque[Future[B]] = deque()
    executor = ThreadPoolExecutor(min(cores(), at_once))
    try:
        with one_blas_thread():
            for task in tasks:
                under_way.append(executor.submit(work, task))
                if len(under_way) >= at_once:
                    yield under_way.popleft().result()
            while under_way:
                yield under_way.popleft().result()
    finally:
        executor.shutdown(wait=True, cancel_futures=True)
