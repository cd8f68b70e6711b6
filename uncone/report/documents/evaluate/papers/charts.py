"""The figures of the suite: gains beside the published ones, and isotropy against score."""

from __future__ import annotations

from typing import Any

from uncone.evaluation.papers.layouts import CLUSTERS, LAYOUTS, TARGET
from uncone.evaluation.papers.published import BERT
from uncone.report.charts.model import Axis, Chart, Forest, Points
from uncone.report.charts.theme import series_color
from uncone.report.document import present
from uncone.report.documents.evaluate.papers.figures import Figures, dataset_title, hundred
from uncone.report.documents.evaluate.papers.tables import isotropy_text
from uncone.report.text import last_name

__all__ = ["paper_charts"]


def paper_charts(figures: Figures) -> list[Chart]:
    """The charts that the figures suffice for."""
    return present(_gain_chart(figures), _isotropy_chart(figures))


def _gain_chart(figures: Figures) -> Chart | None:
    """The gain of the cluster-based repair by dataset, with its interval, beside the published one."""
    layout = LAYOUTS[1]
    own = [figures.figure(("tokens", CLUSTERS[1], TARGET), name) for name in layout.datasets]
    gains = [(at, each.difference) for at, each in enumerate(own) if each is not None and each.difference is not None]
    defined = [(at, gain) for at, gain in gains if gain.value is not None]
    if not defined:
        return None
    value, low, high = ([hundred(getattr(gain, end)) for _, gain in defined] for end in ("value", "low", "high"))
    look: dict[str, Any] = {"open": [not gain.significant for _, gain in defined]}
    look["n"] = [gain.units for _, gain in defined]
    marks = [Forest([float(at) for at, _ in defined], value, low, high, last_name(figures.model), "accent", **look)]
    before, after = (row.values for row in layout.published())
    paper = [100 * (after[name]["spearman"] - before[name]["spearman"]) for name in layout.datasets]
    blank: list[float | None] = [None] * len(paper)
    places = [float(at) for at in range(len(paper))]
    marks.append(Forest(places, paper, blank, blank, f"{BERT}, published", "second", "diamond"))
    caption = (
        "Spearman x 100, after minus before the repair, with 95 % intervals. An open circle is not proven. Published "
        "gains have no interval."
    )
    x = Axis("difference from raw", "difference", zero_line=True)
    y = Axis(name="dataset", categories=[dataset_title(name) for name in layout.datasets])
    return Chart("papers-gains", "Gain of the cluster-based repair", caption, marks, x, y)


def _isotropy_chart(figures: Figures) -> Chart | None:
    """A point for each row and dataset of the cluster-based tables: does a rounder space score better?"""
    marks = []
    for place, label in enumerate(LAYOUTS[0].labels):
        own = [each for each in figures.all if each.part == "tokens" and each.row == label]
        pairs = [(each.values.get("both_signs"), each.values.get("spearman"), each.dataset) for each in own]
        dots = [(x, 100 * y, name) for x, y, name in pairs if x is not None and y is not None]
        hover = [f"{label} on {dataset_title(name)}: Spearman {y:.1f}, I(W) {isotropy_text(x)}" for x, y, name in dots]
        across, up = [dot[0] for dot in dots], [dot[1] for dot in dots]
        look: dict[str, Any] = {"symbol": "circle" if place else "diamond", "hover": hover}
        marks += [Points(across, up, label, series_color(place), 9, **look)] if dots else []
    if not marks:
        return None
    caption = "A point is a row on a dataset. I(W) in its safe form, of the tokens; 0 is isotropic."
    x, y = Axis("log10 I(W)", "log10 I(W)"), Axis("Spearman x 100", "Spearman x 100")
    return Chart("papers-isotropy", "Isotropy and score", caption, marks, x, y)
