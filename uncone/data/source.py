"""Sources of vectors: the contract that every reader keeps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from uncone.data.batch import Batch, Matrix, batch_rows
from uncone.errors import DtypeError, ShapeError

if TYPE_CHECKING:
    from uncone.data.texts.texts import TextSource

__all__ = [
    "BLOCK",
    "Options",
    "Place",
    "Rows",
    "Source",
    "batches",
    "check_dtype",
    "check_shape",
    "joined_names",
    "regrid",
]

BLOCK = 8192
"""Rows that a reader hands over at most."""

Place = Callable[[int], Matrix | None]
"""Where the next so many rows may be put; None when there is no such place."""


@dataclass(frozen=True)
class Options:
    """What the user said about a source: the names of its columns or of the files beside it.

    `dim` is how long the lists of a column are, where the first file of a folder has told it.
    """

    column: str | None = None
    tensor: str | None = None
    text: str | None = None
    label: str | None = None
    dim: int | None = None


@dataclass(frozen=True)
class Rows:
    """Some rows as read: vectors (m, d) of any accepted dtype, valid until the next are asked for.

    `beside` are the other columns of a source `with_columns`: an Arrow table, or a list with an object per row.
    """

    vectors: NDArray[np.generic]
    texts: Sequence[str] | None = None
    labels: Sequence[str] | None = None
    beside: Any = None

    def part(self, start: int, stop: int) -> Rows:
        """Rows start to stop, as views."""
        return Rows(
            self.vectors[start:stop],
            None if self.texts is None else self.texts[start:stop],
            None if self.labels is None else self.labels[start:stop],
            self._beside(start, stop),
        )

    def _beside(self, start: int, stop: int) -> Any:  # noqa: ANN401 - as beside
        if self.beside is None or isinstance(self.beside, list):
            return self.beside and self.beside[start:stop]
        return self.beside.slice(start, stop - start)


class Source(ABC):
    """A table of vectors, read as a stream.

    `rows` is None when only reading tells. A source with `random_access` can start anywhere at no cost. One that is
    `divisible` can start anywhere at the cost of a block that holds the first row, such as a row group. Both can be
    sent to another process. Any other is read from the beginning, and only once unless it is `rereadable`.
    `note` says what was taken for the vectors where that had to be guessed. With `unit_length`, whoever stored the
    vectors scaled them to length 1, so their norms say nothing about the model.
    """

    name: str
    kind: str
    dtype: str
    dim: int
    rows: int | None
    note: str | None = None
    random_access: bool = False
    divisible: bool = False
    unit_length: bool = False
    rereadable: bool = True
    flops_per_row: float = 0.0
    """Multiplications and additions of matrix products for each row, where reading computes."""

    @abstractmethod
    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Rows]:
        """The rows from start to stop, in blocks of any size."""

    def files_between(self, start: int = 0, stop: int | None = None) -> list[Path]:
        """The files that hold the rows from start to stop; none for what is in memory."""
        inner, path = getattr(self, "source", None), getattr(self, "path", None)
        if isinstance(inner, Source):
            return inner.files_between(start, stop)
        return [path] if isinstance(path, Path) else []

    def with_columns(self) -> Source:
        """The same rows `beside` their other columns, if the source can't be read again in the same order."""
        return self

    def with_texts(self, texts: TextSource) -> Source | None:
        """The vectors of other texts, made in the same way; None if these vectors aren't made of texts here."""
        return None

    def stored_bytes(self) -> int | None:
        """Bytes that a pass over all rows reads; None if that isn't known without reading them."""
        inner = getattr(self, "source", None)
        if isinstance(inner, Source):
            return inner.stored_bytes()
        return sum(path.stat().st_size for path in self.files_between()) or None

    def read_into(self, place: Place, start: int, stop: int) -> Iterator[Rows]:
        """The same; a reader that can puts them, a batch at a time, into the places it is given instead of its own."""
        return self.read(start, stop)


