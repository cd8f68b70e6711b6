"""Cosines of sampled pairs of rows, by matrix products; every row is in equally many of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from uncone.analysis.intervals.intervals import effective_number
from uncone.data.batch import IntVector, Matrix, Vector
from uncone.run.threads import in_order
from uncone.stats.hashing import Hashes, copy_groups, fingerprints
from uncone.stats.row_sample import SampledRows

__all__ = ["BUCKETS", "Sampled", "Side", "joint_units", "row_units", "sample_pairs"]

BUCKETS = 200
"""The maximum number of buckets of sampling units, for the variance of a share: enough to know it to a tenth."""

_STEP = 1024

_Cosines = tuple[Vector, NDArray[np.uint8], NDArray[np.uint8]]


def row_units(n: int, copies: IntVector | None, documents: IntVector | None) -> IntVector:
    """The sampling unit of each of n rows (n,), which an interval deletes as a whole: copies, or a document.

    Documents that share a copy are one unit. If copies, such as a footer of every document, would link most rows, then
    copies in several documents are separate units instead.

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


def _numbered(keys: NDArray[np.generic]) -> IntVector:
    """Numbers from 0 on, in the order in which each key first appears."""
    _, first, place = np.unique(keys, return_index=True, return_inverse=True)
    number = np.empty(len(first), np.int64)
    number[np.argsort(first)] = np.arange(len(first))
    return np.asarray(number[place])


