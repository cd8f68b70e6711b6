"""The most similar of very many pairs, tile by tile: a bounded list and an exact count."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from uncone.data.batch import IntVector
from uncone.errors import OptionError

__all__ = ["CosineRange", "TopPairs", "largest", "range_words"]

_COPY = 1 - 1e-6
"""The rounded cosine of a vector with its copy: a bound of 1 means this."""

Floats = NDArray[np.float32]

_NO_FLOOR = np.float32(-math.inf)


@dataclass(frozen=True)
class CosineRange:
    """Cosines from `low` to `high`, both included, as the float32 numbers between them.

    >>> bool(CosineRange.between(0.7, None).low >= 0.7)
    True
    """

    low: np.float32
    high: np.float32

    @classmethod
    def between(cls, low: float | None = None, high: float | None = None) -> CosineRange:
        """The range between two cosines; None is no bound.

        Raises:
            OptionError: nothing lies between them.
        """
        if low is not None and high is not None and low > high:
            raise OptionError(f"No cosine is at least {low:g} and at most {high:g}. Swap the two, or leave one out.")
        bottom, top = np.float32(-2), np.float32(math.inf)
        if low is not None and low > -1:
            low = min(low, _COPY)
            bottom = np.float32(low)
            bottom = np.nextafter(bottom, top) if float(bottom) < low else bottom
        if high is not None and high < 1:
            top = np.float32(high)
            top = np.nextafter(top, np.float32(-2)) if float(top) > high else top
        return cls(bottom, top)


def range_words(low: float | None, high: float | None) -> str:
    """A range of cosines in words; at least one bound is given."""
    if low is not None and high is not None:
        return f"cosine from {low:.4g} to {high:.4g}"
    return f"cosine at least {low:.4g}" if low is not None else f"cosine at most {high or 0.0:.4g}"


@dataclass
class TopPairs:
    """The `limit` best pairs in a range, by cosine and then by row numbers, and the count of all pairs in it.

    Tiles hold cosines times `scale`, a power of two, so that nothing is rounded; -inf marks what is no pair. The
    result does not depend on the order of the tiles or on how threads share them.
    """

    range: CosineRange
    limit: int
    scale: np.float32
    floor: np.float32 = _NO_FLOOR
    """Scaled cosine below which no pair is among the best."""
    count: int = 0
    values: Floats = field(default_factory=lambda: np.empty(0, np.float32))
    one: IntVector = field(default_factory=lambda: np.empty(0, np.int64))
    other: IntVector = field(default_factory=lambda: np.empty(0, np.int64))
    _pending: list[tuple[Floats, IntVector, IntVector]] = field(default_factory=list)
    _pending_pairs: int = 0

    def empty(self) -> TopPairs:
        """A list for other tiles that starts from the same floor."""
        return TopPairs(self.range, self.limit, self.scale, self.floor)

    def add_tile(self, tile: Floats, largest_value: float, i: int, j: int) -> None:
        """Add a tile (h, w) of the rows from i and from j on."""
        low, high = self.range.low * self.scale, self.range.high * self.scale
        if largest_value < low:
            return
        inside = _between(tile, low, high)
        self.count += int(np.count_nonzero(inside))
        floor = max(low, self.floor)
        if not self.limit or largest_value < floor:
            return
        flat = tile.reshape(-1)
        places = np.flatnonzero(_between(flat, floor, high))
        if len(places):
            places = largest(flat, places, self.limit)
            rows, columns = np.divmod(places, tile.shape[1])
            self._add(flat[places], rows + i, columns + j)

    def absorb(self, other: TopPairs) -> None:
        """Add the pairs of other tiles."""
        other.sort()
        self.count += other.count
        self._add(other.values, other.one, other.other)

    def sort(self) -> None:
        """Merge pending pairs; afterwards `values`, `one` and `other` are the best so far, best first."""
        parts = [(self.values, self.one, self.other), *self._pending]
        self._pending, self._pending_pairs = [], 0
        values, one, other = (np.concatenate(column) for column in zip(*parts, strict=True))
        order = np.lexsort((other, one, -values))[: self.limit]
        self.values, self.one, self.other = values[order], one[order], other[order]
        if self.limit and len(order) == self.limit:
            self.floor = max(self.floor, self.values[-1])

    def _add(self, values: Floats, one: IntVector, other: IntVector) -> None:
        """Sort only when at least half of the pairs can be dropped, not for every tile."""
        self._pending.append((values, one, other))
        self._pending_pairs += len(values)
        if self._pending_pairs >= self.limit:
            self.sort()


def _between(tile: Floats, low: np.float32, high: np.float32) -> NDArray[np.bool_]:
    inside = tile >= low
    if np.isfinite(high):
        inside &= tile <= high
    return np.asarray(inside)


def largest(values: Floats, places: IntVector, limit: int) -> IntVector:
    """At most `limit` of the ascending `places`, with the largest values; of equal values the first.

    >>> largest(np.array([3, 1, 3, 3, 2], np.float32), np.arange(5), 2).tolist()
    [0, 2]
    """
    if len(places) <= limit:
        return places
    chosen = values[places]
    last = np.partition(chosen, len(chosen) - limit)[len(chosen) - limit]
    above = chosen > last
    equal = np.flatnonzero(chosen == last)[: limit - int(np.count_nonzero(above))]
    return np.sort(np.concatenate([places[above], places[equal]]))
