"""Mean, scatter and fourth moment of the rows: all that spectrum and IsoScore need."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from uncone.data.batch import Batch, Matrix, Vector
from uncone.data.buffers import borrow, give_back
from uncone.stats.statistic import State, Statistic

__all__ = ["Moments", "Sums"]

_LONG = 1e22
_TOGETHER = 8192  # rows that are multiplied at once: a product is mirrored and added in float64, whatever its rows
_SUMMED = 1024  # rows whose sums are taken at once: of more, those in float32 lose digits


@lru_cache
def _unit_weights(n: int, dtype: np.dtype[Any]) -> Vector:
    return np.ones(n, dtype)


@dataclass
class Sums:
    """Sums of y = x - point in float64: of y, y y', |y|^2 y and |y|^4."""

    n: int
    first: Vector
    second: Matrix
    third: Vector
    fourth: float

    @classmethod
    def none(cls, dim: int) -> Sums:
        """The sums over no rows."""
        return cls(0, np.zeros(dim), np.zeros((dim, dim)), np.zeros(dim), 0.0)

    def add(self, other: Sums) -> None:
        """Add sums about the same point."""
        self.n += other.n
        self.first += other.first
        self.second += other.second
        self.third += other.third
        self.fourth += other.fourth

    def fourth_moved(self, delta: Vector) -> float:
        """The sum of |y + delta|^4."""
        length, along = float(delta @ delta), float(delta @ self.first)
        squares = float(np.trace(self.second))
        return (
            self.fourth
            + 4 * float(delta @ (self.second @ delta))
            + self.n * length**2
            + 4 * float(delta @ self.third)
            + 2 * length * squares
            + 4 * length * along
        )

    def moved(self, delta: Vector) -> Sums:
        """The same rows about a point that lies `delta` lower: y becomes y + delta."""
        length = float(delta @ delta)
        squares = float(np.trace(self.second))
        along = float(delta @ self.first)
        turned = self.second @ delta
        cross = np.outer(delta, self.first)
        return Sums(
            self.n,
            self.first + self.n * delta,
            self.second + cross + cross.T + self.n * np.outer(delta, delta),
            self.third + 2 * turned + length * self.first + delta * (squares + 2 * along + self.n * length),
            self.fourth_moved(delta),
        )


