"""Repairs dimension by dimension: `center`, `standardize` and `mute`; and `normalize`, as the last step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import DTypeLike

from uncone.data.batch import IntVector, Matrix, Vector
from uncone.data.source import Source
from uncone.errors import DamagedRepairError, FitError
from uncone.repairs.affine import Affine
from uncone.repairs.repair import Arrays, Progress, Repair
from uncone.run.measure import Plan
from uncone.stats.moments import Moments
from uncone.stats.statistic import Bundle
from uncone.stats.unit_vectors import UnitSum

__all__ = ["Center", "Mute", "Normalize", "Standardize", "deviations", "rogue_dimensions"]

_STEPS = 8  # rounding steps of the mean within which a dimension counts as constant
_LEAST_BASELINE = 0.05
_TIMES = 3
_MOST = 5
_BLOCK = 1024


class Center(Affine):
    """x - mean: removes the common direction of a cone and keeps all differences.

    >>> Center().fit_transform(np.array([[1.0, 2.0], [3.0, 6.0]])).tolist()
    [[-1.0, -2.0], [1.0, 2.0]]
    """

    kind = "center"

    def _solve(self, statistics: Bundle, noise: Vector | None) -> tuple[Vector, Matrix]:
        moments = statistics["moments"]
        return moments.mean, np.ones(moments.dim)


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
    """The standard deviation of every dimension (d,), 1 where it is constant, and a mask of constant ones (d,)."""
    deviation = np.sqrt(moments.variances.clip(min=0.0))
    constant = deviation <= _STEPS * np.finfo(np.float64).eps * np.abs(moments.mean)
    return np.where(constant, 1.0, deviation), constant


class Mute(Affine):
    """Rogue dimensions to zero, or with `how="zscore"` to mean 0 and deviation 1; the others stay as they are.

    Rogue are those with over three times the mean share of the mean cosine, among the five largest, unless
    `dimensions` names them (counted from 0). Below a mean cosine of .05 there is nothing to share, and none is muted.
    """

    kind = "mute"
    more = ("dimensions",)

    dimensions_: IntVector

    def __init__(self, how: str = "zero", dimensions: Sequence[int] | None = None) -> None:
        self.how = how
        self.dimensions = dimensions

    def statistics(self, dim: int, dtype: DTypeLike = np.float32) -> Bundle:
        """The shares, and for z-scores the moments."""
        if self.how == "zscore":
            return Bundle(units=UnitSum(dim), moments=Moments(dim, dtype=dtype))
        return Bundle(units=UnitSum(dim))

    def _solve(self, statistics: Bundle, noise: Vector | None) -> tuple[Vector, Matrix]:
        if self.how not in ("zero", "zscore"):
            raise FitError(f"mute: how is 'zero' or 'zscore'; we got {self.how!r}.")
        units: UnitSum = statistics["units"]
        muted = rogue_dimensions(units) if self.dimensions is None else self._check_dimensions(units.dim)
        mean, scale = np.zeros(units.dim), np.ones(units.dim)
        if self.how == "zscore":
            mean[muted] = statistics["moments"].mean[muted]
            scale[muted] = 1.0 / deviations(statistics["moments"])[0][muted]
        else:
            scale[muted] = 0.0
        self.dimensions_ = muted
        listed = ", ".join(str(j) for j in muted)
        self.note_ = f"Muted: {listed}." if listed else "No dimension stands out: none muted."
        return mean, scale

    def _check_dimensions(self, d: int) -> IntVector:
        dimensions = np.asarray(self.dimensions)
        whole = dimensions.ndim == 1 and (dimensions.dtype.kind in "iu" or dimensions.size == 0)
        if not whole or not ((dimensions >= 0) & (dimensions < d)).all():
            raise FitError(f"mute: dimensions are whole numbers from 0 to {d - 1}; we got {self.dimensions!r}.")
        return np.unique(dimensions).astype(np.int64)

    def _lost(self) -> str:
        lost = int((np.diagonal(self.matrix_) == 0).sum())
        return f"it has set {lost} dimensions to zero" if lost else ""


def rogue_dimensions(units: UnitSum) -> IntVector:
    """The dimensions that carry over three times the mean share of the mean cosine, of the five that carry most."""
    if units.baseline < _LEAST_BASELINE:
        return np.empty(0, np.int64)
    shares = units.contributions / units.baseline
    top = np.argsort(-shares, kind="stable")[:_MOST]
    return np.sort(top[shares[top] > _TIMES / units.dim]).astype(np.int64)


class Normalize(Repair):
    """x / |x|; a row of zeros stays zero. Nothing is learned, and the lengths are lost: there is no inverse.

    >>> Normalize().fit_transform(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """

    kind = "normalize"

    def _learn(self, source: Source, plan: Plan, progress: Progress | None) -> None:
        self.n_features_in_ = self._n_features_out = source.dim

    def _map(self, rows: Matrix) -> Matrix:
        mapped = np.empty(rows.shape, rows.dtype)
        for start in range(0, len(rows), _BLOCK):
            block, out = rows[start : start + _BLOCK], mapped[start : start + _BLOCK]
            # Divide by the largest number first: squares of very long or very short rows overflow or underflow.
            largest = np.abs(block).max(axis=1, keepdims=True)
            np.divide(block, np.where(largest == 0, 1, largest), out=out)
            lengths = np.sqrt(np.vecdot(out, out))[:, None]
            out /= np.where(lengths == 0, 1, lengths)
        return mapped

    def arrays(self) -> Arrays:
        """Only the dimension."""
        return {"dim": np.array([self.n_features_in_], np.int64)}

    def restore(self, arrays: Arrays) -> Self:
        """Take the dimension.

        Raises:
            DamagedRepairError: it is not there.
        """
        if set(arrays) != {"dim"} or arrays["dim"].shape != (1,) or arrays["dim"][0] < 1:
            raise DamagedRepairError(f"normalize is saved as its dimension; we got {sorted(arrays)}.")
        self.n_features_in_ = self._n_features_out = int(arrays["dim"][0])
        return self
