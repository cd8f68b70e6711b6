"""What is done with each strip of the upper triangle: every pair is put in its bin, and the most alike are kept."""

from __future__ import annotations

import math
import threading

import numpy as np
from numpy.typing import NDArray

from uncone.analysis.similarity.pairwise.tiles import TILE, product, starts
from uncone.analysis.similarity.pairwise.top_k import Kept
from uncone.analysis.similarity.pairwise.unit_rows import Units
from uncone.data.batch import IntVector

__all__ = ["Strips"]

_BANKS = 4
"""Sets of counters that neighbours take in turns: in a crowded space all would wait for one and the same counter."""
_FEW_COUNTERS = 8192


class Strips:
    """What is done with the tiles: `counts` (kinds, bins + 1), pairs by kind (two labels, one label, no label)."""

    def __init__(
        self, units: Units, bins: int, labels: IntVector | None, groups: IntVector | None, kept: list[Kept]
    ) -> None:
        self.units, self.bins, self.labels, self.groups, self.kept = units, bins, labels, groups, kept
        self.scale = np.float32(bins // 2)
        self.counts = np.zeros((1 if labels is None else 3, bins + 1), np.int64)
        banks = _BANKS if self.counts.size <= _FEW_COUNTERS else 1
        self._counters = banks, *self.counts.shape
        self._offsets = self.scale + np.float32(self.counts.size) * (np.arange(TILE, dtype=np.float32) % banks)
        self._local = threading.local()

    def strip(self, i: int) -> tuple[NDArray[np.int64], list[Kept], int]:
        """The pairs of the rows from i on with themselves and all that come later: counts, the best, how many."""
        room, indices = self._rooms()
        strip = self.units[i : i + TILE] * self.scale  # a power of two: the products are the same but for it
        counts, kept, done = np.zeros_like(self.counts), [one.empty() for one in self.kept], 0
        for j in starts(len(self.units), i):
            tile = product(strip, self.units[j : j + TILE], self.scale, room)
            taken = self._taken(i, j, tile.shape)
            if taken is not None:
                tile[~taken] = -np.inf
            pairs = tile.size if taken is None else int(np.count_nonzero(taken))
            done += pairs
            if pairs:
                largest = tile.max()
                for one in kept:
                    one.offer(tile, largest, i, j, pairs)
                counts += self._count(tile, taken, self._kinds(i, j, tile.shape), indices)
        return counts, kept, done

    def _rooms(self) -> tuple[Units, NDArray[np.int64]]:
        """Working memory of this thread."""
        if not hasattr(self._local, "rooms"):
            self._local.rooms = np.empty(TILE * TILE, np.float32), np.empty(TILE * TILE, np.int64)
        rooms: tuple[Units, NDArray[np.int64]] = self._local.rooms
        return rooms

    def _taken(self, i: int, j: int, shape: tuple[int, ...]) -> NDArray[np.bool_] | None:
        """Which places of a tile are pairs; None when all are."""
        taken = np.triu(np.ones(shape, bool), 1) if i == j else None
        if self.groups is not None:
            apart = self.groups[i : i + TILE, None] != self.groups[j : j + TILE]
            if not apart.all():
                taken = apart if taken is None else taken & apart
        return taken

    def _kinds(self, i: int, j: int, shape: tuple[int, ...]) -> Units | None:
        """Of every place of a tile: 0 two labels, 1 one label, 2 a row without a label."""
        if self.labels is None:
            return None
        one, other = self.labels[i : i + shape[0], None], self.labels[j : j + shape[1]]
        kinds: Units = (one == other).astype(np.float32)
        if (one < 0).any() or (other < 0).any():
            kinds[(one < 0) | (other < 0)] = 2
        return kinds

    def _count(
        self, tile: Units, taken: NDArray[np.bool_] | None, kinds: Units | None, indices: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Counts by kind and bin, of a tile that nobody needs any more.

        The scaled cosine, rounded down, is the bin: exact, as the scale is a power of two. Rounding down comes before
        adding anything, since -1e-9 + 1 is 1 in float32.
        """
        values = tile if taken is None else tile[taken]
        np.floor(values, out=values)
        values += self._offsets[: tile.shape[1]] if taken is None else self.scale
        if kinds is not None:
            kinds *= np.float32(self.bins + 1)
            values += kinds if taken is None else kinds[taken]
        places = indices[: values.size]
        np.copyto(places, values.reshape(-1), casting="unsafe")
        counts = np.bincount(places, minlength=math.prod(self._counters)).reshape(self._counters)
        return np.asarray(counts.sum(axis=0))

    def histogram(self) -> dict[str, list[float]]:
        """Edges and counts; a cosine of exactly 1 is in the last bin, as with np.histogram."""
        counts = self.counts[:, :-1].copy()
        counts[:, -1] += self.counts[:, -1]
        edges = (np.arange(self.bins + 1) / (self.bins // 2) - 1).tolist()
        found: dict[str, list[float]] = {"edges": edges, "counts": counts.sum(axis=0).tolist()}
        if len(counts) > 1:
            found |= {"within": counts[1].tolist(), "between": counts[0].tolist()}
        return found
