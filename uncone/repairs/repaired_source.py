"""A source seen through a repair: what the next step of a chain is fitted on."""

from __future__ import annotations

from collections.abc import Iterator

from uncone.data.source import BLOCK, Rows, Source, regrid
from uncone.repairs.repair import Repair

__all__ = ["Mapped"]


class Mapped(Source):
    """The rows of a source, repaired as they are read; texts and labels stay with them."""

    def __init__(self, source: Source, repair: Repair) -> None:
        self.name, self.kind, self.note = source.name, source.kind, source.note
        self.dtype = "float64" if source.dtype == "float64" else "float32"
        self.dim, self.rows = repair._n_features_out, source.rows
        self.random_access, self.rereadable = source.random_access, source.rereadable
        self.source, self.repair = source, repair

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Rows]:
        """The repaired rows from start to stop."""
        # In the blocks that a file is written in, so that both have the same digits.
        for rows in regrid(self.source.read(start, stop), BLOCK):
            yield Rows(self.repair.map(rows.vectors), rows.texts, rows.labels)
