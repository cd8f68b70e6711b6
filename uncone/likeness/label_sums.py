"""Mean and spread of the cosines within and between labels, from sums per label: no pair is ever looked at.

With S the sum of the unit rows of a label and G the sum of their outer products, the cosines between labels a and b
sum up to S_a.S_b and their squares to tr(G_a G_b). Everything is in float64.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from uncone.data.batch import IntVector, Matrix, Vector
from uncone.diagnosis.intervals import jackknife_variance, student
from uncone.likeness.results import Estimate
from uncone.likeness.units import Units

__all__ = ["LabelSums", "Squares", "estimate"]

_AT_ONCE = 8192
_BYTES = 64 * 2**20
"""Of sums of outer products at a time."""
_NO_SPREAD = 1e-7
"""A standard deviation below this is rounding: the rows have float32 digits."""


def estimate(mean: float, square: float, pairs: int, variance: float, freedom: float) -> Estimate:
    """A mean cosine of pairs and their mean square, with the interval that follows from the variance of the mean."""
    spread = math.sqrt(max(square - mean**2, 0.0))
    known = freedom >= 1 and math.isfinite(variance)
    reach = student(freedom) * math.sqrt(max(variance, 0.0)) if known else math.nan
    return Estimate(
        float(np.clip(mean, -1, 1)),
        max(mean - reach, -1.0) if known else None,
        min(mean + reach, 1.0) if known else None,
        0.0 if spread < _NO_SPREAD else spread,
        pairs,
    )


class Squares(NamedTuple):
    """Sums over pairs of rows of k labels, each (k, k), and over all labels.

    `cosines` and `squares` are over the rows of one label with those of another, of one label a row with itself and
    each pair twice; `with_mean` are the squares of the rows of the first with the mean of the second. `within` are the
    squares over all pairs of one label, `every` over all pairs, each once.
    """

    cosines: Matrix
    squares: Matrix
    with_mean: Matrix
    within: float
    every: float


@dataclass(frozen=True, eq=False)
class LabelSums:
    """Rows in the order of their labels, and what is summed over them: no copy of the rows is kept."""

    units: Units
    order: IntVector
    """The rows by label (n,)."""
    codes: IntVector
    """Their labels, in that order: they rise from 0 without a gap."""
    starts: IntVector
    """Where each label begins in it, and at last the number of rows: (labels + 1,)."""
    own: Vector
    """|u|^2 of every row: 1 but for rounding."""
    towards_label: Vector
    """The sum of the cosines of every row with the other rows of its label."""
    towards_all: Vector

    @classmethod
    def of(cls, units: Units, codes: IntVector) -> LabelSums:
        """Of rows with labels as numbers, each from 0 on in use, in any order."""
        order = np.argsort(codes, kind="stable")
        codes = codes[order]
        starts = np.searchsorted(codes, np.arange(codes[-1] + 2))
        found = cls(units, order, codes, starts, *np.empty((3, len(units))))
        total = sum((block.sum(axis=0) for _, block in found._read(0, len(units))), np.zeros(units.shape[1]))
        for first, last in _runs(starts):
            begin, end = int(starts[first]), int(starts[last])
            sums = np.zeros((last - first, units.shape[1]))
            for place, block in found._read(begin, end):
                cuts = np.flatnonzero(np.diff(codes[place], prepend=-1))
                sums[codes[place][cuts] - first] += np.add.reduceat(block, cuts, axis=0)
            for place, block in found._read(begin, end):
                found.own[place] = np.vecdot(block, block)
                found.towards_label[place] = np.vecdot(block, sums[codes[place] - first]) - found.own[place]
                found.towards_all[place] = block @ total - found.own[place]
        return found

    def _read(self, start: int, stop: int) -> Iterator[tuple[slice, NDArray[np.float64]]]:
        """The rows from `start` to `stop` in the order of the labels, in float64, some at a time."""
        for at in range(start, stop, _AT_ONCE):
            place = slice(at, min(at + _AT_ONCE, stop))
            yield place, self.units[self.order[place]].astype(np.float64)

    @property
    def counts(self) -> IntVector:
        """Rows of every label."""
        return np.diff(self.starts)

    def within_label(self, a: int, square: float) -> Estimate:
        """The cosines within a label, whose squares sum up to `square`; interval by the delete-one jackknife."""
        n = int(self.counts[a])
        if n < 2:
            return Estimate(None, None, None, None, 0)
        pairs = n * (n - 1) // 2
        each = self.towards_label[self.starts[a] : self.starts[a + 1]]
        total = float(each.sum()) / 2
        without = (total - each) / (pairs - (n - 1)) if n > 2 else np.full(n, np.nan)
        return estimate(total / pairs, square / pairs, pairs, jackknife_variance(without), n - 1)

    def overall(self, square: float, *, within: bool) -> Estimate:
        """The cosines of all pairs of one label, or of two; leaving out a row leaves out all its pairs."""
        partners = self.counts[self.codes] - 1 if within else len(self.codes) - self.counts[self.codes]
        each = self.towards_label if within else self.towards_all - self.towards_label
        pairs = int(partners.sum()) // 2
        if not pairs:
            return Estimate(None, None, None, None, 0)
        total = float(each[partners > 0].sum()) / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            without = ((total - each) / (pairs - partners))[partners > 0]
        known = bool(np.isfinite(without).all())
        variance = jackknife_variance(without) if known else math.nan
        return estimate(total / pairs, square / pairs, pairs, variance, len(without) - 1)

    def squares(self, chosen: IntVector) -> Squares:
        """The sums over the `chosen` labels, and over all."""
        d, k = self.units.shape[1], len(chosen)
        sums = np.stack([self._sum(a) for a in chosen.tolist()])
        means = sums / self.counts[chosen][:, None]
        crossed, with_mean, every = np.zeros((k, k)), np.zeros((k, k)), 0.0
        others = np.flatnonzero(~np.isin(self.codes, chosen))
        step = max(1, _BYTES // (8 * (k + 1) * d))
        for start in range(0, d, step):
            rows = slice(start, min(start + step, d))
            outer = np.stack([self._outer(a, rows) for a in chosen.tolist()])
            for at, one in enumerate(outer):
                with_mean[at] += np.vecdot(means[:, rows], means @ one.T)
            flat = outer.reshape(k, -1)
            crossed += flat @ flat.T
            summed = outer.sum(axis=0)
            for at in range(0, len(others), _AT_ONCE):
                block = self.units[self.order[others[at : at + _AT_ONCE]]].astype(np.float64)
                summed += block[:, rows].T @ block
            every += float(np.vdot(summed, summed))
        fourth = float(np.vdot(self.own, self.own))
        within = float(np.trace(crossed)) + self._own_squares(np.setdiff1d(np.arange(len(self.counts)), chosen))
        return Squares(sums @ sums.T, crossed, with_mean, (within - fourth) / 2, (every - fourth) / 2)

    def own_fourth(self, a: int) -> float:
        """The sum of |u|^4 over a label: what its rows with themselves add to its squares."""
        own = self.own[self.starts[a] : self.starts[a + 1]]
        return float(np.vdot(own, own))

    def _sum(self, a: int) -> Vector:
        blocks = self._read(int(self.starts[a]), int(self.starts[a + 1]))
        return np.asarray(sum((block.sum(axis=0) for _, block in blocks), np.zeros(self.units.shape[1])))

    def _outer(self, a: int, rows: slice) -> NDArray[np.float64]:
        """Some rows of the sum of the outer products of a label."""
        outer = np.zeros((rows.stop - rows.start, self.units.shape[1]))
        for _, block in self._read(int(self.starts[a]), int(self.starts[a + 1])):
            outer += block[:, rows].T @ block
        return outer

    def _own_squares(self, labels: IntVector) -> float:
        """The squares within labels that are not in the table, a row with itself included: most of them are small."""
        d, counts = self.units.shape[1], self.counts
        alone = self.own[self.starts[labels[counts[labels] == 1]]]
        total = float(np.vdot(alone, alone))
        for a in labels[counts[labels] > 1].tolist():
            if counts[a] > d:
                table = self._outer(a, slice(0, d))
            else:
                block = self.units[self.order[self.starts[a] : self.starts[a + 1]]].astype(np.float64)
                table = block @ block.T
            total += float(np.vdot(table, table))
        return total


def _runs(starts: IntVector) -> Iterator[tuple[int, int]]:
    """Labels, from the first to before the last, that have some thousand rows together, or one that has more."""
    first, labels = 0, len(starts) - 1
    while first < labels:
        last = int(np.searchsorted(starts, starts[first] + _AT_ONCE, side="right")) - 1
        last = max(last, first + 1)
        yield first, last
        first = last
