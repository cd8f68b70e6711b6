"""The shape of clusters: cosines of types and IsoScores, before and after their means are subtracted (Cai et al. 2021).

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

from uncone.analysis.clusters.kmeans import scaled
from uncone.analysis.layers.deep_results import TypeCosines
from uncone.analysis.space.spectrum.spectrum import corrected_ratio
from uncone.data.bags import Bags, run_starts
from uncone.data.batch import IntVector, Keys, Matrix, Vector, WordBags
from uncone.data.lazy_property import once
from uncone.stats.cluster_moments import Cells, runs_by_label

__all__ = [
    "Types",
    "about_zero",
    "corrected_isoscore",
    "mean_over_clusters",
    "measure_clusters",
    "parts_of",
    "weighted_mean",
]

_FRAMED_BY = 4096
"""Vectors whose mean and spread are the origin and the unit of length of all products."""
_SPREAD_OVER = 8192
"""Vectors that IsoScores are taken over, of all clusters together: they are corrected for their number."""
_AT_ONCE = 4096
_ROUNDING = 4.0
"""A difference of so many units in the last place of a number is rounding."""


class InClusters(NamedTuple):
    """The cosines in each cluster, and the mean cosine of two types in different clusters."""

    each: list[TypeCosines]
    across: float | None


@dataclass(frozen=True)
class Types:
    """The type and the sentence of each vector; one of a negative type is the only one of its type."""

    words: IntVector
    groups: IntVector

    @once
    def numbers(self) -> IntVector:
        """The number of the type of every vector, from 0 on."""
        alone = np.flatnonzero(self.words < 0)
        numbers = self.words.astype(np.int64)
        numbers[alone] = max(int(self.words.max(initial=-1)), -1) + 1 + np.arange(len(alone))
        return numbers

    def inside(self, labels: IntVector, k: int, *rows: tuple[Matrix, Vector]) -> list[InClusters]:
        """S_inter and S_intra in each of k clusters, of several kinds of vectors (n, d) with their lengths.

        Vectors of length 0 have no cosine. A type in two clusters is looked at in each alone.
        """
        bags: WordBags | None = None
        before: NDArray[np.bool_] | None = None
        results = []
        for vectors, lengths in rows:
            usable = lengths > 0
            if bags is None or before is None or not np.array_equal(usable, before):
                bags, before = self._bags(labels, usable), usable
            results.append(_in_clusters(vectors, lengths, bags, self._count, k))
        return results

    @property
    def _count(self) -> int:
        return int(self.numbers.max(initial=-1)) + 1

    def _bags(self, labels: IntVector, usable: NDArray[np.bool_]) -> WordBags:
        """The vectors of each type in each cluster, in the order of the clusters."""
        return Keys(self.groups, np.where(usable, labels * self._count + self.numbers, -1)).word_bags


def mean_over_clusters(cosines: Sequence[TypeCosines], weights: Sequence[float] | IntVector) -> TypeCosines:
    """The mean over the clusters that have one, with these weights.

    >>> mean_over_clusters([TypeCosines(0.5, None), TypeCosines(0.2, 0.9)], [1, 2])
    TypeCosines(inter=0.3, intra=0.9)
    """
    return TypeCosines(
        *(weighted_mean([getattr(cluster, name) for cluster in cosines], weights) for name in ("inter", "intra"))
    )


def weighted_mean(values: Sequence[float | None], weights: Sequence[float] | IntVector) -> float | None:
    """The mean of the values that are known, with these weights."""
    terms = [(value, float(weight)) for value, weight in zip(values, weights, strict=True) if value is not None]
    total = sum(weight for _, weight in terms)
    return sum(value * (weight / total) for value, weight in terms) if total else None


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
        TypeCosines(_finite(cos), _mean(intra[slice(*ends)])) for cos, ends in zip(inter, pairwise(edges), strict=True)
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


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _mean(values: Vector) -> float | None:
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if len(finite) else None


def about_zero(vectors: Matrix, lengths: Vector, seed: int) -> tuple[Matrix, Vector]:
    """The vectors about zero and of length about 1 per dimension, in float32, and what of each length is rounding."""
    places = np.sort(np.random.default_rng(seed).permutation(len(vectors))[:_FRAMED_BY])
    some = np.take(vectors, places, axis=0)
    center, eps = some.mean(axis=0, dtype=np.float64), float(np.finfo(vectors.dtype).eps)
    some -= center.astype(some.dtype)
    scale, size = (float(np.sqrt(np.vecdot(x, x).mean(dtype=np.float64) / len(center))) for x in (some, center))
    flat = scale <= _ROUNDING * eps * size
    frame = Cells(center, center[None], scale if not flat else size or 1.0)
    z = scaled(vectors, frame)
    own = np.sqrt(np.vecdot(z, z).astype(np.float64))
    noise = _ROUNDING * (float(np.finfo(z.dtype).eps) * own + eps * lengths / frame.scale)
    if flat:
        z[own <= noise] = 0.0
    return z, noise


@dataclass(frozen=True)
class ClusterShapes:
    """Cosines and IsoScores of all vectors and of each cluster, and the distance of each vector from its mean."""

    raw: InClusters
    global_: InClusters
    within_raw: InClusters
    within: InClusters
    isoscores: list[float | None]
    isoscore_all: float | None
    apart: Vector


def measure_clusters(
    vectors: Matrix, lengths: Vector, z: Matrix, noise: Vector, labels: IntVector, types: Types
) -> ClusterShapes:
    """What is known before and after subtracting the means; `z` is overwritten, because a copy takes as long."""
    together, k = np.zeros_like(labels), int(labels.max()) + 1
    sums, sizes = _sums(z, labels, k), np.bincount(labels, minlength=k)
    mean = sums.sum(axis=0) / len(z)
    z -= mean.astype(z.dtype)
    apart = _lengths(z, noise)
    raw, all_ = types.inside(together, 1, (vectors, lengths), (z, apart))
    isoscore_all = _isoscores(z, apart, together, 1)
    if k == 1:
        return ClusterShapes(raw, all_, raw, all_, isoscore_all, isoscore_all[0], apart)
    shifts = (sums / sizes[:, None] - mean).astype(z.dtype)
    for part in parts_of(len(z)):
        z[part] -= shifts[labels[part]]
    apart = _lengths(z, noise)
    within_raw, within = types.inside(labels, k, (vectors, lengths), (z, apart))
    return ClusterShapes(raw, all_, within_raw, within, _isoscores(z, apart, labels, k), isoscore_all[0], apart)


def parts_of(n: int) -> list[slice]:
    """Blocks of vectors that stay in a core's cache."""
    return [slice(start, start + _AT_ONCE) for start in range(0, n, _AT_ONCE)]


