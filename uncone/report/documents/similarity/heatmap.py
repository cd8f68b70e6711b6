"""The heatmaps of a similarity: all texts against each other with a dendrogram, and the steps of the walk-through.

The page draws them on canvases from packed cells (`widgets/heatmap.js`); figures draw the same numbers as charts.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from uncone.analysis.number_format import clipped, cosine, count, plain
from uncone.analysis.similarity.results import Picture, Step
from uncone.data.batch import IntVector, Matrix
from uncone.report.charts.cloud import MOST_LEGEND, category_colors
from uncone.report.charts.model import Axis, Chart, Heatmap, Line, Points, Reference
from uncone.report.charts.theme import GRAY
from uncone.report.document import Block, Fold, Sentences, Widget
from uncone.report.documents.similarity.charts import labels_palette
from uncone.report.documents.similarity.sentences import middle_cut, noun, size
from uncone.report.results.similarity import Similarity
from uncone.report.text import printable

__all__ = ["branches", "heatmap", "packed", "walk"]

Figure = dict[str, Any]
"""A heatmap as `heatmap.js` takes it."""
UNKNOWN = -32_768
"""What stands in a packed cell without a value."""
_SCALE = 10_000
"""Cells are integers of two bytes, in steps of 0.0001."""
_ORDERS = {"label": "by label", "clustering": "by clustering", "groups": "by group"}
_MOST_BLOCKS = 24
_MOST_NAMES = 36
_LONGEST = 400
_SCRIPTS = {"scripts": ["widgets/heatmap.js"], "styles": ["widgets/heatmap.css"]}
_STEP_NAMES = {
    "sd": "deviation",
    "p2.5": "2.5 % below",
    "p50": "median",
    "p97.5": "97.5 % below",
    "within": "within labels",
    "between": "between labels",
    "auc": "AUC of labels",
    "auc_before": "AUC before",
    "auc_after": "AUC after",
    "one_over_root_d": "1/√d",
    "share_of_1": "share of the strongest",
    "share_of_3": "of 3",
    "share_of_5": "of 5",
}
_FOLKLORE = (
    (
        "“My vectors have different lengths, that is why.”",
        "No. The cosine divides by both lengths: make a vector ten times as long, and none of its cosines changes.",
    ),
    (
        "“In high dimensions all cosines are high.”",
        "The opposite is true: random directions in d dimensions have cosines around 0, give or take 1/√d. High "
        "cosines come from a direction that all vectors share.",
    ),
)
_SHOWN_BY_STEPS = {"length", "dimension"}
"""Steps that show on the reader's own texts what `_FOLKLORE` says in general."""


def heatmap(result: Similarity) -> Widget:
    """Cosines beside percentiles of every picture; of two pictures, the cosines stand side by side."""
    several = len(result.pictures) > 1
    rows = sorted({int(row) for _, picture in result.pictures for row in picture.rows})
    raw, ranks = ([_picture(result, at, kind, rows) for at in range(len(result.pictures))] for kind in _KINDS)
    figures = [*raw, *ranks] if len(raw) == 2 else [one for pair in zip(raw, ranks, strict=True) for one in pair]
    charts: list[Block] = [
        _chart(result, name, picture, kind, several) for name, picture in result.pictures for kind in _KINDS
    ]
    notes = [f"{name}: {one.note}" if several else one.note for name, one in result.pictures if one.note]
    strip = labels_palette(result) if any(figure["strip"] for figure in figures) else None
    legend = [] if strip is None else [(name, _color(code)) for code, name in enumerate(strip.names)]
    legend += [(strip.rest, GRAY)] if strip is not None and strip.rest else []
    data = {
        "store": {**_texts(result, rows), "figures": figures},
        "noun": noun(result),
        "notes": notes,
        "legend": legend,
    }
    return Widget("widgets/heatmap.html", data, [Sentences(notes), *charts] if notes else charts, **_SCRIPTS)


_KINDS = {"cosine": "Cosine", "percentile": "Percentile among unrelated pairs"}


def _texts(result: Similarity, rows: Sequence[int]) -> dict[str, Any]:
    """What a cell is about: numbers, texts and labels of the rows."""
    return {
        "numbers": list(rows),
        "texts": None if result.texts is None else [clipped(result.texts[row], _LONGEST) for row in rows],
        "labels": None if result.labels is None else [result.labels[row] for row in rows],
    }


def _picture(result: Similarity, at: int, kind: str, rows: Sequence[int]) -> Figure:
    name, picture = result.pictures[at]
    strip = labels_palette(result) if picture.order == "clustering" else None
    tree = None if picture.linkage is None or picture.leaves is None else branches(picture.linkage, picture.leaves)
    names = (
        [] if picture.blocks or len(picture.rows) > _MOST_NAMES or result.texts is None else _row_names(result, picture)
    )
    low, high = _range(picture.cosines, 0.01) if kind == "cosine" else (0.0, 1.0)
    return {
        "id": f"heat-{at}-{kind}",
        "title": f"{_KINDS[kind]}, {name}" if len(result.pictures) > 1 else _KINDS[kind],
        "caption": _caption(result, picture, kind),
        "kind": kind,
        "group": at,
        "places": _placed(rows, picture.rows),
        **_grid(picture.cosines if kind == "cosine" else picture.percentiles / 100, low, high),
        "scale": "sequential" if kind == "cosine" else "diverging",
        "ticks": _ticks(picture) or names,
        "edges": _edges(picture),
        "tree": tree,
        "strip": None if strip is None else [_color(int(strip.codes[int(row)])) for row in picture.rows],
    }


