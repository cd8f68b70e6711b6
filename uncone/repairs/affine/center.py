"""`center`: subtract the mean."""

from __future__ import annotations

from typing import Self

import numpy as np

from uncone.data.batch import Vector
from uncone.repairs.affine.affine import Affine, enough
from uncone.stats.bundle import Bundle

__all__ = ["Center"]


class Center(Affine):
    """x - mean: the common direction of a cone goes, all differences stay.

    >>> Center().fit_transform(np.array([[1.0, 2.0], [3.0, 6.0]])).tolist()
    [[-1.0, -2.0], [1.0, 2.0]]
    """

    kind = "center"

    def fit_stats(self, statistics: Bundle, *, noise: Vector | None = None) -> Self:
        """Learn the mean."""
        moments = enough(statistics["moments"], self.kind)
        return self._settle(moments.mean, np.ones(moments.dim))
