"""The style of figures, for the verbs whose charts are not declared yet."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib
from matplotlib.figure import Figure

__all__ = ["COLUMN", "PAGE", "saved", "styled"]

COLUMN = 3.4
PAGE = 7.0
"""Inches: the width of a column and of a page."""
_DPI = 300
_INK, _MUTED = "#17202a", "#7a8591"
_STYLE: dict[Any, Any] = {
    "font.family": ["DejaVu Sans"],
    "font.size": 7.5,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.edgecolor": _MUTED,
    "axes.labelcolor": _INK,
    "xtick.color": _MUTED,
    "ytick.color": _MUTED,
    "xtick.labelcolor": _INK,
    "ytick.labelcolor": _INK,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "text.color": _INK,
    "text.parse_math": False,  # a word such as $x is no formula
    "svg.hashsalt": "uncone",  # the same study gives the same file
    "savefig.dpi": _DPI,
    "figure.constrained_layout.use": True,
}


@contextmanager
def styled() -> Iterator[None]:
    """How all figures look, whatever the reader has set."""
    with matplotlib.rc_context(), warnings.catch_warnings():
        matplotlib.rcdefaults()  # the reader's own settings (LaTeX, fonts, colours) are not ours
        matplotlib.rcParams.update(_STYLE)
        # A script that the font lacks shows as boxes; the CSV beside has the word.
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        yield


def saved(figure: Figure, ending: str) -> bytes:
    """The bytes of a figure, the same in every run."""
    buffer = io.BytesIO()
    # Dates and versions would make two runs differ.
    stamps = {"svg": {"Date": None, "Creator": None}, "png": {"Software": None}}
    figure.savefig(buffer, format=ending, metadata=stamps[ending])
    return buffer.getvalue()
