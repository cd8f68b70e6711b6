"""The numbers behind a chart as CSV, one observation per line: category names, no guides, no references."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from uncone.report.charts.frame import categories, places
from uncone.report.charts.model import (
    Bars,
    Chart,
    Cloud,
    Coloring,
    Forest,
    Heatmap,
    Histogram,
    Line,
    Mark,
    Number,
    Points,
)

__all__ = ["table"]

Value = str | float | int | None
Record = dict[str, Value]


_MOST_CELLS = 2_500
"""Cells of a heatmap with a line each; a larger one is written as a matrix."""


def table(chart: Chart | Cloud) -> str:
    """All marks of a chart in one table; columns that a mark does not have stay empty."""
    if isinstance(chart, Chart):
        for mark in chart.marks:
            if isinstance(mark, Heatmap) and sum(map(len, mark.values)) > _MOST_CELLS:
                return _matrix(chart, mark)
    records = list(_cloud(chart) if isinstance(chart, Cloud) else _records(chart))
    head = list(dict.fromkeys(key for record in records for key in record))
    # A column in which nothing is known says nothing.
    head = [key for key in head if any(record.get(key) not in (None, "") for record in records)]
    return _written(head, ([record.get(key) for key in head] for record in records))


def _written(head: Sequence[Value], rows: Iterable[Sequence[Value]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return text.getvalue()


def _matrix(chart: Chart, heatmap: Heatmap) -> str:
    """The cells as they are drawn, with the names of rows and columns around them."""
    columns = [_named(chart, "x", at) for at in range(len(heatmap.values[0]))]
    lines = (
        [
            _named(chart, "y", at),
            *("" if value is None or not math.isfinite(value) else f"{value:.6g}" for value in line),
        ]
        for at, line in enumerate(heatmap.values)
    )
    return _written([chart.y.name or "y", *columns], lines)


def _records(chart: Chart) -> Iterator[Record]:
    x, y = chart.x.name or "x", chart.y.name or "y"
    for mark in chart.marks:
        if isinstance(mark, Line) and mark.guide:
            continue
        for record in _mark(chart, mark, x, y):
            yield {key: _known(value) for key, value in record.items()}


def _mark(chart: Chart, mark: Mark, x: str, y: str) -> Iterator[Record]:
    match mark:
        case Line():
            start: Record = {"group": mark.group, "series": mark.name or mark.label}
            held = {x: _names(chart, "x", mark.x), y: mark.y, "low": mark.low, "high": mark.high}
            return _rows(start, {**held, "n": mark.n, "note": mark.notes})
        case Histogram():
            ends = {f"{x}_from": mark.edges[:-1], f"{x}_to": mark.edges[1:]}
            return _rows({"series": mark.label}, {**ends, y: mark.heights})
        case Bars():
            along, value, axis = (y, x, "y") if mark.sideways else (x, y, "x")
            held = {along: _names(chart, axis, places(mark)), value: mark.y}
            return _rows({"series": mark.label}, {**held, "low": mark.low, "high": mark.high, "text": mark.texts})
        case Points():
            held = {x: _names(chart, "x", mark.x), y: _names(chart, "y", mark.y)}
            return _rows({"series": mark.label}, {**held, "text": mark.texts})
        case Forest():
            held = {y: _names(chart, "y", mark.rows), x: mark.values}
            return _rows({"series": mark.label}, {**held, "low": mark.low, "high": mark.high, "n": mark.n})
        case Heatmap():
            return _cells(chart, mark, x, y)


def _rows(start: Record, columns: Mapping[str, Sequence[Value]]) -> Iterator[Record]:
    held = {name: column for name, column in columns.items() if len(column)}
    for row in zip(*held.values(), strict=True):
        yield {**start, **dict(zip(held, row, strict=True))}


def _cells(chart: Chart, heatmap: Heatmap, x: str, y: str) -> Iterator[Record]:
    name = heatmap.bar or heatmap.label or "value"
    for i, line in enumerate(heatmap.values):
        for j, value in enumerate(line):
            text = heatmap.texts[i][j] if heatmap.texts else ""
            n = heatmap.n[i] if heatmap.n else None
            yield {y: _named(chart, "y", i), x: _named(chart, "x", j), name: value, "text": text, "n": n}


def _names(chart: Chart, along: str, at: Sequence[Number]) -> list[Value]:
    return [_named(chart, along, one) for one in at]


def _named(chart: Chart, along: str, at: Number) -> Value:
    """The name of a place on an axis, or the number itself."""
    names = categories(chart, along)
    if at is not None and at == int(at) and (chart.x if along == "x" else chart.y).whole:
        at = int(at)
    is_place = at is not None and at == int(at) and 0 <= at < len(names)
    return names[int(at)] if names and is_place and at is not None else at


def _cloud(cloud: Cloud) -> Iterator[Record]:
    """The points with their texts and colors, then the path through them."""
    for view in cloud.views:
        rows = range(len(view.points)) if view.rows is None else [int(row) for row in view.rows]
        for row, point in zip(rows, view.points.tolist(), strict=True):
            start: Record = {"group": cloud.group, "view": view.label, "part": "point", "row": row}
            text = {"text": cloud.texts[row] if cloud.texts else ""}
            yield {**start, **text, **_xyz(point), **{one.title: _color(one, row) for one in cloud.colorings}}
        for point in [] if view.path is None else view.path.tolist():
            yield {"group": cloud.group, "view": view.label, "part": "path", **_xyz(point)}


def _xyz(point: Sequence[float]) -> Record:
    return {axis: float(f"{value:.7g}") for axis, value in zip("xyz", point, strict=False)}


def _color(coloring: Coloring, row: int) -> Value:
    if coloring.codes is not None:
        code = int(coloring.codes[row])
        return coloring.names[code] if 0 <= code < len(coloring.names) else None
    return None if coloring.values is None else _known(float(coloring.values[row]))


def _known(value: Value) -> Value:
    return None if isinstance(value, float) and not math.isfinite(value) else value
