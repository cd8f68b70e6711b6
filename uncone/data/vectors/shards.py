"""Many files as one source: a folder or a glob of shards of one kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from uncone.data.source import Rows, Source
from uncone.errors import ShapeError

__all__ = ["Shards"]


class Shards(Source):
    """Files that follow each other; all have the same dimensions."""

    def __init__(self, parts: Sequence[Source], name: str) -> None:
        first = parts[0]
        for part in parts:
            if part.dim != first.dim:
                raise ShapeError(
                    f"Shards differ: {part.name} has {part.dim} dimensions, {first.name} has {first.dim}. "
                    "Were they written with the same encoder?"
                )
        self.parts = parts
        self.name = f"{name} ({len(parts)} files)"
        self.kind, self.dtype, self.dim = first.kind, first.dtype, first.dim
        known = [part.rows for part in parts if part.rows is not None]
        self.rows = sum(known) if len(known) == len(parts) else None
        self.random_access = all(part.random_access for part in parts)

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Rows]:
        if not self.random_access:
            for part in self.parts:
                yield from part.read()
            return
        first, stop = 0, self.rows or 0 if stop is None else stop
        for part in self.parts:
            last = first + (part.rows or 0)
            if first < stop and start < last:
                yield from part.read(max(start - first, 0), min(stop, last) - first)
            first = last
