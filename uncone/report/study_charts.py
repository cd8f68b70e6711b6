"""The charts of a study as plotly figures; colours are roles that the page fills in for light and dark."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from itertools import groupby

from uncone.diagnosis.contrast import Contrast
from uncone.diagnosis.words import cosine, plain
from uncone.report.deep_charts import cloud
from uncone.report.deep_cloud import Cloud
from uncone.report.grid_charts import Figure, axis_title, dots, error_bars, heat, rounded
from uncone.report.panel import Dots, Heat, Panel, Picture, Series, spread
from uncone.report.study import LayerStudy
from uncone.report.study_panels import sections

__all__ = ["charts"]

_WIDTHS = {
    "main": 2.6,
    "thin": 1.4,
    "light": 1.8,
    "dashed": 1.6,
    "level": 2.0,
    "points": 2.0,
    "word": 2.0,
    "word, dashed": 2.0,
}
_DASHES = {"dashed": "dash", "level": "dot", "word, dashed": "dash"}
_MOST_LABELS = 12
_MOST_MARKERS = 26
_MOST_RINGS = 14
_LABEL = 16
"""Pixels between the labels of two lines."""
_PLOT = {False: 236, True: 276}
"""Pixels that the page gives to the height of a plot, without axis and margins: half or full width."""


def charts(parts: Sequence[LayerStudy], contrasts: Sequence[Contrast]) -> list[Figure]:
    """Each with an id, a title, a sentence for those who cannot see it, plotly data and layout, and its section."""
    return [
        {**_chart(picture, wide=wide), "section": name}
        for name, drawn in sections(parts, contrasts).items()
        for picture, wide in zip(drawn, _widths(drawn), strict=True)
    ]


def _widths(drawn: Sequence[Picture]) -> list[bool]:
    """Charts stand in pairs; one without a partner takes the whole width, so that no hole is left."""
    widths: list[bool] = []
    for wide, group in groupby(drawn, key=lambda picture: picture.wide):
        size = len(list(group))
        widths += [wide or (place == size - 1 and size % 2 == 1) for place in range(size)]
    return widths


def _chart(picture: Picture, *, wide: bool) -> Figure:
    if isinstance(picture, Heat):
        made = heat(picture)
    elif isinstance(picture, Dots):
        made = dots(picture)
    elif isinstance(picture, Cloud):
        made = cloud(picture)
    else:
        made = _panel(picture, wide=wide)
    start = {"id": picture.name, "title": picture.title, "alt": picture.caption, "wide": wide, "lazy": False}
    return {**start, **made}


def _panel(panel: Panel, *, wide: bool) -> Figure:
    bands = [band for one in panel.series for band in _bands(one)]
    lines = [_line(panel, one) for one in panel.series]
    rings = [_rings(panel)] if panel.rings else []
    labelled = len(panel.series) <= _MOST_LABELS and (len(panel.series) > 1 or bool(panel.series[0].word))
    labels = _labels(panel, _PLOT[wide]) if labelled else []
    layout = {
        "xaxis": _x_axis(panel, labelled=labelled),
        "yaxis": _y_axis(panel),
        "annotations": labels,
        "showlegend": len(panel.series) > _MOST_LABELS,
        "hovermode": "x unified",
        "margin": {"r": 14 + max((16 + round(6.6 * len(one.label)) for one in panel.series if labelled), default=0)},
    }
    return {"data": [*bands, *lines, *rings], "layout": layout}


def _line(panel: Panel, series: Series) -> Figure:
    single = sum(value is not None for value in series.y) == 1
    is_points = single or series.weight == "points"
    marked = series.weight == "main" and len(series.x) <= _MOST_MARKERS
    return {
        "type": "scatter",
        "mode": "markers" if is_points else "lines+markers" if marked else "lines",
        "x": list(series.x),
        "y": [rounded(value) for value in series.y],
        "text": [_hover(panel, series, place) for place in range(len(series.x))],
        "name": html.escape(series.label, quote=False),
        "line": {
            "color": f"{series.colour} 50%" if series.weight == "light" else series.colour,
            "width": _WIDTHS[series.weight],
            "dash": _DASHES.get(series.weight, "solid"),
        },
        "marker": {"color": series.colour, "size": 8 if is_points else 5},
        "hovertemplate": "%{text}<extra></extra>",
        "cliponaxis": False,
        **({"error_y": error_bars(series.y, series.low, series.high, series.colour)} if is_points else {}),
    }


def _hover(panel: Panel, series: Series, place: int) -> str:
    value, low, high, n = series.y[place], series.low[place], series.high[place], series.n[place]
    if value is None:
        return ""
    said = f"{series.label}: {_said(panel, value)}"
    if low is not None and high is not None:
        said += f" ({_said(panel, low)} to {_said(panel, high)})"
    if panel.relative:
        said += f", layer {series.layers[place]}"
        said += f" against {series.against[place]}" if series.against else ""
    if n:
        said += f", n = {n:,}"
    return html.escape(said, quote=False)


def _said(panel: Panel, value: float) -> str:
    if panel.share:
        return f"{100 * value:.1f} %"
    return cosine(value, 3) if abs(value) < 2 else plain(value)


def _bands(series: Series) -> list[Figure]:
    """The interval as filled outlines, one for each run of layers that have it."""
    if series.weight not in ("main", "level"):
        return []
    points = list(zip(series.x, series.low, series.high, strict=True))
    runs = [list(run) for known, run in groupby(points, key=lambda p: p[1] is not None and p[2] is not None) if known]
    return [
        {
            "type": "scatter",
            "mode": "lines",
            "x": [x for x, _, _ in run] + [x for x, _, _ in reversed(run)],
            "y": [rounded(high) for _, _, high in run] + [rounded(low) for _, low, _ in reversed(run)],
            "fill": "toself",
            "fillcolor": f"{series.colour} 20%",
            "line": {"width": 0},
            "hoverinfo": "skip",
            "showlegend": False,
        }
        for run in runs
        if len(run) > 1
    ]


def _rings(panel: Panel) -> Figure:
    return {
        "type": "scatter",
        "mode": "markers+text" if len(panel.rings) <= _MOST_RINGS else "markers",
        "x": [x for x, _, _ in panel.rings],
        "y": [rounded(y) for _, y, _ in panel.rings],
        "text": [text for _, _, text in panel.rings],
        "textposition": "top center",
        "textfont": {"size": 12, "color": "second"},
        "marker": {
            "symbol": "circle-open",
            "size": 12 if len(panel.rings) <= _MOST_RINGS else 7,
            "color": "second",
            "line": {"width": 2},
        },
        "hovertemplate": "sinks: %{text}<extra></extra>",
        "showlegend": False,
        "cliponaxis": False,
    }


def _labels(panel: Panel, height: int) -> list[Figure]:
    """A name at the end of each line, moved apart where two would touch, and tied to its line."""
    bottom, top = panel.bounds
    ends = [(one, end) for one in panel.series if (end := one.end) is not None and (end > 0 or not panel.log)]
    wanted = [height * ((math.log10(end) if panel.log else end) - bottom) / (top - bottom) for _, end in ends]
    placed = spread(wanted, _LABEL, height)
    return [
        {
            "xref": "paper",
            "x": 1,
            "y": math.log10(end) if panel.log else end,
            "ax": 20,
            "ay": round(want - place, 1),
            "text": html.escape(one.label, quote=False),
            "xanchor": "left",
            "align": "left",
            "showarrow": True,
            "arrowhead": 0,
            "arrowwidth": 1.5,
            "arrowcolor": f"{one.colour} 50%" if one.weight == "light" else one.colour,
            "font": {"size": 12, "color": "ink" if one.weight in ("main", "level", "points") or one.word else "muted"},
        }
        for (one, end), want, place in zip(ends, wanted, placed, strict=True)
    ]


def _x_axis(panel: Panel, *, labelled: bool) -> Figure:
    numbers = [x for one in panel.series for x in one.x]
    low, high = min(numbers), max(numbers)
    # Whole layers only: left alone, plotly would put a tick at layer 0.5 of a shallow model.
    ticks = {} if panel.relative or high - low > 7 else {"tick0": 0, "dtick": 1}
    pad = (0.06 if panel.is_points else 0.02) * ((high - low) or 10.0)
    title = "depth %{x:.2f}" if panel.relative else "layer %{x}"
    return {
        "title": axis_title(panel.x_title),
        "range": [low - pad, high if labelled and not panel.is_points else high + pad],
        "zeroline": False,
        "unifiedhovertitle": {"text": title},
        **ticks,
    }


def _y_axis(panel: Panel) -> Figure:
    axis: Figure = {
        "title": axis_title(panel.y_title),
        "range": list(panel.bounds),
        "zeroline": panel.zero,
        "zerolinewidth": 1.5,
        "exponentformat": "none",
    }
    if panel.log:
        few = panel.bounds[1] - panel.bounds[0] < 2
        axis |= {"type": "log", "dtick": "D2" if few else 1}
    return {**axis, "tickformat": ".0%"} if panel.share else axis
