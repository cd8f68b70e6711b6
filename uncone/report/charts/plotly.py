"""Charts as plotly figures; colors stay roles that the page fills in for light and dark."""

from __future__ import annotations

import html
import math
import textwrap
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from uncone.diagnosis.words import clipped
from uncone.report.charts.frame import (
    LABEL,
    bands,
    categories,
    has_legend,
    has_rows,
    hover_text,
    labeled_ends,
    labeled_references,
    limits,
    log_ticks,
    places,
    row_height,
    scaled,
    shifts,
    spans,
    spread,
    text_sides,
    thinned,
    value_text,
)
from uncone.report.charts.model import (
    Axis,
    Bars,
    Chart,
    Forest,
    Heatmap,
    Histogram,
    Line,
    Note,
    Number,
    Points,
    Reference,
)
from uncone.report.charts.theme import PALETTES, WIDTHS

__all__ = ["figure"]

Figure = dict[str, Any]

_LEGEND = {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"}
"""Above what is drawn, on as many lines as it takes."""
_MOST_MARKERS = 26
_MOST_TEXTS = 400
_MOST_UNIFIED = 130
_EDGES = 76
"""Pixels of margins and of the axis below a plot."""


def figure(chart: Chart) -> Figure:
    """A chart as the page takes it: id, title, a sentence for those who cannot see it, plotly's data and layout."""
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
    return {
        "id": chart.name,
        "title": chart.title,
        "alt": chart.caption,
        # Bands lie under every line.
        "data": sorted(_once_in_legend(data), key=lambda trace: trace.get("fill") != "toself"),
        "layout": _layout(chart),
        "wide": chart.wide,
        "lazy": chart.lazy,
        "height": _height(chart),
    }


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
        "x": _numbers(line.x),
        "y": _numbers(line.y),
        "name": _text(line.label),
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
    return said if _is_unified(chart) else [
        f"{_x_said(chart, x)}, {text}" if text else "" for x, text in zip(line.x, said, strict=True)
    ]  # fmt: skip


def _x_said(chart: Chart, x: float) -> str:
    names = chart.x.categories
    name = names[int(x)] if names and x == int(x) and 0 <= x < len(names) else value_text(x, chart.x)
    return f"{chart.x.name} {name}".strip()


def _hover(chart: Chart, texts: Sequence[str], label: str, unit: str = "") -> Figure:
    if texts:
        # Markers with a text beside them have `text` for that.
        return {"customdata": [_text(one) for one in texts], "hovertemplate": "%{customdata}<extra></extra>"}
    start = f"{_text(chart.x.name)} %{{x:.4~g}}: ".lstrip()
    value = "%{y:.3~g}" if not chart.y.percent else "%{y:.2~%}"
    name = f"{_text(label)}: " if label and _is_unified(chart) else ""
    extra = "" if _is_unified(chart) else _text(label)
    return {"hovertemplate": f"{'' if _is_unified(chart) else start}{name}{value}{_text(unit)}<extra>{extra}</extra>"}


def _is_unified(chart: Chart) -> bool:
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
                "x": _numbers(x),
                "y": _numbers(y),
                "fill": "toself",
                "fillcolor": f"{line.color.split()[0]} 20%",
                "line": {"width": 0, "color": line.color},
                "hoverinfo": "skip",
                "name": _text(line.label),
                "showlegend": False,
            }
        )
    return made


def _histogram(chart: Chart, bins: Histogram) -> Figure:
    edges = [float(edge) for edge in bins.edges]
    unit = f" {bins.unit}" if bins.unit else ""
    start: Figure = {"name": _text(bins.label), **_hover(chart, (), bins.label, unit)}
    if bins.filled:
        return start | {
            "type": "bar",
            "x": _numbers([(a + b) / 2 for a, b in pairwise(edges)]),
            "y": _numbers(bins.heights),
            "width": _numbers([b - a for a, b in pairwise(edges)]),
            "marker": {"color": bins.color, "line": {"width": 0}},
        }
    steps = [0.0, *(height for one in bins.heights for height in (one, one)), 0.0]
    return start | {
        "type": "scatter",
        "mode": "lines",
        "x": _numbers([edge for one in edges for edge in (one, one)]),
        "y": _numbers(steps),
        "line": {"color": bins.color, "width": 1.8, "dash": bins.dash},
        **({"fill": "tozeroy", "fillcolor": f"{bins.color.split()[0]} 14%"} if bins.shaded else {}),
    }


