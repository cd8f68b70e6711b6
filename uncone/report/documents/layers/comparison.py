"""Curves of several studies in one chart: a measure over the layers or over relative depth, and its differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from uncone.analysis.layers.contrast import Contrast
from uncone.analysis.measures.measure import Verb
from uncone.analysis.measures.registry import measures
from uncone.report.charts.model import Axis, Chart, Line
from uncone.report.charts.theme import series_color
from uncone.report.documents.layers import curves
from uncone.report.documents.layers.overview import short_names
from uncone.report.text import shorten

if TYPE_CHECKING:
    from uncone.report.documents.layers import LayerStudy

__all__ = ["DEPTH_AXIS", "at_depth", "comparison_charts", "depth_of", "overlay"]

DEPTH_AXIS = Axis("relative depth (0 = embeddings)", "relative depth")
"""The axis of models of different depths."""
_UNSIGNED = ("position_angle_r",)
"""Correlations with an arbitrary sign."""
_ENDS = 2
"""Studies of different depths are compared at both ends; a line between them would claim more than was measured."""


def comparison_charts(studies: Sequence[LayerStudy], contrasts: Sequence[Contrast], verb: Verb) -> list[Chart]:
    """Every measure with a curve, each followed by its differences; what has no partner comes last."""
    names = [name for name, declared in measures(verb).items() if declared.chart is not None or declared.difference]
    pairs = [(overlay(studies, name), _difference(studies, contrasts, name)) for name in names]
    return [chart for pair in sorted(pairs, key=lambda pair: None in pair) for chart in pair if chart is not None]


def overlay(studies: Sequence[LayerStudy], name: str, *, like: str = "") -> Chart | None:
    """A measure of several studies over the layers, or over relative depth if their depths differ.

    A measure without a chart of its own is drawn as the measure `like`.
    """
    relative = len({depth_of(study) for study in studies}) > 1
    lines = []
    for place, (study, label) in enumerate(zip(studies, short_names(studies), strict=True)):
        findings = [(layer.number, layer.findings.get(name)) for layer in study.layers]
        style: dict[str, Any] = {"label": shorten(label), "color": series_color(place), "group": label}
        line = curves.finding_line(name, findings, unsigned=name in _UNSIGNED, **style)
        if line is not None:
            lines.append(at_depth(line, depth_of(study)) if relative else line)
    curve = curves.curve_of(like or name, studies[0].row_noun)
    if not lines or curve is None:
        return None
    caption = f"{curve.caption}{_bases(studies, name)}"
    y = curves.value_axis(name, curve.axis, lines, zero=curve.zero)
    return Chart(name, curve.title, caption, lines, DEPTH_AXIS if relative else curves.LAYER_AXIS, y, direct=True)


def _bases(studies: Sequence[LayerStudy], name: str) -> str:
    """The number of vectors that local dimensions are measured against, as a sentence."""
    if name not in ("lid_euclidean", "lid_cosine"):
        return ""
    metric = name.removeprefix("lid_")
    bases = [max(layer.dimensions[metric].base for layer in study.deep.layers) for study in studies if study.deep]
    joined = " and ".join(f"{base:,}" for base in dict.fromkeys(bases))
    return f" Here n is {joined}{' for all' if len(set(bases)) == 1 and len(bases) > 1 else ''}."


def depth_of(study: LayerStudy) -> int:
    """The number of the model's last layer, measured or not."""
    return max(int(study.source["layers"]) - 1, *(layer.number for layer in study.layers))


def at_depth(line: Line, depth: int) -> Line:
    """The curve over relative depth; a model with one layer has no depth, so its value is a level line."""
    notes = [f"layer {x:.0f}" for x in line.x]
    if depth:
        return replace(line, x=[x / depth for x in line.x], notes=notes)
    twice: dict[str, Any] = {name: [*getattr(line, name)] * 2 for name in ("y", "low", "high", "n")}
    return replace(line, x=[0.0, 1.0], notes=notes * 2, dash="dot", **twice)


def _difference(studies: Sequence[LayerStudy], contrasts: Sequence[Contrast], name: str) -> Chart | None:
    title = measures("layers")[name].difference if name in measures("layers") else ""
    if not title:
        return None
    first, *others = short_names(studies)
    relative = any(a != b for contrast in contrasts for a, b in contrast.layers)
    lines = []
    for place, (contrast, label) in enumerate(zip(contrasts, others, strict=False)):
        findings = [(b, each.get(name)) for (_, b), each in zip(contrast.layers, contrast.findings, strict=True)]
        style: dict[str, Any] = {"label": shorten(label), "color": series_color(place + 1), "group": label}
        line = curves.finding_line(f"difference_{name}", findings, **style)
        if line is not None:
            lines.append(_at_mean_depth(line, contrast) if relative else line)
    if not lines:
        return None
    at_ends = any(line.error_bars for line in lines)
    if at_ends:
        # A little apart, so that intervals do not cover one another.
        shifts = [0.025 * (place - (len(lines) - 1) / 2) for place in range(len(lines))]
        lines = [replace(line, x=[x + shift for x in line.x]) for line, shift in zip(lines, shifts, strict=True)]
    caption = f"Each study minus {shorten(first)}, with its 95 % interval."
    caption += " Models of different depths are compared at their first and last layers." if at_ends else ""
    title = f"{title.replace('{row}', studies[0].row_noun)}: difference"
    x, y = DEPTH_AXIS if relative else curves.LAYER_AXIS, Axis("difference", "value", zero=True, zero_line=True)
    return Chart(f"difference_{name}", title, caption, lines, x, y, direct=True)


def _at_mean_depth(line: Line, contrast: Contrast) -> Line:
    """The differences at the mean of the relative depths of both studies."""
    last = [max((pair[side] for pair in contrast.layers), default=0) for side in (0, 1)]
    depths = [[layer / most for layer, most in zip(pair, last, strict=True) if most] for pair in contrast.layers]
    notes = [f"layer {b} against {a}" for a, b in contrast.layers]
    x = [sum(both) / max(len(both), 1) for both in depths]
    return replace(line, x=x, notes=notes, error_bars=len(x) <= _ENDS)
