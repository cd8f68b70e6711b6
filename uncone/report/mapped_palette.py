"""Colours of a map: a category or a number of each point becomes one; what is not known is grey."""

from __future__ import annotations

import colorsys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from uncone.data.batch import IntVector, Vector
from uncone.diagnosis.words import clipped
from uncone.maps.results import Colouring, Panel
from uncone.maps.word_list import WordList
from uncone.report.diagnosis_charts import OKABE_ITO
from uncone.report.mapped import Map
from uncone.report.text import printable

__all__ = [
    "UNKNOWN",
    "Scale",
    "Shades",
    "category_colours",
    "marks",
    "members_on",
    "scale_of",
    "shades_of",
    "values_of",
    "values_on",
]

UNKNOWN = "#8a949e"
_LONGEST = 40
_SHADES = (1.0, 0.62, 1.45)
"""How light the same hues are when there are more categories than hues."""


@dataclass(frozen=True)
class Shades:
    """The categories of a colouring: names, colours and how many points each has; the last is what is not known."""

    names: Sequence[str]
    colours: Sequence[str]
    counts: Sequence[int] | None
    """None where they differ by picture."""
    rest: str


@dataclass(frozen=True)
class Scale:
    """The numbers of a colouring: the ends of the scale of colours, which leave out the last per cent, and of all."""

    low: float
    high: float
    least: float
    most: float
    unknown: int


def category_colours(n: int) -> list[str]:
    """One for each category: the palette first, then darker and lighter ones of it, then grey.

    >>> category_colours(2), len(set(category_colours(21)))
    (['#0072B2', '#E69F00'], 21)
    """
    made = [_shaded(hue, light) for light in _SHADES for hue in OKABE_ITO]
    return [*made[:n], *[UNKNOWN] * max(0, n - len(made))]


def _shaded(colour: str, light: float) -> str:
    if light == 1.0:
        return colour
    red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    hue, lightness, depth = colorsys.rgb_to_hls(red, green, blue)
    parts = colorsys.hls_to_rgb(hue, min(lightness * light, 0.84), depth)
    return "#" + "".join(f"{round(255 * one):02X}" for one in parts)


def members_on(colouring: Colouring, panel: Panel) -> IntVector:
    """The category of every point of a picture, -1 where it is not known."""
    held = colouring.by_panel.get(panel.name, colouring.members)
    if held is None:
        return np.full(len(panel.places), -1, np.int64)
    return np.asarray(held, np.int64)[np.asarray(panel.places)]


def values_on(colouring: Colouring, panel: Panel) -> Vector:
    """The number of every point of a picture, NaN where it is not known."""
    held = colouring.values_by_panel.get(panel.name, colouring.values)
    if held is None:
        return np.full(len(panel.places), np.nan)
    return np.asarray(held, np.float64)[np.asarray(panel.places)]


def values_of(colouring: Colouring) -> Vector:
    """All numbers of a colouring, of every picture where they differ: they share one scale."""
    if colouring.values_by_panel:
        return np.concatenate([np.asarray(one, np.float64) for one in colouring.values_by_panel.values()])
    return np.asarray(colouring.values, np.float64)


def shades_of(result: Map, colouring: Colouring) -> Shades:
    """The legend of a colouring by categories."""
    names = [clipped(printable(str(name)) or "without a name", _LONGEST) for name in colouring.names]
    counts: list[int] | None = None
    if not colouring.by_panel and colouring.members is not None:
        counts = _counts(np.asarray(colouring.members, np.int64), len(names))
    elif len(result.panels) == 1:
        counts = _counts(members_on(colouring, result.panels[0]), len(names))
    unknown = counts[-1] if counts is not None else 0
    rest = "unknown" if not colouring.other else "other" if colouring.other >= unknown else "other or unknown"
    if colouring.name == "words":
        rest = "none of them"
    return Shades([*names, rest], [*category_colours(len(names)), UNKNOWN], counts, rest)


def _counts(members: IntVector, k: int) -> list[int]:
    known = members[(members >= 0) & (members < k)]
    return [*np.bincount(known, minlength=k).tolist(), len(members) - len(known)]


def scale_of(values: Vector) -> Scale:
    """The ends of the colours; a few extreme numbers do not make the others one colour.

    >>> scale_of(np.array([1.0, 2.0, np.nan, 4.0]))
    Scale(low=1.0, high=4.0, least=1.0, most=4.0, unknown=1)
    """
    held = np.asarray(values, np.float64)
    known = held[np.isfinite(held)]
    if not len(known):
        return Scale(0.0, 1.0, 0.0, 1.0, len(held))
    least, most = float(known.min()), float(known.max())
    low, high = (float(one) for one in np.quantile(known, (0.01, 0.99))) if len(known) >= 100 else (least, most)
    if low >= high:
        low, high = least, most
    return Scale(low, high, least, most, len(held) - len(known))


def marks(result: Map) -> IntVector:
    """Which word of the list each point is or holds, -1 for none."""
    listed = next((one for one in result.colourings if one.name == "words"), None)
    if listed is not None and listed.members is not None and tuple(listed.names) == tuple(result.highlight):
        return np.asarray(listed.members, np.int64)
    n, texts = len(result.places), result.texts
    if texts is None or not len(result.highlight):
        return np.full(n, -1, np.int64)
    # Words come again and again: each is looked at once.
    shown = [result.text(point) for point in range(n)]
    once = list(dict.fromkeys(shown))
    found = dict(zip(once, WordList(result.highlight).firsts(once, len(once)).tolist(), strict=True))
    return np.array([found[text] for text in shown], np.int64)
