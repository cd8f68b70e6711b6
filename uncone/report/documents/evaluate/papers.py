"""The result of the suite: the tables of the papers for one model, in their own layouts, and its document."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import fmean
from typing import Any

from uncone.analysis.measures.finding import Level, finite
from uncone.analysis.number_format import count
from uncone.evaluation.papers.layouts import CLUSTERS, LAYOUTS, NLI, TARGET, TITLES, TWO_LAYERS, Layout, PublishedRow
from uncone.evaluation.papers.published import BERT, published_family
from uncone.evaluation.papers.suite import Figure
from uncone.report.charts.files import csv_text
from uncone.report.charts.model import Axis, Chart, Forest, Points
from uncone.report.charts.theme import series_color
from uncone.report.document import Block, Cell, Column, Document, Facts, Notes, Row, Section, Table, Tabs, Verdict
from uncone.report.documents.evaluate.scores import MARKS, difference_text, points, signed_points, trend
from uncone.report.result import Result
from uncone.report.text import last_name, provenance_facts

__all__ = ["COLUMNS", "PaperTables", "isotropy_text"]

COLUMNS = ("table", "model", "origin", "row", "fitted_on", "dataset", "measure", "value", "low", "high", "n", "reason")
"""The columns of `to_csv`; the interval is that of a difference."""
_DIGITS = 2
"""Digits of scores in papers."""
_NOT_RUN, _NO_RECORD, _NOT_PUBLISHED = "not run", "no record", "not published"
_LEVELS = {1: Level.NOTE, 0: Level.NOTE, -1: Level.CROWDED}
_LEGEND = {
    "star": "A star marks a proven difference from raw, ↓* a proven loss (95 % interval, corrected for the number of "
    "methods).",
    "isotropy": "I(W) published follows the code of the papers: one sign for each eigenvector, as the solver returns "
    "it. I(W) safe takes both signs, so it depends on no solver. 1 is isotropic. Both are of the vectors "
    "that are repaired, the tokens of the dataset.",
    "record": "no record: uncone holds no published figure for this cell. The paper may have one.",
    "run": "not run: this model wasn't measured here.",
}
_UNSUPERVISED = "Name a sentence model trained on NLI with --supervised to fill this table."


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
    def _by_place(self) -> dict[tuple[str, str, str, str], Figure]:
        return {(each.part, each.row, each.fit, each.dataset): each for each in self.figures}

    def rows(self, layout: Layout) -> list[tuple[str, str, str]]:
        """The measured rows of a table: part, name, and what they were fitted on."""
        keys = dict.fromkeys((each.part, each.row, each.fit) for each in self.figures if each.part in layout.parts)
        own = [key for key in keys if not layout.labels or key[1] in layout.labels]
        return sorted(own, key=lambda key: layout.labels.index(key[1]) if layout.labels else 0)

    def figure(self, key: tuple[str, str, str], dataset: str) -> Figure | None:
        """A measured row on a dataset."""
        return self._by_place.get((*key, dataset))

    def average(self, key: tuple[str, str, str], measure: str, datasets: Sequence[str]) -> float | None:
        """The plain mean of a row over datasets; None if one is missing."""
        figures = [self.figure(key, dataset) for dataset in datasets]
        values = [None if each is None else each.values.get(measure) for each in figures]
        known = [value for value in values if value is not None]
        return fmean(known) if known and len(known) == len(values) else None

    @property
    def headline(self) -> str:
        """What the cluster-based repair does on average, beside what was published."""
        layout = LAYOUTS[1]
        gain = self._mean_gain("tokens", CLUSTERS[1], TARGET, "spearman", CLUSTERS[0])
        if gain is None:
            return "Not every dataset has a score: see the tables."
        rows = {row.label: row.average for row in layout.published()}
        published = (rows[CLUSTERS[1]] or 0.0) - (rows[CLUSTERS[0]] or 0.0)
        verb = "gains" if gain >= 0 else "loses"
        return (
            f"The cluster-based repair {verb} {points(abs(gain))} points of Spearman on average over "
            f"{count(len(layout.datasets), 'dataset')} (published for {BERT}: {signed_points(published)})."
        )

    def _mean_gain(self, part: str, row: str, fit: str, measure: str, raw: str) -> float | None:
        datasets = LAYOUTS[1].datasets
        values = [self.average((part, *key), measure, datasets) for key in ((row, fit), (raw, ""))]
        return None if values[0] is None or values[1] is None else values[0] - values[1]

    def lines(self) -> list[str]:
        """The findings, in sentences written from the numbers."""
        return [*self._best_rows(), *self._sentence_gains(), *self._accuracy(), *self._isotropies()]

    def _best_rows(self) -> Iterator[str]:
        layout = LAYOUTS[0]
        for dataset in layout.datasets:
            known = []
            for key in self.rows(layout):
                figure = self.figure(key, dataset)
                if figure is not None and figure.values.get("spearman") is not None:
                    known.append((figure.values["spearman"] or 0.0, key[1]))
            published = [
                (row.values[dataset]["spearman"], row.label)
                for row in layout.published()
                if "spearman" in row.values[dataset]
            ]
            if len(known) == len(layout.labels):
                paper = f" (published for {BERT}: {max(published)[1]}, {points(max(published)[0])})"
                whole = len(published) == len(layout.labels)
                raw = next(value for value, label in known if label == CLUSTERS[0])
                best, label = max(known)
                yield (
                    f"{dataset}: of the six rows, {label} scores best, {points(best)} against {points(raw)} raw"
                    f"{paper if whole else ''}."
                )

    def _sentence_gains(self) -> Iterator[str]:
        for part, raw, title in (
            ("sentences", TWO_LAYERS, "Without"),
            ("supervised", "raw, by its own recipe", "With"),
        ):
            parts = []
            for row in ("flow", "whiten"):
                gains = [self._mean_gain(part, row, fit, "wmean", raw) for fit in (TARGET, NLI)]
                if None not in gains:
                    texts = [
                        f"{signed_points(gain)} fitted on {fit}"
                        for gain, fit in zip(gains, ("target", NLI), strict=True)
                    ]
                    parts.append(f"{row} {' and '.join(texts)}")
            if parts:
                yield f"{title} NLI supervision, average gain over raw (wmean): {'; '.join(parts)}."

    def _accuracy(self) -> Iterator[str]:
        figures = [self.figure(("classes", row, fit), "sst2") for row, fit in zip(CLUSTERS, ("", TARGET), strict=True)]
        scores = [None if each is None else each.values.get("accuracy") for each in figures]
        gain = figures[1].difference if figures[1] is not None else None
        if scores[0] is not None and scores[1] is not None:
            sure = "" if gain is None else ", proven" if trend(gain) else ", not proven"
            published = " to ".join(f"{row.values['sst2']['accuracy'] * 100:.2f}" for row in LAYOUTS[2].published())
            yield (
                f"SST-2: accuracy {points(scores[0], 2)} before and {points(scores[1], 2)} after the repair{sure} "
                f"(published for {BERT}: {published})."
            )

    def _isotropies(self) -> Iterator[str]:
        datasets = LAYOUTS[1].datasets
        means = [
            self.average(("tokens", *key), "both_signs", datasets) for key in zip(CLUSTERS, ("", TARGET), strict=True)
        ]
        if means[0] is not None and means[1] is not None:
            yield (
                f"I(W), safe form, moves from {isotropy_text(means[0])} to {isotropy_text(means[1])} "
                "(geometric mean over the datasets). Rounder doesn't mean better: compare the scores."
            )
        gaps = [
            abs((each.values.get("published") or 0.0) - (each.values.get("both_signs") or 0.0))
            for each in self.figures
            if "both_signs" in each.values
        ]
        if gaps and max(gaps) >= 1:
            yield f"The published form of I(W) and the safe one differ by up to {max(gaps):.1f} powers of ten here."

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
            "figures": [each.to_dict() for each in self.figures],
            "published": published,
            "provenance": self.provenance,
        }

    def document(self) -> Document:
        """The report as data."""
        verdict = Verdict(self.headline, Level.NOTE, self.lines(), bulleted=True, marked=False)
        sections = []
        for layouts in (LAYOUTS[:1], LAYOUTS[1:2], LAYOUTS[2:3], LAYOUTS[3:5], LAYOUTS[5:]):
            tables = [list(self._tables(layout)) for layout in layouts]
            blocks: list[Block] = list(tables[0])
            if len(layouts) > 1:
                blocks = [Tabs([(name, own) for name, own in zip(("wmean", "all"), tables, strict=True)])]
            title, _, _ = layouts[0].title.partition(", as the papers")
            sections.append(Section(title, blocks, layouts[0].source, tables[0], layouts[0].name))
        charts = [chart for chart in (self._gain_chart(), self._isotropy_chart()) if chart is not None]
        sections.append(Section("Figures", charts))
        notes = Notes(self._notes())
        facts = Facts(
            [("model", self.model), ("supervised", self.supervised or _NOT_RUN), *provenance_facts(self.provenance)]
        )
        sections.append(Section("Notes", [notes], brief=[notes]))
        sections.append(Section("Provenance", [facts]))
        warning = ""
        if self.limit is not None:
            warning = f"A trial: at most {count(self.limit, 'pair')} or texts of each dataset. The papers use all."
        subtitle = " · ".join(
            [
                count(len(LAYOUTS), "table"),
                *([] if self.supervised is None else [f"supervised: {last_name(self.supervised)}"]),
            ]
        )
        return Document("The tables of the papers", self.model, subtitle, [verdict], sections, warning)

    def _notes(self) -> list[str]:
        reasons = dict.fromkeys(f"{each.row} on {each.dataset}: {each.reason}" for each in self.figures if each.reason)
        notes = [
            "Repairs of tokens are fitted on the dataset itself, as in the paper: transductive. Clusters are means over 3 seeds.",
            "Fitted on the target, a flow or a whitening has seen the texts that it is judged on.",
        ]
        return [*notes, *reasons]

    def _tables(self, layout: Layout) -> Iterator[Table]:
        datasets = layout.datasets
        panels = [datasets[at : at + layout.panel] for at in range(0, len(datasets), layout.panel)]
        for at, panel in enumerate(panels):
            name = layout.name if len(panels) == 1 else f"{layout.name}-{at + 1}"
            title = layout.title if len(panels) == 1 else f"{layout.title} ({at + 1} of {len(panels)})"
            last = at == len(panels) - 1
            rows = [*self._measured_rows(layout, panel), *self._published_rows(layout, panel)]
            remarks = _remarks(layout, rows) if last else []
            yield Table(self._columns(layout, panel), rows, title=title, remarks=remarks, name=name, compact=True)

    def _columns(self, layout: Layout, datasets: Sequence[str]) -> list[Column]:
        columns = [Column("method", align="left", wrap=True)]
        for dataset in datasets:
            for at, measure in enumerate(layout.measures):
                several = len(layout.measures) > 1
                columns.append(Column(dataset, TITLES[measure] if several else "", divider=several and at == 0))
        return [*columns, Column("average", divider=True)] if _has_average(layout) else columns

    def _measured_rows(self, layout: Layout, datasets: Sequence[str]) -> Iterator[Row]:
        keys = self.rows(layout)
        name = self.supervised if "supervised" in layout.parts else self.model
        places = len(datasets) * len(layout.measures) + _has_average(layout)
        if not keys:
            yield Row([Cell("a model trained on NLI, measured here")])
            yield Row([Cell("every row"), *[Cell(_NOT_RUN)] * places], muted=True)
            return
        yield Row([Cell(f"{last_name(name)}, measured here")])
        best = _best(self, layout, keys, datasets)
        for key in keys:
            cells = []
            for dataset in datasets:
                figure = self.figure(key, dataset)
                for measure in layout.measures:
                    cells.append(_measured_cell(figure, measure, best.get((dataset, measure))))
            if _has_average(layout):
                mean = self.average(key, layout.measures[0], layout.datasets)
                cells.append(Cell(_NOT_RUN if mean is None else points(mean, _DIGITS)))
            yield Row([Cell(_label(key[1], key[2])), *cells])

    def _published_rows(self, layout: Layout, datasets: Sequence[str]) -> Iterator[Row]:
        own = self.supervised if "supervised" in layout.parts else self.model
        places = len(datasets) * len(layout.measures) + _has_average(layout)
        published = layout.published()
        if published:
            yield Row([Cell(f"{layout.family}, published")])
        for row in published:
            cells = [_published_cell(row, dataset, measure) for dataset in datasets for measure in layout.measures]
            if _has_average(layout):
                cells.append(Cell(_NO_RECORD if row.average is None else points(row.average, _DIGITS)))
            yield Row([Cell(_label(row.label, row.fit), hover=row.source), *cells], muted=True)
        if own is None or published_family(own) != layout.family:
            yield Row([Cell(f"{layout.family}, measured here")])
            yield Row([Cell("every row"), *[Cell(_NOT_RUN)] * places], muted=True)

    def _gain_chart(self) -> Chart | None:
        """The gain of the cluster-based repair by dataset, with its interval, beside the published one."""
        layout = LAYOUTS[1]
        own = [(at, self.figure(("tokens", CLUSTERS[1], TARGET), name)) for at, name in enumerate(layout.datasets)]
        gains = [(at, each.difference) for at, each in own if each is not None and each.difference is not None]
        known = [(at, gain) for at, gain in gains if gain.value is not None]
        if not known:
            return None
        hundred = [[_hundred(getattr(gain, end)) for _, gain in known] for end in ("value", "low", "high")]
        rows = [float(at) for at, _ in known]
        look: dict[str, Any] = {
            "open": [not gain.significant for _, gain in known],
            "n": [gain.units for _, gain in known],
        }
        marks = [Forest(rows, *hundred, last_name(self.model), "accent", **look)]
        before, after = (row.values for row in layout.published())
        paper = [100 * (after[name]["spearman"] - before[name]["spearman"]) for name in layout.datasets]
        blank: list[float | None] = [None] * len(paper)
        marks.append(Forest(list(range(len(paper))), paper, blank, blank, f"{BERT}, published", "second", "diamond"))
        caption = (
            "Spearman x 100, after minus before the cluster-based repair. The interval is 95 %; an open circle is not "
            "proven. The published gains have no interval."
        )
        x = Axis("difference from raw", "difference", zero_line=True)
        return Chart(
            "papers-gains",
            "Gain of the cluster-based repair",
            caption,
            marks,
            x,
            Axis(name="dataset", categories=list(layout.datasets)),
        )

    def _isotropy_chart(self) -> Chart | None:
        """A point for each row and dataset of the cluster-based tables: is rounder better?"""
        marks = []
        for place, label in enumerate(LAYOUTS[0].labels):
            found = [
                (each.values["both_signs"], each.values["spearman"], each.dataset)
                for each in self.figures
                if each.part == "tokens" and each.row == label and each.values.get("both_signs") is not None
            ]
            dots = [(x, 100 * y, name) for x, y, name in found if x is not None and y is not None]
            if dots:
                x, y, names = (list(side) for side in zip(*dots, strict=True))
                hover = [f"{label} on {name}: Spearman {b:.1f}, I(W) {isotropy_text(a)}" for a, b, name in dots]
                symbol: Any = "diamond" if place == 0 else "circle"
                marks.append(Points(x, y, label, series_color(place), 9, symbol=symbol, hover=hover))
        if not marks:
            return None
        caption = "A point is a dataset. I(W) in its safe form, of the tokens; 0 is isotropic. The score is the goal, not I(W)."
        across, up = Axis("log10 I(W)", "log10 I(W)"), Axis("Spearman x 100", "Spearman x 100")
        return Chart("papers-isotropy", "Isotropy and score", caption, marks, across, up)

    def to_csv(self) -> str:
        """CSV with a line for each cell of the tables, measured and published."""
        return csv_text(COLUMNS, self._lines())

    def _lines(self) -> Iterator[tuple[Any, ...]]:
        for layout in LAYOUTS:
            for key in self.rows(layout):
                own = self.supervised if key[0] == "supervised" else self.model
                for dataset in layout.datasets:
                    figure = self.figure(key, dataset)
                    if figure is None:
                        continue
                    start = (layout.name, own, "measured", key[1], key[2], dataset)
                    for measure in (*layout.measures, *(("unit",) if "both_signs" in layout.measures else ())):
                        yield (
                            *start,
                            measure,
                            *finite([figure.values.get(measure)]),
                            None,
                            None,
                            figure.n,
                            figure.reason,
                        )
                    gap = figure.difference
                    if gap is not None and set(layout.measures) & {"spearman", "accuracy"}:
                        yield (*start, "difference", *finite([gap.value, gap.low, gap.high]), figure.n, figure.reason)
            for row in layout.published():
                for dataset, scores in row.values.items():
                    start = (layout.name, layout.family, "published", row.label, row.fit, dataset)
                    yield from ((*start, measure, value, None, None, None, "") for measure, value in scores.items())
                if row.average is not None:
                    yield (
                        layout.name,
                        layout.family,
                        "published",
                        row.label,
                        row.fit,
                        "average",
                        layout.measures[0],
                        row.average,
                        None,
                        None,
                        None,
                        "",
                    )

    def __repr__(self) -> str:
        """The result in a line."""
        return f"<PaperTables {self.model}: {self.headline}>"


def isotropy_text(log10: float) -> str:
    """I(W) from its logarithm, as papers print it, however small it is.

    >>> isotropy_text(-0.2596), isotropy_text(-4.5272), isotropy_text(-400.5)
    ('0.55', '2.97e-5', '3.16e-401')
    """
    if log10 > -2:
        return f"{10**log10:.2f}"
    power = math.floor(log10)
    digits = f"{10 ** (log10 - power):.2f}"
    return f"1.00e{power + 1}" if digits == "10.00" else f"{digits}e{power}"


def _has_average(layout: Layout) -> bool:
    return len(layout.measures) == 1 and len(layout.datasets) > 1


def _label(label: str, fit: str) -> str:
    return f"{label}, fitted on {fit}" if fit and fit != TARGET else f"{label}, fitted on the target" if fit else label


def _hundred(value: float | None) -> float | None:
    return None if value is None else 100 * value


def _best(
    tables: PaperTables, layout: Layout, keys: Sequence[tuple[str, str, str]], datasets: Sequence[str]
) -> dict[tuple[str, str], float]:
    """The highest score of a column with several."""
    best = {}
    for dataset in datasets:
        for measure in layout.measures:
            figures = [tables.figure(key, dataset) for key in keys]
            values = [each.values.get(measure) for each in figures if each is not None]
            known = [value for value in values if value is not None]
            if len(known) > 1 and measure not in ("published", "both_signs"):
                best[dataset, measure] = max(known)
    return best


def _measured_cell(figure: Figure | None, measure: str, best: float | None) -> Cell:
    if figure is None:
        return Cell(_NOT_RUN)
    value = figure.values.get(measure)
    if value is None or not math.isfinite(value):
        return Cell("undefined", hover=figure.reason)
    if measure in ("published", "both_signs"):
        return Cell(isotropy_text(value))
    way = trend(figure.difference) if measure in ("spearman", "accuracy") else 0
    hover = difference_text(figure.difference) if measure in ("spearman", "accuracy") else ""
    return Cell(points(value, _DIGITS), "", _LEVELS[way], value == best, MARKS[way], hover)


def _published_cell(row: PublishedRow, dataset: str, measure: str) -> Cell:
    value = row.values.get(dataset, {}).get(measure)
    if value is None:
        return Cell(_NOT_PUBLISHED if measure == "both_signs" else _NO_RECORD)
    return Cell(isotropy_text(value) if measure == "published" else points(value, _DIGITS))


def _remarks(layout: Layout, rows: Sequence[Row]) -> list[str]:
    texts = {cell.text for row in rows for cell in row.cells}
    remarks = [_LEGEND["star"]] if any(cell.mark for row in rows for cell in row.cells) else []
    remarks += [_LEGEND["isotropy"]] if "both_signs" in layout.measures else []
    remarks += [_LEGEND["record"]] if _NO_RECORD in texts else []
    remarks += [_LEGEND["run"]] if _NOT_RUN in texts else []
    remarks += (
        [_UNSUPERVISED]
        if any(cell.text == "a model trained on NLI, measured here" for row in rows for cell in row.cells)
        else []
    )
    return remarks
