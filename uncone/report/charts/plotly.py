"""Charts as plotly figures; colors stay roles that the page fills in for light and dark."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise, repeat
from textwrap import wrap
from typing import Any

from uncone.analysis.number_format import clipped, cosine, percent, plain
from uncone.report.charts.frame import LABEL, Along, Frame, bands, color_limits, color_stops, has_markers, is_dotted
from uncone.report.charts.model import Axis, Bars, Chart, Forest, Heatmap, Histogram, Line, Number, Points, Reference
from uncone.report.charts.theme import WIDTHS

__all__ = ["figure"]

Figure = dict[str, Any]

_LEGEND = {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"}
"""Above the plot, on as many lines as it takes."""
_EDGES = 76
"""Pixels of margins and of the axis below a plot."""
_SMALL = {"size": 12}
_MOST_TEXTS = 400
_MOST_UNIFIED = 130


def figure(chart: Chart) -> Figure:
    """A chart as the page takes it: id, title, a sentence for those who cannot see it, plotly's data and layout."""
    frame = Frame(chart)
    return {
        "id": chart.name,
        "title": chart.title,
        "alt": chart.caption,
        "data": _traces(frame),
        "layout": _layout(frame),
        "wide": chart.wide,
        "height": _height(frame),
    }


def _layout(frame: Frame) -> Figure:
    marks, legend, histogram = frame.chart.marks, frame.has_legend, frame.has(Histogram)
    margin = max((24 + round(6.7 * len(clipped(line.label, 28))) for line, _ in frame.labeled_ends), default=0)
    dense = any(isinstance(mark, Bars) and len(mark.x) > 30 for mark in marks)
    return {
        "xaxis": _axis(frame, "x"),
        "yaxis": _axis(frame, "y"),
        "shapes": [*_reference_lines(frame)],
        "annotations": [*_reference_labels(frame), *_end_labels(frame)],
        "showlegend": legend,
        "legend2": _LEGEND,
        "hovermode": "x unified" if _is_unified(frame) else "closest",
        "barmode": "overlay" if histogram else "group",
        "bargap": 0 if histogram or dense else 0.25,
        "margin": {"r": 14 + margin, "t": 40 if legend else 18},
    }


def _axis(frame: Frame, along: Along) -> Figure:
    axis, (low, high) = frame.axes[along], frame.spans[along]
    layout: Figure = {
        # No larger than the ticks: on a phone the axis is short.
        "title": {"text": _escaped(axis.title), "font": {"size": 13}},
        "range": _numbers((high, low) if along == "y" and frame.has_rows else (low, high)),
        "zeroline": axis.zero_line,
        "zerolinewidth": 1.5,
        "exponentformat": "none",
    }
    if axis.hidden:
        return layout | {"visible": False}
    if axis.ticks or axis.categories:
        ticks = frame.named_ticks(along, 110 if frame.chart.wide else 52, 8)
        texts = ["<br>".join(map(_escaped, lines)) for _, lines, _ in ticks]
        texts = [f"<b>{text}</b>" if strong else text for text, (*_, strong) in zip(texts, ticks, strict=True)]
        grid = along == "y" and not axis.ticks and not frame.has(Heatmap)
        look = {"tickfont": _SMALL, "showgrid": grid, "zeroline": False}
        return layout | {"tickmode": "array", "tickvals": [place for place, *_ in ticks], "ticktext": texts} | look
    if axis.log:
        places, texts = frame.log_ticks(along)
        return layout | {"type": "log", "tickmode": "array", "tickvals": places, "ticktext": texts}
    size = high - low
    if axis.percent:
        layout["tickformat"] = ".0%" if size > 0.06 else ".1%" if size > 0.006 else ".2~%"
    # Left alone, plotly would put a tick at layer 0.5 of a shallow model.
    if axis.whole and size <= 8:
        layout |= {"tick0": 0, "dtick": 1}
    if along == "x" and _is_unified(frame):
        name = f"{_escaped(axis.name)} " if axis.name else ""
        layout["unifiedhovertitle"] = {"text": f"{name}%{{x}}" if axis.whole else f"{name}%{{x:.3~g}}"}
    return layout


def _reference_lines(frame: Frame) -> Iterable[Figure]:
    rows = frame.reference_rows
    for reference in frame.chart.references:
        width = 1 if reference.color == "rule" else 1.6
        look = {"type": "line", "line": {"color": reference.color, "width": width, "dash": reference.dash}}
        if reference.horizontal:
            yield {"xref": "paper", "x0": 0, "x1": 1, "y0": reference.at, "y1": reference.at, **look}
        else:
            top = _row_top(frame, rows.index(reference)) if reference in rows else 1.0
            yield {"x0": reference.at, "x1": reference.at, "yref": "paper", "y0": 0, "y1": top, **look}


