"""The fold: rows are cut into spans, chunks and groups, and merged along this tree, whoever does the work.

The tree decides the digits. An engine decides which machine folds which part of it, so an engine moves no digit. The
states of parts travel as safetensors bytes, with the kernel that computed them; never as a pickle.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, islice
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import DTypeLike
from safetensors.numpy import load, save

import uncone.errors
from uncone import __version__
from uncone.data.batch import CUT, Batch
from uncone.data.files import FileStamps
from uncone.data.source import BLOCK, Rows, Source, batches
from uncone.errors import MissingSourceError, OptionError, UnconeError, WorkerError
from uncone.run.threads import blas_kernels, one_blas_thread
from uncone.stats.statistic import Statistic

__all__ = ["CHUNK", "GROUP", "SPAN", "Executor", "Job", "Progress", "Range", "cut", "groups_of", "kernel"]

S = TypeVar("S", bound=Statistic)
Range = tuple[int, int]
"""The first row, and the row after the last."""
Progress = Callable[[int], None]

SPAN = 2 * BLOCK
"""Rows that are folded together before merging."""
CHUNK = 64 * SPAN
"""Rows whose spans are merged by one worker: as many as pyarrow writes into a row group."""
GROUP = 32 * CHUNK
"""Rows whose chunks are merged before they reach the driver."""


class Executor(Protocol):
    """Where a fold is run: it gives the statistic of each group of chunks, in their order."""

    def groups(self, job: Job[S], groups: Sequence[Sequence[Range]], progress: Progress | None) -> Iterator[S]:
        """Fold every chunk, merge those of a group, and report the rows that are done."""


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
class Job(Generic[S]):
    """What is folded: a source into an empty statistic, with products in `dtype`.

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
        return self.merged(self._fold(self.statistic.empty(), islice(stream, SPAN // CUT)) for _ in spans)

    def merged(self, parts: Iterable[S]) -> S:
        """The parts merged in their order; a single part is what it is."""
        parts = iter(parts)
        first = list(islice(parts, 2))
        if len(first) == 1:
            return first[0]
        total = self.statistic.empty()
        for part in chain(first, parts):
            total.absorb(part)
        return total

    # What follows runs on workers, or takes what they made.

    def fold(self, chunk: Range) -> bytes:
        """The state of a chunk as bytes; an error of ours travels the same way, so that no engine tries again."""
        try:
            with one_blas_thread():
                self._check_files(chunk)
                state = self.chunk(*chunk).snapshot()
                self._check_files(chunk)
            return _packed(state, {"kernel": kernel()})
        except UnconeError as error:
            return _packed({}, {"error": {"kind": type(error).__name__, "message": str(error)}})
        except OSError as error:
            message = (
                f"A worker can't read {self.source.name}: {error.strerror or error}. Do all machines see its files?"
            )
            return _packed({}, {"error": {"kind": MissingSourceError.__name__, "message": message}})

    def _check_files(self, chunk: Range) -> None:
        if self.stamps is not None:
            self.stamps.check(self.source.files_between(*chunk))

    def join(self, parts: Sequence[bytes]) -> bytes:
        """The states of chunks as one; of errors, the first."""
        failed = [part for part in parts if "error" in _header(part)]
        if failed:
            return failed[0]
        with one_blas_thread():
            total = self.merged(map(self._unpacked, parts))
        return _packed(total.snapshot(), {"kernel": _common_kernel(parts)})

    def received(self, state: bytes) -> S:
        """The statistic of a group, as it came from a worker.

        Raises:
            UnconeError: what a worker met; it is raised here again.
            OptionError: a worker computes with other versions or another BLAS kernel.
        """
        header = _header(state)
        if "error" in header:
            kind = getattr(uncone.errors, header["error"]["kind"], WorkerError)
            raise kind(header["error"]["message"])
        differences = _differences(kernel(), header["kernel"])
        if differences and not self.any_kernel:
            raise OptionError(
                f"Workers differ from this machine: {'; '.join(differences)}. The last digits would differ. Install "
                "the same versions, or allow it with --any-kernel."
            )
        return self._unpacked(state)

    def _unpacked(self, state: bytes) -> S:
        part = self.statistic.empty()
        part.resume(load(state))
        return part


@cache
def kernel() -> dict[str, str]:
    """What the last digits of this process depend on: versions, and the kernel that BLAS has chosen."""
    return {"uncone": __version__, "numpy": np.__version__, "BLAS": ", ".join(sorted(set(blas_kernels())))}


def _differences(mine: dict[str, str], theirs: dict[str, str]) -> list[str]:
    return [f"{name} {theirs[name]} instead of {mine[name]}" for name in mine if mine[name] != theirs.get(name)]


def _common_kernel(parts: Sequence[bytes]) -> dict[str, str]:
    """The kernel of all parts; where they differ, every value."""
    kernels = [_header(part)["kernel"] for part in parts]
    return {name: " and ".join(sorted({each[name] for each in kernels})) for name in kernels[0]}


def _packed(state: dict[str, Any], header: dict[str, Any]) -> bytes:
    arrays = {name: np.asarray(value) for name, value in state.items()}
    # safetensors has no 0-d arrays of every type, nor views: shapes are kept as they are, contents in C order.
    plain = {name: value if value.flags.c_contiguous else value.copy(order="C") for name, value in arrays.items()}
    return save(plain, {name: json.dumps(value) for name, value in header.items()})


def _header(state: bytes) -> dict[str, Any]:
    size = int.from_bytes(state[:8], "little")
    metadata = json.loads(state[8 : 8 + size]).get("__metadata__", {})
    return {name: json.loads(value) for name, value in metadata.items()}
