"""Chroma: a collection of a folder or of a server, `chroma://data/chroma?collection=docs`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from uncone.data.source import Options, Source
from uncone.data.vectors.databases.points import Page, PointVectors
from uncone.data.vectors.databases.url import DatabaseUrl
from uncone.errors import FormatError, MissingSourceError, OptionError, UnconeError, require

__all__ = ["DOCUMENT", "client_of", "messages", "open_chroma"]

_PAGE = 2048
DOCUMENT = "document"
"""The field of the texts."""
_TOKEN = "CHROMA_TOKEN"


def open_chroma(url: DatabaseUrl, options: Options) -> Source:
    """The records of a collection; `text=document` are its documents, other names fields of the metadata."""
    require("chromadb", extra="chroma")
    url.check("collection", "text", "label")
    if options.column is not None:
        raise OptionError(f"{url.name}: a Chroma collection has one vector per record. Leave --column out.")
    with messages(url):
        client = client_of(url)
        collections = [each.name for each in client.list_collections()]
        name = url.required("collection", ", ".join(collections))
        if name not in collections:
            raise MissingSourceError(
                f"{url.name}: there is no collection {name!r}. There is {', '.join(collections) or 'none'}."
            )
        collection = client.get_collection(name, embedding_function=None)
        rows = int(collection.count())
        first = collection.get(limit=PointVectors.FIRST, include=["embeddings", "metadatas"])
    if rows and (first["embeddings"] is None or not len(first["embeddings"])):
        raise FormatError(f"{url.name}: its records have no vectors.")
    fields = {DOCUMENT, *(key for metadata in first["metadatas"] or [] for key in metadata or {})}
    vectors = _ChromaVectors(url, options, rows, len(first["embeddings"][0]) if rows else 0, fields)
    vectors.collection = collection
    return vectors


class _ChromaVectors(PointVectors):
    collection: Any

    def pages(self, fields: Sequence[str] | None, *, vectors: bool = True) -> Iterator[Page]:
        include = ["embeddings"] if vectors else []
        include += ["documents"] if fields is None or DOCUMENT in fields else []
        include += ["metadatas"] if fields is None or any(name != DOCUMENT for name in fields) else []
        for offset in range(0, self.rows or 0, _PAGE):
            page = self.tried(partial(self.collection.get, limit=_PAGE, offset=offset, include=include))
            n = len(page["ids"])
            documents = page.get("documents") or [None] * n
            metadata = page.get("metadatas") or [None] * n
            payloads = [
                {**(own or {}), **({} if text is None else {DOCUMENT: text})}
                for own, text in zip(metadata, documents, strict=True)
            ]
            yield Page(page["ids"], page["embeddings"] if vectors else [None] * n, payloads)

    def messages(self) -> AbstractContextManager[None]:
        return messages(self.url)


def client_of(url: DatabaseUrl, failure: type[UnconeError] = MissingSourceError, *, new: bool = False) -> Any:  # noqa: ANN401
    """A client of a server, or of a local folder, which may be `new`."""
    import chromadb

    settings = chromadb.Settings(anonymized_telemetry=False)
    with messages(url, failure):
        if url.port is not None:
            headers = {"Authorization": f"Bearer {token}"} if (token := url.password or os.environ.get(_TOKEN)) else {}
            return chromadb.HttpClient(url.host, url.port, "https=1" in url.base, headers=headers, settings=settings)
        if not new and not (Path(url.path) / "chroma.sqlite3").is_file():
            raise failure(f"There is no Chroma folder {url.path}. Check the path, or name host:port.")
        # In full: the client of a path is kept, and a relative one means another folder from another place.
        return chromadb.PersistentClient(Path(url.path).resolve(), settings=settings)


@contextmanager
def messages(url: DatabaseUrl, failure: type[UnconeError] = MissingSourceError) -> Iterator[None]:
    """Errors of the client as ours, in a line."""
    from chromadb.errors import ChromaError

    try:
        yield
    except (ChromaError, ValueError, OSError) as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        verb = "read" if failure is MissingSourceError else "written"
        raise failure(f"{url.name} can't be {verb} ({reason}). Check the address.") from error
