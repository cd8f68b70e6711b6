"""Parts of the texts of a layer study as the work of an engine: workers encode and measure, the driver merges."""

from __future__ import annotations

import pickle
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, Generic, TypeVar
from uuid import uuid4

from safetensors.numpy import load

from uncone.data.batch import Vector
from uncone.data.storage.files import FileStamps, with_absolute_paths
from uncone.data.texts.selection import Selection
from uncone.errors import OptionError
from uncone.run.job import Executor, Progress, Range, answer, check_answer, check_kernel, kernel
from uncone.run.layer_sums import LayerSums
from uncone.run.layers import LayerPass, Reader
from uncone.run.models import SentModel
from uncone.stats.statistic import Bundle, State

__all__ = ["Cluster"]

R = TypeVar("R")

_LOCAL = threading.local()
"""The reader of each thread of a worker: the next part begins where the last one ended, or not far behind."""


@dataclass(frozen=True)
class Cluster:
    """An engine, and the model as its workers open it.

    With `any_kernel`, workers with other versions or another kernel may take part.
    """

    engine: Executor
    model: SentModel
    any_kernel: bool = False

    def bounds(self, run: LayerPass) -> Vector:
        """The norms beyond which a vector is a sink, from a worker: another device gives other last digits."""
        return next(self.engine.groups(_BoundsJob(**self._sent(run)), [[(0, 1)]], None))

    def parts(
        self,
        run: LayerPass,
        statistic: Bundle,
        bounds: Vector | None,
        parts: Sequence[Range],
        progress: Progress | None,
    ) -> Iterator[LayerSums]:
        """The sums of each part, a range of pools, in order."""
        job = _PartsJob(statistic=statistic, bounds=bounds, **self._sent(run))
        groups = [[(run.edges[start].texts, run.edges[stop].texts)] for start, stop in parts]
        return self.engine.groups(job, groups, progress)

    def _sent(self, run: LayerPass) -> dict[str, Any]:
        """What workers need to read the same texts and to encode them alike."""
        try:
            selection = with_absolute_paths(run.selection)
        except (TypeError, pickle.PicklingError) as error:
            raise OptionError(
                f"{run.selection.source.name} can only be read by this process, so a cluster can't share the work. "
                "Write it to a file first, or leave --engine out."
            ) from error
        settings = {field.name: getattr(run, field.name) for field in fields(run)}
        del settings["encoder"], settings["selection"]
        # While one batch is on a GPU, another is in the sums.
        settings["threads"] = 2 if self.model.gpus else 1
        stamps = FileStamps.of(selection.source.files)
        return {
            "key": uuid4().hex,
            "model": self.model,
            "selection": selection,
            "settings": settings,
            "stamps": stamps,
            "kernel": kernel() | self.model.kernel(),
            "any_kernel": self.any_kernel,
        }


@dataclass(frozen=True, kw_only=True)
class _Job(ABC, Generic[R]):
    """What workers make of a pass over texts. `key` names the pass, `kernel` is that of the driver."""

    key: str
    model: SentModel
    selection: Selection
    settings: dict[str, Any]
    stamps: FileStamps
    kernel: dict[str, str]
    any_kernel: bool

    @property
    def gpus(self) -> int:
        """GPUs that a worker needs."""
        return self.model.gpus

    @abstractmethod
    def arrays(self, reader: Reader, chunk: Range) -> State:
        """What a worker sends of some texts."""

    @abstractmethod
    def result(self, arrays: State) -> R:
        """The same on the driver."""

    def fold(self, chunk: Range) -> bytes:
        """What a worker makes of some texts, as bytes."""

        def work() -> tuple[State, dict[str, Any]]:
            self.stamps.check(self.stamps.stamps)
            reader = self._reader()
            arrays = self.arrays(reader, chunk)
            self.stamps.check(self.stamps.stamps)
            return arrays, {"kernel": kernel() | self.model.kernel()}

        return answer(self.selection.source.name, work)

    def _reader(self) -> Reader:
        if getattr(_LOCAL, "key", None) != self.key:
            encoder = self.model.opened(self.key, lambda: (unit.text for unit in self.selection.read()))
            _LOCAL.reader, _LOCAL.key = Reader(LayerPass(encoder, self.selection, **self.settings)), self.key
        reader: Reader = _LOCAL.reader
        return reader

    def join(self, parts: Iterable[bytes]) -> bytes:
        """A group is one part."""
        return next(iter(parts))

    def received(self, state: bytes) -> R:
        """What a worker has sent.

        Raises:
            UnconeError: what the worker met, or a worker that computes with other versions.
        """
        values = check_answer(state, self.any_kernel)
        check_kernel(self.kernel, values["kernel"], self.any_kernel)
        return self.result(load(state))


@dataclass(frozen=True, kw_only=True)
class _PartsJob(_Job[LayerSums]):
    statistic: Bundle
    bounds: Vector | None

    def arrays(self, reader: Reader, chunk: Range) -> State:
        pools = {edge.texts: number for number, edge in enumerate(reader.run.edges)}
        start, stop = (pools[texts] for texts in chunk)
        return reader.run.sums(self.statistic, reader, (start, stop), self.bounds).snapshot()

    def result(self, arrays: State) -> LayerSums:
        return LayerSums.resumed(self.statistic, arrays)


@dataclass(frozen=True, kw_only=True)
class _BoundsJob(_Job[Vector]):
    def arrays(self, reader: Reader, chunk: Range) -> State:
        return {"bounds": reader.run.bounds()}

    def result(self, arrays: State) -> Vector:
        return arrays["bounds"]
