"""All cores at work, each with one BLAS thread: faster here than one thread with many, and its sums are fixed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from threadpoolctl import ThreadpoolController

__all__ = ["cores", "on_all_cores", "one_blas_thread"]


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0))


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Every BLAS on one thread: those of numpy and scipy in all threads, one that OpenMP drives in this thread."""
    # Looked for anew each time, in half a millisecond: a library that was loaded since would be missed.
    with ThreadpoolController().limit(limits=1, user_api="blas"):
        yield


@contextmanager
def on_all_cores() -> Iterator[ThreadPoolExecutor]:
    """A thread for every core, and one BLAS thread in each."""
    with one_blas_thread(), ThreadPoolExecutor(cores()) as threads:
        yield threads