def _bars(chart: Chart, bars: Bars) -> Figure:
    at, values = _numbers(places(bars)), _numbers(bars.y)
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
        "name": _text(bars.label),
        "marker": {"color": bars.color, "line": {"width": 0}},
        **_hover(chart, texts, bars.label),
    }
    if bars.sideways:
        trace["orientation"] = "h"
    if bars.low:
        trace["error_x" if bars.sideways else "error_y"] = _error(bars.y, bars.low, bars.high, "ink")
    if bars.texts:
        trace |= {"text": [_text(one) for one in bars.texts], "textposition": "outside", "cliponaxis": False}
    return trace


def _name_at(names: Sequence[str], place: Number) -> str:
    at = -1 if place is None else int(place)
    return names[at] if 0 <= at < len(names) else ""


def _points(chart: Chart, points: Points, sides: Sequence[str]) -> Figure:
    named = any(sides)
    trace: Figure = {
        "type": "scatter",
        "mode": "markers+text" if named else "markers",
        "x": _numbers(points.x),
        "y": _numbers(points.y),
        "name": _text(points.label),
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
            "text": [_text(one) if side else "" for one, side in zip(points.texts, sides, strict=True)],
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
        "x": _numbers(forest.values),
        "y": _numbers([row + shift for row in forest.rows]),
        "name": _text(forest.label),
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
        "z": [_numbers(line) for line in heatmap.values],
        "customdata": [[_text(one) for one in line] for line in hover],
        "hovertemplate": "%{customdata}<extra></extra>",
        "colorscale": [[at, f"rgba({rgb},{opacity:g})"] for at, rgb, opacity in PALETTES[scale]]
        if scale in PALETTES
        else "Viridis",
        "zmin": _number(low),
        "zmax": _number(high),
        "xgap": gap,
        "ygap": gap,
        "hoverongaps": False,
        "colorbar": {
            "thickness": 12,
            "outlinewidth": 0,
            "tickfont": {"size": 12},
            "title": {"text": _text(heatmap.bar), "side": "top", "font": {"size": 12}},
        },
    }
    if heatmap.texts:
        trace |= {"text": [[_text(one) for one in line] for line in heatmap.texts], "texttemplate": "%{text}"}
        # On viridis plotly chooses what can be read.
        trace |= {"textfont": {"color": "ink"} if scale in PALETTES else {}}
    return trace


def _layout(chart: Chart) -> Figure:
    (left, right), (bottom, top) = spans(chart)
    turned = has_rows(chart)
    ends = labeled_ends(chart)
    margin = max((24 + round(6.7 * len(clipped(line.label, 28))) for line, _ in ends), default=0)
    legend = has_legend(chart)
    filled = sum(isinstance(mark, Histogram) and mark.filled for mark in chart.marks)
    dense = any(isinstance(mark, Bars) and len(mark.x) > 30 for mark in chart.marks)
    histogram = any(isinstance(mark, Histogram) for mark in chart.marks)
    layout: Figure = {
        "xaxis": _axis(chart, "x", (right, left) if chart.x.reverse else (left, right)),
        "yaxis": _axis(chart, "y", (top, bottom) if turned is not chart.y.reverse else (bottom, top)),
        "shapes": [*_reference_lines(chart)],
        "annotations": [
            *_reference_labels(chart, (left, right)),
            *_end_labels(chart),
            *(_note(chart, note) for note in chart.notes),
        ],
        "showlegend": legend,
        "legend2": _LEGEND,
        "hovermode": "x unified" if _is_unified(chart) else "closest",
        "barmode": "overlay" if filled > 1 or histogram else "group",
        "bargap": 0 if histogram or dense else 0.25,
        "margin": {"r": 14 + margin, "t": 40 if legend else 18},
    }
    return layout


