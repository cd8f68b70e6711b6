"""The charts of a calibration as plotly figures; colours are roles that the page fills in for light and dark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from uncone.calibration.results import Background
from uncone.calibration.thresholds import score_at
from uncone.report.calibrated import Calibrated
from uncone.report.calibrated_lines import cut, rare
from uncone.report.diagnosis_charts import listed
from uncone.report.evaluated_marks import label_text
from uncone.report.grid_charts import Figure, axis_title
from uncone.report.text import fitted, printable

__all__ = ["LEGEND", "Marked", "background", "density", "drawn", "marks", "polygon", "reach", "short", "shown_range"]

LEGEND = {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"}
"""Above what is drawn, on as many lines as it takes."""
_PLOT, _ROW = 240, 16
"""Pixels: the height of the bars, and of a line of text above them."""
_THIN = 1e-6
_FAR = 1e-4
"""Of the pairs, on either side, that an axis may leave out."""


@dataclass(frozen=True)
class Marked:
    """A score to be marked on the axis: what is written at it, and what it is."""

    at: float
    text: str
    kind: str
    """cut, one hit, asked, or translated."""


def marks(result: Calibrated) -> list[Marked]:
    """The thresholds, the asked scores and the translated one, from left to right."""
    made = result.calibration
    found = [Marked(one.score, f"{one.score:g}", "asked") for one in result.asked]
    for one in made.thresholds:
        if one.value is not None:
            found.append(Marked(one.value, f"{rare(one.rate)}: {cut(result, one)}", "cut"))
    most, moved = made.one_hit, made.translation
    if most is not None and most.value is not None and most.value > -1:
        found.append(Marked(most.value, f"1 hit: {cut(result, most)}", "one hit"))
    if moved is not None and moved.new is not None:
        found.append(Marked(moved.new, f"was {moved.old:g}: {cut(result, moved)}", "translated"))
    return sorted(found, key=lambda one: one.at)


def shown_range(result: Calibrated) -> tuple[float, float]:
    """What an axis of scores has to show: nearly all pairs, and every mark."""
    made = result.calibration
    ends = [score_at(one, tail) for one in made.backgrounds for tail in (1 - _FAR, _FAR)]
    ends += [one.at for one in marks(result)]
    if made.labelled is not None:
        for histogram in (made.labelled.alike, made.labelled.unlike):
            held = [at for at, amount in enumerate(histogram.get("counts", ())) if amount]
            ends += [histogram["edges"][held[0]], histogram["edges"][held[-1] + 1]] if held else []
    pad = 0.03 * ((max(ends) - min(ends)) or 0.1)
    return max(min(ends) - pad, -1.02), min(max(ends) + pad, 1.02)


def background(result: Calibrated) -> Figure:
    """The histogram of unrelated pairs in grey, labelled pairs over it, thresholds and asked scores as lines."""
    made = result.calibration
    first = made.backgrounds[0]
    bars = _bars(first.histogram, "unrelated pairs")
    data = [bars]
    for other, dash in zip(made.backgrounds[1:], ("dot", "dash", "dashdot"), strict=False):
        data.append(_outline(other.histogram, short(other), "ink", dash))
    if made.labelled is not None:
        data += [
            _outline(histogram, name, colour, "solid", filled=colour == "accent")
            for histogram, name, colour in (
                (made.labelled.unlike, "unlike pairs", "second"),
                (made.labelled.alike, "alike pairs", "accent"),
            )
            if sum(histogram.get("counts", ()))
        ]
    highest = max(max(one["y"]) for one in data)
    plot = _PLOT + _ROW * len(marks(result))
    layout = {
        "bargap": 0,
        "xaxis": {"title": axis_title("score s = cos(x, y)"), "range": list(shown_range(result)), "zeroline": False},
        "yaxis": {
            "title": axis_title("% of pairs per 0.01"),
            "range": [0, highest * plot / (_PLOT - _ROW)],
            "zeroline": False,
        },
        **_marked(result, plot),
        "showlegend": len(data) > 1,
        "legend2": LEGEND,
    }
    cuts = "Lines: the cut for each share of unrelated pairs, and dotted, the scores that were asked about or guessed."
    found = drawn("background", "Scores of unrelated pairs", f"{_said(first)} {cuts}", data, layout, wide=True)
    return {**found, "height": round(plot + 110)}


def reach(result: Calibrated) -> Figure:
    """The share of unrelated pairs at or above each score, on a logarithmic axis, with its band."""
    data: list[Figure] = []
    for place, one in enumerate(result.calibration.backgrounds):
        colour, dash = ("accent", "solid") if place == 0 else ("muted", "dash")
        tails, scores = np.asarray(one.tails, np.float64), np.asarray(one.scores, np.float64)
        kept = tails > 0
        lows, highs = (np.asarray(band, np.float64)[kept] for band in (one.lows, one.highs))
        if place == 0 and np.isfinite(lows).all() and np.isfinite(highs).all():
            x = np.concatenate([lows, highs[::-1]])
            y = 100 * np.concatenate([tails[kept], tails[kept][::-1]])
            data.append(polygon(x, y, colour))
        data.append(
            {
                "type": "scatter",
                "mode": "lines",
                "x": listed(scores[kept]),
                "y": listed(100 * tails[kept]),
                "name": label_text("unrelated pairs" if place == 0 else short(one)),
                "legend": "legend2",
                "line": {"color": colour, "width": 2, "dash": dash},
                "hovertemplate": "score %{x:.3f}: %{y:.3g} % of unrelated pairs reach it<extra></extra>",
            }
        )
    layout = {
        "xaxis": {"title": axis_title("score s"), "range": list(shown_range(result)), "zeroline": False},
        "yaxis": {
            "title": axis_title("unrelated pairs ≥ s (%)"),
            "type": "log",
            "dtick": 1,
            "exponentformat": "none",
        },
        "showlegend": len(result.calibration.backgrounds) > 1,
        "legend2": LEGEND,
    }
    told = "At every score, the share of unrelated pairs that reach it. The band is the 95 % interval."
    return drawn("reach", "Unrelated pairs that reach a score", told, data, layout, wide=True)


def _marked(result: Calibrated, plot: float) -> Figure:
    """Lines with a label each, in rows of their own: on a phone a label is as wide as a third of the axis.

    Labels stand left of their lines, the rightmost on top, so that they cross no line that reaches higher. `plot` is
    the height of what is drawn in, in pixels.
    """
    low, high = shown_range(result)
    looks = {"asked": ("muted", "dot"), "cut": ("ink", "solid"), "one hit": ("ink", "solid")}
    shapes, notes = [], []
    for row, one in enumerate(reversed(marks(result))):
        colour, dash = looks.get(one.kind, ("second", "dash"))
        right = one.at > low + 0.3 * (high - low)
        top = 1 - _ROW * row / plot
        line = {"color": colour, "width": 1.6, "dash": dash}
        shapes.append({"type": "line", "x0": one.at, "x1": one.at, "yref": "paper", "y0": 0, "y1": top, "line": line})
        notes.append(
            {
                "x": one.at,
                "yref": "paper",
                "y": top,
                "text": label_text(one.text),
                "showarrow": False,
                "xanchor": "right" if right else "left",
                "yanchor": "top",
                "xshift": -3 if right else 3,
                "borderpad": 0,
                "bgcolor": "paper",
                "font": {"color": colour if colour != "muted" else "ink", "size": 12},
            }
        )
    return {"shapes": shapes, "annotations": notes}


def density(histogram: Mapping[str, Sequence[float]]) -> tuple[np.ndarray, np.ndarray]:
    """The edges, and the per cent of pairs per 0.01 between them.

    Where scores are nearly 1, bins that would end beyond it have no width: they are put to their neighbour.

    >>> edges, heights = density({"edges": [0.98, 0.99, 1.0, 1.0], "counts": [2, 1, 1]})
    >>> edges.tolist(), heights.round(6).tolist()
    ([0.98, 0.99, 1.0], [50.0, 50.0])
    """
    edges, counts = np.array(histogram["edges"], np.float64), np.array(histogram["counts"], np.float64)
    kept = np.append(True, np.diff(edges) > 0)
    places = (np.cumsum(kept)[1:] - 2).clip(min=0)
    edges = edges[kept]
    if len(edges) == 1:
        edges = np.array([edges[0] - _THIN, edges[0]])
    merged = np.bincount(places, weights=counts, minlength=len(edges) - 1)
    return edges, merged / (merged.sum() or 1.0) / np.diff(edges)


def _bars(histogram: Mapping[str, Sequence[float]], name: str) -> Figure:
    edges, heights = density(histogram)
    return {
        "type": "bar",
        "x": listed((edges[:-1] + edges[1:]) / 2),
        "y": listed(heights),
        "width": listed(np.diff(edges)),
        "name": name,
        "legend": "legend2",
        "marker": {"color": "muted 55%", "line": {"width": 0}},
        "hovertemplate": f"score %{{x:.3f}}: %{{y:.2f}} % of {name} per 0.01<extra></extra>",
    }


def _outline(
    histogram: Mapping[str, Sequence[float]], name: str, colour: str, dash: str, *, filled: bool = False
) -> Figure:
    edges, heights = density(histogram)
    return {
        "type": "scatter",
        "mode": "lines",
        "x": listed(np.repeat(edges, 2)),
        "y": listed(np.concatenate([[0.0], np.repeat(heights, 2), [0.0]])),
        "name": label_text(name),
        "legend": "legend2",
        "line": {"color": colour, "width": 1.8, "dash": dash},
        **({"fill": "tozeroy", "fillcolor": f"{colour} 14%"} if filled else {}),
        "hovertemplate": f"score %{{x:.3f}}: %{{y:.2f}} % per 0.01<extra>{label_text(name)}</extra>",
    }


def polygon(x: np.ndarray, y: np.ndarray, colour: str) -> Figure:
    """The band of a curve."""
    return {
        "type": "scatter",
        "mode": "lines",
        "x": listed(x),
        "y": listed(y),
        "fill": "toself",
        "fillcolor": f"{colour} 20%",
        "line": {"width": 0, "color": colour},
        "hoverinfo": "skip",
        "showlegend": False,
    }


def drawn(name: str, title: str, told: str, data: list[Figure], layout: Figure, *, wide: bool = False) -> Figure:
    """A figure as the page takes it."""
    return {"id": name, "title": title, "alt": told, "data": data, "layout": layout, "wide": wide, "lazy": False}


def short(one: Background) -> str:
    """What a background is called beside a curve."""
    return fitted(printable(one.name.rstrip("/").rsplit("/", 1)[-1]), 24)


def _said(one: Background) -> str:
    sides = f"{one.rows:,} rows"
    if one.documents is not None:
        sides = f"{one.rows:,} queries and {one.documents:,} documents"
    pairs = f"All {one.pairs:,} pairs" if one.pairs == one.all_pairs else f"{one.pairs:,} sampled pairs"
    return f"{pairs} of {sides}."
