"""`mute`: silence the rogue dimensions, which carry most of every similarity (Timkey and van Schijndel 2021)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import DTypeLike

from uncone.data.batch import IntVector, Matrix, Vector
from uncone.errors import FitError
from uncone.repairs.affine.affine import Affine
from uncone.repairs.affine.standardize import deviations
from uncone.stats.moments import Moments
from uncone.stats.statistic import Bundle
from uncone.stats.unit_vectors import UnitSum

__all__ = ["Mute", "rogue_dimensions"]

_LEAST_BASELINE = 0.05
_TIMES = 3
_MOST = 5


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
        chosen = rogue_dimensions(units) if self.dimensions is None else self._named(units.dim)
        mean, scale = np.zeros(units.dim), np.ones(units.dim)
        if self.how == "zscore":
            mean[chosen] = statistics["moments"].mean[chosen]
            scale[chosen] = 1.0 / deviations(statistics["moments"])[0][chosen]
        else:
            scale[chosen] = 0.0
        self.dimensions_ = chosen
        listed = ", ".join(str(j) for j in chosen)
        self.note_ = f"Muted: {listed}." if listed else "No dimension stands out: none muted."
        return mean, scale

    def _named(self, d: int) -> IntVector:
        named = np.asarray(self.dimensions)
        whole = named.ndim == 1 and (named.dtype.kind in "iu" or named.size == 0)
        if not whole or not ((named >= 0) & (named < d)).all():
            raise FitError(f"mute: dimensions are whole numbers from 0 to {d - 1}; we got {self.dimensions!r}.")
        return np.unique(named).astype(np.int64)

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
