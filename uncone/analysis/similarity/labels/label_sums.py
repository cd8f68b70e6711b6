"""Mean and spread of the cosines within and between labels, from sums per label: no pair is ever looked at.

With S the sum of the unit rows of a label and G the sum of their outer products, the cosines between labels a and b
sum up to S_a.S_b and their squares to tr(G_a G_b). Everything is in float64.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from uncone.analysis.intervals.intervals import student
from uncone.analysis.similarity.pairwise.unit_rows import Units
from uncone.analysis.similarity.results import Estimate
from uncone.analysis.similarity.sampling_units import BackgroundError, Cells, cells_of, leave_out
from uncone.data.batch import IntVector, Matrix, Vector

__all__ = ["LabelSums", "PairMean", "Sides", "Squares", "above", "estimate"]

_AT_ONCE = 8192
_BYTES = 64 * 2**20
"""Of sums of outer products at a time."""
_NO_SPREAD = 1e-7
"""A standard deviation below this is rounding: the rows have float32 digits."""


class PairMean(NamedTuple):
    """The mean cosine of some pairs and their mean square, with the variance of the mean and its degrees of freedom.

    `covariance` is that of the mean with the mean of the background.
    """

    mean: float
    square: float
    pairs: int
    variance: float
    freedom: float
    covariance: float = 0.0


def estimate(found: PairMean | None) -> Estimate:
    """A mean cosine with the interval that follows from the variance of the mean."""
    if found is None:
        return Estimate(None, None, None, None, 0)
    mean, square, pairs, variance, freedom, _ = found
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


def above(found: PairMean | None, background: float, error: BackgroundError) -> Estimate:
    """The same minus the mean of the background, whose own error is in the interval.

    Both means are over the same texts, so their errors go together: the covariance is taken off twice.
    """
    cosine = estimate(found)
    if found is None or cosine.mean is None:
        return cosine
    mean, variance = cosine.mean - background, found.variance + error.variance - 2 * found.covariance
    if cosine.low is None or not math.isfinite(variance):
        return replace(cosine, mean=mean, low=None, high=None)
    reach = student(found.freedom) * math.sqrt(max(variance, 0.0))
    return replace(cosine, mean=mean, low=mean - reach, high=mean + reach)


class Squares(NamedTuple):
    """Sums over pairs of rows of k labels, each (k, k), and over all labels.

    `sums` (k, d) are those of the rows of each label. `cosines` and `squares` are over the rows of one label with those
    of another, of one label a row with itself and each pair twice. `within` are the squares over all pairs of one
    label, `every` over all pairs, each once.
    """

    sums: Matrix
    cosines: Matrix
    squares: Matrix
    within: float
    every: float


class Sides(NamedTuple):
    """What texts add to the error of the mean cosines between k labels, each (k, k).

    `variance` and `covariance` (with the background) are of the texts of the first label against the second, `shared`
    is the covariance that texts of both labels bring, and `both` how many there are; `texts` (k,) are those of each.
    """

    variance: Matrix
    covariance: Matrix
    shared: Matrix
    both: Matrix
    texts: IntVector


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
    cells: Cells
    """The distinct texts of every label, in that order."""
    background: Vector
    """What the text of each of them adds to the error of the background."""

    @classmethod
    def of(
        cls, units: Units, codes: IntVector, groups: IntVector | None = None, background: Vector | None = None
    ) -> LabelSums:
        """Of rows with labels as numbers, each from 0 on in use, in any order.

        `groups` are the texts of the rows as numbers, None when all differ; `background` what these texts add to the
        error of the background.
        """
        order = np.argsort(codes, kind="stable")
        codes = codes[order]
        starts = np.searchsorted(codes, np.arange(codes[-1] + 2))
        cells = cells_of(codes, None if groups is None else groups[order])
        error = np.zeros(len(cells.rows)) if background is None else background[order[cells.rows]]
        own, towards_label, towards_all = np.empty((3, len(units)))
        found = cls(units, order, codes, starts, own, towards_label, towards_all, cells, error)
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

    def texts_of(self, a: int) -> slice:
        """Where the distinct texts of a label stand among the cells."""
        first, last = np.searchsorted(self.cells.rows, self.starts[a : a + 2])
        return slice(int(first), int(last))

    def within_label(self, a: int, square: float) -> PairMean | None:
        """The cosines within a label, whose squares sum up to `square`; interval by leaving out one text in turn."""
        n = int(self.counts[a])
        if n < 2:
            return None
        pairs, place = n * (n - 1) // 2, self.texts_of(a)
        less, fewer = self._within_less(place)
        total = float(self.towards_label[self.starts[a] : self.starts[a + 1]].sum()) / 2
        each = leave_out(total, pairs, less, fewer)
        if each is None:
            return PairMean(total / pairs, square / pairs, pairs, math.nan, 0)
        covariance = float(each @ self.background[place])
        return PairMean(total / pairs, square / pairs, pairs, float(each @ each), len(each) - 1, covariance)

    def overall(self, square: float, *, within: bool) -> PairMean | None:
        """The cosines of all pairs of one label, or of two; leaving out a text leaves out all its pairs."""
        partners = self.counts[self.codes] - 1 if within else len(self.codes) - self.counts[self.codes]
        pairs = int(partners.sum()) // 2
        if not pairs:
            return None
        total = float((self.towards_label if within else self.towards_all - self.towards_label).sum()) / 2
        of_label = self._within_less if within else self._between_less
        less, fewer = (np.bincount(self.cells.groups, part).astype(np.float64) for part in of_label(slice(None)))
        if not within and len(self.cells.groups) > self.cells.texts:  # pairs of a text with itself under another label
            of_text, weights = self.cells.groups, self.cells.weights
            twice = (np.bincount(of_text, weights) ** 2 - np.bincount(of_text, weights**2)) / 2
            own = np.empty(self.cells.texts)
            own[of_text] = self.own[self.cells.rows]
            less, fewer = less - twice * own, fewer - twice
        met = fewer > 0
        each = leave_out(total, pairs, less[met], fewer[met])
        variance, freedom = (math.nan, 0) if each is None else (float(each @ each), len(each) - 1)
        return PairMean(total / pairs, square / pairs, pairs, variance, freedom)

    def _within_less(self, place: slice) -> tuple[Vector, Vector]:
        """The sum of the cosines within its label that go with each text, and how many pairs they are."""
        rows, weights = self.cells.rows[place], self.cells.weights[place]
        twice = weights * (weights - 1) / 2
        less = weights * self.towards_label[rows] - twice * self.own[rows]
        return less, weights * (self.counts[self.codes[rows]] - 1) - twice

    def _between_less(self, place: slice) -> tuple[Vector, Vector]:
        """The same of its cosines with other labels."""
        rows, weights = self.cells.rows[place], self.cells.weights[place]
        partners = len(self.codes) - self.counts[self.codes[rows]]
        return weights * (self.towards_all - self.towards_label)[rows], weights * partners

    def sides(self, chosen: IntVector, summed: Squares) -> Sides:
        """What the texts of the `chosen` labels add to the error of the means between them.

        A mean between two labels is a two-sample U-statistic: a text adds the deviation of its cosine with the mean of
        the other label. A text of both labels adds both at once.
        """
        k, counts = len(chosen), self.counts[chosen]
        means = summed.sums / counts[:, None]
        between = summed.cosines / np.outer(counts, counts)
        places = [self.texts_of(a) for a in chosen.tolist()]
        texts = np.array([place.stop - place.start for place in places])
        variance, covariance = np.zeros((k, k)), np.zeros((k, k))
        added = []
        for at, place in enumerate(places):
            scale = math.sqrt(texts[at] / (texts[at] - 1)) / counts[at] if texts[at] > 1 else math.nan
            blocks = [self.units[self.order[rows]].astype(np.float64) @ means.T for rows in self._cell_rows(place)]
            each = (np.concatenate(blocks) - between[at]) * (scale * self.cells.weights[place])[:, None]
            variance[at], covariance[at] = np.vecdot(each.T, each.T), each.T @ self.background[place]
            added.append(each)
        shared, both = self._shared(places, added)
        return Sides(variance, covariance, shared, both, texts)

    def _cell_rows(self, place: slice) -> Iterator[IntVector]:
        for start in range(place.start, place.stop, _AT_ONCE):
            yield self.cells.rows[start : min(start + _AT_ONCE, place.stop)]

    def _shared(self, places: list[slice], added: list[Matrix]) -> tuple[Matrix, Matrix]:
        """The covariance of two labels through texts that stand under both, and how many such texts there are."""
        k = len(places)
        shared, both = np.zeros((k, k)), np.zeros((k, k))
        if len(self.cells.groups) == self.cells.texts:
            return shared, both
        for a, b in combinations(range(k), 2):
            ours, theirs = (self.cells.groups[places[at]] for at in (a, b))
            _, mine, yours = np.intersect1d(ours, theirs, assume_unique=True, return_indices=True)
            shared[a, b] = shared[b, a] = float(added[a][mine, b] @ added[b][yours, a])
            both[a, b] = both[b, a] = len(mine)
        return shared, both

    def squares(self, chosen: IntVector) -> Squares:
        """The sums over the `chosen` labels, and over all."""
        d, k = self.units.shape[1], len(chosen)
        sums = np.stack([self._sum(a) for a in chosen.tolist()])
        crossed, every = np.zeros((k, k)), 0.0
        others = np.flatnonzero(~np.isin(self.codes, chosen))
        step = max(1, _BYTES // (8 * (k + 1) * d))
        for start in range(0, d, step):
            rows = slice(start, min(start + step, d))
            outer = np.stack([self._outer(a, rows) for a in chosen.tolist()])
            flat = outer.reshape(k, -1)
            crossed += flat @ flat.T
            summed = outer.sum(axis=0)
            for at in range(0, len(others), _AT_ONCE):
                block = self.units[self.order[others[at : at + _AT_ONCE]]].astype(np.float64)
                summed += block[:, rows].T @ block
            every += float(np.vdot(summed, summed))
        fourth = float(np.vdot(self.own, self.own))
        within = float(np.trace(crossed)) + self._own_squares(np.setdiff1d(np.arange(len(self.counts)), chosen))
        return Squares(sums, sums @ sums.T, crossed, (within - fourth) / 2, (every - fourth) / 2)

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
