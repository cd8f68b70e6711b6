"""The figures and tables of Ethayarajh (2019): anisotropy, self-similarity, intra-sentence similarity and MEV."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from uncone.analysis.layers.contrast import PUBLISHED_CURVES, Curve, is_model
from uncone.analysis.measures.finding import finite
from uncone.analysis.number_format import clipped, cosine
from uncone.report.charts.model import Chart, Line
from uncone.report.charts.theme import series_color
from uncone.report.document import Cell, Column, Row, Table, present
from uncone.report.documents.layers import words
from uncone.report.documents.layers.comparison import at_depth, depth_of, overlay
from uncone.report.documents.layers.overview import evenly, short_names
from uncone.report.text import between, number_text, printable, shorten

if TYPE_CHECKING:
    from uncone.report.documents.layers import LayerStudy

__all__ = [
    "NOT_RUN", "brief_table", "context_charts", "context_tables", "layer_table", "word_charts", "word_tables",
]  # fmt: skip

NOT_RUN = "not run"
"""The cell of a published model that is none of those measured here."""

_FIGURES = ("baseline", "selfsim_adjusted", "intrasim_adjusted", "intrasim_adjusted_matched", "mev_adjusted")
"""The measures with a figure: adjusted as in the paper, and IntraSim also against as many unrelated words."""
_AS_PUBLISHED = (
    "Intra-sentence similarity, minus the baseline",
    "IntraSim − baseline",
    "How much more similar the words of a sentence are to their mean than random words to each other. As published: of "
    "unrelated words it is above zero.",
)
"""Title, axis and caption of the published adjustment, which `layers` shows as a thin line only."""
_TABLES: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "baseline": ("Anisotropy: mean cosine of random words", {"baseline": ""}),
    "selfsim": ("Self-similarity", {"selfsim": "raw", "selfsim_adjusted": "adjusted"}),
    "intrasim": (
        "Intra-sentence similarity",
        {"intrasim": "raw", "intrasim_adjusted": "adjusted", "intrasim_adjusted_matched": "adjusted, length-matched"},
    ),
    "mev": ("Maximum explainable variance", {"mev": "raw", "mev_adjusted": "adjusted"}),
}
_COLUMNS, _NAME = 6, 28
"""Layers that a screen has room for, and letters of a name."""
_WORDS = 8
"""Words with a row each, if none were named."""


def context_charts(studies: Sequence[LayerStudy]) -> list[Chart]:
    """The four figures, each with all studies; published curves of a model that was run are dashed."""
    return present(*(_figure(studies, name) for name in _FIGURES))


def _figure(studies: Sequence[LayerStudy], name: str) -> Chart | None:
    if name == "intrasim_adjusted":
        chart = overlay(studies, name, like="intrasim_adjusted_matched")
        if chart is not None:
            title, axis, caption = _AS_PUBLISHED
            chart = replace(chart, title=title, caption=caption, y=replace(chart.y, title=axis))
    else:
        chart = overlay(studies, name)
    if chart is None:
        return None
    relative, lines, sources = len({depth_of(study) for study in studies}) > 1, list(chart.marks), []
    for place, study in enumerate(studies):
        curve = _published(study.published, name)
        if curve is None:
            continue
        style: dict[str, Any] = {"dash": "dash", "weight": "thin", "name": f"{name}, published"}
        line = Line(list(map(float, range(len(curve.values)))), curve.values, "", series_color(place), **style)
        lines.append(at_depth(line, depth_of(study)) if relative else line)
        sources.append(f"{curve.model} on {curve.corpus}")
    caption = f"{chart.caption} Dashed: published ({'; '.join(sources)})." if sources else chart.caption
    return replace(chart, name=f"context-{name}", marks=lines, caption=caption)


def _published(curves: Sequence[Curve], name: str) -> Curve | None:
    """The published curve of a measure; an adjusted one is the raw one minus the published baseline."""
    by_name = {curve.measure: curve for curve in curves}
    raw, baseline = by_name.get(name.removesuffix("_adjusted")), by_name.get("baseline")
    if raw is None or not name.endswith("_adjusted"):
        return raw
    if baseline is None:
        return None
    return replace(raw, values=[a - b for a, b in zip(raw.values, baseline.values, strict=True)])


def context_tables(studies: Sequence[LayerStudy]) -> list[Table]:
    """Each measure by layer, raw and adjusted, of every study; published rows under it."""
    tables = []
    for name, (title, measures) in _TABLES.items():
        rows = {
            label: [[_cell(study, layer, measure) for layer in range(len(study.layers))] for study in studies]
            for measure, label in measures.items()
        }
        tables.append(layer_table(studies, title, rows, _published_rows(studies, name), name=name))
    return [table for table in tables if table is not None]


def _cell(study: LayerStudy, layer: int, name: str) -> Cell:
    finding = study.layers[layer].findings.get(name)
    if finding is None or finding.magnitude is None:
        return Cell("–")
    text = cosine(finding.magnitude, 3)
    has_interval = isinstance(finding.low, int | float) and isinstance(finding.high, int | float)
    return Cell(text, between(finding.low, finding.high, lambda bound: cosine(bound, 3)) if has_interval else "")


def layer_table(
    studies: Sequence[LayerStudy],
    title: str,
    rows: Mapping[str, Sequence[Sequence[Cell]]],
    published: Sequence[Row] = (),
    *,
    name: str,
) -> Table | None:
    """Studies in rows, under a heading for each kind of value, and layers in columns; None without a value."""
    most = max(len(study.layers) for study in studies)
    if not any(cell.text != "–" for cells in rows.values() for row in cells for cell in row):
        return None
    lines: list[Row] = []
    for label, cells in rows.items():
        lines += [Row([Cell(label)])] if label else []
        for study_name, row in zip(short_names(studies), cells, strict=True):
            lines.append(Row([Cell(study_name), *row, *[Cell("")] * (most - len(row))]))
    most = max([most, *(len(row.cells) - 1 for row in published)])
    padded = [replace(row, cells=[*row.cells, *[Cell("")] * (most + 1 - len(row.cells))]) for row in published]
    lines = [row if len(row.cells) == 1 else _padded(row, most + 1) for row in lines]
    heading = [Row([Cell("published, raw" if any(rows) else "published")])] if published else []
    columns = [Column("layer", align="left"), *(Column(str(layer)) for layer in range(most))]
    return Table(columns, [*lines, *heading, *padded], title=title, name=name, compact=True)


def brief_table(table: Table) -> Table:
    """A table by layer for a screen: some of the layers measured here, evenly spread, the last among them."""
    own = [row for row in table.rows if not row.muted and len(row.cells) > 1 and row.cells[1].text != NOT_RUN]
    most = max((place for row in own for place, cell in enumerate(row.cells) if cell.text), default=1)
    places = [0, *(1 + place for place in evenly(most, _COLUMNS))]
    rows = []
    for row in table.rows:
        if len(row.cells) == 1:
            rows.append(row)
            continue
        cells = [replace(row.cells[0], text=shorten(row.cells[0].text, _NAME))]
        cells += [replace(row.cells[place], small="") for place in places[1:]]
        rows.append(replace(row, cells=cells))
    deeper = most < len(table.columns) - 1
    remarks = [*table.remarks, *(["Published models have more layers: the report has all of them."] if deeper else [])]
    return replace(table, columns=[table.columns[place] for place in places], rows=rows, remarks=remarks)


def _padded(row: Row, width: int) -> Row:
    return replace(row, cells=[*row.cells, *[Cell("")] * (width - len(row.cells))])


def _published_rows(studies: Sequence[LayerStudy], measure: str) -> list[Row]:
    """The published curves of a measure, each followed by "not run" if no study is of that model."""
    rows = []
    for curve in (curve for curve in PUBLISHED_CURVES if curve.measure == measure):
        rows.append(
            Row([Cell(f"{curve.model}, {curve.corpus}"), *(Cell(cosine(v, 3)) for v in curve.values)], muted=True)
        )
        if not any(is_model(str(study.source["model"]), curve.model) for study in studies):
            rows.append(Row([Cell(f"{curve.model}, here"), Cell(NOT_RUN)]))
    return rows


def word_charts(studies: Sequence[LayerStudy]) -> list[Chart]:
    """MEV word by word, one chart for each study."""
    charts = []
    for place, (study, name) in enumerate(zip(studies, short_names(studies), strict=True), 1):
        for chart in words.word_charts(study):
            if chart.name == "word_mev":
                charts.append(replace(chart, name=f"context-word-mev-{place}", title=f"{chart.title}: {name}"))
    return charts


def word_tables(studies: Sequence[LayerStudy]) -> list[Table]:
    """SelfSim and MEV of the words that were named, or of a few across the range, by layer."""
    tables = []
    for place, (study, name) in enumerate(zip(studies, short_names(studies), strict=True), 1):
        table = study.words
        if table is None or not table.n or len(study.layers) < 2:
            continue
        places = [at for word in table.user_words if (at := table.place(word)) >= 0]
        candidates = [at for at in range(table.n) if table.mev_n[at] > 0]
        places = places or [candidates[at] for at in evenly(len(candidates), _WORDS)] if candidates else places
        rows = []
        for at in places:
            for measure, n, values in (("SelfSim", table.contexts, table.selfsim), ("MEV", table.mev_n, table.mev)):
                numbers = [number_text(value, lambda v: cosine(v, 3)) for value in finite(values[at].tolist())]
                word = clipped(printable(table.words[at]), 24)
                rows.append(Row([Cell(word), Cell(measure), Cell(f"{int(n[at]):,}"), *map(Cell, numbers)]))
        if rows:
            heads = [Column("word", align="left"), Column("measure", align="left"), Column("n")]
            columns = [*heads, *(Column(str(layer.number)) for layer in study.layers)]
            title, remark = f"Chosen words: {name}", "n: texts for SelfSim, occurrences for MEV. Raw, not adjusted."
            tables.append(Table(columns, rows, title=title, remarks=[remark], name=f"words-{place}", compact=True))
    return tables
