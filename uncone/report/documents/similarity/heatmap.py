"""The heatmaps of a similarity: all texts against each other with a dendrogram, and the steps of the walk-through.

The page draws them on canvases from packed cells (`widgets/heatmap.js`); figures draw the same numbers as charts.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from uncone.analysis.number_format import clipped, cosine, count, plain
from uncone.analysis.similarity.results import Step
from uncone.data.batch import IntVector, Matrix
from uncone.report.charts.cloud import MOST_LEGEND, category_colors
from uncone.report.charts.model import Axis, Chart, Coloring, Heatmap, Line, Points, Reference
from uncone.report.charts.theme import GRAY
from uncone.report.document import Block, Fold, Sentences, Widget
from uncone.report.documents.similarity import sentences as say
from uncone.report.documents.similarity.charts import LONGEST_TEXT, label_coloring
from uncone.report.text import file_name, number_text, printable

if TYPE_CHECKING:
    from uncone.report.documents.similarity import Similarity

__all__ = ["branches", "heatmap", "packed", "walkthrough"]

UNKNOWN = -32_768
"""A packed cell without a value."""
_SCALE = 10_000
"""Cells are integers of two bytes, in steps of 0.0001."""
_MOST_BLOCKS, _MOST_NAMES = 24, 36
"""Blocks with visible boundaries, and texts with names beside a heatmap."""
_LEAST_BLOCK = 0.035
"""Share of the texts that a block needs to have its name beside it."""
_SCRIPTS = {"scripts": ["widgets/heatmap.js"], "styles": ["widgets/heatmap.css"]}
_NUMBER_NAMES = {
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
_FOLKLORE_STEPS = {"length", "dimension"}
"""Steps that show on the reader's own texts what `_FOLKLORE` says in general."""
_TITLES = {"cosine": "Cosine", "percentile": "Percentile among unrelated pairs"}
_BARS = {"cosine": "cosine", "percentile": "percentile", "difference": "above unrelated pairs"}
_CENTERS = {"cosine": None, "percentile": 50, "difference": 0}

Branch = tuple[float, float, float, float, float]
"""A bracket of a dendrogram: both heights, both places in drawn order, and the height that joins them."""


@dataclass(frozen=True, eq=False)
class _Grid:
    """A heatmap of the texts `rows`, as a figure of the page and as a chart.

    Its kind is "cosine", "percentile" or "difference"; heatmaps with the same `group` zoom together on the page.
    """

    name: str
    title: str
    caption: str
    kind: str
    group: int | str
    values: Matrix
    limits: tuple[float, float]
    rows: IntVector | None
    ticks: Sequence[tuple[float, str]] = ()
    names: Sequence[tuple[float, str]] = ()
    edges: Sequence[float] = ()
    tree: Sequence[Branch] | None = None
    strip: Coloring | None = None

    @property
    def scale(self) -> Literal["sequential", "diverging"]:
        return "sequential" if self.kind == "cosine" else "diverging"

    def figure(self, name: str, rows: Sequence[int]) -> dict[str, Any]:
        """The heatmap as `heatmap.js` takes it; its texts are among those of `rows`."""
        unit = 100 if self.kind == "percentile" else 1
        codes = None if self.strip is None or self.strip.codes is None else self.strip.codes.tolist()
        return {
            "id": name,
            "title": self.title,
            "caption": self.caption,
            "kind": self.kind,
            "group": self.group,
            "places": [] if self.rows is None else np.searchsorted(np.asarray(rows), self.rows).tolist(),
            "cells": packed(self.values / unit),
            "size": len(self.values),
            "low": self.limits[0] / unit,
            "high": self.limits[1] / unit,
            "scale": self.scale,
            "ticks": list(self.ticks or self.names),
            "edges": list(self.edges),
            "tree": self.tree,
            "strip": None if codes is None else [_color(code) for code in codes],
        }

    def chart(self) -> Chart:
        """The heatmap for figures, with the dendrogram and the strip of labels left of the cells."""
        n, left = len(self.values), -0.5
        low, high = self.limits
        center, bar = _CENTERS[self.kind], _BARS[self.kind]
        cells = Heatmap(self.values.tolist(), "", self.scale, low, high, center, bar=bar)
        marks: list[Heatmap | Line | Points] = [cells]
        if self.strip is not None and self.strip.codes is not None:
            left -= 0.03 * n
            codes = self.strip.codes
            for code in np.unique(codes).tolist():
                at = np.flatnonzero(codes == code).tolist()
                label = self.strip.rest if code < 0 else self.strip.names[code]
                marks.append(Points([left + 0.01 * n] * len(at), at, label, _color(code), size=3, symbol="square"))
        if self.tree is not None:
            top, width = max(branch[-1] for branch in self.tree) or 1.0, 0.18 * n
            x = [left - width * height / top for a, b, _, _, joint in self.tree for height in (a, joint, joint, b, b)]
            y = [place for _, _, low, high, _ in self.tree for place in (low, low, high, high, None)]
            marks.append(Line(x, y, color="muted", weight="thin", guide=True))
            left -= width
        rows = [] if self.rows is None else [str(int(row)) for row in self.rows]
        edges = [Reference(at, color="#ffffff", horizontal=flat) for at in self.edges for flat in (False, True)]
        across = Axis(name="other_row", categories=rows, hidden=True, range=(left, n - 0.5))
        limits = None if rows else (-0.5, n - 0.5)
        down = Axis(name="row", categories=rows, ticks=self.ticks, hidden=not self.ticks, range=limits)
        return Chart(self.name, self.title, self.caption, marks, across, down, edges, aspect=0.8)


