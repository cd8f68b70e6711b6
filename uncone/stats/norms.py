"""Norms of the vectors: exact mean and spread, a histogram, and the longest and shortest by name."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from uncone.data.batch import Batch, IntVector, Vector
from uncone.stats.statistic import State, Statistic

__all__ = ["SINK", "NamedNorm", "Norms"]

SINK = 10.0
"""A row is a sink when its norm is over so many times the median of its space."""

_PER_OCTAVE = 64
_LOWEST, _HIGHEST = -520, 130  # powers of two: all that usable rows can be
_TOGETHER = 16  # batches whose norms are counted together
_Waiting = tuple[Vector, IntVector, Sequence[str] | None]


@dataclass(frozen=True, order=True)
class NamedNorm:
    """The length of one row, with its number and text."""

    norm: float
    row: int
    text: str | None = None


class Norms(Statistic):
    """Norms of the rows: count, sum, sum of squares, a histogram of log2 |x|, the `keep` most extreme.

    >>> norms = Norms()
    >>> norms.update(Batch.of(np.array([[3.0, 4.0], [6.0, 8.0]])))
    >>> norms.mean, norms.longest[0].row
    (7.5, 1)
    """

    def __init__(self, keep: int = 10) -> None:
        self.keep = keep
        self.n = 0
        self._total = 0.0
        self._squares = 0.0
        self._counts: IntVector = np.zeros((_HIGHEST - _LOWEST) * _PER_OCTAVE, np.int64)
        self._longest: list[NamedNorm] = []
        self._shortest: list[NamedNorm] = []
        self._waiting: list[_Waiting] = []

    def update(self, batch: Batch) -> None:
        if batch.n:
            self._waiting.append((batch.norms, batch.rows, batch.texts))
            self.n += batch.n
            if len(self._waiting) >= _TOGETHER:
                self.finish()

    def finish(self) -> None:
        if not self._waiting:
            return
        waiting = sorted(self._waiting, key=lambda part: int(part[1][0]))
        self._waiting = []
        norms = np.concatenate([part for part, _, _ in waiting]).astype(np.float64)
        bins = np.floor((np.log2(norms) - _LOWEST) * _PER_OCTAVE).astype(np.int64)
        np.add.at(self._counts, bins.clip(0, len(self._counts) - 1), 1)
        self._total += float(norms.sum())
        self._squares += float(norms @ norms)
        longest, shortest = (
            [_named_norm(waiting, i, float(norms[i])) for i in _smallest(key, self.keep).tolist() if key[i] <= bound]
            for key, bound in ((-norms, -_last(self._longest, self.keep, 0)), (norms, _last(self._shortest, self.keep)))
        )
        if longest or shortest:
            self._keep_extremes(longest, shortest)

    def absorb(self, other: Norms) -> None:
        other.finish()
        self.n += other.n
        self._total += other._total
        self._squares += other._squares
        self._counts += other._counts
        self._keep_extremes(other._longest, other._shortest)

    def _keep_extremes(self, longest: list[NamedNorm], shortest: list[NamedNorm]) -> None:
        self._longest = sorted({*self._longest, *longest}, key=lambda vector: (-vector.norm, vector.row))[: self.keep]
        self._shortest = sorted({*self._shortest, *shortest}, key=lambda vector: (vector.norm, vector.row))[: self.keep]

    def state(self) -> State:
        self.finish()
        extremes = [
            [[vector.norm, vector.row, vector.text] for vector in group] for group in (self._longest, self._shortest)
        ]
        return {
            "n": np.array(self.n, np.int64),
            "sums": np.array([self._total, self._squares]),
            "counts": self._counts,
            "extremes": np.frombuffer(json.dumps(extremes).encode(), np.uint8),
        }

    def _restore(self, state: State) -> None:
        self.n = int(state["n"])
        self._total, self._squares = (float(value) for value in state["sums"])
        self._counts = state["counts"].copy()
        longest, shortest = json.loads(state["extremes"].tobytes())
        self._longest = [NamedNorm(*fields) for fields in longest]
        self._shortest = [NamedNorm(*fields) for fields in shortest]

    @property
    def counts(self) -> IntVector:
        """Rows per bin of the histogram."""
        self.finish()
        return self._counts

    @property
    def longest(self) -> list[NamedNorm]:
        """The longest rows, longest first."""
        self.finish()
        return self._longest

    @property
    def shortest(self) -> list[NamedNorm]:
        """The shortest rows, shortest first."""
        self.finish()
        return self._shortest

    @property
    def mean(self) -> float:
        """Mean norm."""
        self.finish()
        return self._total / max(self.n, 1)

    @property
    def spread(self) -> float:
        """Standard deviation of the norms."""
        self.finish()
        variance = (self._squares - self.n * self.mean**2) / max(self.n - 1, 1)
        return float(np.sqrt(max(variance, 0.0)))

    @property
    def edges(self) -> Vector:
        """Edges of the histogram, in units of the norm."""
        return np.exp2(_LOWEST + np.arange(len(self.counts) + 1) / _PER_OCTAVE)

    def quantile(self, p: float) -> float:
        """The norm that a share `p` of the rows stays under, to about one per cent."""
        reached = np.concatenate([[0], np.cumsum(self.counts)])
        value = float(np.interp(p * self.n, reached, self.edges))
        return min(max(value, self.shortest[0].norm), self.longest[0].norm)

    def count_over(self, bound: float) -> int:
        """How many rows are longer than `bound`, to the width of a bin."""
        first = int(np.searchsorted(self.edges, bound))
        return int(self.counts[first:].sum())


def _smallest(values: Vector, k: int) -> IntVector:
    """The places of the k smallest values; of equal ones, the first."""
    if len(values) <= k:
        return np.arange(len(values))
    bound = np.partition(values, k - 1)[k - 1]
    below = np.flatnonzero(values < bound)
    return np.concatenate([below, np.flatnonzero(values == bound)[: k - len(below)]])


def _last(extremes: Sequence[NamedNorm], keep: int, otherwise: float = np.inf) -> float:
    """The norm that a row has to reach to be among the extremes."""
    return extremes[-1].norm if len(extremes) == keep else otherwise


def _named_norm(waiting: Sequence[_Waiting], place: int, norm: float) -> NamedNorm:
    """Row `place` of several batches in a row."""
    for norms, rows, texts in waiting:
        if place < len(norms):
            return NamedNorm(norm, int(rows[place]), None if texts is None else texts[place])
        place -= len(norms)
    raise IndexError(place)
