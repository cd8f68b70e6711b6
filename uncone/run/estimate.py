"""What a run will take on so many workers: computed from the passes of a rehearsal."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

from uncone.data.source import BLOCK
from uncone.run.fold import SPAN
from uncone.run.rehearsal import Pass

__all__ = ["Estimate", "Limit", "Reading"]

Limit = Literal["processor", "transfer", "own work"]
"""What takes most of the time: the processors of the workers, the bytes that travel, or work that isn't shared."""


@dataclass(frozen=True)
class Reading:
    """How vectors are read: the bytes of one as it is stored, CPU seconds for each, and the bytes a second of a reader.

    `bytes_per_second` is None for vectors that no file holds.
    """

    row_bytes: float
    seconds_per_row: float = 0.0
    bytes_per_second: float | None = None


@dataclass(frozen=True)
class Estimate:
    """A run of `passes` over vectors of `dim` dimensions on so many workers, each with one core as fast as ours.

    `bandwidth` is in bytes a second, of all workers together; None if each reads as fast as we do. Without `divisible`
    one worker reads for all. Each takes `unit` rows at a time. `own_seconds` are those of work that isn't shared, and
    `process_bytes` those of a worker that has nothing to do. On a `cluster`, states travel too.
    """

    passes: tuple[Pass, ...]
    dim: int
    reading: Reading
    own_seconds: float
    process_bytes: int
    workers: int
    bandwidth: float | None
    cluster: bool
    divisible: bool
    unit: int

    def on(self, workers: int, *, cluster: bool) -> Estimate:
        """The same on other workers of the cluster, or on so many threads of this machine."""
        return replace(self, workers=workers, cluster=cluster, unit=self.unit if cluster else SPAN)

    @property
    def bytes_read(self) -> int:
        """Bytes of all vectors, as often as they are read."""
        return round(sum(each.rows for each in self.passes) * self.reading.row_bytes)

    @property
    def bytes_written(self) -> int:
        """Bytes of vectors that are written."""
        return sum(each.written for each in self.passes)

    @property
    def flops(self) -> float:
        """Multiplications and additions of matrix products."""
        return sum(each.rows * each.flops_per_row for each in self.passes)

    @property
    def cpu_seconds(self) -> float:
        """Seconds of the processors of all workers together."""
        return sum(map(self.cpu_seconds_of, self.passes))

    @property
    def memory(self) -> int:
        """Bytes that a worker needs: Python, a block as it is read, and the most that a pass has in use."""
        block = BLOCK * self.dim * 4
        peak = max(max(each.folding, each.joining if self.cluster else 0) for each in self.passes)
        return self.process_bytes + block + peak

    @property
    def between_workers(self) -> int:
        """Bytes of the states of chunks, which travel to the workers that merge them."""
        return sum(each.sent for each in self.passes) if self.cluster else 0

    @property
    def to_driver(self) -> int:
        """Bytes of the states of groups, which travel to this machine."""
        return sum(each.received for each in self.passes) if self.cluster else 0

    @property
    def processor_seconds(self) -> float:
        """Time of the worker that has most to do."""
        return sum(map(self._processor, self.passes))

    @property
    def transfer_seconds(self) -> float | None:
        """Time that the bytes need to arrive; None if nobody knows how fast they are."""
        times = [self._transfer(each) for each in self.passes]
        return None if None in times else sum(time or 0.0 for time in times)

    @property
    def seconds(self) -> float:
        """Time of the whole run: reading and computing overlap within a pass."""
        return self.own_seconds + sum(self.seconds_of(each) for each in self.passes)

    def cpu_seconds_of(self, each: Pass) -> float:
        """Those of a pass."""
        return self._work(each, each.rows, each.chunks)

    def seconds_of(self, each: Pass) -> float:
        """Time of a pass."""
        return max(self._processor(each), self._transfer(each) or 0.0)

    @property
    def limit(self) -> Limit:
        """What takes most of the time."""
        times: dict[Limit, float] = {
            "processor": self.processor_seconds,
            "transfer": self.transfer_seconds or 0.0,
            "own work": self.own_seconds,
        }
        return max(times, key=lambda name: times[name])

    @property
    def most_units(self) -> int:
        """Parts that can be worked on at once: more workers than that have nothing to do."""
        return max(math.ceil(each.rows / self.unit) for each in self.passes)

    @property
    def most_workers(self) -> int | None:
        """Workers beyond which no pass gets its bytes faster than it works on them; None without a bandwidth."""
        if self.bandwidth is None:
            return None
        return (
            max(math.ceil(self.cpu_seconds_of(each) / (self._transfer(each) or math.inf)) for each in self.passes) or 1
        )

    def _work(self, each: Pass, rows: int, merges: int) -> float:
        return rows * (self.reading.seconds_per_row + each.seconds_per_row) + merges * each.seconds_per_merge

    def _processor(self, each: Pass) -> float:
        units, merges = (math.ceil(n / self.workers) for n in (math.ceil(each.rows / self.unit), each.chunks))
        busiest = self._work(each, min(units * self.unit, each.rows), merges)
        return busiest if self.divisible else max(busiest, each.rows * self.reading.seconds_per_row)

    def _transfer(self, each: Pass) -> float | None:
        size = each.rows * self.reading.row_bytes
        if self.bandwidth is not None:
            return (size + each.written + (each.sent + each.received if self.cluster else 0)) / self.bandwidth
        if self.reading.bytes_per_second is None:
            return None
        return size / (self.reading.bytes_per_second * (self.workers if self.divisible else 1))
