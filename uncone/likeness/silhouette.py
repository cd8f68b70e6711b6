"""How well groups stand apart, by cosine distance: exact for any number of rows, because sums of groups are enough."""

from __future__ import annotations

import numpy as np

from uncone.data.batch import IntVector, Matrix, Vector

__all__ = ["group_sums", "silhouettes"]

_AT_ONCE = 8_192


def group_sums(units: Matrix, members: IntVector, k: int) -> Matrix:
    """The sum of the unit rows of each group (k, d), in float64; rows whose group is -1 are in none."""
    sums = np.zeros((k, units.shape[1]))
    for group in range(k):
        rows = np.flatnonzero(members == group)
        for start in range(0, len(rows), _AT_ONCE):
            sums[group] += units[rows[start : start + _AT_ONCE]].sum(axis=0, dtype=np.float64)
    return sums


def silhouettes(units: Matrix, members: IntVector, k: int) -> Vector:
    """(b - a)/max(a, b) of each row (n,): a its mean distance to its own group, b to the nearest other.

    The mean of 1 - cosine between a row and a group is 1 - u.S/size, with S the sum of the group: no pair is looked
    at. As in Rousseeuw (1987), a row alone in its group has 0; a row without a group has NaN, and so have all when
    there is only one group.

    >>> silhouettes(np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), np.array([0, 0, 1]), 2).tolist()
    [1.0, 1.0, 0.0]
    """
    sums, sizes = group_sums(units, members, k), np.bincount(members[members >= 0], minlength=k)
    values = np.full(len(units), np.nan)
    if np.count_nonzero(sizes) < 2:
        return values
    for start in range(0, len(units), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        values[part] = _of_block(np.asarray(units[part], np.float64), members[part], sums, sizes)
    return values


def _of_block(units: Matrix, members: IntVector, sums: Matrix, sizes: IntVector) -> Vector:
    inside = members >= 0
    own, places = np.where(inside, members, 0), np.arange(len(units))
    towards = units @ sums.T
    apart = np.where(sizes > 0, 1 - towards / np.maximum(sizes, 1), np.inf)
    # The row itself is in the sum of its group, at a distance of 0 from itself.
    within = (sizes[own] - 1 - (towards[places, own] - np.vecdot(units, units))) / np.maximum(sizes[own] - 1, 1)
    apart[places, own] = np.inf
    nearest = apart.min(axis=1)
    larger = np.maximum(within, nearest)
    value = np.where(larger > 0, (nearest - within) / np.where(larger > 0, larger, 1.0), 0.0)
    value = np.where(sizes[own] > 1, value.clip(-1.0, 1.0), 0.0)
    return np.where(inside, value, np.nan)
