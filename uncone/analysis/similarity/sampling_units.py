"""Distinct texts as the sampling units of intervals: copies weigh in a mean, but add no certainty.

Identical vectors stand for one text, and leaving out a text leaves out all of its copies.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from uncone.analysis.cosine.units import BLOCK, Units
from uncone.data.batch import IntVector, Vector
from uncone.stats.hashing import copy_groups, row_prints

__all__ = [
    "BackgroundError", "Cells", "background_error", "cells_of", "copies_of", "independent_pairs", "jackknife",
    "pair_texts", "text_variance",
]  # fmt: skip


class BackgroundError(NamedTuple):
    """The variance of the background's mean, and the contribution of each row to its error.

    With one column of texts, `each` (n,) holds the contribution of all copies of the row's text; with two columns,
    that of the row. It is None if the background is of other texts.
    """

    variance: float = 0.0
    each: Vector | None = None


class Cells(NamedTuple):
    """Distinct texts by label: identical rows with one label are one cell.

    `rows` are the first row of each, in order; `weights` the number of copies; `groups` the number of the text, which
    may appear with several labels.
    """

    rows: IntVector
    weights: Vector
    groups: IntVector

    @property
    def texts(self) -> int:
        """The number of distinct texts."""
        return int(self.groups.max(initial=-1)) + 1


def copies_of(units: Units) -> IntVector | None:
    """The text of each row as a number from 0; None if no two rows are identical."""
    return copy_groups(row_prints([units]))


def cells_of(codes: IntVector, groups: IntVector | None) -> Cells:
    """The distinct texts of rows with label codes from 0.

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


def jackknife(total: float, pairs: float, less: Vector, fewer: Vector) -> Vector | None:
    """Contributions of texts to the error of the mean total/pairs, whose squares add up to its variance.

    Without a text, the sum is smaller by `less` and has `fewer` pairs. None if a text leaves no pair, or there are
    fewer than three texts.
    """
    count, left = len(less), pairs - fewer
    if count < 3 or not (left > 0).all():
        return None
    without = (total - less) / left
    return np.asarray((without.mean() - without) * math.sqrt((count - 1) / count))


def background_error(units: Units, groups: IntVector | None) -> BackgroundError:
    """The error of the mean cosine of all pairs except copies."""
    n = len(units)
    blocks = [slice(start, start + BLOCK) for start in range(0, n, BLOCK)]
    total = sum((units[part].sum(axis=0, dtype=np.float64) for part in blocks), np.zeros(units.shape[1]))
    cells = cells_of(np.zeros(n, np.int64), groups)
    own, towards = np.empty((2, len(cells.rows)))
    for start in range(0, len(cells.rows), BLOCK):
        part = slice(start, start + BLOCK)
        block = units[cells.rows[part]].astype(np.float64)
        own[part], towards[part] = np.vecdot(block, block), block @ total
    less, fewer = cells.weights * (towards - cells.weights * own), cells.weights * (n - cells.weights)
    each = jackknife(float(less.sum()) / 2, float(fewer.sum()) / 2, less, fewer)
    if each is None:
        return BackgroundError(math.nan)
    of_text = np.empty(cells.texts)
    of_text[cells.groups] = each
    inverse = np.arange(n) if groups is None else np.unique(groups, return_inverse=True)[1]
    return BackgroundError(float(each @ each), of_text[inverse])


def pair_texts(left: ArrayLike, right: ArrayLike) -> tuple[IntVector, IntVector]:
    """The texts of both sides of each pair as numbers; identical vectors have the same on either side."""
    sides = [np.asarray(side) for side in (left, right)]
    kind = np.result_type(*sides, np.float32)
    numbers = np.unique(row_prints([side.astype(kind, copy=False) for side in sides]), return_inverse=True)[1]
    return numbers[: len(sides[0])].astype(np.int64), numbers[len(sides[0]) :].astype(np.int64)


def text_variance(each: Vector, left: IntVector, right: IntVector) -> float:
    """The dyadic-robust variance of a sum over pairs that vary together if they share a text.

    The squared sums over the pairs of each text count a pair's own part twice, so it is subtracted once (Aronow, Samii
    and Assenova 2015). Copies of a pair are added up first. Because a difference of sums may come out too small, the
    result is at least the smaller of the two variances in which only first or only second texts are shared.

    >>> text_variance(np.ones(2), np.array([0, 2]), np.array([1, 3]))  # no text is shared
    2.0
    >>> text_variance(np.ones(2), np.array([0, 0]), np.array([1, 3]))  # the first is
    4.0
    """
    texts = int(max(left.max(initial=0), right.max(initial=0))) + 1
    keys, place = np.unique(np.minimum(left, right) * texts + np.maximum(left, right), return_inverse=True)
    added = np.bincount(place, each)
    first, second = np.divmod(keys, texts)
    apart = first != second
    of_text = np.bincount(first, added, texts) + np.bincount(second[apart], added[apart], texts)
    shared = float(of_text @ of_text) - float(added[apart] @ added[apart])
    return max(shared, min(float(np.square(np.bincount(side, each)).sum()) for side in (left, right)))


def independent_pairs(left: IntVector, right: IntVector) -> float:
    """The effective number of independent pairs: n if no text is shared, n/k if each text is in k pairs.

    >>> independent_pairs(np.array([0, 0, 2, 2]), np.array([1, 1, 3, 3]))
    2.0
    """
    n = len(left)
    return n**2 / text_variance(np.ones(n), left, right) if n else 0.0
