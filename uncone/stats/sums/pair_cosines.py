"""Cosines of random pairs of rows: their distribution, where the sum of unit vectors gives only the mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uncone.data.batch import Batch, IntVector, Matrix
from uncone.stats.samples.row_sample import RowSample, SampledRows
from uncone.stats.statistic import State, Statistic

__all__ = ["Cosines", "PairCosines"]

ALL_PAIRS = 2_048
"""Up to so many rows every pair is taken, so the answer does not depend on the order of the rows."""


@dataclass(frozen=True)
class Cosines:
    """Cosines of pairs of `m` rows in random order: `values[s, i]` is the pair of row i and row i + s + 1, cyclically.

    Every row stands in equally many pairs. When `complete`, every pair is there, from both of its ends.
    """

    values: Matrix
    complete: bool
    groups: IntVector | None = None
    """What the rows share (m,), where some vary together."""

    @property
    def m(self) -> int:
        """Rows that the pairs are made of."""
        return int(self.values.shape[1])

    @property
    def pairs(self) -> int:
        """Number of different pairs."""
        return int(self.values.size) // (2 if self.complete else 1)

    @property
    def copies(self) -> float:
        """The share of these pairs whose rows are of one group."""
        groups = self.groups
        if groups is None or not len(self.values):
            return 0.0
        return float(np.mean([(groups == np.roll(groups, -shift)).mean() for shift in range(1, len(self.values) + 1)]))

    def per_row(self, kernel: NDArray[np.float64]) -> NDArray[np.float64]:
        """The mean over the pairs of each row of a function of the cosine, given per pair."""
        if self.complete:
            return np.asarray(kernel.mean(axis=0), np.float64)
        total = kernel.sum(axis=0)
        for shift, values in enumerate(kernel, start=1):
            total += np.roll(values, shift)
        return np.asarray(total / (2 * len(kernel)), np.float64)


class PairCosines(Statistic):
    """A row sample, paired: the cosines of up to `shifts` partners per row, or of all pairs when there are few rows.

    >>> pairs = PairCosines(2)
    >>> pairs.update(Batch.of(np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]])))
    >>> sorted(pairs.cosines().values.ravel().tolist())
    [0.0, 0.0, 0.0, 0.0, 1.0, 1.0]
    """

    def __init__(
        self, dim: int, k: int = 50_000, *, shifts: int = 10, seed: int = 0, cutoff: int | None = None
    ) -> None:
        self.shifts = shifts
        self.sample = RowSample(dim, k, seed=seed, cutoff=cutoff)

    @property
    def settings(self) -> dict[str, Any]:
        sample = self.sample
        return {"dim": sample.dim, "k": sample.k, "shifts": self.shifts, "seed": sample.seed, "cutoff": sample.cutoff}

    def update(self, batch: Batch) -> None:
        self.sample.update(batch)

    def absorb(self, other: PairCosines) -> None:
        self.sample.absorb(other.sample)

    def state(self) -> State:
        return self.sample.state()

    def _restore(self, state: State) -> None:
        self.sample._restore(state)

    def cosines(self, shifts: int | None = None) -> Cosines:
        """The cosines of the sampled pairs, of more partners per row where `shifts` says so."""
        rows = self.sample.sampled
        return _all_pairs(rows) if rows.n <= ALL_PAIRS else _some_pairs(rows, shifts or self.shifts)


def _all_pairs(rows: SampledRows) -> Cosines:
    units = _units(rows, rows.order)
    table = np.clip(units @ units.T, -1.0, 1.0)
    places = np.arange(rows.n)
    values = [table[places, np.roll(places, -shift)] for shift in range(1, rows.n)]
    return Cosines(np.stack(values) if values else table[:0], complete=True)


def _some_pairs(rows: SampledRows, shifts: int) -> Cosines:
    values = np.empty((shifts, rows.n), rows.parts[0].dtype)
    step = 2_048
    for start in range(0, rows.n, step):
        stop = min(start + step, rows.n)
        units = _units(rows, rows.order[np.arange(start, stop + shifts) % rows.n])
        for s in range(shifts):
            values[s, start:stop] = np.einsum("ij,ij->i", units[: stop - start], units[s + 1 : s + 1 + stop - start])
    return Cosines(np.clip(values, -1.0, 1.0), complete=False)


def _units(rows: SampledRows, chosen: IntVector) -> Matrix:
    vectors = rows.vectors_at(chosen)
    return vectors / rows.norms[chosen, None].astype(vectors.dtype)
