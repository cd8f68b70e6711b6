"""The charts of the page as plotly figures; colours are roles that the page fills in for light and dark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from uncone.report.lines import title
from uncone.report.results.check import Diagnosis

__all__ = ["Figure", "figures", "listed"]

Figure = dict[str, Any]

OKABE_ITO = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442")
"""A categorical palette that colour-blind readers can tell apart."""


def figures(spaces: Sequence[Diagnosis]) -> list[Figure]:
    """Each with an id, a title, a sentence for those who cannot see it, plotly data and layout."""
    charts = [cosines(spaces), eigenvalues(spaces)]
    if len(spaces) == 1:
        charts += [contributions(spaces[0]), points(spaces[0]), norms(spaces[0])]
    return charts


def cosines(spaces: Sequence[Diagnosis]) -> Figure:
    """Histogram of the cosines of random pairs, with the asked scores as lines."""
    data: list[Figure] = []
    for place, space in enumerate(spaces):
        edges = np.array(space.pictures.cosine_edges)
        data.append(
            {
                "type": "bar",
                "x": listed((edges[:-1] + edges[1:]) / 2),
                "y": listed(np.array(space.pictures.cosine_density) / np.diff(edges)),
                "width": listed(np.diff(edges)),
                "name": title(space),
                "marker": {"color": _role(place), "line": {"width": 0}},
                "opacity": 1 if len(spaces) == 1 else 0.6,
                "hovertemplate": "cosine %{x:.3f}: %{y:.2f} % of pairs per 0.01<extra></extra>",
            }
        )
    asked = spaces[0].scores
    average = None if len(spaces) > 1 else spaces[0]["baseline"].magnitude
    mean = [] if average is None else [_line(average, "mean", "muted", "left")]
    lines = [*mean, *(_line(score.score, f"{score.score:g}", "ink", "right") for score in asked)]
    layout = {
        "barmode": "overlay",
        "bargap": 0,
        "xaxis": {"title": {"text": "cosine of two random rows, cos(x, y)"}},
        "yaxis": {"title": {"text": "% of pairs per 0.01"}, "range": [0, 1.15 * max(max(one["y"]) for one in data)]},
        "shapes": [line["shape"] for line in lines],
        "annotations": [line["annotation"] for line in lines],
        "showlegend": len(spaces) > 1,
    }
    several = (
        "The further to the right, the more crowded; the wider apart two spaces lie, the less a threshold carries over."
    )
    caption = spaces[0].verdict.details if len(spaces) == 1 else several
    return _figure("cosines", "Cosines of random pairs", caption, data, layout, wide=True)


def eigenvalues(spaces: Sequence[Diagnosis]) -> Figure:
    """Variance along each principal direction, on a logarithmic axis."""
    data: list[Figure] = []
    for place, space in enumerate(spaces):
        values = np.array(space.pictures.eigenvalues)
        total = values.sum() or 1.0
        shown = np.where(values > 1e-9 * values.max(initial=0.0), values / total, np.nan)
        data.append(
            {
                "type": "scatter",
                "mode": "lines",
                "x": list(range(1, len(values) + 1)),
                "y": [None if np.isnan(one) else float(f"{100 * one:.4g}") for one in shown],
                "name": title(space),
                "line": {"color": _role(place), "width": 2},
                "hovertemplate": "direction %{x}: %{y:.3g} % of the variance<extra></extra>",
            }
        )
    shown_values = [one for line in data for one in line["y"] if one]
    decades = {"dtick": 1} if max(shown_values, default=1) > 30 * min(shown_values, default=1) else {}
    layout = {
        "xaxis": {"title": {"text": "principal direction"}},
        "yaxis": {"title": {"text": "share of variance, λ/Σλ (%)"}, "type": "log", "exponentformat": "none", **decades},
        "showlegend": len(spaces) > 1,
    }
    caption = spaces[0]["effective_rank"].meaning if len(spaces) == 1 else "A flat line uses all directions alike."
    return _figure("eigenvalues", "Variance per direction", caption, data, layout, wide=len(spaces) > 1)


def contributions(space: Diagnosis) -> Figure:
    """What each dimension adds to the baseline; rogue ones are named."""
    values = space.pictures.contributions
    rogue = space["rogue_dimensions"].value
    named = rogue if isinstance(rogue, list) else []
    data = [
        {
            "type": "bar",
            "x": list(range(len(values))),
            "y": values,
            "marker": {"color": _role(0), "line": {"width": 0}},
            "hovertemplate": "dimension %{x}: %{y:.4f}<extra></extra>",
        }
    ]
    layout = {
        "bargap": 0,
        "xaxis": {"title": {"text": "dimension j"}},
        "yaxis": {"title": {"text": "part of the mean cosine"}, "zeroline": True, "exponentformat": "none"},
        "annotations": [_label(j, values[j], str(j)) for j in named],
    }
    return _figure("contributions", "Contribution per dimension", space["rogue_dimensions"].meaning, data, layout)


def points(space: Diagnosis) -> Figure:
    """Sampled rows on the two strongest directions; drawn when scrolled to."""
    dots = space.pictures.points
    names = [f"row {row:,}" for row in dots.rows] if dots.texts is None else dots.texts
    labels = dots.labels or [""] * len(dots.rows)
    groups = sorted(set(labels), key=lambda label: (label == "other", label))
    data = []
    for place, group in enumerate(groups):
        chosen = [i for i, label in enumerate(labels) if label == group]
        colour = _role(0) if len(groups) == 1 else "muted" if group == "other" else OKABE_ITO[place % len(OKABE_ITO)]
        data.append(
            {
                "type": "scattergl",
                "mode": "markers",
                "x": [dots.x[i] for i in chosen],
                "y": [dots.y[i] for i in chosen],
                "text": [_hover(names[i]) for i in chosen],
                "name": group,
                "marker": {"color": colour, "size": 4, "opacity": 0.6},
                "hovertemplate": "%{text}<extra></extra>",
            }
        )
    layout = {
        "xaxis": {"title": {"text": "first principal direction"}},
        "yaxis": {"title": {"text": "second principal direction"}},
        "hovermode": "closest",
        "showlegend": len(groups) > 1,
    }
    sentence = f"{len(dots.rows):,} sampled rows on the two strongest directions."
    return {**_figure("points", "Map of a sample", sentence, data, layout), "lazy": True}


def norms(space: Diagnosis) -> Figure:
    """Histogram of the lengths of the rows."""
    edges = np.array(space.pictures.norm_edges)
    data = [
        {
            "type": "bar",
            "x": listed((edges[:-1] + edges[1:]) / 2),
            "y": space.pictures.norm_counts,
            "width": listed(np.diff(edges)),
            "marker": {"color": _role(0), "line": {"width": 0}},
            "hovertemplate": "norm %{x:.4g}: %{y:,} rows<extra></extra>",
        }
    ]
    wide = edges[-1] > 20 * edges[0]
    layout = {
        "bargap": 0,
        "xaxis": {"title": {"text": "length of a row, |x|"}, "type": "log" if wide else "linear"},
        "yaxis": {"title": {"text": "rows"}},
    }
    return _figure("norms", "Lengths of the rows", space["norm_mean"].meaning, data, layout)


def _figure(name: str, title: str, sentence: str, data: list[Figure], layout: Figure, *, wide: bool = False) -> Figure:
    return {"id": name, "title": title, "alt": sentence, "data": data, "layout": layout, "wide": wide, "lazy": False}


def _role(place: int) -> str:
    """Colours by role: the page knows what they are in light and in dark."""
    return ("accent", "second", "muted")[place] if place < 3 else OKABE_ITO[place % len(OKABE_ITO)]


def _line(x: float, text: str, colour: str, side: str) -> Figure:
    shape = {"type": "line", "x0": x, "x1": x, "yref": "paper", "y0": 0, "y1": 1, "line": {"color": colour, "width": 2}}
    shape["line"] = {"color": colour, "width": 2, "dash": "dot"} if text == "mean" else shape["line"]
    note = {
        "x": x,
        "yref": "paper",
        "y": 1,
        "text": text,
        "showarrow": False,
        "xanchor": "right" if side == "left" else "left",
        "yanchor": "top",
        "xshift": -5 if side == "left" else 5,
        "font": {"color": colour},
    }
    return {"shape": shape, "annotation": note}


def _label(x: float, y: float, text: str) -> Figure:
    return {"x": x, "y": y, "text": text, "showarrow": False, "yshift": 10, "font": {"color": "ink"}}


def _hover(text: str) -> str:
    """Plotly reads a little HTML in hover texts: a row's text must not be taken for it."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def listed(values: np.ndarray) -> list[float]:
    """The values for a page: six digits are more than a screen shows."""
    return [float(f"{value:.6g}") for value in values]
