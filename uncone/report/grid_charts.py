"""Parts of plotly figures, for the verbs whose charts are not declared yet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["Figure", "axis_title", "error_bars", "rounded"]

Figure = dict[str, Any]
Number = float | None


def error_bars(y: Sequence[Number], low: Sequence[Number], high: Sequence[Number], colour: str) -> Figure:
    """Intervals around points; none where they are not known."""
    return {
        "type": "data",
        "symmetric": False,
        "array": [_reach(a, b) for a, b in zip(y, high, strict=True)],
        "arrayminus": [_reach(a, b) for a, b in zip(low, y, strict=True)],
        "color": colour,
        "thickness": 1.5,
        "width": 4,
    }


def _reach(start: Number, end: Number) -> float:
    return 0.0 if start is None or end is None else max(end - start, 0.0)


def axis_title(text: str) -> Figure:
    """No larger than the ticks: on a phone the axis is short."""
    return {"text": text, "font": {"size": 13}}


def rounded(value: float | None) -> float | None:
    """Six digits: more than a screen can show."""
    return None if value is None else float(f"{value:.6g}")
