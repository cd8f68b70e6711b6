"""The marks of a chart as plotly traces, with what pointing at them shows."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise, repeat
from typing import Any

from uncone.analysis.number_format import cosine, percent, plain
from uncone.report.charts.frame import Frame, bands, color_limits, color_stops, has_markers, is_dotted
from uncone.report.charts.model import Axis, Bars, Forest, Heatmap, Histogram, Line, Number, Points
from uncone.report.charts.theme import WIDTHS

__all__ = ["Figure", "escaped", "is_unified", "number", "numbers", "traces"]

Figure = dict[str, Any]

_MOST_TEXTS = 400
_MOST_UNIFIED = 130


def traces(frame: Frame) -> list[Figure]:
    """All marks; bands lie under every line, and a name that marks share stands in the legend once."""
    data = [trace for mark in frame.chart.marks for trace in _TRACES[type(mark)](frame, mark)]
    names: set[str] = set()
    for trace in data:
        name = trace["name"]
        trace["legend"] = "legend2"
        trace["showlegend"] = trace.get("showlegend", True) and bool(name) and name not in names
        if name:
            trace["legendgroup"] = name  # a click there hides all of them
        if trace["showlegend"]:
            names.add(name)
    return sorted(data, key=lambda trace: trace.get("fill") != "toself")


def _scatter(label: str, mode: str, x: Iterable[Number], y: Iterable[Number]) -> Figure:
    return {"type": "scatter", "mode": mode, "x": numbers(x), "y": numbers(y), "name": escaped(label)}


def _line(frame: Frame, line: Line) -> list[Figure]:
    dotted = is_dotted(line)
    mode = "markers" if dotted else "lines+markers" if has_markers(line) else "lines"
    color = f"{line.color} 50%" if line.weight == "light" and " " not in line.color else line.color
    trace = _scatter(line.label, mode, line.x, line.y) | {
        "line": {"color": color, "width": WIDTHS[line.weight], "dash": line.dash},
        "marker": {"color": line.color, "size": 8 if dotted else 5},
        # A line of an axis with a fixed range may leave it.
        "cliponaxis": frame.chart.x.range is not None or frame.chart.y.range is not None,
    }
    if line.guide:
        return [trace | {"hoverinfo": "skip", "showlegend": False}]
    if dotted and line.low:
        trace["error_y"] = _error(line.y, line.low, line.high, line.color)
    outlines = [_band(line, *run) for run in bands(line)]
    return [*outlines, trace | _hover(frame, _line_texts(frame, line), line.label)]


def _band(line: Line, place: list[float], low: list[float], high: list[float]) -> Figure:
    """An interval as a filled outline."""
    along, across = [*place, *reversed(place)], [*high, *reversed(low)]
    trace = _scatter(line.label, "lines", *((across, along) if line.sideways else (along, across)))
    look = {"fill": "toself", "fillcolor": f"{line.color.split()[0]} 20%", "line": {"width": 0, "color": line.color}}
    return trace | look | {"hoverinfo": "skip", "showlegend": False}


def _histogram(frame: Frame, bins: Histogram) -> list[Figure]:
    hover = _hover(frame, (), bins.label, f" {bins.unit}" if bins.unit else "")
    edges = [float(edge) for edge in bins.edges]
    if bins.filled:
        middles, widths = zip(*(((a + b) / 2, b - a) for a, b in pairwise(edges)), strict=True)
        return [_bar(bins, middles, bins.heights) | {"width": numbers(widths)} | hover]
    steps = [0.0, *(height for step in bins.heights for height in (step, step)), 0.0]
    trace = _scatter(bins.label, "lines", [edge for step in edges for edge in (step, step)], steps)
    trace["line"] = {"color": bins.color, "width": 1.8, "dash": bins.dash}
    tint = {"fill": "tozeroy", "fillcolor": f"{bins.color.split()[0]} 14%"} if bins.shaded else {}
    return [trace | tint | hover]


def _bar(mark: Bars | Histogram, x: Sequence[float], y: Sequence[Number]) -> Figure:
    look = {"color": mark.color, "line": {"width": 0}}
    return {"type": "bar", "x": numbers(x), "y": numbers(y), "name": escaped(mark.label), "marker": look}


def _bars(frame: Frame, bars: Bars) -> list[Figure]:
    names = frame.chart.x.categories
    texts = [
        _value_text(": ".join(filter(None, (_name(names, x), bars.label))), y, frame.chart.y)
        for x, y in zip(bars.x, bars.y, strict=True)
        if names and len(bars.x) <= _MOST_TEXTS
    ]
    return [_bar(bars, bars.x, bars.y) | _hover(frame, texts, bars.label)]


def _points(frame: Frame, points: Points) -> list[Figure]:
    sides = frame.text_sides(points)
    trace = _scatter(points.label, "markers+text" if any(sides) else "markers", points.x, points.y) | {
        "marker": {
            "color": points.color,
            "size": points.size,
            "symbol": f"{points.symbol}-open" if points.ring else points.symbol,
            "line": {"width": 2 if points.ring else 0, "color": points.color},
        },
        "cliponaxis": False,
        **_hover(frame, points.hover or points.texts, points.label),
    }
    if any(sides):
        # plotly shows all texts of a trace or none: those without room are empty.
        trace |= {
            "text": [escaped(text) if side else "" for text, side in zip(points.texts, sides, strict=True)],
            "textposition": [side or "top center" for side in sides],
            "textfont": {"size": 12, "color": points.color if points.ring else "ink"},
        }
    return [trace]


def _forest(frame: Frame, forest: Forest) -> list[Figure]:
    names, n = frame.chart.y.categories, len(forest.rows)
    parts = zip(forest.rows, forest.values, forest.low, forest.high, forest.n or [0] * n, strict=True)
    texts = forest.hover or [
        _value_text(", ".join(filter(None, (_name(names, row), forest.label))), value, frame.chart.x, low, high, m)
        for row, value, low, high, m in parts
    ]
    small = frame.row_height < 24
    marker = {
        "color": forest.color,
        "symbol": [f"{forest.symbol}-open" if is_open else forest.symbol for is_open in forest.open or [False] * n],
        "size": 11 if forest.large else 7 if small else 9,
        "line": {"width": 2, "color": forest.color},
    }
    error = _error(forest.values, forest.low, forest.high, forest.color)
    error["thickness"] = 2.5 if forest.large else 1.2 if small else 1.5
    trace = _scatter(forest.label, "markers", forest.values, frame.forest_rows(forest))
    return [trace | {"marker": marker, "error_x": error} | _hover(frame, texts, forest.label)]


def _heatmap(frame: Frame, heatmap: Heatmap) -> list[Figure]:
    low, high = color_limits(heatmap)
    stops = color_stops(heatmap)
    rows, columns = len(heatmap.values), len(heatmap.values[0]) if heatmap.values else 0
    gap = 2 if heatmap.texts else 1 if max(rows, columns) <= 40 else 0
    title = {"text": escaped(heatmap.bar), "side": "top", "font": {"size": 12}}
    trace: Figure = {
        "type": "heatmap",
        "name": "",
        # Places with texts on the axes, so that a name such as 2020 is not taken for a number.
        "x": list(range(columns)),
        "y": list(range(rows)),
        "z": [numbers(row) for row in heatmap.values],
        "customdata": [[escaped(text) for text in row] for row in heatmap.hover or _cell_texts(frame, heatmap)],
        "hovertemplate": "%{customdata}<extra></extra>",
        "colorscale": [[at, f"rgba({rgb},{opacity:g})"] for at, rgb, opacity in stops] or "Viridis",
        **{"zmin": number(low), "zmax": number(high), "xgap": gap, "ygap": gap, "hoverongaps": False},
        "colorbar": {"thickness": 12, "outlinewidth": 0, "tickfont": {"size": 12}, "title": title},
    }
    if heatmap.texts:
        trace |= {"text": [[escaped(text) for text in row] for row in heatmap.texts], "texttemplate": "%{text}"}
        # On viridis plotly chooses what can be read.
        trace |= {"textfont": {"color": "ink"} if stops else {}}
    return [trace]


_TRACES: dict[type, Callable[..., list[Figure]]] = {
    Line: _line,
    Histogram: _histogram,
    Bars: _bars,
    Points: _points,
    Forest: _forest,
    Heatmap: _heatmap,
}


def is_unified(frame: Frame) -> bool:
    """Whether pointing at an x shows all values there: curves over few and common places."""
    return all(
        isinstance(mark, Line) and not mark.sideways and (mark.guide or len(mark.x) <= _MOST_UNIFIED)
        for mark in frame.chart.marks
    )


def _hover(frame: Frame, texts: Sequence[str], label: str, unit: str = "") -> Figure:
    if texts:
        # Markers with a text beside them have `text` for that.
        return {"customdata": [escaped(text) for text in texts], "hovertemplate": "%{customdata}<extra></extra>"}
    value = "%{y:.2~%}" if frame.chart.y.percent else "%{y:.3~g}"
    if is_unified(frame):
        name = f"{escaped(label)}: " if label else ""
        return {"hovertemplate": f"{name}{value}{escaped(unit)}<extra></extra>"}
    start = f"{escaped(frame.chart.x.name)} %{{x:.4~g}}: ".lstrip()
    return {"hovertemplate": f"{start}{value}{escaped(unit)}<extra>{escaped(label)}</extra>"}


def _line_texts(frame: Frame, line: Line) -> Sequence[str]:
    """Texts if there is more to say than x and y, and the points are few enough."""
    axis = frame.chart.y
    if not (line.n or line.low or axis.percent) or len(line.x) > _MOST_TEXTS or line.sideways:
        return ()
    columns = (line.low or repeat(None), line.high or repeat(None), line.n or repeat(0), line.notes or repeat(""))
    texts = []
    for x, y, low, high, n, note in zip(line.x, line.y, *columns, strict=False):
        start = "" if is_unified(frame) else _place_text(frame.chart.x, x)
        texts.append(", ".join(filter(None, (start, _value_text(line.label, y, axis, low, high, n), note))))
    return ["" if y is None else text for y, text in zip(line.y, texts, strict=True)]


def _place_text(axis: Axis, x: float) -> str:
    name = _name(axis.categories, x) if x == int(x) else ""
    return f"{axis.name} {name or _number_text(x, axis)}".strip()


def _cell_texts(frame: Frame, heatmap: Heatmap) -> list[list[str]]:
    down, across = frame.chart.y.categories, frame.chart.x.categories
    return [
        [
            _value_text(", ".join(filter(None, (_name(down, i), _name(across, j)))), value, Axis()) or "not known"
            for j, value in enumerate(row)
        ]
        for i, row in enumerate(heatmap.values)
    ]


def _name(names: Sequence[str], place: float) -> str:
    return names[int(place)] if 0 <= place < len(names) else ""


def _value_text(
    label: str, value: Number, axis: Axis, low: Number = None, high: Number = None, n: int | None = 0
) -> str:
    """A value with its name, its interval, and the number of observations it rests on."""
    if value is None:
        return ""
    text = f"{label}: {_number_text(value, axis)}" if label else _number_text(value, axis)
    if low is not None and high is not None:
        text += f" ({_number_text(low, axis)} to {_number_text(high, axis)})"
    return f"{text}, n = {n:,}" if n else text


def _number_text(value: float, axis: Axis) -> str:
    """A number on an axis in words.

    >>> _number_text(0.1234, Axis(percent=True)), _number_text(0.70812, Axis()), _number_text(1234.5, Axis())
    ('12 %', '0.708', '1,234')
    """
    if axis.percent:
        return percent(value)
    if axis.whole and value == int(value):
        return f"{value:,.0f}"
    return plain(value) if abs(value) >= 2 or (0 < abs(value) < 0.001) else cosine(value, 3)


def _error(y: Sequence[Number], low: Sequence[Number], high: Sequence[Number], color: str) -> Figure:
    """Intervals around points; none where they are not known."""
    above = [_reach(a, b) for a, b in zip(y, high, strict=True)]
    below = [_reach(a, b) for a, b in zip(low, y, strict=True)]
    look = {"color": color, "thickness": 1.5, "width": 4}
    return {"type": "data", "symmetric": False, "array": above, "arrayminus": below, **look}


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
