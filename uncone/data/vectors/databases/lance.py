"""LanceDB: a table of a folder, `lancedb://data/lance?table=docs`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from uncone.data.source import BLOCK, Options, Source
from uncone.data.vectors.arrow import ArrowVectors
from uncone.data.vectors.databases.url import DatabaseUrl
from uncone.errors import FormatError, MissingSourceError, require

__all__ = ["open_lancedb"]


def open_lancedb(url: DatabaseUrl, options: Options) -> Source:
    """The rows of a table of a LanceDB folder, as they were when it was opened."""
    require("lancedb", extra="lancedb")
    import lancedb

    url.check("table", "column", "text", "label")
    if not Path(url.path).is_dir():
        raise MissingSourceError(f"There is no LanceDB folder {url.path}. Check the path.")
    connection = lancedb.connect(url.path)
    tables = list(connection.table_names())
    name = url.required("table", ", ".join(tables))
    if name not in tables:
        raise MissingSourceError(f"{url.path} has no table {name!r}. There is {', '.join(tables) or 'none'}.")
    return _LanceVectors(url, options, connection.open_table(name))


class _LanceVectors(ArrowVectors):
    def __init__(self, url: DatabaseUrl, options: Options, table: Any) -> None:  # noqa: ANN401
        self.table = table
        super().__init__(url.name, url.scheme, table.schema, url.columns(options))

    def count(self) -> int:
        return int(self.table.count_rows())

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        query = self.table.search().select(list(dict.fromkeys(columns)))
        try:
            yield from query.to_batches(BLOCK)
        except (RuntimeError, OSError) as error:
            raise FormatError(f"{self.name} can't be read: {str(error).splitlines()[0]}") from error
