"""Clouds of points as plotly figures; the page draws them when they are scrolled to."""

from __future__ import annotations

import html
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from uncone.data.batch import Matrix, Vector
from uncone.report.deep_cloud import Cloud, View
from uncone.report.deep_clouds import MOST_SVG
from uncone.report.diagnosis_charts import listed
from uncone.report.grid_charts import Figure, axis_title

__all__ = ["cloud"]

_FEW = 1_000
_HEIGHT = {False: 380, True: 460}
_BARE = {"showticklabels": False, "showline": False, "ticks": "", "zeroline": False}


def cloud(shown: Cloud) -> Figure:
    """Points coloured by a number, with their texts on hover; a button changes between the views."""
    traces = [_traces(shown, view, place) for place, view in enumerate(shown.views)]
    data = [trace for made in traces for trace in made]
    layout: Figure = {
        "xaxis": {"title": axis_title(shown.axes[0]), "zeroline": True},
        "yaxis": {"title": axis_title(shown.axes[1]), "zeroline": True},
        "hovermode": "closest",
        "showlegend": False,
        "margin": {"t": 40 if len(shown.views) > 1 else 10, "b": 10 if shown.in_space else 46},
    }
    if shown.in_space:
        layout |= {"scene": _scene(shown), "margin": {**layout["margin"], "l": 0, "r": 0}}
    if len(shown.views) > 1:
        layout["updatemenus"] = [_buttons(shown.views, [len(made) for made in traces])]
    return {"data": data, "layout": layout, "lazy": True, "height": _HEIGHT[shown.in_space]}


def _traces(shown: Cloud, view: View, place: int) -> list[Figure]:
    """The points whose number is known, then those without one in grey, then the path."""
    known = np.isfinite(view.values)
    made = [_points(shown, view, mask) for mask in (known, ~known) if mask.any()]
    if len(view.path) > 1:
        made.append(
            {
                "type": _kind(shown, view),
                "mode": "lines",
                **_places(view.path),
                "line": {"color": "ink", "width": 5 if shown.in_space else 2},
                "hoverinfo": "skip",
                "name": "mean rows by position",
            }
        )
    return [{**trace, "visible": place == len(shown.views) - 1} for trace in made]


def _points(shown: Cloud, view: View, mask: NDArray[np.bool_]) -> Figure:
    values = view.values[mask]
    places = np.flatnonzero(mask).tolist()
    marker: Figure = {
        "size": 2.4 if shown.in_space else 5 if len(view.points) <= _FEW else 3.5,
        "opacity": 0.8,
        "line": {"width": 0},
    }
    if np.isfinite(values).all() and shown.scale:
        low, high = _range(values)
        bar = {"thickness": 10, "len": 0.8, "outlinewidth": 0, "title": {"text": shown.scale, "side": "right"}}
        marker |= {"color": listed(values), "colorscale": "Viridis", "cmin": low, "cmax": high, "colorbar": bar}
    else:
        marker["color"] = "muted"
    return {
        "type": _kind(shown, view),
        "mode": "markers",
        **_places(view.points[mask]),
        "text": [html.escape(view.texts[i], quote=False) for i in places],
        "hovertemplate": "%{text}<extra></extra>",
        "marker": marker,
        "name": view.label,
    }


def _range(values: Vector) -> tuple[float, float]:
    """What the colours span: all but the last hundredth, so that one far point does not take them all."""
    low, high = float(values.min()), float(np.quantile(values, 0.99))
    return low, high if high > low else low + 1.0


def _kind(shown: Cloud, view: View) -> str:
    return "scatter3d" if shown.in_space else "scatter" if len(view.points) <= MOST_SVG else "scattergl"


def _places(points: Matrix) -> Figure:
    return {axis: listed(points[:, place]) for place, axis in enumerate("xyz"[: points.shape[1]])}


def _scene(shown: Cloud) -> Figure:
    axis = {**_BARE, "gridcolor": "rule", "zerolinecolor": "rule", "showbackground": False, "showspikes": False}
    named = zip(("xaxis", "yaxis", "zaxis"), shown.axes, strict=True)
    eye = {"x": 1.6, "y": 1.6, "z": 0.95}
    return {
        "aspectmode": "cube",
        "camera": {"eye": eye},
        **{key: {**axis, "title": {"text": name, "font": {"size": 12}}} for key, name in named},
    }


def _buttons(views: Sequence[View], sizes: Sequence[int]) -> Figure:
    """One button per view; the last view, without what hides the rest, is the one shown first."""
    owners = [place for place, size in enumerate(sizes) for _ in range(size)]
    return {
        "type": "buttons",
        "direction": "right",
        "active": len(views) - 1,
        "showactive": True,
        "x": 0,
        "xanchor": "left",
        "y": 1.0,
        "yanchor": "bottom",
        "pad": {"b": 6},
        "bgcolor": "raised",
        "bordercolor": "rule",
        "font": {"size": 12, "color": "ink"},
        "buttons": [
            {"label": view.label, "method": "restyle", "args": [{"visible": [owner == place for owner in owners]}]}
            for place, view in enumerate(views)
        ],
    }
