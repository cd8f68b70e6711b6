"""Point clouds: their colors, and the data of the page's painter (templates/cloud.js)."""

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
from uncone.report.charts.model import Cloud, CloudView, Coloring
from uncone.report.charts.theme import CATEGORICAL, GRAY
from uncone.report.text import printable

__all__ = ["MOST_LEGEND", "category_colors", "fragment", "frame_of", "store", "value_range", "view_of"]

Packed = dict[str, Any]

MOST_LEGEND = 21
_SHADES = (1.0, 0.62, 1.45)
"""Lightness of the same hues, for more categories than hues."""
_REACH, _NARROW = 160, 40
"""Letters before and behind the words of a text that the page has, and how many where texts are long."""
_MOST_LETTERS = 6_000_000
_LONGEST, _SHORTEST = 400, 60
"""Letters of a whole text on the page, and of the many texts of a large cloud."""
_WIDE = 4.0
"""The distance, in views, up to which two bytes per coordinate place a point finely enough."""
_STEPS = 65_534
"""Numbers of two bytes below the one that means unknown."""


def category_colors(n: int) -> list[str]:
    """One color for each category: the palette first, then darker and lighter ones of it, then gray.

    >>> category_colors(2), len(set(category_colors(21)))
    (['#0072B2', '#E69F00'], 21)
    """
    shades = [_shaded(hue, light) for light in _SHADES for hue in (*CATEGORICAL, "#F0E442")]
    return [*shades[:n], *[GRAY] * max(0, n - len(shades))]


def _shaded(color: str, light: float) -> str:
    if light == 1.0:
        return color
    red, green, blue = (int(color[at : at + 2], 16) / 255 for at in (1, 3, 5))
    hue, lightness, depth = colorsys.rgb_to_hls(red, green, blue)
    parts = colorsys.hls_to_rgb(hue, min(lightness * light, 0.84), depth)
    return "#" + "".join(f"{round(255 * part):02X}" for part in parts)


def value_range(*colorings: Coloring) -> tuple[float, float]:
    """The range of the color scale in all pictures; a few extremes do not use it up."""
    values = np.concatenate([np.asarray(coloring.values, np.float64)[coloring.has_value] for coloring in colorings])
    if not len(values):
        return 0.0, 1.0
    low, high = (float(end) for end in np.quantile(values, (0.01, 0.99) if len(values) >= 100 else (0.0, 1.0)))
    if low >= high:
        low, high = float(values.min()), float(values.max())
    return low, high if high > low else low + 1.0


def fragment(cloud: Cloud, *others: Cloud, find: bool = False) -> dict[str, Any]:
    """The data of the template `cloud.html`: the figures, their controls and the points.

    `others` are further figures of the same rows: texts and colors are those of the first cloud, whose points are
    ringed in all of them. `find` adds a field that looks for words, and a line on how to use the pictures.
    """
    clouds, figures = (cloud, *others), []
    for each in clouds:
        n = frame_of(each.views[0])[2]
        outside = f"{count(n, 'point')} {'lies' if n == 1 else 'lie'} outside at first: zoom out." if n else ""
        alt, views = " ".join(filter(None, (each.caption, outside))), [view.label for view in each.views]
        figures.append({"id": each.name, "title": each.title, "alt": alt, "views": views})
    return {
        "figures": figures,
        "space": cloud.dims == 3,
        "wide": cloud.wide or len(clouds) > 1,
        "colorings": [coloring.title for coloring in cloud.colorings],
        "find": find and bool(cloud.texts),
        "hint": find,
        "store": _json(store(*clouds)),
    }


