"""`center`: subtract the mean."""

from __future__ import annotations

import numpy as np

from uncone.data.batch import Matrix, Vector
from uncone.repairs.affine.affine import Affine
from uncone.stats.statistic import Bundle

__all__ = ["Center"]


class Center(Affine):
    """x - mean: the common direction of a cone goes, all differences stay.

    >>> Center().fit_transform(np.array([[1.0, 2.0], [3.0, 6.0]])).tolist()
    [[-1.0, -2.0], [1.0, 2.0]]
    """

    kind = "center"

    def _solve(self, statistics: Bundle, noise: Vector | None) -> tuple[Vector, Matrix]:
        moments = statistics["moments"]
        return moments.mean, np.ones(moments.dim)
