"""Pairs of vectors, tile by tile: a histogram of all, the most similar ones, those in a range, and the nearest to one.

Only counts and short lists stay in memory.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uncone.analysis.cosine.units import Units, checked_units, unit_vector
from uncone.analysis.similarity.label_sums import coded
from uncone.analysis.similarity.matrix import TILE, tile_product
from uncone.analysis.similarity.results import Pairs
from uncone.data.batch import IntVector, Vector
from uncone.errors import OptionError, OtherSpaceError, ShapeError
from uncone.run.threads import in_order

__all__ = ["BINS", "coarser", "largest", "near", "survey"]

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
    first: IntVector = field(default_factory=lambda: np.empty(0, np.int64))
    second: IntVector = field(default_factory=lambda: np.empty(0, np.int64))
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
        self._add(other.values, other.first, other.second)

    def sort(self) -> None:
        """Merge pending pairs; afterwards `values`, `first` and `second` are the best so far, best first."""
        parts = [(self.values, self.first, self.second), *self._pending]
        self._pending, self._pending_pairs = [], 0
        values, first, second = (np.concatenate(column) for column in zip(*parts, strict=True))
        order = np.lexsort((second, first, -values))[: self.limit]
        self.values, self.first, self.second = values[order], first[order], second[order]
        if self.limit and len(order) == self.limit:
            self.floor = max(self.floor, self.values[-1])

    def _add(self, values: Floats, first: IntVector, second: IntVector) -> None:
        """Sort only when at least half of the pairs can be dropped, not for every tile."""
        self._pending.append((values, first, second))
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
    candidates = values[places]
    last = np.partition(candidates, len(candidates) - limit)[len(candidates) - limit]
    above = candidates > last
    equal = np.flatnonzero(candidates == last)[: limit - int(np.count_nonzero(above))]
    return np.sort(np.concatenate([places[above], places[equal]]))


BINS = 2048
"""Histogram bins between -1 and 1, a power of two: a cosine falls into the bin that its float32 number says."""
_BANKS = 4
"""Sets of counters for neighboring cells: in a crowded space all would wait for the same counter."""


@dataclass(frozen=True, eq=False)
class PairSurvey:
    """The result of a survey.

    `histogram` has `edges` (b + 1,) and `counts` (b,); with labels also `within` and `between`, the counts of pairs
    with the same label and with different ones. `within_range` is None if no range was requested.
    """

    histogram: Mapping[str, Sequence[float]]
    top: Pairs
    within_range: Pairs | None
    duplicates: Pairs
    pairs: int


def survey(
    units: ArrayLike,
    *,
    top: int = 100,
    low: float | None = None,
    high: float | None = None,
    most: int = 1000,
    duplicate: float = 0.98,
    labels: Sequence[Hashable] | None = None,
    percentile: Callable[[Vector], Any] = lambda cosines: np.full(len(cosines), np.nan),
    progress: Callable[[int], None] | None = None,
) -> PairSurvey:
    """Survey all pairs of unit vectors (n, d) on all cores.

    Listed are the `top` most similar pairs, up to `most` pairs with a cosine from `low` to `high`, and up to `most`
    near-duplicates, with a cosine of at least `duplicate`. `labels`, None if unknown, split the histogram. `percentile`
    maps cosines to the share of the background below them, in percent. `progress` receives the number of pairs just
    done.

    Raises:
        OptionError: negative counts, or an empty range.
        ShapeError: not one label per vector.
    """
    if top < 0 or most < 0:
        raise OptionError(f"We need counts of at least 0, not top={top}, most={most}.")
    table, scale = checked_units(units), np.float32(BINS // 2)
    if labels is not None and len(labels) != len(table):
        raise ShapeError(f"We need one label per text: there are {len(labels):,} for {len(table):,} texts.")
    bounded = low is not None or high is not None
    ranges = [(None, None, top), (duplicate, None, most), *([(low, high, most)] if bounded else [])]
    best = [TopPairs(CosineRange.between(least, greatest), limit, scale) for least, greatest, limit in ranges]
    work = _Strips(table, None if labels is None else coded(labels)[0], best)
    for counts, partial, pairs in in_order(work.strip, range(0, len(table), TILE)):
        work.counts += counts
        for ours, theirs in zip(best, partial, strict=True):
            ours.absorb(theirs)
        if progress is not None:
            progress(pairs)
    first = f"the {top:,} most similar" if best[0].count > top else "all, most similar first"
    reasons = [
        first,
        f"near-duplicates: cosine at least {duplicate:.4g}",
        *([range_words(low, high)] if bounded else []),
    ]
    lists = []
    for kept_pairs, reason in zip(best, reasons, strict=True):
        kept_pairs.sort()
        cosines = (kept_pairs.values / scale).astype(np.float64)
        shares = np.asarray(percentile(cosines), np.float64)
        lists.append(Pairs(kept_pairs.first, kept_pairs.second, cosines, shares, kept_pairs.count, reason))
    return PairSurvey(work.histogram(), lists[0], lists[2] if bounded else None, lists[1], int(work.counts.sum()))


class _Strips:
    """Strips of the upper triangle; `counts` (kinds, bins + 1) of pairs by kind: two labels, one label, no label."""

    def __init__(self, units: Units, labels: IntVector | None, best: list[TopPairs]) -> None:
        self.units, self.labels, self.best = units, labels, best
        self.scale = np.float32(BINS // 2)
        self.counts = np.zeros((1 if labels is None else 3, BINS + 1), np.int64)
        self._counters = _BANKS, *self.counts.shape
        self._offsets = self.scale + np.float32(self.counts.size) * (np.arange(TILE, dtype=np.float32) % _BANKS)
        self._local = threading.local()

    def strip(self, i: int) -> tuple[NDArray[np.int64], list[TopPairs], int]:
        """Counts, best pairs and number of pairs of the rows from i on with themselves and all later rows."""
        if not hasattr(self._local, "buffers"):
            self._local.buffers = np.empty(TILE * TILE, np.float32), np.empty(TILE * TILE, np.int64)
        buffer, indices = self._local.buffers
        strip = self.units[i : i + TILE] * self.scale  # a power of two, which changes no digit
        counts, best, total = np.zeros_like(self.counts), [pairs.empty() for pairs in self.best], 0
        for j in range(i, len(self.units), TILE):
            tile = tile_product(strip, self.units[j : j + TILE], self.scale, buffer)
            pairs = np.triu(np.ones(tile.shape, bool), 1) if i == j else None
            if pairs is not None:
                tile[~pairs] = -np.inf
            total += tile.size if pairs is None else int(np.count_nonzero(pairs))
            largest = tile.max()
            for top in best:
                top.add_tile(tile, largest, i, j)
            counts += self._count(tile, pairs, self._kinds(i, j, tile.shape), indices)
        return counts, best, total

    def _kinds(self, i: int, j: int, shape: tuple[int, ...]) -> Units | None:
        """For every cell of a tile: 0 two labels, 1 one label, 2 a row without a label."""
        if self.labels is None:
            return None
        rows, columns = self.labels[i : i + shape[0], None], self.labels[j : j + shape[1]]
        kinds: Units = (rows == columns).astype(np.float32)
        if (rows < 0).any() or (columns < 0).any():
            kinds[(rows < 0) | (columns < 0)] = 2
        return kinds

    def _count(
        self, tile: Units, pairs: NDArray[np.bool_] | None, kinds: Units | None, indices: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Counts by kind and bin; overwrites the tile.

        The scaled cosine, rounded down, is the bin. Rounding comes before adding, because -1e-9 + 1 is 1 in float32.
        """
        values = tile if pairs is None else tile[pairs]
        np.floor(values, out=values)
        values += self._offsets[: tile.shape[1]] if pairs is None else self.scale
        if kinds is not None:
            kinds *= np.float32(BINS + 1)
            values += kinds if pairs is None else kinds[pairs]
        places = indices[: values.size]
        np.copyto(places, values.reshape(-1), casting="unsafe")
        counts = np.bincount(places, minlength=math.prod(self._counters)).reshape(self._counters)
        return np.asarray(counts.sum(axis=0))

    def histogram(self) -> dict[str, list[float]]:
        """Edges and counts; a cosine of exactly 1 is in the last bin, as with np.histogram."""
        counts = self.counts[:, :-1].copy()
        counts[:, -1] += self.counts[:, -1]
        edges = (np.arange(BINS + 1) / (BINS // 2) - 1).tolist()
        result: dict[str, list[float]] = {"edges": edges, "counts": counts.sum(axis=0).tolist()}
        return result if len(counts) == 1 else result | {"within": counts[1].tolist(), "between": counts[0].tolist()}


def coarser(histogram: Mapping[str, Sequence[float]], most: int = 100) -> dict[str, list[float]]:
    """The same counts in at most `most` bins: without empty ends, and with neighbors merged two by two.

    >>> coarser({"edges": [-1, -0.5, 0, 0.5, 1], "counts": [0, 0, 3, 4]}, 1)
    {'edges': [0.0, 1.0], 'counts': [7.0]}
    """
    edges = np.asarray(histogram["edges"], np.float64)
    columns = {name: np.asarray(values, np.float64) for name, values in histogram.items() if name != "edges"}
    step = 1
    while True:
        cuts = np.arange(0, len(edges) - 1, step)
        filled = np.flatnonzero(np.add.reduceat(columns["counts"], cuts))
        first, last = (int(filled[0]), int(filled[-1]) + 1) if len(filled) else (0, 1)
        if last - first <= most or step >= len(edges) - 1:
            break
        step *= 2
    result = {"edges": [*edges[cuts][first:last].tolist(), float(edges[min(last * step, len(edges) - 1)])]}
    return result | {name: np.add.reduceat(values, cuts)[first:last].tolist() for name, values in columns.items()}


def near(
    units: ArrayLike,
    vector: ArrayLike,
    *,
    top: int = 10,
    low: float | None = None,
    high: float | None = None,
    percentile: Callable[[Vector], Any] = lambda cosines: np.full(len(cosines), np.nan),
) -> Pairs:
    """The `top` unit vectors (n, d) most similar to a vector (d,), among those with a cosine from `low` to `high`.

    Equal cosines are in the order of the table. `one` is -1, because the vector is not in the table.

    >>> pairs = near(np.eye(2, dtype=np.float32), [1.0, 2.0], top=1)
    >>> pairs.other.tolist(), pairs.cosines.round(3).tolist(), pairs.found
    ([1], [0.894], 2)

    Raises:
        OptionError: `top` is less than 1, or the range is empty.
        OtherSpaceError: the vector has another dimension.
        NoUsableRowsError: it has no direction.
    """
    if top < 1:
        raise OptionError(f"We need to list at least 1 text, not {top}.")
    limits = CosineRange.between(low, high)
    table, unit = checked_units(units), unit_vector(vector)
    if len(unit) != table.shape[1]:
        raise OtherSpaceError(
            f"The text has a vector of {len(unit)} dimensions and the table has {table.shape[1]}. "
            "Encode both with the same model and layer."
        )
    cosines = np.clip(table @ unit, -1.0, 1.0)
    rows = np.flatnonzero((cosines >= limits.low) & (cosines <= limits.high))
    best = rows[np.argsort(-cosines[rows], kind="stable")[:top]]
    values = cosines[best].astype(np.float64)
    reason = "most similar to your text" if len(rows) or (low is None and high is None) else range_words(low, high)
    return Pairs(np.full(len(best), -1), best, values, np.asarray(percentile(values), np.float64), len(rows), reason)
