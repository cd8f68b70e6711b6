"""One matrix of a .safetensors file, read straight from its place in the file."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from uncone.data.source import Options, Source
from uncone.data.vectors.raw import RawMatrix
from uncone.errors import ColumnError, DtypeError, FormatError

__all__ = ["open_safetensors"]

_DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I8": "i1", "U8": "u1"}


def open_safetensors(path: Path, options: Options) -> Source:
    """The only 2-D tensor of the file, or the one that `--tensor` names.

    Raises:
        ColumnError: no such tensor, or several to choose from.
        DtypeError: numbers that are not vectors.
    """
    header, data = _header(path)
    name = options.tensor or _only_matrix(path, header)
    if name not in header:
        raise ColumnError(f"{path} has no tensor {name!r}; it has {_listed(header)}. Try --tensor NAME.")
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


def _header(path: Path) -> tuple[dict[str, Any], int]:
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if size < 8 or length > size - 8:
            raise FormatError(f"{path} is not a whole .safetensors file ({size:,} bytes). Copy or write it again.")
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
        raise ColumnError(f"{path} has no 2-D tensor: {_listed(header)}. We need a matrix of rows x dimensions.")
    several = _listed({name: header[name] for name in matrices})
    raise ColumnError(f"{path} has several 2-D tensors: {several}. Name one with --tensor NAME.")


def _listed(header: dict[str, Any], most: int = 12) -> str:
    names = [f"{name} {tuple(entry['shape'])}" for name, entry in header.items()]
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return (", ".join(names[:most]) or "nothing") + more
