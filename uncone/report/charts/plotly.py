"""Charts as plotly figures; colors stay roles that the page fills in for light and dark."""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import wrap

from uncone.analysis.number_format import clipped
from uncone.report.charts.frame import LABEL, Along, Frame, log_ticks
from uncone.report.charts.model import Bars, Chart, Heatmap, Histogram, Reference
from uncone.report.charts.traces import Figure, escaped, is_unified, number, numbers, traces

__all__ = ["figure"]

_LEGEND = {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"}
"""Above the plot, on as many lines as it takes."""
_EDGES = 76
"""Pixels of margins and of the axis below a plot."""
_SMALL = {"size": 12}


def figure(chart: Chart) -> Figure:
    """A chart as the page takes it: id, title, a sentence for those who cannot see it, plotly's data and layout."""
    frame = Frame(chart)
    return {
        "id": chart.name,
        "title": chart.title,
        "alt": chart.caption,
        "data": traces(frame),
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
        "annotations": [*_reference_labels(frame), *_end_labels(frame), *_notes(frame)],
        "showlegend": legend,
        "legend2": _LEGEND,
        "hovermode": "x unified" if is_unified(frame) else "closest",
        "barmode": "overlay" if histogram else "group",
        "bargap": 0 if histogram or dense else 0.25,
        "margin": {"r": 14 + margin, "t": 40 if legend else 18},
    }


def _axis(frame: Frame, along: Along) -> Figure:
    axis, (low, high) = frame.axes[along], frame.spans[along]
    layout: Figure = {
        # No larger than the ticks: on a phone the axis is short.
        "title": {"text": escaped(axis.title), "font": {"size": 13}},
        "range": numbers((high, low) if along == "y" and frame.has_rows else (low, high)),
        "zeroline": axis.zero_line,
        "zerolinewidth": 1.5,
        "exponentformat": "none",
    }
    if axis.hidden:
        return layout | {"visible": False}
    if axis.ticks or axis.categories:
        named = frame.named_ticks(along, 110 if frame.chart.wide else 52, 8)
        ticks = [(place, [text], False) for place, text in axis.ticks] or named
        texts = ["<br>".join(map(escaped, lines)) for _, lines, _ in ticks]
        texts = [f"<b>{text}</b>" if strong else text for text, (*_, strong) in zip(texts, ticks, strict=True)]
        grid = along == "y" and not axis.ticks and not frame.has(Heatmap)
        look = {"tickfont": _SMALL, "showgrid": grid, "zeroline": False}
        return layout | {"tickmode": "array", "tickvals": [place for place, *_ in ticks], "ticktext": texts} | look
    if axis.log:
        places, texts = log_ticks((low, high), axis)
        return layout | {"type": "log", "tickmode": "array", "tickvals": places, "ticktext": texts}
    size = high - low
    if axis.percent:
        layout["tickformat"] = ".0%" if size > 0.06 else ".1%" if size > 0.006 else ".2~%"
    # Left alone, plotly would put a tick at layer 0.5 of a shallow model.
    if axis.whole and size <= 8:
        layout |= {"tick0": 0, "dtick": 1}
    if along == "x" and is_unified(frame):
        name = f"{escaped(axis.name)} " if axis.name else ""
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
        place = {"x": number(frame.scaled(reference.at, "x")), "yref": "paper", "y": _row_top(frame, row)}
        yield {**place, "yanchor": "top", **anchor, **_label(reference)}
    levels = frame.labeled_levels
    shifts = frame.label_shifts([reference.at for reference in levels], _plot_height(frame), LABEL)
    for reference, shift in zip(levels, shifts, strict=True):
        place = {"xref": "paper", "x": 1, "y": number(frame.scaled(reference.at, "y")), "yshift": round(shift, 1)}
        yield {**place, "xanchor": "right", "yanchor": "bottom", **_label(reference)}


def _label(reference: Reference) -> Figure:
    color = "ink" if reference.color.startswith(("muted", "rule")) else reference.color
    look = {"text": escaped(reference.label), "showarrow": False, "borderpad": 0, "bgcolor": "paper 80%"}
    return {**look, "font": {"color": color, **_SMALL}}


def _end_labels(frame: Frame) -> Iterable[Figure]:
    """A name at the end of each line, moved apart where two would touch, and tied to its line."""
    ends = frame.labeled_ends
    shifts = frame.label_shifts([end for _, end in ends], _plot_height(frame), LABEL)
    for (line, end), shift in zip(ends, shifts, strict=True):
        color = f"{line.color.split()[0]} 50%" if line.weight == "light" else line.color
        yield {
            **{"xref": "paper", "x": 1, "y": number(frame.scaled(end, "y")), "ax": 20, "ay": round(-shift, 1)},
            **{"text": escaped(clipped(line.label, 28)), "xanchor": "left", "align": "left"},
            **{"showarrow": True, "arrowhead": 0, "arrowwidth": 1.5, "arrowcolor": color},
            "font": {**_SMALL, "color": "ink" if line.weight == "main" else "muted"},
        }


def _notes(frame: Frame) -> Iterable[Figure]:
    for note in frame.chart.notes:
        place = {"x": number(frame.scaled(note.x, "x")), "y": number(frame.scaled(note.y, "y")), "yshift": 10}
        yield {**place, "text": escaped(note.text), "showarrow": False, "font": {"color": note.color, **_SMALL}}


def _plot_height(frame: Frame) -> float:
    """Height of the plot within its margins, in pixels."""
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
