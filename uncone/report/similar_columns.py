"""The two texts of a row: the distribution of their cosine by label, over the background."""

from __future__ import annotations

import numpy as np

from uncone.diagnosis.words import clipped, count
from uncone.report.evaluated_marks import label_text
from uncone.report.grid_charts import Figure, axis_title
from uncone.report.panel import OKABE_ITO
from uncone.report.similar import Similarity
from uncone.report.similar_charts import bars, figure_of
from uncone.report.text import printable

__all__ = ["columns_chart", "curves"]

_MOST_CURVES = 6
_BINS = 150


def columns_chart(result: Similarity) -> Figure | None:
    """The cosine of the two texts of a row by label, over the background; the axis above counts from its mean."""
    two = result.two_columns
    if two is None or not np.isfinite(two.cosines).any():
        return None
    data = [bars(result.background.histogram, "unrelated pairs", "muted", fill=True)]
    found = curves(result)
    for place, (name, x, y) in enumerate(found):
        colour = OKABE_ITO[place % len(OKABE_ITO)]
        data.append(
            {
                "type": "scatter",
                "mode": "lines",
                "x": x,
                "y": y,
                "name": label_text(name),
                "line": {"color": colour, "width": 2.2},
                "hovertemplate": label_text(name).replace("%{", "% {") + ": %{y:.2f} %<extra></extra>",
            }
        )
    data = [one for one in data if one["x"]]
    xs = [x for one in data for x in one["x"]]
    span, mean = [min(xs), max(xs)], result.background.mean
    layout = {
        "xaxis": {"title": axis_title("cosine of the two texts"), "zeroline": False, "range": span},
        # The same axis again, counted from the mean of the background: below the first.
        "xaxis2": {
            "title": axis_title("above the background"),
            "overlaying": "x",
            "side": "bottom",
            "anchor": "free",
            "position": 0,
            "range": [one - mean for one in span],
            "tickmode": "auto",
            "nticks": 8,
            "showgrid": False,
            "zeroline": True,
            "zerolinecolor": "muted",
            "tickformat": "+.1f",
        },
        "yaxis": {"title": axis_title("% of pairs per 0.01"), "rangemode": "tozero", "domain": [0.2, 1]},
        "hovermode": "closest",
        "showlegend": True,
        "margin": {"t": 44},
    }
    # An axis is only drawn where something stands on it.
    data.append({"type": "scatter", "x": [0], "y": [None], "xaxis": "x2", "showlegend": False, "hoverinfo": "skip"})
    known = int(np.isfinite(two.cosines).sum())
    few = "" if two.labels is None or len(found) == len(two.table) else " The first labels; the table has them all."
    told = f"{count(known, 'row')}; in grey, pairs that are unrelated.{few}"
    return {**figure_of("columns", "The two texts of a row, by label", told, data, layout, wide=True), "height": 420}


def curves(result: Similarity) -> list[tuple[str, list[float], list[float]]]:
    """For every label its name, cosines, and the share of its rows per 0.01; one curve where there are no labels."""
    two = result.two_columns
    if two is None:
        return []
    known = np.isfinite(two.cosines)
    labels = np.array([""] * len(known) if two.labels is None else list(two.labels), dtype=object)
    names = [""] if two.labels is None else [line.one for line in two.table][:_MOST_CURVES]
    low, high = float(two.cosines[known].min()), float(two.cosines[known].max())
    # Half as wide as Freedman and Diaconis have them for the smallest label: narrower ones make a saw, not a curve.
    least = min((int((known & (labels == name)).sum()) for name in names), default=1)
    middle = float(np.subtract(*np.quantile(two.cosines[known], (0.75, 0.25))))
    width = max(middle / max(least, 1) ** (1 / 3), 1e-4)
    bins = int(np.clip((high - low) / width, 8, _BINS))
    edges = np.linspace(low, high if high > low else low + 0.01, bins + 1)
    made = []
    for name in names:
        counts, _ = np.histogram(two.cosines[known & (labels == name)], edges)
        if counts.sum():
            density = 100 * counts / counts.sum() * 0.01 / np.diff(edges)
            x, y = ([float(f"{one:.6g}") for one in side] for side in ((edges[:-1] + edges[1:]) / 2, density))
            made.append((clipped(printable(name), 24) or "the two texts of a row", x, y))
    return made
