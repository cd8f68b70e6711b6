"""Vectors into tables, with the columns beside them: .parquet, .csv, .tsv, .jsonl."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Sequence
from datetime import date, time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uncone.data.batch import Matrix
from uncone.data.side_columns.columns import SideValues
from uncone.data.writing.arrays import FileSink, Plan, Sink, number_texts

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["JsonSink", "ParquetSink", "ShardSink", "TableSink"]


class ParquetSink(Sink):
    """Parquet: vectors as lists of a fixed size; the other columns with their types. Each block is a row group."""

    holds_columns = True

    def __init__(self, path: Path, plan: Plan, fields: Sequence[pa.Field] | None = None) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self.plan = plan
        self.fields = plan.carried.fields() if fields is None else fields
        names = plan.layers or (plan.carried.vector,)
        kind = pa.list_(pa.float64() if plan.dtype.itemsize == 8 else pa.float32(), plan.dim // len(names))
        ordered = list(self.fields)
        ordered[plan.carried.place : plan.carried.place] = [pa.field(name, kind) for name in names]
        self.schema = pa.schema(ordered, metadata=plan.carried.metadata)
        plain = [field.name for field in self.fields if not pa.types.is_nested(field.type)]
        self.writer = pq.ParquetWriter(path, self.schema, use_dictionary=plain or False)

    def write(self, vectors: Matrix, values: SideValues) -> None:
        import pyarrow as pa

        columns = values.arrow(self.fields) if self.fields else []
        parts = self.plan.split(vectors)
        lists = [pa.FixedSizeListArray.from_arrays(pa.array(part.reshape(-1)), part.shape[1]) for part in parts]
        columns[self.plan.carried.place : self.plan.carried.place] = lists
        self.writer.write_batch(pa.record_batch(columns, schema=self.schema))

    def close(self, rows: int) -> None:
        self.writer.close()

    def abandon(self) -> None:
        self.writer.close()


class ShardSink(Sink):
    """A folder of parquet files of 65,536 rows each."""

    holds_columns = True
    _ROWS = 1 << 16

    def __init__(self, path: Path, plan: Plan) -> None:
        self.path, self.plan, self.fields = path, plan, plan.carried.fields()
        self.number = self.rows = 0
        self.shard: ParquetSink | None = None

    def write(self, vectors: Matrix, values: SideValues) -> None:
        if self.shard is None or self.rows >= self._ROWS:
            self.abandon()
            self.shard = ParquetSink(self.path / f"part-{self.number:05}.parquet", self.plan, self.fields)
            self.number, self.rows = self.number + 1, 0
        self.shard.write(vectors, values)
        self.rows += len(vectors)

    def close(self, rows: int) -> None:
        self.abandon()

    def abandon(self) -> None:
        if self.shard is not None:
            self.shard.close(self.rows)


class TableSink(FileSink):
    """.csv and .tsv: one number per column where the input had it so, else a column with the vector as a JSON list.

    One number per column keeps the names of the columns when there are as many as before; else they are numbered. They
    stand together where the first of them stood.
    """

    holds_columns = True

    def __init__(self, path: Path, plan: Plan) -> None:
        super().__init__(path, plan)
        self.tabs = plan.suffix == ".tsv"
        if plan.carried.header:
            names = list(plan.carried.names)
            names[plan.carried.place : plan.carried.place] = self._names()
            self._put([names])

    def _names(self) -> list[str]:
        wide, taken = self.plan.carried.wide, set(self.plan.carried.names)
        if wide is None:
            return [self.plan.carried.vector]
        if len(wide) == self.plan.dim:
            return wide
        stem = next(stem for stem in ("dim_", "vector_", "number_of_vector_") if f"{stem}0" not in taken)
        return [f"{stem}{i}" for i in range(self.plan.dim)]

    def write(self, vectors: Matrix, values: SideValues) -> None:
        place, wide = self.plan.carried.place, self.plan.carried.wide is not None
        columns = [[_field(value) for value in column] for column in values.lists()]
        rows = []
        for i, numbers in enumerate(number_texts(vectors)):
            row = [column[i] for column in columns]
            row[place:place] = numbers if wide else [_json_list(numbers)]
            rows.append(row)
        self._put(rows)

    def _put(self, rows: list[list[str]]) -> None:
        page = io.StringIO(newline="")
        csv.writer(page, delimiter="\t" if self.tabs else ",", lineterminator="\n").writerows(rows)
        self.file.write(page.getvalue().encode("utf-8", "replace"))


class JsonSink(FileSink):
    """JSON lines: the objects of the input with the vector in its place; a bare list stays one. NaN becomes null."""

    holds_columns = True

    def write(self, vectors: Matrix, values: SideValues) -> None:
        lines = [_json_list(numbers) for numbers in number_texts(vectors)]
        self.file.write("".join(map(self._line, self._objects(values, len(lines)), lines)).encode())

    def _objects(self, values: SideValues, n: int) -> list[dict[str, Any] | None]:
        if values.whole is not None:
            return list(values.whole)
        names, columns = self.plan.carried.names, values.lists()
        return [{name: column[i] for name, column in zip(names, columns, strict=True)} for i in range(n)]

    def _line(self, row: dict[str, Any] | None, vector: str) -> str:
        if row is None:
            return f"{vector}\n"
        name = self.plan.carried.vector
        items = {key: vector if key == name else _json(value) for key, value in row.items()} | {name: vector}
        return "{" + ", ".join(f"{_json(key)}: {value}" for key, value in items.items()) + "}\n"


def _json_list(numbers: list[str]) -> str:
    return "[" + ", ".join("null" if number in ("nan", "inf", "-inf") else number for number in numbers) + "]"


def _json(value: Any) -> str:  # noqa: ANN401 - a value of any column
    if isinstance(value, float) and not math.isfinite(value):
        return "null"
    text = json.dumps(value, ensure_ascii=False, default=_plain)
    # Half a character can be written only as an escape.
    return text if text.isascii() or text == text.encode("utf-8", "replace").decode() else json.dumps(value)


def _plain(value: Any) -> str:  # noqa: ANN401 - whatever JSON does not know
    if isinstance(value, date | time):
        return value.isoformat()
    return value.hex() if isinstance(value, bytes) else str(value)


def _field(value: Any) -> str:  # noqa: ANN401 - a value of any column
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, bool | int | float | list | dict):
        return "nan" if isinstance(value, float) and math.isnan(value) else json.dumps(value, default=_plain)
    return _plain(value)
