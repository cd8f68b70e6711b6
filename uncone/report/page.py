"""What every page is made with: the templates, plotly's script, and the date."""

from __future__ import annotations

import datetime
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

__all__ = ["environment", "plotly_script", "today"]


@cache
def environment() -> Environment:
    """The templates; what they show is escaped."""
    folder = Path(__file__).parent / "templates"
    return Environment(loader=FileSystemLoader(folder), autoescape=True, undefined=StrictUndefined, trim_blocks=True)


@cache
def plotly_script() -> Markup:
    """plotly.js from the package, without importing the package."""
    spec = find_spec("plotly")
    assert spec is not None and spec.origin is not None
    script = Path(spec.origin).parent / "package_data" / "plotly.min.js"
    return Markup(script.read_text(encoding="utf-8").replace("</script", "<\\/script"))


def today() -> str:
    """The date as a reader writes it."""
    return datetime.date.today().strftime("%-d %B %Y")
