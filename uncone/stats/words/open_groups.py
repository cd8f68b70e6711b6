"""Groups whose rows come in several batches: the windows of a long text."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from uncone.data.arrays.bags import Bags, run_starts
from uncone.data.batch import IntVector

__all__ = ["OpenGroups"]

_PARTS = 16
"""Batches after which what belongs together is added up, so that a very long text takes little room."""

Columns = tuple[NDArray[Any], ...]


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
        self._parts: list[tuple[Columns, Columns]] = []

    def put(self, names: tuple[IntVector, ...], *sums: NDArray[Any]) -> None:
        """Add sums (n,) or (n, d) of n groups."""
        self._parts.append((names, sums))
        if len(self._parts) > _PARTS:
            self._parts = [self._joined()]

    def close(self) -> tuple[Columns, Columns] | None:
        """The names in order and their sums; None when there are none. Nothing is open afterwards."""
        found = self._joined() if self._parts else None
        self._parts = []
        return found

    def _joined(self) -> tuple[Columns, Columns]:
        names, sums = (
            tuple(np.concatenate(parts) for parts in zip(*columns, strict=True))
            for columns in zip(*self._parts, strict=True)
        )
        order = np.lexsort(names[::-1])
        names = tuple(column[order] for column in names)
        starts = run_starts(*names)
        bags = Bags(order, starts)
        added = (bags.sums(one if one.ndim > 1 else one[:, None]).reshape(-1, *one.shape[1:]) for one in sums)
        return tuple(column[starts] for column in names), tuple(added)
