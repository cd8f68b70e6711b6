"""Point clouds: their colors, and what the page's painter takes of them."""

from __future__ import annotations

import colorsys

import numpy as np

from uncone.report.charts.model import CATEGORICAL, Coloring
from uncone.report.charts.theme import GRAY

__all__ = ["MOST_LEGEND", "category_colors", "value_range"]

MOST_LEGEND = 21
_SHADES = (1.0, 0.62, 1.45)
"""How light the same hues are when there are more categories than hues."""


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


def value_range(coloring: Coloring) -> tuple[float, float]:
    """What the colors span, in log10 for a logarithmic scale; a few extreme numbers do not take them all."""
    values = np.asarray(coloring.values, np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.log10(values) if coloring.log else values
    known = values[np.isfinite(values)]
    if not len(known):
        return 0.0, 1.0
    ends = np.quantile(known, (0.01, 0.99)) if len(known) >= 100 else (known.min(), known.max())
    low, high = float(ends[0]), float(ends[1])
    return low, high if high > low else low + 1.0