@dataclass(frozen=True)
class Side:
    """Rows in random order as deviations z from the mean unit vector of their side.

    The cosine of a row of one side and a row of another is m.m' + z.m' + m.z' + z.z': with two more columns one product
    gives all but the first term, in float32, and a tight cone keeps its digits.
    """

    units: Matrix
    """(m, d + 2): z, z.m' and 1, where m' is the mean of the other side."""
    unit: IntVector
    """The sampling unit of each row (m,): copies share one, and so do rows of a document."""
    marks: tuple[NDArray[np.generic], ...] = ()
    """What two rows must not share: their bits, their document."""
    copies: IntVector | None = None
    """The group of copies that each row belongs to (m,); None when all rows differ."""
    buckets: NDArray[np.uint8] = field(init=False)
    """The bucket of each row: units are dealt in turn, so few units have a bucket each."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "buckets", (self.unit % BUCKETS).astype(np.uint8))

    @classmethod
    def of(cls, rows: SampledRows, mean: Vector, other_mean: Vector, groups: IntVector | None = None) -> Side:
        """The sampled rows of a side; `groups` are the documents of all rows of the source."""
        order = rows.order
        m, d = rows.n, len(mean)
        units = np.empty((m, d + 2), np.float32)
        prints: Hashes = np.empty(m, np.uint64)

        def fill(part: slice) -> None:
            vectors = rows.vectors_at(order[part])
            prints[part] = fingerprints(vectors)
            deviations = vectors.astype(np.float64)
            deviations /= np.sqrt(np.vecdot(deviations, deviations))[:, None]
            deviations -= mean
            units[part, :d] = deviations
            units[part, d] = deviations @ other_mean

        for _ in in_order(fill, _steps(0, m)):
            pass
        units[:, d + 1] = 1.0
        copies = copy_groups(prints)
        documents = None if groups is None else groups[rows.rows[order]]
        marks = (prints,) if documents is None else (prints, documents)
        return cls(units, row_units(m, copies, documents), marks, copies)

    @property
    def n(self) -> int:
        """Rows."""
        return len(self.units)

    @property
    def effective(self) -> float:
        """The number of sampling units; fewer where some hold many rows more than others."""
        return effective_number(self.unit)

    @property
    def is_grouped(self) -> bool:
        """Whether some sampling unit holds several rows."""
        return int(self.unit.max(initial=-1)) + 1 < self.n

    def shares_rows(self, other: Side) -> bool:
        """Whether a row of the other side is a copy of one of this side."""
        return bool(np.isin(self.marks[0], other.marks[0]).any())

    def joined(self, other: Side) -> tuple[Side, Side]:
        """Both sides, with the same sampling unit for rows that are copies of each other."""
        ours, theirs = joint_units(self.marks[0], other.marks[0])
        return replace(self, unit=ours), replace(other, unit=theirs)

    def right(self, rows: slice) -> Matrix:
        """The rows for the right side of a product: the last two columns change places."""
        units = self.units[rows].copy()
        units[:, -2:] = units[:, :-3:-1]
        return units


@dataclass(frozen=True)
class Sampled:
    """The deviations of some cosines from `base`: of `total` pairs, those of at least a floor.

    `first` and `second` are the buckets of the two rows of each; `touched` counts, per bucket, the pairs that its rows
    stand in: (buckets,) where both rows count (one side, or two that share rows), or (2, buckets). A pair of distinct
    vectors stands `repeats` times among them: once without copies.
    """

    base: float
    total: int
    values: Vector
    first: NDArray[np.uint8]
    second: NDArray[np.uint8]
    touched: NDArray[np.float64]
    repeats: float = 1.0

    @property
    def distinct(self) -> float:
        """The approximate number of pairs of distinct vectors."""
        return self.total / self.repeats


def sample_pairs(side: Side, other: Side | None, base: float, pairs: int, floor: float = -np.inf) -> Sampled:
    """About `pairs` pairs of rows of one side, or of two, with the cosines that deviate by `floor` or more."""
    compared = _may_match(side, other)
    blocks = list(_design(side.n, None if other is None else other.n, pairs))
    touched, values = np.zeros((2, BUCKETS)), []

    def work(bundle: Sequence[tuple[slice, slice, bool]]) -> list[tuple[_Cosines, NDArray[np.float64]]]:
        return [_block(side, other or side, *block, floor, compared) for block in bundle]

    for some in in_order(work, _bundled(blocks)):
        for cosines, ends in some:
            values.append(cosines)
            touched += ends
    total = round(float(touched[0].sum()))
    flat, first, second = (np.concatenate(part) for part in zip(*values, strict=True))
    together = other is None or bool(compared)
    ends = touched.sum(axis=0) if together else touched
    return Sampled(base, total, flat, first, second, ends, _repeats(side, other, total, bool(compared)))


def _repeats(side: Side, other: Side | None, total: int, shared: bool) -> float:
    """How often a sampled pair of distinct vectors is in the sample, on average.

    A share f of all pairs of rows was sampled. So of the other w w' - 1 pairs of rows that hold the same two vectors, w
    and w' times, f (w w' - 1) were sampled too. With `shared` rows the two sides hold copies of each other.
    """
    if side.copies is None and (other is None or (other.copies is None and not shared)):
        return 1.0
    if other is None:
        w = _sizes(side)
        possible, every = (side.n**2 - (w**2).sum()) / 2, ((w**2).sum() ** 2 - (w**4).sum()) / 2
    elif shared:
        places = joint_units(side.marks[0], other.marks[0])
        largest = 1 + max(int(place.max()) for place in places)
        w, v = (np.bincount(place, minlength=largest).astype(np.float64) for place in places)
        possible = side.n * other.n - w @ v
        every = (w**2).sum() * (v**2).sum() + (w @ v) ** 2 - 2 * (w**2) @ (v**2)
    else:
        possible, every = side.n * other.n, (_sizes(side) ** 2).sum() * (_sizes(other) ** 2).sum()
    if possible <= 0:
        return 1.0
    return float(max(1 + total / possible * (every / possible - 1), 1.0))


def _sizes(side: Side) -> NDArray[np.float64]:
    """The number of rows in each group of copies."""
    return np.ones(side.n) if side.copies is None else np.bincount(side.copies).astype(np.float64)


def _block(
    side: Side, other: Side, rows: slice, partners: slice, square: bool, floor: float, compared: Sequence[int]
) -> tuple[_Cosines, NDArray[np.float64]]:
    """The cosines of one block with the buckets of their rows, and the number of pairs of each bucket."""
    product = side.units[rows] @ other.right(partners).T
    ends = [
        np.bincount(buckets, weights=count, minlength=BUCKETS)
        for buckets, count in _ends(side, other, rows, partners, square, compared)
    ]
    if not (square or compared or np.isfinite(floor)):
        first = np.repeat(side.buckets[rows], product.shape[1])
        return (product.ravel(), first, np.tile(other.buckets[partners], len(product))), np.stack(ends)
    places = np.flatnonzero(product >= floor)
    i, j = np.divmod(places, product.shape[1])
    i += rows.start
    j += partners.start
    unrelated = j > i if square else np.ones(len(places), np.bool_)
    for k in compared:
        unrelated &= side.marks[k][i] != other.marks[k][j]
    return (product.ravel()[places[unrelated]], side.buckets[i[unrelated]], other.buckets[j[unrelated]]), np.stack(ends)


def _design(m: int, other: int | None, pairs: int) -> Iterator[tuple[slice, slice, bool]]:
    """Blocks of rows and of their partners; whether both are the same rows, of which only the upper triangle counts.

    Every pair when there are few; else the rows in a circle of equal parts, each with the next. Rows beyond the last
    whole part are left out: they are in random order.
    """
    several = m if other is None else other
    possible = m * (m - 1) // 2 if other is None else m * several
    if possible <= 2 * pairs:
        for rows in _steps(0, m):
            for partners in _steps(rows.start if other is None else 0, several):
                yield rows, partners, other is None and rows == partners
        return
    parts = min(m, several) // max(pairs // max(m, several), 1)
    size, other_size = m // parts, several // parts
    for part in range(parts):
        partner = (part + 1) % parts
        for rows in _steps(part * size, (part + 1) * size):
            for partners in _steps(partner * other_size, (partner + 1) * other_size):
                yield rows, partners, False


def _bundled(blocks: Sequence[tuple[slice, slice, bool]]) -> Iterator[Sequence[tuple[slice, slice, bool]]]:
    """Blocks for a thread, small ones by the dozen."""
    rows, partners, _ = blocks[0]
    several = max(1, _STEP**2 // (8 * (rows.stop - rows.start) * (partners.stop - partners.start)))
    for start in range(0, len(blocks), several):
        yield blocks[start : start + several]


def _steps(start: int, stop: int) -> Iterator[slice]:
    for first in range(start, stop, _STEP):
        yield slice(first, min(first + _STEP, stop))


def _may_match(side: Side, other: Side | None) -> list[int]:
    """The marks that have to be compared: bits only if some rows are copies."""
    if other is None:
        return [k for k, marks in enumerate(side.marks) if len(np.unique(marks)) < len(marks)]
    both = min(len(side.marks), len(other.marks))
    return [k for k in range(both) if len(np.intersect1d(side.marks[k], other.marks[k]))]


def _ends(
    side: Side, other: Side, rows: slice, partners: slice, square: bool, compared: Sequence[int]
) -> list[tuple[NDArray[np.uint8], NDArray[np.float64]]]:
    """The buckets of the rows and of their partners, and the number of pairs of each row in this block."""
    n, m = rows.stop - rows.start, partners.stop - partners.start
    counts = [np.full(n, float(m)), np.full(m, float(n))]
    if compared:
        match = np.zeros((n, m), np.bool_)
        for k in compared:
            match |= side.marks[k][rows, None] == other.marks[k][None, partners]
        counts[0] -= match.sum(axis=1)
        counts[1] -= match.sum(axis=0)
    elif square:
        counts = [count - 1 for count in counts]
    if square:  # each pair is there twice, and no row with itself
        counts = [count / 2 for count in counts]
    return [(side.buckets[rows], counts[0]), (other.buckets[partners], counts[1])]
