"""Writers of vectors, one class per file format, with the columns beside the vectors where the format has room."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import math
import re
import shutil
import tempfile
import zipfile
from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import date, time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from uncone.data.batch import Matrix
from uncone.data.storage.path import opened
from uncone.data.tables.fields import clipped, is_number
from uncone.data.writing.side_columns import VECTOR, SideColumns, SideValues
from uncone.errors import OptionError

if TYPE_CHECKING:
    pass

__all__ = [
    "FileSink",
    "JsonSink",
    "NpySink",
    "NpzSink",
    "ParquetSink",
    "Plan",
    "SafetensorsSink",
    "Sink",
    "TableSink",
    "WordSink",
    "number_texts",
]

_NPY_HEAD = 128


@dataclass(frozen=True)
class Plan:
    """What is to be written: rows of `dim` numbers, the columns beside them, and what the vectors are called.

    `rows` is None when only reading tells. `others` are arrays of an .npz that go from its file into a new one.
    `layers` name the equal parts of a vector that become columns or tensors of their own.
    """

    dim: int
    dtype: np.dtype[Any]
    rows: int | None
    carried: SideColumns
    suffix: str
    name: str = VECTOR
    others: tuple[Path, tuple[str, ...]] | None = None
    layers: tuple[str, ...] = ()

    def split(self, vectors: Matrix) -> list[Matrix]:
        """The columns or tensors that vectors are written as."""
        return [np.ascontiguousarray(part) for part in np.split(vectors, len(self.layers) or 1, axis=1)]


class Sink(ABC):
    """A file that is being written: `write` some rows after others, then `close`."""

    holds_columns = False
    """Whether the columns beside the vectors find a place."""

    @abstractmethod
    def __init__(self, path: Path, plan: Plan) -> None: ...

    @abstractmethod
    def write(self, vectors: Matrix, values: SideValues) -> None:
        """The next rows."""

    @abstractmethod
    def close(self, rows: int) -> None:
        """The end, after so many rows."""

    @abstractmethod
    def abandon(self) -> None:
        """Let go of the file, whatever is in it."""


class FileSink(Sink):
    """One file, opened for bytes."""

    def __init__(self, path: Path, plan: Plan) -> None:
        self.plan = plan
        self.file: IO[bytes] = path.open("wb")

    def close(self, rows: int) -> None:
        self.file.close()

    def abandon(self) -> None:
        self.file.close()


class NpySink(FileSink):
    """NumPy's .npy; its head is written again at the end, when the rows are counted."""

    def __init__(self, path: Path, plan: Plan) -> None:
        super().__init__(path, plan)
        self.file.write(_npy_head(plan.rows or 0, plan))

    def write(self, vectors: Matrix, values: SideValues) -> None:
        self.file.write(vectors.data.cast("B"))

    def close(self, rows: int) -> None:
        self.file.seek(0)
        self.file.write(_npy_head(rows, self.plan))
        self.file.close()


class NpzSink(Sink):
    """One array of an .npz archive, not compressed, as np.savez writes it.

    A zip archive cannot be corrected behind one's back: rows that nobody counted wait in an unnamed file.
    """

    def __init__(self, path: Path, plan: Plan) -> None:
        self.plan = plan
        self.archive = zipfile.ZipFile(path, "w", zipfile.ZIP_STORED, allowZip64=True)
        self.spool = None if plan.rows is not None else tempfile.TemporaryFile(dir=path.parent)  # noqa: SIM115
        if plan.others is not None:
            self._copy(*plan.others)
        self.member: IO[bytes] | None = None
        if self.spool is None:
            self._begin(plan.rows or 0)

    def _begin(self, rows: int) -> IO[bytes]:
        self.member = self.archive.open(f"{self.plan.name}.npy", "w", force_zip64=True)
        self.member.write(_npy_head(rows, self.plan))
        return self.member

    def _copy(self, path: Path, names: tuple[str, ...]) -> None:
        with opened(path) as file, zipfile.ZipFile(file) as archive:
            for name in names:
                with archive.open(name) as old, self.archive.open(name, "w", force_zip64=True) as new:
                    shutil.copyfileobj(old, new, 1 << 20)

    def write(self, vectors: Matrix, values: SideValues) -> None:
        target: Any = self.spool or self.member
        target.write(vectors.data.cast("B"))

    def close(self, rows: int) -> None:
        if self.spool is not None:
            member = self._begin(rows)
            self.spool.seek(0)
            shutil.copyfileobj(self.spool, member, 1 << 20)
            self.spool.close()
        if self.member is not None:
            self.member.close()
        self.archive.close()

    def abandon(self) -> None:
        # On a full disk each of them fails, and what is not closed here complains when it is collected.
        for part in (self.member, self.spool, self.archive):
            if part is not None:
                with contextlib.suppress(OSError, ValueError):
                    part.close()


