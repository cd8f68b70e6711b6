"""Point clouds: their colors, and what the page's painter (templates/cloud.js) takes of them."""

from __future__ import annotations

import base64
import colorsys
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from uncone.analysis.number_format import clipped, count
from uncone.data.batch import IntVector, Matrix, Vector
from uncone.report.charts.model import CATEGORICAL, Cloud, CloudView, Coloring
from uncone.report.charts.theme import GRAY
from uncone.report.text import printable

__all__ = ["MOST_LEGEND", "category_colors", "fragment", "store", "value_range", "view_of"]

Packed = dict[str, Any]

MOST_LEGEND = 21
_SHADES = (1.0, 0.62, 1.45)
"""How light the same hues are when there are more categories than hues."""
_REACH, _NARROW = 160, 40
"""Letters before and behind the words of a text that the page has, and how many where texts are long."""
_MOST_LETTERS = 6_000_000
_LONGEST, _SHORTEST = 400, 60
"""Letters of a whole text on the page, and of the many texts of a large cloud."""
_WIDE = 4.0
"""How far, in views, points may lie for two bytes each to place them finely enough."""
_STEPS = 65_534
"""Numbers of two bytes below the one that means unknown."""


def category_colors(n: int) -> list[str]:
    """One for each category: the palette first, then darker and lighter ones of it, then gray.

    >>> category_colors(2), len(set(category_colors(21)))
    (['#0072B2', '#E69F00'], 21)
    """
    made = [_shaded(hue, light) for light in _SHADES for hue in (*CATEGORICAL, "#F0E442")]
    return [*made[:n], *[GRAY] * max(0, n - len(made))]


def _shaded(color: str, light: float) -> str:
    if light == 1.0:
        return color
    red, green, blue = (int(color[at : at + 2], 16) / 255 for at in (1, 3, 5))
    hue, lightness, depth = colorsys.rgb_to_hls(red, green, blue)
    parts = colorsys.hls_to_rgb(hue, min(lightness * light, 0.84), depth)
    return "#" + "".join(f"{round(255 * one):02X}" for one in parts)


def value_range(*colorings: Coloring) -> tuple[float, float]:
    """What the colors span in all pictures, in log10 for a logarithmic scale; a few extremes do not take them all."""
    values = np.concatenate([_values(coloring) for coloring in colorings])
    known = values[np.isfinite(values)]
    if not len(known):
        return 0.0, 1.0
    low, high = (float(end) for end in np.quantile(known, (0.01, 0.99) if len(known) >= 100 else (0.0, 1.0)))
    if low >= high:
        low, high = float(known.min()), float(known.max())
    return low, high if high > low else low + 1.0


def _values(coloring: Coloring) -> Vector:
    values = np.asarray(coloring.values, np.float64)
    if not coloring.log:
        return values
    return np.log10(values, out=np.full(len(values), np.nan), where=values > 0)


def fragment(cloud: Cloud, *others: Cloud, find: bool = False) -> dict[str, Any]:
    """What the template `cloud.html` takes: the figures, their controls and the points.

    `others` are further figures of the same rows: texts and colors are those of the first cloud, whose points are
    ringed in all of them. `find` adds a field that looks for words, and a line on how to use the pictures.
    """
    clouds = (cloud, *others)
    return {
        "figures": [
            {
                "id": one.name,
                "title": one.title,
                "alt": " ".join(filter(None, (one.caption, _outside(one)))),
                "views": [view.label for view in one.views],
            }
            for one in clouds
        ],
        "space": cloud.dims == 3,
        "wide": cloud.wide or len(clouds) > 1,
        "colorings": [one.title for one in cloud.colorings],
        "find": find and bool(cloud.texts),
        "hint": find,
        "store": _json(store(*clouds)),
    }


def _outside(cloud: Cloud) -> str:
    n = view_of(cloud.views[0].points)[2]
    return f"{count(n, 'point')} {'lies' if n == 1 else 'lie'} outside at first: zoom out." if n else ""


def store(cloud: Cloud, *others: Cloud) -> dict[str, Any]:
    """Everything that the page draws and shows of the points, as JSON values; numbers are packed."""
    clouds = (cloud, *others)
    n = max(len(cloud.texts), *(int(_rows(view).max(initial=-1)) + 1 for one in clouds for view in one.views))
    return {
        "n": n,
        "dims": cloud.dims,
        "axes": [printable(axis) for axis in cloud.axes],
        "rows": None if cloud.source_rows is None else _whole(cloud.source_rows),
        "figures": [[_view(view, n) for view in one.views] for one in clouds],
        "colorings": [_coloring([one.colorings[k] for one in clouds if k < len(one.colorings)])
                      for k in range(len(cloud.colorings))],
        "texts": _texts(cloud.texts, cloud.spans) if cloud.texts else None,
        "words": [clipped(printable(word), 40) for word in cloud.marked],
        "marks": None if cloud.marks is None or not (cloud.marks >= 0).any() else _whole(cloud.marks, unknown=True),
    }  # fmt: skip


