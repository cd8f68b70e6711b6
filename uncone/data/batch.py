"""The one value that flows: a batch of usable rows with what is known of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from uncone.data.runs import run_starts, run_sums

__all__ = ["CUT", "Batch", "Groups", "IntVector", "Matrix", "Vector"]

Matrix = NDArray[np.floating[Any]]
Vector = NDArray[np.floating[Any]]
IntVector = NDArray[np.int64]

CUT = 512
"""The global grid: row i always stands in batch i // CUT, however the files are cut.

At 768 dimensions such a batch stays in a core's cache while all statistics look at it."""

_MOST = {4: 1e32, 8: 1e70}
"""Squared norms, by bytes per number, beyond which sums of products would overflow."""


class Groups(NamedTuple):
    """The groups of a batch: their names in order, their sizes, and the sums of x and of x/|x| in each."""

    names: IntVector
    sizes: IntVector
    sums: Matrix
    unit_sums: Matrix


@dataclass(frozen=True)
class Batch:
    """Usable rows `vectors` (n, d): finite, not zero; `rows` are their numbers in the source.

    `groups` tells which rows belong together (the words of a sentence) and come one after another; `words` which
    word of a table a row is an occurrence of.

    `Batch.of` is the door: it leaves unusable rows out and remembers which, so that
    nobody downstream has to look again.
    """

    vectors: Matrix
    norms: Vector
    rows: IntVector
    texts: Sequence[str] | None = None
    labels: Sequence[str] | None = None
    groups: IntVector | None = None
    words: IntVector | None = None
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
    ) -> Batch:
        """Take an (n, d) float32 or float64 block of rows with these numbers, or numbered from `first_row` on.

        >>> batch = Batch.of(np.array([[3.0, 4.0], [0.0, 0.0], [np.nan, 1.0]]))
        >>> batch.vectors.tolist(), batch.zero.tolist(), batch.bad.tolist()
        ([[3.0, 4.0]], [1], [2])
        """
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
            return cls(vectors, np.sqrt(squared), rows, texts, labels, groups, words)
        with np.errstate(over="ignore", invalid="ignore"):
            whole = cls(vectors, np.sqrt(squared), rows, texts, labels, groups, words)
        return replace(whole.where(usable), bad=rows[bad], zero=rows[~bad & ~usable])

    def where(self, chosen: NDArray[np.bool_]) -> Batch:
        """Only these rows."""
        kept = np.flatnonzero(chosen)
        return Batch(
            self.vectors[kept],
            self.norms[kept],
            self.rows[kept],
            None if self.texts is None else [self.texts[i] for i in kept.tolist()],
            None if self.labels is None else [self.labels[i] for i in kept.tolist()],
            None if self.groups is None else self.groups[kept],
            None if self.words is None else self.words[kept],
            self.bad,
            self.zero,
        )

    @cached_property
    def units(self) -> Matrix:
        """The rows at length one (n, d)."""
        return self.vectors * (1.0 / self.norms[:, None]).astype(self.vectors.dtype)

    @cached_property
    def grouped(self) -> Groups:
        """The sums of each group; a row without a group is a group of one."""
        groups = self.rows if self.groups is None else self.groups
        order = None if (groups[1:] >= groups[:-1]).all() else np.argsort(groups, kind="stable")
        groups = groups if order is None else groups[order]
        first = run_starts(groups)
        sums, unit_sums = (run_sums(one, first, order) for one in (self.vectors, self.units))
        return Groups(groups[first], np.diff(np.append(first, len(groups))), sums, unit_sums)

    @property
    def n(self) -> int:
        """Usable rows."""
        return len(self.vectors)

    @property
    def dim(self) -> int:
        """Dimensions."""
        return int(self.vectors.shape[1])

    @property
    def seen(self) -> int:
        """Rows of the source that went into this batch, usable or not."""
        return self.n + len(self.bad) + len(self.zero)
