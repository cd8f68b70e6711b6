"""Curves of a study over its layers, drawn as `charts` declares them; one forest plot for studies of one layer."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from uncone.analysis.layers.deep_results import DeepLayer
from uncone.analysis.measures.finding import Finding
from uncone.analysis.measures.measure import Curve, Verb
from uncone.analysis.measures.registry import measure, measures, placed
from uncone.analysis.measures.unit import COUNT, NORM
from uncone.analysis.number_format import cosine, count, percent, plain
from uncone.report.charts.model import Axis, Chart, Forest, Line, Points, series_color
from uncone.report.documents.layers.charts import CONE, DEEP, CurveChart, Trace
from uncone.report.documents.layers.values import entry, layer_sinks, row_noun, short_names
from uncone.report.results.layers import LayerStudy

__all__ = [
    "LAYER_AXIS",
    "base_range",
    "curve_charts",
    "curve_of",
    "finding_line",
    "measure_scale",
    "number_style",
    "value_axis",
]

LAYER_AXIS = Axis("layer (0 = embeddings)", "layer", whole=True)
_BOUNDS = ("low", "high")
_WIDE_RANGE = 20
"""Norms that differ by more than this factor are drawn on a logarithmic axis."""


def curve_charts(study: LayerStudy, verb: Verb) -> list[Chart]:
    """The charts of a study, and one for each measure with a curve that none of them shows, such as a third party's."""
    known = {trace.measure for chart in (*CONE, *DEEP) for trace in chart.traces}
    others = [
        CurveChart(name, [Trace(name, one.title)])
        for name, one in measures(verb).items()
        if one.chart is not None and name not in known
    ]
    facts = {} if study.deep is None else _deep_facts(study.deep.layers)
    facts["dimensions"] = f"{study.source['dimensions']:,}"
    charts = (_chart(study, one, facts) for one in (*(CONE if verb == "layers" else DEEP), *others))
    return [chart for chart in charts if chart is not None]


def curve_of(name: str, row: str) -> Curve | None:
    """The curve of a measure as the registry declares it, with the noun for a row filled in."""
    curve = (measures("layers").get(name) or measure(name)).chart
    if curve is None:
        return None
    title, axis, caption = (text.replace("{row}", row) for text in (curve.title, curve.axis, curve.caption))
    return Curve(title, axis, caption, curve.zero)


def _chart(study: LayerStudy, declared: CurveChart, facts: Mapping[str, str]) -> Chart | None:
    pairs = [(trace, line) for trace in declared.traces if (line := _trace_line(study, trace)) is not None]
    if all(trace.aside for trace, _ in pairs):
        return None
    main, row = declared.traces[0].measure, row_noun(study)
    lines, several = [line for _, line in pairs], len(declared.traces) > 1
    published = [one for one in study.published if one.measure == declared.name]
    authors = [one.source.split(",")[0] for one in published]
    lines += [
        Line(
            [float(layer) for layer in range(len(one.values))],
            list(one.values),
            "raw, published" if several else author,
            "muted",
            dash="dash",
            weight="thin",
            name=one.measure,
            group=f"{one.model} on {one.corpus} ({one.source})",
        )
        for one, author in zip(published, authors, strict=True)
    ]
    sources = [f"{one.model} on {one.corpus} ({author})" for one, author in zip(published, authors, strict=True)]
    rings = _rings(study, lines[0]) if declared.sinks else []
    curve = curve_of(main, row) or Curve("", "", "")
    quantity, _, reading = (declared.caption.replace("{row}", row) or curve.caption).partition(". ")
    texts = [
        f"{quantity.removesuffix('.')}: {_course(lines[0], number_style(main))}",
        reading,
        declared.detail.format_map(facts),
        f"Dashed: {'; '.join(sources)}." if sources else "",
        "Circles mark layers with sinks and how many: vectors over 10 times the median norm." if rings else "",
    ]
    return Chart(
        declared.name,
        declared.title.replace("{row}", row) or curve.title,
        " ".join(filter(None, texts)),
        [*lines, *rings],
        LAYER_AXIS,
        value_axis(main, declared.axis or curve.axis, lines, zero=declared.zero or curve.zero),
        wide=declared.wide,
        direct=len(lines) > 1,
    )


