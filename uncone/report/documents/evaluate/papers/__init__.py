"""The result of the suite: the tables of the papers for one model, in their own layouts, and its document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from uncone.analysis.measures.finding import Level, finite
from uncone.analysis.number_format import count
from uncone.evaluation.papers.layouts import LAYOUTS, Layout
from uncone.evaluation.papers.suite import Figure
from uncone.report.charts.files import csv_text
from uncone.report.document import Block, Document, Facts, Notes, Section, Tabs, Verdict
from uncone.report.documents.evaluate.papers import sentences as say
from uncone.report.documents.evaluate.papers.charts import paper_charts
from uncone.report.documents.evaluate.papers.figures import Figures, dataset_title
from uncone.report.documents.evaluate.papers.tables import paper_tables
from uncone.report.result import Result
from uncone.report.text import last_name, provenance_facts

COLUMNS = ("table", "model", "origin", "row", "fitted_on", "dataset", "measure", "value", "low", "high", "n", "reason")
"""The columns of `to_csv`. Isotropies are log10 I(W); only differences have an interval."""
_SECTIONS = (
    ("Parts of the repair", LAYOUTS[:1]),
    ("Seven datasets, before and after", LAYOUTS[1:2]),
    ("Classification", LAYOUTS[2:3]),
    ("Without supervision", LAYOUTS[3:5]),
    ("With NLI supervision", LAYOUTS[5:]),
)
_PROTOCOLS = (
    "Repairs of tokens are fitted on the sentences of the dataset itself, as in the paper. A method with a random "
    "start is the mean of 3 seeds, on SST-2 of one. There are 27 clusters, and PCA removes 12 directions (an eighth of "
    "the dimensions, if they are fewer than 96).",
    "A flow or a whitening that is fitted on the target has seen the texts that it is judged on.",
)


@dataclass(frozen=True)
class PaperTables(Result):
    """Every table of the cluster-based, flow and whitening papers for one model, with the published rows."""

    model: str
    supervised: str | None
    figures: Sequence[Figure]
    limit: int | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)
    resumed: Sequence[str] = ()
    """The parts that were measured by an earlier run."""

    @cached_property
    def _figures(self) -> Figures:
        return Figures(self.model, self.supervised, self.figures)

    @property
    def headline(self) -> str:
        """What the cluster-based repair does on average."""
        return say.headline(self._figures)

    def lines(self) -> list[str]:
        """The findings, in sentences written from the numbers."""
        return say.sentences(self._figures)

    def _values(self) -> dict[str, Any]:
        published = [
            {"table": layout.name, "family": layout.family, **vars(row)}
            for layout in LAYOUTS
            for row in layout.published()
        ]
        return {
            "model": self.model,
            "supervised": self.supervised,
            "limit": self.limit,
            "headline": self.headline,
            "lines": self.lines(),
            "figures": self.figures,
            "published": published,
            "provenance": self.provenance,
        }

    def document(self) -> Document:
        """The report as data."""
        verdict = Verdict(self.headline, Level.NOTE, self.lines(), bulleted=True, marked=False)
        legend: set[str] = set()
        sections = [self._section(title, layouts, legend) for title, layouts in _SECTIONS]
        charts = paper_charts(self._figures)
        sections += [Section("Figures", charts)] if charts else []
        reasons = {
            f"{each.row} on {dataset_title(each.dataset)}: {each.reason}": 0 for each in self.figures if each.reason
        }
        notes = Notes([*_PROTOCOLS, *reasons])
        facts = Facts(
            [("model", self.model), ("supervised", self.supervised or "none"), *provenance_facts(self.provenance)]
        )
        sections += [Section("Notes", [notes], brief=[notes]), Section("Provenance", [facts])]
        warning = ""
        if self.limit is not None:
            warning = f"This is a trial with at most {count(self.limit, 'pair')} of each dataset. The papers use all."
        second = [] if self.supervised is None else [f"supervised: {last_name(self.supervised)}"]
        subtitle = " · ".join([count(len(LAYOUTS), "table"), *second])
        return Document("The tables of the papers", last_name(self.model), subtitle, [verdict], sections, warning)

    def _section(self, title: str, layouts: Sequence[Layout], legend: set[str]) -> Section:
        """The tables of a section; on a terminal, what is in `legend` is not explained again."""
        tables = [list(paper_tables(self._figures, layout)) for layout in layouts]
        blocks: list[Block] = list(tables[0])
        if len(layouts) > 1:
            blocks = [Tabs([("wmean", tables[0]), ("all", tables[1])], "Subsets")]
        brief = []
        for table in tables[0]:
            brief.append(replace(table, remarks=[remark for remark in table.remarks if remark not in legend]))
            legend.update(table.remarks)
        return Section(title, blocks, layouts[0].source, brief, layouts[0].name)

    def to_csv(self) -> str:
        """CSV with a line for each cell of the tables, measured and published."""
        return csv_text(COLUMNS, self._lines())

    def _lines(self) -> Iterator[tuple[Any, ...]]:
        for layout in LAYOUTS:
            yield from self._measured_lines(layout)
            for row in layout.published():
                start = (layout.name, layout.family, "published", row.label, row.fit)
                for dataset, scores in row.values.items():
                    yield from ((*start, dataset, *pair, None, None, None, "") for pair in scores.items())
                if row.average is not None and len(layout.measures) == 1:
                    yield (*start, "average", layout.measures[0], row.average, None, None, None, "")

    def _measured_lines(self, layout: Layout) -> Iterator[tuple[Any, ...]]:
        measures = [*layout.measures, *(["unit"] if "both_signs" in layout.measures else [])]
        is_tested = not {"spearman", "accuracy"}.isdisjoint(measures)
        for key in self._figures.rows(layout):
            for dataset in layout.datasets:
                figure = self._figures.figure(key, dataset)
                if figure is None:
                    continue
                start = (layout.name, self._figures.model_of(layout), "measured", *key[1:], dataset)
                for measure in measures:
                    yield (*start, measure, *finite([figure.values.get(measure)]), None, None, figure.n, figure.reason)
                gap = figure.difference
                if gap is not None and is_tested:
                    yield (*start, "difference", *finite([gap.value, gap.low, gap.high]), figure.n, figure.reason)

    def __repr__(self) -> str:
        """The result in a line."""
        return f"<PaperTables {self.model}: {self.headline}>"
