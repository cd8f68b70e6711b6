"""The charts of several studies: one curve per study, and its difference to the first study beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from uncone.diagnosis.contrast import Contrast
from uncone.diagnosis.measures.measure import Measure
from uncone.diagnosis.measures.registry import measures
from uncone.diagnosis.measures.unit import NORM
from uncone.report.panel import STUDY_COLOURS, Panel, Series, curve, traced
from uncone.report.study import LayerStudy
from uncone.report.study_lines import short_names
from uncone.report.text import fitted, last_name

__all__ = ["contrast_names", "overlaid", "overlay"]

_ENDS = 2
"""Studies of different depths are compared at both ends: a line between would say more than was measured."""


def overlaid(parts: Sequence[LayerStudy], contrasts: Sequence[Contrast]) -> list[Panel]:
    """Every main measure with its difference right after it, where there is one."""
    panels = [
        panel
        for one in measures("layers").values()
        for panel in (overlay(parts, one), _difference(parts, contrasts, one))
    ]
    return [panel for panel in panels if panel is not None]


def contrast_names(parts: Sequence[LayerStudy], contrasts: Sequence[Contrast]) -> list[tuple[str, str]]:
    """Short names of the studies that each contrast is of, and of the one it is to."""
    names = short_names(parts)
    if len(contrasts) == len(parts) - 1:
        return [(name, names[0]) for name in names[1:]]
    return [(last_name(one.of), last_name(one.to)) for one in contrasts]


def overlay(parts: Sequence[LayerStudy], measure: Measure, row: str = "row") -> Panel | None:
    """A measure of several studies over the layers, or over relative depth where their depths differ."""
    chart = measure.chart
    if chart is None:
        return None
    relative = len({_depth(study) for study in parts}) > 1
    drawn = [
        replace(_at_depth(one, study) if relative else one, study=label)
        for place, (study, label) in enumerate(zip(parts, short_names(parts), strict=True))
        if (one := curve(study, measure.name, fitted(label), STUDY_COLOURS[place % len(STUDY_COLOURS)])) is not None
    ]
    if not drawn:
        return None
    title, caption = (text.replace("{row}", row) for text in (chart.title, chart.caption))
    known = [value for one in drawn for value in one.y if value is not None]
    return Panel(
        measure.name,
        title,
        caption,
        chart.axis,
        drawn,
        x_title=_X_TITLES[relative],
        zero=chart.zero,
        log=measure.unit is NORM and min(known) > 0 and max(known) > 20 * min(known),
        share=measure.unit.is_share,
        relative=relative,
    )


_X_TITLES = {False: "layer (0 = embeddings)", True: "relative depth (0 = embeddings)"}


def _depth(study: LayerStudy) -> int:
    """The number of the model's last layer, measured or not."""
    return max(int(study.source["layers"]) - 1, *(layer.number for layer in study.layers))


def _at_depth(series: Series, study: LayerStudy) -> Series:
    """The curve over relative depth; a model of one layer has no depth, so its value is a level line across."""
    depth = _depth(study)
    if depth:
        return replace(series, x=[x / depth for x in series.x])
    y, low, high = [*series.y] * 2, [*series.low] * 2, [*series.high] * 2
    n, layers = [*series.n] * 2, [*series.layers] * 2
    return replace(series, x=[0.0, 1.0], y=y, low=low, high=high, n=n, layers=layers, weight="level")


def _difference(parts: Sequence[LayerStudy], contrasts: Sequence[Contrast], measure: Measure) -> Panel | None:
    if not measure.difference:
        return None
    name = measure.name
    names = contrast_names(parts, contrasts)
    relative = any(a != b for one in contrasts for a, b in one.layers)
    drawn = []
    for place, (contrast, (of, _)) in enumerate(zip(contrasts, names, strict=True)):
        colour = STUDY_COLOURS[(place + 1) % len(STUDY_COLOURS)]
        one = traced([found.get(name) for found in contrast.findings], of, f"difference_{name}", fitted(of), colour)
        if one is not None:
            drawn.append(_paired(one, contrast, relative=relative))
    if not drawn:
        return None
    drawn = [_aside(one, place - (len(drawn) - 1) / 2) for place, one in enumerate(drawn)]
    caption = f"Each study minus {fitted(names[0][1])}, with its 95 % interval."
    if any(one.weight == "points" for one in drawn):
        caption += " Of models of different depths, the first layers and the last are compared."
    return Panel(
        f"difference_{name}",
        f"{measure.difference}: difference",
        caption,
        "difference",
        drawn,
        x_title=_X_TITLES[relative],
        zero=True,
        relative=relative,
    )


def _aside(series: Series, steps: float) -> Series:
    """Points of several studies a little apart, so that their intervals do not cover one another."""
    return replace(series, x=[x + 0.025 * steps for x in series.x]) if series.weight == "points" else series


def _paired(series: Series, contrast: Contrast, *, relative: bool) -> Series:
    """At the layer both share, or at the mean of the relative depths of those that have a depth."""
    deep = [max((pair[side] for pair in contrast.layers), default=0) for side in (0, 1)]
    depths = [[layer / most for layer, most in zip(pair, deep, strict=True) if most] for pair in contrast.layers]
    x = [sum(both) / max(len(both), 1) for both in depths] if relative else [float(b) for _, b in contrast.layers]
    layers, against = [b for _, b in contrast.layers], [a for a, _ in contrast.layers]
    weight = "points" if relative and len(x) <= _ENDS else series.weight
    return replace(series, x=x, layers=layers, against=against, weight=weight)
