"""Sampling units of rows: what an interval deletes as a whole. Copies of a vector are one unit, as is a document."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from uncone.data.batch import IntVector

__all__ = ["effective_number", "joint_units", "row_units"]


def row_units(n: int, copies: IntVector | None, documents: IntVector | None) -> IntVector:
    """The unit of each of n rows (n,), numbered in the order of the rows.

    Documents that share a copy are one unit. When copies (a footer that stands in every document) would tie most rows
    into one, copies that stand in several documents are units of their own instead.

    >>> row_units(4, None, np.array([7, 2, 7, 2])), row_units(3, np.array([1, 0, 1]), np.array([5, 6, 7]))
    (array([0, 1, 0, 1]), array([0, 1, 0]))
    """
    if copies is None or documents is None:
        grouping = documents if copies is None else copies
        return np.arange(n) if grouping is None else _numbered(grouping)
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    names, document = np.unique(documents, return_inverse=True)
    size = len(names) + int(copies.max()) + 1
    graph = coo_array((np.ones(n, np.int8), (document, len(names) + copies)), shape=(size, size))
    tied = connected_components(graph, directed=False)[1][document]
    rows = np.bincount(tied)
    if 2 * rows.max() <= n or len(np.unique(document[tied == rows.argmax()])) == 1:
        return _numbered(tied)
    first = np.full(int(copies.max()) + 1, -1)
    first[copies] = document
    several = np.zeros(len(first), np.bool_)
    several[copies[first[copies] != document]] = True
    return _numbered(np.where(several[copies], len(names) + copies, document))


def joint_units(prints: NDArray[np.generic], others: NDArray[np.generic]) -> tuple[IntVector, IntVector]:
    """The units of the rows of two sides: a row of one side and its copies on the other share a unit."""
    both = _numbered(np.concatenate([prints, others]))
    return both[: len(prints)], both[len(prints) :]


def effective_number(unit: IntVector) -> float:
    """How many units of equal size tell as much as these: (sum of sizes)^2 / sum of their squares."""
    sizes = np.bincount(unit).astype(np.float64)
    return float(sizes.sum() ** 2 / (sizes @ sizes))


def _numbered(keys: NDArray[np.generic]) -> IntVector:
    """Numbers from 0 on, in the order in which each key first appears."""
    _, first, place = np.unique(keys, return_index=True, return_inverse=True)
    number = np.empty(len(first), np.int64)
    number[np.argsort(first)] = np.arange(len(first))
    return np.asarray(number[place])
