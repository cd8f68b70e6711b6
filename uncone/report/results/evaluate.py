"""The result of `evaluate`: methods and datasets of one model."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from uncone.analysis.intervals.bootstrap import Aggregation, Difference
from uncone.errors import OptionError
from uncone.evaluation.table import Cell, EvaluationTable, Method, Row, TaskRow
from uncone.extras import require
from uncone.report.document import Document, Section
from uncone.report.documents.evaluate.document import evaluation_document
from uncone.report.documents.evaluate.scores import AGGREGATIONS, gain, labels
from uncone.report.documents.evaluate.sentences import headline, recommended, sentences
from uncone.report.documents.evaluate.tables import score_table
from uncone.report.plain import json_values
from uncone.report.result import Result

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped]

__all__ = ["COLUMNS", "EVALUATED_SCHEMA", "Evaluated"]

EVALUATED_SCHEMA = 1
COLUMNS = (
    *("model", "layer", "pooling", "level", "method", "protocol", "fitted_on"),
    *("dataset", "measure", "aggregation", "value", "low", "high", "n", "units"),
)
"""The columns of `to_csv` and `to_frame`."""
_DIGITS = 2
"""Digits of scores in papers."""

_Figure = tuple[str, str, str, float | None, float | None, float | None, int | None, int | None]
"""Dataset, measure, aggregation, value, low, high, number of pairs or items, and of independent ones if known."""


@dataclass(frozen=True)
class Evaluated(Result):
    """The table of an evaluation, with all its renderings."""

    table: EvaluationTable

    @property
    def headline(self) -> str:
        """Whether a repair helps here, in a sentence."""
        return headline(self.table)

    @property
    def helps(self) -> bool:
        """Whether a method gains a point or more on average, proven, over the raw vectors of every layer tried."""
        return recommended(self.table) is not None

    def lines(self) -> list[str]:
        """The findings, in sentences written from the numbers."""
        return sentences(self.table)

    def to_dict(self) -> dict[str, Any]:
        """The summary: plain JSON values, versioned by `schema`; correlations are between -1 and 1."""
        table = self.table
        names = labels([row.method for row in table.rows])
        rows = [
            {"label": label, **json_values(row), "gain": gain(table, row)}
            for label, row in zip(names, table.rows, strict=True)
        ]
        summary = {
            "schema": EVALUATED_SCHEMA,
            "model": table.model,
            "headline": self.headline,
            "helps": self.helps,
            "lines": self.lines(),
            "datasets": list(table.datasets),
            "rows": rows,
            "tasks": table.tasks,
            "published": table.published,
            "notes": list(table.notes),
            "provenance": table.provenance,
        }
        plain: dict[str, Any] = json_values(summary)
        return plain

    def document(self) -> Document:
        """What there is to say, built once for all renderers."""
        return evaluation_document(self.table)

    def to_latex(self, aggregation: Aggregation | None = None) -> str:
        """Tables for a paper, with two digits: all of them, or the scores under one aggregation.

        Raises:
            OptionError: there is no such aggregation.
        """
        from uncone.report.render.latex import render

        if aggregation is None:
            return render(evaluation_document(self.table, _DIGITS))
        if aggregation not in AGGREGATIONS:
            raise OptionError(f"There is no aggregation {aggregation!r}; there are {', '.join(AGGREGATIONS)}.")
        scores = Section("Scores", [score_table(self.table, aggregation, digits=_DIGITS)])
        return render(Document("Evaluation", self.table.model, "", [], [scores]))

    def to_csv(self) -> str:
        """Every figure on a line of its own, with what it was measured on."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(_figures(self.table))
        return text.getvalue()

    def to_frame(self) -> pandas.DataFrame:
        """The lines of `to_csv` as a pandas table.

        Raises:
            MissingPackageError: pandas is not installed.
        """
        require("pandas", extra="models")
        import pandas

        frame = pandas.DataFrame(list(_figures(self.table)), columns=list(COLUMNS))
        floats = dict.fromkeys(("value", "low", "high"), "float64")
        return frame.astype({**floats, "n": "Int64", "units": "Int64"})

    def __repr__(self) -> str:
        """The result in a line."""
        return f"<Evaluated {self.table.model}: {self.headline}>"


def _figures(table: EvaluationTable) -> Iterator[tuple[Any, ...]]:
    """Correlations, isotropy, differences and spreads by dataset, averages, tasks, and published scores.

    The average over the datasets stands as the dataset "average"; a row of the literature has "published" before its
    protocol.
    """
    for row in table.rows:
        for figure in (*_of_row(row), *_averages(table, row)):
            yield (*_of_method(table, row.method), *_finite(figure))
    for task in table.tasks:
        for figure in _of_task(task):
            yield (*_of_method(table, task.method), *_finite(figure))
    for row in table.published:
        for figure in _of_row(row):
            if figure[3] is not None:
                yield (*_of_method(table, row.method, published=True), *_finite(figure))


def _of_method(table: EvaluationTable, method: Method, *, published: bool = False) -> tuple[str, ...]:
    protocol = f"published, {method.protocol}" if published else method.protocol
    return (table.model, method.layer, method.pooling, method.level, method.name, protocol, method.fitted_on)


def _of_row(row: Row) -> Iterator[_Figure]:
    for cell in row.cells:
        yield from _of_cell(cell)


def _of_cell(cell: Cell) -> Iterator[_Figure]:
    for measure, scores in (("spearman", cell.spearman), ("pearson", cell.pearson)):
        for way in AGGREGATIONS:
            yield (cell.dataset, measure, way, getattr(scores, way), None, None, scores.n, None)
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


def _of_task(task: TaskRow) -> Iterator[_Figure]:
    for name, score in task.scores.items():
        yield (task.task, name, "", score.value, score.low, score.high, score.n, None)
    for name, difference in task.differences.items():
        yield _difference(task.task, name, "", difference, task.scores[name].n if name in task.scores else None)
    if task.isoscore is not None:
        yield (task.task, "isoscore", "", task.isoscore, None, None, None, None)


def _difference(dataset: str, measure: str, way: str, one: Difference, n: int | None) -> _Figure:
    return (dataset, f"{measure}_difference", way, one.value, one.low, one.high, n, one.units)


def _finite(figure: _Figure) -> tuple[Any, ...]:
    return tuple(None if isinstance(value, float) and not math.isfinite(value) else value for value in figure)
