"""Chroma: a collection of a folder or of a server, `chroma://data/chroma?collection=docs`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from uncone.data.source import Options, Source
from uncone.data.vectors.databases.points import Page, PointVectors
from uncone.data.vectors.databases.url import DatabaseUrl
from uncone.errors import FormatError, MissingSourceError, OptionError, require

__all__ = ["open_chroma"]

_PAGE = 2048
_DOCUMENT = "document"


def open_chroma(url: DatabaseUrl, options: Options) -> Source:
    """The records of a collection; `text=document` are its documents, other names fields of the metadata."""
    require("chromadb", extra="chroma")
    url.check("collection", "text", "label")
    if options.column is not None:
        raise OptionError(f"{url.name}: a Chroma collection has one vector per record. Leave --column out.")
    with _messages(url):
        client = _client(url)
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
    fields = {_DOCUMENT, *(key for metadata in first["metadatas"] or [] for key in metadata or {})}
    vectors = _ChromaVectors(url, options, rows, len(first["embeddings"][0]) if rows else 0, fields)
    vectors.collection = collection
    return vectors


class _ChromaVectors(PointVectors):
    collection: Any

    def pages(self, fields: Sequence[str]) -> Iterator[Page]:
        include = ["embeddings", *(["documents"] if _DOCUMENT in fields else [])]
        include += ["metadatas"] if any(name != _DOCUMENT for name in fields) else []
        for offset in range(0, self.rows or 0, _PAGE):
            with _messages(self.url):
                page = self.collection.get(limit=_PAGE, offset=offset, include=include)
            n = len(page["ids"])
            documents = page.get("documents") or [None] * n
            metadata = page.get("metadatas") or [None] * n
            payloads = [{**(own or {}), _DOCUMENT: text} for own, text in zip(metadata, documents, strict=True)]
            yield page["embeddings"], payloads


def _client(url: DatabaseUrl) -> Any:  # noqa: ANN401
    import chromadb

    settings = chromadb.Settings(anonymized_telemetry=False)
    if url.port is not None:
        return chromadb.HttpClient(url.host, url.port, settings=settings)
    if not (Path(url.path) / "chroma.sqlite3").is_file():
        raise MissingSourceError(f"There is no Chroma folder {url.path}. Check the path, or name host:port.")
    return chromadb.PersistentClient(url.path, settings=settings)


@contextmanager
def _messages(url: DatabaseUrl) -> Iterator[None]:
    """Errors of the client as ours, in a line."""
    from chromadb.errors import ChromaError

    try:
        yield
    except (ChromaError, ValueError, OSError) as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise MissingSourceError(f"{url.name} can't be read ({reason}). Check the address.") from error
