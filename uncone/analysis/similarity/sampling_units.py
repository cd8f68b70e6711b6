"""Distinct texts as the sampling units of intervals: copies weigh in a mean, never in its certainty.

Identical rows stand for one text. Leaving it out leaves out all of its copies.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from uncone.analysis.similarity.pairwise.unit_rows import Units
from uncone.data.batch import IntVector, Vector
from uncone.stats.samples.copies import copy_groups, row_prints

__all__ = [
    "KNOWN",
    "BackgroundError",
    "Cells",
    "background_error",
    "cells_of",
    "copies_of",
    "independent_pairs",
    "leave_out",
    "pair_texts",
    "text_variance",
]

_AT_ONCE = 8192


class BackgroundError(NamedTuple):
    """How uncertain the mean of the background is: its variance, and what each row adds to its error.

    Of one column of texts `each` (n,) holds what all copies of the row's text add together, of two columns what the
    row itself adds. It is None when the background is of other texts.
    """

    variance: float
    each: Vector | None = None


KNOWN = BackgroundError(0.0)
"""A mean that is taken as known."""


class Cells(NamedTuple):
    """Distinct texts by label: identical rows of one label stand once.

    `rows` are the first of each, in order; `weights` how many there are; `groups` the number of the text, which may
    stand under several labels.
    """

    rows: IntVector
    weights: Vector
    groups: IntVector

    @property
    def texts(self) -> int:
        """How many distinct texts there are."""
        return int(self.groups.max(initial=-1)) + 1


def copies_of(units: Units) -> IntVector | None:
    """The text of each row as a number, from 0; None when no two rows are identical."""
    return copy_groups(row_prints([units]))


def cells_of(codes: IntVector, groups: IntVector | None) -> Cells:
    """The distinct texts of rows with labels as numbers from 0.

    >>> cells_of(np.array([0, 0, 1, 1]), np.array([5, 5, 5, 2]))
    Cells(rows=array([0, 2, 3]), weights=array([2., 1., 1.]), groups=array([1, 1, 0]))
    """
    n = len(codes)
    if groups is None:
        return Cells(np.arange(n), np.ones(n), np.arange(n))
    keys = groups * (int(codes.max(initial=0)) + 1) + codes
    _, first, counts = np.unique(keys, return_index=True, return_counts=True)
    order = np.argsort(first)
    rows = first[order]
    return Cells(rows, counts[order].astype(np.float64), np.unique(groups[rows], return_inverse=True)[1])


def leave_out(total: float, pairs: float, less: Vector, fewer: Vector) -> Vector | None:
    """What each text adds to the error of the mean total/pairs, by the delete-one jackknife: squared, they add up.

    Without a text the sum is smaller by `less` and has `fewer` pairs. None where a text leaves no pair, or there are
    fewer than three.
    """
    count, left = len(less), pairs - fewer
    if count < 3 or not (left > 0).all():
        return None
    without = (total - less) / left
    return np.asarray((without.mean() - without) * math.sqrt((count - 1) / count))


def background_error(units: Units, groups: IntVector | None) -> BackgroundError:
    """The error of the mean cosine of all pairs of rows but copies, by the texts of the rows."""
    n = len(units)
    blocks = [slice(start, start + _AT_ONCE) for start in range(0, n, _AT_ONCE)]
    total = sum((units[part].sum(axis=0, dtype=np.float64) for part in blocks), np.zeros(units.shape[1]))
    cells = cells_of(np.zeros(n, np.int64), groups)
    own, towards = np.empty(len(cells.rows)), np.empty(len(cells.rows))
    for start in range(0, len(cells.rows), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        block = units[cells.rows[part]].astype(np.float64)
        own[part], towards[part] = np.vecdot(block, block), block @ total
    less, fewer = cells.weights * (towards - cells.weights * own), cells.weights * (n - cells.weights)
    each = leave_out(float(less.sum()) / 2, float(fewer.sum()) / 2, less, fewer)
    if each is None:
        return BackgroundError(math.nan)
    of_text = np.empty(cells.texts)
    of_text[cells.groups] = each
    inverse = np.arange(n) if groups is None else np.unique(groups, return_inverse=True)[1]
    return BackgroundError(float(each @ each), of_text[inverse])


def pair_texts(left: ArrayLike, right: ArrayLike) -> tuple[IntVector, IntVector]:
    """The texts of the two sides of each pair as numbers: identical vectors on either side have the same."""
    sides = [np.asarray(side) for side in (left, right)]
    kind = np.result_type(*sides, np.float32)
    numbers = np.unique(row_prints([side.astype(kind, copy=False) for side in sides]), return_inverse=True)[1]
    return numbers[: len(sides[0])].astype(np.int64), numbers[len(sides[0]) :].astype(np.int64)


def text_variance(each: Vector, one: IntVector, other: IntVector) -> float:
    """The variance of the sum of what pairs add, when pairs that share a text vary together.

    Over texts, the squared sum of what their pairs add; what a pair has of its own counts for both of its texts, so
    once of it is taken off again (the dyadic-robust variance; Aronow, Samii and Assenova 2015). Copies of a pair are
    added up first. A difference of sums may come out too small, even negative: it is no less than the smaller of the
    two variances that regard only first or only second texts as shared.

    >>> text_variance(np.ones(2), np.array([0, 2]), np.array([1, 3]))  # no text is shared
    2.0
    >>> text_variance(np.ones(2), np.array([0, 0]), np.array([1, 3]))  # the first is
    4.0
    """
    texts = int(max(one.max(initial=0), other.max(initial=0))) + 1
    keys, place = np.unique(np.minimum(one, other) * texts + np.maximum(one, other), return_inverse=True)
    added = np.bincount(place, each)
    first, second = np.divmod(keys, texts)
    apart = first != second
    of_text = np.bincount(first, added, texts) + np.bincount(second[apart], added[apart], texts)
    shared = float(of_text @ of_text) - float(added[apart] @ added[apart])
    return max(shared, min(float(np.square(np.bincount(side, each)).sum()) for side in (one, other)))


def independent_pairs(one: IntVector, other: IntVector) -> float:
    """How many pairs without a shared text tell as much: n for n such pairs, n/k where each text stands in k.

    >>> independent_pairs(np.array([0, 0, 2, 2]), np.array([1, 1, 3, 3]))
    2.0
    """
    n = len(one)
    return n**2 / text_variance(np.ones(n), one, other) if n else 0.0
