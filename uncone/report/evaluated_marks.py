"""Numbers and names as the charts of an evaluation take them."""

from __future__ import annotations

import html

from uncone.report.grid_charts import rounded

__all__ = ["in_points", "label_text"]


def in_points(value: float | None) -> float | None:
    """A score x 100."""
    return None if value is None else rounded(100 * value)


def label_text(text: str) -> str:
    """Plotly reads a little HTML: a name must not be taken for it."""
    return html.escape(text, quote=False)
