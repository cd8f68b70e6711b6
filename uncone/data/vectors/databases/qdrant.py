"""Qdrant: a collection of a server or of a local folder, `qdrant://host:6333?collection=docs`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from uncone.data.source import Options, Source
from uncone.data.vectors.arrow import pick_column
from uncone.data.vectors.databases.points import Page, PointVectors
from uncone.data.vectors.databases.url import DatabaseUrl
from uncone.errors import MissingSourceError, UnconeError, require

__all__ = ["client_of", "is_server", "messages", "open_qdrant"]

_PAGE = 1024
_SECONDS = 30
_UNNAMED = ""


def open_qdrant(url: DatabaseUrl, options: Options) -> Source:
    """The points of a collection. The key is the password of the URL, or $QDRANT_API_KEY."""
    require("qdrant_client", extra="qdrant")
    url.check("collection", "column", "text", "label")
    client = client_of(url)
    with messages(url):
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

    def pages(self, fields: Sequence[str] | None, *, vectors: bool = True) -> Iterator[Page]:
        offset, names = None, ([self.column] if self.column else True) if vectors else False
        payload = True if fields is None else list(fields) or False
        while True:
            scroll = partial(self.client.scroll, limit=_PAGE, offset=offset, with_vectors=names, with_payload=payload)
            points, offset = self.tried(partial(scroll, self.collection))
            if points:
                payloads = [point.payload or {} for point in points]
                yield Page([point.id for point in points], [self._vector(point.vector) for point in points], payloads)
            if offset is None:
                return

    def messages(self) -> AbstractContextManager[None]:
        return messages(self.url)

    def _vector(self, vector: Any) -> Any:  # noqa: ANN401 - a list, or a list by name
        return vector.get(self.column) if isinstance(vector, dict) else vector


def client_of(url: DatabaseUrl, failure: type[UnconeError] = MissingSourceError, *, new: bool = False) -> Any:  # noqa: ANN401
    """A client of a server, or of a local folder, which may be `new`."""
    import warnings

    from qdrant_client import QdrantClient

    with messages(url, failure), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a key without TLS, and of versions
        if not is_server(url) and (new or Path(url.path).is_dir()):
            # A folder is locked by the client that has it open, so a process has one client for each.
            folder = str(Path(url.path).resolve())
            client = _FOLDERS.get(folder) or QdrantClient(path=folder)
            return _FOLDERS.setdefault(folder, client)
        if not url.host:
            raise failure(f"There is no folder {url.path} of Qdrant. Check the path, or name host:port.")
        key = url.password or os.environ.get("QDRANT_API_KEY")
        return QdrantClient(
            url=f"{'https' if 'https=1' in url.base else 'http'}://{url.host}:{url.port or 6333}",
            api_key=key,
            timeout=_SECONDS,
            check_compatibility=False,
        )


_FOLDERS: WeakValueDictionary[str, Any] = WeakValueDictionary()


def is_server(url: DatabaseUrl) -> bool:
    """Whether a URL names a server: it has a port, or is a plain name and no folder."""
    return url.port is not None or (bool(url.host) and "/" not in url.path and not Path(url.path).is_dir())


@contextmanager
def messages(url: DatabaseUrl, failure: type[UnconeError] = MissingSourceError) -> Iterator[None]:
    """Errors of the client as ours, in a line."""
    from qdrant_client.http.exceptions import ApiException

    try:
        yield
    except (ApiException, OSError, RuntimeError, ValueError) as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        verb = "read" if failure is MissingSourceError else "written"
        raise failure(f"{url.name} can't be {verb} ({reason}). Check the address and the key.") from error
