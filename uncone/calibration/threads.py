"""Blocks of work side by side, one per core, with their results in order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import TypeVar

from threadpoolctl import ThreadpoolController

__all__ = ["in_threads"]

A = TypeVar("A")
B = TypeVar("B")


def in_threads(work: Callable[[A], B], blocks: Iterable[A]) -> Iterator[B]:
    """The results for all blocks in their order; a few are under way at a time, each on one BLAS thread.

    >>> list(in_threads(lambda n: n * n, range(4)))
    [0, 1, 4, 9]
    """
    threads = len(os.sched_getaffinity(0))
    under_way: deque[Future[B]] = deque()
    with _controller().limit(limits=1, user_api="blas"), ThreadPoolExecutor(threads) as pool:
        for block in blocks:
            under_way.append(pool.submit(work, block))
            if len(under_way) > 4 * threads:
                yield under_way.popleft().result()
        while under_way:
            yield under_way.popleft().result()


@cache
def _controller() -> ThreadpoolController:
    """Looking for the libraries takes longer than a small sample."""
    return ThreadpoolController()
