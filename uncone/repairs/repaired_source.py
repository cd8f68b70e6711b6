"""A source seen through a repair: what the next step of a chain is fitted on."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from uncone.data.source import BLOCK, Rows, Source, regrid
from uncone.repairs.repair import Repair

__all__ = ["Mapped"]


class Mapped(Source):
    """The rows of a source, repaired as they are read; texts and labels stay with them.

    With `copies` products are in double precision and then rounded to single, so that equal rows stay equal: some
    kernels round a row by its place in the block.
    """

    def __init__(self, source: Source, repair: Repair, *, copies: bool = False) -> None:
        self.name, self.kind, self.note = source.name, source.kind, source.note
        self.dtype = "float64" if source.dtype == "float64" and not copies else "float32"
        self.dim, self.rows = repair._n_features_out, source.rows
        self.random_access, self.rereadable = source.random_access, source.rereadable
        self.source, self.repair, self.copies = source, repair, copies

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Rows]:
        """The repaired rows from start to stop."""
        # In the blocks that a file is written in: what a product makes of a row may depend on its place.
        for rows in regrid(self.source.read(start, stop), BLOCK):
            vectors = rows.vectors.astype(np.float64) if self.copies else rows.vectors
            mapped = self.repair.map(vectors)
            yield Rows(mapped.astype(self.dtype) if self.copies else mapped, rows.texts, rows.labels)