class SafetensorsSink(FileSink):
    """A tensor, or one per layer, of a .safetensors file; its header has room for any number of rows.

    Several tensors follow each other, so their rows have to be counted before.
    """

    def __init__(self, path: Path, plan: Plan) -> None:
        super().__init__(path, plan)
        self.names = plan.layers or (plan.name,)
        self.dim = plan.dim // len(self.names)
        self.room = len(self._header(0)) + 64 * len(self.names)
        self.room += -self.room % 8
        self.row = 0
        self._put_header(plan.rows or 0)

    def _size(self, rows: int) -> int:
        return rows * self.dim * self.plan.dtype.itemsize

    def _header(self, rows: int) -> bytes:
        size, kind = self._size(rows), f"F{8 * self.plan.dtype.itemsize}"
        tensors = {
            name: {"dtype": kind, "shape": [rows, self.dim], "data_offsets": [i * size, (i + 1) * size]}
            for i, name in enumerate(self.names)
        }
        return json.dumps(tensors).encode()

    def _put_header(self, rows: int) -> None:
        self.file.write(self.room.to_bytes(8, "little") + self._header(rows).ljust(self.room))

    def write(self, vectors: Matrix, values: SideValues) -> None:
        for i, part in enumerate(self.plan.split(vectors)):
            if len(self.names) > 1:
                self.file.seek(8 + self.room + i * self._size(self.plan.rows or 0) + self._size(self.row))
            self.file.write(part.data.cast("B"))
        self.row += len(vectors)

    def close(self, rows: int) -> None:
        self.file.seek(0)
        self._put_header(rows)
        self.file.close()


class WordSink(FileSink):
    """Word vectors as text: .txt as GloVe writes it, .vec as word2vec and fastText do, with "rows dim" on top."""

    def __init__(self, path: Path, plan: Plan) -> None:
        word_columns = [name for name in plan.carried.names if name in ("word", "text")]
        if not word_columns:
            raise OptionError(
                f"A {plan.suffix} file stores a word with every vector, but this source has no words. "
                "Write .npy, .parquet or .jsonl."
            )
        super().__init__(path, plan)
        self.place = plan.carried.names.index(word_columns[0])
        self.row = 0
        self._top(0)

    def _top(self, rows: int) -> None:
        if self.plan.suffix == ".vec":
            self.file.write(f"{rows} {self.plan.dim}".ljust(40).encode() + b"\n")

    def write(self, vectors: Matrix, values: SideValues) -> None:
        lines = []
        for word, numbers in zip(values.lists()[self.place], number_texts(vectors), strict=True):
            lines.append(f"{self._check_word(word)} {' '.join(numbers)}\n")
            self.row += 1
        self.file.write("".join(lines).encode("utf-8", "replace"))

    def _check_word(self, word: Any) -> str:  # noqa: ANN401 - a value of a column
        text = "" if word is None else str(word)
        parts = re.split(r"\s", text)
        if "" in parts or "\n" in text or any(map(is_number, parts[1:])):
            raise OptionError(
                f"Row {self.row:,} is {clipped(text)!r}, which a file of word vectors can't store: spaces separate "
                "its numbers. Write .parquet or .jsonl."
            )
        return text

    def close(self, rows: int) -> None:
        self.file.seek(0)
        self._top(rows)
        self.file.close()


def number_texts(vectors: Matrix) -> list[list[str]]:
    """The numbers of every row, with as many digits as their precision needs to come back the same.

    >>> number_texts(np.array([[0.1, float("nan")]], np.float32))
    [['0.1', 'nan']]
    """
    texts: list[list[str]] = vectors.astype(str).tolist()
    return texts


def _npy_head(rows: int, plan: Plan) -> bytes:
    header = f"{{'descr': '{plan.dtype.str}', 'fortran_order': False, 'shape': ({rows}, {plan.dim}), }}"
    size = _NPY_HEAD - 10
    return b"\x93NUMPY\x01\x00" + size.to_bytes(2, "little") + header.ljust(size - 1).encode() + b"\n"


class ParquetSink(Sink):
    """Parquet: vectors as lists of a fixed size; the other columns with their types. Each block is a row group."""

    holds_columns = True

    def __init__(self, path: Path, plan: Plan) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self.plan, self.fields = plan, plan.carried.fields()
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
        wide, names = self.plan.carried.wide, set(self.plan.carried.names)
        if wide is None:
            return [self.plan.carried.vector]
        if len(wide) == self.plan.dim:
            return wide
        stem = next(stem for stem in ("dim_", "vector_", "number_of_vector_") if f"{stem}0" not in names)
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
