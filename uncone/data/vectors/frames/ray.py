"""A dataset of Ray Data: blocks come to this process one after another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from uncone.data.source import BLOCK, Options
from uncone.data.vectors.arrow import ArrowVectors
from uncone.errors import WorkerError

__all__ = ["RayVectors"]


class RayVectors(ArrowVectors):
    """The rows of a dataset, in the order of its blocks."""

    def __init__(self, dataset: Any, options: Options) -> None:  # noqa: ANN401
        self.dataset = dataset
        schema = dataset.schema().base_schema
        fields = [pa.field(field.name, _plain_type(field.type)) for field in schema]
        super().__init__("the dataset", "ray", pa.schema(fields), options)

    def count(self) -> int:
        return int(self.dataset.count())

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        import ray

        settings = self.dataset.context.execution_options
        before, settings.preserve_order = settings.preserve_order, True
        try:
            for block in self.dataset.select_columns(list(columns)).iter_batches(
                batch_size=None, batch_format="pyarrow"
            ):
                plain = [_plain(block.column(name)) for name in columns]
                yield from pa.table(plain, list(columns)).to_batches(BLOCK)
        except ray.exceptions.RayError as error:
            raise WorkerError(f"Ray could not read the dataset: {str(error).splitlines()[0]}") from error
        finally:
            settings.preserve_order = before


def _plain_type(kind: pa.DataType) -> pa.DataType:
    """Lists in place of Ray's tensors."""
    return kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if not isinstance(column.type, pa.BaseExtensionType):
        return column
    return pa.chunked_array([chunk.storage for chunk in column.chunks], column.type.storage_type)
