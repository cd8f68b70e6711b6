"""The whole cosine matrix as a file: strips of it, and the two kinds of file that take them."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np

from uncone.analysis.similarity.pairwise.tiles import TILE, product, starts
from uncone.analysis.similarity.pairwise.unit_rows import Units

__all__ = ["NpyMatrix", "ParquetMatrix", "matrix_strip"]

_SCALE = np.float32(1)


def matrix_strip(units: Units, i: int) -> Units:
    """The cosines of the rows from i on, at most a strip of them, with all rows.

    Tiles below the diagonal are those above it, turned over: the same product, so the matrix is symmetric.
    """
    own = units[i : i + TILE].copy()  # not the same memory as the other side: numpy would take another product
    strip = np.empty((len(own), len(units)), np.float32)
    room = np.empty(TILE * TILE, np.float32)
    for j in starts(len(units)):
        other = units[j : j + TILE]
        if j < i:
            strip[:, j : j + TILE] = product(other, own, _SCALE, room).T
        else:
            strip[:, j : j + TILE] = product(own, other, _SCALE, room)
    square = strip[:, i : i + TILE]
    upper = np.triu(square, 1)
    square[:] = upper + upper.T
    np.fill_diagonal(square, 1.0)
    return strip


class NpyMatrix:
    """NumPy's .npy, written from its beginning to its end: a memory map would die of a full disk without a word."""

    def __init__(self, path: Path, n: int) -> None:
        self.file = path.open("wb")
        header = {"descr": "<f4", "fortran_order": False, "shape": (n, n)}
        np.lib.format.write_array_header_1_0(self.file, header)

    def write(self, strip: Units) -> None:
        """The next rows."""
        self.file.write(strip.data.cast("B"))

    def close(self) -> None:
        """The end."""
        self.file.close()

    def abandon(self) -> None:
        """Let go of the file: closing it may fail on a full disk, where writing failed already."""
        with contextlib.suppress(OSError):
            self.file.close()


class ParquetMatrix:
    """Parquet: one row per text, `row` and `cosines`, a list of a fixed size as the vectors of other files have it."""

    def __init__(self, path: Path, n: int) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self.n, self.row = n, 0
        self.schema = pa.schema([("row", pa.int64()), ("cosines", pa.list_(pa.float32(), n))])
        self.writer = pq.ParquetWriter(path, self.schema, use_dictionary=False, compression="none")

    def write(self, strip: Units) -> None:
        """The next rows, as a row group."""
        import pyarrow as pa

        rows = pa.array(np.arange(self.row, self.row + len(strip)))
        lists = pa.FixedSizeListArray.from_arrays(pa.array(strip.reshape(-1)), self.n)
        self.writer.write_batch(pa.record_batch([rows, lists], schema=self.schema))
        self.row += len(strip)

    def close(self) -> None:
        """The end."""
        self.writer.close()

    def abandon(self) -> None:
        """Let go of the file: closing it may fail on a full disk, where writing failed already."""
        with contextlib.suppress(OSError):
            self.writer.close()
