"""The cosine matrix as plotly heatmaps: raw and against the background, with blocks, labels and dendrogram."""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uncone.data.batch import IntVector, Matrix
from uncone.diagnosis.words import clipped, cosine, count
from uncone.likeness.results import Picture
from uncone.report.evaluated_marks import label_text
from uncone.report.grid_charts import Figure
from uncone.report.similar import Similarity
from uncone.report.similar_lines import compared, unit
from uncone.report.similar_numbers import middle_cut
from uncone.report.similar_palette import DIVERGING, Palette, labels_palette
from uncone.report.text import printable

__all__ = ["ORDERS", "branches", "colorbar", "heatmaps", "packed", "packed_grid", "shown_range"]

ORDERS = {"label": "by label", "clustering": "by clustering", "groups": "by group"}
_SCALE = 10_000
"""Cells are whole numbers of two bytes, in steps of 0.0001: twice that of a percentile is a hundredth of a per cent."""
_MOST_BLOCKS = 24
_MOST_NAMED = 36
_TREE, _STRIP, _GAP = 0.13, 0.022, 0.012
"""Shares of the width: the dendrogram, the strip of labels, and the space between."""


def heatmaps(result: Similarity) -> list[Figure]:
    """Raw cosines beside percentiles of every picture; of two pictures, like stands beside like."""
    raw = [_heatmap(result, place, "cosine") for place in range(len(result.pictures))]
    ranked = [_heatmap(result, place, "percentile") for place in range(len(result.pictures))]
    if len(raw) == 2:
        return [*raw, *ranked]
    return [figure for pair in zip(raw, ranked, strict=True) for figure in pair]


def _heatmap(result: Similarity, place: int, kind: str) -> Figure:
    name, picture = result.pictures[place]
    is_raw = kind == "cosine"
    cells, scale = packed_grid(picture.cosines if is_raw else picture.percentiles / 100)
    low, high = shown_range(picture.cosines) if is_raw else (0.0, 1.0)
    strip = labels_palette(result) if picture.order == "clustering" else None
    start = (_TREE + _GAP if picture.linkage is not None else 0.0) + (_STRIP + _GAP if strip is not None else 0.0)
    data: list[Figure] = [
        {
            "type": "heatmap",
            "z": cells,
            "zmin": low * scale,
            "zmax": high * scale,
            "colorscale": "Viridis" if is_raw else DIVERGING,
            "colorbar": colorbar(low, high, scale, shares=not is_raw),
            "hoverinfo": "none",
            "zsmooth": False,
        }
    ]
    if picture.linkage is not None and picture.leaves is not None:
        data.append(_tree(picture.linkage, picture.leaves))
    if strip is not None:
        data.append(_strip(strip, picture.rows))
    several = len(result.pictures) > 1
    title = "Cosine" if is_raw else "Percentile of the background"
    return {
        "id": f"heat-{place}-{kind}",
        "title": f"{title}{f', {name}' if several else ''}",
        "alt": _told(result, picture, is_raw=is_raw),
        "data": data,
        "layout": _layout(result, picture, start, strip is not None),
        "wide": False,
        "lazy": False,
        "height": 470,
    }


def shown_range(cosines: Matrix) -> tuple[float, float]:
    """Where the cosines of two different rows lie, without the last per cent at either end."""
    off = cosines[~np.eye(len(cosines), dtype=bool)]
    known = off[np.isfinite(off)]
    if not len(known):
        return 0.0, 1.0
    low, high = (float(one) for one in np.quantile(known, (0.01, 0.99)))
    return (low, high) if high - low > 1e-3 else (low - 0.05, high + 0.05)


def packed_grid(values: Matrix) -> tuple[Figure, float]:
    """A grid between -1 and 1 as plotly takes it in base64, and what its numbers are to be divided by."""
    if np.isfinite(values).all() and np.abs(values).max(initial=0.0) <= 3:
        cells = np.rint(np.asarray(values, np.float64) * _SCALE).astype("<i2")
        return _coded(cells, "i2"), float(_SCALE)
    return _coded(np.asarray(values, "<f4"), "f4"), 1.0


def packed(values: Matrix) -> Figure:
    """Numbers as plotly takes them in base64, in single precision."""
    return _coded(np.asarray(values, "<f4"), "f4")


def _coded(values: NDArray[Any], kind: str) -> Figure:
    code = base64.b64encode(np.ascontiguousarray(values).tobytes()).decode("ascii")
    shape = {"shape": f"{values.shape[0]}, {values.shape[1]}"} if values.ndim == 2 else {}
    return {"dtype": kind, "bdata": code, **shape}


def colorbar(low: float, high: float, scale: float, *, shares: bool = False) -> Figure:
    """Ticks in the reader's numbers, whatever the cells are counted in."""
    if shares:
        places, texts = [0.0, 0.25, 0.5, 0.75, 1.0], ["0 %", "25 %", "50 %", "75 %", "100 %"]
    else:
        step = _step(high - low)
        places = [step * k for k in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]
        texts = [cosine(place, 3 if step < 0.01 else 2 if step < 0.1 else 1) for place in places]
    return {
        "thickness": 10,
        "outlinewidth": 0,
        "tickmode": "array",
        "tickvals": [place * scale for place in places],
        "ticktext": texts,
        "tickfont": {"size": 12},
        "xpad": 6,
        "len": 1,
    }


def _step(span: float) -> float:
    """A round step that cuts a span into at most six."""
    rough = max(span, 1e-6) / 5
    size = 10 ** math.floor(math.log10(rough))
    return float(next((one * size for one in (1, 2, 5) if one * size >= rough), 10 * size))


