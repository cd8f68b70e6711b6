"""Documents as one page that works offline, and as a fragment for notebooks."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import groupby
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from uncone.report.charts.bundle import packed
from uncone.report.charts.model import Chart, Cloud
from uncone.report.document import MARKS, Block, Clouds, Document, Widget, leaves

__all__ = ["environment", "notebook", "page"]

_TEMPLATES = Path(__file__).parent.parent / "templates"
_LONG = 100
"""Letters of a fact that runs over several lines, so that rules part it from the next."""


@cache
def environment() -> Environment:
    """The templates; what they show is escaped."""
    loader = FileSystemLoader(_TEMPLATES)
    templates = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    templates.filters["grouped"] = _grouped
    templates.filters["packed"] = packed
    templates.filters["long"] = lambda pairs: any(len(value) > _LONG for _, value in pairs)
    # The columns that need room for marks, so that their numbers stand in line.
    templates.filters["marked_columns"] = lambda table: {
        at for row in table.rows for at, cell in enumerate(row.cells) if cell.mark
    }
    templates.tests["chart"] = lambda block: isinstance(block, Chart | Cloud)
    templates.globals["kind"] = lambda block: type(block).__name__.lower()
    templates.globals["marks"] = MARKS
    return templates


def page(document: Document, summary: str, version: str) -> str:
    """The whole page; `summary` is the JSON that it offers for download."""
    from uncone.report.charts import bundle, cloud, plotly

    blocks = list(leaves([block for section in document.sections for block in section.blocks], widgets=True))
    charts = [block for block in blocks if isinstance(block, Chart)]
    figures = [plotly.figure(chart) for chart in charts]
    widgets = [block for block in blocks if isinstance(block, Widget)]
    kinds = {type(mark).__name__ for chart in charts for mark in chart.marks}
    clouds = {block.name: cloud.fragment(block) for block in blocks if isinstance(block, Cloud)}
    clouds |= {block.name: cloud.fragment(*block.clouds, find=True) for block in blocks if isinstance(block, Clouds)}
    template = environment().get_template("document.html")
    return template.render(
        document=document,
        figures={figure["id"]: figure for figure in figures},
        charts=figures,
        clouds=clouds,
        plotly=bundle.script(kinds),
        scripts=_included([name for widget in widgets for name in widget.scripts]),
        styles=_included([name for widget in widgets for name in widget.styles]),
        summary=summary,
        version=version,
        today=datetime.date.today().strftime("%-d %B %Y"),
    )


def notebook(document: Document) -> str:
    """Verdicts and brief blocks without charts: what a notebook shows."""
    return environment().get_template("fragment.html").render(document=document, figures={}, clouds={})


def _included(names: Sequence[str]) -> list[Markup]:
    return [Markup((_TEMPLATES / name).read_text(encoding="utf-8")) for name in dict.fromkeys(names)]


def _grouped(blocks: Sequence[Block]) -> Iterator[tuple[bool, list[Block]]]:
    """Blocks in runs: neighboring charts share a grid, in pairs; a chart without a partner takes the whole width."""
    for is_chart, run in groupby(blocks, key=lambda block: isinstance(block, Chart | Cloud)):
        if not is_chart:
            yield False, list(run)
            continue
        paired: list[Block] = []
        for wide, group in groupby(run, key=lambda block: isinstance(block, Chart | Cloud) and block.wide):
            charts = list(group)
            paired += charts
            if not wide and len(charts) % 2 and isinstance(charts[-1], Chart):
                paired[-1] = replace(charts[-1], wide=True)
        yield True, paired