def _row_top(frame: Frame, row: int) -> float:
    return round(1 - LABEL * row / _plot_height(frame), 4)


def _reference_labels(frame: Frame) -> Iterable[Figure]:
    """Labels in rows of their own: on a phone a label is as wide as a third of the axis.

    They stand left of their lines, the rightmost on top, so that they cross no line that reaches higher.
    """
    for row, reference in enumerate(frame.reference_rows):
        left = frame.stands_left(reference)
        anchor = {"xanchor": "right", "xshift": -3} if left else {"xanchor": "left", "xshift": 3}
        place = {"x": _number(frame.scaled(reference.at, "x")), "yref": "paper", "y": _row_top(frame, row)}
        yield {**place, "yanchor": "top", **anchor, **_label(reference)}
    for reference, shift in frame.labeled_levels(_plot_height(frame), LABEL):
        place = {"xref": "paper", "x": 1, "y": _number(frame.scaled(reference.at, "y")), "yshift": round(shift, 1)}
        yield {**place, "xanchor": "right", "yanchor": "bottom", **_label(reference)}


def _label(reference: Reference) -> Figure:
    color = "ink" if reference.color.startswith(("muted", "rule")) else reference.color
    look = {"text": _escaped(reference.label), "showarrow": False, "borderpad": 0, "bgcolor": "paper 80%"}
    return {**look, "font": {"color": color, **_SMALL}}


def _end_labels(frame: Frame) -> Iterable[Figure]:
    """A name at the end of each line, moved apart where two would touch, and tied to its line; then the notes."""
    for line, end, shift in frame.end_labels(_plot_height(frame), LABEL):
        color = f"{line.color.split()[0]} 50%" if line.weight == "light" else line.color
        yield {
            **{"xref": "paper", "x": 1, "y": _number(frame.scaled(end, "y")), "ax": 20, "ay": round(-shift, 1)},
            **{"text": _escaped(clipped(line.label, 28)), "xanchor": "left", "align": "left"},
            **{"showarrow": True, "arrowhead": 0, "arrowwidth": 1.5, "arrowcolor": color},
            "font": {**_SMALL, "color": "ink" if line.weight == "main" else "muted"},
        }
    for note in frame.chart.notes:
        place = {"x": _number(frame.scaled(note.x, "x")), "y": _number(frame.scaled(note.y, "y")), "yshift": 10}
        yield {**place, "text": _escaped(note.text), "showarrow": False, "font": {"color": note.color, **_SMALL}}


def _plot_height(frame: Frame) -> float:
    return max(_height(frame) - _EDGES - 22 * frame.has_legend, 40.0)


def _height(frame: Frame) -> int:
    chart = frame.chart
    if chart.aspect is not None:
        return round(chart.aspect * (920 if chart.wide else 430)) + _EDGES
    above = LABEL * len(frame.reference_rows) + 22 * frame.has_legend
    names = chart.y.categories
    if names and frame.has_rows:
        wrapped = sum(len(wrap(clipped(name, 54), 28)) > 1 for name in names)
        height = 84 + frame.row_height * max(len(names), 3) + 6 * wrapped + above
        # Beside another chart it has at least its height.
        return height if chart.wide else max(height, 300)
    return (340 if chart.wide else 300) + above


def _traces(frame: Frame) -> list[Figure]:
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
    return {"type": "scatter", "mode": mode, "x": _numbers(x), "y": _numbers(y), "name": _escaped(label)}


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
    along, across = [*place, *reversed(place)], [*high, *reversed(low)]
    trace = _scatter(line.label, "lines", *((across, along) if line.sideways else (along, across)))
    look = {"fill": "toself", "fillcolor": f"{line.color.split()[0]} 20%", "line": {"width": 0, "color": line.color}}
    return trace | look | {"hoverinfo": "skip", "showlegend": False}


def _histogram(frame: Frame, bins: Histogram) -> list[Figure]:
    hover = _hover(frame, (), bins.label, f" {bins.unit}" if bins.unit else "")
    edges = [float(edge) for edge in bins.edges]
    if bins.filled:
        middles, widths = zip(*(((a + b) / 2, b - a) for a, b in pairwise(edges)), strict=True)
        return [_bar(bins, middles, bins.heights) | {"width": _numbers(widths)} | hover]
    steps = [0.0, *(height for step in bins.heights for height in (step, step)), 0.0]
    trace = _scatter(bins.label, "lines", [edge for step in edges for edge in (step, step)], steps)
    trace["line"] = {"color": bins.color, "width": 1.8, "dash": bins.dash}
    tint = {"fill": "tozeroy", "fillcolor": f"{bins.color.split()[0]} 14%"} if bins.shaded else {}
    return [trace | tint | hover]


