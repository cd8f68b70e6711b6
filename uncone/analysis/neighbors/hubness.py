"""Hubness: how unevenly rows are the nearest neighbours of others, and which rows would answer everything."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from uncone.analysis.intervals.intervals import around, jackknife_variance
from uncone.analysis.layers.deep_results import Hub, Hubness
from uncone.analysis.neighbors.dimension import distinct_rows
from uncone.analysis.neighbors.search import nearest
from uncone.data.batch import IntVector, Matrix, Vector
from uncone.stats.hashing import fingerprints

__all__ = ["ROWS", "UNEVEN", "has_hubs", "hubness_of", "skewness"]

ROWS = 2_500
"""Rows that are compared with each other."""
UNEVEN = 1.4
_ONE_HUB = 0.05
"""A space has hubs when the skewness is above 1.4, and surely so: its interval is, or one row is near to a
twentieth of all, and to five times as many as on average."""
_K = 10
_SHOWN = 5
_GROUPS = 50
_WORST = 0.01
_TIE = 1e-6
_MOST_TIES = 0.01


def hubness_of(
    vectors: Matrix,
    *,
    k: int = _K,
    rows: int = ROWS,
    seed: int = 0,
    name: Callable[[int], str] | None = None,
    numbers: IntVector | None = None,
) -> Hubness:
    """How often each row is among the k nearest of another, by cosine (Radovanović et al. 2010).

    Over all distinct rows of (n, d), or a seeded sample of `rows` of them: copies of a row would be each other's
    nearest, and which of them come first is chance. `name` gives the text of the row at a place, `numbers`
    are the rows' numbers; without them the place is the number. Nothing is said of fewer than k + 2 rows, where every
    row is a neighbour of every other.
    """
    first = distinct_rows(vectors)
    places = first[np.sort(np.random.default_rng(seed).permutation(len(first))[:rows])]
    n = len(places)
    if n < k + 2:
        return Hubness(None, None, None, None, None, (), k, n)
    chosen = vectors[places]
    units = _units(chosen)
    found = _nearest(units, k, seed)
    counts = np.bincount(found.ravel(), minlength=n)
    skew = skewness(counts)
    low, high = _interval(skew, found, counts, np.argsort(np.argsort(fingerprints(chosen))))
    worst = np.argsort(-counts, kind="stable")
    hubs = tuple(
        Hub(
            int(places[i]) if numbers is None else int(numbers[places[i]]),
            int(counts[i]),
            "" if name is None else name(int(places[i])),
        )
        for i in worst[:_SHOWN]
    )
    top = float(counts[worst[: math.ceil(_WORST * n)]].sum() / found.size)
    return Hubness(skew, low, high, float((counts == 0).mean()), top, hubs, k, n)


def _nearest(units: Matrix, k: int, seed: int) -> IntVector:
    """The k nearest rows of each row (n, k).

    The chord of two directions is their Euclidean distance, which takes less arithmetic than the cosine of rows. Where
    the next row is as near as the last of them, the first of the file would be taken and look like hubs: then chance
    decides among equals, for each row anew.
    """
    own = np.arange(len(units))
    near = nearest(units, units, k + 1, metrics=("euclidean",), own=own)["euclidean"]
    apart = near.distances[:, k] - near.distances[:, k - 1] > _TIE
    if apart.mean() >= 1 - _MOST_TIES:
        return np.asarray(near.places[:, :k])
    cosines = np.rint(units @ units.T / _TIE) + np.random.default_rng(seed).random((len(units), len(units)))
    np.fill_diagonal(cosines, -np.inf)
    return np.argpartition(-cosines, k - 1, axis=1)[:, :k]


def has_hubs(hubness: Hubness) -> bool:
    """Whether some rows are for certain the neighbours of very many."""
    if hubness.skew is None or not hubness.hubs:
        return False
    # One row that is near to everything makes the interval of the skewness as wide as it is bad.
    one = hubness.hubs[0].count > max(_ONE_HUB * hubness.n, 5 * hubness.k)
    return hubness.skew > UNEVEN and (hubness.low is None or hubness.low > UNEVEN or one)


def _units(rows: Matrix) -> Matrix:
    if rows.dtype not in (np.float32, np.float64):
        rows = rows.astype(np.float32)
    return np.asarray(rows / np.sqrt(np.vecdot(rows, rows))[:, None])


def skewness(values: IntVector) -> float | None:
    """The third central moment over the 1.5th power of the second; None when all are equal.

    >>> skewness(np.array([0, 0, 0, 4]))
    1.1547005383792515
    """
    centred = values - values.mean()
    spread = float((centred**2).mean())
    return float((centred**3).mean() / spread**1.5) if spread > 0 else None


def _interval(
    skew: float | None, found: IntVector, counts: IntVector, ranks: IntVector
) -> tuple[float | None, float | None]:
    """By the jackknife over groups of rows: a group goes as neighbours and as those that ask.

    The groups are drawn by `ranks`, which follow from what the rows hold, so that their order does not matter. Of few
    rows each is a group: a last digit would move so few groups too much.
    """
    n = len(counts)
    groups = n if n <= 2 * _GROUPS else _GROUPS
    if skew is None or groups < 3:
        return None, None
    of = ranks % groups
    asked = np.bincount((of[:, None] * n + found).ravel(), minlength=groups * n).reshape(groups, n)
    # About the mean, so that the powers do not cancel.
    left = (counts - asked) - counts.mean()
    left[of, np.arange(n)] = 0.0
    sizes = n - np.bincount(of)
    first, second, third = (_sums(left, p) / sizes for p in (1, 2, 3))
    spread = second - first**2
    cubes = third - 3 * first * second + 2 * first**3
    values = np.where(spread > 0, cubes / np.where(spread > 0, spread, 1.0) ** 1.5, np.nan)
    return around(skew, jackknife_variance(values), groups)


def _sums(left: Matrix, power: int) -> Vector:
    return np.asarray((left**power).sum(axis=1))
