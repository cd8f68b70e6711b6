"""Every figure of an evaluation on a line of its own: for a spreadsheet, or for pandas."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from uncone.evaluation.bootstrap import Difference
from uncone.evaluation.table import Cell, EvaluationTable, Method, Row
from uncone.extras import require
from uncone.report.evaluated_grid import AGGREGATIONS, gain

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped]

__all__ = ["COLUMNS", "as_csv", "as_frame", "figures"]

COLUMNS = (
    "model",
    "layer",
    "pooling",
    "level",
    "method",
    "protocol",
    "fitted_on",
    "dataset",
    "measure",
    "aggregation",
    "value",
    "low",
    "high",
    "n",
    "units",
)

_Figure = tuple[str, str, str, float | None, float | None, float | None, int | None, int | None]
"""Dataset, measure, aggregation, value, low, high, pairs or items, and independent ones where they are known."""


def as_csv(table: EvaluationTable) -> str:
    """The figures with a line of names above; empty where one is undefined."""
    text = io.StringIO()
    written = csv.writer(text, lineterminator="\n")
    written.writerow(COLUMNS)
    written.writerows(figures(table))
    return text.getvalue()


def as_frame(table: EvaluationTable) -> pandas.DataFrame:
    """The figures as a table of pandas.

    Raises:
        MissingPackageError: pandas is not installed.
    """
    require("pandas", extra="models")
    import pandas

    frame = pandas.DataFrame(list(figures(table)), columns=list(COLUMNS))
    floats = dict.fromkeys(("value", "low", "high"), "float64")
    return frame.astype({**floats, "n": "Int64", "units": "Int64"})


def figures(table: EvaluationTable) -> Iterator[tuple[Any, ...]]:
    """Correlations, isotropy, differences and spreads by set, averages, tasks, and what was published.

    The average over the sets stands as the dataset "average"; a row of the literature has "published" before its
    protocol.
    """
    for row in table.rows:
        for figure in (*_of_row(row), *_averages(table, row)):
            yield (*_of_method(table, row.method), *_known(figure))
    for task in table.tasks:
        start = _of_method(table, task.method)
        for name, score in task.scores.items():
            yield (*start, *_known((task.task, name, "", score.value, score.low, score.high, score.n, None)))
        for name, one in task.differences.items():
            n = task.scores[name].n if name in task.scores else None
            yield (*start, *_known(_difference(task.task, name, "", one, n)))
        if task.isoscore is not None:
            yield (*start, *_known((task.task, "isoscore", "", task.isoscore, None, None, None, None)))
    for row in table.published:
        for figure in _of_row(row):
            if figure[3] is not None:
                yield (*_of_method(table, row.method, published=True), *_known(figure))


def _of_method(table: EvaluationTable, method: Method, *, published: bool = False) -> tuple[str, ...]:
    protocol = f"published, {method.protocol}" if published else method.protocol
    return (table.model, method.layer, method.pooling, method.level, method.name, protocol, method.fitted_on)


def _of_row(row: Row) -> Iterator[_Figure]:
    for cell in row.cells:
        yield from _of_cell(cell)


def _of_cell(cell: Cell) -> Iterator[_Figure]:
    for measure, one in (("spearman", cell.spearman), ("pearson", cell.pearson)):
        for way in AGGREGATIONS:
            yield (cell.dataset, measure, way, getattr(one, way), None, None, one.n, None)
    for measure, value in (("isoscore", cell.isoscore), ("baseline", cell.baseline)):
        yield (cell.dataset, measure, "", value, None, None, None, None)
    if cell.spread is not None:
        yield (cell.dataset, "spearman_spread", "all", cell.spread, None, None, cell.spearman.n, None)
    if cell.difference is not None:
        yield _difference(cell.dataset, "spearman", "all", cell.difference, cell.spearman.n)


def _averages(table: EvaluationTable, row: Row) -> Iterator[_Figure]:
    n = sum(cell.spearman.n for cell in row.cells)
    gained = gain(table, row)
    units = None if gained is None else gained.units
    yield ("average", "spearman", "all", row.average, row.low, row.high, n, units)
    if gained is not None:
        yield ("average", "spearman_difference", "all", gained.value, gained.low, gained.high, n, units)


def _difference(dataset: str, measure: str, way: str, one: Difference, n: int | None) -> _Figure:
    return (dataset, f"{measure}_difference", way, one.value, one.low, one.high, n, one.units)


def _known(figure: _Figure) -> tuple[Any, ...]:
    return tuple(None if isinstance(one, float) and not math.isfinite(one) else one for one in figure)