def view_of(points: Matrix) -> tuple[Vector, Vector, int]:
    """What is seen at first, by its middle and half its sides, and how many points lie outside.

    That is all points; where a few lie more than three times as far out as all others, all others.
    """
    if not len(points):
        return np.zeros(points.shape[1]), np.ones(points.shape[1]), 0
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
    return middle, np.maximum(sides, 0.02 * longest) if longest else np.ones_like(sides), outside


def _rows(view: CloudView) -> IntVector:
    return np.arange(len(view.points)) if view.rows is None else np.asarray(view.rows, np.int64)


def _view(view: CloudView, n: int) -> dict[str, Any]:
    middle, sides, _ = view_of(view.points)
    half = float(sides.max(initial=0.0)) or 1.0
    everything = view.rows is None and len(view.points) == n
    return {
        "n": len(view.points),
        "points": _coordinates((np.asarray(view.points, np.float64) - middle) / half),
        "places": None if everything else _whole(_rows(view)),
        "sides": [round(float(side) / half, 5) for side in sides],
        "path": None
        if view.path is None or len(view.path) < 2
        else {**_coordinates((np.asarray(view.path, np.float64) - middle) / half), "n": len(view.path)},
        "stamp": view.stamp,
    }


def _coordinates(placed: Matrix) -> Packed:
    reach = float(np.abs(placed).max(initial=1.0))
    if reach <= _WIDE:
        return {**_coded(np.rint((placed / reach + 1) * 32_767.5).astype("<u2"), "u2"), "reach": reach}
    return _coded(placed.astype("<f4"), "f4")


def _coloring(own: Sequence[Coloring]) -> dict[str, Any]:
    """A coloring of all figures; where figures have different ones, the codes of each."""
    first = own[0]
    differ = list(own) if any(one is not first for one in own) else [first]
    made: dict[str, Any] = {"title": printable(first.title), "log": first.log}
    if first.values is not None:
        values = np.concatenate([_values(one) for one in differ])
        known = values[np.isfinite(values)]
        least, most = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
        low, high = value_range(*differ)
        whole = most - least <= _STEPS and bool((known == np.rint(known)).all())
        step = 1.0 if whole or most == least else (most - least) / _STEPS
        codes = [_whole(np.where(np.isfinite(one), np.rint((np.nan_to_num(one) - least) / step), -1), unknown=True)
                 for one in map(_values, differ)]  # fmt: skip
        ends = {"low": low, "high": high, "least": least, "most": most, "step": step}
        return {**made, **ends, "unknown": 0 if len(differ) > 1 else len(values) - len(known), "codes": codes}
    k = len(first.names)
    members = [_bounded(np.asarray(one.codes, np.int64), k) for one in differ]
    known = members[0][members[0] >= 0]
    counts = [*np.bincount(known, minlength=k).tolist(), len(members[0]) - len(known)] if len(differ) == 1 else None
    names = [clipped(printable(name) or "without a name", 40) for name in first.names]
    return {
        **made,
        "names": [*names, first.rest],
        "colors": [*category_colors(k), GRAY],
        "counts": counts,
        "codes": [_whole(one, unknown=True) for one in members],
    }


def _bounded(codes: IntVector, k: int) -> IntVector:
    return np.where((codes >= 0) & (codes < k), codes, -1)


def _whole(values: NDArray[Any], *, unknown: bool = False) -> Packed:
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


def _texts(texts: Sequence[str], spans: NDArray[Any] | None) -> dict[str, Any]:
    """The texts that points stand in, each once, without what is far from all of its words."""
    once = dict.fromkeys(texts)
    places = {text: place for place, text in enumerate(once)}
    sentence = np.array([places[text] for text in texts], np.int64)
    held = list(once)
    letters = sum(map(len, held))
    if spans is None:
        most = _LONGEST if letters <= _MOST_LETTERS else max(_SHORTEST, _MOST_LETTERS // len(held))
        return {"sentences": [clipped(text, most) for text in held], "sentence": _whole(sentence), "starts": None}
    starts, ends = np.asarray(spans[:, 0], np.int64), np.asarray(spans[:, 1], np.int64)
    reach = _REACH if letters <= _MOST_LETTERS else _NARROW
    first, last = np.full(len(held), np.iinfo(np.int64).max), np.zeros(len(held), np.int64)
    np.minimum.at(first, sentence, starts)
    np.maximum.at(last, sentence, ends)
    kept, shift = _cut(held, np.maximum(first - reach, 0), last + reach)
    begins, stops = (_as_utf16(kept, sentence, at - shift[sentence]) for at in (starts, ends))
    lengths = _whole(stops - begins)
    return {"sentences": kept, "sentence": _whole(sentence), "starts": _whole(begins), "lengths": lengths}


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
    wide = np.array([not text.isascii() and max(map(ord, text)) > 0xFFFF for text in sentences], bool)
    for at in np.flatnonzero(wide[sentence]).tolist():
        text = sentences[int(sentence[at])]
        made[at] += sum(ord(letter) > 0xFFFF for letter in text[: int(places[at])])
    return made


def _json(value: dict[str, Any]) -> Markup:
    """JSON that no text in it can end; letters of other scripts stay letters, which is a third of the size."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    text = text.encode("utf-8", errors="replace").decode("utf-8")  # half a surrogate pair has no bytes
    for letter in "<>&":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return Markup(text)