def _placed(rows: Sequence[int], shown: IntVector) -> list[int]:
    return [int(place) for place in np.searchsorted(np.asarray(rows), np.asarray(shown))]


def _color(code: int) -> str:
    return GRAY if code < 0 else category_colors(MOST_LEGEND)[code]


def _grid(values: Matrix, low: float, high: float) -> Figure:
    return {"cells": packed(values), "size": len(values), "low": low, "high": high}


def packed(values: Matrix) -> str:
    """The upper triangle of a symmetric grid of values up to ±3: base64 of two-byte integers, in steps of 0.0001.

    All low bytes stand before all high ones, which compress well together.
    """
    half = values[np.triu_indices(len(values))]
    cells = np.rint(np.where(np.isfinite(half), np.clip(half, -3, 3) * _SCALE, UNKNOWN)).astype("<i2")
    return base64.b64encode(cells.view("u1").reshape(-1, 2).T.tobytes()).decode("ascii")


def _range(cells: Matrix, tail: float) -> tuple[float, float]:
    """Where the values of two different texts lie, without a tail at either end."""
    off = cells[~np.eye(len(cells), dtype=bool)]
    known = off[np.isfinite(off)]
    if not len(known):
        return 0.0, 1.0
    low, high = (float(one) for one in np.quantile(known, (tail, 1 - tail)))
    return (low, high) if high - low > 1e-3 else (low - 0.05, high + 0.05)


def _caption(result: Similarity, picture: Picture, kind: str) -> str:
    if kind == "percentile":
        return "The same cells: the share of unrelated pairs that score lower. Half of them score below 50 %."
    shown, every = len(picture.rows), size(result)
    texts = count(shown, noun(result)) if shown == every else f"{shown:,} of {count(every, noun(result))}"
    return f"{texts}, ordered {_ORDERS.get(picture.order, f'by {picture.order}')}."


def _ticks(picture: Picture, least: float = 0.035) -> list[tuple[float, str]]:
    """The name of every block that is large enough, at its middle."""
    ends = np.cumsum([rows for _, rows in picture.blocks])
    if len(ends) < 2:
        return []
    return [
        (float(end - rows / 2 - 0.5), middle_cut(printable(name), 16))
        for end, (name, rows) in zip(ends, picture.blocks, strict=True)
        if rows >= least * len(picture.rows)
    ]


def _row_names(result: Similarity, picture: Picture) -> list[tuple[float, str]]:
    return [(float(at), clipped(printable(result.text(int(row))), 18)) for at, row in enumerate(picture.rows)]


def _edges(picture: Picture) -> list[float]:
    """The boundaries between blocks."""
    if not 1 < len(picture.blocks) <= _MOST_BLOCKS:
        return []
    return [float(end) - 0.5 for end in np.cumsum([rows for _, rows in picture.blocks])[:-1]]


def branches(linkage: Matrix, leaves: IntVector) -> list[tuple[float, float, float, float, float]]:
    """The dendrogram as brackets: both heights, both places in drawn order, and the height that joins them."""
    n = len(leaves)
    place, height = np.empty(2 * n - 1), np.zeros(2 * n - 1)
    place[np.asarray(leaves)] = np.arange(n)
    made = []
    for step, (one, other, distance, _) in enumerate(np.asarray(linkage, float)):
        a, b = int(one), int(other)
        place[n + step], height[n + step] = (place[a] + place[b]) / 2, distance
        first, second, low, high, top = (
            float(f"{x:.5g}") for x in (height[a], height[b], place[a], place[b], distance)
        )
        made.append((first, second, low, high, top))
    return made


