"""Colors of a map: what each point is colored by, on the page and on paper, and how many points have each color."""

from __future__ import annotations

from typing import Any

import numpy as np

from uncone.analysis.projections.results import Colouring, Panel
from uncone.analysis.projections.word_list import WordList
from uncone.data.batch import IntVector, Vector
from uncone.report.charts.model import Coloring
from uncone.report.results.map import Map

__all__ = ["colorings", "counts_of", "extent", "marks", "shown_colors", "summary_of"]


def colorings(result: Map) -> list[list[Coloring]]:
    """For each picture, the colorings of all points of the map; those that do not differ by picture are shared."""
    shared = {
        place: _coloring(result, one, result.panels[0])
        for place, one in enumerate(result.colourings)
        if not (one.by_panel or one.values_by_panel)
    }
    return [
        [shared.get(place) or _coloring(result, one, panel) for place, one in enumerate(result.colourings)]
        for panel in result.panels
    ]


def _coloring(result: Map, colouring: Colouring, panel: Panel) -> Coloring:
    if colouring.values is not None:
        return Coloring(colouring.title, values=_values(colouring, panel))
    codes = _codes(colouring, panel)
    unknown = int((codes < 0).sum())
    rest = "unknown" if not colouring.other else "other" if colouring.other >= unknown else "other or unknown"
    if colouring.name == "words":
        rest = "none of them"
    return Coloring(colouring.title, codes, [str(name) for name in colouring.names], rest=rest)


def _codes(colouring: Colouring, panel: Panel) -> IntVector:
    """The category of every point of the map on this picture, -1 if it is unknown."""
    held = colouring.by_panel.get(panel.name, colouring.members)
    return np.full(int(panel.places.max(initial=-1)) + 1, -1) if held is None else np.asarray(held, np.int64)


def _values(colouring: Colouring, panel: Panel) -> Vector:
    return np.asarray(colouring.values_by_panel.get(panel.name, colouring.values), np.float64)


def shown_colors(colouring: Colouring, panel: Panel) -> Vector | list[str | None]:
    """The number or the name of the category of every point of a picture."""
    if colouring.values is not None:
        return _values(colouring, panel)[panel.places]
    names = dict(enumerate(map(str, colouring.names)))
    return [names.get(code) for code in _codes(colouring, panel)[panel.places].tolist()]


def counts_of(result: Map, colouring: Colouring) -> list[list[int]]:
    """How many points each category has, and the unknown ones last: once, or for each picture if that differs."""
    k = len(colouring.names)
    every = [_codes(colouring, panel)[panel.places] for panel in result.panels if colouring.by_panel]
    every = every or [_codes(colouring, result.panels[0])]
    bounded = [np.where((codes >= 0) & (codes < k), codes, k) for codes in every]
    return [np.bincount(codes, minlength=k + 1).tolist() for codes in bounded]


def extent(colouring: Colouring) -> tuple[float, float, int, int]:
    """The smallest and the largest number on all pictures, and how many are known and unknown."""
    every = [*colouring.values_by_panel.values()] or [np.asarray(colouring.values, np.float64)]
    values = np.concatenate(every)
    known = values[np.isfinite(values)]
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    return low, high, len(known), len(values) - len(known)


def summary_of(result: Map, colouring: Colouring) -> dict[str, Any]:
    """A colouring without its points: how many of each category, or the range of its numbers."""
    made: dict[str, Any] = {"name": colouring.name, "title": colouring.title}
    if colouring.values is not None:
        low, high, known, unknown = extent(colouring)
        ends = {"low": low, "high": high} if known else {"low": None, "high": None}
        return {**made, "kind": "numbers", **ends, "known": known, "unknown": unknown}
    if colouring.by_panel:
        by_panel = {one.name: _tally(_codes(colouring, one)[one.places], colouring) for one in result.panels}
        return {**made, "kind": "names", "by_panel": by_panel}
    codes = np.asarray(colouring.members if colouring.members is not None else [], np.int64)
    return {**made, "kind": "names", "counts": _tally(codes, colouring), "other": colouring.other,
            "unknown": int((codes < 0).sum()) - colouring.other}  # fmt: skip


def _tally(codes: IntVector, colouring: Colouring) -> dict[str, int]:
    counts = np.bincount(codes[codes >= 0], minlength=len(colouring.names)).tolist()
    return {str(name): n for name, n in zip(colouring.names, counts, strict=False)}


def marks(result: Map) -> IntVector:
    """Which word of the list each point is or contains, -1 for none."""
    listed = next((one for one in result.colourings if one.name == "words"), None)
    if listed is not None and listed.members is not None and tuple(listed.names) == tuple(result.highlight):
        return np.asarray(listed.members, np.int64)
    n = len(result.places)
    if result.texts is None or not len(result.highlight):
        return np.full(n, -1, np.int64)
    # The same words come up again and again: each is looked up once.
    shown = [result.text(point) for point in range(n)]
    once = list(dict.fromkeys(shown))
    found = dict(zip(once, WordList(result.highlight).firsts(once, len(once)).tolist(), strict=True))
    return np.array([found[text] for text in shown], np.int64)
