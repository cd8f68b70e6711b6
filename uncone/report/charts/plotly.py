"""Charts as plotly figures; colors stay roles that the page fills in for light and dark."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from uncone.analysis.number_format import clipped
from uncone.report.charts.frame import (
    LABEL,
    categories,
    has_legend,
    has_rows,
    labeled_ends,
    labeled_references,
    log_ticks,
    row_height,
    scaled,
    spans,
    spread,
    thinned,
)
from uncone.report.charts.model import (
    Bars,
    Chart,
    Heatmap,
    Histogram,
    Note,
    Reference,
)
from uncone.report.charts.traces import Figure, escaped, is_unified, number, numbers, traces

__all__ = ["figure"]

_LEGEND = {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"}
"""Above what is drawn, on as many lines as it takes."""
_EDGES = 76
"""Pixels of margins and of the axis below a plot."""


def figure(chart: Chart) -> Figure:
    """A chart as the page takes it: id, title, a sentence for those who cannot see it, plotly's data and layout."""
    return {
        "id": chart.name,
        "title": chart.title,
        "alt": chart.caption,
        "data": traces(chart),
        "layout": _layout(chart),
        "wide": chart.wide,
        "lazy": chart.lazy,
        "height": _height(chart),
    }


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
        "hovermode": "x unified" if is_unified(chart) else "closest",
        "barmode": "overlay" if filled > 1 or histogram else "group",
        "bargap": 0 if histogram or dense else 0.25,
        "margin": {"r": 14 + margin, "t": 40 if legend else 18},
    }
    return layout


def _axis(chart: Chart, along: str, span: tuple[float, float]) -> Figure:
    given = chart.x if along == "x" else chart.y
    made: Figure = {
        # No larger than the ticks: on a phone the axis is short.
        "title": {"text": escaped(given.title), "font": {"size": 13}},
        "range": numbers(span),
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
            "ticktext": [escaped(text) for _, text in given.ticks],
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
    if along == "x" and is_unified(chart):
        name = f"{escaped(given.name)} " if given.name else ""
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
    text = "<br>".join(escaped(line) for line in lines)
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
            "x": number(at),
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
            "y": number(scaled(one.at, chart.y)),
            "xanchor": "right",
            "yanchor": "bottom",
            "yshift": round(place - want, 1),
            **_label(one),
        }


def _label(one: Reference) -> Figure:
    color = "ink" if one.color.startswith(("muted", "rule")) else one.color
    look = {"text": escaped(one.label), "showarrow": False, "borderpad": 0, "bgcolor": "paper 80%"}
    return {**look, "font": {"color": color, "size": 12}}


def _end_labels(chart: Chart) -> Iterable[Figure]:
    """A name at the end of each line, moved apart where two would touch, and tied to its line."""
    ends = labeled_ends(chart)
    wanted = [_pixels(chart, end) for _, end in ends]
    for (line, end), want, place in zip(ends, wanted, spread(wanted, LABEL, _plot_height(chart)), strict=True):
        yield {
            "xref": "paper",
            "x": 1,
            "y": number(scaled(end, chart.y)),
            "ax": 20,
            "ay": round(want - place, 1),
            "text": escaped(clipped(line.label, 28)),
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
        "x": number(scaled(note.x, chart.x)),
        "y": number(scaled(note.y, chart.y)),
        "text": escaped(note.text),
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
