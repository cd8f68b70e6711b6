"""What stands beside the vectors of a source, and which files it is read from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from uncone.data.side_columns.columns import JsonColumns, NamedColumns, SideColumns, TableColumns
from uncone.data.source import Rows, Source
from uncone.data.texts.files import TableTexts
from uncone.data.texts.texts import ManyTexts, TextSource
from uncone.data.vectors.shards import Shards
from uncone.data.vectors.tables import JsonVectors, TableVectors
from uncone.errors import ColumnError

__all__ = ["columns_beside", "files_of", "parts_of"]


def columns_beside(source: Source, first: Rows) -> SideColumns:
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
        return [inner for part in source.parts for inner in parts_of(part)]
    return [source]


def files_of(source: Source) -> list[Path]:
    """The files that a source is read from; none for what is in memory."""
    found: list[Path] = []
    for part in parts_of(source):
        texts, path = getattr(part, "texts", None), getattr(part, "path", None)
        found += list(texts.files) if isinstance(texts, TextSource) else []
        found += [path] if isinstance(path, Path) else []
    return found


def _of_vectors(parts: Sequence[Any]) -> SideColumns | None:
    if all(isinstance(part, TableVectors) for part in parts):
        first = parts[0]
        for part in parts:
            if _layout(part) != _layout(first):
                raise ColumnError(
                    f"Shards differ: {part.path} has other columns than {first.path}. Fix them one by one."
                )
        tables = [part.table for part in parts]
        return TableColumns(tables, first.numeric if first.vector is None else [first.vector])
    if all(isinstance(part, JsonVectors) for part in parts):
        column = next((part.column for part in parts if part.column is not None), None)
        return JsonColumns([part.table for part in parts], column)
    if all(part.kind == "parquet" for part in parts):
        from uncone.data.side_columns.parquet import ParquetColumns

        return ParquetColumns([part.table for part in parts], parts[0].column)
    return None


def _layout(part: TableVectors) -> tuple[Any, ...]:
    return part.table.names, part.table.header, part.vector, part.numeric, part.options


def _of_texts(parts: Sequence[TextSource]) -> SideColumns | None:
    """All columns of tables of texts, if the tables have the same layout."""
    sources = [part for part in parts if isinstance(part, TableTexts)]
    first = sources[0] if sources else None
    if first is None or len(sources) < len(parts) or any(part.kind != first.kind for part in sources):
        return None
    tables: list[Any] = [part.table for part in sources]
    same = all(part.columns.text == first.columns.text for part in sources)
    if first.kind == "parquet":
        from uncone.data.side_columns.parquet import ParquetColumns

        return ParquetColumns(tables, None, first.columns.text)
    if first.kind == "jsonl":
        return JsonColumns(tables, None, first.columns.text) if same else None
    same = same and all((table.names, table.header) == (tables[0].names, tables[0].header) for table in tables)
    return TableColumns(tables, (), first.columns.text) if same else None
