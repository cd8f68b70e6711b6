"""The marks of a chart as plotly traces."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from uncone.report.charts.frame import (
    bands,
    categories,
    hover_text,
    limits,
    places,
    row_height,
    shifts,
    text_sides,
    value_text,
)
from uncone.report.charts.model import Axis, Bars, Chart, Forest, Heatmap, Histogram, Line, Number, Points
from uncone.report.charts.theme import PALETTES, WIDTHS

__all__ = ["Figure", "escaped", "is_unified", "number", "numbers", "traces"]

Figure = dict[str, Any]

_MOST_MARKERS = 26
_MOST_TEXTS = 400
_MOST_UNIFIED = 130


def traces(chart: Chart) -> list[Figure]:
    """All marks; bands lie under every line."""
    moved, sides = shifts(chart), iter(text_sides(chart))
    data: list[Figure] = []
    for place, mark in enumerate(chart.marks):
        match mark:
            case Line():
                data += [*_bands(mark), _line(chart, mark)]
            case Histogram():
                data.append(_histogram(chart, mark))
            case Bars():
                data.append(_bars(chart, mark))
            case Points():
                data.append(_points(chart, mark, next(sides)))
            case Forest():
                data.append(_forest(chart, mark, moved[place]))
            case Heatmap():
                data.append(_heatmap(chart, mark))
    return sorted(_once_in_legend(data), key=lambda trace: trace.get("fill") != "toself")


def _once_in_legend(data: list[Figure]) -> list[Figure]:
    """A name that several marks share stands in the legend once, and a click there hides them all."""
    seen: set[str] = set()
    for trace in data:
        name = trace.get("name", "")
        trace["legend"] = "legend2"
        trace["showlegend"] = trace.get("showlegend", True) and bool(name) and name not in seen
        if name:
            trace["legendgroup"] = name
        if trace["showlegend"]:
            seen.add(name)
    return data


def _line(chart: Chart, line: Line) -> Figure:
    single = sum(value is not None for value in line.y) == 1
    dots = single or line.error_bars
    marked = line.points or (line.weight == "main" and not line.sideways and 1 < len(line.x) <= _MOST_MARKERS)
    color = f"{line.color} 50%" if line.weight == "light" and " " not in line.color else line.color
    trace: Figure = {
        "type": "scatter",
        "mode": "markers" if dots else "lines+markers" if marked and not line.guide else "lines",
        "x": numbers(line.x),
        "y": numbers(line.y),
        "name": escaped(line.label),
        "line": {"color": color, "width": WIDTHS[line.weight], "dash": line.dash},
        "marker": {"color": line.color, "size": 8 if dots else 5},
        # A line of an axis with a fixed range may leave it.
        "cliponaxis": chart.x.range is not None or chart.y.range is not None,
    }
    if line.fill:
        trace |= {"fill": "tozeroy", "fillcolor": f"{line.color.split()[0]} 14%"}
    if line.guide:
        return trace | {"hoverinfo": "skip", "showlegend": False}
    if dots and line.low:
        trace["error_y"] = _error(line.y, line.low, line.high, line.color)
    return trace | _hover(chart, line.hover or _line_texts(chart, line), line.label)


def _line_texts(chart: Chart, line: Line) -> Sequence[str]:
    """Texts where there is more to say than x and y, and the points are few enough."""
    if not (line.n or line.low or chart.y.percent) or len(line.x) > _MOST_TEXTS or line.sideways:
        return ()
    n = len(line.x)
    low, high, amounts = line.low or [None] * n, line.high or [None] * n, line.n or [0] * n
    said = [hover_text(line.label, *point, chart.y) for point in zip(line.y, low, high, amounts, strict=True)]
    return said if is_unified(chart) else [
        f"{_x_said(chart, x)}, {text}" if text else "" for x, text in zip(line.x, said, strict=True)
    ]  # fmt: skip


def _x_said(chart: Chart, x: float) -> str:
    names = chart.x.categories
    name = names[int(x)] if names and x == int(x) and 0 <= x < len(names) else value_text(x, chart.x)
    return f"{chart.x.name} {name}".strip()


def _hover(chart: Chart, texts: Sequence[str], label: str, unit: str = "") -> Figure:
    if texts:
        # Markers with a text beside them have `text` for that.
        return {"customdata": [escaped(one) for one in texts], "hovertemplate": "%{customdata}<extra></extra>"}
    start = f"{escaped(chart.x.name)} %{{x:.4~g}}: ".lstrip()
    value = "%{y:.3~g}" if not chart.y.percent else "%{y:.2~%}"
    name = f"{escaped(label)}: " if label and is_unified(chart) else ""
    extra = "" if is_unified(chart) else escaped(label)
    return {"hovertemplate": f"{'' if is_unified(chart) else start}{name}{value}{escaped(unit)}<extra>{extra}</extra>"}


def is_unified(chart: Chart) -> bool:
    """Whether pointing at an x tells all values there: curves over few and common places."""
    return all(
        isinstance(mark, Line) and not mark.sideways and (mark.guide or len(mark.x) <= _MOST_UNIFIED)
        for mark in chart.marks
    )


def _bands(line: Line) -> list[Figure]:
    """The interval as filled outlines, one for each run of places that have it."""
    made = []
    for place, low, high in bands(line):
        along, across = [*place, *reversed(place)], [*high, *reversed(low)]
        x, y = (across, along) if line.sideways else (along, across)
        made.append(
            {
                "type": "scatter",
                "mode": "lines",
                "x": numbers(x),
                "y": numbers(y),
                "fill": "toself",
                "fillcolor": f"{line.color.split()[0]} 20%",
                "line": {"width": 0, "color": line.color},
                "hoverinfo": "skip",
                "name": escaped(line.label),
                "showlegend": False,
            }
        )
    return made


def _histogram(chart: Chart, bins: Histogram) -> Figure:
    edges = [float(edge) for edge in bins.edges]
    unit = f" {bins.unit}" if bins.unit else ""
    start: Figure = {"name": escaped(bins.label), **_hover(chart, (), bins.label, unit)}
    if bins.filled:
        return start | {
            "type": "bar",
            "x": numbers([(a + b) / 2 for a, b in pairwise(edges)]),
            "y": numbers(bins.heights),
            "width": numbers([b - a for a, b in pairwise(edges)]),
            "marker": {"color": bins.color, "line": {"width": 0}},
        }
    steps = [0.0, *(height for one in bins.heights for height in (one, one)), 0.0]
    return start | {
        "type": "scatter",
        "mode": "lines",
        "x": numbers([edge for one in edges for edge in (one, one)]),
        "y": numbers(steps),
        "line": {"color": bins.color, "width": 1.8, "dash": bins.dash},
        **({"fill": "tozeroy", "fillcolor": f"{bins.color.split()[0]} 14%"} if bins.shaded else {}),
    }


def _bars(chart: Chart, bars: Bars) -> Figure:
    at, values = numbers(places(bars)), numbers(bars.y)
    axis, names = (chart.x, categories(chart, "y")) if bars.sideways else (chart.y, categories(chart, "x"))
    n = len(at)
    texts = bars.hover
    if not texts and n <= _MOST_TEXTS and (names or bars.low):
        low, high = bars.low or [None] * n, bars.high or [None] * n
        texts = [
            hover_text(": ".join(filter(None, (_name_at(names, x), bars.label))), y, a, b, 0, axis)
            for x, y, a, b in zip(at, bars.y, low, high, strict=True)
        ]
    trace: Figure = {
        "type": "bar",
        "x": values if bars.sideways else at,
        "y": at if bars.sideways else values,
        "name": escaped(bars.label),
        "marker": {"color": bars.color, "line": {"width": 0}},
        **_hover(chart, texts, bars.label),
    }
    if bars.sideways:
        trace["orientation"] = "h"
    if bars.low:
        trace["error_x" if bars.sideways else "error_y"] = _error(bars.y, bars.low, bars.high, "ink")
    if bars.texts:
        trace |= {"text": [escaped(one) for one in bars.texts], "textposition": "outside", "cliponaxis": False}
    return trace


def _name_at(names: Sequence[str], place: Number) -> str:
    at = -1 if place is None else int(place)
    return names[at] if 0 <= at < len(names) else ""


def _points(chart: Chart, points: Points, sides: Sequence[str]) -> Figure:
    named = any(sides)
    trace: Figure = {
        "type": "scatter",
        "mode": "markers+text" if named else "markers",
        "x": numbers(points.x),
        "y": numbers(points.y),
        "name": escaped(points.label),
        "marker": {
            "color": points.color,
            "size": points.size,
            "symbol": f"{points.symbol}-open" if points.ring else points.symbol,
            "line": {"width": 2 if points.ring else 0, "color": points.color},
        },
        "cliponaxis": False,
        **_hover(chart, points.hover, points.label),
    }
    if named:
        # plotly shows all texts of a trace or none: those without room are empty.
        trace |= {
            "text": [escaped(one) if side else "" for one, side in zip(points.texts, sides, strict=True)],
            "textposition": [side or "top center" for side in sides],
            "textfont": {"size": 12, "color": points.color if points.ring else "ink"},
        }
    if points.texts and not points.hover:
        trace |= _hover(chart, points.texts, points.label)
    return trace


def _forest(chart: Chart, forest: Forest, shift: float) -> Figure:
    n = len(forest.rows)
    names = categories(chart, "y")
    texts = forest.hover or [
        hover_text(", ".join(filter(None, (_name_at(names, row), forest.label))), y, a, b, m, chart.x)
        for row, y, a, b, m in zip(
            forest.rows, forest.values, forest.low, forest.high, forest.n or [0] * n, strict=True
        )
    ]  # fmt: skip
    symbols = [f"{forest.symbol}-open" if one else forest.symbol for one in forest.open or [False] * n]
    small = row_height(chart) < 24
    return {
        "type": "scatter",
        "mode": "markers",
        "x": numbers(forest.values),
        "y": numbers([row + shift for row in forest.rows]),
        "name": escaped(forest.label),
        "marker": {
            "color": forest.color,
            "symbol": symbols,
            "size": 11 if forest.large else 7 if small else 9,
            "line": {"width": 2, "color": forest.color},
        },
        "error_x": {
            **_error(forest.values, forest.low, forest.high, forest.color),
            "thickness": 2.5 if forest.large else 1.2 if small else 1.5,
        },
        **_hover(chart, texts, forest.label),
    }


def _heatmap(chart: Chart, heatmap: Heatmap) -> Figure:
    low, high = limits(heatmap)
    rows, columns = len(heatmap.values), len(heatmap.values[0]) if heatmap.values else 0
    down, across = categories(chart, "y"), categories(chart, "x")
    hover = heatmap.hover or [
        [
            hover_text(", ".join(filter(None, (_name_at(down, i), _name_at(across, j)))), value, None, None, 0, Axis())
            or "not known"
            for j, value in enumerate(line)
        ]
        for i, line in enumerate(heatmap.values)
    ]
    scale = f"{heatmap.scale}, texts" if heatmap.texts and heatmap.scale == "diverging" else heatmap.scale
    gap = 2 if heatmap.texts else 1 if max(rows, columns) <= 40 else 0
    trace: Figure = {
        "type": "heatmap",
        # Places with texts on the axes, so that a name such as 2020 is not taken for a number.
        "x": list(range(columns)),
        "y": list(range(rows)),
        "z": [numbers(line) for line in heatmap.values],
        "customdata": [[escaped(one) for one in line] for line in hover],
        "hovertemplate": "%{customdata}<extra></extra>",
        "colorscale": [[at, f"rgba({rgb},{opacity:g})"] for at, rgb, opacity in PALETTES[scale]]
        if scale in PALETTES
        else "Viridis",
        "zmin": number(low),
        "zmax": number(high),
        "xgap": gap,
        "ygap": gap,
        "hoverongaps": False,
        "colorbar": {
            "thickness": 12,
            "outlinewidth": 0,
            "tickfont": {"size": 12},
            "title": {"text": escaped(heatmap.bar), "side": "top", "font": {"size": 12}},
        },
    }
    if heatmap.texts:
        trace |= {"text": [[escaped(one) for one in line] for line in heatmap.texts], "texttemplate": "%{text}"}
        # On viridis plotly chooses what can be read.
        trace |= {"textfont": {"color": "ink"} if scale in PALETTES else {}}
    return trace


def _error(y: Sequence[Number], low: Sequence[Number], high: Sequence[Number], color: str) -> Figure:
    """Intervals around points; none where they are not known."""
    return {
        "type": "data",
        "symmetric": False,
        "array": [_reach(a, b) for a, b in zip(y, high, strict=True)],
        "arrayminus": [_reach(a, b) for a, b in zip(low, y, strict=True)],
        "color": color,
        "thickness": 1.5,
        "width": 4,
    }


def _reach(start: Number, end: Number) -> float:
    return 0.0 if start is None or end is None else number(max(end - start, 0.0)) or 0.0


def escaped(text: str) -> str:
    """Plotly reads a little HTML: a name must not be taken for it."""
    return html.escape(text, quote=False)


def number(value: Number) -> float | None:
    """Six digits: more than a screen can show."""
    return None if value is None or not math.isfinite(value) else float(f"{value:.6g}")


def numbers(values: Iterable[Number]) -> list[float | None]:
    """The same for many."""
    return [number(value) for value in values]
