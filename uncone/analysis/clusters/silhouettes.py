"""How well clusters stand apart: silhouettes (Rousseeuw 1987).

The mean cosine distance of a vector to a cluster follows from the sum of the cluster: no pair is looked at. The mean
Euclidean one does not, so that every pair is.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from uncone.data.batch import IntVector, Matrix, Vector

__all__ = ["cosine_silhouettes", "distances_of", "group_sums", "silhouettes_from"]

_AT_ONCE = 8_192
_NOISE = 4e-6
"""A squared distance under this share of the squared norm of a vector is rounding, in float32."""


def group_sums(rows: Matrix, members: IntVector, k: int) -> Matrix:
    """The sum of the vectors of each group (k, d), in float64; vectors whose group is -1 are in none."""
    sums = np.zeros((k, rows.shape[1]))
    for group in range(k):
        own = np.flatnonzero(members == group)
        for start in range(0, len(own), _AT_ONCE):
            sums[group] += rows[own[start : start + _AT_ONCE]].sum(axis=0, dtype=np.float64)
    return sums


def cosine_silhouettes(units: Matrix, members: IntVector, k: int) -> Vector:
    """(b - a)/max(a, b) of each vector (n,) by cosine distance: a its mean distance to its own group, b to the nearest.

    The vectors have length 1. The mean of 1 - cosine between a vector and a group is 1 - u.S/size, with S the sum of
    the group. As in Rousseeuw (1987), a vector alone in its group has 0; a vector without a group (-1) has NaN, and so
    have all when there is only one group.

    >>> cosine_silhouettes(np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), np.array([0, 0, 1]), 2).tolist()
    [1.0, 1.0, 0.0]
    """
    sums, sizes = group_sums(units, members, k), _sizes(members, k)
    values = np.full(len(members), np.nan)
    for start in range(0, len(members), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        rows = np.asarray(units[part], np.float64)
        # A vector is in the sum of its own group, where its distance from itself is not to count.
        values[part] = _values(sizes - rows @ sums.T, 1 - np.vecdot(rows, rows), members[part], sizes)
    return values


def distances_of(rows: Matrix) -> Matrix:
    """The Euclidean distances of every two vectors (n, n), in the precision of the vectors, which lie about zero.

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
    """The silhouettes (n,) of every labeling of the same vectors, from the distances of every two: one product for all.

    >>> distances = distances_of(np.array([[0.0], [1.0], [5.0]]))
    >>> silhouettes_from(distances, [np.array([0, 0, 1])])[0].round(4).tolist()
    [0.8, 0.75, 0.0]
    """
    counts = [int(labels.max()) + 1 for labels in labelings]
    hot = [labels[:, None] == np.arange(k) for labels, k in zip(labelings, counts, strict=True)]
    sums = (distances @ np.concatenate(hot, axis=1).astype(distances.dtype)).astype(np.float64)
    triples = zip(np.split(sums, np.cumsum(counts)[:-1], axis=1), labelings, counts, strict=True)
    return [_values(apart, 0.0, labels, _sizes(labels, k)) for apart, labels, k in triples]


def _sizes(members: IntVector, k: int) -> IntVector:
    return np.bincount(members[members >= 0], minlength=k)


def _values(apart: Matrix, itself: Vector | float, members: IntVector, sizes: IntVector) -> Vector:
    """The silhouettes from the sum of the distances of each vector to each group (n, k), `itself` among its own."""
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
