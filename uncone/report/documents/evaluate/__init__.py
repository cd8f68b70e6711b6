"""The result of `evaluate`: methods and datasets of one model, and its document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from uncone.analysis.intervals.bootstrap import Aggregation
from uncone.analysis.measures.finding import Level, finite
from uncone.analysis.number_format import count
from uncone.errors import OptionError, require
from uncone.evaluation.table import EvaluationTable, Method, Row, TaskRow
from uncone.report.charts.files import csv_text
from uncone.report.document import Block, Document, Facts, Fold, Notes, Section, Sentences, Tabs, Verdict, present
from uncone.report.documents.evaluate import charts, tables
from uncone.report.documents.evaluate import sentences as say
from uncone.report.documents.evaluate.hubs import hub_lines, hub_section
from uncone.report.documents.evaluate.scores import AGGREGATIONS, Scores
from uncone.report.result import Result
from uncone.report.text import provenance_facts

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped]

COLUMNS = (
    *("model", "layer", "pooling", "level", "method", "protocol", "fitted_on"),
    *("dataset", "measure", "aggregation", "value", "low", "high", "n", "units"),
)
"""The columns of `to_csv` and `to_frame`."""
_DIGITS = 2
"""Digits of scores in papers."""

_Figure = tuple[str, str, str, float | None, float | None, float | None, int | None, int | None]
"""Dataset, measure, aggregation, value, low, high, number of pairs or items, and of independent ones if known."""
_NONE = (None, None)
"""No interval."""
_INVERTIBLE = (
    "An invertible linear repair, such as centering or whitening in all dimensions, can't change what a linear "
    "classifier learns without regularization: its weights undo the repair and predict the same. Differences here come "
    "from the regularization, or from a repair that drops directions or isn't linear."
)
"""The reason why a repair hardly changes a classification."""


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
        return say.headline(self._scores)

    @property
    def helps(self) -> bool:
        """Whether a method gains a point or more on average, proven, over the raw vectors of every layer tried."""
        return say.recommended(self._scores) is not None or say.recommended_task(self._scores) is not None

    def lines(self) -> list[str]:
        """The findings, in sentences written from the numbers."""
        return [*say.sentences(self._scores), *(hub_lines(self.table.hubs) if self.table.hubs is not None else [])]

    def _values(self) -> dict[str, Any]:
        table = self.table
        rows = [
            {"label": label, **vars(row), "gain": self._scores.gain(row)}
            for label, row in zip(self._scores.labels, table.rows, strict=True)
        ]
        return {
            "model": table.model,
            "headline": self.headline,
            "helps": self.helps,
            "lines": self.lines(),
            "datasets": table.datasets,
            "rows": rows,
            "tasks": table.tasks,
            "published": table.published,
            "notes": table.notes,
            "provenance": table.provenance,
            "hubs": table.hubs,
        }

    def document(self, digits: int = 1) -> Document:
        """The report as data; papers print scores with two digits."""
        scores, table = self._scores, self.table
        level = Level.HEALTHY if self.helps else Level.NOTE
        verdict = Verdict(self.headline, level, self.lines(), bulleted=True, marked=self.helps)
        score_sections = _score_sections(scores, digits) if table.rows and table.datasets else []
        hubs = [] if table.hubs is None else [hub_section(table.hubs)]
        sections = [*score_sections, *_task_sections(scores), *hubs, *_closing(scores)]
        parts = [count(len(table.rows), "row")] if table.rows else []
        if table.datasets:
            pairs = sum(map(scores.pairs, table.datasets))
            parts.append(f"{count(len(table.datasets), 'dataset')}, {count(pairs, 'pair')}")
        if table.hubs is not None:
            parts.append(f"{table.hubs.docs:,} documents, {table.hubs.queries:,} queries")
        elif scores.tasks:
            parts.append(count(len(scores.tasks), "other task" if table.datasets else "task"))
        return Document(verdict.headline, table.model, " · ".join(parts), [verdict], sections)

    def to_latex(self, aggregation: Aggregation | None = None) -> str:
        """Tables for a paper, with two digits: all of them, or the scores under one aggregation.

        Raises:
            OptionError: there is no such aggregation.
        """
        from uncone.report.render.latex import render

        if aggregation is None:
            return render(self.document(_DIGITS))
        if aggregation not in AGGREGATIONS:
            raise OptionError(f"There is no aggregation {aggregation!r}; choose from {', '.join(AGGREGATIONS)}.")
        scores = tables.score_table(self._scores, aggregation, digits=_DIGITS)
        return render(Document("Evaluation", self.table.model, "", [], [Section("Scores", [scores])]))

    def to_csv(self) -> str:
        """CSV with one figure per line, and what it was measured on."""
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
            yield from self._lines(row.method, [*_row_figures(row), *self._average_figures(row)])
        for task in self.table.tasks:
            yield from self._lines(task.method, _task_figures(task))
        for row in self.table.published:
            figures = [figure for figure in _row_figures(row) if figure[3] is not None]
            yield from self._lines(row.method, figures, "published, ")

    def _lines(self, method: Method, figures: Iterable[_Figure], prefix: str = "") -> Iterator[tuple[Any, ...]]:
        protocol = f"{prefix}{method.protocol}"
        start = (self.table.model, method.layer, method.pooling, method.level, method.name, protocol, method.fitted_on)
        yield from ((*start, *finite(list(figure))) for figure in figures)

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
        dataset, n = cell.dataset, cell.spearman.n
        for measure, scores in (("spearman", cell.spearman), ("pearson", cell.pearson)):
            yield from ((dataset, measure, way, getattr(scores, way), *_NONE, scores.n, None) for way in AGGREGATIONS)
        yield (dataset, "isoscore", "", cell.isoscore, *_NONE, None, None)
        yield (dataset, "baseline", "", cell.baseline, *_NONE, None, None)
        if (aligned := cell.alignment) is not None:
            yield (dataset, "alignment", "", aligned.value, aligned.low, aligned.high, aligned.n, None)
            yield (dataset, "uniformity", "", cell.uniformity, *_NONE, None, None)
        if cell.spread is not None:
            yield (dataset, "spearman_spread", "all", cell.spread, *_NONE, n, None)
        if (gap := cell.difference) is not None:
            yield (dataset, "spearman_difference", "all", gap.value, gap.low, gap.high, n, gap.units)


def _task_figures(task: TaskRow) -> Iterator[_Figure]:
    for name, score in task.scores.items():
        yield (task.task, name, "", score.value, score.low, score.high, score.n, None)
    for name, gap in task.differences.items():
        n = task.scores[name].n if name in task.scores else None
        yield (task.task, f"{name}_difference", "", gap.value, gap.low, gap.high, n, gap.units)
    if task.isoscore is not None:
        yield (task.task, "isoscore", "", task.isoscore, *_NONE, None, None)


def _score_sections(scores: Scores, digits: int) -> list[Section]:
    ways = scores.aggregations
    tabs: list[tuple[str, list[Block]]] = [
        (way if len(ways) > 1 else "Spearman", [tables.score_table(scores, way, digits=digits)]) for way in ways
    ]
    tabs.append(("Pearson", [tables.score_table(scores, "all", "pearson", digits)]))
    averages: list[Block] = present(tables.average_table(scores), charts.layer_chart(scores))
    title = "On average" if len(scores.table.datasets) > 1 else "Summary"
    sections = [
        Section("Methods and datasets", [Tabs(tabs)], brief=[tables.score_table(scores, brief=True)]),
        Section(title, averages, brief=[tables.average_table(scores, brief=True)]),
    ]
    if scores.repaired:
        every = Fold("All differences from raw vectors, with 95 % intervals", [tables.difference_table(scores)])
        sections.append(Section("Differences from raw vectors", [*charts.difference_charts(scores), every]))
    if any(row.isoscore is not None for row in scores.table.rows):
        every = Fold("IsoScore by dataset", [tables.isotropy_table(scores)])
        sections.append(Section("Isotropy", present(charts.isotropy_chart(scores), every)))
    if any(cell.alignment is not None for row in scores.table.rows for cell in row.cells):
        sections.append(Section("Alignment and uniformity", [tables.alignment_table(scores)]))
    return sections


def _task_sections(scores: Scores) -> list[Section]:
    blocks: list[Block] = []
    for task, rows in scores.tasks.items():
        blocks.append(tables.task_table(task, rows))
        if any("accuracy" in row.scores for row in rows.values()):
            blocks.append(Sentences([_INVERTIBLE]))
    brief = [tables.task_table(task, rows, brief=True) for task, rows in scores.tasks.items()]
    return [Section("Other tasks" if scores.table.datasets else "Tasks", blocks, brief=brief)] if blocks else []


def _closing(scores: Scores) -> list[Section]:
    table = scores.table
    notes = Notes([*say.missing_scores(scores), *filter(None, table.notes)])
    kind = "model" if table.hubs is None and "dim" not in table.provenance else "vectors"
    facts = [(kind, table.model), *provenance_facts(table.provenance)]
    facts += [(f"published: {row.method.name}", row.note) for row in table.published if row.note]
    sections = [Section("Notes", [notes], brief=[notes])] if notes.lines else []
    return [*sections, Section("Provenance", [Facts(facts)])]
