"""Sources of vector databases that hand over pages of points."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from copy import copy
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np

from uncone.data.source import Options, Rows, Source
from uncone.data.tables.read import ragged
from uncone.data.vectors.databases.url import DatabaseUrl
from uncone.errors import ColumnError, MissingSourceError, ShapeError

__all__ = ["ID", "Page", "PointVectors"]

R = TypeVar("R")
ID = "id"
"""The column of the ids of points; a field with that name becomes id_2."""

_RETRIES = 6  # of a page
_PAUSE = 0.1  # seconds before the first of them; each next pause is twice as long


class Page(NamedTuple):
    """Some points: their ids, vectors (None for a point without one) and payloads."""

    ids: Sequence[Any]
    vectors: Sequence[Any]
    payloads: Sequence[Mapping[str, Any]]


class PointVectors(Source):
    """Points with a vector and a payload each, whose `fields` may be texts and labels."""

    FIRST = 256
    """Points that are looked at for the names of fields."""
    column = ""
    """The name of the vectors; empty if they have none."""
    carries = False
    """Whether all fields and the ids are read too."""

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
    def pages(self, fields: Sequence[str] | None, *, vectors: bool = True) -> Iterator[Page]:
        """All points, with these fields of their payloads, or all of them."""

    @abstractmethod
    def messages(self) -> AbstractContextManager[None]:
        """Errors of the client as ours, in a line."""

    def tried(self, get: Callable[[], R]) -> R:
        """A page, asked for again if the connection breaks.

        Raises:
            MissingSourceError: it broke again and again.
        """
        for failures in range(_RETRIES):
            try:
                with self.messages():
                    return get()
            except MissingSourceError:
                time.sleep(_PAUSE * 2**failures)
        with self.messages():
            return get()

    def with_columns(self) -> Self:
        other = copy(self)
        other.carries = True
        return other

    def objects(self) -> Iterator[dict[str, Any]]:
        """The id and the payload of every point."""
        for page in self.pages(None, vectors=False):
            yield from self._objects(page)

    @staticmethod
    def _objects(page: Page) -> list[dict[str, Any]]:
        return [
            {ID: id, **{f"{ID}_2" if name == ID else name: value for name, value in payload.items()}}
            for id, payload in zip(page.ids, page.payloads, strict=True)
        ]

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Rows]:
        fields = None if self.carries else [name for name in (self.text, self.label) if name]
        first = 0
        for page in self.pages(fields):
            texts, labels = (self._strings(page.payloads, name) for name in (self.text, self.label))
            beside = self._objects(page) if self.carries else None
            yield Rows(self._matrix(page.vectors, first), texts, labels, beside)
            first += len(page.vectors)

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
