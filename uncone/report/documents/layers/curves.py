"""Curves of a study over its layers, as charts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from uncone.analysis.layers.deep_results import DeepLayer
from uncone.analysis.measures.finding import Finding
from uncone.analysis.measures.measure import Curve, Verb
from uncone.analysis.measures.registry import measure, measures, placed
from uncone.analysis.measures.unit import COUNT, NORM
from uncone.analysis.number_format import cosine, count, percent, plain
from uncone.report.charts.model import Axis, Chart, Forest, Line, Points, series_color
from uncone.report.documents.layers.declared import CONE, DEEP, CurveChart, Trace
from uncone.report.documents.layers.values import entry, layer_sinks, noun, short_names, unit_noun
from uncone.report.results.layers import LayerStudy

__all__ = [
    "LAYER_AXIS",
    "base_range",
    "curve_charts",
    "curve_measures",
    "finding_line",
    "one_scale",
    "unsigned",
    "value_axis",
]

LAYER_AXIS = Axis("layer (0 = embeddings)", "layer", whole=True)
_WIDE_RANGE = 20
"""Norms that differ by more than this factor are drawn on a logarithmic axis."""


def curve_charts(study: LayerStudy, verb: Verb) -> list[Chart]:
    """The charts of a study, and one for each measure with a curve that none of them shows, such as a third party's."""
    facts = _facts(study)
    declared = CONE if verb == "layers" else DEEP
    known = {trace.measure for one in (*CONE, *DEEP) for trace in one.traces}
    others = [
        _own_chart(name, one.chart, facts["unit"])
        for name, one in measures(verb).items()
        if one.chart is not None and name not in known
    ]
    charts = (_chart(study, one, facts) for one in (*declared, *others))
    return [chart for chart in charts if chart is not None]


def curve_measures(verb: Verb) -> list[str]:
    """The measures of a verb that are drawn over the layers."""
    return [name for name, one in measures(verb).items() if one.chart is not None or one.difference]


def _own_chart(name: str, curve: Curve, unit: str) -> CurveChart:
    """A chart of one measure, as it is declared."""
    title, y_title, reading = (_literal(text, unit) for text in (curve.title, curve.axis, curve.caption))
    return CurveChart(name, title, y_title, title, [Trace(name, title)], reading=reading, zero=curve.zero)


def _literal(text: str, unit: str) -> str:
    """The text of a measure, in which braces mean nothing else."""
    return text.replace("{row}", unit).replace("{", "{{").replace("}", "}}")


def _chart(study: LayerStudy, declared: CurveChart, facts: Mapping[str, str]) -> Chart | None:
    drawn = [(trace, line) for trace in declared.traces if (line := _line(study, trace, facts)) is not None]
    if all(trace.aside for trace, _ in drawn):
        return None
    lines = [line for _, line in drawn]
    published = [one for one in study.published if declared.published and one.measure == declared.published]
    author = [one.source.split(",")[0] for one in published]
    lines += [
        Line(
            [float(layer) for layer in range(len(one.values))],
            list(one.values),
            "raw, published" if len(declared.traces) > 1 else name,
            "muted",
            dash="dash",
            weight="thin",
            name=one.measure,
            group=f"{one.model} on {one.corpus} ({one.source})",
        )
        for one, name in zip(published, author, strict=True)
    ]
    sources = [f"{one.model} on {one.corpus} ({name})" for one, name in zip(published, author, strict=True)]
    rings = _rings(study, lines[0]) if declared.sinks else []
    texts = [
        f"{declared.about}: {_course(lines[0], _style(declared.traces[0].measure))}",
        declared.reading,
        declared.detail,
        f"Dashed: {'; '.join(sources)}." if sources else "",
        "Circles mark layers with sinks and how many: vectors over 10 times the median norm." if rings else "",
    ]
    return Chart(
        declared.name,
        declared.title.format_map(facts),
        " ".join(text for text in texts if text).format_map(facts),
        [*lines, *rings],
        LAYER_AXIS,
        value_axis(declared.traces[0].measure, declared.y_title.format_map(facts), lines, zero=declared.zero),
        wide=declared.wide,
        direct=len(lines) > 1,
    )


def value_axis(name: str, title: str, lines: Sequence[Line], *, zero: bool) -> Axis:
    """The y axis of a measure, by its unit; norms that differ much are drawn on a logarithmic axis."""
    unit = measure(name).unit
    log = unit is NORM and _is_wide(lines)
    return Axis(title, "value", log=log, zero=True, zero_line=zero, percent=unit.is_share, whole=unit is COUNT)


def _style(name: str) -> Callable[[float], str]:
    """How the caption writes values."""
    unit = measure(name).unit
    return percent if unit.is_share else "{:,.0f}".format if unit is COUNT else _short


def _is_wide(lines: Sequence[Line]) -> bool:
    """Whether all values are positive and differ by a large factor."""
    values = [value for line in lines for value in line.y]
    known = [value for value in values if value is not None and value > 0]
    return bool(known) and len(known) == len(values) and max(known) > _WIDE_RANGE * min(known)


def _line(study: LayerStudy, trace: Trace, facts: Mapping[str, str]) -> Line | None:
    if trace.value is None:
        line = finding_line([layer.findings.get(trace.measure) for layer in study.layers])
        numbers = [layer.number for layer in study.layers]
    else:
        layers = [] if study.deep is None else study.deep.layers
        values = [trace.value(layer) for layer in layers]
        line = None if all(value is None for value in values) else Line((), values, n=[layer.n for layer in layers])
        numbers = [layer.number for layer in layers]
    if line is None:
        return None
    if trace.unsigned:
        line = unsigned(line)
    return replace(
        line,
        x=[float(number) for number in numbers],
        label=trace.label.format_map(facts),
        color=trace.color,
        weight=trace.weight,
        dash=trace.dash,
        name=f"{trace.measure}_size" if trace.unsigned else trace.measure,
        group=study.name,
    )