def _trace_line(study: LayerStudy, trace: Trace) -> Line | None:
    style: dict[str, Any] = {"color": trace.color, "weight": trace.weight, "dash": trace.dash, "group": study.name}
    style["label"] = trace.label.replace("{row}", row_noun(study))
    if trace.value is None:
        findings = [(layer.number, layer.findings.get(trace.measure)) for layer in study.layers]
        return finding_line(trace.measure, findings, unsigned=trace.unsigned, **style)
    layers = () if study.deep is None else study.deep.layers
    values = [trace.value(layer) for layer in layers]
    if all(value is None for value in values):
        return None
    numbers = [float(layer.number) for layer in layers]
    return Line(numbers, values, n=[layer.n for layer in layers], name=trace.measure, **style)


def finding_line(
    name: str,
    findings: Sequence[tuple[float, Finding | None]],
    *,
    unsigned: bool = False,
    **style: Any,  # noqa: ANN401 - fields of Line
) -> Line | None:
    """A curve of a measure through findings at places; none if no finding has a value.

    `unsigned` draws absolute values without intervals.
    """
    y = [None if one is None else _finite(one.magnitude) for _, one in findings]
    if all(value is None for value in y):
        return None
    bounds = {} if unsigned else {side: [_finite(getattr(one, side, None)) for _, one in findings] for side in _BOUNDS}
    return Line(
        [float(place) for place, _ in findings],
        [value if value is None or not unsigned else abs(value) for value in y],
        n=[0 if one is None else one.n for _, one in findings],
        **{"name": f"{name}_size" if unsigned else name, **bounds, **style},
    )


def value_axis(name: str, title: str, lines: Sequence[Line], *, zero: bool) -> Axis:
    """The y axis of a measure, by its unit; norms that differ much are drawn on a logarithmic axis."""
    unit = measure(name).unit
    values = [value for line in lines for value in line.y]
    known = [value for value in values if value is not None and value > 0]
    is_wide = bool(known) and len(known) == len(values) and max(known) > _WIDE_RANGE * min(known)
    log = unit is NORM and is_wide
    return Axis(title, "value", log=log, zero=True, zero_line=zero, percent=unit.is_share, whole=unit is COUNT)


def number_style(name: str) -> Callable[[float], str]:
    """How sentences and cards print the values of a measure."""
    unit = measure(name).unit
    short: Callable[[float], str] = lambda value: cosine(value) if abs(value) < 10 else plain(value)  # noqa: E731
    return percent if unit.is_share else "{:,.0f}".format if unit is COUNT else short


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
    top, most = max(known, key=lambda pair: pair[1])
    places = dict.fromkeys(f"{style(value)} at layer {x:.0f}" for x, value in (known[0], known[-1]))
    if style(most) not in (style(known[0][1]), style(known[-1][1])):
        places[f"highest at layer {top:.0f} ({style(most)})"] = None
    return f"{', '.join(places)}."


def measure_scale(studies: Sequence[LayerStudy]) -> list[Chart]:
    """The measures of studies with one layer, each with its interval."""
    findings = {name: [study.layers[0].findings.get(name) for study in studies] for name in placed("layers", "dots")}
    names = [name for name, values in findings.items() if any(finding_line(name, [(0, one)]) for one in values)]
    forests = []
    for place, label in enumerate(short_names(studies)):
        lines = [finding_line(name, [(row, findings[name][place])]) for row, name in enumerate(names)]
        known = [line for line in lines if line is not None]
        if known:
            rows, values, low, high, n = zip(
                *((line.x[0], line.y[0], line.low[0], line.high[0], line.n[0]) for line in known), strict=True
            )
            forests.append(Forest(rows, values, low, high, label, series_color(place), n=n))
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


def _deep_facts(layers: Sequence[DeepLayer]) -> dict[str, str]:
    """What the details of a chart may name in braces."""
    last = layers[-1]
    euclidean = last.dimensions["euclidean"]
    halves = [f"{plain(one.paper)} ({name})" for name, one in last.dimensions.items() if one.paper is not None]
    published = " Published values use squared distances and are half of these:"
    words = max((one.frequency.n for one in layers if one.frequency is not None), default=0)
    return {
        "queries": f"{euclidean.queries:,}",
        "nearest": f"{euclidean.k}",
        "base": base_range(layers),
        "halves": f"{published} {', '.join(halves)} at the last layer." if halves else "",
        "hub_k": f"{last.hubness.k}",
        "hub_n": f"{last.hubness.n:,}",
        "cluster_n": f"{last.clusters.n:,}",
        "frequency_n": count(words, "word"),
    }


def base_range(layers: Sequence[DeepLayer]) -> str:
    """How many distinct vectors the local dimension of these layers is measured against."""
    bases = sorted({one.dimensions["euclidean"].base for one in layers})
    return f"{bases[0]:,}" if len(bases) == 1 else f"{bases[0]:,} to {bases[-1]:,}"


def _finite(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None
