"""PostgreSQL with pgvector: a table or a query, read by binary COPY.

`postgresql://user@host/db?table=docs&column=embedding&text=body`. Passwords come from
the URL, $PGPASSWORD or ~/.pgpass.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from itertools import islice
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from uncone.data.source import BLOCK, Options, Rows, Source
from uncone.data.tables.read import check_columns, ragged
from uncone.data.vectors.arrow import pick_column
from uncone.data.vectors.databases.url import DatabaseUrl, without_secrets
from uncone.errors import ColumnError, FormatError, MissingSourceError, OptionError, ShapeError, UnconeError, require

__all__ = ["NUMBERS", "TYPE", "connection_to", "open_postgres", "quoted", "quoted_path"]

_CASTS = {"vector": "vector", "halfvec": "vector", "_float4": "real[]", "_float8": "real[]"}
"""The types that hold vectors, and what they are read as."""
NUMBERS = {
    "int2": (">i2", pa.int16()),
    "int4": (">i4", pa.int32()),
    "int8": (">i8", pa.int64()),
    "float4": (">f4", pa.float32()),
    "float8": (">f8", pa.float64()),
    "bool": ("?", pa.bool_()),
}
"""The types that are read as they are; others are read as text."""
TYPE = b"postgresql"
"""Where the field of a column that was read as text keeps its type."""
_PIECE = 256  # rows that are converted at once: few enough to stay in the cache
_HEADER = 19  # bytes of a binary COPY before the first row: signature, flags, length of the extension
_SECONDS = 10
_BROKEN = ("08", "28", "57P")  # states of errors: no connection, no such user, the server goes down
_RETRIES = 6  # in a row, without a row between them
_PAUSE = 0.1  # seconds before the first of them; each next pause is twice as long


def open_postgres(url: DatabaseUrl, options: Options) -> Source:
    """The rows of a table or a query, in the order of `key`, or else as they are stored."""
    require("psycopg", extra="postgres")
    url.check("table", "query", "column", "text", "label", "key", "where")
    if ("table" in url.values) == ("query" in url.values):
        raise OptionError(f"{url.name} needs a table or a query: add ?table=... or ?query=SELECT ... to the URL.")
    return _PostgresVectors(url, url.columns(options))


@dataclass(frozen=True)
class _Column:
    """A column beside the vectors: how it is selected, and what its values are."""

    name: str
    kind: str
    type: str

    @property
    def expression(self) -> str:
        return quoted(self.name) + ("" if self.kind in NUMBERS else "::text")

    @property
    def field(self) -> pa.Field:
        if self.kind in NUMBERS:
            return pa.field(self.name, NUMBERS[self.kind][1])
        return pa.field(self.name, pa.string(), metadata=None if self.kind == "text" else {TYPE: self.type})

    def strings(self, values: Sequence[bytes | None]) -> list[str]:
        """The values as texts; a NULL is empty."""
        return ["" if value is None else str(value) for value in self.array(values).to_pylist()]

    def array(self, values: Sequence[bytes | None]) -> pa.Array:
        """The values as Arrow keeps them."""
        if self.kind not in NUMBERS:
            return pa.array([None if value is None else value.decode() for value in values], pa.string())
        code, kind = NUMBERS[self.kind]
        blank = bytes(np.dtype(code).itemsize)
        numbers = np.frombuffer(b"".join(blank if value is None else value for value in values), code)
        mask = np.array([value is None for value in values], bool)
        return pa.array(numbers.astype(np.dtype(code).newbyteorder("=")), kind, mask=mask)


class _PostgresVectors(Source):
    """A column of pgvector's vector or halfvec, or of real arrays."""

    carries = False
    """Whether the other columns are read too."""

    def __init__(self, url: DatabaseUrl, options: Options) -> None:
        self.url, self.kind, self.dtype = url, "postgresql", "float32"
        self.text, self.label = options.text, options.label
        with connection_to(url) as connection:
            cursor = connection.execute(f"SELECT * FROM {_relation(url)} LIMIT 0")
            codes = [(column.name, column.type_code) for column in cursor.description]
            query = "SELECT oid, typname, format_type(oid, NULL) FROM pg_type WHERE oid = ANY(%s)"
            types = {oid: names for oid, *names in connection.execute(query, [[code for _, code in codes]]).fetchall()}
            kinds = {name: _Column(name, *types.get(code, ("", "text"))) for name, code in codes}
            vectors = [name for name, own in kinds.items() if own.kind in _CASTS]
            self.column = pick_column(url.name, options.column, vectors, list(kinds))
            key = url.values.get("key")
            check_columns(url.name, list(kinds), [("text", self.text), ("label", self.label), ("key", key)])
            self.cast, self.place = _CASTS[kinds[self.column].kind], list(kinds).index(self.column)
            self.key = None if key is None else kinds[key]
            self.others = [own for name, own in kinds.items() if name != self.column]
            own = quoted(self.column)
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

    def with_columns(self) -> Self:
        other = copy(self)
        other.carries = True
        return other

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Rows]:
        """All rows; after a broken connection, those behind the last key."""
        first, last, failures = 0, None, 0  # rows, the key of the last one, breaks without a row between them
        while True:
            try:
                for rows, key in self._copied(first, last):
                    yield rows
                    last = key
                    first, failures = first + len(rows.vectors), 0
                return
            except MissingSourceError as error:
                if self.key is None:
                    advice = "Name a unique column with key=, so that reading can resume after a break."
                elif failures == _RETRIES:
                    advice = f"It was tried {_RETRIES} more times. Check the server."
                else:
                    time.sleep(_PAUSE * 2**failures)
                    failures += 1
                    continue
                reason = error.args[0].partition("(")[2].rpartition(")")[0]
                raise MissingSourceError(
                    f"{self.name}: the connection broke after {first:,} rows ({reason}). {advice}"
                ) from error

    def _copied(self, first: int, last: Any) -> Iterator[tuple[Rows, Any]]:  # noqa: ANN401 - any key
        """The rows whose key is beyond the `last`, with the key of the last of them."""
        others = [each for each in self.others if self.carries or each.name in (self.text, self.label)]
        every = [*others, *([self.key] if self.key else [])]
        names = [f"{quoted(self.column)}::{self.cast}", *(each.expression for each in every)]
        kind = self._row_type() if not others and (self.key is None or self.key.kind in NUMBERS) else None
        with connection_to(self.url) as connection, connection.cursor() as cursor:
            query = f"SELECT {', '.join(names)} FROM {_relation(self.url)}{self._order(connection, last)}"
            with cursor.copy(f"COPY ({query}) TO STDOUT (FORMAT binary)") as copied:
                for block_rows, keys in self._blocks(copied, others, kind, first):
                    last = None if keys is None else self._last(keys, last, first)
                    yield block_rows, last
                    first += len(block_rows.vectors)

    def _blocks(
        self,
        copied: Any,  # noqa: ANN401 - messages of psycopg
        others: Sequence[_Column],
        kind: np.dtype[Any] | None,
        first: int,
    ) -> Iterator[tuple[Rows, Any]]:
        """Blocks of rows, in a buffer that is used again where rows are of one `kind`, with their keys."""
        block = np.empty((BLOCK, self.dim), np.float32)
        keys = np.empty(BLOCK, kind["key"] if kind is not None and self.key else np.int8)
        filled, n_fields = 0, 1 + len(others) + (self.key is not None)
        for data in _pieces(copied, BLOCK if kind is None else _PIECE):
            rows = None if kind is None else self._uniform(data, kind)
            stop = filled if rows is None else filled + len(rows)
            if filled and (rows is None or stop > BLOCK):
                yield Rows(block[:filled]), keys[:filled] if self.key else None
                first, stop, filled = first + filled, stop - filled, 0
            if rows is None:
                fields = _fields(data, n_fields)
                if not fields[0]:
                    continue
                block_rows = self._rows(fields, others, first)
                yield block_rows, self.key.array(fields[-1]).to_numpy(zero_copy_only=False) if self.key else None
                first += len(block_rows.vectors)
                continue
            values = rows["value"]["v"]
            block[filled:stop] = values if self.cast == "vector" else values["value"]
            if self.key is not None:
                keys[filled:stop] = rows["key"]
            filled = stop
        if filled:
            yield Rows(block[:filled]), keys[:filled] if self.key else None

    def _order(self, connection: Any, last: Any) -> str:  # noqa: ANN401 - of psycopg, and any key
        if self.key is None:
            return ""
        from psycopg.sql import Literal

        name = quoted(self.key.name)
        after = "" if last is None else f" WHERE {name} > {Literal(str(last)).as_string(connection)}::{self.key.type}"
        return f"{after} ORDER BY {name}"

    def _last(self, keys: Any, last: Any, first: int) -> Any:  # noqa: ANN401 - an array of keys, a key
        """The last key.

        Raises:
            ColumnError: keys repeat or are missing, so that reading could not go on after one.
        """
        repeated = np.append(keys[:1] == last, keys[1:] == keys[:-1]).astype(bool)
        is_whole = keys.dtype.kind in "iu"  # then there is no NULL among them
        missing = np.zeros(len(keys), bool) if is_whole else np.array([key is None or key != key for key in keys], bool)
        wrong = missing | repeated
        if wrong.any():
            row = int(np.argmax(wrong))
            problem = "is NULL" if missing[row] else "repeats"
            assert self.key is not None
            raise ColumnError(
                f"{self.name}: key={self.key.name} {problem} at row {first + row:,}. Name a column with another value "
                "in each row, such as the primary key."
            )
        return keys[-1]

    def _rows(self, fields: Sequence[list[bytes | None]], others: Sequence[_Column], first: int) -> Rows:
        """Rows with columns beside them, or with NULLs, which become NaN."""
        columns = dict(zip((each.name for each in others), fields[1:], strict=False))
        by_name = {each.name: each for each in others}
        texts, labels = (
            None if name is None else by_name[name].strings(columns[name]) for name in (self.text, self.label)
        )
        arrays = [each.array(columns[each.name]) for each in others] if self.carries else []
        beside = pa.table(arrays, pa.schema([each.field for each in others])) if self.carries else None
        return Rows(self._matrix(fields[0], first), texts, labels, beside)

    def _value_type(self) -> np.dtype[Any]:
        """A whole vector, as COPY writes it."""
        if self.cast == "vector":
            return np.dtype([("dim", ">i2"), ("unused", ">i2"), ("v", ">f4", self.dim)])
        element = np.dtype([("bytes", ">i4"), ("value", ">f4")])
        head = [("axes", ">i4"), ("nulls", ">i4"), ("type", ">i4"), ("dim", ">i4"), ("low", ">i4")]
        parts: list[Any] = [*head, ("v", element, self.dim)]
        return np.dtype(parts)

    def _row_type(self) -> np.dtype[Any]:
        """A row with nothing but a vector, and perhaps a key."""
        key = [("key_bytes", ">i4"), ("key", NUMBERS[self.key.kind][0])] if self.key else []
        parts: list[Any] = [("n", ">i2"), ("bytes", ">i4"), ("value", self._value_type()), *key]
        return np.dtype(parts)

    def _uniform(self, data: bytes, kind: np.dtype[Any]) -> NDArray[Any] | None:
        """Rows that all have a whole vector; None if one has not, so that they differ in length."""
        tail = 2 if len(data) % kind.itemsize == 2 else 0  # the trailer of the last block
        if len(data) % kind.itemsize != tail:
            return None
        rows = np.frombuffer(data, kind, len(data) // kind.itemsize)
        fields, size = 1 + (self.key is not None), kind["value"].itemsize
        whole = (rows["n"] == fields) & (rows["bytes"] == size) & self._whole(rows["value"])
        if self.key is not None:
            whole &= rows["key_bytes"] == kind["key"].itemsize
        return rows if whole.all() else None

    def _whole(self, values: NDArray[Any]) -> NDArray[np.bool_]:
        whole = values["dim"] == self.dim
        return np.asarray(whole if self.cast == "vector" else whole & (values["axes"] == 1) & (values["nulls"] == 0))

    def _matrix(self, values: Sequence[bytes | None], first: int) -> NDArray[np.float32]:
        kind = self._value_type()
        if values and all(value is not None and len(value) == kind.itemsize for value in values):
            whole = np.frombuffer(b"".join(value for value in values if value is not None), kind)
            if self._whole(whole).all():
                numbers = whole["v"] if self.cast == "vector" else whole["v"]["value"]
                return np.asarray(numbers, np.float32)
        missing = np.full(self.dim, np.nan, np.float32)
        rows = [missing if value is None else self._vector(value, first + at) for at, value in enumerate(values)]
        return np.stack(rows) if rows else np.empty((0, self.dim), np.float32)

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


def _fields(data: bytes, n: int) -> list[list[bytes | None]]:
    """The `n` columns of rows of a binary COPY."""
    columns: list[list[bytes | None]] = [[] for _ in range(n)]
    place = 0
    while place + 2 <= len(data) and struct.unpack_from(">h", data, place)[0] != -1:
        place += 2
        for column in columns:
            size, place = struct.unpack_from(">i", data, place)[0], place + 4
            column.append(None if size < 0 else data[place : place + size])
            place += max(size, 0)
    return columns


def _pieces(copied: Any, size: int) -> Iterator[bytes]:  # noqa: ANN401 - messages of psycopg, one a row
    """Rows of a binary COPY, so many at a time."""
    head = _HEADER
    messages = iter(copied)
    while piece := list(islice(messages, size)):
        yield b"".join(piece)[head:]
        head = 0


@contextmanager
def connection_to(url: DatabaseUrl, failure: type[UnconeError] | None = None) -> Iterator[Any]:
    """A connection whose work is kept at the end, or not at all; errors of PostgreSQL become ours, in a line.

    It only reads, unless there is a `failure`: the error of whoever writes.
    """
    import psycopg

    secret = {"password": url.password} if url.password else {}
    try:
        with psycopg.connect(
            url.base, connect_timeout=_SECONDS, fallback_application_name="uncone", **secret
        ) as connection:
            connection.read_only = failure is None
            # A scan that starts where another one is, or that several processes share, would give the rows another
            # order each time.
            connection.execute("SET synchronize_seqscans = off")
            connection.execute("SET max_parallel_workers_per_gather = 0")
            yield connection
    except psycopg.Error as error:
        reason = without_secrets(next(iter(str(error).splitlines()), type(error).__name__))
        if isinstance(error, psycopg.OperationalError) and (error.sqlstate or "08").startswith(_BROKEN):
            message = f"{url.name} can't be reached ({reason}). Check host, user and password."
            raise (failure or MissingSourceError)(message) from error
        raise (failure or FormatError)(f"{url.name}: {reason.rstrip('.')}.") from error


def _relation(url: DatabaseUrl) -> str:
    """The rows as something to select from."""
    if "query" in url.values:
        inner = f"({url.values['query'].rstrip().rstrip(';')}) AS own"
    else:
        inner = quoted_path(url.values["table"])
    where = f" WHERE ({url.values['where']})" if url.values.get("where") else ""
    return f"(SELECT * FROM {inner}{where}) AS vectors"


def quoted_path(table: str) -> str:
    """The name of a table, perhaps with its schema, as SQL takes it."""
    return ".".join(quoted(part) for part in table.split("."))


def quoted(name: str) -> str:
    """A name as SQL takes it."""
    return '"' + name.replace('"', '""') + '"'
