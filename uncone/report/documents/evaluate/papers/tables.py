"""The tables of the papers: measured rows, published rows, and what was not run. No cell is empty."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from uncone.analysis.measures.finding import Level
from uncone.evaluation.papers.layouts import NLI, TARGET, TITLES, Layout, PublishedRow
from uncone.evaluation.papers.suite import Figure
from uncone.report.document import Cell, Column, Row, Table
from uncone.report.documents.evaluate.papers.figures import Figures, Key, dataset_title
from uncone.report.documents.evaluate.scores import MARKS, difference_text, points, trend
from uncone.report.text import last_name

__all__ = ["isotropy_text", "paper_tables"]

_DIGITS = 2
"""Digits of scores in papers."""
_ISOTROPIES = ("published", "both_signs")
_TESTED = ("spearman", "accuracy")
"""The measures whose differences from raw vectors have intervals."""
_NOT_RUN, _NO_RECORD, _NOT_PUBLISHED, _UNDEFINED = "not run", "no record", "not published", "undefined"
_EVERY_ROW = "every row"
_LEVELS = {1: Level.NOTE, 0: Level.NOTE, -1: Level.CROWDED}
_STARS = (
    "A star marks a proven difference from raw, ↓* a proven loss: the 95 % interval excludes zero, corrected for the "
    "number of methods."
)
_ISOTROPY = (
    "I(W) is as published: one sign for each eigenvector, the one that the solver returns. The safe I(W) takes both "
    "signs, so it depends on no solver. 1 is isotropic. Both are of the tokens that are repaired."
)
_LEGEND = {
    _NO_RECORD: "no record: uncone holds no published figure for this cell. The paper may have one.",
    _NOT_RUN: "not run: this model wasn't measured here.",
    _UNDEFINED: "undefined: the notes say why.",
}
_UNSUPERVISED = "Name a sentence model trained on NLI with --supervised to fill this table."


def paper_tables(figures: Figures, layout: Layout) -> Iterator[Table]:
    """The table of a layout, in several panels if it is wide."""
    panels = list(_panels(layout))
    for at, datasets in enumerate(panels, 1):
        rows = [*_measured_rows(figures, layout, datasets), *_published_rows(figures, layout, datasets)]
        name, title = layout.name, layout.title
        if len(panels) > 1:
            name, title = f"{name}-{at}", f"{title} ({at} of {len(panels)})"
        remarks = _remarks(figures, layout, rows) if at == len(panels) else []
        yield Table(_columns(layout, datasets), rows, title=title, remarks=remarks, name=name, compact=True)


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


def _panels(layout: Layout) -> Iterator[Sequence[str]]:
    n = math.ceil(len(layout.datasets) / layout.panel)
    start = 0
    for at in range(n):
        size = len(layout.datasets) // n + (at < len(layout.datasets) % n)
        yield layout.datasets[start : start + size]
        start += size


def _has_average(layout: Layout) -> bool:
    return len(layout.measures) == 1 and len(layout.datasets) > 1


def _columns(layout: Layout, datasets: Sequence[str]) -> list[Column]:
    columns, several = [Column("method", align="left", wrap=True)], len(layout.measures) > 1
    for dataset in datasets:
        for measure in layout.measures:
            small = TITLES[measure] if several else ""
            columns.append(Column(dataset_title(dataset), small, divider=several and measure == layout.measures[0]))
    return [*columns, Column("average", divider=True)] if _has_average(layout) else columns


def _same(layout: Layout, datasets: Sequence[str], text: str) -> Row:
    """A row with the same text in every cell."""
    places = len(datasets) * len(layout.measures) + _has_average(layout)
    return Row([Cell(_EVERY_ROW), *[Cell(text)] * places], muted=True)


def _label(layout: Layout, label: str, fit: str) -> str:
    """The name of a row; where all repairs are fitted on the target, it is not repeated."""
    if not fit or layout.labels:
        return label
    return f"{label}, fitted on {'the target' if fit == TARGET else fit}"


def _measured_rows(figures: Figures, layout: Layout, datasets: Sequence[str]) -> Iterator[Row]:
    keys, model = figures.rows(layout), figures.model_of(layout)
    if not keys or model is None:
        yield Row([Cell(f"a model trained on {NLI}, measured here")])
        yield _same(layout, datasets, _NOT_RUN)
        return
    yield Row([Cell(f"{last_name(model)}, measured here")])
    best = {
        (dataset, measure): _best(figures, keys, dataset, measure)
        for dataset in datasets
        for measure in layout.measures
    }
    for key in keys:
        cells = [
            _measured_cell(figures.figure(key, dataset), measure, best[dataset, measure])
            for dataset in datasets
            for measure in layout.measures
        ]
        if _has_average(layout):
            mean = figures.average(key, layout.measures[0], layout.datasets)
            cells.append(Cell(_UNDEFINED if mean is None else points(mean, _DIGITS)))
        yield Row([Cell(_label(layout, *key[1:])), *cells])


def _best(figures: Figures, keys: Sequence[Key], dataset: str, measure: str) -> float | None:
    """The highest score of a column with several; isotropy is no contest."""
    values = [figures.value(key, dataset, measure) for key in keys]
    defined = [value for value in values if value is not None]
    return max(defined) if len(defined) > 1 and measure not in _ISOTROPIES else None


def _measured_cell(figure: Figure | None, measure: str, best: float | None) -> Cell:
    if figure is None:
        return Cell(_NOT_RUN)
    value = figure.values.get(measure)
    if value is None or not math.isfinite(value):
        return Cell(_UNDEFINED, hover=figure.reason)
    if measure in _ISOTROPIES:
        return Cell(isotropy_text(value))
    gain = figure.difference if measure in _TESTED else None
    way = trend(gain)
    return Cell(points(value, _DIGITS), "", _LEVELS[way], value == best, MARKS[way], difference_text(gain))


def _published_rows(figures: Figures, layout: Layout, datasets: Sequence[str]) -> Iterator[Row]:
    published = layout.published()
    if published:
        yield Row([Cell(f"{layout.family}, published")])
    for row in published:
        cells = [_published_cell(row, dataset, measure) for dataset in datasets for measure in layout.measures]
        if _has_average(layout):
            cells.append(Cell(_NO_RECORD if row.average is None else points(row.average, _DIGITS)))
        yield Row([Cell(_label(layout, row.label, row.fit), hover=row.source), *cells], muted=True)
    if not figures.is_of_paper(layout):
        yield Row([Cell(f"{layout.family}, measured here")])
        yield _same(layout, datasets, _NOT_RUN)


def _published_cell(row: PublishedRow, dataset: str, measure: str) -> Cell:
    value = row.values.get(dataset, {}).get(measure)
    if value is None:
        return Cell(_NOT_PUBLISHED if measure == "both_signs" else _NO_RECORD)
    return Cell(isotropy_text(value) if measure in _ISOTROPIES else points(value, _DIGITS))


def _remarks(figures: Figures, layout: Layout, rows: Sequence[Row]) -> list[str]:
    cells = [cell for row in rows for cell in row.cells]
    texts = {cell.text for cell in cells}
    remarks = [_STARS] if any(cell.mark for cell in cells) else []
    remarks += [_ISOTROPY] if "both_signs" in layout.measures else []
    remarks += [legend for text, legend in _LEGEND.items() if text in texts]
    return [*remarks, _UNSUPERVISED] if figures.model_of(layout) is None else remarks
