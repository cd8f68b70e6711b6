"""The report as one page that works offline, and as a fragment for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from uncone.diagnosis.finding import failures
from uncone.diagnosis.measures.registry import measures, placed
from uncone.diagnosis.words import cosine, plain
from uncone.report.diagnosis import Diagnosis
from uncone.report.diagnosis_charts import figures
from uncone.report.lines import MARKS, interval, number, title
from uncone.report.page import environment, plotly_script, today

__all__ = ["notebook", "render"]


def render(spaces: Sequence[Diagnosis], summary: str) -> str:
    """The whole page; `summary` is the JSON that it offers for download."""
    return (
        environment()
        .get_template("page.html")
        .render(
            spaces=spaces,
            cards=[_cards(space) for space in spaces],
            charts=figures(spaces),
            plotly=plotly_script(),
            summary=summary,
            today=today(),
            **_words(),
        )
    )


def notebook(spaces: Sequence[Diagnosis]) -> str:
    """Verdict and findings without charts: what a notebook shows."""
    return environment().get_template("notebook.html").render(spaces=spaces, **_words())


def _words() -> dict[str, Any]:
    functions = {"number": number, "interval": interval, "title": title}
    return {
        "catalogue": measures("check"),
        "health": placed("check", "health"),
        "marks": MARKS,
        "failures": failures,
        **functions,
    }


def _cards(space: Diagnosis) -> list[dict[str, str]]:
    """Four numbers, each with its meaning under it."""
    rogue = space["rogue_dimensions"].value
    named = rogue if isinstance(rogue, list) else []
    dimensions = f"{space.source['dimensions']:,}"
    mean, rank = (space[name].magnitude for name in ("baseline", "effective_rank"))
    return [
        {"value": "–" if mean is None else cosine(mean), "label": "mean cosine of random pairs"},
        {"value": f"{'–' if rank is None else plain(rank)} of {dimensions}", "label": "directions in use"},
        {"value": number(space["top1_share"]), "label": "of the variance in one direction"},
        {
            "value": ", ".join(map(str, named)) or "none",
            "label": "rogue dimension" if len(named) == 1 else "rogue dimensions",
        },
    ]
