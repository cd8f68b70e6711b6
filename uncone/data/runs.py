"""Sums of runs of rows: the words of a sentence, the occurrences of a word."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["bag_means", "both_run_sums", "run_starts", "run_sums", "weighted_run_sums"]


def run_starts(*keys: NDArray[Any]) -> NDArray[np.int64]:
    """Where a run of rows with equal keys begins.

    >>> run_starts(np.array([5, 5, 7, 7, 7, 2])).tolist()
    [0, 2, 5]
    """
    changes = np.zeros(len(keys[0]), np.bool_)
    changes[:1] = True
    for key in keys:
        changes[1:] |= key[1:] != key[:-1]
    return np.flatnonzero(changes)


def run_sums(rows: NDArray[Any], starts: NDArray[np.int64], order: NDArray[np.int64] | None = None) -> NDArray[Any]:
    """The sum over each run of rows (runs, d); `order` says which row stands at which place of the runs.

    Runs of one length are summed together: `np.add.reduceat` takes ten times as long.

    >>> run_sums(np.array([[1.0], [2.0], [3.0], [4.0]]), np.array([0, 1]), np.array([3, 0, 1, 2])).tolist()
    [[4.0], [6.0]]
    """
    places = np.arange(len(rows)) if order is None else order
    sizes = np.diff(np.append(starts, len(places)))
    if len(sizes) == len(places):
        return rows if order is None else _taken(rows, order)
    sums = _taken(rows, places[starts])
    for size in np.unique(sizes[sizes > 1]).tolist():
        these = np.flatnonzero(sizes == size)
        sums[these] = _taken(rows, places[starts[these][:, None] + np.arange(size)]).sum(axis=1)
    return sums


def weighted_run_sums(
    rows: NDArray[Any], weights: NDArray[Any], starts: NDArray[np.int64], order: NDArray[np.int64] | None = None
) -> NDArray[Any]:
    """The same for every row times its weight; the products are never all in memory."""
    places = np.arange(len(rows)) if order is None else order
    sizes = np.diff(np.append(starts, len(places)))
    heads = places[starts]
    sums = _taken(rows, heads)
    sums *= weights[heads][:, None]
    # Runs of 5 to 8 rows are taken together, as runs of 8, and so on: the words of a text have many frequencies.
    doublings = np.ceil(np.log2(sizes)).astype(np.int64)
    for doubling in np.unique(doublings[doublings > 0]).tolist():
        these = np.flatnonzero(doublings == doubling)
        inside = np.arange(1 << doubling)
        missing = inside >= sizes[these][:, None]
        chosen = places[np.where(missing, 0, starts[these][:, None] + inside)]
        factors = np.where(missing, weights.dtype.type(0), weights[chosen])
        sums[these] = np.matmul(factors[:, None, :], _taken(rows, chosen))[:, 0]
    return sums


def both_run_sums(
    rows: NDArray[Any], weights: NDArray[Any], starts: NDArray[np.int64], order: NDArray[np.int64] | None = None
) -> tuple[NDArray[Any], NDArray[Any]]:
    """The sum over each run of rows as they are, and of every row times its weight: each row is fetched once.

    >>> sums, weighted = both_run_sums(np.array([[1.0], [2.0], [3.0]]), np.array([1.0, 2.0, 0.5]), np.array([0, 2]))
    >>> sums.tolist(), weighted.tolist()
    ([[3.0], [3.0]], [[5.0], [1.5]])
    """
    places = np.arange(len(rows)) if order is None else order
    sizes = np.diff(np.append(starts, len(places)))
    heads = places[starts]
    sums = _taken(rows, heads)
    weighted = sums * weights[heads][:, None]
    for size in np.unique(sizes[sizes > 1]).tolist():
        these = np.flatnonzero(sizes == size)
        chosen = places[starts[these][:, None] + np.arange(size)]
        pairs = np.ones((len(these), 2, size), weights.dtype)
        pairs[:, 1] = weights[chosen]
        found = np.matmul(pairs, _taken(rows, chosen))
        sums[these], weighted[these] = found[:, 0], found[:, 1]
    return sums, weighted


def bag_means(rows: NDArray[Any], places: NDArray[np.int64], starts: NDArray[np.int64]) -> NDArray[Any]:
    """The mean of each bag of rows (bags, d): bag i is the rows places[starts[i] : starts[i + 1]].

    >>> bag_means(np.array([[1.0], [2.0], [4.0]]), np.array([2, 0, 1]), np.array([0, 1])).tolist()
    [[4.0], [1.5]]
    """
    if len(starts) == len(places):
        return _taken(rows, places)
    sizes = np.diff(np.append(starts, len(places)))
    return np.asarray(run_sums(rows, starts, places) / sizes[:, None].astype(rows.dtype))


def _taken(rows: NDArray[Any], places: NDArray[np.int64]) -> NDArray[Any]:
    """The rows at these places. Unlike rows[places] it lets other threads run, and looks at no index twice."""
    return np.take(rows, places, axis=0, mode="clip")
