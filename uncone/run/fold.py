"""The fold: rows are cut into spans, chunks and groups, and merged along this tree, whoever does the work.

The tree decides the digits. An engine decides which machine folds which part of it, so an engine moves no digit. The
states of parts travel as safetensors bytes, with the kernel that computed them; never as a pickle.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import DTypeLike
from safetensors.numpy import load

from uncone.data.batch import Batch, batch_rows
from uncone.data.source import BLOCK, Rows, Source, batches
from uncone.data.storage.files import FileStamps
from uncone.run.job import Range, answer, check_answer, common_kernel, header, kernel, packed
from uncone.run.threads import one_blas_thread
from uncone.stats.statistic import Statistic

__all__ = ["CHUNK", "GROUP", "SPAN", "Fold", "cut", "groups_of"]

S = TypeVar("S", bound=Statistic)

SPAN = 2 * BLOCK
"""Rows that are folded together before merging."""
CHUNK = 64 * SPAN
"""Rows whose spans are merged by one worker: as many as pyarrow writes into a row group."""
GROUP = 32 * CHUNK
"""Rows whose chunks are merged before they reach the driver."""


def cut(start: int, stop: int, size: int) -> list[Range]:
    """The range in parts of `size` rows, but for the last.

    >>> cut(0, 10, 4)
    [(0, 4), (4, 8), (8, 10)]
    """
    return [(first, min(first + size, stop)) for first in range(start, stop, size)]


def groups_of(rows: int) -> list[list[Range]]:
    """The chunks of every group of so many rows."""
    return [cut(*group, CHUNK) for group in cut(0, rows, GROUP)]


@dataclass(frozen=True)
class Fold(Generic[S]):
    """A job that folds: a source into an empty statistic, with products in `dtype`.

    It is sent to workers as it is. A worker refuses a file that has changed since `stamps` were taken, and with
    `any_kernel` computes although its versions or its BLAS differ from those of the driver.
    """

    source: Source
    statistic: S
    dtype: DTypeLike = np.float32
    stamps: FileStamps | None = None
    any_kernel: bool = False

    def span(self, start: int, stop: int) -> S:
        """The statistic of a span."""
        part = self.statistic.empty()
        return self._fold(part, batches(self.source.read_into(part.place, start, stop), self.dtype, start))

    def span_of(self, rows: Iterable[Rows], start: int) -> S:
        """The statistic of a span of rows that were read already."""
        return self._fold(self.statistic.empty(), batches(iter(rows), self.dtype, start))

    @staticmethod
    def _fold(part: S, stream: Iterator[Batch]) -> S:
        for batch in stream:
            part.update(batch)
        part.finish()
        return part

    def chunk(self, start: int, stop: int) -> S:
        """The statistic of a chunk, read in one go and merged span by span."""
        spans = cut(start, stop, SPAN)
        if self.source.random_access:
            return self.merged(self.span(*span) for span in spans)
        stream = batches(self.source.read(start, stop), self.dtype, start)
        n_batches = SPAN // batch_rows(self.source.dim)
        return self.merged(self._fold(self.statistic.empty(), islice(stream, n_batches)) for _ in spans)

    def merged(self, parts: Iterable[S]) -> S:
        """The parts merged in their order; a single part is what it is."""
        parts = iter(parts)
        waiting = list(islice(parts, 2))
        if len(waiting) == 1:
            return waiting.pop()
        total = self.statistic.empty()
        while waiting:
            total.absorb(waiting.pop(0))
            # No part is asked for before the last is merged and gone: one may take a hundred megabytes.
            waiting = waiting or list(islice(parts, 1))
        return total

    # What follows runs on workers, or takes what they made.

    def fold(self, chunk: Range) -> bytes:
        """The state of a chunk as bytes."""

        def work() -> tuple[dict[str, Any], dict[str, Any]]:
            self._check_files(chunk)
            state = self.chunk(*chunk).snapshot()
            self._check_files(chunk)
            return state, {"kernel": kernel()}

        return answer(self.source.name, work)

    def _check_files(self, chunk: Range) -> None:
        if self.stamps is not None:
            self.stamps.check(self.source.files_between(*chunk))

    def join(self, parts: Iterable[bytes]) -> bytes:
        """The states of chunks as one, each unpacked when the one before is merged; of errors, the first."""
        kernels: list[dict[str, str]] = []
        failures: list[bytes] = []

        def states() -> Iterator[S]:
            for part in parts:
                values = header(part)
                if "error" in values:
                    failures.append(part)
                    return
                kernels.append(values["kernel"])
                yield self._unpacked(part)

        with one_blas_thread():
            total = self.merged(states())
        return failures[0] if failures else packed(total.snapshot(), {"kernel": common_kernel(kernels)})

    def received(self, state: bytes) -> S:
        """The statistic of a group, as it came from a worker.

        Raises:
            UnconeError: what a worker met, or a worker that computes with other versions.
        """
        check_answer(state, self.any_kernel)
        return self._unpacked(state)

    def _unpacked(self, state: bytes) -> S:
        part = self.statistic.empty()
        part.resume(load(state))
        return part
