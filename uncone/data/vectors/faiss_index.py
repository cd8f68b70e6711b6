"""Vectors out of a FAISS index file, as far as the index can give them back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import faiss
import numpy as np
from numpy.typing import NDArray

from uncone.data.source import BLOCK, Options, Rows, Source
from uncone.data.storage.path import local_copy
from uncone.errors import FormatError, ShapeError

__all__ = ["FaissIndex", "open_faiss"]


def open_faiss(path: Path, options: Options) -> Source:
    """A FAISS index file."""
    return FaissIndex(path)


class FaissIndex(Source):
    """A flat, IVF, HNSW or quantized index; quantized vectors come back as the index rounds them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.kind = "faiss"
        self._owner = _read(path)  # what is inside it lives only as long as it does
        self._index = _vectors_of(self._owner)
        self._ids = _ids_of(self._index) if self._index.ntotal else None
        self.name = str(path)
        self.rows, self.dim = int(self._index.ntotal), int(self._index.d)
        self.dtype = type(self._index).__name__
        if self.rows == 0:
            raise ShapeError(f"{path} is an empty index. We need at least 2 vectors.")

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Rows]:
        for first in range(0, self.rows or 0, BLOCK):
            count = min(BLOCK, (self.rows or 0) - first)
            try:
                yield Rows(np.asarray(self._some(first, count), np.float32))
            except RuntimeError as error:
                raise FormatError(
                    f"{self.path}: an {self.dtype} can't return its vectors. Use the vectors it was built from."
                ) from error

    def _some(self, first: int, count: int) -> Any:  # noqa: ANN401 - faiss has no types
        if self._ids is None:
            return self._index.reconstruct_n(first, count)
        return self._index.reconstruct_batch(self._ids[first : first + count])


def _read(path: Path) -> Any:  # noqa: ANN401 - faiss has no types
    try:
        with local_copy(path) as file:  # what is mapped stays, although its name goes
            return faiss.read_index(str(file), faiss.IO_FLAG_MMAP)
    except RuntimeError as error:
        raise FormatError(f"{path} is not a readable FAISS index of float vectors. Write it again.") from error


def _vectors_of(index: Any) -> Any:  # noqa: ANN401 - faiss has no types
    """The index that holds the vectors, inside those that rename them or normalize them for good."""
    while isinstance(index, faiss.IndexIDMap | faiss.IndexIDMap2) or _normalizes(index):
        index = faiss.downcast_index(index.index)
    return index


def _normalizes(index: Any) -> bool:  # noqa: ANN401 - faiss has no types
    """Whether lengths are lost on the way in: such an index would give back vectors that were never put in."""
    if not isinstance(index, faiss.IndexPreTransform):
        return False
    untyped, chain = cast(Any, faiss), cast(Any, index.chain)  # its types do not know all of it
    steps = (untyped.downcast_VectorTransform(chain.at(i)) for i in range(chain.size()))
    return any(isinstance(step, faiss.NormalizationTransform) for step in steps)


def _ids_of(index: Any) -> NDArray[np.int64] | None:  # noqa: ANN401 - faiss has no types
    """The ids of an inverted file, which finds its vectors by them; they may be any numbers."""
    if not isinstance(index, faiss.IndexIVF):
        return None
    untyped: Any = faiss  # its types do not know all of it
    index.set_direct_map_type(untyped.DirectMap.Hashtable)
    lists: Any = index.invlists
    sizes = [lists.list_size(i) for i in range(index.nlist)]
    ids = [faiss.rev_swig_ptr(lists.get_ids(i), size).copy() for i, size in enumerate(sizes) if size]
    return np.sort(np.concatenate(ids)).astype(np.int64)
