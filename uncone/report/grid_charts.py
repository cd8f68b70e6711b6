"""The charts of a study that are no curves: words by layers, and measures on one scale."""

from __future__ import annotations

import html
import math
import textwrap
from collections.abc import Sequence
from typing import Any

from uncone.diagnosis.words import clipped, cosine, count
from uncone.report.panel import Dots, Heat, Number, Series

__all__ = ["Figure", "axis_title", "dots", "error_bars", "heat", "rounded"]

Figure = dict[str, Any]


def heat(shown: Heat) -> Figure:
    """Words by layers, a colour for each value."""
    known = [value for row in shown.values for value in row if value is not None]
    texts = [
        [html.escape(f"{word}, layer {layer}: {'not known' if value is None else cosine(value, 3)}, ", quote=False)
         + count(contexts, "context")
         for layer, value in zip(shown.layers, row, strict=True)]
        for word, contexts, row in zip(shown.words, shown.contexts, shown.values, strict=True)
    ]  # fmt: skip
    data = {
        "type": "heatmap",
        "x": list(shown.layers),
        # Numbers with texts, so that a word such as 2020 is not taken for a number.
        "y": list(range(len(shown.words))),
        "z": [[rounded(value) for value in row] for row in shown.values],
        "text": texts,
        "colorscale": "Viridis",
        "zmin": math.floor(10 * min([*known, 0.9])) / 10,
        "zmax": 1,
        "xgap": 1 if len(shown.layers) <= 26 else 0,
        "ygap": 1,
        "hoverongaps": False,
        "hovertemplate": "%{text}<extra></extra>",
        "colorbar": {"thickness": 12, "outlinewidth": 0, "title": {"text": "SelfSim", "side": "top"}},
    }
    few = {"tick0": 0, "dtick": 1} if len(shown.layers) <= 8 else {}
    layout = {
        "xaxis": {"title": axis_title("layer (0 = embeddings)"), "showgrid": False, "zeroline": False, **few},
        "yaxis": {
            "tickmode": "array",
            "tickvals": data["y"],
            "ticktext": [html.escape(clipped(word, 16), quote=False) for word in shown.words],
            "showgrid": False,
            "zeroline": False,
            "tickfont": {"size": 12},
        },
        "hovermode": "closest",
    }
    return {"data": [data], "layout": layout, "height": 90 + 17 * len(shown.words)}


def dots(shown: Dots) -> Figure:
    """A point with its interval per measure and study."""
    places = {label: place for place, label in enumerate(dict.fromkeys(one.label for one in shown.series))}
    data = []
    for label, place in places.items():
        mine = [one for one in shown.series if one.label == label]
        # Studies stand a little apart on a line, so that their intervals do not cover one another.
        shift = 0.0 if len(places) == 1 else 0.22 * (place - (len(places) - 1) / 2)
        data.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": html.escape(label, quote=False),
                "x": [rounded(one.y[0]) for one in mine],
                "y": [one.x[0] + shift for one in mine],
                "text": [_dot_hover(shown, one) for one in mine],
                "marker": {"color": mine[0].colour, "size": 9},
                "error_x": error_bars(
                    [one.y[0] for one in mine],
                    [one.low[0] for one in mine],
                    [one.high[0] for one in mine],
                    mine[0].colour,
                ),
                "hovertemplate": "%{text}<extra></extra>",
            }
        )
    layout = {
        "xaxis": {"zeroline": True, "zerolinewidth": 1.5, "title": axis_title("value")},
        "yaxis": {
            "tickmode": "array",
            "tickvals": list(range(len(shown.rows))),
            "ticktext": [
                "<br>".join(textwrap.wrap(html.escape(row, quote=False), 28, break_on_hyphens=False))
                for row in shown.rows
            ],
            "tickfont": {"size": 12},
            "range": [len(shown.rows) - 0.4, -0.6],
            "zeroline": False,
        },
        "hovermode": "closest",
        "showlegend": len(places) > 1,
    }
    return {"data": data, "layout": layout, "height": 110 + 32 * len(shown.rows)}


def _dot_hover(shown: Dots, one: Series) -> str:
    value, low, high = one.y[0], one.low[0], one.high[0]
    assert value is not None
    said = f"{shown.rows[int(one.x[0])]}, {one.label}: {cosine(value, 3)}"
    if low is not None and high is not None:
        said += f" ({cosine(low, 3)} to {cosine(high, 3)})"
    return html.escape(f"{said}, n = {one.n[0]:,}", quote=False)


def error_bars(y: Sequence[Number], low: Sequence[Number], high: Sequence[Number], colour: str) -> Figure:
    """Intervals around points; none where they are not known."""
    return {
        "type": "data",
        "symmetric": False,
        "array": [_reach(a, b) for a, b in zip(y, high, strict=True)],
        "arrayminus": [_reach(a, b) for a, b in zip(low, y, strict=True)],
        "color": colour,
        "thickness": 1.5,
        "width": 4,
    }


def _reach(start: Number, end: Number) -> float:
    return 0.0 if start is None or end is None else max(end - start, 0.0)


def axis_title(text: str) -> Figure:
    """No larger than the ticks: on a phone the axis is short."""
    return {"text": text, "font": {"size": 13}}


def rounded(value: float | None) -> float | None:
    """Six digits: more than a screen can show."""
    return None if value is None else float(f"{value:.6g}")
