"""The walk "Why do my cosines look random?": a small heatmap and the numbers at every step, on one scale of colours."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from uncone.data.batch import Matrix
from uncone.diagnosis.words import cosine, plain
from uncone.likeness.results import Step
from uncone.report.grid_charts import Figure
from uncone.report.similar import Similarity
from uncone.report.similar_heatmap import colorbar, packed_grid
from uncone.report.similar_palette import DIVERGING

__all__ = [
    "FOLKLORE",
    "INTRO",
    "ShownStep",
    "around_range",
    "common_range",
    "folklore",
    "is_around",
    "steps_shown",
    "why_charts",
]

INTRO = (
    "From the heatmap as it comes out of the model to one that can be read, on these rows. Heatmaps of cosines have "
    "one scale of colours, so that a change of colour is a change of the cosine; those against the background have "
    "blue below it and orange above."
)
FOLKLORE = (
    (
        "“My vectors have different lengths, that is why.”",
        "The cosine divides by both lengths: make a vector ten times as long, and none of its cosines changes.",
    ),
    (
        "“In high dimensions all cosines are high.”",
        "It is the other way round: random directions in d dimensions have cosines around 0, give or take 1/√d. High "
        "cosines come from a direction that all vectors share.",
    ),
)
"""What is often said, and what holds."""


@dataclass(frozen=True)
class ShownStep:
    """A step with its numbers as text, and the chart that belongs to it, where there is one."""

    place: int
    step: Step
    numbers: Sequence[tuple[str, str]]
    chart: str | None


_NAMES = {
    "sd": "deviation",
    "p2.5": "2.5 % below",
    "p50": "median",
    "p97.5": "97.5 % below",
    "within": "within labels",
    "between": "between labels",
    "auc": "AUC of labels",
    "auc_before": "AUC before",
    "auc_after": "AUC after",
    "one_over_root_d": "1/√d",
    "share_of_1": "share of the strongest",
    "share_of_3": "of 3",
    "share_of_5": "of 5",
}
_AROUND = {"background"}
"""Steps whose cells are differences to the background."""
_TOLD = {"length", "dimension"}
"""Steps that say on the reader's own rows what FOLKLORE says in general."""


def folklore(result: Similarity) -> Sequence[tuple[str, str]]:
    """What is often said, where no step of the walk has shown it already."""
    return () if {step.key for step in result.steps} >= _TOLD else FOLKLORE


def steps_shown(result: Similarity) -> list[ShownStep]:
    """Every step, numbered from 1."""
    return [
        ShownStep(
            place,
            step,
            [(_NAMES.get(key, key.replace("_", " ")), said(value)) for key, value in step.numbers.items()],
            None if step.heatmap is None else f"why-{place}",
        )
        for place, step in enumerate(result.steps, 1)
    ]


def said(value: float | None) -> str:
    """A number of any size: cosines with three digits, counts without."""
    if value is None or not math.isfinite(value):
        return "–"
    if float(value).is_integer() and abs(value) >= 2:
        return f"{value:,.0f}"
    return cosine(float(value), 3) if abs(value) < 2 else plain(float(value))


def common_range(result: Similarity) -> tuple[float, float]:
    """One scale for all steps: what two different rows score, without the last half per cent at either end."""
    found = []
    for step in result.steps:
        if step.heatmap is not None and not is_around(step):
            cells = step.heatmap[~np.eye(len(step.heatmap), dtype=bool)]
            found.append(cells[np.isfinite(cells)])
    held = [one for one in found if len(one)]
    if not held:
        return 0.0, 1.0
    low = min(float(np.quantile(one, 0.005)) for one in held)
    high = max(float(np.quantile(one, 0.995)) for one in held)
    return (low, high) if high - low > 1e-3 else (low - 0.05, high + 0.05)


def around_range(cells: Matrix) -> tuple[float, float]:
    """As far below zero as above it, without the last half per cent of what two different rows have."""
    off = np.abs(cells[~np.eye(len(cells), dtype=bool)])
    known = off[np.isfinite(off)]
    reach = float(np.quantile(known, 0.995)) if len(known) else 1.0
    return (-reach, reach) if reach > 1e-3 else (-0.05, 0.05)


def is_around(step: Step) -> bool:
    """Whether the cells of a step are differences to the background, not cosines."""
    return step.key in _AROUND


def why_charts(result: Similarity) -> list[Figure]:
    """The heatmap of every step that has one."""
    low, high = common_range(result)
    made = []
    for place, step in enumerate(result.steps, 1):
        if step.heatmap is None:
            continue
        cells, scale = packed_grid(step.heatmap)
        around = is_around(step)
        first, last = around_range(step.heatmap) if around else (low, high)
        bare = {"showticklabels": False, "showgrid": False, "zeroline": False, "ticks": "", "showline": False}
        data = {
            "type": "heatmap",
            "z": cells,
            "zmin": first * scale,
            "zmax": last * scale,
            "colorscale": DIVERGING if around else "Viridis",
            "colorbar": colorbar(first, last, scale),
            "hoverinfo": "none",
        }
        layout = {
            "xaxis": bare,
            "yaxis": {**bare, "range": [len(step.heatmap) - 0.5, -0.5]},
            "margin": {"l": 4, "r": 4, "t": 4, "b": 4},
        }
        alt = f"{len(step.heatmap)} by {len(step.heatmap)} cosines"
        figure = {"id": f"why-{place}", "title": step.title, "alt": alt, "data": [data], "layout": layout}
        made.append({**figure, "wide": False, "lazy": False, "height": 250})
    return made
