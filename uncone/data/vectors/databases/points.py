"""Sources of vector databases that hand over pages of points."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from uncone.data.source import Options, Rows, Source
from uncone.data.tables.read import ragged
from uncone.data.vectors.databases.url import DatabaseUrl
from uncone.errors import ColumnError, ShapeError

__all__ = ["Page", "PointVectors"]

Page = tuple[Sequence[Any], Sequence[Mapping[str, Any]]]
"""The vectors of some points, None for a point without one, and their payloads."""


class PointVectors(Source):
    """Points with a vector and a payload each, whose `fields` may be texts and labels."""

    FIRST = 256
    """Points that are looked at for the names of fields."""

    def __init__(self, url: DatabaseUrl, options: Options, rows: int, dim: int, fields: Collection[str]) -> None:
        self.url, self.kind, self.dtype = url, url.scheme, "float32"
        self.name = url.name
        options = url.columns(options)
        self.text, self.label = options.text, options.label
        self.rows, self.dim = rows, dim
        if not rows:
            raise ShapeError(f"{url.name} has no points. We need at least 2.")
        for name in filter(None, (self.text, self.label)):
            if name not in fields:
                listed = ", ".join(sorted(fields)) or "none"
                raise ColumnError(f"{self.name} has no field {name!r} in its first points. Their fields: {listed}.")

    @abstractmethod
    def pages(self, fields: Sequence[str]) -> Iterator[Page]:
        """All points, with these fields of their payloads."""

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Rows]:
        fields, first = [name for name in (self.text, self.label) if name], 0
        for vectors, payloads in self.pages(fields):
            yield Rows(
                self._matrix(vectors, first), *(self._strings(payloads, name) for name in (self.text, self.label))
            )
            first += len(vectors)

    def _matrix(self, vectors: Sequence[Any], first: int) -> np.ndarray[Any, np.dtype[np.float32]]:
        matrix = np.full((len(vectors), self.dim), np.nan, np.float32)
        for at, vector in enumerate(vectors):
            if vector is None:
                continue
            if len(vector) != self.dim:
                raise ragged(self.name, f"point {first + at:,}", f"{len(vector)} numbers", self.dim)
            matrix[at] = vector
        return matrix

    @staticmethod
    def _strings(payloads: Sequence[Mapping[str, Any]], name: str | None) -> list[str] | None:
        if name is None:
            return None
        return ["" if payload.get(name) is None else str(payload[name]) for payload in payloads]
