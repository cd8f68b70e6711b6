"""The upper triangle of the cosine matrix in tiles that stay in a core's cache, strip by strip on all cores.

The grid is fixed, and each tile is one product on one BLAS thread: the number of cores does not change a digit.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

from uncone.likeness.units import Units

__all__ = ["TILE", "on_all_cores", "product", "starts"]

T = TypeVar("T")

TILE = 512
"""Rows and columns of a tile: 1 MiB of float32, so that what follows a product finds it in the cache."""


def starts(n: int, first: int = 0) -> range:
    """Where the strips of n rows begin."""
    return range(first, n, TILE)


def product(one: Units, other: Units, limit: np.float32, room: Units) -> Units:
    """The products of every row of `one` with every row of `other`, within -limit and limit, written into `room`.

    Lengths are 1 but for rounding, so a cosine may come out a little above 1.
    """
    tile = room[: len(one) * len(other)].reshape(len(one), len(other))
    np.matmul(one, other.T, out=tile)
    return np.clip(tile, -limit, limit, out=tile)


def on_all_cores(work: Callable[[int], T], tasks: Iterable[int], at_once: int | None = None) -> Iterator[T]:
    """What `work` makes of each task, in their order; at most `at_once` are under way or waiting, but at least one."""
    cores = len(os.sched_getaffinity(0))
    at_once = cores + 1 if at_once is None else max(1, min(at_once, cores + 1))
    under_way: deque[Future[T]] = deque()
    executor = ThreadPoolExecutor(min(cores, at_once))
    try:
        with threadpool_limits(1, user_api="blas"):
            for task in tasks:
                under_way.append(executor.submit(work, task))
                if len(under_way) >= at_once:
                    yield under_way.popleft().result()
            while under_way:
                yield under_way.popleft().result()
    finally:
        executor.shutdown(wait=True, cancel_futures=True)
