"""Labels as codes, and the cosines within and between them from sums per label instead of pairs.

With S the sum of a label's unit vectors and G the sum of their outer products, the cosines between labels a and b sum
to S_a.S_b and their squares to tr(G_a G_b). Everything is in float64.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from uncone.analysis.cosine.units import BLOCK, Units
from uncone.analysis.intervals.intervals import student
from uncone.analysis.similarity.results import Estimate
from uncone.analysis.similarity.sampling_units import BackgroundError, Cells, cells_of, jackknife
from uncone.data.batch import IntVector, Matrix, Vector
from uncone.data.tables.fields import label_text

__all__ = ["LabelSums", "PairMean", "above", "coded", "estimate"]


def coded(labels: Sequence[Hashable]) -> tuple[IntVector, list[str]]:
    """The code of each label (n,), -1 if it is missing, and the labels by code: sorted, numbers as numbers.

    >>> codes, names = coded(["10", "9", None, "10"])
    >>> codes.tolist(), names
    ([1, 0, -1, 1], ['9', '10'])
    """
    texts = [label_text(label) for label in labels]
    distinct = {text for text in texts if text is not None}
    try:
        names = sorted(distinct, key=lambda name: (float(name), name))
    except ValueError:
        names = sorted(distinct)
    codes: dict[str | None, int] = {name: code for code, name in enumerate(names)}
    return np.array([codes.get(text, -1) for text in texts], np.int64), names


_OUTER_BYTES = 64 * 2**20
"""Sums of outer products at a time."""
_ROUNDING = 1e-7
"""Standard deviations below this are rounding of float32 vectors."""


class PairMean(NamedTuple):
    """The mean cosine of some pairs, their mean square, and the variance of the mean with its degrees of freedom.

    `covariance` is that of the mean with the mean of the background.
    """

    mean: float
    square: float
    pairs: int
    variance: float = math.nan
    freedom: float = 0
    covariance: float = 0.0


def estimate(pair_mean: PairMean | None) -> Estimate:
    """A mean cosine with its 95 % interval."""
    if pair_mean is None:
        return Estimate(None, None, None, None, 0)
    mean, square, pairs, variance, freedom, _ = pair_mean
    spread = math.sqrt(max(square - mean**2, 0.0))
    has_interval = freedom >= 1 and math.isfinite(variance)
    reach = student(freedom) * math.sqrt(max(variance, 0.0)) if has_interval else math.nan
    return Estimate(
        float(np.clip(mean, -1, 1)),
        max(mean - reach, -1.0) if has_interval else None,
        min(mean + reach, 1.0) if has_interval else None,
        0.0 if spread < _ROUNDING else spread,
        pairs,
    )


def above(pair_mean: PairMean | None, background: float, error: BackgroundError) -> Estimate:
    """The mean cosine minus the mean of the background, with an interval that includes the error of both.

    Both means are over the same texts, so twice their covariance is subtracted.
    """
    cosine = estimate(pair_mean)
    if pair_mean is None or cosine.mean is None:
        return cosine
    mean, variance = cosine.mean - background, pair_mean.variance + error.variance - 2 * pair_mean.covariance
    if cosine.low is None or not math.isfinite(variance):
        return replace(cosine, mean=mean, low=None, high=None)
    reach = student(pair_mean.freedom) * math.sqrt(max(variance, 0.0))
    return replace(cosine, mean=mean, low=mean - reach, high=mean + reach)


class Squares(NamedTuple):
    """Sums over the vectors of k labels.

    `sums` (k, d) are the sums of their vectors. `cosines` and `squares` (k, k) are sums over all ordered pairs of two
    labels; within one label, these include each vector with itself. `within` and `every` are the squared cosines
    summed once over all pairs with one label and over all pairs, also of other labels.
    """

    sums: Matrix
    cosines: Matrix
    squares: Matrix
    within: float
    every: float


@dataclass(frozen=True, eq=False)
class LabelSums:
    """Vectors in the order of their labels, with sums over them; the vectors are not copied.

    `order` are the rows by label, `codes` their labels from 0 without a gap, and `starts` (labels + 1,) the bounds of
    each label. `own` is |u|^2 of every vector, and `towards_label` and `towards_all` are the sums of its cosines with
    the others of its label and with all others. `cells` are the distinct texts of every label, and `background` their
    contributions to the error of the background.
    """

    units: Units
    order: IntVector
    codes: IntVector
    starts: IntVector
    own: Vector
    towards_label: Vector
    towards_all: Vector
    cells: Cells
    background: Vector

    @classmethod
    def of(
        cls, units: Units, codes: IntVector, groups: IntVector | None = None, background: Vector | None = None
    ) -> LabelSums:
        """The sums of vectors with label codes that use every number from 0.

        `groups` are the texts as numbers, None if all differ; `background` their contributions to its error.
        """
        order = np.argsort(codes, kind="stable")
        codes = codes[order]
        starts = np.searchsorted(codes, np.arange(codes[-1] + 2))
        cells = cells_of(codes, None if groups is None else groups[order])
        error = np.zeros(len(cells.rows)) if background is None else background[order[cells.rows]]
        own, towards_label, towards_all = np.empty((3, len(units)))
        result = cls(units, order, codes, starts, own, towards_label, towards_all, cells, error)
        total = result._sum(0, len(units))
        for first, last in _label_runs(starts):
            begin, end = int(starts[first]), int(starts[last])
            sums = np.zeros((last - first, units.shape[1]))
            for part, block in result._read(begin, end):
                cuts = np.flatnonzero(np.diff(codes[part], prepend=-1))
                sums[codes[part][cuts] - first] += np.add.reduceat(block, cuts, axis=0)
            for part, block in result._read(begin, end):
                result.own[part] = np.vecdot(block, block)
                result.towards_label[part] = np.vecdot(block, sums[codes[part] - first]) - result.own[part]
                result.towards_all[part] = block @ total - result.own[part]
        return result

    def _read(self, start: int, stop: int) -> Iterator[tuple[slice, NDArray[np.float64]]]:
        """Blocks of vectors in float64, in the order of the labels."""
        for at in range(start, stop, BLOCK):
            part = slice(at, min(at + BLOCK, stop))
            yield part, self._vectors(part)

    def _vectors(self, places: slice | IntVector) -> NDArray[np.float64]:
        return self.units[self.order[places]].astype(np.float64)

    def _sum(self, start: int, stop: int) -> Vector:
        blocks = self._read(start, stop)
        return np.asarray(sum((block.sum(axis=0) for _, block in blocks), np.zeros(self.units.shape[1])))

    @property
    def counts(self) -> IntVector:
        """Texts of every label."""
        return np.diff(self.starts)

    def _places(self, a: int) -> slice:
        return slice(int(self.starts[a]), int(self.starts[a + 1]))

    def _cells(self, a: int) -> slice:
        first, last = np.searchsorted(self.cells.rows, self.starts[a : a + 2])
        return slice(int(first), int(last))

    def within_label(self, a: int, squares: float) -> PairMean | None:
        """The cosines within a label, whose squares sum to `squares` with every vector itself; by jackknife."""
        n, places, cells = int(self.counts[a]), self._places(a), self._cells(a)
        if n < 2:
            return None
        pairs, own = n * (n - 1) // 2, self.own[places]
        total = float(self.towards_label[places].sum()) / 2
        mean, square = total / pairs, (squares - float(np.vdot(own, own))) / 2 / pairs
        each = jackknife(total, pairs, *self._within_less(cells))
        if each is None:
            return PairMean(mean, square, pairs)
        covariance = float(each @ self.background[cells])
        return PairMean(mean, square, pairs, float(each @ each), len(each) - 1, covariance)

    def overall(self, square: float, *, within: bool) -> PairMean | None:
        """The cosines of all pairs with one label, or with two; by jackknife over the texts."""
        partners = self.counts[self.codes] - 1 if within else len(self.codes) - self.counts[self.codes]
        pairs = int(partners.sum()) // 2
        if not pairs:
            return None
        total = float((self.towards_label if within else self.towards_all - self.towards_label).sum()) / 2
        of_label = self._within_less if within else self._between_less
        less, fewer = (np.bincount(self.cells.groups, part).astype(np.float64) for part in of_label(slice(None)))
        if not within and len(self.cells.groups) > self.cells.texts:  # a text paired with itself under another label
            texts, weights = self.cells.groups, self.cells.weights
            twice = (np.bincount(texts, weights) ** 2 - np.bincount(texts, weights**2)) / 2
            own = np.empty(self.cells.texts)
            own[texts] = self.own[self.cells.rows]
            less, fewer = less - twice * own, fewer - twice
        met = fewer > 0
        each = jackknife(total, pairs, less[met], fewer[met])
        if each is None:
            return PairMean(total / pairs, square / pairs, pairs)
        return PairMean(total / pairs, square / pairs, pairs, float(each @ each), len(each) - 1)

    def _within_less(self, cells: slice) -> tuple[Vector, Vector]:
        """The sum of the cosines of each text within its label, and the number of these pairs."""
        rows, weights = self.cells.rows[cells], self.cells.weights[cells]
        twice = weights * (weights - 1) / 2
        less = weights * self.towards_label[rows] - twice * self.own[rows]
        return less, weights * (self.counts[self.codes[rows]] - 1) - twice

    def _between_less(self, cells: slice) -> tuple[Vector, Vector]:
        """The same with other labels."""
        rows, weights = self.cells.rows[cells], self.cells.weights[cells]
        partners = len(self.codes) - self.counts[self.codes[rows]]
        return weights * (self.towards_all - self.towards_label)[rows], weights * partners

    def between_labels(self, labels: IntVector, summed: Squares) -> Iterator[PairMean]:
        """The cosines between every two of the `labels`, in the order of `combinations`.

        The mean is a two-sample U-statistic: a text contributes the deviation of its cosine with the mean of the other
        label, and a text with both labels contributes both at once. The degrees of freedom are Welch's, and fewer than
        the distinct texts of both.
        """
        counts, cells = self.counts[labels], [self._cells(a) for a in labels.tolist()]
        means, expected = summed.sums / counts[:, None], summed.cosines / np.outer(counts, counts)
        added = []
        for at, place in enumerate(cells):
            n = place.stop - place.start
            scale = math.sqrt(n / (n - 1)) / counts[at] if n > 1 else math.nan
            rows = self.cells.rows[place]
            blocks = [self._vectors(rows[start : start + BLOCK]) @ means.T for start in range(0, n, BLOCK)]
            added.append((np.concatenate(blocks) - expected[at]) * (scale * self.cells.weights[place])[:, None])
        repeated = len(self.cells.groups) > self.cells.texts
        for a, b in combinations(range(len(labels)), 2):
            pairs, (n, m) = int(counts[a] * counts[b]), (len(added[a]), len(added[b]))
            mean, square = float(summed.cosines[a, b]) / pairs, float(summed.squares[a, b]) / pairs
            if n < 2 or m < 2:
                yield PairMean(mean, square, pairs)
                continue
            ours, theirs = added[a][:, b], added[b][:, a]
            a2, b2 = float(ours @ ours), float(theirs @ theirs)
            shared, both = 0.0, 0
            if repeated:
                mine, yours = self._same_texts(cells[a], cells[b])
                shared, both = float(ours[mine] @ theirs[yours]), len(mine)
            freedom = (a2 + b2) ** 2 / (a2**2 / (n - 1) + b2**2 / (m - 1)) if a2 + b2 > 1e-30 else n + m - 2
            covariance = float(ours @ self.background[cells[a]] + theirs @ self.background[cells[b]])
            yield PairMean(mean, square, pairs, a2 + b2 + 2 * shared, min(freedom, n + m - both - 1), covariance)

    def _same_texts(self, first: slice, second: slice) -> tuple[IntVector, IntVector]:
        groups = self.cells.groups
        return np.intersect1d(groups[first], groups[second], assume_unique=True, return_indices=True)[1:]

    def squares(self, labels: IntVector) -> Squares:
        """The sums over the `labels`, and over all."""
        d, k = self.units.shape[1], len(labels)
        sums = np.stack([self._sum(place.start, place.stop) for place in map(self._places, labels.tolist())])
        crossed, every = np.zeros((k, k)), 0.0
        others = np.flatnonzero(~np.isin(self.codes, labels))
        step = max(1, _OUTER_BYTES // (8 * (k + 1) * d))
        for start in range(0, d, step):
            columns = slice(start, min(start + step, d))
            outer = np.stack([self._outer(a, columns) for a in labels.tolist()])
            flat = outer.reshape(k, -1)
            crossed += flat @ flat.T
            summed = outer.sum(axis=0)
            for at in range(0, len(others), BLOCK):
                block = self._vectors(others[at : at + BLOCK])
                summed += block[:, columns].T @ block
            every += float(np.vdot(summed, summed))
        fourth = float(np.vdot(self.own, self.own))
        within = float(np.trace(crossed)) + self._own_squares(np.setdiff1d(np.arange(len(self.counts)), labels))
        return Squares(sums, sums @ sums.T, crossed, (within - fourth) / 2, (every - fourth) / 2)

    def _outer(self, a: int, columns: slice) -> NDArray[np.float64]:
        """Some rows of the sum of the outer products of a label."""
        outer = np.zeros((columns.stop - columns.start, self.units.shape[1]))
        place = self._places(a)
        for _, block in self._read(place.start, place.stop):
            outer += block[:, columns].T @ block
        return outer

    def _own_squares(self, labels: IntVector) -> float:
        """The squares within labels outside the table, vectors with themselves included: most labels are small."""
        d, counts = self.units.shape[1], self.counts
        alone = self.own[self.starts[labels[counts[labels] == 1]]]
        total = float(np.vdot(alone, alone))
        for a in labels[counts[labels] > 1].tolist():
            if counts[a] > d:
                table = self._outer(a, slice(0, d))
            else:
                block = self._vectors(self._places(a))
                table = block @ block.T
            total += float(np.vdot(table, table))
        return total


def _label_runs(starts: IntVector) -> Iterator[tuple[int, int]]:
    """Ranges of labels with up to BLOCK texts together, or one label with more."""
    first, labels = 0, len(starts) - 1
    while first < labels:
        last = max(int(np.searchsorted(starts, starts[first] + BLOCK, side="right")) - 1, first + 1)
        yield first, last
        first = last
