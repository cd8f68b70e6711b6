"""Vectors in the lists of an Arrow column, as Parquet files and databases hold them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from uncone.data.tables.read import ragged

__all__ = ["is_vector_type", "list_size", "matrix_of", "strings_of"]


def is_vector_type(column: pa.DataType) -> bool:
    """Whether a column holds lists of numbers."""
    types = pa.types
    is_list = types.is_list(column) or types.is_large_list(column) or types.is_fixed_size_list(column)
    return bool(is_list and (types.is_floating(column.value_type) or types.is_integer(column.value_type)))


def list_size(lists: pa.Array) -> int | None:
    """The length of the first list that has numbers; None if there is none."""
    if isinstance(lists.type, pa.FixedSizeListType):
        return int(lists.type.list_size)
    return next((int(length) for length in lists.value_lengths().to_pylist() if length), None)


def matrix_of(lists: pa.Array, dim: int, name: str, first: int) -> NDArray[np.generic]:
    """The lists as rows (m, dim); null numbers and null rows become NaN, and are counted as bad rows.

    Raises:
        ShapeError: a list has another length.
    """
    if not lists.null_count and isinstance(lists.type, pa.FixedSizeListType) and lists.type.list_size == dim:
        return np.asarray(lists.flatten().to_numpy(zero_copy_only=False).reshape(-1, dim))
    rows, lengths = len(lists), lists.value_lengths().to_numpy(zero_copy_only=False)
    missing = lists.is_null().to_numpy(zero_copy_only=False)
    uneven = np.flatnonzero(~missing & (lengths != dim))
    if uneven.size:
        row = int(uneven[0])
        raise ragged(name, f"row {first + row:,}", f"{int(lengths[row])} numbers", dim)
    values = lists.flatten().to_numpy(zero_copy_only=False).reshape(-1, dim)
    if not missing.any():
        return np.asarray(values)
    whole = np.full((rows, dim), np.nan, np.float32)
    whole[~missing] = values
    return whole


def strings_of(batch: pa.RecordBatch, name: str | None) -> list[str] | None:
    """A column as texts, empty where there is none; None without a name."""
    return None if name is None else ["" if value is None else str(value) for value in batch.column(name).to_pylist()]
