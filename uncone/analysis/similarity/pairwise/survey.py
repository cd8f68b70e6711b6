"""A survey of all n(n-1)/2 pairs, tile by tile: their histogram, the most similar ones, those in a range.

Only counts and short lists stay in memory.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uncone.analysis.cosine.units import Units, checked_units
from uncone.analysis.similarity.label_codes import coded
from uncone.analysis.similarity.pairwise.matrix import TILE, tile_product
from uncone.analysis.similarity.pairwise.top_k import CosineRange, TopPairs, range_words
from uncone.analysis.similarity.results import Pairs
from uncone.data.batch import IntVector, Vector
from uncone.errors import OptionError, ShapeError
from uncone.run.blas_threads import in_order

__all__ = ["BINS", "PairSurvey", "coarser", "survey"]

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

    Args:
        units: vectors of length 1, as `units_of` makes them.
        top: number of most similar pairs to list.
        low: count and list the pairs whose cosine is at least this.
        high: and at most this.
        most: number of pairs in the range, and of near-duplicates, to list.
        duplicate: the cosine from which on two vectors are near-duplicates.
        labels: one per vector, None if unknown; splits the histogram.
        percentile: maps cosines to the share of the background below them, in percent.
        progress: receives the number of pairs just done.

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
    for counts, kept, pairs in in_order(work.strip, range(0, len(table), TILE)):
        work.counts += counts
        for ours, theirs in zip(best, kept, strict=True):
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
    for kept_pairs, why in zip(best, reasons, strict=True):
        kept_pairs.sort()
        cosines = (kept_pairs.values / scale).astype(np.float64)
        shares = np.asarray(percentile(cosines), np.float64)
        lists.append(Pairs(kept_pairs.one, kept_pairs.other, cosines, shares, kept_pairs.count, why))
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
        counts, best, total = np.zeros_like(self.counts), [one.empty() for one in self.best], 0
        for j in range(i, len(self.units), TILE):
            tile = tile_product(strip, self.units[j : j + TILE], self.scale, buffer)
            pairs = np.triu(np.ones(tile.shape, bool), 1) if i == j else None
            if pairs is not None:
                tile[~pairs] = -np.inf
            total += tile.size if pairs is None else int(np.count_nonzero(pairs))
            largest = tile.max()
            for one in best:
                one.add_tile(tile, largest, i, j)
            counts += self._count(tile, pairs, self._kinds(i, j, tile.shape), indices)
        return counts, best, total

    def _kinds(self, i: int, j: int, shape: tuple[int, ...]) -> Units | None:
        """For every cell of a tile: 0 two labels, 1 one label, 2 a row without a label."""
        if self.labels is None:
            return None
        one, other = self.labels[i : i + shape[0], None], self.labels[j : j + shape[1]]
        kinds: Units = (one == other).astype(np.float32)
        if (one < 0).any() or (other < 0).any():
            kinds[(one < 0) | (other < 0)] = 2
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
        made: dict[str, list[float]] = {"edges": edges, "counts": counts.sum(axis=0).tolist()}
        return made if len(counts) == 1 else made | {"within": counts[1].tolist(), "between": counts[0].tolist()}


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
    made = {"edges": [*edges[cuts][first:last].tolist(), float(edges[min(last * step, len(edges) - 1)])]}
    return made | {name: np.add.reduceat(values, cuts)[first:last].tolist() for name, values in columns.items()}
