"""The sum of the unit vectors: the mean of all n(n-1)/2 cosines in one d-vector."""

from __future__ import annotations

import numpy as np

from uncone.data.batch import Batch, Vector
from uncone.stats.statistic import Statistic

__all__ = ["UnitSum"]


class UnitSum(Statistic):
    """Sum of u = x/|x|, and of u^2 per dimension.

    The baseline is (|S|^2 - n)/(n^2 - n); dimension j contributes (s_j^2 - sum_i u_ij^2)/(n^2 - n) to it.

    >>> units = UnitSum(2)
    >>> units.update(Batch.of(np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]])))
    >>> round(units.baseline, 4)
    0.3333
    """

    additive = ("n", "total", "squares")

    def __init__(self, dim: int) -> None:
        self.dim = dim
        self.n = 0
        self.total: Vector = np.zeros(dim)
        self.squares: Vector = np.zeros(dim)

    def update(self, batch: Batch) -> None:
        weights = (1.0 / batch.norms).astype(batch.vectors.dtype)
        self.total += weights @ batch.vectors
        self.squares += weights**2 @ (batch.vectors * batch.vectors)
        self.n += batch.n

    @property
    def contributions(self) -> Vector:
        """What each dimension adds to the baseline (d,); they sum to it."""
        pairs = self.n * (self.n - 1)
        return (self.total**2 - self.squares) / pairs if pairs else np.full(self.dim, np.nan)

    @property
    def baseline(self) -> float:
        """Mean cosine of two different rows, over all pairs."""
        return float(self.contributions.sum())
