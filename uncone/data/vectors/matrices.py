"""Matrices stored as plain numbers: .npy, .npz and .safetensors, read by offset; .npy also from a pipe."""

from __future__ import annotations

import json
import math
import os
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from uncone.data.batch import batch_rows
from uncone.data.buffers import borrow, give_back
from uncone.data.source import BLOCK, Options, Place, Rows, Source, check_dtype, check_shape
from uncone.data.storage.path import ObjectPath, local_copy, opened
from uncone.data.tables.read import check_columns
from uncone.data.vectors.shards import NamedRows
from uncone.errors import ColumnError, DtypeError, FormatError

__all__ = [
    "NpyStream",
    "Npz",
    "RawMatrix",
    "open_npy",
    "open_npz",
    "open_safetensors",
    "safetensors_header",
]

_BFLOAT16 = "bfloat16"
_FETCHED = 1 << 24  # bytes of a request to storage


@dataclass
class RawMatrix(Source):
    """`shape` numbers of `dtype` from byte `offset` of a file; row by row, or column by column (`by_column`).

    Reads go through `pread` into one buffer that stays in the cache; a memory map would count every page as ours.
    """

    path: Path
    offset: int
    stored: np.dtype[np.generic]
    shape: tuple[int, ...]
    name: str
    kind: str
    by_column: bool = False
    bfloat16: bool = False

    def __post_init__(self) -> None:
        """Check what the header promised against the file."""
        check_dtype(self.name, np.dtype(np.float32) if self.bfloat16 else self.stored)
        self.rows, self.dim = check_shape(self.name, self.shape)
        self.dtype = _BFLOAT16 if self.bfloat16 else self.stored.name
        # Column by column, a part of the rows is all over the file: from storage, all of it is fetched once.
        self.random_access = not (self.by_column and isinstance(self.path, ObjectPath))
        expected = self.offset + self.rows * self.dim * self.stored.itemsize
        size = self.path.stat().st_size
        if size < expected:
            raise FormatError(
                f"{self.name} is truncated: its header promises {self.rows:,} x {self.dim} ({expected:,} bytes), "
                f"the file has {size:,}. Copy or write it again."
            )

    def stored_bytes(self) -> int:
        return math.prod(self.shape) * self.stored.itemsize

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Rows]:
        return self.read_into(lambda rows: None, start, self.shape[0] if stop is None else stop)

    def read_into(self, place: Place, start: int, stop: int) -> Iterator[Rows]:
        stop = min(stop, self.shape[0])
        if self.by_column:
            with local_copy(self.path) as file:
                yield from self._read_columns(file, start, stop)
            return
        if isinstance(self.path, ObjectPath):
            yield from self._read_object(self.path, start, stop)
            return
        size = batch_rows(self.dim)
        buffer = borrow(size, self.dim, self.stored)
        try:
            with self.path.open("rb", buffering=0) as file:
                for first in range(start, stop, size):
                    rows = min(size, stop - first)
                    target = None if self.bfloat16 else place(rows)
                    block = buffer[:rows] if target is None or target.dtype != self.stored else target
                    self._fill(file.fileno(), block, first)
                    yield Rows(self._numbers(block))
        finally:
            give_back(buffer)

    def _fill(self, descriptor: int, block: NDArray[np.generic], first: int) -> None:
        view = memoryview(block.view(np.uint8).reshape(-1).data)
        position = self.offset + first * self.dim * self.stored.itemsize
        while len(view):
            count = os.preadv(descriptor, [view], position)
            if count == 0:
                raise FormatError(f"{self.name} shrank while being read. Is something writing to it?")
            view, position = view[count:], position + count

    def _read_object(self, path: ObjectPath, start: int, stop: int) -> Iterator[Rows]:
        """Rows of an object, by ranges of some megabytes: each of them takes a request."""
        width = self.dim * self.stored.itemsize
        count = max(_FETCHED // width, 1)
        with path.open("rb", buffering=0) as file:
            for first in range(start, stop, count):
                rows = min(count, stop - first)
                file.seek(self.offset + first * width)
                data = file.read(rows * width)
                if len(data) < rows * width:
                    raise FormatError(f"{self.name} shrank while being read. Is something writing to it?")
                yield Rows(self._numbers(np.frombuffer(data, self.stored).reshape(rows, self.dim)))

    def _read_columns(self, file: Path, start: int, stop: int) -> Iterator[Rows]:
        table = np.memmap(file, self.stored, "r", self.offset, (self.rows or 0, self.dim), order="F")
        for first in range(start, stop, BLOCK):
            yield Rows(self._numbers(np.ascontiguousarray(table[first : min(first + BLOCK, stop)])))

    def _numbers(self, block: NDArray[np.generic]) -> NDArray[np.generic]:
        if not self.bfloat16:
            return block
        return (block.astype(np.uint32) << np.uint32(16)).view(np.float32)


Header = tuple[tuple[int, ...], bool, "np.dtype[np.generic]"]


def open_npy(path: Path, options: Options) -> Source:
    """A .npy file, read by offset."""
    with path.open("rb") as file:
        shape, fortran, dtype = _header(file, str(path))
        offset = file.tell()
    by_column = fortran and len(shape) == 2
    return RawMatrix(path, offset, dtype, shape, str(path), "npy", by_column=by_column)


def open_npz(path: Path, options: Options) -> Source:
    """One 2-D array of an .npz archive: the only one, or the one that `--column` names.

    Raises:
        FormatError: not a zip archive.
        ColumnError: no such array, or several to choose from.
    """
    try:
        with opened(path) as file, zipfile.ZipFile(file) as archive:
            members = [name for name in archive.namelist() if name.endswith(".npy")]
            headers = {name.removesuffix(".npy"): _member_header(archive, path, name) for name in members}
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, zlib.error, EOFError) as error:
        reason = ascii(" ".join(str(error).split())).strip("'\"")[:80]
        raise FormatError(f"{path} is not a readable .npz archive ({reason}). Write it again with np.savez.") from error
    name = options.column or _only_table(path, headers, {options.text, options.label})
    check_columns(path, sorted(headers), [("column", name)], "array")
    texts = _strings(path, options.text, headers, "text")
    return NamedRows.of(Npz(path, name, *headers[name]), texts, _strings(path, options.label, headers, "label"))


