"""Sums of some texts at every layer: a small state that is merged, saved and sent."""

from __future__ import annotations

from dataclasses import astuple, dataclass, field
from operator import add

import numpy as np

from uncone.data.batch import IntVector
from uncone.run.threads import on_all_cores
from uncone.stats.statistic import Bundle, State

__all__ = ["LayerSums", "PassTally", "of_prefix"]


@dataclass
class PassTally:
    """What was met on the way: texts cut into windows or truncated; words cut in two, not read, or without a token."""

    windowed: int = 0
    truncated: int = 0
    cut_words: int = 0
    unread_words: int = 0
    empty: int = 0

    def plus(self, other: PassTally) -> PassTally:
        """What was met here and in other texts."""
        return PassTally(*map(add, astuple(self), astuple(other)))


@dataclass
class LayerSums:
    """The statistics of every layer over some texts, how many sinks were left out of each, and what was met.

    `uncovered` words have no token and so no vector.
    """

    layers: list[Bundle]
    sinks: IntVector
    tally: PassTally = field(default_factory=PassTally)
    uncovered: int = 0

    @classmethod
    def of_nothing(cls, statistic: Bundle, layers: int) -> LayerSums:
        """Those of no text."""
        return cls([statistic.empty() for _ in range(layers)], np.zeros(layers, np.int64))

    def absorb(self, other: LayerSums) -> None:
        """Add those of other texts, all layers at a time."""
        with on_all_cores() as threads:
            list(threads.map(Bundle.absorb, self.layers, other.layers))
        self.sinks += other.sinks
        self.tally = self.tally.plus(other.tally)
        self.uncovered += other.uncovered

    def snapshot(self) -> State:
        """All of it as arrays, to go on from."""
        arrays = {f"layer{i}.{key}": a for i, bundle in enumerate(self.layers) for key, a in bundle.snapshot().items()}
        counts = np.array([*astuple(self.tally), self.uncovered], np.int64)
        return {**arrays, "sinks": self.sinks, "counts": counts}

    @classmethod
    def resumed(cls, statistic: Bundle, snapshot: State) -> LayerSums:
        """Those that a snapshot was taken of."""
        sums = cls.of_nothing(statistic, len(snapshot["sinks"]))
        for number, bundle in enumerate(sums.layers):
            bundle.resume(of_prefix(snapshot, f"layer{number}."))
        *tally, sums.uncovered = snapshot["counts"].tolist()
        sums.sinks, sums.tally = snapshot["sinks"].copy(), PassTally(*tally)
        return sums


def of_prefix(state: State, prefix: str) -> State:
    """The arrays whose names begin with a prefix, without it."""
    return {key.removeprefix(prefix): array for key, array in state.items() if key.startswith(prefix)}
