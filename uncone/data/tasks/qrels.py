"""Relevance judgments: which documents answer which query, in BEIR's or TREC's layout, a table, or a mapping."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from uncone.data.storage.path import path_of
from uncone.data.tables.fields import finite_number, label_text
from uncone.data.tables.lines import numbered_lines
from uncone.data.tables.memory import is_path
from uncone.data.tables.read import plain_suffix, read_table
from uncone.errors import FormatError, MissingSourceError, ShapeError

__all__ = ["Grades", "Judgments", "open_judgments", "read_judgments"]

Grades = Mapping[str, int]
"""The grade of each document that was judged for a query."""

_NAMES = ("query-id", "corpus-id", "score")
_HEADERS = (
    {"queryid", "query", "qid", "topic", "topicid", "q"},
    {"corpusid", "docid", "documentid", "document", "doc", "did", "pid", "passageid", "iter", "iteration"},
    {"score", "relevance", "rel", "grade", "label", "gain", "relevant", "judgment"},
)
"""The usual names of the columns: queries, documents, grades."""
_TABLES = (".csv", ".jsonl", ".ndjson", ".parquet")
"""Endings of judgments in a table with named columns; all others are lines of BEIR or TREC."""


@dataclass(frozen=True, eq=False)
class Judgments:
    """The grades by query. A document is relevant from the grade `relevant` on; lower grades count as 0."""

    name: str
    grades: Mapping[str, Grades]
    relevant: int = 1

    def __len__(self) -> int:
        return sum(map(len, self.grades.values()))

    def gains(self, query: str) -> dict[str, int]:
        """The documents that are relevant for a query, with their grades."""
        return relevant_grades(self.grades.get(query, {}), self.relevant)

    @property
    def docs(self) -> dict[str, None]:
        """The ids of all judged documents, each once, in their order."""
        return dict.fromkeys(doc for grades in self.grades.values() for doc in grades)


def relevant_grades(grades: Grades, least: int = 1) -> dict[str, int]:
    """The documents of a grade that counts as relevant; never one of 0 or less, which gains nothing.

    >>> relevant_grades({"a": 2, "b": 1, "c": 0}, 2)
    {'a': 2}
    """
    return {doc: grade for doc, grade in grades.items() if grade >= max(least, 1)}


def open_judgments(source: Any, relevant: int = 1) -> Judgments:  # noqa: ANN401 - a path, a mapping or a table
    """The judgments of a file, of a mapping of queries to documents to grades, or of a table in memory.

    Raises:
        MissingSourceError: there is no such file.
        SourceError: a line cannot be read, or there is none; the message tells which.
    """
    if is_path(source):
        path = path_of(source)
        if not path.is_file():
            raise MissingSourceError(f"There is no file {path} with judgments. Name one in BEIR's or TREC's layout.")
        grades, name = _file(path), path.name
    elif isinstance(source, Mapping) and all(isinstance(value, Mapping) for value in source.values()):
        triples = ((query, doc, grade) for query, each in source.items() for doc, grade in each.items())
        grades, name = _collected((f"qrels[{q!r}][{d!r}]", q, d, grade) for q, d, grade in triples), "qrels"
    else:
        grades, name = _table(source), "qrels"
    if not grades:
        raise FormatError(f"{name} has no judgments. We need a query, a document and a grade per line.")
    return Judgments(name, grades, relevant)


def read_judgments(path: Path) -> dict[str, dict[str, int]]:
    """Query, document, grade with a header as BEIR writes it; or query, 0, document, grade as TREC does.

    Fields are parted by tabs, or by blanks if a line has no tab.

    Raises:
        FormatError: a grade is not a whole number, or a line has too many fields.
        ShapeError: a line has too few.
    """
    return _collected(_lines(path))


def _file(path: Path) -> dict[str, dict[str, int]]:
    return _table(path) if plain_suffix(path) in _TABLES else read_judgments(path)


def _lines(path: Path) -> Iterator[tuple[str, str, str, str]]:
    for line, text in numbered_lines(path):
        if not text.strip():
            continue
        fields = [field.strip() for field in (text.split("\t") if "\t" in text else text.split())]
        where = f"{path}, line {line}"
        need = f"we need {', '.join(_NAMES)}, with tabs or blanks between them"
        if len(fields) < len(_NAMES):
            raise ShapeError(f"{where}: {len(fields)} columns; {need}.")
        if line == 1 and _is_header(fields):
            continue
        if len(fields) > 4:
            raise FormatError(f"{where}: {len(fields)} columns; {need}, or with TREC's 0 after the query.")
        query, doc, grade = (fields[0], fields[2], fields[3]) if len(fields) == 4 else fields
        yield where, query, doc, grade


def _is_header(fields: list[str]) -> bool:
    """Whether a first line names its columns: it has a usual name, and no number as grade."""
    usual = set().union(*_HEADERS)
    return not _is_whole(fields[-1]) and any(_plain(field) in usual for field in fields)


def _plain(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())


def _is_whole(field: str) -> bool:
    return field.lstrip("-+").isdecimal()


def _table(source: Any) -> dict[str, dict[str, int]]:  # noqa: ANN401 - a path, or a table in memory
    table = read_table(source)
    roles = ("query", "document", "grade")
    usual = [[name for name in table.names if _plain(name) in headers] for headers in _HEADERS]
    columns = [
        table.pick(None, [names[0].strip().lower()] if names else (name,), role)
        for names, name, role in zip(usual, _NAMES, roles, strict=True)
    ]
    cells = [table.column(column) for column in columns]
    rows = zip(*cells, strict=True)
    return _collected((where, query, doc, grade) for (where, query), (_, doc), (_, grade) in rows)


def _collected(rows: Iterable[tuple[str, Any, Any, Any]]) -> dict[str, dict[str, int]]:
    grades: dict[str, dict[str, int]] = {}
    for where, query, doc, value in rows:
        names = label_text(query), label_text(doc)
        if names[0] is None or names[1] is None:
            raise FormatError(f"{where}: no id of the {'query' if names[0] is None else 'document'}.")
        number = finite_number(value, where)
        if not number.is_integer():
            raise FormatError(f"{where}: the score {str(value).strip()} is not a whole number.")
        grades.setdefault(names[0], {})[names[1]] = int(number)
    return grades
