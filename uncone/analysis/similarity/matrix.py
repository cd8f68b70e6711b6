"""The cosine matrix in tiles that fit into a core's cache, and its file.

The grid is fixed, and each tile is one product on one BLAS thread: the number of cores does not change a digit.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from uncone.analysis.cosine.units import Units, checked_units
from uncone.data.storage.path import ObjectPath, path_of
from uncone.data.writing.atomic import check_output, replacing, writing
from uncone.errors import OptionError, OutputError
from uncone.run.threads import in_order

__all__ = ["TILE", "tile_product", "write_matrix"]

TILE = 512
"""Rows and columns of a tile: 1 MiB of float32."""
_STRIP_BYTES = 512 * 2**20
"""Strips that wait to be written."""


def tile_product(rows: Units, other: Units, limit: np.float32, buffer: Units) -> Units:
    """Products of all rows of two blocks, clipped to the limit because rounded lengths may exceed 1."""
    tile = buffer[: len(rows) * len(other)].reshape(len(rows), len(other))
    np.matmul(rows, other.T, out=tile)
    return np.clip(tile, -limit, limit, out=tile)


def write_matrix(units: ArrayLike, path: Path, *, progress: Callable[[int], None] | None = None) -> int:
    """Write all cosines (n, n) in float32, strip by strip; returns the bytes of the file.

    A .npy holds the matrix; a .parquet one row per text, with the columns `row` and `cosines`, a list of n numbers.
    The matrix is symmetric to the last digit, its diagonal is 1, and its numbers are those of `survey`. The file
    appears whole or not at all. `progress` receives the number of rows just written.

    Raises:
        OptionError: another kind of file.
        OutputError: the file cannot be written, or the disk has no room for it.
    """
    path = path_of(path)
    kind = path.suffix.lower()
    if kind not in (".npy", ".parquet"):
        raise OptionError(f"A matrix is written as .npy or .parquet, not as {kind or 'a file without an ending'}.")
    table = checked_units(units)
    n = len(table)
    check_output(path, [])
    folder = tempfile.gettempdir() if isinstance(path, ObjectPath) else path.resolve().parent
    size, free = 4 * n * n, shutil.disk_usage(folder).free
    if size > free:
        raise OutputError(f"The matrix of {n:,} texts takes {_giga(size)}, and the disk has {_giga(free)} left.")
    sink = _npy_file if kind == ".npy" else _parquet_file
    with replacing(path) as temporary, writing(path), sink(temporary, n) as write:
        for strip in in_order(lambda i: _strip(table, i), range(0, n, TILE), _STRIP_BYTES // (4 * TILE * n)):
            write(strip)
            if progress is not None:
                progress(len(strip))
    return path.stat().st_size


def _giga(size: int) -> str:
    return f"{size / 1e9:,.1f} GB" if size >= 1e8 else f"{size / 1e6:,.1f} MB"


def _strip(units: Units, i: int) -> Units:
    """Cosines of a strip of rows from i on with all rows.

    Tiles below the diagonal are transposed tiles from above it, so that the matrix is symmetric.
    """
    own = units[i : i + TILE].copy()  # not the same memory as the other side: numpy would use another product
    strip = np.empty((len(own), len(units)), np.float32)
    buffer, limit = np.empty(TILE * TILE, np.float32), np.float32(1)
    for j in range(0, len(units), TILE):
        other = units[j : j + TILE]
        below = j < i
        product = tile_product(other, own, limit, buffer).T if below else tile_product(own, other, limit, buffer)
        strip[:, j : j + TILE] = product
    square = strip[:, i : i + TILE]
    upper = np.triu(square, 1)
    square[:] = upper + upper.T
    np.fill_diagonal(square, 1.0)
    return strip


@contextlib.contextmanager
def _npy_file(path: Path, n: int) -> Iterator[Callable[[Units], object]]:
    """NumPy's .npy, written in order: a memory map would crash on a full disk."""
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": (n, n)})
        yield lambda strip: file.write(strip.data.cast("B"))


@contextlib.contextmanager
def _parquet_file(path: Path, n: int) -> Iterator[Callable[[Units], object]]:
    """Parquet with the columns `row` and `cosines`, a list of fixed size; each strip is a row group."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([("row", pa.int64()), ("cosines", pa.list_(pa.float32(), n))])
    numbers = iter(range(n))
    with pq.ParquetWriter(path, schema, use_dictionary=False, compression="none") as file:

        def write(strip: Units) -> None:
            rows = pa.array(list(islice(numbers, len(strip))))
            lists = pa.FixedSizeListArray.from_arrays(pa.array(strip.reshape(-1)), n)
            file.write_batch(pa.record_batch([rows, lists], schema=schema))

        yield write