def finding_line(findings: Sequence[Finding | None]) -> Line | None:
    """A curve through findings at x = 0, 1, ...; none if no finding has a value."""
    y = [None if one is None else _finite(one.magnitude) for one in findings]
    if all(value is None for value in y):
        return None
    return Line(
        [float(place) for place in range(len(findings))],
        y,
        low=[None if one is None else _finite(one.low) for one in findings],
        high=[None if one is None else _finite(one.high) for one in findings],
        n=[0 if one is None else one.n for one in findings],
    )


def unsigned(line: Line) -> Line:
    """The same curve without signs and without intervals."""
    return replace(line, y=[None if value is None else abs(value) for value in line.y], low=(), high=())


def _rings(study: LayerStudy, line: Line) -> list[Points]:
    counts = {float(layer): one.magnitude for layer, one in layer_sinks(study)}
    points = [(x, y, f"{counts[x]:,.0f}") for x, y in zip(line.x, line.y, strict=True) if y is not None and x in counts]
    if not points:
        return []
    x, y, texts = zip(*points, strict=True)
    return [Points(x, y, "sinks", "second", 11, ring=True, texts=texts, hover=[f"sinks: {text}" for text in texts])]


def _course(line: Line, style: Callable[[float], str]) -> str:
    """A curve in a sentence: where it starts and ends, and where it is highest if that is elsewhere."""
    known = [(x, value) for x, value in zip(line.x, line.y, strict=True) if value is not None]
    (first, start), (last, end) = known[0], known[-1]
    if len(known) == 1:
        return f"{style(start)} at layer {first:.0f}."
    top, most = max(known, key=lambda pair: pair[1])
    text = f"{style(start)} at layer {first:.0f}, {style(end)} at layer {last:.0f}"
    is_new = style(most) not in (style(start), style(end))
    return f"{text}, highest at layer {top:.0f} ({style(most)})." if is_new else f"{text}."


def one_scale(studies: Sequence[LayerStudy]) -> list[Chart]:
    """The measures of studies with one layer, each with its interval."""
    names = [
        name
        for name in placed("layers", "dots")
        if any(finding_line([one.layers[0].findings.get(name)]) for one in studies)
    ]
    labels = short_names(studies)
    forests = []
    for place, (study, label) in enumerate(zip(studies, labels, strict=True)):
        lines = [(row, finding_line([study.layers[0].findings.get(name)])) for row, name in enumerate(names)]
        known = [(row, line) for row, line in lines if line is not None]
        if known:
            forests.append(
                Forest(
                    [float(row) for row, _ in known],
                    [line.y[0] for _, line in known],
                    [line.low[0] for _, line in known],
                    [line.high[0] for _, line in known],
                    label,
                    series_color(place),
                    n=[line.n[0] for _, line in known],
                )
            )
    if not forests:
        return []
    return [
        Chart(
            "measures",
            "The measures on one scale",
            "There is only one layer, so there are no curves. Every measure is shown with its 95 % interval if it has "
            "one.",
            forests,
            Axis("value", "value", zero_line=True),
            Axis(name="measure", categories=[entry(name, studies[0]).title for name in names]),
            wide=True,
        )
    ]


def _facts(study: LayerStudy) -> Mapping[str, str]:
    """What the texts of a chart may name in braces."""
    kind = noun(study)
    facts = {
        "noun": kind,
        "unit": unit_noun(study),
        "pairs": "random pairs" if kind == "pairs" else f"two random {kind} from different texts",
        "dimensions": f"{study.source['dimensions']:,}",
    }
    return facts if study.deep is None else facts | _deep_facts(study.deep.layers)


def _deep_facts(layers: Sequence[DeepLayer]) -> dict[str, str]:
    last = layers[-1]
    euclid = last.dimensions["euclidean"]
    halves = [f"{plain(one.paper)} ({name})" for name, one in last.dimensions.items() if one.paper is not None]
    published = "Published values use squared distances and are half of these:"
    words = max((one.frequency.n for one in layers if one.frequency is not None), default=0)
    choice = (
        "You chose k."
        if last.clusters.asked
        else "k from 2 to 15 has the best Euclidean silhouette; 1 if none reaches 0.1."
    )
    return {
        "queries": f"{euclid.queries:,}",
        "nearest": f"{euclid.k}",
        "base": base_range(layers),
        "halves": f" {published} {', '.join(halves)} at the last layer." if halves else "",
        "hub_k": f"{last.hubness.k}",
        "hub_k_low": "".join("₀₁₂₃₄₅₆₇₈₉"[int(digit)] for digit in str(last.hubness.k)),
        "hub_n": f"{last.hubness.n:,}",
        "cluster_n": f"{last.clusters.n:,}",
        "cluster_choice": choice,
        "frequency_n": count(words, "word"),
    }


def base_range(layers: Sequence[DeepLayer]) -> str:
    """How many distinct vectors the local dimension of these layers is measured against."""
    bases = sorted({one.dimensions["euclidean"].base for one in layers})
    return f"{bases[0]:,}" if len(bases) == 1 else f"{bases[0]:,} to {bases[-1]:,}"


def _short(value: float) -> str:
    return cosine(value) if abs(value) < 10 else plain(value)


def _finite(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None
