"""Points of vector databases: an id, a vector, and the other columns as fields."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from uncone.data.batch import Matrix
from uncone.data.vectors.databases.points import ID
from uncone.data.vectors.databases.url import DatabaseUrl
from uncone.data.writing.atomic import check_output
from uncone.data.writing.databases.target import Target
from uncone.data.writing.plain_values import plain_values
from uncone.data.writing.side_columns import SideValues
from uncone.data.writing.sinks import Plan, Sink
from uncone.errors import OutputError

__all__ = ["Point", "PointTarget", "check_new_folder"]

Point = tuple[Any, Sequence[float] | None, Mapping[str, Any]]
"""The id, the vector (None for one that is not all numbers) and the fields."""


class PointTarget(Target):
    """A new collection. It has no transactions: after an error the collection is deleted, after a kill it stays."""

    @abstractmethod
    def id_of(self, value: Any) -> Any:  # noqa: ANN401 - a value of a column
        """The id that a value is as; None if it can't be one."""

    @abstractmethod
    def create(self, plan: Plan) -> None:
        """Make the collection."""

    @abstractmethod
    def add(self, points: Sequence[Point]) -> None:
        """Write points."""

    @abstractmethod
    def count(self) -> int:
        """The number of points."""

    @abstractmethod
    def finish(self) -> None:
        """Give the collection its name."""

    @abstractmethod
    def delete(self) -> None:
        """Delete what `create` made."""

    @contextmanager
    def open(self, plan: Plan) -> Iterator[Sink]:
        self.create(plan)
        try:
            yield _PointSink(self, plan)
        except BaseException:
            self.delete()
            raise


def check_new_folder(url: DatabaseUrl, file: Path) -> bool:
    """Whether a URL names a local folder without this `file`, so that a database will be made there.

    Raises:
        OutputError: it can't be.
    """
    if url.port is not None or file.is_file():
        return False
    check_output(Path(url.path).parent / f".{Path(url.path).name}")
    return True


class _PointSink(Sink):
    """Rows as points. The id is the column `key`, else one called id if it can be, else the number of the row."""

    holds_columns = True

    def __init__(self, target: PointTarget, plan: Plan) -> None:
        self.target, self.names, self.row = target, list(plan.carried.names), 0
        self.key = target.url.values.get("key")
        self.by_default = self.key is None
        if self.key is not None and self.key not in self.names:
            raise OutputError(
                f"The vectors have no column {self.key!r} beside them for key=. Their columns are "
                f"{', '.join(self.names) or 'none'}."
            )

    def write(self, vectors: Matrix, values: SideValues) -> None:
        rows = self._fields(values, len(vectors))
        if self.by_default:
            self.by_default = False
            self.key = ID if all(self.target.id_of(row.get(ID)) is not None for row in rows) else None
        numbers = np.asarray(vectors, np.float32)
        whole = [bool(row.all()) for row in np.isfinite(numbers)]
        lists = numbers.tolist()
        points = [(self._id(row), lists[at] if whole[at] else None, row) for at, row in enumerate(rows)]
        self.target.add(points)

    def _id(self, row: dict[str, Any]) -> Any:  # noqa: ANN401 - a number or a text
        value = self.row if self.key is None else row.pop(self.key, None)
        id = self.target.id_of(value)
        if id is None:
            raise OutputError(
                f"{self.target.name}: {str(value)[:40]!r} of row {self.row:,} can't be the id of a point. Name another "
                "column with &key=."
            )
        self.row += 1
        return id

    def _fields(self, values: SideValues, n: int) -> list[dict[str, Any]]:
        if values.whole is not None:
            return [plain_values(row or {}, str) for row in values.whole]
        columns = list(zip(self.names, values.lists(), strict=True))
        return [
            {name: plain_values(column[at], str) for name, column in columns if column[at] is not None}
            for at in range(n)
        ]

    def close(self, rows: int) -> None:
        n_points = self.target.count()
        if n_points != rows:
            raise OutputError(
                f"{self.target.name}: {rows:,} vectors became {n_points:,} points, because ids repeat. Name another "
                "column with &key=."
            )
        self.target.finish()

    def abandon(self) -> None:
        """Nothing: the collection is deleted."""
