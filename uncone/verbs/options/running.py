"""Options of how a verb runs: its samples, its precision and its processes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from uncone.verbs.options.option import Options, between, option

if TYPE_CHECKING:
    from uncone.run.measure import Plan

__all__ = ["RunOptions", "SeedOptions"]


@dataclass(frozen=True, kw_only=True)
class SeedOptions(Options):
    """The seed of every verb that draws, and where it reports its progress."""

    GROUP = "Sampling"
    seed: int = option(0, "Seed of every sample and every random start.", rule=between(0, (1 << 32) - 1))
    progress: Callable[[str, int, int | None], None] | None = option(
        None, "Called with the step, what was done since the last call, and how much there is.", cli=False
    )


@dataclass(frozen=True, kw_only=True)
class RunOptions(SeedOptions):
    """How vectors are measured."""

    GROUP = "Running"
    float64: bool = option(False, "Compute in double precision, at half the speed.")
    workers: int = option(0, "Number of processes; 0 uses threads. The numbers are the same.", rule=between(0, 256))

    @property
    def plan(self) -> Plan:
        """The same for a pass over vectors."""
        import numpy as np

        from uncone.run.measure import Plan

        return Plan(workers=self.workers, dtype=np.float64 if self.float64 else np.float32)
