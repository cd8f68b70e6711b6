"""Whole tables as files: CSV or Parquet."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from uncone.errors import OptionError
from uncone.report.charts.files import csv_text

__all__ = ["Columns", "table_file", "table_format"]

Columns = dict[str, list[Any]]


def table_format(path: Path) -> str:
    """The format of a file by its ending: csv or parquet.

    Raises:
        OptionError: it has another ending.
    """
    ending = path.suffix.lower().removeprefix(".")
    if ending not in ("csv", "parquet"):
        raise OptionError(f"{path.name} has no known format for a table. End it with .csv or .parquet.")
    return ending


def table_file(columns: Columns, path: Path, types: Mapping[str, type]) -> bytes:
    """A table in the format of the path; columns without a type hold floats.

    Lone surrogates, which UTF-8 can't encode, are replaced.
    """
    texts = {name: values for name, values in columns.items() if types.get(name) is str}
    columns = {
        **columns,
        **{name: [text.encode("utf-8", "replace").decode() for text in texts[name]] for name in texts},
    }
    if table_format(path) == "csv":
        return csv_text(columns, zip(*columns.values(), strict=True)).encode("utf-8")
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrow = {int: pa.int64(), float: pa.float64(), str: pa.string()}
    sink = pa.BufferOutputStream()
    typed = {name: pa.array(values, arrow[types.get(name, float)]) for name, values in columns.items()}
    pq.write_table(pa.table(typed), sink)
    return bytes(sink.getvalue().to_pybytes())
