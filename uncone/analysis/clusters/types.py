"""S_inter and S_intra of rows, and inside clusters of them, exactly and from sums (Cai et al. 2021).

With u the unit vectors and m_t the mean of those of type t, S_inter is (|sum m_t|^2 - sum |m_t|^2)/(T^2 - T): the
expected cosine of an occurrence of one type and one of another. S_intra is the mean over types of the mean cosine of
two occurrences in different sentences, (|sum U_s|^2 - sum |U_s|^2)/(n^2 - sum n_s^2) with U_s the sum in sentence s.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from uncone.analysis.layers.deep_results import TypeCosines
from uncone.data.arrays.bags import Bags, run_starts
from uncone.data.batch import IntVector, Keys, Matrix, Vector, WordBags
from uncone.data.lazy_property import once

__all__ = ["InClusters", "Types", "mean_over_clusters", "weighted_mean"]


class InClusters(NamedTuple):
    """The cosines in each cluster, and the mean cosine of two types in different clusters."""

    each: list[TypeCosines]
    across: float | None


@dataclass(frozen=True)
class Types:
    """Which type each row is and which sentence it stands in; rows whose type is negative are types of one row."""

    words: IntVector
    groups: IntVector

    @once
    def numbers(self) -> IntVector:
        """The number of the type of every row, from 0 on."""
        alone = np.flatnonzero(self.words < 0)
        numbers = self.words.astype(np.int64)
        numbers[alone] = max(int(self.words.max(initial=-1)), -1) + 1 + np.arange(len(alone))
        return numbers

    def inside(self, labels: IntVector, k: int, *rows: tuple[Matrix, Vector]) -> list[InClusters]:
        """S_inter and S_intra in each of k clusters, of rows (n, d) with their lengths, for several kinds of rows.

        Rows of length 0 have no cosine. A type in two clusters is looked at in each alone.
        """
        bags: WordBags | None = None
        before: NDArray[np.bool_] | None = None
        results = []
        for given, lengths in rows:
            usable = lengths > 0
            if bags is None or before is None or not np.array_equal(usable, before):
                bags, before = self._bags(labels, usable), usable
            results.append(_in_clusters(given, lengths, bags, self._count, k))
        return results

    @property
    def _count(self) -> int:
        return int(self.numbers.max(initial=-1)) + 1

    def _bags(self, labels: IntVector, usable: NDArray[np.bool_]) -> WordBags:
        """The rows of each type in each cluster, in the order of the clusters."""
        return Keys(self.groups, np.where(usable, labels * self._count + self.numbers, -1)).word_bags


def mean_over_clusters(cosines: Sequence[TypeCosines], weights: Sequence[float] | IntVector) -> TypeCosines:
    """The mean over the clusters that have one, with these weights.

    >>> mean_over_clusters([TypeCosines(0.5, None), TypeCosines(0.2, 0.9)], [1, 2])
    TypeCosines(inter=0.3, intra=0.9)
    """
    return TypeCosines(
        *(weighted_mean([getattr(one, name) for one in cosines], weights) for name in ("inter", "intra"))
    )


def weighted_mean(values: Sequence[float | None], weights: Sequence[float] | IntVector) -> float | None:
    """The mean of the values that are known, with these weights."""
    known = [(value, float(weight)) for value, weight in zip(values, weights, strict=True) if value is not None]
    total = sum(weight for _, weight in known)
    return sum(value * (weight / total) for value, weight in known) if total else None


def _in_clusters(rows: Matrix, lengths: Vector, bags: WordBags, types: int, k: int) -> InClusters:
    """The cosines of each cluster and across them, from the sums of each type in each cluster."""
    if not len(bags.words):
        return InClusters([TypeCosines(None, None)] * k, None)
    weights = (1 / np.where(lengths > 0, lengths, 1.0)).astype(rows.dtype)
    counts = bags.bags.sizes
    means: Matrix = bags.bags.sums(rows, weights)
    means /= counts.astype(means.dtype)[:, None]
    squares = np.vecdot(means, means).astype(np.float64)
    together = np.ones(len(bags.pair_sizes))  # |U_s|^2 of a single occurrence in a sentence
    pairs = bags.several_bags.sums(rows, weights)
    together[bags.several] = np.vecdot(pairs, pairs)
    cluster = bags.words // types
    intra = _intra(squares * counts**2, counts, bags.first, together, bags.pair_sizes)
    edges = np.searchsorted(cluster, np.arange(k + 1))
    totals = np.stack([means[start:end].sum(axis=0, dtype=np.float64) for start, end in pairwise(edges.tolist())])
    sizes = np.diff(edges)
    own = np.add.reduceat(np.append(squares, 0.0), edges[:-1]) * (sizes > 0)
    inter = np.where(sizes > 1, (np.vecdot(totals, totals) - own) / np.maximum(sizes * (sizes - 1), 1), np.nan)
    each = [
        TypeCosines(_known(one), _mean(intra[slice(*ends)])) for one, ends in zip(inter, pairwise(edges), strict=True)
    ]
    return InClusters(each, _across(means, squares, totals, sizes, bags.words % types))


def _across(means: Matrix, squares: Vector, totals: Matrix, sizes: IntVector, types: IntVector) -> float | None:
    """The mean cosine of two types in two clusters: all pairs without those in one cluster, or of one type."""
    if len(sizes) < 2:
        return None
    order = np.argsort(types, kind="stable")
    same = Bags(order, run_starts(types[order]))
    shared = order[np.repeat(same.sizes > 1, same.sizes)]  # of types that stand in several clusters
    sums = same.of_several()[1].sums(means)
    n, total = len(types), totals.sum(axis=0)
    pairs = n**2 - int((sizes**2).sum()) - int((same.sizes**2).sum()) + n
    one_type = float(np.vecdot(sums, sums).sum(dtype=np.float64)) - float(squares[shared].sum())
    value = float(total @ total) - float(np.vecdot(totals, totals).sum()) - one_type
    return value / pairs if pairs > 0 else None


def _intra(squares: Vector, counts: IntVector, first: IntVector, together: Vector, sizes: IntVector) -> Vector:
    """The mean cosine of two occurrences in different sentences, of every type; NaN where it stands in one alone."""
    pairs = counts**2 - np.add.reduceat(sizes**2, first)
    value = squares - np.add.reduceat(together, first)
    return np.where(pairs > 0, value / np.maximum(pairs, 1), np.nan)


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _mean(values: Vector) -> float | None:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else None
