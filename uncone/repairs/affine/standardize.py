"""`standardize`: every dimension to mean 0 and standard deviation 1."""

from __future__ import annotations

import numpy as np

from uncone.data.batch import Matrix, Vector
from uncone.repairs.affine.affine import Affine
from uncone.stats.moments import Moments
from uncone.stats.statistic import Bundle

__all__ = ["Standardize", "deviations"]

_STEPS = 8  # roundings of the mean that a constant dimension may seem to vary by


class Standardize(Affine):
    """(x - mean) / std with n - 1, so that the diagonal of the covariance is 1; constant dimensions keep scale 1.

    >>> Standardize().fit_transform(np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]])).tolist()
    [[-1.0, 0.0], [0.0, 0.0], [1.0, 0.0]]
    """

    kind = "standardize"

    def _solve(self, statistics: Bundle, noise: Vector | None) -> tuple[Vector, Matrix]:
        moments = statistics["moments"]
        deviation, constant = deviations(moments)
        if constant.any():
            self.note_ = f"{constant.sum()} of {moments.dim} dimensions are constant and keep their scale."
        return moments.mean, 1.0 / deviation


def deviations(moments: Moments) -> tuple[np.ndarray, np.ndarray]:
    """The standard deviation of every dimension (d,), 1 where it is constant, and which are (d,)."""
    deviation = np.sqrt(moments.variances.clip(min=0.0))
    constant = deviation <= _STEPS * np.finfo(np.float64).eps * np.abs(moments.mean)
    return np.where(constant, 1.0, deviation), constant