def _told(result: Similarity, picture: Picture, *, is_raw: bool) -> str:
    size = len(picture.rows)
    noun = unit(result)
    every = compared(result)
    rows = count(size, noun) if size == every else f"{size:,} of {count(every, noun)}"
    order = ORDERS.get(picture.order, f"by {picture.order}")
    if is_raw:
        return f"{rows}, ordered {order}."
    return "The same cells: what share of unrelated pairs scores lower. Half of all unrelated pairs lie below 50 %."


def _layout(result: Similarity, picture: Picture, start: float, has_strip: bool) -> Figure:
    size = len(picture.rows)
    plain = {"showgrid": False, "zeroline": False, "showline": False, "ticks": ""}
    ticks = _ticks(picture)
    names = {} if ticks or size > _MOST_NAMED or result.texts is None else _texts(result, picture.rows)
    x_ticks = _ticks(picture, least=0.1, most=11)
    layout: Figure = {
        "xaxis": {**plain, "domain": [start, 1], "range": [-0.5, size - 0.5], **(x_ticks or {"showticklabels": False})},
        "yaxis": {
            **plain,
            "range": [size - 0.5, -0.5],
            "anchor": "free",
            "position": 0,
            **(ticks or names or {"showticklabels": False}),
        },
        "shapes": _boundaries(picture),
        "hovermode": "closest",
        "dragmode": "zoom",
        "margin": {"l": 8, "r": 8, "t": 8, "b": 30},
        "showlegend": False,
    }
    hidden = {**plain, "showticklabels": False, "fixedrange": True}
    if picture.linkage is not None:
        layout["xaxis2"] = {**hidden, "domain": [0, _TREE], "autorange": "reversed", "anchor": "y"}
    if has_strip:
        layout["xaxis3"] = {**hidden, "domain": [start - _STRIP - _GAP / 2, start - _GAP / 2], "anchor": "y"}
    return layout


def _ticks(picture: Picture, least: float = 0.035, most: int = 16) -> Figure:
    """The name of every block that is large enough, at its middle."""
    size, at, found = len(picture.rows), 0, []
    for name, rows in picture.blocks:
        if rows >= least * size:
            found.append((at + rows / 2 - 0.5, label_text(middle_cut(printable(name), most))))
        at += rows
    if not found or len(picture.blocks) < 2:
        return {}
    return {"tickmode": "array", "tickvals": [one[0] for one in found], "ticktext": [one[1] for one in found]}


def _texts(result: Similarity, rows: IntVector) -> Figure:
    names = [label_text(clipped(printable(result.text(int(row))), 18)) for row in rows]
    return {"tickmode": "array", "tickvals": list(range(len(rows))), "ticktext": names, "tickfont": {"size": 11}}


def _boundaries(picture: Picture) -> list[Figure]:
    """A line between every two blocks, across and down."""
    if not 1 < len(picture.blocks) <= _MOST_BLOCKS:
        return []
    size = len(picture.rows)
    edges = np.cumsum([rows for _, rows in picture.blocks])[:-1] - 0.5
    line = {"color": "paper", "width": 1.5 if len(picture.blocks) <= 12 else 0.75}
    shapes = []
    for edge in edges.tolist():
        for x0, x1, y0, y1 in ((edge, edge, -0.5, size - 0.5), (-0.5, size - 0.5, edge, edge)):
            shapes.append({"type": "line", "x0": x0, "x1": x1, "y0": y0, "y1": y1, "line": line})
    return shapes


def _strip(palette: Palette, rows: IntVector) -> Figure:
    """The label of every row as a column of colours."""
    places = np.array([palette.members[int(row)] for row in rows], np.uint8)
    last = max(len(palette.colours) - 1, 1)
    # Every colour twice, so that there is a step and no blend between two.
    steps = [[edge / (last + 1), colour] for k, colour in enumerate(palette.colours) for edge in (k, k + 1)]
    return {
        "type": "heatmap",
        "z": _coded(places[:, None], "u1"),
        "xaxis": "x3",
        "zmin": -0.5,
        "zmax": last + 0.5,
        "colorscale": steps if len(palette.colours) > 1 else [[0, palette.colours[0]], [1, palette.colours[0]]],
        "showscale": False,
        "hoverinfo": "none",
    }


def _tree(linkage: Matrix, leaves: IntVector) -> Figure:
    x, y = branches(linkage, leaves)
    return {
        "type": "scatter",
        "mode": "lines",
        "x": x,
        "y": y,
        "xaxis": "x2",
        "line": {"color": "muted", "width": 1, "shape": "linear"},
        "hoverinfo": "skip",
        "cliponaxis": True,
    }


def branches(linkage: Matrix, leaves: IntVector) -> tuple[list[float | None], list[float | None]]:
    """The dendrogram as one line: heights, and places in drawn order; None between two branches."""
    size = len(leaves)
    place = np.empty(2 * size - 1)
    place[np.asarray(leaves)] = np.arange(size)
    height = np.zeros(2 * size - 1)
    x: list[float | None] = []
    y: list[float | None] = []
    for step, (one, other, distance, _) in enumerate(np.asarray(linkage, float)):
        a, b = int(one), int(other)
        place[size + step], height[size + step] = (place[a] + place[b]) / 2, distance
        x += [*_rounded((height[a], distance, distance, height[b])), None]
        y += [*_rounded((place[a], place[a], place[b], place[b])), None]
    return x, y


def _rounded(values: Sequence[float]) -> list[float]:
    return [float(f"{value:.5g}") for value in values]