def _axis(chart: Chart, along: str, span: tuple[float, float]) -> Figure:
    given = chart.x if along == "x" else chart.y
    made: Figure = {
        # No larger than the ticks: on a phone the axis is short.
        "title": {"text": _text(given.title), "font": {"size": 13}},
        "range": _numbers(span),
        "zeroline": given.zero_line,
        "zerolinewidth": 1.5,
        "exponentformat": "none",
    }
    if given.hidden:
        return made | {"visible": False}
    names = categories(chart, along)
    if given.ticks:
        places = [place for place, _ in given.ticks]
        look = {"tickfont": {"size": 12}, "showgrid": False, "zeroline": False}
        return made | {
            "tickmode": "array",
            "tickvals": places,
            "ticktext": [_text(text) for _, text in given.ticks],
            **look,
        }
    if names:
        return made | _named_ticks(chart, along, names)
    size = abs(span[1] - span[0])
    if given.log:
        ticks, texts = log_ticks((min(span), max(span)), given)
        return made | {"type": "log", "tickmode": "array", "tickvals": ticks, "ticktext": texts}
    if given.percent:
        made["tickformat"] = ".0%" if size > 0.06 else ".1%" if size > 0.006 else ".2~%"
    # Left alone, plotly would put a tick at layer 0.5 of a shallow model.
    if given.whole and size <= 8:
        made |= {"tick0": 0, "dtick": 1}
    if along == "x" and _is_unified(chart):
        name = f"{_text(given.name)} " if given.name else ""
        made["unifiedhovertitle"] = {"text": f"{name}%{{x}}" if given.whole else f"{name}%{{x:.3~g}}"}
    return made


def _named_ticks(chart: Chart, along: str, names: Sequence[str]) -> Figure:
    axis = chart.x if along == "x" else chart.y
    shown = thinned(names, 110 if chart.wide else 52) if along == "x" and len(names) > 8 else list(range(len(names)))
    grid = not any(isinstance(mark, Heatmap) for mark in chart.marks) and along == "y"
    return {
        "tickmode": "array",
        "tickvals": shown,
        "ticktext": [_tick(names[place], place in axis.strong) for place in shown],
        "tickfont": {"size": 12},
        "showgrid": grid,
        "zeroline": False,
    }


def _tick(name: str, strong: bool) -> str:
    lines = textwrap.wrap(clipped(name, 54), 28, break_on_hyphens=False) or [""]
    text = "<br>".join(_text(line) for line in lines)
    return f"<b>{text}</b>" if strong else text