class Moments(Statistic):
    """Sums of the rows about a reference point, float64; products per block in `dtype`.

    With float32 products the reference has to be near the mean (the mean of the first block is):
    a cone whose mean is 100 times its spread loses all digits without it. Without `higher` the third and fourth
    moments are left out, and NaN.

    >>> moments = Moments(2)
    >>> moments.update(Batch.of(np.array([[1.0, 0.0], [3.0, 4.0]])))
    >>> moments.mean.tolist(), moments.covariance.tolist()
    ([2.0, 2.0], [[2.0, 4.0], [4.0, 8.0]])
    """

    def __init__(
        self, dim: int, *, dtype: DTypeLike = np.float32, reference: Vector | None = None, higher: bool = True
    ) -> None:
        self.dim = dim
        self.dtype = np.dtype(dtype)
        self.reference = reference
        self.higher = higher
        self._sums = Sums.none(dim)
        self._block: Matrix | None = None
        self._waiting = 0

    @property
    def sums(self) -> Sums:
        """The sums about the reference, nothing left waiting."""
        self.finish()
        return self._sums

    @property
    def settings(self) -> dict[str, Any]:
        return {"dim": self.dim, "dtype": self.dtype}

    def empty(self) -> Moments:
        return Moments(self.dim, dtype=self.dtype, reference=self.reference, higher=self.higher)

    @property
    def n(self) -> int:
        """Rows measured."""
        return self._sums.n

    @property
    def flops_per_row(self) -> float:
        # BLAS computes one triangle of a symmetric product.
        return self.dim * (self.dim + 1)

    def update(self, batch: Batch) -> None:
        self.add(batch.vectors)

    def add(self, vectors: Matrix, factors: Vector | None = None) -> None:
        """Add rows (n, d), each times its factor where there are any."""
        if len(vectors) == 0:
            return
        if self.reference is None:
            rows = vectors if factors is None else vectors * factors[:, None]
            self.reference = rows.mean(axis=0, dtype=np.float64).astype(self.dtype).astype(np.float64)
        shift = self.reference.astype(self.dtype)
        for start in range(0, len(vectors), _SUMMED):
            part = slice(start, start + _SUMMED)
            self._put_aside(vectors[part], shift, None if factors is None else factors[part])

    def place(self, rows: int) -> Matrix | None:
        """In the waiting block, where they are shifted as they lie."""
        return self._next(rows) if self._waiting + rows <= _TOGETHER else None

    def _next(self, rows: int) -> Matrix:
        if self._block is None:
            self._block = borrow(_TOGETHER, self.dim, self.dtype)
        return self._block[self._waiting : self._waiting + rows]

    def _put_aside(self, vectors: Matrix, shift: Vector, factors: Vector | None) -> None:
        """Shift rows into the waiting block; a product of a whole block costs half of what its parts would."""
        if self._waiting + len(vectors) > _TOGETHER:
            self.finish()
        y = self._next(len(vectors))
        if factors is None:
            np.subtract(vectors, shift, out=y)
        else:
            np.multiply(vectors, factors[:, None], out=y)
            y -= shift
        if self.higher:
            self._add_higher(y)
        else:
            self._sums.first += _unit_weights(len(y), self.dtype) @ y
            self._sums.third[:] = self._sums.fourth = np.nan
        self._waiting += len(vectors)
        self._sums.n += len(vectors)
        if self._waiting == _TOGETHER:
            self.finish()

    def _add_higher(self, y: Matrix) -> None:
        squared = np.vecdot(y, y)
        # Cubes of very long rows do not fit into float32.
        wide = y if squared.max() < _LONG else y.astype(np.float64)
        self._sums.first += _unit_weights(len(y), wide.dtype) @ wide
        self._sums.third += squared @ wide
        self._sums.fourth += float(np.vecdot(squared, squared, dtype=np.float64))

    def finish(self) -> None:
        if self._block is None:
            return
        waiting = self._block[: self._waiting]
        product = borrow(self.dim, self.dim, self.dtype)
        np.matmul(waiting.T, waiting, out=product)
        self._sums.second += product
        give_back(product)
        give_back(self._block)
        self._block, self._waiting = None, 0

    def absorb(self, other: Moments) -> None:
        if other.reference is None or other.n == 0:
            return
        if self.reference is None or self.n == 0:
            self.reference = other.reference
        same = np.array_equal(self.reference, other.reference)
        self.sums.add(other.sums if same else other.sums.moved(other.reference - self.reference))

    def state(self) -> State:
        """About the mean, so that it does not tell which point the sums were taken about."""
        centered = self.centered
        return {
            "n": np.array(self.n, np.int64),
            "mean": self.mean,
            "second": centered.second,
            "third": centered.third,
            "fourth": np.array(centered.fourth, np.float64),
        }

    def _restore(self, state: State) -> None:
        n = int(state["n"])
        self.reference = state["mean"].copy() if n else self.reference
        self._sums = Sums(n, np.zeros(self.dim), state["second"].copy(), state["third"].copy(), float(state["fourth"]))

    def snapshot(self) -> State:
        """The sums about the reference, as they are: moving them to the mean would cost their last digits."""
        sums = self.sums
        reference = np.empty(0) if self.reference is None else self.reference
        return {
            "n": np.array(sums.n, np.int64),
            "reference": reference,
            "first": sums.first,
            "second": sums.second,
            "third": sums.third,
            "fourth": np.array(sums.fourth, np.float64),
        }

    def resume(self, snapshot: State) -> None:
        first, second, third = (snapshot[key].copy() for key in ("first", "second", "third"))
        self._sums = Sums(int(snapshot["n"]), first, second, third, float(snapshot["fourth"]))
        self.reference = snapshot["reference"].copy() if snapshot["reference"].size else None

    @property
    def centered(self) -> Sums:
        """The sums about the mean; `second` is the scatter."""
        return self.sums.moved(-self.sums.first / max(self.n, 1))

    @property
    def fourth(self) -> float:
        """The sum of |x - mean|^4."""
        return self.sums.fourth_moved(-self.sums.first / max(self.n, 1))

    @property
    def mean(self) -> Vector:
        """The mean row (d,)."""
        reference = np.zeros(self.dim) if self.reference is None else self.reference
        return reference + self.sums.first / max(self.n, 1)

    @property
    def variances(self) -> Vector:
        """The sample variance of each dimension (d,), with n - 1: the diagonal of the covariance."""
        sums = self.sums
        return np.asarray(np.diagonal(sums.second) - sums.first**2 / max(self.n, 1)) / max(self.n - 1, 1)

    @property
    def covariance(self) -> Matrix:
        """The sample covariance (d, d), with n - 1."""
        sums = self.sums
        covariance = np.outer(sums.first, sums.first)
        covariance /= -max(self.n, 1)
        covariance += sums.second
        covariance /= max(self.n - 1, 1)
        return covariance
