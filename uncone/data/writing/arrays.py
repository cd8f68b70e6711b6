"""Vectors into files that hold numbers and nothing else: .npy, .npz, .safetensors, word vectors."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import tempfile
import zipfile
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from uncone.data.batch import Matrix
from uncone.data.side_columns.columns import VECTOR, SideColumns, SideValues
from uncone.data.tables.fields import clipped, is_number
from uncone.errors import OptionError

__all__ = ["FileSink", "NpySink", "NpzSink", "Plan", "SafetensorsSink", "Sink", "WordSink", "number_texts"]

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
        with zipfile.ZipFile(path) as archive:
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
        named = [name for name in plan.carried.names if name in ("word", "text")]
        if not named:
            raise OptionError(
                f"A {plan.suffix} file holds a word before every vector, and this source has no words. "
                "Write .npy, .parquet or .jsonl."
            )
        super().__init__(path, plan)
        self.place = plan.carried.names.index(named[0])
        self.row = 0
        self._top(0)

    def _top(self, rows: int) -> None:
        if self.plan.suffix == ".vec":
            self.file.write(f"{rows} {self.plan.dim}".ljust(40).encode() + b"\n")

    def write(self, vectors: Matrix, values: SideValues) -> None:
        lines = []
        for word, numbers in zip(values.lists()[self.place], number_texts(vectors), strict=True):
            lines.append(f"{self._checked(word)} {' '.join(numbers)}\n")
            self.row += 1
        self.file.write("".join(lines).encode("utf-8", "replace"))

    def _checked(self, word: Any) -> str:  # noqa: ANN401 - a value of a column
        text = "" if word is None else str(word)
        parts = re.split(r"\s", text)
        if "" in parts or "\n" in text or any(map(is_number, parts[1:])):
            raise OptionError(
                f"Row {self.row:,} is {clipped(text)!r}, which a file of word vectors cannot hold: spaces part its "
                "numbers. Write .parquet or .jsonl."
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
    found: list[list[str]] = vectors.astype(str).tolist()
    return found


def _npy_head(rows: int, plan: Plan) -> bytes:
    told = f"{{'descr': '{plan.dtype.str}', 'fortran_order': False, 'shape': ({rows}, {plan.dim}), }}"
    size = _NPY_HEAD - 10
    return b"\x93NUMPY\x01\x00" + size.to_bytes(2, "little") + told.ljust(size - 1).encode() + b"\n"
