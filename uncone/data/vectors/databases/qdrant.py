"""Qdrant: a collection of a server or of a local folder, `qdrant://host:6333?collection=docs`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from uncone.data.source import Options, Source
from uncone.data.vectors.arrow import pick_column
from uncone.data.vectors.databases.points import Page, PointVectors
from uncone.data.vectors.databases.url import DatabaseUrl
from uncone.errors import MissingSourceError, require

__all__ = ["open_qdrant"]

_PAGE = 1024
_SECONDS = 30
_UNNAMED = ""


def open_qdrant(url: DatabaseUrl, options: Options) -> Source:
    """The points of a collection. The key is the password of the URL, or $QDRANT_API_KEY."""
    require("qdrant_client", extra="qdrant")
    url.check("collection", "column", "text", "label")
    client = _client(url)
    with _messages(url):
        collections = [each.name for each in client.get_collections().collections]
        name = url.required("collection", ", ".join(collections))
        if name not in collections:
            raise MissingSourceError(
                f"{url.name}: there is no collection {name!r}. There is {', '.join(collections) or 'none'}."
            )
        spaces = client.get_collection(name).config.params.vectors
        rows = int(client.count(name, exact=True).count)
        first, _ = client.scroll(name, limit=PointVectors.FIRST, with_payload=True)
    spaces = spaces if isinstance(spaces, dict) else {_UNNAMED: spaces}
    column = pick_column(url.name, url.columns(options).column, list(spaces), list(spaces))
    fields = {key for point in first for key in point.payload or {}}
    vectors = _QdrantVectors(url, options, rows, int(spaces[column].size), fields)
    vectors.client, vectors.collection, vectors.column = client, name, column
    if spaces[column].distance.value == "Cosine":
        vectors.unit_length = True
        vectors.note = "the collection has cosine distance, so Qdrant stored every vector at length 1"
    return vectors


class _QdrantVectors(PointVectors):
    client: Any
    collection: str
    column: str

    def pages(self, fields: Sequence[str]) -> Iterator[Page]:
        offset, names = None, [self.column] if self.column else True
        while True:
            with _messages(self.url):
                points, offset = self.client.scroll(
                    self.collection, limit=_PAGE, offset=offset, with_vectors=names, with_payload=list(fields) or False
                )
            if points:
                yield [self._vector(point.vector) for point in points], [point.payload or {} for point in points]
            if offset is None:
                return

    def _vector(self, vector: Any) -> Any:  # noqa: ANN401 - a list, or a list by name
        return vector.get(self.column) if isinstance(vector, dict) else vector


def _client(url: DatabaseUrl) -> Any:  # noqa: ANN401
    import warnings

    from qdrant_client import QdrantClient

    with _messages(url), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a key without TLS, and of versions
        if url.port is None and Path(url.path).is_dir():
            return QdrantClient(path=url.path)
        if not url.host:
            raise MissingSourceError(f"There is no folder {url.path} of Qdrant. Check the path, or name host:port.")
        key = url.password or os.environ.get("QDRANT_API_KEY")
        return QdrantClient(
            url=f"{'https' if 'https=1' in url.base else 'http'}://{url.host}:{url.port or 6333}",
            api_key=key,
            timeout=_SECONDS,
            check_compatibility=False,
        )


@contextmanager
def _messages(url: DatabaseUrl) -> Iterator[None]:
    """Errors of the client as ours, in a line."""
    from qdrant_client.http.exceptions import ApiException

    try:
        yield
    except (ApiException, OSError, RuntimeError) as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise MissingSourceError(f"{url.name} can't be read ({reason}). Check the address and the key.") from error
