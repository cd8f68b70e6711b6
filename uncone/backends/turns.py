"""Batches side by side: each thread encodes one and measures it, and every layer still meets them in their order."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Condition
from types import TracebackType

from uncone.backends.cores import cores

__all__ = ["Turns"]

_AT_ONCE = 2
"""Batches under way: more would overlap no better, and each holds the states of all layers."""


class Turns:
    """Jobs for a few threads, and the order in which they may touch a layer.

    A batch per core is faster than all cores on one batch, because nothing waits: while one thread is in the model,
    the other is in the sums. Every layer sees the batches in the order in which they were given, so the digits do
    not depend on who is faster.
    """

    def __init__(self, layers: int) -> None:
        self.threads = min(cores(), _AT_ONCE)
        self._under_way: deque[Future[None]] = deque()
        self._given = 0
        self._next = [0] * layers
        self._moved = Condition()
        self._failed = float("inf")
        torch = sys.modules.get("torch")  # a model of word vectors does without
        self._cores = torch.get_num_threads() if torch else 0
        self._pool = ThreadPoolExecutor(self.threads, initializer=_take_cores, initargs=(self._cores // self.threads,))

    def give(self, job: Callable[[int], None]) -> None:
        """Start a job, which is told its number; waits while too many are under way, and raises what they raise."""
        while len(self._under_way) > self.threads:
            self._under_way.popleft().result()
        self._under_way.append(self._pool.submit(self._run, job, self._given))
        self._given += 1

    def finish(self) -> None:
        """Wait until no job is under way."""
        while self._under_way:
            self._under_way.popleft().result()

    @contextmanager
    def at(self, layer: int, number: int) -> Iterator[None]:
        """Inside, job `number` has the layer to itself, after all jobs before it."""
        with self._moved:
            self._moved.wait_for(lambda: self._next[layer] == number or self._failed < number)
            if self._failed < number:
                raise _AbandonedError
        yield
        with self._moved:
            self._next[layer] += 1
            self._moved.notify_all()

    def _run(self, job: Callable[[int], None], number: int) -> None:
        try:
            job(number)
        except BaseException:
            self._abandon_after(number)
            raise

    def _abandon_after(self, number: int) -> None:
        with self._moved:
            self._failed = min(self._failed, number)
            self._moved.notify_all()

    def __enter__(self) -> Turns:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._abandon_after(-1)
        self._pool.shutdown(cancel_futures=True)
        _take_cores(self._cores)


class _AbandonedError(Exception):
    """A job before this one failed, and it is that failure which is shown."""


def _take_cores(cores: int) -> None:
    """So many for what torch does in this thread."""
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(max(cores, 1))
