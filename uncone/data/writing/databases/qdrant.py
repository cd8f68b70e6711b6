"""Qdrant: a new collection of a server or of a local folder."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from uncone.data.vectors.databases.qdrant import client_of, is_server, messages
from uncone.data.vectors.databases.url import DatabaseUrl
from uncone.data.writing.databases.points import Point, PointTarget, check_new_folder
from uncone.data.writing.databases.target import refuse_existing
from uncone.data.writing.sinks import Plan
from uncone.errors import OutputError

__all__ = ["QdrantTarget"]

_DISTANCES = ("cosine", "dot", "euclid", "manhattan")
_POINTS = 512  # in a request


class QdrantTarget(PointTarget):
    """A new collection; `distance` is cosine, for which Qdrant scales every vector to length 1, or another."""

    package, extra = "qdrant_client", "qdrant"

    def __init__(self, url: DatabaseUrl) -> None:
        super().__init__(url)
        self.distance = url.choice("distance", *_DISTANCES)
        if self.distance == "cosine":
            self.note = "Qdrant stores the vectors of a collection with cosine distance at length 1."

    @property
    def _collection(self) -> str:
        return self.url.values["collection"]

    @cached_property
    def _client(self) -> Any:  # noqa: ANN401
        return client_of(self.url, OutputError, new=True)

    def check(self) -> None:
        self.url.check("collection", "column", "key", "distance")
        self.url.required("collection")
        if not is_server(self.url) and check_new_folder(self.url, Path(self.url.path) / "meta.json"):
            return
        with messages(self.url, OutputError):
            refuse_existing(self.name, self._client.collection_exists(self._collection))

    def id_of(self, value: Any) -> Any:  # noqa: ANN401
        """Whole numbers and UUIDs."""
        if isinstance(value, int) and not isinstance(value, bool):
            return value if 0 <= value < 1 << 64 else None
        try:
            return str(uuid.UUID(value))
        except (AttributeError, TypeError, ValueError):
            return None

    def create(self, plan: Plan) -> None:
        from qdrant_client.models import Distance, VectorParams

        space = VectorParams(size=plan.dim, distance=Distance[self.distance.upper()])
        column = self.url.values.get("column")
        with messages(self.url, OutputError):
            self._client.create_collection(self._collection, {column: space} if column else space)

    def add(self, points: Sequence[Point]) -> None:
        from qdrant_client.models import PointStruct

        column = self.url.values.get("column")
        structs = [
            PointStruct(id=id, vector={} if vector is None else {column: vector} if column else vector, payload=fields)
            for id, vector, fields in points
        ]
        with messages(self.url, OutputError):
            for start in range(0, len(structs), _POINTS):
                self._client.upsert(self._collection, structs[start : start + _POINTS])

    def count(self) -> int:
        with messages(self.url, OutputError):
            return int(self._client.count(self._collection, exact=True).count)

    def finish(self) -> None:
        """Nothing: Qdrant can't rename a collection."""

    def delete(self) -> None:
        with messages(self.url, OutputError):
            self._client.delete_collection(self._collection)
