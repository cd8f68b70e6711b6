"""PostgreSQL with pgvector: a new table, or a new column of a table that has the same keys, by binary COPY.

All of it is one transaction: others see the whole table or column, or none.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa

from uncone.data.batch import Matrix
from uncone.data.vectors.databases.postgres import NUMBERS, TYPE, connection_to, quoted, quoted_path
from uncone.data.writing.databases.target import Target, refuse_existing
from uncone.data.writing.plain_values import plain_values
from uncone.data.writing.side_columns import VECTOR, SideValues
from uncone.data.writing.sinks import Plan, Sink
from uncone.errors import OutputError

__all__ = ["PostgresTarget"]

_HEAD = b"PGCOPY\n\xff\r\n\0" + struct.pack(">ii", 0, 0)
_END = struct.pack(">h", -1)
_NULL = struct.pack(">i", -1)
_KEYED = "uncone_vectors"
"""The table that new vectors wait in, with their keys, until they are moved."""


class PostgresTarget(Target):
    """A new table; with `key`, the table may exist, and the vectors become a new column of it."""

    package, extra = "psycopg", "postgres"

    def check(self) -> None:
        self.url.check("table", "column", "key")
        table = quoted_path(self.url.required("table"))
        with connection_to(self.url, OutputError) as connection:
            if self.is_filled(connection):
                self._check_columns(connection, table)
                connection.execute(f"ALTER TABLE {table} ADD COLUMN {quoted(self.column(VECTOR))} vector")
            else:
                connection.execute(f"CREATE TABLE {table} ({quoted(self.column(VECTOR))} vector)")
            connection.rollback()  # it was only tried

    def column(self, own: str) -> str:
        """The column of the vectors, which may be called as they were."""
        return self.url.values.get("column", own)

    def is_filled(self, connection: Any) -> bool:  # noqa: ANN401 - of psycopg
        """Whether the table exists, so that it gets a new column.

        Raises:
            OutputError: it exists, and no key is named.
        """
        table = quoted_path(self.url.values["table"])
        exists = connection.execute("SELECT to_regclass(%s)", [table]).fetchone()[0] is not None
        advice = "Name another table, or add &column=...&key=... to fill a new column of it, row by row."
        refuse_existing(self.name, exists and not {"column", "key"} <= set(self.url.values), advice)
        return exists

    def _check_columns(self, connection: Any, table: str) -> None:  # noqa: ANN401
        cursor = connection.execute(f"SELECT * FROM {table} LIMIT 0")
        names = [column.name for column in cursor.description]
        column, key = self.url.values["column"], self.url.values["key"]
        refuse_existing(f"Column {column} of {self.name}", column in names, "Name another column.")
        if key not in names:
            raise OutputError(f"{self.name} has no column {key!r} for key=. Its columns are {', '.join(names)}.")

    @contextmanager
    def open(self, plan: Plan) -> Iterator[Sink]:
        with connection_to(self.url, OutputError) as connection:
            kind = _ColumnSink if self.is_filled(connection) else _TableSink
            yield kind(self, connection, plan)


class _TableSink(Sink):
    """A new table: vectors, and all columns beside them."""

    holds_columns = True

    def __init__(self, target: PostgresTarget, connection: Any, plan: Plan) -> None:  # noqa: ANN401
        self.target, self.connection, self.plan = target, connection, plan
        self.fields, self.key = plan.carried.fields(), target.url.values.get("key")
        self.column = target.column(plan.carried.vector)
        self.table = quoted_path(target.url.values["table"])
        self.begin()

    def begin(self) -> None:
        """Make the table."""
        columns = [f"{quoted(field.name)} {_type(field)[0]}" for field in self.fields]
        columns.insert(self.plan.carried.place, f"{quoted(self.column)} vector({self.plan.dim})")
        if self.key is not None and self.key not in [field.name for field in self.fields]:
            raise OutputError(f"The vectors have no column {self.key!r} beside them for key=.")
        self.connection.execute(f"CREATE TABLE {self.table} ({', '.join(columns)})")

    def write(self, vectors: Matrix, values: SideValues) -> None:
        arrays = values.arrow(self.fields) if self.fields else []
        columns = [_encoded(array, _type(field)[0]) for array, field in zip(arrays, self.fields, strict=True)]
        columns.insert(self.plan.carried.place, _vectors(vectors))
        self.copy(self.table, columns)

    def copy(self, table: str, columns: Sequence[list[bytes]]) -> None:
        """Send rows, given as the fields of their columns."""
        start = struct.pack(">h", len(columns))
        rows = b"".join(start + b"".join(fields) for fields in zip(*columns, strict=True))
        with self.connection.cursor() as cursor, cursor.copy(f"COPY {table} FROM STDIN (FORMAT binary)") as copied:
            copied.write(_HEAD + rows + _END)

    def close(self, rows: int) -> None:
        types = [(quoted(field.name), *_type(field)) for field in self.fields]
        changes = [
            f"ALTER COLUMN {name} TYPE {kind} USING {name}::{kind}" for name, sent, kind in types if sent != kind
        ]
        if self.key is not None:
            changes.append(f"ADD PRIMARY KEY ({quoted(self.key)})")
        if changes:
            self.connection.execute(f"ALTER TABLE {self.table} {', '.join(changes)}")

    def abandon(self) -> None:
        """Nothing: the transaction is rolled back when its connection closes."""


class _ColumnSink(_TableSink):
    """A new column of a table that exists: each vector goes to the row with its key."""

    def begin(self) -> None:
        names = [field.name for field in self.fields]
        if self.key not in names:
            raise OutputError(
                f"The vectors have no column {self.key!r} beside them, so it's not known which row each belongs to. "
                f"Their columns are {', '.join(names) or 'none'}."
            )
        self.at = names.index(self.key)
        self.sent, self.kind = _type(self.fields[self.at])
        columns = f"(key {self.sent}, vector vector({self.plan.dim}))"
        self.connection.execute(f"CREATE TEMPORARY TABLE {_KEYED} {columns} ON COMMIT DROP")

    def write(self, vectors: Matrix, values: SideValues) -> None:
        keys = _encoded(values.arrow(self.fields)[self.at], self.sent)
        self.copy(_KEYED, [keys, _vectors(vectors)])

    def close(self, rows: int) -> None:
        name, key = quoted(self.column), quoted(self.key or "")
        self.connection.execute(f"ALTER TABLE {self.table} ADD COLUMN {name} vector({self.plan.dim})")
        changed = self.connection.execute(
            f"UPDATE {self.table} AS own SET {name} = sent.vector FROM {_KEYED} AS sent "
            f"WHERE own.{key} = sent.key::{self.kind}"
        ).rowcount
        keys = self.connection.execute(f"SELECT count(DISTINCT key) FROM {_KEYED}").fetchone()[0]
        if not keys == changed == rows:
            raise OutputError(
                f"{self.target.name}: {rows:,} vectors with {keys:,} values of {self.key} match {changed:,} rows. A "
                "vector needs a row of its own. Nothing was changed."
            )


def _vectors(vectors: Matrix) -> list[bytes]:
    """The field of each vector; NULL where it is not all numbers, which pgvector does not take."""
    dim = vectors.shape[1]
    parts: list[Any] = [("bytes", ">i4"), ("dim", ">i2"), ("unused", ">i2"), ("v", ">f4", dim)]
    rows = np.zeros(len(vectors), parts)
    with np.errstate(over="ignore"):
        rows["bytes"], rows["dim"], rows["v"] = 4 + 4 * dim, dim, vectors
    size, data = rows.itemsize, rows.tobytes()
    whole = np.isfinite(rows["v"]).all(axis=1).tolist()
    return [data[at * size : (at + 1) * size] if usable else _NULL for at, usable in enumerate(whole)]


def _type(field: pa.Field) -> tuple[str, str]:
    """The type that a column is sent as, and the type that it becomes at the end."""
    kind, metadata = field.type, field.metadata or {}
    if TYPE in metadata:
        return "text", metadata[TYPE].decode()
    if kind in _NUMBERS:
        return _NUMBERS[kind], _NUMBERS[kind]
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return "bytea", "bytea"
    if pa.types.is_timestamp(kind):
        return "text", "timestamp" if kind.tz is None else "timestamptz"
    if pa.types.is_nested(kind):
        return "text", "jsonb"
    others = {pa.date32(): "date", pa.uint64(): "numeric"}
    return "text", "numeric" if pa.types.is_decimal(kind) else others.get(kind, "text")


_NUMBERS = {
    pa.int8(): "int2",
    pa.uint8(): "int2",
    pa.uint16(): "int4",
    pa.uint32(): "int8",
    pa.float16(): "float4",
    **{kind: name for name, (_, kind) in NUMBERS.items()},
}


def _encoded(array: pa.Array, kind: str) -> list[bytes]:
    """The field of each value of a column, sent as this type."""
    values = array.to_pylist()
    if kind in NUMBERS:
        kind_of_field = np.dtype([("bytes", ">i4"), ("value", NUMBERS[kind][0])])
        rows = np.zeros(len(values), kind_of_field)
        rows["bytes"] = kind_of_field["value"].itemsize
        rows["value"] = [0 if value is None else value for value in values]
        size, data = kind_of_field.itemsize, rows.tobytes()
        return [_NULL if value is None else data[at * size : (at + 1) * size] for at, value in enumerate(values)]
    fields = [value if value is None or isinstance(value, bytes) else _text(value).encode() for value in values]
    return [_NULL if field is None else struct.pack(">i", len(field)) + field for field in fields]


def _text(value: Any) -> str:  # noqa: ANN401 - a value of any column
    if isinstance(value, list | dict):
        return json.dumps(plain_values(value, str))
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
