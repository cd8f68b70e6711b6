"""Batches: usable vectors with what is known of each, the one value that flows through uncone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from uncone.data.bags import Bags, run_starts
from uncone.data.lazy_property import once

__all__ = ["Batch", "Groups", "IntVector", "Keys", "Matrix", "Vector", "batch_rows"]

Matrix = NDArray[np.floating[Any]]
Vector = NDArray[np.floating[Any]]
IntVector = NDArray[np.int64]

_NUMBERS = 1 << 19
"""Numbers of a batch, about: it stays in a core's cache while all statistics look at it."""

_MOST = {4: 1e32, 8: 1e70}
"""Squared norms, by bytes per number, beyond which sums of products would overflow."""


def batch_rows(dim: int) -> int:
    """Rows of a batch, a power of two from 512 to 2048; batches lie on this grid however the files are cut.

    >>> batch_rows(768), batch_rows(384), batch_rows(2)
    (512, 1024, 2048)
    """
    return min(1 << max((_NUMBERS // dim).bit_length() - 1, 9), 2048)


class Groups(NamedTuple):
    """The groups of a batch: names in order, sampling units, sizes, and the sums of x and of x/|x| in each."""

    names: IntVector
    units: IntVector
    sizes: IntVector
    sums: Matrix
    unit_sums: Matrix


class GroupBags(NamedTuple):
    """The rows of each group, its name, sampling unit and size; the groups are in the order of their names."""

    bags: Bags
    names: IntVector
    units: IntVector
    sizes: IntVector


class WordBags(NamedTuple):
    """The rows of each known word, and the numbers of the words in order.

    A pair is a word and a group: `first` is the pair each word begins with, `pair_sizes` the rows of every pair and
    `pair_rows` its first row; the pairs of two rows or more are `several`, and their rows `several_bags`.
    """

    bags: Bags
    words: IntVector
    first: IntVector
    pair_sizes: IntVector
    pair_rows: IntVector
    pair_bags: Bags
    several: IntVector
    several_bags: Bags


@dataclass(frozen=True)
class Keys:
    """Which rows belong together: the group and the word of each. The layers of a model share one, and its orders.

    `units` is the same for the rows of identical texts: they are one sampling unit; `origins` for the same word of
    identical texts. Where texts repeat, `copies` says how many identical ones there are, and `distinct` numbers the
    rows of the first of them, as if there were no others; -1 for the others. `open`: the groups go on in later batches,
    until the statistics are closed.
    """

    groups: IntVector | None = None
    words: IntVector | None = None
    units: IntVector | None = None
    copies: IntVector | None = None
    origins: IntVector | None = None
    distinct: IntVector | None = None
    open: bool = False

    @once
    def group_bags(self) -> GroupBags:
        """The rows by group."""
        assert self.groups is not None
        return _group_bags(self.groups, self.units)

    @once
    def word_bags(self) -> WordBags:
        """The rows by word, and within a word by group."""
        assert self.words is not None
        places = np.flatnonzero(self.words >= 0)
        groups = np.arange(len(self.words)) if self.groups is None else self.groups
        order = places[np.lexsort((groups[places], self.words[places]))]
        words = self.words[order]
        starts = run_starts(words, groups[order])
        first = run_starts(words[starts])
        pairs = Bags(order, starts)
        of_words = Bags(order, starts[first])
        return WordBags(of_words, words[starts][first], first, pairs.sizes, order[starts], pairs, *pairs.of_several())

    def where(self, places: IntVector) -> Keys:
        """Those of some rows."""
        columns = (self.groups, self.words, self.units, self.copies, self.origins, self.distinct)
        groups, words, units, copies, origins, distinct = (None if part is None else part[places] for part in columns)
        return Keys(groups, words, units, copies, origins, distinct, self.open)


@dataclass(frozen=True)
class Batch:
    """Usable rows `vectors` (n, d): finite, not zero; `rows` are their numbers in the source.

    `keys` tell which rows belong together: the words of a sentence, the occurrences of a word.

    `Batch.of` is the door: it leaves unusable rows out and remembers which, so that
    nobody downstream has to look again.
    """

    vectors: Matrix
    norms: Vector
    rows: IntVector
    texts: Sequence[str] | None = None
    labels: Sequence[str] | None = None
    keys: Keys = field(default_factory=Keys)
    bad: IntVector = field(default_factory=lambda: np.empty(0, np.int64))
    zero: IntVector = field(default_factory=lambda: np.empty(0, np.int64))

    @classmethod
    def of(
        cls,
        vectors: Matrix,
        *,
        first_row: int = 0,
        rows: IntVector | None = None,
        texts: Sequence[str] | None = None,
        labels: Sequence[str] | None = None,
        groups: IntVector | None = None,
        words: IntVector | None = None,
        keys: Keys | None = None,
    ) -> Batch:
        """Take an (n, d) float32 or float64 block of rows with these numbers, or numbered from `first_row` on.

        >>> batch = Batch.of(np.array([[3.0, 4.0], [0.0, 0.0], [np.nan, 1.0]]))
        >>> batch.vectors.tolist(), batch.zero.tolist(), batch.bad.tolist()
        ([[3.0, 4.0]], [1], [2])
        """
        keys = keys or Keys(groups, words)
        if rows is None:
            rows = np.arange(first_row, first_row + len(vectors), dtype=np.int64)
        with np.errstate(over="ignore", invalid="ignore"):
            # A dot product per row: unlike a matrix product, it gives a copy of a row the same digits anywhere.
            squared = np.vecdot(vectors, vectors)
        # A square under the smallest normal number has lost its digits: such a norm counts as zero.
        tiny, most = np.finfo(vectors.dtype).tiny, _MOST[vectors.dtype.itemsize]
        bad = ~(squared <= most)
        usable = ~bad & (squared >= tiny)
        if usable.all():
            return cls(vectors, np.sqrt(squared), rows, texts, labels, keys)
        with np.errstate(over="ignore", invalid="ignore"):
            whole = cls(vectors, np.sqrt(squared), rows, texts, labels, keys)
        return replace(whole.where(usable), bad=rows[bad], zero=rows[~bad & ~usable])

    @property
    def without_copies(self) -> Batch:
        """The rows of texts that are not copies of one before."""
        distinct = self.keys.distinct
        return self if distinct is None or (distinct >= 0).all() else self.where(distinct >= 0)

    @property
    def distinct_rows(self) -> IntVector:
        """The numbers that the rows would have without copies of texts."""
        return self.rows if self.keys.distinct is None else self.keys.distinct

    def where(self, mask: NDArray[np.bool_]) -> Batch:
        """Only these rows."""
        places = np.flatnonzero(mask)
        return Batch(
            self.vectors[places],
            self.norms[places],
            self.rows[places],
            None if self.texts is None else [self.texts[i] for i in places.tolist()],
            None if self.labels is None else [self.labels[i] for i in places.tolist()],
            self.keys.where(places),
            self.bad,
            self.zero,
        )

    @once
    def inverse_norms(self) -> Vector:
        """1/|x| of every row, in the precision of the rows."""
        return (1.0 / self.norms).astype(self.vectors.dtype)

    @once
    def grouped(self) -> Groups:
        """The sums of each group; a row without a group is a group of one."""
        bags, names, units, sizes = self.keys.group_bags if self.groups is not None else _group_bags(self.rows)
        return Groups(names, units, sizes, *bags.both_sums(self.vectors, self.inverse_norms))

    @property
    def groups(self) -> IntVector | None:
        """The group of every row."""
        return self.keys.groups

    @property
    def units(self) -> IntVector | None:
        """The sampling unit of every row: its group, or what identical groups share."""
        return self.groups if self.keys.units is None else self.keys.units

    @property
    def words(self) -> IntVector | None:
        """The word of every row."""
        return self.keys.words

    @property
    def n(self) -> int:
        """Usable rows."""
        return len(self.vectors)

    @property
    def dim(self) -> int:
        """Dimensions."""
        return int(self.vectors.shape[1])

    @property
    def n_read(self) -> int:
        """Rows of the source that went into this batch, usable or not."""
        return self.n + len(self.bad) + len(self.zero)


def _group_bags(groups: IntVector, units: IntVector | None = None) -> GroupBags:
    order = np.arange(len(groups)) if (groups[1:] >= groups[:-1]).all() else np.argsort(groups, kind="stable")
    groups = groups[order]
    starts = run_starts(groups)
    bags = Bags(order, starts)
    names = groups[starts]
    return GroupBags(bags, names, names if units is None else units[order[starts]], bags.sizes)
