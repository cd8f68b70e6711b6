"""Repairs along principal directions: `droptop` removes the strongest (all-but-the-top), `whiten` evens them out."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Self

import numpy as np

from uncone.analysis.space.spectrum.isotropy import ledoit_wolf_share
from uncone.data.batch import Matrix, Vector
from uncone.errors import DamagedRepairError, FitError
from uncone.repairs.affine import Affine
from uncone.repairs.directions import COARSE, principal
from uncone.repairs.repair import Arrays
from uncone.stats.moments import Moments
from uncone.stats.statistic import Bundle

__all__ = ["DropTop", "Whiten", "ledoit_wolf"]

_REMOVED = 1e-12
_COMFORT = 5  # rows per dimension from which a covariance needs no shrinkage


class DropTop(Affine):
    """(x - mean) minus its projection on the top `k` principal directions; `k` is max(1, d // 100) unless given.

    The *centered* vector is projected: the output is centered, and orthogonal to `directions_` (d, k).
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
                f"droptop: the {moments.n:,} vectors vary in {rank} of {moments.dim} directions; removing {k} leaves "
                "nothing. Take a smaller k, or more vectors."
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


class Whiten(Affine):
    """(x - mean) U S^-1/2: every direction gets variance 1 (with n - 1), and `dim` keeps the strongest of them.

    `rotation="pca"` gives the principal directions, strongest first; "zca" turns back, as near to x as it can be.

    Shrinkage s makes the covariance (1 - s) C + s (mean variance) I before it is inverted: a number from 0 to 1,
    "ledoit-wolf" (Ledoit and Wolf 2004, from streamed moments), None, or "auto": none from five rows per dimension on,
    Ledoit-Wolf below. `note_` says what was done. Without shrinkage it takes more rows than dimensions. Directions in
    which no row varies (after droptop, for one) become zero instead of infinite.
    """

    kind = "whiten"
    more = ("shrinkage", "variances")

    shrinkage_: float
    variances_: Vector
    """The variance along the principal directions before whitening (d,), largest first, as it was shrunk."""

    def __init__(self, dim: int | None = None, rotation: str = "pca", shrinkage: str | float | None = "auto") -> None:
        self.dim = dim
        self.rotation = rotation
        self.shrinkage = shrinkage

    def needs_fourth(self, rows: int, dim: int) -> bool:
        """For Ledoit-Wolf; should most rows be unusable and the rest too few, they are measured again."""
        return self.shrinkage == "ledoit-wolf" or (self.shrinkage == "auto" and rows < 2 * _COMFORT * dim)

    def _solve(self, statistics: Bundle, noise: Vector | None) -> tuple[Vector, Matrix] | None:
        moments = statistics["moments"]
        dim = self._width(moments.dim)
        spectrum, vectors, floors = principal(moments, noise, self.kind)
        share, note = self._share(moments)
        if np.isnan(share):  # unknown for moments carried through an earlier step
            self.doubt_ = "the fourth moment is not known"
            return None
        values = ((1 - share) * spectrum + share * spectrum.mean()).clip(min=0.0)
        positive = values > floors
        scale = np.where(positive, 1.0 / np.sqrt(np.where(positive, values, 1.0)), 0.0)
        matrix: Matrix = vectors * scale
        matrix = matrix @ vectors.T if self.rotation == "zca" else matrix[:, :dim]
        self.shrinkage_, self.variances_ = share, values
        rank = int(positive.sum())
        empty = moments.dim - rank
        self.note_ = f"{note} {_empty_directions(empty)} without variance." if empty else note
        # Float32 products cannot tell small variances apart; but what an earlier step removed is far below them.
        small = (np.abs(spectrum) > _REMOVED * spectrum.mean()) & (values < COARSE * floors)
        if moments.dtype == np.float32 and small[:dim].any():
            self.doubt_ = "the variances differ too much"
        return moments.mean, matrix

    def _width(self, d: int) -> int:
        if self.rotation not in ("pca", "zca"):
            raise FitError(f"{self.kind}: rotation is 'pca' or 'zca'; we got {self.rotation!r}.")
        if self.dim is None:
            return d
        if not isinstance(self.dim, Integral) or isinstance(self.dim, bool) or not 1 <= self.dim <= d:
            raise FitError(
                f"{self.kind}: dim is a whole number from 1 to the {d} dimensions there are; we got {self.dim!r}."
            )
        if self.rotation == "zca" and self.dim < d:
            raise FitError(f"whiten: zca keeps all {d} dimensions; take rotation='pca' for dim={self.dim}.")
        return int(self.dim)

    def _share(self, moments: Moments) -> tuple[float, str]:
        """The shrinkage, and a sentence about it."""
        n, d, value = moments.n, moments.dim, self.shrinkage
        size = f"{n:,} vectors for {d} dimensions"
        if value == "ledoit-wolf" or (value == "auto" and n < _COMFORT * d):
            share = ledoit_wolf(moments)
            return share, f"Shrunk by {share:.3g} (Ledoit-Wolf): {size}."
        if value == "auto":
            return 0.0, f"Not shrunk: {size} are enough."
        if value is not None and (not isinstance(value, Real) or isinstance(value, bool) or not 0 <= value <= 1):
            raise FitError(
                f"whiten: shrinkage is 'auto', 'ledoit-wolf', None or a number from 0 to 1; we got {value!r}."
            )
        share = float(value or 0.0)
        if share == 0.0 and n <= d:
            raise FitError(f"whiten: {size} have no invertible covariance. Try shrinkage='auto', or more vectors.")
        return share, f"Shrunk by {share:.3g}, as asked." if share else f"Not shrunk, as asked: {size}."

    def _lost(self) -> str:
        d, m = self.matrix_.shape
        rank = int(self.matrix_.any(axis=0).sum())
        if self.rotation == "pca" and rank < d:
            return f"it keeps {rank} of {d} directions" if m == d else f"it keeps {m} of {d} dimensions"
        return super()._lost()

    def restore(self, arrays: Arrays) -> Self:
        """Take over what another whitening learned.

        Raises:
            DamagedRepairError: arrays are missing, too many, or do not fit each other.
        """
        super().restore(arrays)
        if arrays["shrinkage"].shape != () or arrays["variances"].shape != self.mean_.shape:
            raise DamagedRepairError(f"{self.kind}: shrinkage and variances do not fit the matrix.")
        self.shrinkage_ = float(arrays["shrinkage"])
        return self


def _empty_directions(empty: int) -> str:
    return "1 direction becomes zero, being" if empty == 1 else f"{empty} directions become zero, being"


def ledoit_wolf(moments: Moments) -> float:
    """The shrinkage that is nearest to the true covariance in expectation (Ledoit and Wolf 2004), 0 to 1.

    Its error term is a mean of |x - mean|^4, so that streamed moments are enough. NaN when the fourth is not known.
    """
    n = moments.n
    covariance = moments.covariance * ((n - 1) / n)
    squares = float((covariance**2).sum())
    return ledoit_wolf_share(n, moments.dim, float(np.trace(covariance)), squares, moments.fourth / n)
