"""The one value that flows: a batch of usable rows with what is known of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["CUT", "Batch", "IntVector", "Matrix", "Vector"]

Matrix = NDArray[np.floating[Any]]
Vector = NDArray[np.floating[Any]]
IntVector = NDArray[np.int64]

CUT = 512
"""The global grid: row i always stands in batch i // CUT, however the files are cut.

At 768 dimensions such a batch stays in a core's cache while all statistics look at it."""

_MOST = {4: 1e32, 8: 1e70}
"""Squared norms, by bytes per number, beyond which sums of products would overflow."""


@dataclass(frozen=True)
class Batch:
    """Usable rows `vectors` (n, d): finite, not zero; `rows` are their numbers in the source.

    `Batch.of` is the door: it leaves unusable rows out and remembers which, so that
    nobody downstream has to look again.
    """

    vectors: Matrix
    norms: Vector
    rows: IntVector
    texts: Sequence[str] | None = None
    labels: Sequence[str] | None = None
    groups: IntVector | None = None
    bad: IntVector = field(default_factory=lambda: np.empty(0, np.int64))
    zero: IntVector = field(default_factory=lambda: np.empty(0, np.int64))

    @classmethod
    def of(
        cls,
        vectors: Matrix,
        *,
        first_row: int = 0,
        texts: Sequence[str] | None = None,
        labels: Sequence[str] | None = None,
        groups: IntVector | None = None,
    ) -> Batch:
        """Take an (n, d) float32 or float64 block whose first row is number `first_row`.

        >>> batch = Batch.of(np.array([[3.0, 4.0], [0.0, 0.0], [np.nan, 1.0]]))
        >>> batch.vectors.tolist(), batch.zero.tolist(), batch.bad.tolist()
        ([[3.0, 4.0]], [1], [2])
        """
        rows = np.arange(first_row, first_row + len(vectors), dtype=np.int64)
        with np.errstate(over="ignore", invalid="ignore"):
            # A dot product per row: unlike a matrix product, it gives a copy of a row the same digits anywhere.
            squared = np.vecdot(vectors, vectors)
        # A square under the smallest normal number has lost its digits: such a norm counts as zero.
        tiny, most = np.finfo(vectors.dtype).tiny, _MOST[vectors.dtype.itemsize]
        bad = ~(squared <= most)
        usable = ~bad & (squared >= tiny)
        if usable.all():
            return cls(vectors, np.sqrt(squared), rows, texts, labels, groups)
        kept = np.flatnonzero(usable).tolist()
        return cls(
            vectors[kept],
            np.sqrt(squared[kept]),
            rows[kept],
            None if texts is None else [texts[i] for i in kept],
            None if labels is None else [labels[i] for i in kept],
            None if groups is None else groups[kept],
            bad=rows[bad],
            zero=rows[~bad & ~usable],
        )

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