class NpyStream(Source):
    """The .npy bytes of a stream that can be read only once, such as standard input."""

    rereadable = False

    def __init__(self, stream: IO[bytes], name: str, *, close: bool = False) -> None:
        self.stream = stream
        self.close = close
        self.name = name
        self.kind = "npy"
        shape, fortran, dtype = _header(stream, name)
        self._describe(shape, fortran, dtype)

    def _describe(self, shape: tuple[int, ...], fortran: bool, dtype: np.dtype[np.generic]) -> None:
        check_dtype(self.name, dtype)
        self.rows, self.dim = check_shape(self.name, shape)
        self.by_column = fortran and self.dim > 1
        self.dtype, self._stored = dtype.name, dtype

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Rows]:
        try:
            yield from self._blocks(self.stream, stop)
        finally:
            if self.close:
                self.stream.close()

    def _blocks(self, stream: IO[bytes], stop: int | None) -> Iterator[Rows]:
        left = self.rows if stop is None else stop
        if self.by_column:
            # Column by column: the last number of the first row stands near the end, so all has to be there.
            data = _exactly(stream, (self.rows or 0) * self.dim * self._stored.itemsize, self.name)
            yield Rows(np.frombuffer(data, self._stored).reshape(self.dim, -1).T)
            return
        while left:
            count = min(BLOCK, left)
            data = _exactly(stream, count * self.dim * self._stored.itemsize, self.name)
            yield Rows(np.frombuffer(data, self._stored).reshape(count, self.dim))
            left -= count


class Npz(NpyStream):
    """One array of an .npz archive, decompressed as it is read."""

    rereadable = True

    def __init__(
        self, path: Path, member: str, shape: tuple[int, ...], fortran: bool, dtype: np.dtype[np.generic]
    ) -> None:
        self.path = path
        self.member = member
        self.name = f"{path}[{member}]"
        self.kind = "npz"
        self._describe(shape, fortran, dtype)

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Rows]:
        with opened(self.path) as file, zipfile.ZipFile(file) as archive, archive.open(f"{self.member}.npy") as stream:
            _header(stream, self.name)
            try:
                yield from self._blocks(stream, stop)
            except (zipfile.BadZipFile, zlib.error, EOFError) as error:
                raise FormatError(f"{self.name} is damaged ({error}). Copy or write it again.") from error


def _header(stream: IO[bytes], name: str) -> Header:
    magic = stream.read(6)
    if not magic:
        raise FormatError(f"{name} is empty (0 bytes). We need a .npy array of rows x dimensions.")
    if magic != b"\x93NUMPY":
        content = "a Python pickle, which is never loaded" if magic[:1] == b"\x80" else "not a .npy array"
        raise FormatError(f"{name} is {content}: its first bytes are {magic!r}. Write it with np.save.")
    try:
        version = tuple(stream.read(2))
        if version not in ((1, 0), (2, 0), (3, 0)):
            raise ValueError(f"version {version}")
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # headers of Python 2 are read, and are none of our business
            shape, fortran, dtype = read(stream)
    except (ValueError, TypeError, SyntaxError, RecursionError, tokenize.TokenError) as error:
        reason = ascii(" ".join(str(error).split())).strip("'\"")[:80]
        raise FormatError(f"{name} has a damaged .npy header ({reason}). Copy or write it again.") from error
    return shape, fortran, dtype