def _bar(mark: Bars | Histogram, x: Sequence[float], y: Sequence[Number]) -> Figure:
    look = {"color": mark.color, "line": {"width": 0}}
    return {"type": "bar", "x": _numbers(x), "y": _numbers(y), "name": _escaped(mark.label), "marker": look}


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
            "text": [_escaped(text) if side else "" for text, side in zip(points.texts, sides, strict=True)],
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
    title = {"text": _escaped(heatmap.bar), "side": "top", "font": {"size": 12}}
    trace: Figure = {
        "type": "heatmap",
        "name": "",
        # Places with texts on the axes, so that a name such as 2020 is not taken for a number.
        "x": list(range(columns)),
        "y": list(range(rows)),
        "z": [_numbers(row) for row in heatmap.values],
        "customdata": [[_escaped(text) for text in row] for row in heatmap.hover or _cell_texts(frame, heatmap)],
        "hovertemplate": "%{customdata}<extra></extra>",
        "colorscale": [[at, f"rgba({rgb},{opacity:g})"] for at, rgb, opacity in stops] or "Viridis",
        **{"zmin": _number(low), "zmax": _number(high), "xgap": gap, "ygap": gap, "hoverongaps": False},
        "colorbar": {"thickness": 12, "outlinewidth": 0, "tickfont": {"size": 12}, "title": title},
    }
    if heatmap.texts:
        trace |= {"text": [[_escaped(text) for text in row] for row in heatmap.texts], "texttemplate": "%{text}"}
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


def _is_unified(frame: Frame) -> bool:
    """Whether pointing at an x shows all values there: curves over few and common places."""
    return all(
        isinstance(mark, Line) and not mark.sideways and (mark.guide or len(mark.x) <= _MOST_UNIFIED)
        for mark in frame.chart.marks
    )


def _hover(frame: Frame, texts: Sequence[str], label: str, unit: str = "") -> Figure:
    if texts:
        # Markers with a text beside them have `text` for that.
        return {"customdata": [_escaped(text) for text in texts], "hovertemplate": "%{customdata}<extra></extra>"}
    value = "%{y:.2~%}" if frame.chart.y.percent else "%{y:.3~g}"
    if _is_unified(frame):
        name = f"{_escaped(label)}: " if label else ""
        return {"hovertemplate": f"{name}{value}{_escaped(unit)}<extra></extra>"}
    start = f"{_escaped(frame.chart.x.name)} %{{x:.4~g}}: ".lstrip()
    return {"hovertemplate": f"{start}{value}{_escaped(unit)}<extra>{_escaped(label)}</extra>"}


def _line_texts(frame: Frame, line: Line) -> Sequence[str]:
    """Texts if there is more to say than x and y, and the points are few enough."""
    axis = frame.chart.y
    if not (line.n or line.low or axis.percent) or len(line.x) > _MOST_TEXTS or line.sideways:
        return ()
    columns = (line.low or repeat(None), line.high or repeat(None), line.n or repeat(0), line.notes or repeat(""))
    texts = []
    for x, y, low, high, n, note in zip(line.x, line.y, *columns, strict=False):
        category = _name(frame.chart.x.categories, x) if x == int(x) else ""
        place = f"{frame.chart.x.name} {category or _number_text(x, frame.chart.x)}".strip()
        start = "" if _is_unified(frame) else place
        texts.append(", ".join(filter(None, (start, _value_text(line.label, y, axis, low, high, n), note))))
    return ["" if y is None else text for y, text in zip(line.y, texts, strict=True)]


def _cell_texts(frame: Frame, heatmap: Heatmap) -> list[list[str]]:
    down, across = frame.chart.y.categories, frame.chart.x.categories

    def text(i: int, j: int) -> str:
        names = ", ".join(filter(None, (_name(down, i), _name(across, j))))
        return _value_text(names, heatmap.values[i][j], Axis()) or "not known"

    return [[text(i, j) for j in range(len(row))] for i, row in enumerate(heatmap.values)]


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
    def reach(start: Number, end: Number) -> float:
        return 0.0 if start is None or end is None else _number(max(end - start, 0.0)) or 0.0

    above, below = list(map(reach, y, high)), list(map(reach, low, y))
    look = {"color": color, "thickness": 1.5, "width": 4}
    return {"type": "data", "symmetric": False, "array": above, "arrayminus": below, **look}


def _escaped(text: str) -> str:
    """Plotly reads a little HTML: a name must not be taken for it."""
    return html.escape(text, quote=False)


def _number(value: Number) -> float | None:
    """Six digits: more than a screen can show."""
    return None if value is None or not math.isfinite(value) else float(f"{value:.6g}")


def _numbers(values: Iterable[Number]) -> list[float | None]:
    return [_number(value) for value in values]