def _sums(z: Matrix, labels: IntVector, k: int) -> Matrix:
    """The sum of the vectors of each cluster (k, d), in float64 over blocks."""
    sums, names = np.zeros((k, z.shape[1])), np.arange(k)[:, None]
    for part in parts_of(len(z)):
        sums += (names == labels[part]).astype(z.dtype) @ z[part]
    return sums


def _lengths(y: Matrix, noise: Vector) -> Vector:
    """The lengths of the vectors; zero where a vector is rounding."""
    lengths = np.sqrt(np.vecdot(y, y).astype(np.float64))
    return np.where(lengths > noise, lengths, 0.0)


def _isoscores(y: Matrix, lengths: Vector, labels: IntVector, k: int) -> list[float | None]:
    """The IsoScore of each cluster; of a large one, that of vectors at even steps."""
    order, runs = runs_by_label(labels)
    scores: list[float | None] = [None] * k
    for label, run in runs:
        rows = order[run]
        if lengths[rows].any():
            most = _SPREAD_OVER // k
            some = rows if len(rows) <= most else rows[np.linspace(0, len(rows) - 1, most).astype(np.int64)]
            scores[label] = corrected_isoscore(np.take(y, some, axis=0))
    return scores


def corrected_isoscore(rows: Matrix) -> float | None:
    """(PR - 1)/(d - 1) with the participation ratio PR corrected for the number of vectors; None where it has none.

    >>> corrected_isoscore(np.array([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0], [5.0, 0.0]]))
    0.0
    """
    n, d = rows.shape
    if n < 4 or d < 2:
        return None
    y = rows - rows.mean(axis=0)
    squared = np.vecdot(y, y).astype(np.float64)
    products = y.T @ y if n > d else y @ y.T
    trace, squares = float(squared.sum()) / (n - 1), float(np.square(products, dtype=np.float64).sum()) / (n - 1) ** 2
    ratio = corrected_ratio(n, trace, squares, float((squared**2).sum()))
    return None if ratio is None else min(max((ratio - 1) / (d - 1), 0.0), 1.0)