def _chart(result: Similarity, name: str, picture: Picture, kind: str, several: bool) -> Chart:
    """The same heatmap for figures: the dendrogram and the strip of labels stand left of the cells."""
    cells = picture.cosines if kind == "cosine" else picture.percentiles
    n = len(picture.rows)
    low, high = _range(picture.cosines, 0.01) if kind == "cosine" else (0.0, 100.0)
    marks: list[Heatmap | Line | Points] = [
        Heatmap(
            cells.tolist(),
            scale="sequential" if kind == "cosine" else "diverging",
            low=low,
            high=high,
            center=None if kind == "cosine" else 50,
            bar="cosine" if kind == "cosine" else "percentile",
        )
    ]
    left = -0.5
    strip = labels_palette(result) if picture.order == "clustering" else None
    if strip is not None:
        left -= 0.03 * n
        codes = strip.codes[np.asarray(picture.rows)]
        for code in np.unique(codes).tolist():
            at = np.flatnonzero(codes == code).tolist()
            label = strip.rest if code < 0 else strip.names[code]
            marks.append(Points([left + 0.01 * n] * len(at), at, label, _color(code), size=3, symbol="square"))
    if picture.linkage is not None and picture.leaves is not None:
        tree = branches(picture.linkage, picture.leaves)
        top, width = max(one[-1] for one in tree) or 1.0, 0.18 * n
        x = [left - width * height / top for a, b, _, _, joint in tree for height in (a, joint, joint, b, b)]
        y = [place for _, _, one, other, _ in tree for place in (one, one, other, other, None)]
        marks.append(Line(x, y, color="muted", weight="thin", guide=True))
        left -= width
    ticks, rows = _ticks(picture), [str(int(row)) for row in picture.rows]
    edges = [Reference(at, color="#ffffff", horizontal=flat) for at in _edges(picture) for flat in (False, True)]
    return Chart(
        "-".join(["heatmap", *([_file_name(name)] if several else []), *(["percentile"] if kind != "cosine" else [])]),
        f"{_KINDS[kind]}, {name}" if several else _KINDS[kind],
        _caption(result, picture, kind),
        marks,
        Axis(name="other_row", categories=rows, hidden=True, range=(left, n - 0.5)),
        Axis(name="row", categories=rows, ticks=ticks, hidden=not ticks),
        edges,
        aspect=0.8,
    )


def _file_name(name: str) -> str:
    """Letters, digits and dashes: a pooling is part of a file name."""
    return "".join(letter if letter.isascii() and (letter.isalnum() or letter in "-_") else "-" for letter in name)[:40]


def walk(result: Similarity) -> list[Block]:
    """The steps from the raw heatmap to a readable one; then what is often said, unless a step shows it."""
    folklore = () if {step.key for step in result.steps} >= _SHOWN_BY_STEPS else _FOLKLORE
    rows = sorted({int(row) for step in result.steps if step.rows is not None for row in step.rows})
    low, high = _common_range(result)
    steps, figures, otherwise = [], [], []
    for place, step in enumerate(result.steps, 1):
        numbers = [(_STEP_NAMES.get(key, key.replace("_", " ")), _said(value)) for key, value in step.numbers.items()]
        blocks: list[Block] = [Sentences([step.text])]
        blocks += [Sentences([", ".join(f"{name} {value}" for name, value in numbers) + "."])] if numbers else []
        if step.heatmap is not None:
            limits = _around(step.heatmap) if _is_difference(step) else (low, high)
            figures.append(
                {
                    "id": f"why-{place}",
                    "kind": "difference" if _is_difference(step) else "cosine",
                    "group": f"why-{place}",
                    "places": [] if step.rows is None else _placed(rows, step.rows),
                    **_grid(step.heatmap, *limits),
                    "scale": "diverging" if _is_difference(step) else "sequential",
                    "ticks": [],
                    "edges": [],
                    "tree": None,
                    "strip": None,
                }
            )
            blocks.append(_step_chart(place, step, step.heatmap, *limits))
        steps.append({"place": place, "step": step, "numbers": numbers, "has_figure": step.heatmap is not None})
        otherwise.append(Fold(f"{place}. {step.title}", blocks))
    data = {"steps": steps, "store": {**_texts(result, rows), "figures": figures}, "folklore": folklore}
    often: list[Block] = [Sentences([f"{claim} {fact}" for claim, fact in folklore], bulleted=True)] if folklore else []
    return [Widget("widgets/walk.html", data, [*otherwise, *often], **_SCRIPTS)]


def _step_chart(place: int, step: Step, values: Matrix, low: float, high: float) -> Chart:
    n, around = len(values), _is_difference(step)
    cells = Heatmap(
        values.tolist(),
        scale="diverging" if around else "sequential",
        low=low,
        high=high,
        center=0 if around else None,
        bar="above unrelated pairs" if around else "cosine",
    )
    rows = [] if step.rows is None else [str(int(row)) for row in step.rows]
    across, down = (
        Axis(name=name, categories=rows, hidden=True, range=(-0.5, n - 0.5)) for name in ("other_row", "row")
    )
    return Chart(f"why-{place}", step.title, f"{n} by {n} texts.", [cells], across, down, aspect=0.8)


def _is_difference(step: Step) -> bool:
    """Whether the cells of a step are differences from the mean of unrelated pairs."""
    return step.key == "background"


def _common_range(result: Similarity) -> tuple[float, float]:
    """One range for the cosines of all steps."""
    ranges = [
        _range(step.heatmap, 0.005) for step in result.steps if step.heatmap is not None and not _is_difference(step)
    ]
    return (min(low for low, _ in ranges), max(high for _, high in ranges)) if ranges else (0.0, 1.0)


def _around(cells: Matrix) -> tuple[float, float]:
    """A range around zero."""
    low, high = _range(cells, 0.0025)
    reach = max(abs(low), abs(high))
    return -reach, reach


def _said(value: float | None) -> str:
    """A number of any size: cosines with three digits, counts without."""
    if value is None or not math.isfinite(value):
        return "–"
    if float(value).is_integer() and abs(value) >= 2:
        return f"{value:,.0f}"
    return cosine(float(value), 3) if abs(value) < 2 else plain(float(value))
