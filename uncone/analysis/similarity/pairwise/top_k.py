"""The most alike of very many pairs, met tile by tile: a bounded list, an exact count."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from uncone.data.batch import IntVector
from uncone.errors import OptionError

__all__ = ["COPY", "Kept", "Range", "best_first"]

COPY = 1 - 1e-6
"""The cosine of a row with its copy is 1 but for rounding: who asks for 1 means this."""

Floats = NDArray[np.float32]

_NOTHING = np.float32(-math.inf)


@dataclass(frozen=True)
class Range:
    """Cosines from `low` to `high`, both included, as the float32 numbers that lie in it.

    >>> bool(Range.of(0.7, None).low >= 0.7), Range.of(None, None).everything
    (True, True)
    """

    low: np.float32
    high: np.float32

    @classmethod
    def of(cls, low: float | None, high: float | None) -> Range:
        """The range between two cosines; None is no bound.

        Raises:
            OptionError: there is nothing between them.
        """
        if low is not None and high is not None and low > high:
            raise OptionError(f"No cosine is at least {low:g} and at most {high:g}. Swap the two, or leave one out.")
        bottom, top = np.float32(-2), np.float32(math.inf)
        if low is not None and low > -1:
            low = min(low, COPY)
            bottom = np.float32(low)
            bottom = np.nextafter(bottom, top) if float(bottom) < low else bottom
        if high is not None and high < 1:
            top = np.float32(high)
            top = np.nextafter(top, np.float32(-2)) if float(top) > high else top
        return cls(bottom, top)

    @property
    def everything(self) -> bool:
        """Whether every cosine lies in it."""
        return bool(self.low <= -1 and self.high >= 1)


@dataclass
class Kept:
    """The `most` best pairs in a range, by cosine and then by row numbers, and how many pairs lie in it.

    Tiles hold cosines times `scale`, a power of two, so that nothing is rounded; -inf stands for what is no pair.
    Neither the order of the tiles nor how they are shared out changes what is kept.
    """

    range: Range
    most: int
    scale: np.float32
    least: np.float32 = _NOTHING
    """Scaled: what is less is not among the best."""
    found: int = 0
    values: Floats = field(default_factory=lambda: np.empty(0, np.float32))
    one: IntVector = field(default_factory=lambda: np.empty(0, np.int64))
    other: IntVector = field(default_factory=lambda: np.empty(0, np.int64))
    _waiting: list[tuple[Floats, IntVector, IntVector]] = field(default_factory=list)
    _held: int = 0

    def empty(self) -> Kept:
        """A list for other tiles, that knows already what is not among the best."""
        return Kept(self.range, self.most, self.scale, self.least)

    def offer(self, tile: Floats, largest: float, i: int, j: int, pairs: int) -> None:
        """A tile (h, w) of rows from i and from j on, its largest value, and how many pairs it has."""
        low, high = self.range.low * self.scale, self.range.high * self.scale
        if self.range.everything:
            self.found += pairs
        elif largest < low:
            return
        else:
            self.found += int(np.count_nonzero(_between(tile, low, high)))
        floor = max(low, self.least)
        if not self.most or largest < floor:
            return
        flat = tile.reshape(-1)
        places = np.flatnonzero(_between(flat, floor, high))
        if len(places):
            places = best_first(flat, places, self.most)
            rows, columns = np.divmod(places, tile.shape[1])
            self._take(flat[places], rows + i, columns + j)

    def absorb(self, other: Kept) -> None:
        """Add what was kept of other tiles."""
        other.finish()
        self.found += other.found
        self._take(other.values, other.one, other.other)

    def finish(self) -> None:
        """Put what waits in its place: afterwards `values`, `one` and `other` are the best so far, best first."""
        parts = [(self.values, self.one, self.other), *self._waiting]
        self._waiting, self._held = [], 0
        values, one, other = (np.concatenate(column) for column in zip(*parts, strict=True))
        order = np.lexsort((other, one, -values))[: self.most]
        self.values, self.one, self.other = values[order], one[order], other[order]
        if self.most and len(order) == self.most:
            self.least = max(self.least, self.values[-1])

    def _take(self, values: Floats, one: IntVector, other: IntVector) -> None:
        """Sorting waits until it halves what is held: long lists would be sorted for every tile."""
        self._waiting.append((values, one, other))
        self._held += len(values)
        if self._held >= self.most:
            self.finish()


def _between(tile: Floats, low: np.float32, high: np.float32) -> NDArray[np.bool_]:
    inside = tile >= low
    if high < tile.dtype.type(math.inf):
        inside &= tile <= high
    return np.asarray(inside)


def best_first(values: Floats, places: IntVector, most: int) -> IntVector:
    """Of `places`, which rise, at most `most` with the largest values; of equal ones the first.

    >>> best_first(np.array([3, 1, 3, 3, 2], np.float32), np.arange(5), 2).tolist()
    [0, 2]
    """
    if len(places) <= most:
        return places
    chosen = values[places]
    last = np.partition(chosen, len(chosen) - most)[len(chosen) - most]
    above = chosen > last
    equal = np.flatnonzero(chosen == last)[: most - int(np.count_nonzero(above))]
    return np.sort(np.concatenate([places[above], places[equal]]))
