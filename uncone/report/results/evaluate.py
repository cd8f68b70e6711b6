"""The result of `evaluate`: methods and datasets of one model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from uncone.analysis.intervals.bootstrap import Aggregation, Difference
from uncone.analysis.measures.finding import finite
from uncone.errors import OptionError
from uncone.evaluation.table import EvaluationTable, Method, Row, TaskRow
from uncone.extras import require
from uncone.report.charts.files import csv_text
from uncone.report.document import Document, Section
from uncone.report.documents.evaluate.document import evaluation_document
from uncone.report.documents.evaluate.scores import AGGREGATIONS, Scores
from uncone.report.documents.evaluate.sentences import headline, recommended, sentences
from uncone.report.documents.evaluate.tables import score_table
from uncone.report.result import Result, json_values

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped]

__all__ = ["COLUMNS", "Evaluated"]

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

    @cached_property
    def _scores(self) -> Scores:
        return Scores(self.table)

    @property
    def headline(self) -> str:
        """Whether a repair helps here, in a sentence."""
        return headline(self._scores)

    @property
    def helps(self) -> bool:
        """Whether a method gains a point or more on average, proven, over the raw vectors of every layer tried."""
        return recommended(self._scores) is not None

    def lines(self) -> list[str]:
        """The findings, in sentences written from the numbers."""
        return sentences(self._scores)

    def _values(self) -> dict[str, Any]:
        table = self.table
        rows = [
            {"label": label, **json_values(row), "gain": self._scores.gain(row)}
            for label, row in zip(self._scores.labels, table.rows, strict=True)
        ]
        return {
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

    def document(self) -> Document:
        """The document, built once for all renderers."""
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
        scores = Section("Scores", [score_table(self._scores, aggregation, digits=_DIGITS)])
        return render(Document("Evaluation", self.table.model, "", [], [scores]))

    def to_csv(self) -> str:
        """Every figure on a line of its own, with what it was measured on."""
        return csv_text(COLUMNS, self._figures())

    def to_frame(self) -> pandas.DataFrame:
        """The lines of `to_csv` as a pandas table.

        Raises:
            MissingPackageError: pandas is not installed.
        """
        require("pandas", extra="models")
        import pandas

        frame = pandas.DataFrame(list(self._figures()), columns=list(COLUMNS))
        floats = dict.fromkeys(("value", "low", "high"), "float64")
        return frame.astype({**floats, "n": "Int64", "units": "Int64"})

    def _figures(self) -> Iterator[tuple[Any, ...]]:
        """Correlations, isotropy, differences and spreads by dataset, averages, tasks, and published scores.

        The average over the datasets stands as the dataset "average"; a row of the literature has "published" before
        its protocol.
        """
        for row in self.table.rows:
            for figure in (*_row_figures(row), *self._average_figures(row)):
                yield (*self._method(row.method), *finite(list(figure)))
        for task in self.table.tasks:
            for figure in _task_figures(task):
                yield (*self._method(task.method), *finite(list(figure)))
        for row in self.table.published:
            for figure in _row_figures(row):
                if figure[3] is not None:
                    yield (*self._method(row.method, "published, "), *finite(list(figure)))

    def _method(self, method: Method, prefix: str = "") -> tuple[str, ...]:
        protocol = f"{prefix}{method.protocol}"
        return (self.table.model, method.layer, method.pooling, method.level, method.name, protocol, method.fitted_on)

    def _average_figures(self, row: Row) -> Iterator[_Figure]:
        n, gain = sum(cell.spearman.n for cell in row.cells), self._scores.gain(row)
        units = None if gain is None else gain.units
        yield ("average", "spearman", "all", row.average, row.low, row.high, n, units)
        if gain is not None:
            yield ("average", "spearman_difference", "all", gain.value, gain.low, gain.high, n, units)

    def __repr__(self) -> str:
        """The result in a line."""
        return f"<Evaluated {self.table.model}: {self.headline}>"


def _row_figures(row: Row) -> Iterator[_Figure]:
    for cell in row.cells:
        for measure, scores in (("spearman", cell.spearman), ("pearson", cell.pearson)):
            for way in AGGREGATIONS:
                yield (cell.dataset, measure, way, getattr(scores, way), None, None, scores.n, None)
        for measure, value in (("isoscore", cell.isoscore), ("baseline", cell.baseline)):
            yield (cell.dataset, measure, "", value, None, None, None, None)
        if cell.spread is not None:
            yield (cell.dataset, "spearman_spread", "all", cell.spread, None, None, cell.spearman.n, None)
        if cell.difference is not None:
            yield _difference_figure(cell.dataset, "spearman", "all", cell.difference, cell.spearman.n)


def _task_figures(task: TaskRow) -> Iterator[_Figure]:
    for name, score in task.scores.items():
        yield (task.task, name, "", score.value, score.low, score.high, score.n, None)
    for name, difference in task.differences.items():
        n = task.scores[name].n if name in task.scores else None
        yield _difference_figure(task.task, name, "", difference, n)
    if task.isoscore is not None:
        yield (task.task, "isoscore", "", task.isoscore, None, None, None, None)


def _difference_figure(dataset: str, measure: str, way: str, difference: Difference, n: int | None) -> _Figure:
    ends = difference.value, difference.low, difference.high
    return (dataset, f"{measure}_difference", way, *ends, n, difference.units)
