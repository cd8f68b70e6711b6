"""Sums over bags of rows: the words of a sentence, the occurrences of a word, the windows of a long text."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from uncone.data.lazy_property import once

__all__ = ["Bags", "OpenGroups", "bag_means", "run_starts"]

_WIDE = 1 << 31

Places = NDArray[np.signedinteger[Any]]


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


class Bags:
    """Which rows are summed together: bag i is the rows places[starts[i] : starts[i + 1]]. Made once, used often.

    >>> bags = Bags(np.array([3, 0, 1, 2]), np.array([0, 1]))
    >>> rows = np.array([[1.0], [2.0], [3.0], [4.0]])
    >>> bags.sums(rows).tolist(), bags.sums(rows, np.array([0.5, 1.0, 1.0, 2.0])).tolist()
    ([[4.0], [6.0]], [[8.0], [5.5]])
    """

    def __init__(self, places: Places, starts: NDArray[np.int64]) -> None:
        # Narrow numbers halve what the product has to fetch beside the rows.
        kind: type[np.signedinteger[Any]] = np.int32 if len(places) < _WIDE else np.int64
        self._places: Places = places.astype(kind)
        self._bounds: Places = np.append(starts, len(places)).astype(kind)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Rows in each bag."""
        return np.diff(self._bounds).astype(np.int64)

    def of_several(self) -> tuple[NDArray[np.int64], Bags]:
        """The bags of two rows or more: their numbers, and they themselves."""
        numbers = np.flatnonzero(self.sizes > 1)
        return numbers, self._select(numbers)

    def sums(self, rows: NDArray[Any], weights: NDArray[Any] | None = None) -> NDArray[Any]:
        """The sum over each bag (bags, d) of the rows as they are, or each times its weight."""
        factors = np.ones(len(self._places), rows.dtype) if weights is None else weights[self._places]
        return self._product(rows, factors)

    def both_sums(self, rows: NDArray[Any], weights: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """The sums of the rows as they are and times their weights: one after the other, while a bag is in the cache.

        >>> Bags(np.array([0, 1]), np.array([0])).both_sums(np.array([[1.0], [2.0]]), np.array([3.0, 4.0]))
        (array([[3.]]), array([[11.]]))
        """
        bags, as_they_are = self._double
        factors = weights[bags._places]
        factors[as_they_are] = 1
        sums = bags._product(rows, factors)
        return sums[::2], sums[1::2]

    @once
    def _double(self) -> tuple[Bags, NDArray[np.bool_]]:
        """Every bag twice, and which places are those of its first time."""
        bags = self._select(np.repeat(np.arange(len(self.sizes)), 2))
        return bags, np.repeat(np.arange(2 * len(self.sizes)) % 2 == 0, bags.sizes)

    def _select(self, numbers: NDArray[np.int64]) -> Bags:
        sizes = self.sizes[numbers]
        starts = np.cumsum(sizes) - sizes
        inside = np.repeat(self._bounds[numbers] - starts, sizes) + np.arange(int(sizes.sum()))
        return Bags(self._places[inside], starts)

    def means(self, rows: NDArray[Any]) -> NDArray[Any]:
        """The mean over each bag (bags, d)."""
        if len(self._bounds) == len(self._places) + 1:
            # Unlike rows[places] it lets other threads run, and looks at no index twice.
            return np.take(rows, self._places, axis=0, mode="clip")
        sizes = self.sizes
        return self._product(rows, np.repeat((1 / sizes).astype(rows.dtype), sizes))

    def _product(self, rows: NDArray[Any], factors: NDArray[Any]) -> NDArray[Any]:
        """A sparse product: each row is fetched once and added where it belongs."""
        from scipy.sparse import csr_array

        if not len(self._places):
            return np.zeros((len(self._bounds) - 1, rows.shape[1]), rows.dtype)
        shape = (len(self._bounds) - 1, len(rows))
        return np.asarray(csr_array((factors, self._places, self._bounds), shape=shape) @ rows)


def bag_means(rows: NDArray[Any], places: NDArray[np.int64], starts: NDArray[np.int64]) -> NDArray[Any]:
    """The mean of each bag of rows (bags, d): bag i is the rows places[starts[i] : starts[i + 1]].

    >>> bag_means(np.array([[1.0], [2.0], [4.0]]), np.array([2, 0, 1]), np.array([0, 1])).tolist()
    [[4.0], [1.5]]
    """
    return Bags(places, starts).means(rows)


_PARTS = 16
"""Batches after which what belongs together is added up, so that a very long text takes little room."""

_Columns = tuple[NDArray[Any], ...]


class OpenGroups:
    """Sums of groups by their names, until the groups are closed; a name may have several columns.

    >>> groups = OpenGroups()
    >>> for sums in ([[1.0], [2.0]], [[3.0], [4.0]]):
    ...     groups.put((np.array([5, 7]),), np.array(sums))
    >>> groups.close()
    ((array([5, 7]),), (array([[4.],
           [6.]]),))
    """

    def __init__(self) -> None:
        self._parts: list[tuple[_Columns, _Columns]] = []

    def put(self, names: tuple[NDArray[np.int64], ...], *sums: NDArray[Any]) -> None:
        """Add sums (n,) or (n, d) of n groups."""
        self._parts.append((names, sums))
        if len(self._parts) > _PARTS:
            self._parts = [self._merge()]

    def close(self) -> tuple[_Columns, _Columns] | None:
        """The names in order and their sums; None when there are none. Nothing is open afterwards."""
        groups = self._merge() if self._parts else None
        self._parts = []
        return groups

    def _merge(self) -> tuple[_Columns, _Columns]:
        names, sums = (
            tuple(np.concatenate(parts) for parts in zip(*columns, strict=True))
            for columns in zip(*self._parts, strict=True)
        )
        order = np.lexsort(names[::-1])
        names = tuple(column[order] for column in names)
        starts = run_starts(*names)
        bags = Bags(order, starts)
        added = (bags.sums(part if part.ndim > 1 else part[:, None]).reshape(-1, *part.shape[1:]) for part in sums)
        return tuple(column[starts] for column in names), tuple(added)