def _member_header(archive: zipfile.ZipFile, path: Path, member: str) -> Header:
    with archive.open(member) as stream:
        return _header(stream, f"{path}[{member}]")


def _only_table(path: Path, headers: dict[str, Header], others: set[str | None]) -> str:
    tables = [name for name, (shape, _, dtype) in headers.items() if len(shape) == 2 and dtype.kind in "fiu"]
    tables = [name for name in tables if name not in others]
    if len(tables) == 1:
        return tables[0]
    contents = ", ".join(f"{name} {shape} {dtype}" for name, (shape, _, dtype) in headers.items()) or "nothing"
    if tables:
        raise ColumnError(f"{path} has several 2-D arrays: {contents}. Name one with --column NAME.")
    raise ColumnError(f"{path} has no 2-D array of numbers, only {contents}. Save rows of floats with np.savez.")


def _strings(path: Path, name: str | None, headers: dict[str, Header], option: str) -> list[str] | None:
    if name is None:
        return None
    check_columns(path, sorted(headers), [(option, name)], "array")
    if headers[name][2].kind == "O":
        check_dtype(f"{path}[{name}]", headers[name][2])
    with opened(path) as file, np.load(file, allow_pickle=False) as archive:
        return [str(value) for value in archive[name].ravel()]


def _exactly(stream: IO[bytes], size: int, name: str) -> bytearray:
    data = bytearray(size)
    view, have = memoryview(data), 0
    while have < size:
        part = stream.read(min(size - have, 1 << 24))
        if not part:
            raise FormatError(f"{name} is truncated: it ended {size - have:,} bytes early. Copy or write it again.")
        view[have : have + len(part)] = part
        have += len(part)
    return data


_DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I8": "i1", "U8": "u1"}


def open_safetensors(path: Path, options: Options) -> Source:
    """The only 2-D tensor of the file, or the one that `--tensor` names.

    Raises:
        ColumnError: no such tensor, or several to choose from.
        DtypeError: numbers that are not vectors.
    """
    header, data = safetensors_header(path)
    name = options.tensor or _only_matrix(path, header)
    if name not in header:
        raise ColumnError(f"{path} has no tensor {name!r}; it has {_list_tensors(header)}. Try --tensor NAME.")
    entry = header[name]
    if entry["dtype"] not in _DTYPES:
        raise DtypeError(f"{path}[{name}] holds {entry['dtype']} numbers; vectors are float, or int8/uint8.")
    return RawMatrix(
        path,
        data + int(entry["data_offsets"][0]),
        np.dtype(_DTYPES[entry["dtype"]]),
        tuple(entry["shape"]),
        f"{path}[{name}]",
        "safetensors",
        bfloat16=entry["dtype"] == "BF16",
    )


def safetensors_header(path: Path) -> tuple[dict[str, Any], int]:
    """The tensors of a .safetensors file by name, and the byte where their data begin."""
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if size < 8 or length > size - 8:
            raise FormatError(f"{path} is not a complete .safetensors file ({size:,} bytes). Copy or write it again.")
        try:
            header = json.loads(file.read(length))
            header.pop("__metadata__", None)
            well_formed = all(_well_formed(entry) for entry in header.values())
        except (ValueError, AttributeError, TypeError, KeyError, RecursionError) as error:
            raise FormatError(f"{path} has a damaged .safetensors header. Copy or write it again.") from error
    if not well_formed:
        raise FormatError(f"{path} has a damaged .safetensors header. Copy or write it again.")
    return header, 8 + length


def _well_formed(entry: dict[str, Any]) -> bool:
    """Whether an entry says a type, a shape, and a place of just that size."""
    dtype, shape, (first, last) = entry["dtype"], entry["shape"], entry["data_offsets"]
    whole = all(type(number) is int and number >= 0 for number in [*shape, first, last])
    if not whole or not isinstance(dtype, str):
        return False
    return dtype not in _DTYPES or last - first == math.prod(shape) * np.dtype(_DTYPES[dtype]).itemsize


def _only_matrix(path: Path, header: dict[str, Any]) -> str:
    matrices = [name for name, entry in header.items() if len(entry["shape"]) == 2]
    if len(matrices) == 1:
        return matrices[0]
    if not matrices:
        raise ColumnError(f"{path} has no 2-D tensor: {_list_tensors(header)}. We need a matrix of rows x dimensions.")
    several = _list_tensors({name: header[name] for name in matrices})
    raise ColumnError(f"{path} has several 2-D tensors: {several}. Name one with --tensor NAME.")


def _list_tensors(header: dict[str, Any], most: int = 12) -> str:
    names = [f"{name} {tuple(entry['shape'])}" for name, entry in header.items()]
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return (", ".join(names[:most]) or "nothing") + more
