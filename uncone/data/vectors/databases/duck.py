"""DuckDB: a table of a database file, or a query; `duckdb://vectors.db?query=SELECT ...`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from uncone.data.source import BLOCK, Options, Source
from uncone.data.vectors.arrow import ArrowVectors
from uncone.data.vectors.databases.url import DatabaseUrl
from uncone.errors import FormatError, MissingSourceError, OptionError, UnconeError, require

__all__ = ["connection_to", "open_duckdb", "quoted"]


def open_duckdb(url: DatabaseUrl, options: Options) -> Source:
    """The rows of a table or a query of a DuckDB file; `duckdb://` alone queries files."""
    require("duckdb", extra="duckdb")
    url.check("table", "query", "column", "text", "label")
    if ("table" in url.values) == ("query" in url.values):
        raise OptionError(f"{url.name} needs a table or a query: add ?table=... or ?query=SELECT ... to the URL.")
    if url.path and not Path(url.path).is_file():
        raise MissingSourceError(f"There is no DuckDB file {url.path}. Check the path.")
    with connection_to(url) as connection:
        schema = connection.sql(f"SELECT * FROM {_relation(url)} LIMIT 0").to_arrow_reader(1).schema
    return _DuckVectors(url, options, schema)


class _DuckVectors(ArrowVectors):
    def __init__(self, url: DatabaseUrl, options: Options, schema: pa.Schema) -> None:
        self.url = url
        super().__init__(url.name, url.scheme, schema, url.columns(options))

    def count(self) -> int:
        with connection_to(self.url) as connection:
            (row,) = connection.execute(f"SELECT count(*) FROM {_relation(self.url)}").fetchall()
        return int(row[0])

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        names = ", ".join(quoted(name) for name in dict.fromkeys(columns))
        with connection_to(self.url) as connection:
            yield from connection.sql(f"SELECT {names} FROM {_relation(self.url)}").to_arrow_reader(BLOCK)


@contextmanager
def connection_to(url: DatabaseUrl, failure: type[UnconeError] | None = None) -> Iterator[Any]:
    """A connection to a file, or to none; it only reads, unless there is a `failure`: the error of whoever writes."""
    import duckdb

    read_only = failure is None and bool(url.path)
    with (
        _messages(url, failure or FormatError),
        duckdb.connect(url.path or ":memory:", read_only=read_only) as connection,
    ):
        yield connection


@contextmanager
def _messages(url: DatabaseUrl, failure: type[UnconeError] = FormatError) -> Iterator[None]:
    """Errors of DuckDB as ours, in a line."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        raise failure(f"{url.name}: {str(error).splitlines()[0]}") from error


def _relation(url: DatabaseUrl) -> str:
    if "query" in url.values:
        return f"({url.values['query'].rstrip().rstrip(';')})"
    return ".".join(quoted(part) for part in url.values["table"].split("."))


def quoted(name: str) -> str:
    """A name as SQL takes it."""
    return '"' + name.replace('"', '""') + '"'
