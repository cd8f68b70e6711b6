"""Retrieval tasks: documents, queries and relevance judgments in a folder laid out like BEIR."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from uncone.data.storage.path import path_of
from uncone.data.tables.read import JsonTable
from uncone.data.tasks.locate import data_folder, first_file
from uncone.data.tasks.qrels import read_judgments, relevant_grades
from uncone.errors import FormatError, MissingSourceError

__all__ = ["RetrievalTask", "open_retrieval"]

_JUDGMENTS = ("qrels.tsv", "qrels/test.tsv", "qrels/dev.tsv")


@dataclass(frozen=True, eq=False)
class RetrievalTask:
    """Documents and queries by their ids, and for each query how relevant the documents judged for it are.

    A document is relevant from the grade `relevant` on.

    Raises:
        FormatError: an id is given twice, or no query has a relevant document.
    """

    name: str
    doc_ids: Sequence[str]
    docs: Sequence[str]
    query_ids: Sequence[str]
    queries: Sequence[str]
    qrels: Mapping[str, Mapping[str, int]]
    relevant: int = 1

    def __post_init__(self) -> None:
        for role, ids in (("document", self.doc_ids), ("query", self.query_ids)):
            if len(set(ids)) < len(ids):
                earlier: set[str] = set()
                twice = next(text_id for text_id in ids if text_id in earlier or earlier.add(text_id))  # type: ignore[func-returns-value]
                raise FormatError(f"{self.name}: the {role} {twice!r} occurs twice. Ids must be unique.")
        docs, queries = set(self.doc_ids), set(self.query_ids)
        if not any(
            query in queries and not docs.isdisjoint(relevant_grades(grades, self.relevant))
            for query, grades in self.qrels.items()
        ):
            raise FormatError(
                f"{self.name}: no query has a relevant document. Do the ids in the judgments match the others?"
            )

    def gains(self, query: str) -> dict[str, int]:
        """The documents that are relevant for a query, with their grades."""
        return relevant_grades(self.qrels.get(query, {}), self.relevant)

    @property
    def empty(self) -> int:
        """Documents without a word; they are kept, as a search has to live with them."""
        return sum(not doc.strip() for doc in self.docs)

    @property
    def unknown(self) -> int:
        """Judgments on documents or queries that are not there."""
        docs, queries = set(self.doc_ids), set(self.query_ids)
        return sum(doc not in docs or query not in queries for query, grades in self.qrels.items() for doc in grades)


def open_retrieval(
    folder: str | os.PathLike[str], data: str | os.PathLike[str] | None = None, relevant: int = 1
) -> RetrievalTask:
    """A folder with corpus.jsonl, queries.jsonl and qrels.tsv or qrels/test.tsv; also by its name in the data folder.

    A document is its title and its text, with a space between them. It is relevant from the grade `relevant` on.

    Raises:
        MissingSourceError: there is no such folder, or a file is missing in it.
        SourceError: a file is damaged; the subclass and the message tell more.
    """
    root = data_folder(data)
    places = [path_of(folder), *([] if root is None else [root / folder])]
    place_of_task = next((place for place in places if place.is_dir()), None)
    if place_of_task is None:
        paths = " or ".join(map(str, places))
        layout = "corpus.jsonl, queries.jsonl and qrels.tsv"
        raise MissingSourceError(f"There is no folder {paths}. Give one that holds {layout}, as BEIR's do.")
    judgments = first_file(place_of_task, *_JUDGMENTS)
    for name in ("corpus.jsonl", "queries.jsonl"):
        if not (place_of_task / name).is_file():
            raise MissingSourceError(
                f"{place_of_task} has no {name}. We need corpus.jsonl, queries.jsonl and qrels.tsv."
            )
    if judgments is None:
        raise MissingSourceError(
            f"{place_of_task} has no {' or '.join(_JUDGMENTS[:2])}: which document answers which query?"
        )
    doc_ids, docs = _texts(place_of_task / "corpus.jsonl")
    query_ids, queries = _texts(place_of_task / "queries.jsonl")
    return RetrievalTask(place_of_task.name, doc_ids, docs, query_ids, queries, read_judgments(judgments), relevant)


def _texts(path: Path) -> tuple[list[str], list[str]]:
    table = JsonTable(path)
    ids = [str(value) for _, value in table.column(table.pick(None, ("_id", "id"), "id"))]
    texts = table.texts(table.pick("text", (), "text"))
    # Titles are left out where there is none, row by row.
    titles = [str(row.get("title") or "").strip() for block in table.blocks() for row in block.objects]
    return ids, [f"{title} {text}".strip() if title else text for title, text in zip(titles, texts, strict=True)]
