"""Pairs that share a text: they are drawn together, and stand in one fold."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from uncone.data.batch import IntVector
from uncone.errors import ShapeError
from uncone.evaluation.resampling import replicate

__all__ = ["Texts", "Units", "units_of"]

Texts = tuple[Sequence[Hashable], Sequence[Hashable]]
"""The first and the second text of each pair, or what names them."""

_FEWEST = 20  # units: of fewer, draws with replacement tell too little
_LARGEST = 0.1  # of the pairs in one unit: whether such a one is drawn would decide everything
_CELLS = 200_000  # counts in memory at a time, as in `uncone.evaluation.resampling`


@dataclass(frozen=True, eq=False)
class Units:
    """The unit of each pair (n,): pairs of one unit hang together through texts they share.

    `apart` says that no text stands in two units; `note` why it is not so, or nothing.
    """

    unit: IntVector
    apart: bool
    note: str = ""

    def __len__(self) -> int:
        return int(self.unit.max()) + 1

    def replicate(
        self, statistic: Callable[[NDArray[np.int64]], NDArray[np.float64]], replicates: int, seed: int
    ) -> NDArray[np.float64]:
        """A statistic of how often each pair is drawn, (r, n) -> (k, r), over all draws of units: (k, replicates)."""
        most = max(1, _CELLS // len(self.unit))

        def drawn(counts: NDArray[np.int64]) -> NDArray[np.float64]:
            starts = range(0, len(counts), most)
            blocks = (counts[start : start + most] for start in starts)
            return np.concatenate([statistic(block[:, self.unit]) for block in blocks], axis=-1)

        return replicate(drawn, len(self), replicates, seed)

    def folds(self, truth: NDArray[np.float64], k: int, seed: int) -> IntVector:
        """The fold of each pair (n,): units whole, alike and unlike pairs in nearly equal shares.

        The units are sorted by their size and their alike pairs, at random among equals, and dealt in turn.
        """
        sizes, alike = np.bincount(self.unit), np.bincount(self.unit, weights=truth)
        order = np.lexsort((np.random.default_rng(seed).permutation(len(sizes)), -alike, -sizes))
        fold = np.empty(len(sizes), np.int64)
        fold[order] = np.arange(len(sizes)) % k
        return fold[self.unit]


def units_of(n: int, texts: Texts | None = None) -> Units:
    """The units of n pairs; every pair is one of its own where texts are not known, or where they tie too many.

    >>> units_of(3).unit
    array([0, 1, 2])

    Raises:
        ShapeError: not two texts per pair.
    """
    alone = np.arange(n)
    if texts is None:
        return Units(alone, apart=False)
    left, right = texts
    if not len(left) == len(right) == n:
        raise ShapeError(f"We need two texts for each of {n:,} pairs, not {len(left):,} and {len(right):,}.")
    numbers: dict[Hashable, int] = {}
    one, other = ([numbers.setdefault(text, len(numbers)) for text in side] for side in (left, right))
    graph = coo_array((np.ones(n, np.int8), (one, other)), shape=(len(numbers), len(numbers)))
    of_text = connected_components(graph, directed=False)[1]
    unit = np.unique(of_text[one], return_inverse=True)[1].astype(np.int64)
    sizes = np.bincount(unit)
    if len(sizes) < _FEWEST or sizes.max() > _LARGEST * n:
        note = (
            f"{sizes.max():,} of {n:,} pairs hang together through texts they share. So pairs were drawn one by one, "
            "and the intervals may be too narrow."
        )
        return Units(alone, apart=False, note=note)
    return Units(unit, apart=True)