def regrid(stream: Iterator[Rows], block: int) -> Iterator[Rows]:
    """The same rows in blocks of exactly `block` rows, but for the last."""
    waiting: list[Rows] = []
    have = 0
    for rows in stream:
        start, n = 0, len(rows.vectors)
        while start < n:
            if not have and n - start >= block:
                yield rows.part(start, start + block)
                start += block
                continue
            if not have:
                # A reader may reuse its buffer: what is held back over the next read has to be a copy.
                whole = np.empty((block, *rows.vectors.shape[1:]), rows.vectors.dtype)
            elif whole.dtype != rows.vectors.dtype:
                whole = whole.astype(np.result_type(whole, rows.vectors))
            part = rows.part(start, min(start + block - have, n))
            whole[have : have + len(part.vectors)] = part.vectors
            waiting.append(part)
            have, start = have + len(part.vectors), start + len(part.vectors)
            if have == block:
                yield _joined_rows(whole, waiting)
                waiting, have = [], 0
    if have:
        yield _joined_rows(whole[:have], waiting)


def batches(stream: Iterator[Rows], dtype: DTypeLike, first_row: int = 0) -> Iterator[Batch]:
    """The rows as batches on the global grid, in the working precision."""
    first = next(stream, None)
    if first is None:
        return
    for rows in regrid(chain([first], stream), batch_rows(first.vectors.shape[1])):
        with np.errstate(over="ignore"):  # a float64 beyond float32 becomes infinite, and is counted as bad
            vectors: Matrix = np.ascontiguousarray(rows.vectors, dtype=dtype)
        yield Batch.of(vectors, first_row=first_row, texts=rows.texts, labels=rows.labels)
        first_row += len(vectors)


def check_dtype(name: str, dtype: np.dtype[np.generic]) -> None:
    """Accept floating vectors and 8-bit quantized ones.

    Raises:
        DtypeError: anything else.
    """
    if dtype.kind == "f" or dtype in (np.int8, np.uint8):
        return
    if dtype.kind == "O":
        raise DtypeError(
            f"{name} holds Python objects (a pickle), which are never loaded: save a plain float array, "
            "np.save(path, np.asarray(rows, dtype=np.float32))."
        )
    kinds = {"U": "strings", "S": "byte strings", "c": "complex numbers", "b": "booleans", "V": "records"}
    content = kinds.get(dtype.kind, f"{dtype} numbers")
    raise DtypeError(
        f"{name} holds {content}; vectors are float16/32/64, or int8/uint8 when quantized. Convert it first."
    )


def check_shape(name: str, shape: Sequence[int]) -> tuple[int, int]:
    """Accept a table of rows x dimensions.

    Raises:
        ShapeError: another number of axes, or an axis of length 0.
    """
    if len(shape) != 2:
        hint = (
            "one vector alone has nothing to be compared with" if len(shape) == 1 else "choose a slice, or merge axes"
        )
        raise ShapeError(f"{name} is {len(shape)}-D with shape {tuple(shape)}; we need 2-D (rows, dimensions): {hint}.")
    if 0 in shape:
        raise ShapeError(f"{name} is empty: its shape is {tuple(shape)}. We need at least 2 rows of 1 dimension.")
    return int(shape[0]), int(shape[1])


def _joined_rows(vectors: NDArray[np.generic], parts: Sequence[Rows]) -> Rows:
    """Vectors with what stood beside them in the parts that they were copied from."""
    texts, labels = joined_names([part.texts for part in parts]), joined_names([part.labels for part in parts])
    return Rows(vectors, texts, labels, _joined_columns([part.beside for part in parts]))


def _joined_columns(parts: Sequence[Any]) -> Any:  # noqa: ANN401 - as Rows.beside
    if parts[0] is None or isinstance(parts[0], list):
        return parts[0] and [row for part in parts for row in part]
    import pyarrow as pa

    return pa.concat_tables(parts)


def joined_names(parts: Sequence[Sequence[str] | None]) -> list[str] | None:
    """The names of several runs of rows; none unless every run has them."""
    if any(part is None for part in parts):
        return None
    return [name for part in parts if part is not None for name in part]
