"""Texts in the string columns of a parquet file."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from uncone.data.texts.columns import choose_columns
from uncone.data.texts.texts import TextRow, TextSource
from uncone.data.vectors.text_rows import clipped
from uncone.errors import ColumnError, FormatError

__all__ = ["ParquetTexts"]

_SOME = 1024  # rows in memory


class ParquetTexts(TextSource):
    """String columns of a parquet file; a null is an empty text."""

    kind = "parquet"

    def __init__(self, path: Path, text: Sequence[str] = (), label: str | None = None) -> None:
        self.path = path
        self.name = str(path)
        self.files = (path,)
        try:
            with pq.ParquetFile(path) as file:
                schema = file.schema_arrow
        except (pa.ArrowException, OSError) as error:
            raise _damaged(path, error) from error
        readable = [field.name for field in schema if _holds_texts(field.type)]
        self.columns = choose_columns(str(path), schema.names, text, label, readable)
        for name in self.columns.text:
            if name not in readable:
                raise ColumnError(
                    f"{path}: column {name!r} holds {schema.field(name).type}, where we need strings. "
                    f"Columns that hold strings: {clipped(', '.join(readable) or 'none', 200)}."
                )

    def read(self) -> Iterator[TextRow]:
        count = itertools.count()
        texts, label = self.columns
        wanted = list(dict.fromkeys([*texts, *([] if label is None else [label])]))
        for batch in self._batches(wanted):
            columns = {name: batch.column(name).to_pylist() for name in wanted}
            labels = itertools.repeat(None, batch.num_rows) if label is None else columns[label]
            for *values, of_row in zip(*(columns[name] for name in texts), labels, strict=True):
                for value in values:
                    yield TextRow(next(count), value or "", None if of_row is None else str(of_row))

    def _batches(self, wanted: list[str]) -> Iterator[pa.RecordBatch]:
        try:
            # A buffered stream per column keeps a row group of gigabytes out of memory.
            with pq.ParquetFile(self.path, buffer_size=1 << 20, pre_buffer=False) as file:
                for batch in file.iter_batches(batch_size=_SOME, columns=wanted):
                    batch.validate(full=True)  # strings that are not UTF-8 are found here
                    yield batch
        except (pa.ArrowException, OSError) as error:
            raise _damaged(self.path, error) from error


def _holds_texts(column: pa.DataType) -> bool:
    types = pa.types
    values = column.value_type if types.is_dictionary(column) else column
    return bool(types.is_string(values) or types.is_large_string(values) or types.is_string_view(values))


def _damaged(path: Path, error: Exception) -> Exception:
    if isinstance(error, OSError) and error.errno is not None:
        return error  # not the file, but the way to it
    reason = clipped(" ".join(str(error).split()), 160)
    return FormatError(f"{path} is not a readable parquet file ({reason}). Copy or write it again.")
