"""`droptop`, also called all-but-the-top: remove the mean and the strongest directions (Mu and Viswanath 2018)."""

from __future__ import annotations

from numbers import Integral

import numpy as np

from uncone.data.batch import Matrix, Vector
from uncone.errors import FitError
from uncone.repairs.affine.affine import Affine
from uncone.repairs.affine.directions import principal
from uncone.stats.statistic import Bundle

__all__ = ["DropTop"]


class DropTop(Affine):
    """(x - mean) minus its projection on the top `k` principal directions; `k` is max(1, d // 100) unless given.

    The *centred* vector is projected: the output is centred, and orthogonal to `directions_` (d, k).
    """

    kind = "droptop"
    more = ("directions",)

    directions_: Matrix

    def __init__(self, k: int | None = None) -> None:
        self.k = k

    def _solve(self, statistics: Bundle, noise: Vector | None) -> tuple[Vector, Matrix]:
        moments = statistics["moments"]
        k = self._count(moments.dim)
        values, vectors, floors = principal(moments, noise, self.kind)
        rank = int((values > floors).sum())
        if k >= rank and moments.dtype != np.float32:
            raise FitError(
                f"droptop: the {moments.n:,} rows vary in {rank} of {moments.dim} directions; removing {k} leaves "
                "nothing. Take a smaller k, or more rows."
            )
        self.directions_ = np.ascontiguousarray(vectors[:, :k])
        share = float(values[:k].sum() / values.sum())
        self.note_ = f"The top {k} of {moments.dim} directions held {share:.1%} of the variance."
        self.doubt_ = "hardly any variance is left" if k >= rank else ""
        return moments.mean, np.eye(moments.dim) - self.directions_ @ self.directions_.T

    def _count(self, dim: int) -> int:
        k = max(1, dim // 100) if self.k is None else self.k
        if not isinstance(k, Integral) or isinstance(k, bool) or k < 1:
            raise FitError(f"droptop: k is a whole number from 1 on, or None for d // 100; we got {k!r}.")
        if k >= dim:
            raise FitError(f"droptop cannot remove {k} directions of {dim} feature(s): k has to be smaller.")
        return int(k)

    def _lost(self) -> str:
        return f"it has removed {self.directions_.shape[1]} directions for good"
