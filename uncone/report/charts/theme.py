"""Colors, sizes and the style of figures: one place for both drawers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = [
    "CATEGORICAL", "COLUMN", "DASHES", "DOT", "GRAY", "PAGE", "PALETTES", "PRINT", "STYLE", "WIDTHS", "print_color",
    "series_color",
]  # fmt: skip

CATEGORICAL = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
"""The Okabe-Ito palette without its yellow, which vanishes on white."""
PRINT = {"accent": "#0072B2", "second": "#D55E00", "muted": "#7a8591", "ink": "#17202a", "rule": "#e3e6ea"}
"""The roles on paper; a page knows them in light and in dark by the variables of its style sheet."""
GRAY = "#8a949e"
"""The color of unknown values, in light and in dark mode."""
COLUMN = 3.4
PAGE = 7.0
"""Inches: the width of a column and of a page."""
WIDTHS = {"main": 2.6, "thin": 1.4, "light": 1.8}
"""Pixels of curves; six tenths as many points on paper."""
DASHES: Mapping[str, Any] = {"solid": "solid", "dot": (0, (1, 1.2)), "dash": (0, (4, 2.5)), "dashdot": "dashdot"}
DOT = {"circle": "o", "diamond": "D", "square": "s"}
_BLUE, _MIDDLE, _ORANGE = "30,112,190", "128,136,144", "214,96,6"
PALETTES: Mapping[str, list[tuple[float, str, float]]] = {
    "diverging": [(0, _BLUE, 1.0), (0.5, _MIDDLE, 0.07), (1, _ORANGE, 1.0)],
    "diverging, texts": [(0, _BLUE, 0.62), (0.5, _MIDDLE, 0.05), (1, _ORANGE, 0.66)],
    "pale": [(0, _BLUE, 0.03), (1, _BLUE, 0.62)],
}
"""Color scales as (place, red-green-blue, opacity): the middle lets the paper through, in light and in dark."""

_TICKS = {"labelsize": 7, "color": PRINT["muted"], "labelcolor": PRINT["ink"], "major.width": 0.6, "major.size": 2.5}
STYLE: Mapping[Any, Any] = {
    "font.family": ["DejaVu Sans"],
    "font.size": 7.5,
    "axes.labelsize": 8,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.edgecolor": PRINT["muted"],
    "axes.labelcolor": PRINT["ink"],
    "axes.axisbelow": True,
    "grid.color": PRINT["rule"],
    "grid.linewidth": 0.5,
    **{f"{axis}tick.{name}": value for axis in "xy" for name, value in _TICKS.items()},
    "text.color": PRINT["ink"],
    "text.parse_math": False,  # a word such as $x is no formula
    "svg.hashsalt": "uncone",  # the same chart gives the same file
    "savefig.dpi": 300,
    "figure.constrained_layout.use": True,
}


def print_color(color: str) -> tuple[str, float]:
    """A color on paper, and its opacity.

    >>> print_color("accent 20%"), print_color("#0072B2")
    (('#0072B2', 0.2), ('#0072B2', 1.0))
    """
    role, _, share = color.partition(" ")
    return PRINT.get(role, role), float(share.rstrip("%")) / 100 if share else 1.0


def series_color(place: int) -> str:
    """The color of the n-th series: accent, second, then what the palette has that looks like neither.

    >>> [series_color(i) for i in range(3)]
    ['accent', 'second', '#009E73']
    """
    return ("accent", "second", *CATEGORICAL[2:5], CATEGORICAL[1])[place % 6]
