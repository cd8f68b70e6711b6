"""The points of a map as its page holds them: numbers packed, every sentence once, an offset for each point."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uncone.data.batch import IntVector, Matrix, Vector
from uncone.diagnosis.words import clipped
from uncone.maps.results import Colouring, Panel, Texts
from uncone.report.mapped import Map
from uncone.report.mapped_lines import AXES, stamp
from uncone.report.mapped_palette import Scale, marks, members_on, scale_of, shades_of, values_of, values_on
from uncone.report.text import printable

__all__ = ["View", "store", "view_of"]

Packed = dict[str, Any]

_REACH, _NARROW = 160, 40
"""Letters before and behind the points of a sentence that are kept, and how many of long texts."""
_MOST_LETTERS = 6_000_000
_LONGEST, _SHORTEST = 400, 60
"""Letters of a whole text on the page, and of the many texts of a large map."""
_WIDE = 4.0
"""How far, in views, points may lie for two bytes each to place them finely enough."""
_STEPS = 65_534
"""Numbers of two bytes below the one that means unknown."""


@dataclass(frozen=True)
class View:
    """The part of a picture that is seen at first: its middle, half its sides, and how many points lie outside."""

    middle: Vector
    sides: Vector
    outside: int

    @property
    def half(self) -> float:
        """Half the longest side."""
        return float(self.sides.max(initial=0.0)) or 1.0


def view_of(points: Matrix) -> View:
    """All points; where a few lie more than three times as far out as all others, all others."""
    if not len(points):
        return View(np.zeros(points.shape[1]), np.ones(points.shape[1]), 0)
    held = np.asarray(points, np.float64)
    low, high = held.min(axis=0), held.max(axis=0)
    inner_low, inner_high = np.quantile(held, (0.005, 0.995), axis=0)
    core = float((inner_high - inner_low).max())
    if len(held) >= 200 and core > 0 and float((high - low).max()) > 3 * core:
        room = 0.2 * core
        low, high = np.maximum(low, inner_low - room), np.minimum(high, inner_high + room)
    middle, sides = (low + high) / 2, (high - low) / 2
    outside = int(((held < low - 1e-12) | (held > high + 1e-12)).any(axis=1).sum())
    longest = float(sides.max(initial=0.0))
    return View(middle, np.maximum(sides, 0.02 * longest) if longest else np.ones_like(sides), outside)


def store(result: Map) -> dict[str, Any]:
    """Everything that the page draws and shows of its points, as JSON values."""
    members = marks(result)
    return {
        "n": len(result.places),
        "dims": result.dims,
        "axes": [f"{AXES[result.method]} {k}" for k in range(1, result.dims + 1)] if result.method in AXES else [],
        "rows": _whole(result.places),
        "panels": [_panel(result, panel) for panel in result.panels],
        "colourings": [_colouring(result, one) for one in result.colourings],
        "texts": None if result.texts is None else _texts(result.texts),
        "words": [clipped(printable(word), 40) for word in result.highlight],
        "marks": _whole(members, unknown=True) if (members >= 0).any() else None,
    }


def _panel(result: Map, panel: Panel) -> dict[str, Any]:
    view = view_of(panel.points)
    placed = (np.asarray(panel.points, np.float64) - view.middle) / view.half
    reach = float(np.abs(placed).max(initial=1.0))
    everything = len(panel.places) == len(result.places) and bool((panel.places == np.arange(len(panel.places))).all())
    if reach <= _WIDE:
        points: Packed = {**_coded(np.rint((placed / reach + 1) * 32_767.5).astype("<u2"), "u2"), "reach": reach}
    else:
        points = _coded(placed.astype("<f4"), "f4")
    return {
        "name": printable(panel.name),
        "n": len(panel.points),
        "points": points,
        "places": None if everything else _whole(panel.places),
        "sides": [round(float(one) / view.half, 5) for one in view.sides],
        "stamp": stamp(result, panel),
    }


def _colouring(result: Map, colouring: Colouring) -> dict[str, Any]:
    made: dict[str, Any] = {"title": printable(colouring.title)}
    if colouring.values is not None:
        scale = scale_of(values_of(colouring))
        ends = {"low": scale.low, "high": scale.high, "least": scale.least, "most": scale.most}
        step, whole = _step(values_of(colouring), scale)
        by_panel = {
            str(place): _numbers(values_on(colouring, panel), scale, step)
            for place, panel in enumerate(result.panels)
            if colouring.values_by_panel
        }
        held = None if by_panel else _numbers(np.asarray(colouring.values, np.float64), scale, step)
        unknown = 0 if by_panel else scale.unknown
        return {**made, **ends, "step": step, "whole": whole, "unknown": unknown, "values": held, "by_panel": by_panel}
    shades = shades_of(result, colouring)
    k = len(colouring.names)
    own = {} if not colouring.by_panel else {
        str(place): _whole(_bounded(members_on(colouring, panel), k), unknown=True)
        for place, panel in enumerate(result.panels)
    }  # fmt: skip
    members = None if colouring.members is None or own else _bounded(np.asarray(colouring.members, np.int64), k)
    return {
        **made,
        "names": shades.names,
        "colours": shades.colours,
        "counts": shades.counts,
        "members": None if members is None else _whole(members, unknown=True),
        "by_panel": own,
    }


def _bounded(members: IntVector, k: int) -> IntVector:
    return np.where((members >= 0) & (members < k), members, -1)


def _step(values: Vector, scale: Scale) -> tuple[float, bool]:
    """Whole numbers are counted one by one, others in small parts of their range; and whether they are whole."""
    known = values[np.isfinite(values)]
    span = scale.most - scale.least
    whole = span <= _STEPS and bool((known == np.rint(known)).all())
    return (1.0 if whole or span == 0 else span / _STEPS), whole


def _numbers(values: Vector, scale: Scale, step: float) -> Packed:
    """Numbers in steps from the least; 65,535 is unknown."""
    codes = np.full(len(values), _STEPS + 1, np.uint16)
    known = np.isfinite(values)
    codes[known] = np.rint((values[known] - scale.least) / step).astype(np.uint16)
    return _coded(codes.astype("<u2"), "u2")


def _whole(values: IntVector, *, unknown: bool = False) -> Packed:
    """Whole numbers from 0 in as few bytes as they need; the largest number of that many bytes is unknown (-1)."""
    held = np.asarray(values, np.int64)
    most = int(held.max(initial=0)) + (1 if unknown else 0)
    for kind, dtype in (("u1", "<u1"), ("u2", "<u2"), ("u4", "<u4")):
        limit = np.iinfo(np.dtype(dtype)).max
        if most <= limit:
            return _coded(np.where(held < 0, limit, held).astype(dtype), kind)
    return _coded(held.astype("<f8"), "f8")


def _coded(values: NDArray[Any], kind: str) -> Packed:
    return {"dtype": kind, "bdata": base64.b64encode(np.ascontiguousarray(values).tobytes()).decode("ascii")}


def _texts(texts: Texts) -> dict[str, Any]:
    """The sentences that points stand in, each once, without what is far from all of its points."""
    used, sentence = np.unique(np.asarray(texts.sentence, np.int64), return_inverse=True)
    held = [texts.sentences[int(one)] for one in used]
    if texts.starts is None or texts.ends is None:
        most = _LONGEST if sum(map(len, held)) <= _MOST_LETTERS else max(_SHORTEST, _MOST_LETTERS // len(held))
        return {"sentences": [clipped(text, most) for text in held], "sentence": _whole(sentence), "starts": None}
    starts, ends = np.asarray(texts.starts, np.int64), np.asarray(texts.ends, np.int64)
    reach = _REACH if sum(map(len, held)) <= _MOST_LETTERS else _NARROW
    first, last = np.full(len(used), np.iinfo(np.int64).max), np.zeros(len(used), np.int64)
    np.minimum.at(first, sentence, starts)
    np.maximum.at(last, sentence, ends)
    first = np.maximum(first - reach, 0)
    kept, shift = _cut(held, first, last + reach)
    starts, ends = starts - shift[sentence], ends - shift[sentence]
    begins, stops = _as_utf16(kept, sentence, starts), _as_utf16(kept, sentence, ends)
    return {
        "sentences": kept,
        "sentence": _whole(sentence),
        "starts": _whole(begins),
        "lengths": _whole(stops - begins),
    }


def _cut(sentences: Sequence[str], first: IntVector, last: IntVector) -> tuple[list[str], IntVector]:
    """The parts between two letters, and how far each begins behind its first letter; a mark where something lacks."""
    kept, shift = [], np.zeros(len(sentences), np.int64)
    for at, (text, start, end) in enumerate(zip(sentences, first.tolist(), last.tolist(), strict=True)):
        opened = "…" if start else ""
        kept.append(f"{opened}{text[start:end]}{'…' if end < len(text) else ''}")
        shift[at] = start - len(opened)
    return kept, shift


def _as_utf16(sentences: Sequence[str], sentence: IntVector, places: IntVector) -> IntVector:
    """Places as a page counts them: a letter beyond the first 65,536 counts twice."""
    made = places.copy()
    wide = np.array([any(ord(letter) > 0xFFFF for letter in text) if not text.isascii() else False
                     for text in sentences], bool)  # fmt: skip
    for at in np.flatnonzero(wide[sentence]).tolist():
        text = sentences[int(sentence[at])]
        made[at] += sum(ord(letter) > 0xFFFF for letter in text[: int(places[at])])
    return made
