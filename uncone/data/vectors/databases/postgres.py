"""PostgreSQL with pgvector: a table or a query, read by binary COPY.

`postgresql://user@host/db?table=docs&column=embedding&text=body`. Passwords come from
the URL, $PGPASSWORD or ~/.pgpass.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uncone.data.source import BLOCK, Options, Rows, Source
from uncone.data.tables.read import check_columns, ragged
from uncone.data.vectors.databases.arrow import pick_column, side_names
from uncone.data.vectors.databases.url import DatabaseUrl, without_secrets
from uncone.errors import FormatError, MissingSourceError, OptionError, ShapeError, require

__all__ = ["open_postgres"]

_CASTS = {"vector": "vector", "halfvec": "vector", "_float4": "real[]", "_float8": "real[]"}
"""The types that hold vectors, and what they are read as."""
_HEADER = 19  # bytes of a binary COPY before the first row: signature, flags, length of the extension
_SECONDS = 10


def open_postgres(url: DatabaseUrl, options: Options) -> Source:
    """The rows of a table or a query, in the order of `key`, or else as they are stored."""
    require("psycopg", extra="postgres")
    url.check("table", "query", "column", "text", "label", "key", "where")
    if ("table" in url.values) == ("query" in url.values):
        raise OptionError(f"{url.name} needs a table or a query: add ?table=... or ?query=SELECT ... to the URL.")
    return _PostgresVectors(url, options)


class _PostgresVectors(Source):
    """A column of pgvector's vector or halfvec, or of real arrays."""

    def __init__(self, url: DatabaseUrl, options: Options) -> None:
        self.url, self.kind, self.dtype = url, "postgresql", "float32"
        self.text, self.label = side_names(url, options)
        with _connection(url) as connection:
            cursor = connection.execute(f"SELECT * FROM {_relation(url)} LIMIT 0")
            codes = {column.name: column.type_code for column in cursor.description}
            query = "SELECT oid, typname FROM pg_type WHERE oid = ANY(%s)"
            types = dict(connection.execute(query, [list(codes.values())]).fetchall())
            kinds = {name: types.get(code, "") for name, code in codes.items()}
            vectors = [name for name, kind in kinds.items() if kind in _CASTS]
            self.column = pick_column(url.name, options.column or url.values.get("column"), vectors, list(kinds))
            key = url.values.get("key")
            check_columns(url.name, list(kinds), [("text", self.text), ("label", self.label), ("key", key)])
            self.cast = _CASTS[kinds[self.column]]
            own = _quoted(self.column)
            size = "vector_dims" if self.cast == "vector" else "cardinality"
            self.rows = int(connection.execute(f"SELECT count(*) FROM {_relation(url)}").fetchone()[0])
            first = connection.execute(
                f"SELECT {size}({own}::{self.cast}) FROM {_relation(url)} WHERE {own} IS NOT NULL LIMIT 1"
            ).fetchone()
        self.name = f"{url.name}.{self.column}"
        if not self.rows:
            raise ShapeError(f"{url.name} has no rows. We need at least 2.")
        if first is None:
            raise ShapeError(f"{self.name} holds only NULLs. We need a vector in each row.")
        self.dim = int(first[0])

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Rows]:
        others = list(dict.fromkeys(name for name in (self.text, self.label) if name))
        columns = [f"{_quoted(self.column)}::{self.cast}", *(f"{_quoted(name)}::text" for name in others)]
        key = self.url.values.get("key")
        query = f"SELECT {', '.join(columns)} FROM {_relation(self.url)}{f' ORDER BY {_quoted(key)}' if key else ''}"
        first = 0
        command = f"COPY ({query}) TO STDOUT (FORMAT binary)"
        with _connection(self.url) as connection, connection.cursor() as cursor, cursor.copy(command) as copied:
            for messages in _blocks(copied):
                data = b"".join(messages)[0 if first else _HEADER :]
                vectors, texts = (None if others else self._uniform(data)), dict[str, list[str]]()
                if vectors is None:
                    vectors, columns_of_texts = self._parsed(data, first, len(others))
                    texts = dict(zip(others, columns_of_texts, strict=True))
                if len(vectors):
                    yield Rows(vectors, texts.get(self.text or ""), texts.get(self.label or ""))
                first += len(vectors)

    def _row_type(self) -> np.dtype[Any]:
        """A row with nothing but a vector, as COPY writes it."""
        if self.cast == "vector":
            parts: list[Any] = [
                ("n", ">i2"),
                ("bytes", ">i4"),
                ("dim", ">i2"),
                ("unused", ">i2"),
                ("v", ">f4", self.dim),
            ]
            return np.dtype(parts)
        element = np.dtype([("bytes", ">i4"), ("value", ">f4")])
        head = [("n", ">i2"), ("bytes", ">i4"), ("axes", ">i4"), ("nulls", ">i4"), ("type", ">i4")]
        return np.dtype([*head, ("dim", ">i4"), ("low", ">i4"), ("v", element, self.dim)])

    def _uniform(self, data: bytes) -> NDArray[np.float32] | None:
        """Rows (m, d) that all have a whole vector; None if one has not, so that they differ in length."""
        kind = self._row_type()
        tail = 2 if len(data) % kind.itemsize == 2 else 0  # the trailer of the last block
        if len(data) % kind.itemsize != tail:
            return None
        rows = np.frombuffer(data, kind, len(data) // kind.itemsize)
        if not ((rows["n"] == 1) & (rows["bytes"] == kind.itemsize - 6) & (rows["dim"] == self.dim)).all():
            return None
        values = rows["v"] if self.cast == "vector" else rows["v"]["value"]
        return np.asarray(values, np.float32)

    def _parsed(self, data: bytes, first: int, n_others: int) -> tuple[NDArray[np.float32], list[list[str]]]:
        """Rows one by one: with texts, or with NULLs, which become NaN."""
        vectors: list[NDArray[np.float32]] = []
        names: list[list[str]] = [[] for _ in range(n_others)]
        missing, place = np.full(self.dim, np.nan, np.float32), 0
        while place + 2 <= len(data) and struct.unpack_from(">h", data, place)[0] != -1:
            place += 2
            size, place = struct.unpack_from(">i", data, place)[0], place + 4
            vectors.append(missing if size < 0 else self._vector(data[place : place + size], first + len(vectors)))
            place += max(size, 0)
            for column in names:
                size, place = struct.unpack_from(">i", data, place)[0], place + 4
                column.append("" if size < 0 else data[place : place + size].decode())
                place += max(size, 0)
        matrix = np.stack(vectors) if vectors else np.empty((0, self.dim), np.float32)
        return matrix, names

    def _vector(self, data: bytes, row: int) -> NDArray[np.float32]:
        if self.cast == "vector":
            values = np.frombuffer(data, ">f4", offset=4)
        else:
            axes, nulls = struct.unpack_from(">ii", data)
            values = np.empty(0) if axes != 1 or nulls else np.frombuffer(data, ">i4,>f4", offset=20)["f1"]
            if nulls:
                return np.full(self.dim, np.nan, np.float32)
        if len(values) != self.dim:
            raise ragged(self.name, f"row {row:,}", f"{len(values)} numbers", self.dim)
        return values.astype(np.float32)


def _blocks(copied: Any) -> Iterator[list[Any]]:  # noqa: ANN401 - messages of psycopg
    """The messages of a COPY, one a row, by the block."""
    block: list[Any] = []
    for message in copied:
        block.append(message)
        if len(block) == BLOCK:
            yield block
            block = []
    if block:
        yield block


@contextmanager
def _connection(url: DatabaseUrl) -> Iterator[Any]:
    """A connection that only reads; errors of PostgreSQL become ours, in a line."""
    import psycopg

    try:
        with psycopg.connect(url.base, connect_timeout=_SECONDS) as connection:
            connection.read_only = True
            # A scan that starts where another one is would give the rows another order each time.
            connection.execute("SET synchronize_seqscans = off")
            yield connection
    except psycopg.OperationalError as error:
        reason = without_secrets(next(iter(str(error).splitlines()), "no reason given"))
        raise MissingSourceError(f"{url.name} can't be reached ({reason}). Check host, user and password.") from error
    except psycopg.Error as error:
        raise FormatError(f"{url.name}: {next(iter(str(error).splitlines()), type(error).__name__)}.") from error


def _relation(url: DatabaseUrl) -> str:
    """The rows as something to select from."""
    if "query" in url.values:
        inner = f"({url.values['query'].rstrip().rstrip(';')}) AS own"
    else:
        inner = ".".join(_quoted(part) for part in url.values["table"].split("."))
    where = f" WHERE ({url.values['where']})" if url.values.get("where") else ""
    return f"(SELECT * FROM {inner}{where}) AS vectors"


def _quoted(name: str | None) -> str:
    return '"' + str(name).replace('"', '""') + '"'
