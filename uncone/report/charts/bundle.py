"""plotly.js for a page."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path

from markupsafe import Markup

__all__ = ["script"]


@cache
def _plotly() -> str:
    spec = find_spec("plotly")
    assert spec is not None and spec.origin is not None
    text = (Path(spec.origin).parent / "package_data" / "plotly.min.js").read_text(encoding="utf-8")
    return text.replace("</script", "<\\/script")


def script(kinds: set[str]) -> Markup:
    """The script element that a page with such marks needs."""
    return Markup(f"<script>{_plotly()}</script>") if kinds else Markup("")