def _color(code: int) -> str:
    return GRAY if code < 0 else category_colors(MOST_LEGEND)[code]


def packed(values: Matrix) -> str:
    """The upper triangle of a symmetric grid of values up to ±3: base64 of two-byte integers, in steps of 0.0001.

    All low bytes stand before all high ones, which compress well together.
    """
    half = values[np.triu_indices(len(values))]
    cells = np.rint(np.where(np.isfinite(half), np.clip(half, -3, 3) * _SCALE, UNKNOWN)).astype("<i2")
    return base64.b64encode(cells.view("u1").reshape(-1, 2).T.tobytes()).decode("ascii")


def heatmap(result: Similarity) -> Widget:
    """Cosines beside percentiles of every picture; of two pictures, the cosines stand side by side."""
    several = len(result.pictures) > 1
    rows = sorted({int(row) for _, picture in result.pictures for row in picture.rows})
    grids = [[_grid(result, at, kind) for kind in _TITLES] for at in range(len(result.pictures))]
    ordered = [list(pair) for pair in zip(*grids, strict=True)] if len(grids) == 2 else grids
    figures = [grid.figure(f"heat-{grid.group}-{grid.kind}", rows) for group in ordered for grid in group]
    charts: list[Block] = [grid.chart() for group in grids for grid in group]
    notes = [f"{name}: {each.note}" if several else each.note for name, each in result.pictures if each.note]
    strip = next((grid.strip for group in grids for grid in group if grid.strip is not None), None)
    legend = [] if strip is None else [(name, _color(code)) for code, name in enumerate(strip.names)]
    legend += [(strip.rest, GRAY)] if strip is not None and strip.rest else []
    store = {**_texts(result, rows), "figures": figures}
    data = {"store": store, "noun": say.noun(result), "notes": notes, "legend": legend}
    return Widget("widgets/heatmap.html", data, [Sentences(notes), *charts] if notes else charts, **_SCRIPTS)


def _texts(result: Similarity, rows: Sequence[int]) -> dict[str, Any]:
    return {
        "numbers": list(rows),
        "texts": None if result.texts is None else [clipped(result.texts[row], LONGEST_TEXT) for row in rows],
        "labels": None if result.labels is None else [result.labels[row] for row in rows],
    }


def _grid(result: Similarity, at: int, kind: str) -> _Grid:
    name, picture = result.pictures[at]
    several, percentile, n_rows = len(result.pictures) > 1, kind == "percentile", len(picture.rows)
    every = say.size(result)
    texts = count(n_rows, say.noun(result)) if n_rows == every else f"{n_rows:,} of {count(every, say.noun(result))}"
    caption = f"{texts}, ordered by {picture.order}."
    if percentile:
        caption = "The same cells: the share of unrelated pairs that score lower. Half of them score below 50 %."
    ends = np.cumsum([rows for _, rows in picture.blocks]).tolist()
    blocks = [
        (float(end - rows / 2 - 0.5), say.middle_cut(printable(block), 16))
        for end, (block, rows) in zip(ends, picture.blocks, strict=True)
        if len(ends) > 1 and rows >= _LEAST_BLOCK * n_rows
    ]
    names = [(float(place), clipped(printable(result.text(int(row))), 18)) for place, row in enumerate(picture.rows)]
    has_names = not picture.blocks and n_rows <= _MOST_NAMES and result.texts is not None
    tree = None
    if picture.linkage is not None and picture.leaves is not None:
        tree = branches(picture.linkage, picture.leaves)
    return _Grid(
        name="-".join(["heatmap", *([file_name(name)] if several else []), *([kind] if percentile else [])]),
        title=f"{_TITLES[kind]}, {name}" if several else _TITLES[kind],
        caption=caption,
        kind=kind,
        group=at,
        values=picture.percentiles if percentile else picture.cosines,
        limits=(0.0, 100.0) if percentile else _range(picture.cosines, 0.01),
        rows=np.asarray(picture.rows),
        ticks=blocks,
        names=names if has_names else [],
        edges=[end - 0.5 for end in ends[:-1]] if 1 < len(ends) <= _MOST_BLOCKS else [],
        tree=tree,
        strip=label_coloring(result, picture.rows) if picture.order == "clustering" else None,
    )