def store(cloud: Cloud, *others: Cloud) -> dict[str, Any]:
    """Everything that the page draws and shows of the points, as JSON values; numbers are packed."""
    clouds = (cloud, *others)
    n = max(len(cloud.texts), *(int(view.indices.max(initial=-1)) + 1 for each in clouds for view in each.views))
    places = range(len(cloud.colorings))
    colorings = [[each.colorings[place] for each in clouds if place < len(each.colorings)] for place in places]
    marked = cloud.marks is not None and (cloud.marks >= 0).any()
    return {
        "n": n,
        "dims": cloud.dims,
        "axes": [printable(axis) for axis in cloud.axes],
        "rows": None if cloud.source_rows is None else _whole(cloud.source_rows),
        "figures": [[_view(view, n) for view in each.views] for each in clouds],
        "colorings": [*map(_coloring, colorings)],
        "texts": _texts(cloud.texts, cloud.spans) if cloud.texts else None,
        "words": [clipped(printable(word), 40) for word in cloud.marked],
        "marks": _whole(cloud.marks, unknown=True) if cloud.marks is not None and marked else None,
    }


def view_of(points: Matrix) -> tuple[Vector, Vector, int]:
    """The first view of a cloud: its middle, half its sides, and the number of points outside.

    It shows all points; if a few lie more than three times as far out as all others, it shows the others.
    """
    if not len(points):
        return np.zeros(points.shape[1]), np.ones(points.shape[1]), 0
    places = np.asarray(points, np.float64)
    low, high = places.min(axis=0), places.max(axis=0)
    inner_low, inner_high = np.quantile(places, (0.005, 0.995), axis=0)
    core = float((inner_high - inner_low).max())
    if len(places) >= 200 and core > 0 and float((high - low).max()) > 3 * core:
        room = 0.2 * core
        low, high = np.maximum(low, inner_low - room), np.minimum(high, inner_high + room)
    middle, sides = (low + high) / 2, (high - low) / 2
    outside = int(((places < low - 1e-12) | (places > high + 1e-12)).any(axis=1).sum())
    longest = float(sides.max(initial=0.0))
    return middle, np.maximum(sides, 0.02 * longest) if longest else np.ones_like(sides), outside


def frame_of(view: CloudView) -> tuple[Vector, Vector, int]:
    """The first view of a picture, its own or the one that it shares; and the number of points outside."""
    if view.frame is None:
        return view_of(view.points)
    middle, sides = view.frame
    return middle, sides, int((np.abs(view.points - middle) > sides + 1e-12).any(axis=1).sum())


def _view(view: CloudView, n: int) -> dict[str, Any]:
    middle, sides, _ = frame_of(view)
    half = float(sides.max(initial=0.0)) or 1.0

    def packed(places: Matrix) -> Packed:
        scaled = (np.asarray(places, np.float64) - middle) / half
        reach = float(np.abs(scaled).max(initial=1.0))
        if reach > _WIDE:
            return _coded(scaled.astype("<f4"), "f4")
        return {**_coded(np.rint((scaled / reach + 1) * 32_767.5).astype("<u2"), "u2"), "reach": reach}

    everything = view.rows is None and len(view.points) == n
    has_path = view.path is not None and len(view.path) > 1
    return {
        "n": len(view.points),
        "points": packed(view.points),
        "places": None if everything else _whole(view.indices),
        "sides": [round(float(side) / half, 5) for side in sides],
        "path": {**packed(view.path), "n": len(view.path)} if view.path is not None and has_path else None,
        "stamp": view.stamp,
    }


def _coloring(by_figure: Sequence[Coloring]) -> dict[str, Any]:
    """A coloring of all figures; where figures have different ones, the codes of each."""
    first = by_figure[0]
    shared = all(coloring is first for coloring in by_figure)
    colorings = [first] if shared else by_figure
    title = {"title": printable(first.title)}
    if first.values is not None:
        return title | _scale(colorings)
    codes = [np.where(coloring.has_value, np.asarray(coloring.codes, np.int64), -1) for coloring in colorings]
    return {
        **title,
        "names": [*(clipped(name, 40) for name in first.shown_names), first.rest],
        "colors": [*category_colors(len(first.names)), GRAY],
        "counts": first.counts if shared else None,
        "codes": [_whole(each, unknown=True) for each in codes],
    }


