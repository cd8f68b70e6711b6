"""Threads: every core at work with one BLAS thread each, and batches that meet every layer in their order."""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from threading import Condition, Event
from types import TracebackType
from typing import TypeVar

from threadpoolctl import ThreadpoolController

__all__ = ["Steps", "Turns", "blas_kernels", "cores", "in_order", "on_all_cores", "one_blas_thread", "one_torch_thread"]

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


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """Every product of torch on one thread: with more, those of a few rows have other last digits."""
    torch = sys.modules.get("torch")  # a model of word vectors does without
    before = torch.get_num_threads() if torch else 0
    _take_cores(1)
    try:
        yield
    finally:
        _take_cores(before)


@lru_cache(maxsize=1)
def _loaded_blas(_modules: int) -> ThreadpoolController:
    """The BLAS libraries of this process, searched again only after a further import, which may have loaded another.

    The search reads the memory map of the process: 10 ms where torch and scipy are loaded.
    """
    return ThreadpoolController()


def blas_kernels() -> list[str]:
    """The kernels that numpy's BLAS has chosen for this processor: the last digits of products depend on them."""
    libraries = [library for library in _loaded_blas(len(sys.modules)).info() if library["user_api"] == "blas"]
    own = [library for library in libraries if "numpy" in library["filepath"]]
    return [str(library.get("architecture") or library["internal_api"]) for library in own or libraries]


@contextmanager
def on_all_cores() -> Iterator[ThreadPoolExecutor]:
    """A thread for every core, and one BLAS thread in each."""
    with one_blas_thread(), ThreadPoolExecutor(cores()) as threads:
        yield threads


def in_order(
    work: Callable[[A], B],
    tasks: Iterable[A],
    at_once: int | None = None,
    threads: int | None = None,
    stop: Event | None = None,
) -> Iterator[B]:
    """What `work` makes of each task, in their order, on all cores or so many `threads`.

    At most `at_once` tasks are under way or waiting, and never more than one above the number of cores: so memory stays
    bounded when results are large, or tasks without end. At the end, also by an error, `stop` is set: long tasks that
    are still under way can look at it.

    >>> list(in_order(lambda n: n * n, range(4)))
    [0, 1, 4, 9]
    """
    threads = threads or cores()
    at_once = threads + 1 if at_once is None else max(1, min(at_once, threads + 1))
    under_way: deque[Future[B]] = deque()
    executor = ThreadPoolExecutor(min(threads, at_once))
    try:
        with one_blas_thread():
            for task in tasks:
                under_way.append(executor.submit(work, task))
                if len(under_way) >= at_once:
                    yield under_way.popleft().result()
            while under_way:
                yield under_way.popleft().result()
    finally:
        if stop is not None:
            stop.set()
        executor.shutdown(wait=True, cancel_futures=True)


_AT_ONCE = 2
"""Threads, unless more are asked for: each holds the states of all layers."""

Steps = Sequence[Callable[[], None]]
"""What is to be done with a batch, a step for every layer."""


class Turns:
    """Jobs for a few threads, and the order in which they may touch a layer.

    A batch per core is faster than all cores on one batch, because nothing waits: while one thread is in the model,
    the other is in the sums. It also gives the same digits on any number of cores: with two threads, torch sums the
    products of a few rows in another order. Every layer meets the batches in the order in which they were given, so
    the digits do not depend on who is faster: a thread whose batch has not its turn leaves it to the thread that has
    the batch before, and takes the next.
    """

    def __init__(self, layers: int, threads: int = _AT_ONCE) -> None:
        self.threads = min(cores(), threads)
        self._submitted = self._n_settled = 0
        self._next = [0] * layers
        self._remaining: dict[int, tuple[Steps, int]] = {}
        self._condition = Condition()
        self._errors: dict[int, BaseException] = {}
        self._failed = float("inf")
        torch = sys.modules.get("torch")  # a model of word vectors does without
        self._cores = torch.get_num_threads() if torch else 0
        self._pool = ThreadPoolExecutor(self.threads, initializer=_take_cores, initargs=(1,))

    def give(self, job: Callable[[], Steps]) -> None:
        """Start a job; waits while too many are under way, and raises what they raise."""
        with self._condition:
            self._condition.wait_for(lambda: self._submitted - self._n_settled <= self.threads)
        if self._errors:
            self.finish()
        self._pool.submit(self._run, job, self._submitted)
        self._submitted += 1

    def finish(self) -> None:
        """Wait until no job is under way, and raise what the first that failed has raised."""
        with self._condition:
            self._condition.wait_for(lambda: self._n_settled == self._submitted)
        if self._errors:
            raise self._errors[min(self._errors)]

    def _run(self, job: Callable[[], Steps], number: int) -> None:
        try:
            work = job() if number < self._failed else []
        except BaseException as error:
            self._abandon_from(number, error)
            return
        place: tuple[int, Steps, int] | None = number, work, 0
        while place is not None:
            place = self._go_on(*place)

    def _go_on(self, number: int, steps: Steps, layer: int) -> tuple[int, Steps, int] | None:
        """The steps of a batch, as long as it has its turn; then, where the batch after it was left, if it was."""
        while True:
            with self._condition:
                if number > self._failed or layer == len(steps):
                    return self._settle(number)
                if self._next[layer] != number:
                    self._remaining[number] = steps, layer
                    return None
            try:
                steps[layer]()
            except BaseException as error:
                self._abandon_from(number, error)
                return None
            with self._condition:
                self._next[layer] += 1
            layer += 1

    def _settle(self, number: int) -> tuple[int, Steps, int] | None:
        self._n_settled += 1
        self._condition.notify_all()
        return (number + 1, *self._remaining.pop(number + 1)) if number + 1 in self._remaining else None

    def _abandon_from(self, number: int, error: BaseException | None = None) -> None:
        with self._condition:
            self._failed = min(self._failed, number)
            if error is not None:
                self._errors[number] = error
                self._n_settled += 1
            for later in [turn for turn in self._remaining if turn > number]:
                del self._remaining[later]
                self._n_settled += 1
            self._condition.notify_all()

    def __enter__(self) -> Turns:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._abandon_from(-1)
        self._pool.shutdown(cancel_futures=True)
        _take_cores(self._cores)


def _take_cores(cores: int) -> None:
    """So many for what torch does in this thread."""
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(max(cores, 1))
