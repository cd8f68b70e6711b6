"""What near means: Euclidean distance, the chord of two directions, the inner product, from one matrix product."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from uncone.data.batch import IntVector, Matrix, Vector

__all__ = ["METRICS", "Metric", "Queries", "Tile"]

Mask = NDArray[np.bool_]

_ROUNDING = 1e-6
"""What float32 products are off by, at most, as a share of the squared distance from the center."""
_THIN = 1e-3
"""Squared distances under this share of that from the center have lost digits, and are computed anew."""
_SAME = 1e-5
"""Vectors nearer than this share of their distance from the center are the same but for how they were computed."""
_FAR = 3.0
"""Vectors farther from the mean than so many times the median do not count in it."""
_PAIRS = 4096
"""Pairs of vectors whose distance is computed anew together."""
_FIRST = 24
"""Times the neighbors wanted that values are sorted to find a limit for the others."""


class Queries:
    """The vectors (m, d) that are asked about, about their middle and of a size that float32 can hold.

    Products are in their precision. `augmented` times the augmented vectors x of a tile gives
    |x - c|² - 2 (x - c)·(y - c), c the middle. What is no farther from a query than `same` equals it but for rounding.
    """

    def __init__(self, rows: Matrix) -> None:
        self.rows = rows if rows.dtype in (np.float32, np.float64) else rows.astype(np.float32)
        self.m, self.dim = rows.shape
        # In the precision of the vectors, so that those of the base lie about the very same point.
        self.center, size = _middle(self.rows)
        # A power of two, so that scaling costs no digit; and none at all where float32 has room for the squares.
        self.factor = 1.0 if 1e-8 < size < 1e8 or size == 0 else float(2.0 ** -np.floor(np.log2(size)))
        self.center *= self.factor
        self.reach = float(np.sqrt(self.center @ self.center))
        tile = Tile.of(self.rows, self)
        self.squares, self.norms, self.beyond = tile.squares, tile.norms, tile.beyond
        self.shifts = tile.towards + self.reach**2
        self.augmented = tile.augmented
        self.augmented *= -2
        self.augmented[:, -1] = 1.0
        self.sizes = np.maximum(self.squares, np.median(self.squares))
        self.same = np.maximum(_SAME * np.sqrt(self.squares), 4 * np.finfo(self.rows.dtype).eps * self.norms)


def _middle(rows: Matrix) -> tuple[Vector, float]:
    """The mean of the vectors that are not far from it, in their precision, and the largest number of a typical one.

    A few vectors of a huge norm, which draw the mean away, would take the digits of all others.
    """
    mean = rows.mean(axis=0, dtype=np.float64)
    apart = np.abs(rows - mean.astype(rows.dtype)).max(axis=1)
    size = float(np.median(apart))
    near = apart <= _FAR * size
    if not near.all():
        mean = rows[near].mean(axis=0, dtype=np.float64)
    return mean.astype(rows.dtype).astype(np.float64), size


@dataclass(frozen=True)
class Tile:
    """Vectors of the base: `squares` are |x - c|², `norms` |x|, `beyond` |x| - |c| without cancellation.

    `towards` is (x - c)·c.
    """

    rows: Matrix
    augmented: Matrix
    squares: Vector
    norms: Vector
    beyond: Vector
    towards: Vector

    @classmethod
    def of(cls, rows: Matrix, queries: Queries, augmented: Matrix | None = None) -> Tile:
        """The vectors, seen from the queries; `augmented` (n, d + 1) is room for them."""
        n, d = rows.shape
        if rows.dtype not in (np.float32, np.float64):
            rows = rows.astype(np.float32)
        if augmented is None:
            augmented = np.empty((n, d + 1), queries.rows.dtype)
        centered = augmented[:, :d]
        if queries.factor == 1.0:
            np.subtract(rows, queries.center.astype(rows.dtype), out=centered, casting="same_kind")
        else:
            np.subtract(rows * queries.factor, queries.center, out=centered, casting="same_kind")
        squares = np.vecdot(centered, centered)
        augmented[:, d] = squares
        towards = (centered @ queries.center.astype(centered.dtype)).astype(np.float64)
        norms = np.sqrt(np.vecdot(rows, rows).astype(np.float64)) * queries.factor
        beyond = _ratio(squares + 2 * towards, norms + queries.reach)
        return cls(rows, augmented, squares.astype(np.float64), norms, beyond, towards)


def _ratio(over: Vector, under: Vector) -> Vector:
    """The quotient, 0 where both are."""
    return np.asarray(over / np.where(under > 0, under, 1.0))


class Metric(ABC):
    """A way of being near: a score of each pair, smaller for nearer, from the product P of the augmented vectors."""

    def __init__(self, queries: Queries) -> None:
        self.queries = queries

    @abstractmethod
    def under(self, products: Matrix, tile: Tile, chunk: slice, limits: Vector, room: Matrix) -> Mask:
        """Which vectors may have a score under the limit of each query; `room` has the shape of the products."""

    @abstractmethod
    def smallest(self, products: Matrix, tile: Tile, chunk: slice, k: int, distinct: bool, room: Matrix) -> Mask:
        """Which vectors may be among the k with the smallest scores in the tile."""

    @abstractmethod
    def scores(self, products: Vector, tile: Tile, of: IntVector, at: IntVector, distinct: bool) -> tuple[Vector, Mask]:
        """The scores of some pairs, and which of them count; with `distinct`, equal vectors do not."""

    @abstractmethod
    def distances(self, scores: Vector) -> Vector:
        """The distances that scores stand for, in the units of the vectors."""

    def _slack(self, chunk: slice) -> Vector:
        return _ROUNDING * self.queries.sizes[chunk]


def _column(values: Vector, like: Matrix) -> Matrix:
    return np.asarray(values, like.dtype)[:, None]


def _among_smallest(values: Matrix, k: int, slack: Matrix, equal: int = 0) -> Mask:
    """Which values of each row may be among its k smallest but for `slack`, when `equal` of them may not count."""
    k += equal
    if k >= values.shape[1]:
        return np.ones(values.shape, np.bool_)
    last = np.partition(values[:, : _FIRST * k], k - 1, axis=1)[:, k - 1 : k]
    return np.asarray(values <= last + (_ROUNDING * np.abs(last) + slack))


def _most_equal(values: Matrix, floor: Vector) -> int:
    return int(np.count_nonzero(values <= _column(floor, values), axis=1).max())


class Euclidean(Metric):
    """|x - y|; the score is its square, P + |y - c|²."""

    def under(self, products: Matrix, tile: Tile, chunk: slice, limits: Vector, room: Matrix) -> Mask:
        most = limits * (1 + _ROUNDING) - self.queries.squares[chunk] + self._slack(chunk)
        return np.asarray(products <= _column(most, products))

    def smallest(self, products: Matrix, tile: Tile, chunk: slice, k: int, distinct: bool, room: Matrix) -> Mask:
        slack = self._slack(chunk)
        equal = _most_equal(products, 2 * slack - self.queries.squares[chunk]) if distinct else 0
        return _among_smallest(products, k, _column(slack, products), equal)

    def scores(self, products: Vector, tile: Tile, of: IntVector, at: IntVector, distinct: bool) -> tuple[Vector, Mask]:
        squares = self.queries.squares[of]
        scores = products.astype(np.float64) + squares
        thin = np.flatnonzero(scores < _THIN * (squares + tile.squares[at]))
        for start in range(0, len(thin), _PAIRS):
            some = thin[start : start + _PAIRS]
            apart = (tile.rows[at[some]] - self.queries.rows[of[some]]) * self.queries.factor
            scores[some] = np.vecdot(apart, apart)
        return scores, (scores > self.queries.same[of] ** 2) if distinct else np.ones(len(scores), np.bool_)

    def distances(self, scores: Vector) -> Vector:
        return np.sqrt(scores) / self.queries.factor


class Cosine(Metric):
    """The chord |u - v| of the directions; the score is its square, (P + |y - c|² - (|x| - |y|)²)/(|x||y|)."""

    def under(self, products: Matrix, tile: Tile, chunk: slice, limits: Vector, room: Matrix) -> Mask:
        # With e = |x| - |c|: P - e_x² + e_x (2 e_y - limit |y|) <= limit |c||y| + e_y² - |y - c|². Two of the three
        # terms are a product of rank two.
        queries = self.queries
        beyond, reach = queries.beyond[chunk], limits * (1 + _ROUNDING) * queries.norms[chunk]
        weights = np.stack([np.full(len(beyond), -1.0), 2 * beyond - reach], axis=1).astype(room.dtype)
        np.matmul(weights, np.stack([tile.beyond**2, tile.beyond]).astype(room.dtype), out=room)
        np.add(room, products, out=room)
        most = reach * queries.reach + beyond**2 - queries.squares[chunk] + self._slack(chunk)
        return np.asarray(room <= _column(most, room))

    def smallest(self, products: Matrix, tile: Tile, chunk: slice, k: int, distinct: bool, room: Matrix) -> Mask:
        queries, slack = self.queries, self._slack(chunk)
        np.subtract(tile.beyond.astype(room.dtype), _column(queries.beyond[chunk], room), out=room)
        np.square(room, out=room)
        np.subtract(products, room, out=room)
        equal = _most_equal(room, 2 * slack - queries.squares[chunk]) if distinct else 0
        np.add(room, _column(queries.squares[chunk], room), out=room)
        shrink = (1 / tile.norms).astype(room.dtype)
        np.multiply(room, shrink, out=room)
        return _among_smallest(room, k, _column(slack, room) * shrink, equal)

    def scores(self, products: Vector, tile: Tile, of: IntVector, at: IntVector, distinct: bool) -> tuple[Vector, Mask]:
        queries = self.queries
        squares = queries.squares[of]
        over = products + squares - (tile.beyond[at] - queries.beyond[of]) ** 2
        scores = over / (tile.norms[at] * queries.norms[of])
        thin = np.flatnonzero(over < _THIN * (squares + tile.squares[at]))
        for start in range(0, len(thin), _PAIRS):
            some = thin[start : start + _PAIRS]
            apart = _units(tile.rows[at[some]]) - _units(queries.rows[of[some]])
            scores[some] = np.vecdot(apart, apart)
        if not distinct:
            return scores, np.ones(len(scores), np.bool_)
        return scores, scores > (queries.same[of] / queries.norms[of]) ** 2

    def distances(self, scores: Vector) -> Vector:
        return np.sqrt(scores)


def _units(rows: Matrix) -> Matrix:
    exact = rows.astype(np.float64)
    return np.asarray(exact / np.sqrt(np.vecdot(exact, exact))[:, None])


class Dot(Metric):
    """The largest inner products; the score is -x·y = (P - |x - c|²)/2 - (x - c)·c - c·y."""

    def _slack(self, chunk: slice) -> Vector:
        return _ROUNDING * (self.queries.sizes[chunk] + self.queries.norms[chunk] ** 2)

    def _doubled(self, products: Matrix, tile: Tile, room: Matrix) -> Matrix:
        return np.add(products, (-tile.squares - 2 * tile.towards).astype(room.dtype), out=room)

    def under(self, products: Matrix, tile: Tile, chunk: slice, limits: Vector, room: Matrix) -> Mask:
        most = 2 * (limits + _ROUNDING * np.abs(limits) + self.queries.shifts[chunk]) + self._slack(chunk)
        return np.asarray(self._doubled(products, tile, room) <= _column(most, room))

    def smallest(self, products: Matrix, tile: Tile, chunk: slice, k: int, distinct: bool, room: Matrix) -> Mask:
        return _among_smallest(self._doubled(products, tile, room), k, _column(self._slack(chunk), room))

    def scores(self, products: Vector, tile: Tile, of: IntVector, at: IntVector, distinct: bool) -> tuple[Vector, Mask]:
        scores = (products - tile.squares[at]) / 2 - tile.towards[at] - self.queries.shifts[of]
        return scores, np.ones(len(scores), np.bool_)

    def distances(self, scores: Vector) -> Vector:
        return -scores / self.queries.factor**2


METRICS: dict[str, type[Metric]] = {"euclidean": Euclidean, "cosine": Cosine, "dot": Dot}