def _range(cells: Matrix, tail: float) -> tuple[float, float]:
    """The range of the values of two different texts, without a tail at either end."""
    off = cells[~np.eye(len(cells), dtype=bool)]
    finite = off[np.isfinite(off)]
    if not len(finite):
        return 0.0, 1.0
    low, high = np.quantile(finite, (tail, 1 - tail)).tolist()
    return (low, high) if high - low > 1e-3 else (low - 0.05, high + 0.05)


def branches(linkage: Matrix, leaves: IntVector) -> list[Branch]:
    """The dendrogram as brackets."""
    n = len(leaves)
    place, height = np.empty(2 * n - 1), np.zeros(2 * n - 1)
    place[np.asarray(leaves)] = np.arange(n)
    brackets = []
    for step, (first, second, distance, _) in enumerate(np.asarray(linkage, float)):
        a, b = int(first), int(second)
        place[n + step], height[n + step] = (place[a] + place[b]) / 2, distance
        numbers = (height[a], height[b], place[a], place[b], distance)
        left, right, low, high, top = (float(f"{value:.5g}") for value in numbers)
        brackets.append((left, right, low, high, top))
    return brackets


def walkthrough(result: Similarity) -> Widget:
    """The steps from the raw heatmap to a readable one; then common beliefs, unless a step shows them."""
    folklore = () if {step.key for step in result.steps} >= _FOLKLORE_STEPS else _FOLKLORE
    rows = sorted({int(row) for step in result.steps if step.rows is not None for row in step.rows})
    cosines = [step.heatmap for step in result.steps if step.heatmap is not None and step.key != "background"]
    lows, highs = zip(*(_range(grid, 0.005) for grid in cosines), strict=True) if cosines else ((0.0,), (1.0,))
    limits = min(lows), max(highs)  # one scale for the cosines of all steps
    steps, figures, otherwise = [], [], list[Block]()
    for place, step in enumerate(result.steps, 1):
        numbers = [
            (_NUMBER_NAMES.get(key, key.replace("_", " ")), number_text(value, _number_text))
            for key, value in step.numbers.items()
        ]
        blocks: list[Block] = [Sentences([step.text])]
        blocks += [Sentences([", ".join(f"{name} {value}" for name, value in numbers) + "."])] if numbers else []
        if step.heatmap is not None:
            grid = _step_grid(place, step, step.heatmap, limits)
            figures.append(grid.figure(grid.name, rows))
            blocks.append(grid.chart())
        steps.append({"place": place, "step": step, "numbers": numbers, "has_figure": step.heatmap is not None})
        otherwise.append(Fold(f"{place}. {step.title}", blocks))
    if folklore:
        otherwise.append(Sentences([f"{claim} {fact}" for claim, fact in folklore], bulleted=True))
    data = {"steps": steps, "store": {**_texts(result, rows), "figures": figures}, "folklore": folklore}
    return Widget("widgets/walk.html", data, otherwise, **_SCRIPTS)


def _step_grid(place: int, step: Step, values: Matrix, limits: tuple[float, float]) -> _Grid:
    name, rows = f"why-{place}", None if step.rows is None else np.asarray(step.rows)
    kind = "cosine"
    if step.key == "background":  # differences from the mean of unrelated pairs, around zero
        kind, reach = "difference", max(map(abs, _range(values, 0.0025)))
        limits = -reach, reach
    return _Grid(name, step.title, f"{len(values)} by {len(values)} texts.", kind, name, values, limits, rows)


def _number_text(value: float) -> str:
    """A number of any size: cosines with three digits, counts without."""
    if float(value).is_integer() and abs(value) >= 2:
        return f"{value:,.0f}"
    return cosine(float(value), 3) if abs(value) < 2 else plain(float(value))
