"""All cores at work, each with one BLAS thread: faster here than one thread with many, and its sums are fixed."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

__all__ = ["cores", "on_all_cores", "one_blas_thread"]

_WITH_BLAS = ("numpy", "scipy.linalg", "torch", "faiss", "sklearn")


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0))


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Every BLAS on one thread, in all threads of this process."""
    with _controller(tuple(name in sys.modules for name in _WITH_BLAS)).limit(limits=1, user_api="blas"):
        yield


@contextmanager
def on_all_cores() -> Iterator[ThreadPoolExecutor]:
    """A thread for every core, and one BLAS thread in each."""
    with one_blas_thread(), ThreadPoolExecutor(cores()) as threads:
        yield threads


@cache
def _controller(loaded: tuple[bool, ...]) -> ThreadpoolController:
    """The libraries that were loaded so far: to look for them takes longer than a small measurement."""
    return ThreadpoolController()
