"""What stands beside the vectors of a source, and which files it is read from."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from uncone.data.side_columns.columns import Carried, JsonColumns, NamedColumns, TableColumns, csv_rows, unique_name
from uncone.data.source import Rows, Source
from uncone.data.texts.files import JsonTexts, TableTexts
from uncone.data.texts.texts import ManyTexts, TextSource
from uncone.data.vectors.delimited import _LOOKED_AT, Table, _layout
from uncone.data.vectors.jsonl import JsonLines, _list_key, _parsed
from uncone.data.vectors.shards import Shards
from uncone.data.vectors.text_rows import numbered_lines
from uncone.errors import ColumnError

__all__ = ["columns_beside", "files_of", "parts_of"]


def columns_beside(source: Source, first: Rows) -> Carried:
    """The columns beside the vectors: those of the file, or the texts and labels that the `first` rows show."""
    inner = parts_of(source)
    texts = getattr(inner[0], "texts", None)
    if isinstance(texts, TextSource):
        found = _of_texts(list(texts.parts) if isinstance(texts, ManyTexts) else [texts])
    else:
        found = _of_vectors(inner)
    words = getattr(inner[0], "kind", "") in ("word vectors", "word2vec")
    return NamedColumns(first, "word" if words else "text") if found is None else found


def parts_of(source: Source) -> list[Any]:
    """The sources that really read, without what is wrapped around them."""
    while isinstance(inner := getattr(source, "source", None), Source):
        source = inner
    if isinstance(source, Shards):
        return [one for part in source.parts for one in parts_of(part)]
    return [source]


def files_of(source: Source) -> list[Path]:
    """The files that a source is read from; none for what is in memory."""
    found: list[Path] = []
    for part in parts_of(source):
        texts, path = getattr(part, "texts", None), getattr(part, "path", None)
        found += list(texts.files) if isinstance(texts, TextSource) else []
        found += [path] if isinstance(path, Path) else []
    return found


def _of_vectors(parts: Sequence[Any]) -> Carried | None:
    where = str(parts[0].path) if hasattr(parts[0], "path") else ""
    if all(isinstance(part, Table) for part in parts):
        return _vector_tables(parts)
    if all(isinstance(part, JsonLines) for part in parts):
        column = next((found for part in parts if (found := _json_column(part)) is not None), None)
        return JsonColumns(where, lambda: (row for part in parts for row in _json_rows(part.path)), column)
    if all(part.kind == "parquet" for part in parts):
        from uncone.data.side_columns.parquet import ParquetColumns

        return ParquetColumns([part.path for part in parts], parts[0].column)
    return None


def _vector_tables(parts: Sequence[Table]) -> Carried:
    layouts = []
    for part in parts:
        # As its reader does it, down to the rows that it looks at.
        head = [row for row in itertools.islice(csv_rows(part.path), _LOOKED_AT) if row]
        layouts.append(_layout(part.path, head, part.options))
    first = layouts[0]
    for part, layout in zip(parts, layouts, strict=True):
        if layout != first:
            raise ColumnError(
                f"Shards differ: {part.path} has other columns than {parts[0].path}. Fix them one by one."
            )
    vectors = first.numeric if first.vector is None else [first.vector]
    places = [i for i in range(len(first.names)) if i not in set(vectors)]

    def rows() -> Iterator[list[str]]:
        for part in parts:
            yield from itertools.islice(filter(None, csv_rows(part.path)), int(first.has_header), None)

    names = [first.names[i] for i in places]
    return TableColumns(
        str(parts[0].path),
        rows,
        names,
        places,
        "embedding" if first.vector is None else first.names[first.vector],
        sum(place < vectors[0] for place in places),
        wide=[first.names[i] for i in first.numeric] if first.vector is None else None,
        header=first.has_header,
    )


def _json_rows(path: Path) -> Iterator[Any]:
    return (_parsed(text, path, line) for line, text in numbered_lines(path) if text.strip())


def _json_column(part: JsonLines) -> str | None:
    """The field that its reader takes: the one asked for, else the first list that it meets."""
    if part.options.column is not None:
        return part.options.column
    objects = (row for row in _json_rows(part.path) if isinstance(row, dict))
    return next((key for row in objects if (key := _list_key(row, part.path)) is not None), None)


def _of_texts(parts: Sequence[TextSource]) -> Carried | None:
    if all(isinstance(part, TableTexts) for part in parts):
        return _text_tables([part for part in parts if isinstance(part, TableTexts)])
    if all(isinstance(part, JsonTexts) for part in parts):
        return _text_objects([part for part in parts if isinstance(part, JsonTexts)])
    if all(part.kind == "parquet" for part in parts):
        from uncone.data.side_columns.parquet import ParquetColumns
        from uncone.data.texts.parquet import ParquetTexts

        tables = [part for part in parts if isinstance(part, ParquetTexts)]
        text = tables[0].columns.text
        return ParquetColumns([part.path for part in tables], None, text if len(text) > 1 else ())
    return None


def _text_tables(parts: Sequence[TableTexts]) -> Carried | None:
    """All columns of tables of texts; a row with several texts comes once for each, and says which it is."""
    heads = [next((row for _, row in part._filled()), []) for part in parts]
    first = parts[0]
    named = [head if first.header else [str(i + 1) for i in range(len(head))] for head in heads]
    same = all((part.header, part.text) == (first.header, first.text) for part in parts)
    if not same or any(names != named[0] for names in named):
        return None
    several = [named[0][place] for place in first.text] if len(first.text) > 1 else []

    def rows() -> Iterator[list[str]]:
        for part in parts:
            for _, row in itertools.islice(part._filled(), int(part.header), None):
                yield from ([*row, name] for name in several) if several else [row]

    names = [*named[0], *([unique_name("text_column", named[0])] if several else [])]
    return TableColumns(str(first.path), rows, names, range(len(names)), header=first.header)


def _text_objects(parts: Sequence[JsonTexts]) -> Carried | None:
    text = parts[0].columns.text
    if any(part.columns.text != text for part in parts):
        return None

    def rows() -> Iterator[dict[str, Any]]:
        for part in parts:
            for _, row in part._objects():
                yield from (
                    ({**row, unique_name("text_column", list(row)): name} for name in text) if text[1:] else [row]
                )

    return JsonColumns(str(parts[0].path), rows, None)
