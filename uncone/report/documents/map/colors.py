"""Colors of a map: the color of each point, on the page and on paper, and the number of points with each color."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from uncone.analysis.projections.results import Coloring, Panel
from uncone.analysis.projections.word_list import WordList
from uncone.data.batch import IntVector, Vector
from uncone.report.charts.model import Coloring as CloudColoring

if TYPE_CHECKING:
    from uncone.report.documents.map import Map

__all__ = ["counts_of", "extent", "marked_words", "panel_colorings", "shown_colors", "summary_of"]


def panel_colorings(result: Map) -> list[list[CloudColoring]]:
    """For each picture, the colorings of all points of the map; those that do not differ by picture are shared."""
    shared = {
        each.name: _coloring(each, result.panels[0])
        for each in result.colorings
        if not (each.by_panel or each.values_by_panel)
    }
    return [[shared.get(each.name) or _coloring(each, panel) for each in result.colorings] for panel in result.panels]


def _coloring(coloring: Coloring, panel: Panel) -> CloudColoring:
    if coloring.values is not None:
        return CloudColoring(coloring.title, values=_values(coloring, panel))
    codes = _codes(coloring, panel)
    unknown = int((codes < 0).sum())
    rest = "unknown" if not coloring.other else "other" if coloring.other >= unknown else "other or unknown"
    rest = "none of them" if coloring.name == "words" else rest
    return CloudColoring(coloring.title, codes, [str(name) for name in coloring.names], rest=rest)


def _codes(coloring: Coloring, panel: Panel) -> IntVector:
    """The category of every point of the map in this picture, -1 if it is unknown."""
    members = coloring.by_panel.get(panel.name, coloring.members)
    return np.full(int(panel.places.max(initial=-1)) + 1, -1) if members is None else np.asarray(members, np.int64)


def _values(coloring: Coloring, panel: Panel) -> Vector:
    return np.asarray(coloring.values_by_panel.get(panel.name, coloring.values), np.float64)


def shown_colors(coloring: Coloring, panel: Panel) -> Vector | list[str | None]:
    """The number or the category of every point of a picture."""
    if coloring.values is not None:
        return _values(coloring, panel)[panel.places]
    names = dict(enumerate(map(str, coloring.names)))
    return [names.get(code) for code in _codes(coloring, panel)[panel.places].tolist()]


def counts_of(result: Map, coloring: Coloring) -> list[list[int]]:
    """The points of each category, and the unknown ones last: once, or for each picture if that differs."""
    k = len(coloring.names)
    every = [_codes(coloring, panel)[panel.places] for panel in result.panels if coloring.by_panel]
    every = every or [_codes(coloring, result.panels[0])]
    return [np.bincount(np.where((codes >= 0) & (codes < k), codes, k), minlength=k + 1).tolist() for codes in every]


def extent(coloring: Coloring) -> tuple[float, float, int, int]:
    """The smallest and the largest number in all pictures, and the number of known and unknown values."""
    values = np.concatenate([*coloring.values_by_panel.values()] or [np.asarray(coloring.values, np.float64)])
    known = values[np.isfinite(values)]
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    return low, high, len(known), len(values) - len(known)


def summary_of(result: Map, coloring: Coloring) -> dict[str, Any]:
    """A coloring without its points: the points of each category, or the range of its numbers."""
    head: dict[str, Any] = {"name": coloring.name, "title": coloring.title}
    if coloring.values is not None:
        low, high, known, unknown = extent(coloring)
        ends = {"low": low, "high": high} if known else {"low": None, "high": None}
        return {**head, "kind": "numbers", **ends, "known": known, "unknown": unknown}
    names = [str(name) for name in coloring.names]
    tallies = [dict(zip(names, counts, strict=False)) for counts in counts_of(result, coloring)]
    if coloring.by_panel:
        panels = [panel.name for panel in result.panels]
        return {**head, "kind": "names", "by_panel": dict(zip(panels, tallies, strict=True))}
    unknown = 0 if coloring.members is None else int((np.asarray(coloring.members) < 0).sum())
    return {**head, "kind": "names", "counts": tallies[0], "other": coloring.other,
            "unknown": unknown - coloring.other}  # fmt: skip


def marked_words(result: Map) -> IntVector:
    """The word of the list that each point is or contains, -1 for none."""
    listed = next((coloring for coloring in result.colorings if coloring.name == "words"), None)
    if listed is not None and listed.members is not None and tuple(listed.names) == tuple(result.highlight):
        return np.asarray(listed.members, np.int64)
    n = len(result.places)
    if result.texts is None or not len(result.highlight):
        return np.full(n, -1, np.int64)
    shown = [result.text(point) for point in range(n)]
    distinct = list(dict.fromkeys(shown))
    words = dict(zip(distinct, WordList(result.highlight).firsts(distinct, len(distinct)).tolist(), strict=True))
    return np.array([words[text] for text in shown], np.int64)
