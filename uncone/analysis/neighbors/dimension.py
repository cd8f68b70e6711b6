"""How many dimensions the space has around a vector: local intrinsic dimension, and TwoNN."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from uncone.analysis.intervals.intervals import Spread, around, variance_freedom
from uncone.analysis.layers.deep_results import Dimension
from uncone.analysis.neighbors.search import Near, nearest
from uncone.data.batch import IntVector, Matrix, Vector
from uncone.run.threads import in_order
from uncone.stats.hashing import fingerprints, hash_keys

__all__ = ["NEAREST", "AllRows", "Convention", "dimensions_of", "distinct_rows", "lid", "two_nn"]

NEAREST = 100
"""Neighbors that the dimension around a vector is estimated from."""
_QUERIES = 300
_GROUPS = 200
"""Groups of the jackknife: with 50, rounding of the vectors would move the width of an interval by a fifth."""
_AT_ONCE = 8192
_DISCARDED = 0.1
"""The share of the largest ratios that TwoNN leaves out, as published."""

_MOST = 1e5
"""A larger dimension is that of distances that are equal but for rounding."""

_WIDE, _MOST_GAPS = 3.0, 0.05
"""A gap is so many times as wide as the widest in an even space; with more queries at one, there is no interval."""

Convention = Literal["distances", "paper"]


@dataclass(frozen=True)
class AllRows:
    """All vectors of a source as a base: `n` distinct ones, and the share of duplicates.

    `search` gives by metric the distances (m, k) of queries (m, d) to their k nearest, and, where it misses some, the
    share of the neighbors that it finds.
    """

    search: Callable[[Matrix, int], tuple[Mapping[str, Matrix], Mapping[str, float]]]
    n: int
    duplicates: float


def lid(distances: Matrix, convention: Convention = "distances") -> Vector:
    """The local intrinsic dimension of each query (m,) from the distances (m, k) to its nearest vectors, by likelihood.

    (k - 1)/Σ log(r_k/r_i) over the k - 1 nearer ones: the maximum of the likelihood of Levina and Bickel (2004), which
    is that of Amsaleg et al. (2015) with the k-th distance as the radius and not as a neighbor. Zero and infinite
    distances do not count; NaN where fewer than two are left, or all are equal. The convention of the paper takes
    squared distances, which halves every value.

    >>> lid(np.array([[1.0, 2.0, 4.0]])).round(3).tolist()
    [0.962]
    """
    valid = (distances > 0) & np.isfinite(distances)
    last = np.where(valid, distances, 0.0).max(axis=1, initial=0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(last[:, None] / distances)
        total = np.where(valid, logs, 0.0).sum(axis=1)
        value = (valid.sum(axis=1) - 1) / total
    value[~(value < _MOST)] = np.nan
    return np.asarray(value / 2 if convention == "paper" else value)


def two_nn(nearest_two: Matrix) -> float | None:
    """The dimension from the distances (m, 2) to the two nearest vectors alone (Facco et al. 2017).

    The slope through zero of -log(1 - F) over log(r_2/r_1), F the share of the queries with a smaller ratio; the
    largest tenth of the ratios is left out. None when fewer than two are left.
    """
    first, second = nearest_two[:, 0], nearest_two[:, 1]
    valid = (first > 0) & np.isfinite(second)
    ratios = np.sort(np.log(second[valid] / first[valid]))
    n_ratios = int(len(ratios) * (1 - _DISCARDED))
    if n_ratios < 2 or ratios[n_ratios - 1] <= 1 / _MOST:
        return None
    x, y = ratios[:n_ratios], -np.log1p(-np.arange(1, n_ratios + 1) / len(ratios))
    return float(x @ y / (x @ x))


def distinct_rows(vectors: Matrix) -> IntVector:
    """The places of the vectors that repeat no earlier one, in order."""
    blocks = (vectors[start : start + _AT_ONCE] for start in range(0, len(vectors), _AT_ONCE))
    prints = np.concatenate([np.empty(0, np.uint64), *in_order(fingerprints, blocks)])
    ordered = np.sort(prints)
    if (ordered[1:] != ordered[:-1]).all():
        return np.arange(len(prints))
    return np.sort(np.unique(prints, return_index=True)[1])


def dimensions_of(
    vectors: Matrix,
    *,
    k: int = NEAREST,
    queries: int = _QUERIES,
    seed: int = 0,
    base: AllRows | None = None,
    units: IntVector | None = None,
) -> dict[str, Dimension]:
    """The local intrinsic dimension of vectors (n, d), by Euclidean distance and by cosine (the chord).

    A seeded sample of the distinct vectors asks for its k nearest among all distinct vectors, or among those of `base`.
    With fewer than k others, all of them are taken. What equals the query but for rounding does not count as a
    neighbor: nor, by cosine, what has its direction. The interval is by the jackknife over groups of vectors, which go
    as neighbors and as queries; among the vectors of `base`, of which a query sees few, over the queries. Vectors of
    one of the `units` (n,), such as the words of a text, go together. There is none where k is over half of the
    vectors, or where the neighbors of over a twentieth of the queries end with a cluster.
    """
    first = distinct_rows(vectors)
    n = len(first) if base is None else base.n
    share = 1 - len(first) / max(len(vectors), 1) if base is None else base.duplicates
    k = max(min(k, n - 1), 0)
    names = ("euclidean", "cosine")
    if min(len(first), n) < 3:
        return {name: Dimension(name, None, None, None, None, k, 0, n, share) for name in names}
    query_places = first[np.sort(np.random.default_rng(seed).permutation(len(first))[:queries])]
    asking = vectors[query_places]
    if base is not None:
        distances, recall = base.search(asking, k)
        return {name: _dimension(name, distances[name], k, n, share, recall.get(name)) for name in names}
    near = nearest(vectors if share == 0 else vectors[first], asking, k, metrics=names, distinct=True)
    groups = _jackknife_groups(vectors[first], None if units is None else units[first])
    own = np.searchsorted(first, query_places)
    return {
        name: _dimension(
            name, near[name].distances, k, n, share, jackknife=partial(_jackknife, near[name], groups, own)
        )
        for name in names
    }


def _jackknife_groups(vectors: Matrix, units: IntVector | None) -> IntVector:
    """The group of each vector, whole units together; by what they are, so that their order does not matter."""
    ranks = np.unique(fingerprints(vectors) if units is None else hash_keys(units), return_inverse=True)[1]
    return np.asarray(ranks % (_GROUPS if units is not None else min(_GROUPS, max(len(vectors) // 2, 1))), np.int64)


def _gap_share(distances: Matrix, dimensions: Vector) -> float:
    """The share of the queries whose neighbors end with a cluster: beyond it the next one is far away.

    In a space without gaps j times the dimension times log(r_(j+1)/r_j) is exponential with mean 1, and the largest of
    k of them is near log k. Whether the k-th neighbor lies inside the cluster or beyond changes the dimension by a
    multiple, so where clusters are about as large as k, chance decides. Near-duplicates are gaps too, but small ones:
    the nearest quarter is not looked at.
    """
    k = distances.shape[1]
    if k < 4:
        return 0.0
    places = np.arange(k // 4, k)
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = np.log(distances[:, places] / distances[:, places - 1]) * places * dimensions[:, None]
    return float((np.nan_to_num(steps, nan=0.0, posinf=0.0).max(axis=1) > _WIDE * np.log(k)).mean())


def _slope(distances: Matrix) -> float:
    """How much the mean dimension grows when the number of neighbors grows by a factor of e."""
    half = distances.shape[1] // 2
    if half < 3:
        return 0.0
    grown = lid(distances) - lid(distances[:, :half])
    return float(np.nanmean(grown) / np.log(distances.shape[1] / half)) if np.isfinite(grown).any() else 0.0


def _jackknife(near: Near, groups: IntVector, queries: IntVector) -> Spread:
    """The spread of the mean dimension over groups of vectors: without a group, its vectors neither ask nor are found.

    `groups` are those of the vectors of the base, `queries` the places of those that ask.
    """
    distances, valid = near.distances, (near.distances > 0) & np.isfinite(near.distances)
    of, b, m = np.where(valid, groups[near.places], -1), int(groups.max()) + 1, len(queries)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(valid, np.log(distances), 0.0)
    cells = (np.arange(m)[:, None] * b + of)[valid]
    counts = valid.sum(axis=1)[:, None] - np.bincount(cells, minlength=m * b).reshape(m, b)
    sums = logs.sum(axis=1)[:, None] - np.bincount(cells, weights=logs[valid], minlength=m * b).reshape(m, b)
    # Without the group of the farthest one, the farthest of the others is the radius.
    masked = np.where(valid, logs, -np.inf)
    farthest = masked.argmax(axis=1)
    radius = np.repeat(masked[np.arange(m), farthest][:, None], b, axis=1)
    lost = of[np.arange(m), farthest]
    others = np.where(of == lost[:, None], -np.inf, masked).max(axis=1)
    usable = lost >= 0
    radius[np.flatnonzero(usable), lost[usable]] = others[usable]
    with np.errstate(divide="ignore", invalid="ignore"):
        without = (counts - 1) / (counts * radius - sums)
    without[~((without > 0) & (without < _MOST))] = np.nan
    without[np.arange(m), groups[queries]] = np.nan
    some = np.isfinite(without).any(axis=0)
    # Without a group, others would take the places of its vectors and k stay the same: the dimension changes with k.
    missing = np.log(valid.sum(axis=1)[:, None] / np.maximum(counts, 1)).mean(axis=0)
    moved = np.nanmean(without[:, some], axis=0) + _slope(distances) * missing[some]
    moved -= moved.mean()
    squares, count = moved**2, len(moved)
    return Spread((count - 1) / max(count, 1) * float(squares.sum()), 1 + variance_freedom(squares))


def _dimension(
    name: str,
    distances: Matrix,
    k: int,
    n: int,
    share: float,
    recall: float | None = None,
    jackknife: Callable[[], Spread] | None = None,
) -> Dimension:
    dimensions = lid(distances)
    each = dimensions[np.isfinite(dimensions)]
    if not each.size:
        return Dimension(name, None, None, None, None, k, 0, n, share, recall)
    value = float(each.mean())
    low, high = None, None
    # The nearest that are most of the vectors are no neighborhood: one outlier decides how far they reach.
    if len(each) > 2 and 2 * k <= n and _gap_share(distances, dimensions) <= _MOST_GAPS:
        spread = Spread(float(each.var(ddof=1)) / len(each), len(each))
        low, high = around(value, *(spread if jackknife is None else max(spread, jackknife())))
    pair = two_nn(distances[:, :2])
    return Dimension(name, value, None if low is None else max(low, 0.0), high, pair, k, len(each), n, share, recall)
