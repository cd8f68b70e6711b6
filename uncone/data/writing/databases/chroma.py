"""Chroma: a new collection of a folder or of a server, which gets its name when it is whole."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from uncone.data.vectors.databases.chroma import DOCUMENT, client_of, messages
from uncone.data.writing.databases.points import Point, PointTarget, check_new_folder
from uncone.data.writing.databases.target import refuse_existing
from uncone.data.writing.sinks import Plan
from uncone.errors import OutputError

__all__ = ["ChromaTarget"]

_DISTANCES = {"cosine": "cosine", "dot": "ip", "euclid": "l2"}
_POINTS = 1024  # in a request


class ChromaTarget(PointTarget):
    """A new collection; `text` names the column that holds the documents."""

    package, extra = "chromadb", "chroma"

    @cached_property
    def _client(self) -> Any:  # noqa: ANN401
        return client_of(self.url, OutputError, new=True)

    @property
    def _part(self) -> str:
        """The name of the collection until it is whole."""
        return f"{self.url.values['collection']}.uncone-part"

    def check(self) -> None:
        self.url.check("collection", "text", "key", "distance")
        self.url.choice("distance", *_DISTANCES)
        name = self.url.required("collection")
        if check_new_folder(self.url, Path(self.url.path) / "chroma.sqlite3"):
            return
        with messages(self.url, OutputError):
            names = [each.name for each in self._client.list_collections()]
        refuse_existing(self.name, name in names)

    def id_of(self, value: Any) -> str | None:  # noqa: ANN401
        """Texts that are not empty, and numbers as texts."""
        return str(value) if isinstance(value, str | int) and str(value) else None

    def create(self, plan: Plan) -> None:
        space = _DISTANCES[self.url.choice("distance", *_DISTANCES)]
        with messages(self.url, OutputError):
            if self._part in [each.name for each in self._client.list_collections()]:
                self._client.delete_collection(self._part)  # of a run that was killed
            self.collection = self._client.create_collection(
                self._part, configuration={"hnsw": {"space": space}}, embedding_function=None
            )

    def add(self, points: Sequence[Point]) -> None:
        bad = next((id for id, vector, _ in points if vector is None), None)
        if bad is not None:
            raise OutputError(f"{self.name}: Chroma can't store the vector of {bad}, which is not all numbers. Fix it.")
        document = self.url.values.get("text", DOCUMENT)
        with messages(self.url, OutputError):
            for start in range(0, len(points), _POINTS):
                ids, vectors, fields = zip(*points[start : start + _POINTS], strict=True)
                documents = [None if (text := own.get(document)) is None else str(text) for own in fields]
                self.collection.add(
                    list(ids), list(vectors), [_metadata(own, document) for own in fields], documents=documents
                )

    def count(self) -> int:
        with messages(self.url, OutputError):
            return int(self.collection.count())

    def finish(self) -> None:
        with messages(self.url, OutputError):
            self.collection.modify(name=self.url.values["collection"])

    def delete(self) -> None:
        with messages(self.url, OutputError):
            self._client.delete_collection(self.collection.name)


def _metadata(fields: Mapping[str, Any], document: str) -> dict[str, Any] | None:
    """What Chroma keeps beside a document: plain values; others as JSON."""
    plain = {
        name: value if isinstance(value, str | int | float | bool) else json.dumps(value)
        for name, value in fields.items()
        if name != document and value is not None
    }
    return plain or None
