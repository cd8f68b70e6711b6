"""Partition functions Z(c) = sum_w exp(c.w) along given directions, with both signs."""

from __future__ import annotations

import numpy as np

from uncone.data.batch import Batch, IntVector, Matrix, Vector
from uncone.stats.statistic import State, Statistic

__all__ = ["PartitionSums"]

_SAFE = 80.0  # exp of it, and the sum of thousands of them, is still a float32


class PartitionSums(Statistic):
    """log Z(s c) and log Z(-s c) for every column c of `directions` (d, m) and every scale s, by log-sum-exp.

    >>> z = PartitionSums(np.eye(2), scales=(1.0,))
    >>> z.update(Batch.of(np.array([[1.0, 0.0], [0.0, 1.0]])))
    >>> np.exp(z.log_sums).round(3).tolist()
    [[[3.718, 3.718], [1.368, 1.368]]]
    """

    def __init__(self, directions: Matrix, scales: tuple[float, ...] = (1.0,)) -> None:
        self.directions = directions
        self.scales = scales
        self.n = 0
        self.log_sums: Matrix = np.full((len(scales), 2, directions.shape[1]), -np.inf)

    @property
    def flops_per_row(self) -> float:
        return 2.0 * self.directions.size

    def update(self, batch: Batch) -> None:
        if batch.n == 0:
            return
        directions = self.directions.astype(batch.vectors.dtype, copy=False)
        products = batch.vectors @ directions
        reach = float(batch.norms.max())
        for place, scale in enumerate(self.scales):
            self._add(place, _log_sums(products, scale, reach, batch.keys.copies))
        self.n += batch.n

    def _add(self, place: int, log_sums: Vector) -> None:
        np.logaddexp(self.log_sums[place], log_sums, out=self.log_sums[place])

    def absorb(self, other: PartitionSums) -> None:
        np.logaddexp(self.log_sums, other.log_sums, out=self.log_sums)
        self.n += other.n

    def state(self) -> State:
        return {"n": np.array(self.n, np.int64), "log_sums": self.log_sums}

    def _restore(self, state: State) -> None:
        self.n = int(state["n"])
        self.log_sums = state["log_sums"].copy()


def _log_sums(products: Matrix, scale: float, reach: float, copies: IntVector | None) -> Vector:
    """Log of the sums of exp(+s p) and exp(-s p) over the rows and their copies: (2, m)."""
    scaled = products if scale == 1.0 else products * products.dtype.type(scale)
    counts = np.ones(len(scaled), scaled.dtype) if copies is None else copies.astype(scaled.dtype)
    if reach * abs(scale) < _SAFE:
        up = np.exp(scaled)
        return np.log(np.stack([counts @ up, counts @ np.reciprocal(up, out=up)]).astype(np.float64))
    high, low = scaled.max(axis=0), scaled.min(axis=0)
    over = np.stack([counts @ np.exp(scaled - high), counts @ np.exp(low - scaled)])
    return np.asarray(np.log(over.astype(np.float64)) + np.stack([high, -low]), np.float64)
