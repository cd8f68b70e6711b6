"""How well clusters stand apart: silhouettes (Rousseeuw 1987), by sums of clusters where these are enough.

The mean cosine distance of a row to a cluster, and the mean squared Euclidean one, follow from the sum of the cluster:
no pair is looked at. The Euclidean one does not, so that every pair is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import DTypeLike

from uncone.data.batch import IntVector, Matrix, Vector
from uncone.run.blas_threads import in_order

__all__ = [
    "cosine_silhouettes",
    "distances_of",
    "euclidean_silhouettes",
    "group_sums",
    "silhouettes_from",
    "squared_silhouettes",
]

_AT_ONCE = 8_192
_PAIRS_AT_ONCE = 1 << 22
"""Distances that are in memory at a time, for each core."""
_NOISE = 4e-6
"""A squared distance under so much of the squared norm of a row is rounding, in float32."""


def group_sums(rows: Matrix, members: IntVector, k: int) -> Matrix:
    """The sum of the rows of each group (k, d), in float64; rows whose group is -1 are in none."""
    sums = np.zeros((k, rows.shape[1]))
    for group in range(k):
        own = np.flatnonzero(members == group)
        for start in range(0, len(own), _AT_ONCE):
            sums[group] += rows[own[start : start + _AT_ONCE]].sum(axis=0, dtype=np.float64)
    return sums


def cosine_silhouettes(units: Matrix, members: IntVector, k: int) -> Vector:
    """(b - a)/max(a, b) of each row (n,) by cosine distance: a its mean distance to its own group, b to the nearest.

    The rows have length 1. The mean of 1 - cosine between a row and a group is 1 - u.S/size, with S the sum of the
    group. As in Rousseeuw (1987), a row alone in its group has 0; a row without a group (-1) has NaN, and so have all
    when there is only one group.

    >>> cosine_silhouettes(np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), np.array([0, 0, 1]), 2).tolist()
    [1.0, 1.0, 0.0]
    """
    sums, sizes = group_sums(units, members, k), _sizes(members, k)

    def apart(part: slice) -> tuple[Matrix, Vector]:
        rows = np.asarray(units[part], np.float64)
        # A row is in the sum of its own group, where its distance from itself is not to count.
        return sizes - rows @ sums.T, 1 - np.vecdot(rows, rows)

    return _by_blocks(apart, members, sizes)


def squared_silhouettes(vectors: Matrix, members: IntVector, k: int) -> Vector:
    """The same by squared Euclidean distance: the sum of |x - y|^2 over a group is size |x|^2 - 2 x.S + sum |y|^2.

    >>> squared_silhouettes(np.array([[0.0], [1.0], [5.0]]), np.array([0, 0, 1]), 2).round(4).tolist()
    [0.96, 0.9375, 0.0]
    """
    sizes = _sizes(members, k)
    centre = vectors.mean(axis=0, dtype=np.float64) if len(vectors) else np.zeros(vectors.shape[1])
    sums, squares = np.zeros((k, vectors.shape[1])), np.zeros(k)
    for part in _parts(len(vectors)):
        rows, own = vectors[part] - centre, members[part]
        sums += group_sums(rows, own, k)
        squares += np.bincount(own[own >= 0], weights=np.vecdot(rows, rows)[own >= 0], minlength=k)

    def apart(part: slice) -> tuple[Matrix, Vector]:
        rows = vectors[part] - centre
        lengths = np.vecdot(rows, rows)
        return np.maximum(lengths[:, None] * sizes - 2 * (rows @ sums.T) + squares, 0.0), np.zeros(len(rows))

    return _by_blocks(apart, members, sizes)


def euclidean_silhouettes(vectors: Matrix, members: IntVector, k: int) -> Vector:
    """The same by Euclidean distance, from every pair of rows: n^2 distances, of which few are in memory at a time.

    >>> euclidean_silhouettes(np.array([[0.0], [1.0], [5.0]]), np.array([0, 0, 1]), 2).round(4).tolist()
    [0.8, 0.75, 0.0]
    """
    inside = np.flatnonzero(members >= 0)
    rows = np.asarray(vectors[inside], np.float64)
    rows -= rows.mean(axis=0) if len(rows) else 0.0
    squares, columns = np.vecdot(rows, rows), _one_hot(members[inside], k, rows.dtype)

    def sums(start: int) -> Matrix:
        these = slice(start, start + step)
        apart = rows[these] @ rows.T
        apart *= -2
        apart += squares
        apart += squares[these, None]
        np.sqrt(np.maximum(apart, 0.0, out=apart), out=apart)
        own = np.arange(len(apart))
        apart[own, own + start] = 0.0
        return np.asarray(apart @ columns)

    step = max(_PAIRS_AT_ONCE // max(len(rows), 1), 1)
    values = np.full(len(members), np.nan)
    blocks = list(in_order(sums, range(0, len(rows), step)))
    if blocks:
        values[inside] = _values(np.concatenate(blocks), 0.0, members[inside], _sizes(members, k))
    return values


def distances_of(rows: Matrix) -> Matrix:
    """The Euclidean distances of every two rows (n, n), in the precision of the rows, which lie about zero.

    >>> distances_of(np.array([[0.0, 0.0], [3.0, 4.0]])).tolist()
    [[0.0, 5.0], [5.0, 0.0]]
    """
    apart = np.asarray(rows @ rows.T)
    squares = apart.diagonal().copy()
    apart *= -2
    apart += squares
    apart += squares[:, None]
    apart *= apart > (_NOISE if rows.dtype == np.float32 else 0.0) * squares[:, None]
    np.sqrt(apart, out=apart)
    np.fill_diagonal(apart, 0.0)
    return apart


def silhouettes_from(distances: Matrix, labelings: Sequence[IntVector]) -> list[Vector]:
    """The silhouettes (n,) of every labelling of the same rows, from the distances of every two: one product for all.

    >>> distances = distances_of(np.array([[0.0], [1.0], [5.0]]))
    >>> silhouettes_from(distances, [np.array([0, 0, 1])])[0].round(4).tolist()
    [0.8, 0.75, 0.0]
    """
    counts = [int(labels.max()) + 1 for labels in labelings]
    columns = np.concatenate([_one_hot(*pair, distances.dtype) for pair in zip(labelings, counts, strict=True)], axis=1)
    sums = np.split((distances @ columns).astype(np.float64), np.cumsum(counts)[:-1], axis=1)
    triples = zip(sums, labelings, counts, strict=True)
    return [_values(apart, 0.0, labels, _sizes(labels, k)) for apart, labels, k in triples]


def _one_hot(members: IntVector, k: int, dtype: DTypeLike) -> Matrix:
    return np.asarray(members[:, None] == np.arange(k), dtype)


def _sizes(members: IntVector, k: int) -> IntVector:
    return np.bincount(members[members >= 0], minlength=k)


def _parts(n: int) -> list[slice]:
    return [slice(start, start + _AT_ONCE) for start in range(0, n, _AT_ONCE)]


def _by_blocks(apart: Callable[[slice], tuple[Matrix, Vector]], members: IntVector, sizes: IntVector) -> Vector:
    """The silhouettes of rows that are looked at block by block."""
    values = np.full(len(members), np.nan)
    if np.count_nonzero(sizes) > 1:
        for part in _parts(len(members)):
            values[part] = _values(*apart(part), members[part], sizes)
    return values


def _values(apart: Matrix, itself: Vector | float, members: IntVector, sizes: IntVector) -> Vector:
    """The silhouettes from the sum of the distances of each row to each group (n, k), `itself` among its own."""
    if np.count_nonzero(sizes) < 2:
        return np.full(len(members), np.nan)
    inside = members >= 0
    own, places = np.where(inside, members, 0), np.arange(len(members))
    others = np.maximum(sizes[own] - 1, 1)
    within = (apart[places, own] - itself) / others
    means = np.where(sizes > 0, apart / np.maximum(sizes, 1), np.inf)
    means[places, own] = np.inf
    nearest = means.min(axis=1)
    larger = np.maximum(within, nearest)
    value = np.where(larger > 0, (nearest - within) / np.where(larger > 0, larger, 1.0), 0.0)
    value = np.where(sizes[own] > 1, value.clip(-1.0, 1.0), 0.0)
    return np.where(inside, value, np.nan)