def _scale(colorings: Sequence[Coloring]) -> dict[str, Any]:
    """Numbers as steps of a scale that all figures share."""
    columns = [np.asarray(coloring.values, np.float64) for coloring in colorings]
    values = np.concatenate(columns)
    finite = values[np.isfinite(values)]
    least, most = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    low, high = value_range(*colorings)
    whole = most - least <= _STEPS and bool((finite == np.rint(finite)).all())
    step = 1.0 if whole or most == least else (most - least) / _STEPS
    steps = [np.where(np.isfinite(each), np.rint((np.nan_to_num(each) - least) / step), -1) for each in columns]
    ends = {"low": low, "high": high, "least": least, "most": most, "step": step}
    unknown = len(values) - len(finite) if len(colorings) == 1 else 0
    return {**ends, "unknown": unknown, "codes": [_whole(each, unknown=True) for each in steps]}


def _whole(values: NDArray[Any], *, unknown: bool = False) -> Packed:
    """Whole numbers from 0 in as few bytes as they need; the largest number of that many bytes is unknown (-1)."""
    integers = np.asarray(values, np.int64)
    most = int(integers.max(initial=0)) + (1 if unknown else 0)
    for kind in ("u1", "u2", "u4"):
        limit = np.iinfo(np.dtype(kind)).max
        if most <= limit:
            return _coded(np.where(integers < 0, limit, integers).astype(f"<{kind}"), kind)
    return _coded(integers.astype("<f8"), "f8")


def _coded(values: NDArray[Any], kind: str) -> Packed:
    return {"dtype": kind, "bdata": base64.b64encode(np.ascontiguousarray(values).tobytes()).decode("ascii")}


def _texts(texts: Sequence[str], spans: NDArray[Any] | None) -> dict[str, Any]:
    """The texts that points stand in, each once, without what is far from all of its words."""
    places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    sentence = np.array([places[text] for text in texts], np.int64)
    letters = sum(map(len, places))
    if spans is None:
        most = _LONGEST if letters <= _MOST_LETTERS else max(_SHORTEST, _MOST_LETTERS // len(places))
        return {"sentences": [clipped(text, most) for text in places], "sentence": _whole(sentence), "starts": None}
    starts, ends = np.asarray(spans[:, 0], np.int64), np.asarray(spans[:, 1], np.int64)
    reach = _REACH if letters <= _MOST_LETTERS else _NARROW
    first, last = np.full(len(places), np.iinfo(np.int64).max), np.zeros(len(places), np.int64)
    np.minimum.at(first, sentence, starts)
    np.maximum.at(last, sentence, ends)
    sentences, shift = [], np.maximum(first - reach, 0)
    for text, start, end in zip(places, shift.tolist(), (last + reach).tolist(), strict=True):
        sentences.append(f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}")
    shift -= shift > 0  # the mark of what is left out takes a place
    begins, stops = (_as_utf16(sentences, sentence, at - shift[sentence]) for at in (starts, ends))
    lengths = _whole(stops - begins)
    return {"sentences": sentences, "sentence": _whole(sentence), "starts": _whole(begins), "lengths": lengths}


def _as_utf16(sentences: Sequence[str], sentence: IntVector, places: IntVector) -> IntVector:
    """Places as a page counts them: a letter beyond the first 65,536 counts twice."""
    offsets = places.copy()
    wide = np.array([not text.isascii() and max(map(ord, text)) > 0xFFFF for text in sentences], bool)
    for at in np.flatnonzero(wide[sentence]).tolist():
        text = sentences[int(sentence[at])]
        offsets[at] += sum(ord(letter) > 0xFFFF for letter in text[: int(places[at])])
    return offsets


def _json(value: dict[str, Any]) -> Markup:
    """JSON that no text in it can end; letters of other scripts stay letters, which is a third of the size."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    text = text.encode("utf-8", errors="replace").decode("utf-8")  # half a surrogate pair has no bytes
    for letter in "<>&":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return Markup(text)
