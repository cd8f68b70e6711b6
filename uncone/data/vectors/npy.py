"""NumPy's own files: .npy, .npz, and .npy on standard input. Pickles inside are refused."""

from __future__ import annotations

import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import numpy as np

from uncone.data.side_columns.names import NamedRows
from uncone.data.source import BLOCK, Options, Rows, Source, check_dtype, check_shape
from uncone.data.vectors.raw import RawMatrix
from uncone.errors import ColumnError, FormatError

__all__ = ["NpyStream", "Npz", "open_npy", "open_npz"]

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
        with zipfile.ZipFile(path) as archive:
            members = [name for name in archive.namelist() if name.endswith(".npy")]
            headers = {name.removesuffix(".npy"): _member_header(archive, path, name) for name in members}
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, zlib.error, EOFError) as error:
        reason = ascii(" ".join(str(error).split())).strip("'\"")[:80]
        raise FormatError(f"{path} is not a readable .npz archive ({reason}). Write it again with np.savez.") from error
    name = options.column or _only_table(path, headers, {options.text, options.label})
    if name not in headers:
        raise ColumnError(f"{path} has no array {name!r}; it has {', '.join(sorted(headers))}. Try --column NAME.")
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
            wanted = min(BLOCK, left)
            data = _exactly(stream, wanted * self.dim * self._stored.itemsize, self.name)
            yield Rows(np.frombuffer(data, self._stored).reshape(wanted, self.dim))
            left -= wanted


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
        with zipfile.ZipFile(self.path) as archive, archive.open(f"{self.member}.npy") as stream:
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
        what = "a Python pickle, which is never loaded" if magic[:1] == b"\x80" else "not a .npy array"
        raise FormatError(f"{name} is {what}: its first bytes are {magic!r}. Write it with np.save.")
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
    found = ", ".join(f"{name} {shape} {dtype}" for name, (shape, _, dtype) in headers.items()) or "nothing"
    if tables:
        raise ColumnError(f"{path} has several 2-D arrays: {found}. Name one with --column NAME.")
    raise ColumnError(f"{path} has no 2-D array of numbers, only {found}. Save rows of floats with np.savez.")


def _strings(path: Path, name: str | None, headers: dict[str, Header], what: str) -> list[str] | None:
    if name is None:
        return None
    if name not in headers:
        raise ColumnError(f"{path} has no array {name!r} for --{what}; it has {', '.join(sorted(headers))}.")
    if headers[name][2].kind == "O":
        check_dtype(f"{path}[{name}]", headers[name][2])
    with np.load(path, allow_pickle=False) as archive:
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
