"""Retrieval stability: how many of the 10 nearest vectors stay when a query moves, or when the vectors are quantized.

Search is by cosine, among a seeded sample of distinct vectors. A query is one of them, and never finds itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from uncone.analysis.intervals.intervals import Interval, around
from uncone.analysis.measures.finding import Finding
from uncone.analysis.neighbors.neighborhood import BASE_ROWS
from uncone.analysis.number_format import count, percent
from uncone.analysis.space.space import Space
from uncone.data.batch import IntVector, Matrix, Vector
from uncone.stats.hashing import fingerprints, hash_keys

__all__ = ["MOVED", "Stability", "stability_findings", "stability_of", "stability_of_space"]

MOVED = 0.5
"""How far a query moves, as a share of its distance to the nearest vector of another direction."""
_K = 10
_QUERIES = 200
_QUERY_SHARE = 4
"""At most one vector in so many is a query: the others vary too, and the interval over queries has to cover that."""
_LEAST = 120
"""With fewer vectors there are fewer than 30 queries, and near a tenth of the 10 nearest stay by chance."""
_TILE = 2048
_LEVELS = 255
"""The largest code of 8 bits."""
_SAME = 1e-5
"""Directions that are no farther apart are the same but for rounding."""

_RESCORE = "Fetch more candidates from the quantized index, and rank them again with the full vectors."
_CHANGES = {
    "top10_moved": (
        "When a query moves by half the distance to its nearest vector, in a random direction, {share} of its 10 "
        "nearest vectors stay.",
        "The lower it is, the more two wordings of a query differ in what they find.",
    ),
    "top10_int8": (
        "If the index stores 8 bits per dimension, each with its own range, {share} of the 10 nearest vectors stay.",
        _RESCORE,
    ),
    "top10_bits": (
        "If the index stores one bit per dimension (its sign), {share} of the 10 nearest vectors stay.",
        _RESCORE,
    ),
    "top10_bits_centered": (
        "With one bit per dimension (its sign after subtracting the mean), {share} of the 10 nearest vectors stay.",
        f"{_RESCORE} Subtract the same mean from queries.",
    ),
}


@dataclass(frozen=True)
class Stability:
    """The share of its 10 nearest vectors that each query (m,) keeps, by what changed, among `base` vectors.

    `queries` (m,) are the places of the queries in the vectors.
    """

    shares: Mapping[str, Vector]
    queries: IntVector
    base: int


def stability_of_space(space: Space) -> list[Finding]:
    """The findings on stability, if the neighborhoods among all vectors were looked for; none otherwise."""
    if space.neighborhood is None:
        return []
    return stability_findings(stability_of(space.sample.first(BASE_ROWS).vectors, seed=space.seed))


def stability_findings(stability: Stability) -> list[Finding]:
    """A finding for each change, with its interval over the queries."""
    base, findings = stability.base, []
    for name, (meaning, advice) in _CHANGES.items():
        if name not in stability.shares:
            reason = f"Unknown: {count(base, 'distinct vector')}; at least {_LEAST} are needed."
            findings.append(Finding(name, None, base, reason))
            continue
        each = stability.shares[name]
        value = float(each.mean())
        text = (
            f"{meaning.format(share=percent(value))} Mean over {len(each):,} queries among {base:,} distinct vectors, "
            "by cosine."
        )
        findings.append(Finding(name, value, base, text, advice, *_interval(each)))
    return findings


def _interval(each: Vector) -> Interval:
    """An interval of the mean over queries, each a distinct vector; it has a length even if all keep the same share.

    Two more queries, one that keeps all and one that keeps none, stand in its variance for what was not observed.
    """
    mean, m = float(each.mean()), len(each)
    low, high = around(mean, float(np.append(each, [0.0, 1.0]).var()) / m, m)
    return (None, None) if low is None or high is None else (max(low, 0.0), min(high, 1.0))


def stability_of(vectors: Matrix, *, queries: int = _QUERIES, seed: int = 0) -> Stability:
    """The shares of the 10 nearest that stay, for seeded queries among the distinct ones of some vectors (n, d).

    * top10_moved: the direction of a query moves by half its distance (the chord) to the nearest other direction.
    * top10_int8: the directions of the vectors are rounded to 256 levels between the least and the largest number of
      each dimension; the query stays exact. So does the scalar quantizer of FAISS (QT_8bit) by inner product.
    * top10_bits, top10_bits_centered: vectors and queries are signs, as they are or less the mean direction, and are
      compared by the number of equal ones. Of equally near vectors, each is as likely to be found.
    """
    order = _distinct(vectors, seed)
    n = len(order)
    if n < _LEAST:
        return Stability({}, order[:0], n)
    units = _Units(vectors, order)
    m = min(queries, n // _QUERY_SHARE)
    asking = units.centered(np.arange(m))
    # With signs of 1 and -1 on one side and bits on the other, a product is the number of equal signs less a constant.
    signs, centered_signs = 2 * _bits(units.directions(np.arange(m))) - 1, 2 * _bits(asking) - 1
    exact, eight, bits, centered_bits = (np.empty((m, n), asking.dtype) for _ in range(4))
    for part, own in units.tiles():
        rows = own - units.center
        _score(asking, rows, units.center, exact[:, part])
        _score(asking, units.rounded(own), units.center, eight[:, part])
        np.matmul(signs, _bits(own).T, out=bits[:, part])
        np.matmul(centered_signs, _bits(rows).T, out=centered_bits[:, part])
    nearest = _without_own(exact).argpartition(n - _K, axis=1)[:, n - _K :]
    moved = asking + MOVED * _nearest_distance(asking, units, nearest)[:, None] * _directions(asking.shape, seed)
    # The room of the exact scores is used again.
    for part, own in units.tiles():
        _score(moved.astype(asking.dtype), own - units.center, units.center, exact[:, part])
    changes = (exact, eight, bits, centered_bits)
    shares = {name: _overlap(scores, nearest) for name, scores in zip(_CHANGES, changes, strict=True)}
    return Stability(shares, order[:m], n)


def _distinct(vectors: Matrix, seed: int) -> IntVector:
    """The places of the distinct vectors, in a random order that follows from what they are."""
    tiles = [fingerprints(vectors[start : start + _TILE]) for start in range(0, len(vectors), _TILE)]
    prints, places = np.unique(np.concatenate([np.empty(0, np.uint64), *tiles]), return_index=True)
    return places[np.argsort(hash_keys(prints.view(np.int64), seed))]


class _Units:
    """The directions of some vectors, in an order, a tile at a time: their mean, and the range of each dimension."""

    def __init__(self, vectors: Matrix, order: IntVector) -> None:
        self.vectors, self.order = vectors, order
        total, lows, highs = np.zeros(vectors.shape[1]), [], []
        for _, rows in self.tiles():
            total += rows.sum(axis=0, dtype=np.float64)
            lows.append(rows.min(axis=0))
            highs.append(rows.max(axis=0))
        self.center = (total / len(order)).astype(rows.dtype)
        self.low = np.min(lows, axis=0)
        self.span = np.max(highs, axis=0) - self.low

    def tiles(self) -> Iterator[tuple[slice, Matrix]]:
        """The directions of each tile, and where they stand."""
        for start in range(0, len(self.order), _TILE):
            part = slice(start, min(start + _TILE, len(self.order)))
            yield part, self.directions(np.arange(part.start, part.stop))

    def directions(self, numbers: IntVector) -> Matrix:
        """The directions of these numbers in the order."""
        rows = self.vectors[self.order[numbers]]
        rows = rows if rows.dtype in (np.float32, np.float64) else rows.astype(np.float32)
        return np.asarray(rows / np.sqrt(np.vecdot(rows, rows))[:, None])

    def centered(self, numbers: IntVector) -> Matrix:
        """The same less the mean."""
        return self.directions(numbers) - self.center

    def rounded(self, rows: Matrix) -> Matrix:
        """Directions rounded to the middle of their level, of 256 in the range of each dimension, less the mean."""
        codes = rows - self.low
        codes /= np.where(self.span > 0, self.span, 1)
        codes *= _LEVELS
        np.floor(codes, out=codes)
        codes += 0.5
        codes *= self.span / _LEVELS
        codes += self.low - self.center
        return np.asarray(codes)


def _score(asking: Matrix, rows: Matrix, center: Vector, out: Matrix) -> None:
    """What ranks vectors for a query as their inner product does, from both less the mean: no cone takes its digits."""
    np.matmul(asking, rows.T, out=out)
    out += rows @ center


def _bits(rows: Matrix) -> Matrix:
    """The bits of vectors: 1 where a number is not negative, else 0."""
    return (rows >= 0).astype(rows.dtype)


def _without_own(scores: Matrix) -> Matrix:
    """The scores (m, n), of which the first m are the queries: no query finds itself."""
    places = np.arange(len(scores))
    scores[places, places] = -np.inf
    return scores


def _nearest_distance(asking: Matrix, units: _Units, nearest: IntVector) -> Vector:
    """The distance of each query to the nearest vector that has not its direction, or 0."""
    least = np.full(len(asking), np.inf)
    for column in nearest.T:
        apart = asking - units.centered(column)
        distances = np.sqrt(np.vecdot(apart, apart).astype(np.float64))
        least = np.where(distances > _SAME, np.minimum(least, distances), least)
    return np.where(np.isfinite(least), least, 0.0)


def _directions(shape: tuple[int, ...], seed: int) -> Matrix:
    """Random unit vectors."""
    normal = np.random.default_rng([seed, 1]).normal(size=shape)
    return np.asarray(normal / np.sqrt(np.vecdot(normal, normal))[:, None])


def _overlap(scores: Matrix, nearest: IntVector) -> Vector:
    """The share of the nearest (m, 10) that are among the 10 highest scores; each of equal ones is as likely there."""
    n = scores.shape[1]
    last = np.partition(_without_own(scores), n - _K, axis=1)[:, n - _K, None]
    above, equal = (scores > last).sum(axis=1), (scores == last).sum(axis=1)
    own = np.take_along_axis(scores, nearest, axis=1)
    return np.asarray(((own > last).sum(axis=1) + (own == last).sum(axis=1) * (_K - above) / equal) / _K)