def _reference_lines(chart: Chart) -> Iterable[Figure]:
    rows, plot = labeled_references(chart), _plot_height(chart)
    for one in chart.references:
        line = {"color": one.color, "width": 1 if one.color == "rule" else 1.6, "dash": one.dash}
        if one.horizontal:
            yield {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": one.at, "y1": one.at, "line": line}
            continue
        top = 1 - LABEL * rows.index(one) / plot if one in rows else 1.0
        yield {"type": "line", "x0": one.at, "x1": one.at, "yref": "paper", "y0": 0, "y1": round(top, 4), "line": line}


def _reference_labels(chart: Chart, span: tuple[float, float]) -> Iterable[Figure]:
    """Labels in rows of their own: on a phone a label is as wide as a third of the axis.

    They stand left of their lines, the rightmost on top, so that they cross no line that reaches higher.
    """
    plot = _plot_height(chart)
    for row, one in enumerate(labeled_references(chart)):
        at = scaled(one.at, chart.x)
        before = (at > span[0] + 0.3 * (span[1] - span[0])) is not chart.x.reverse
        yield {
            "x": _number(at),
            "yref": "paper",
            "y": round(1 - LABEL * row / plot, 4),
            "xanchor": "right" if before else "left",
            "yanchor": "top",
            "xshift": -3 if before else 3,
            **_label(one),
        }
    flat = [one for one in chart.references if one.label and one.horizontal]
    wanted = [_pixels(chart, one.at) for one in flat]
    for one, want, place in zip(flat, wanted, spread(wanted, LABEL, plot), strict=True):
        yield {
            "xref": "paper",
            "x": 1,
            "y": _number(scaled(one.at, chart.y)),
            "xanchor": "right",
            "yanchor": "bottom",
            "yshift": round(place - want, 1),
            **_label(one),
        }


def _label(one: Reference) -> Figure:
    color = "ink" if one.color.startswith(("muted", "rule")) else one.color
    look = {"text": _text(one.label), "showarrow": False, "borderpad": 0, "bgcolor": "paper 80%"}
    return {**look, "font": {"color": color, "size": 12}}


def _end_labels(chart: Chart) -> Iterable[Figure]:
    """A name at the end of each line, moved apart where two would touch, and tied to its line."""
    ends = labeled_ends(chart)
    wanted = [_pixels(chart, end) for _, end in ends]
    for (line, end), want, place in zip(ends, wanted, spread(wanted, LABEL, _plot_height(chart)), strict=True):
        yield {
            "xref": "paper",
            "x": 1,
            "y": _number(scaled(end, chart.y)),
            "ax": 20,
            "ay": round(want - place, 1),
            "text": _text(clipped(line.label, 28)),
            "xanchor": "left",
            "align": "left",
            "showarrow": True,
            "arrowhead": 0,
            "arrowwidth": 1.5,
            "arrowcolor": f"{line.color.split()[0]} 50%" if line.weight == "light" else line.color,
            "font": {"size": 12, "color": "ink" if line.weight == "main" else "muted"},
        }


def _note(chart: Chart, note: Note) -> Figure:
    return {
        "x": _number(scaled(note.x, chart.x)),
        "y": _number(scaled(note.y, chart.y)),
        "text": _text(note.text),
        "showarrow": False,
        "yshift": 10,
        "font": {"color": note.color, "size": 12},
    }


def _plot_height(chart: Chart) -> float:
    """Pixels of the height of what is drawn in."""
    return max(_height(chart) - _EDGES - 22 * has_legend(chart), 40.0)


def _pixels(chart: Chart, y: float) -> float:
    """How far above the bottom of the plot a value lies."""
    _, (bottom, top) = spans(chart)
    return _plot_height(chart) * (scaled(y, chart.y) - bottom) / (top - bottom)


def _height(chart: Chart) -> int:
    if chart.height is not None:
        return chart.height
    if chart.aspect is not None:
        return round(chart.aspect * (920 if chart.wide else 430)) + _EDGES
    above = LABEL * len(labeled_references(chart)) + 22 * has_legend(chart)
    names = categories(chart, "y")
    if names and has_rows(chart):
        lines = sum(len(textwrap.wrap(clipped(name, 54), 28)) > 1 for name in names)
        height = 84 + row_height(chart) * max(len(names), 3) + 6 * lines + above
        # Beside another chart it has at least its height.
        return height if chart.wide else max(height, 300)
    return (340 if chart.wide else 300) + above


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
    return 0.0 if start is None or end is None else _number(max(end - start, 0.0)) or 0.0


def _text(text: str) -> str:
    """Plotly reads a little HTML: a name must not be taken for it."""
    return html.escape(text, quote=False)


def _number(value: Number) -> float | None:
    """Six digits: more than a screen can show."""
    return None if value is None or not math.isfinite(value) else float(f"{value:.6g}")


def _numbers(values: Iterable[Number]) -> list[float | None]:
    return [_number(value) for value in values]
