"""Curves of a study over its layers: which measures each chart shows, and how they are drawn."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from uncone.analysis.layers.deep_results import DeepLayer
from uncone.analysis.measures.finding import Finding
from uncone.analysis.measures.measure import Curve, Verb
from uncone.analysis.measures.registry import measure, measures, placed
from uncone.analysis.measures.unit import COUNT, NORM
from uncone.analysis.number_format import count, plain
from uncone.report.charts.model import Axis, Chart, Dash, Forest, Line, Number, Points, Weight
from uncone.report.charts.theme import series_color
from uncone.report.document import present
from uncone.report.documents.layers.overview import base_range, entry, number_style, short_names

if TYPE_CHECKING:
    from uncone.report.documents.layers import LayerStudy

__all__ = ["LAYER_AXIS", "curve_charts", "curve_of", "finding_line", "measure_scale", "value_axis"]

LAYER_AXIS = Axis("layer (0 = embeddings)", "layer", whole=True)
_BOUNDS = ("low", "high")
_WIDE_RANGE = 20
"""Norms that differ by more than this factor are drawn on a logarithmic axis."""


@dataclass(frozen=True)
class _Trace:
    """One curve: a measure by name, or a number that `value` reads off the deep results of a layer.

    `unsigned` draws the absolute value of a correlation whose sign is arbitrary. A chart that has only `aside` curves
    is not drawn.
    """

    measure: str
    label: str
    color: str = "accent"
    weight: Weight = "main"
    dash: Dash = "solid"
    value: Callable[[DeepLayer], Number] | None = None
    unsigned: bool = False
    aside: bool = False


@dataclass(frozen=True)
class _CurveChart:
    """A chart of one study. Title, axis and caption are those of the first measure unless they are given here.

    The first sentence of a caption names the quantity; its values at the first and last layer are added there.

    `{row}` stands for word, token or text. `detail` follows the caption; it may name facts of the deep results in
    braces. `sinks` circles the layers that have sinks. Published curves of the measure `name` are drawn too.
    """

    name: str
    traces: Sequence[_Trace]
    title: str = ""
    axis: str = ""
    caption: str = ""
    detail: str = ""
    zero: bool = False
    wide: bool = False
    sinks: bool = False


# Tables: one argument per line would make them twice as long.
# fmt: off
_CONE = (
    _CurveChart("baseline", [
        _Trace("baseline", "measured"),
        _Trace("diverse_baseline", "on many subjects", "muted", "thin", aside=True),
    ], wide=True),
    _CurveChart("selfsim", [
        _Trace("selfsim_adjusted", "adjusted"),
        _Trace("selfsim", "raw", weight="light"),
        _Trace("baseline", "random {row}s", "muted", "thin", aside=True),
    ], axis="cosine, SelfSim", detail="At zero, a word is no more similar to itself than to any other."),
    _CurveChart("intrasim", [
        _Trace("intrasim_adjusted_matched", "adjusted"),
        _Trace("intrasim_adjusted", "minus baseline", "second", "thin"),
        _Trace("intrasim", "raw", weight="light"),
        _Trace("baseline", "random {row}s", "muted", "thin", aside=True),
    ], axis="cosine, IntraSim", detail="Minus the baseline, as published, it isn't zero for unrelated words."),
    _CurveChart("mev", [
        _Trace("mev_adjusted", "adjusted"),
        _Trace("mev", "raw", weight="light"),
        _Trace("mev_matched", "random {row}s", "muted", "thin", aside=True),
    ], axis="share explained, MEV"),
    _CurveChart("types", [_Trace("s_intra", "within"), _Trace("s_inter", "between", "muted")],
        "Within and between types", "mean cosine",
        "Mean cosine of the occurrences of one word (within types, S_intra). Between types (S_inter): of two different "
        "words. The closer the two curves, the less a cosine separates words."),
    _CurveChart("isoscore", [_Trace("isoscore_corrected", "IsoScore")],
        detail="Corrected for the number of vectors."),
    _CurveChart("partition", [_Trace("partition_isotropy_unit_log10", "log₁₀ I")],
        "Isotropy: partition function", "log₁₀ I, at mean norm 1",
        "From 0 (all directions equal) downward; at -3 they differ a thousandfold. Measured at mean norm 1."),
    _CurveChart("rogue", [
        _Trace("rogue_share_3", "top 3"),
        _Trace("rogue_share_5", "top 5", weight="light"),
        _Trace("rogue_share_1", "top 1", weight="thin"),
    ], detail="A few of {dimensions} dimensions can make up most of it."),
    _CurveChart("norms", [_Trace("norm_mean", "mean norm")], sinks=True),
    _CurveChart("mean", [_Trace("mean_over_rms", "|mean|/rms")], "Distance from zero mean", "|mean of x| / rms",
        "From 0 (centered at zero) to 1 (all vectors the same)."),
)
"""The curves of every study, in the order of the page."""


def _component(place: int) -> Callable[[DeepLayer], Number]:
    def size(layer: DeepLayer) -> Number:
        values = () if layer.frequency is None else layer.frequency.components_r
        value = values[place] if place < len(values) else None
        return None if value is None else abs(value)

    return size


def _cluster_cosines(kind: Literal["inter", "intra"], title: str, caption: str) -> _CurveChart:
    return _CurveChart(f"s_{kind}_clusters", [
        _Trace(f"s_{kind}", "raw", "muted", value=lambda layer: getattr(layer.clusters.raw, kind)),
        _Trace(f"s_{kind}_within_raw", "inside clusters", "muted", "thin", "dash"),
        _Trace(f"s_{kind}_global", "centered"),
        _Trace(f"s_{kind}_within", "centered by cluster", "second"),
    ], title, f"mean cosine, S_{kind}",
        f"{caption}. Subtracting means makes cosines small by construction. So clusters show only in the differences "
        "between the two centered curves, and between the two others.", zero=True)


_DEEP = (
    _CurveChart("lid", [
        _Trace("lid_euclidean", "Euclidean"),
        _Trace("lid_cosine", "cosine", "second"),
        _Trace("twonn_euclidean", "TwoNN, Euclidean", weight="thin", aside=True),
        _Trace("twonn_cosine", "TwoNN, cosine", "second", "thin", aside=True),
    ], "Local intrinsic dimension", "dimensions, LID",
        detail="Maximum likelihood on the distances of {queries} vectors to the {nearest} nearest of n = {base}. Thin "
        "lines: TwoNN, from the two nearest neighbors only.{halves}", wide=True),
    _CurveChart("hubness", [_Trace("hubness_skew", "skewness")],
        detail="Above 1.4, a few vectors are neighbors of many. By cosine, k = {hub_k}, n = {hub_n}."),
    _CurveChart("antihubs", [_Trace("antihub_share", "anti-hubs")],
        detail="A search hardly ever finds them. By cosine, k = {hub_k}, n = {hub_n}."),
    _CurveChart("cluster_count", [_Trace("cluster_count", "k")], detail="n = {cluster_n}."),
    _CurveChart("silhouette", [
        _Trace("cluster_silhouette", "Euclidean"),
        _Trace("silhouette_cosine", "cosine", "muted", "thin", value=lambda layer: layer.clusters.silhouette_cosine),
        _Trace("silhouette_chance", "by chance", "muted", "thin", "dash", lambda layer: layer.clusters.chance,
            aside=True),
    ], detail="A layer below 0.1 counts as one cluster. By chance: as many clusters of Gaussian vectors with the same "
        "covariance.", zero=True),
    _cluster_cosines("inter", "Different {row}s in clusters: S_inter", "Mean cosine of different {row}s"),
    _cluster_cosines("intra", "One {row} in clusters: S_intra", "Mean cosine of the occurrences of one {row}"),
    _CurveChart("isoscore_within", [
        _Trace("isoscore_within", "inside clusters"),
        _Trace("isoscore_all", "all vectors", "muted", value=lambda layer: layer.clusters.isoscore_all, aside=True),
    ]),
    _CurveChart("frequency_r", [
        _Trace("frequency_norm_r", "mean norm of the vectors"),
        _Trace("frequency_vector_norm_r", "norm of the mean vector", "accent", "thin", "dash"),
        _Trace("frequency_pc1_r_size", "component 1, |r|", "second", value=_component(0)),
        _Trace("frequency_pc2_r_size", "component 2, |r|", "second", "light", value=_component(1)),
        _Trace("frequency_pc3_r_size", "component 3, |r|", "second", "thin", value=_component(2)),
        _Trace("frequency_explained", "all together, R²", "muted", "thin", "dash"),
    ], "Word frequency", "correlation, r",
        detail="The norm of the mean vector falls with the number of occurrences anyway. The sign of a principal "
        "component is arbitrary, so only the size of its correlation is drawn. R²: the share of the variance of "
        "log-frequency that the norm and ten components explain. n = {frequency_n}.", wide=True),
    _CurveChart("manifold_ratio", [_Trace("manifold_ratio", "ratio")],
        detail="About 1 is flat. The table of manifolds separates curved sheets from clusters."),
    _CurveChart("position_angle", [
        _Trace("position_angle_r", "position and angle, |r|", unsigned=True),
        _Trace("position_share", "explained by position", "muted", "thin",
            value=lambda layer: layer.manifold.position_share, aside=True),
    ], axis="correlation, share", detail="The direction of the curve is arbitrary, so only the size is drawn."),
)
"""The curves that `--deep` adds, in the order of the page."""
# fmt: on


def curve_charts(study: LayerStudy, verb: Verb) -> list[Chart]:
    """The charts of a study, and one for each measure with a curve that none of them shows, such as a third party's."""
    names = {trace.measure for chart in (*_CONE, *_DEEP) for trace in chart.traces}
    others = [
        _CurveChart(name, [_Trace(name, declared.title)])
        for name, declared in measures(verb).items()
        if declared.chart is not None and name not in names
    ]
    facts = {} if study.deep is None else _deep_facts(study.deep.layers)
    facts["dimensions"] = f"{study.source['dimensions']:,}"
    charts = (_chart(study, each, facts) for each in (*(_CONE if verb == "layers" else _DEEP), *others))
    return present(*charts)


def curve_of(name: str, row: str) -> Curve | None:
    """The curve of a measure as the registry declares it, with the noun for a row filled in."""
    curve = (measures("layers").get(name) or measure(name)).chart
    if curve is None:
        return None
    title, axis, caption = (text.replace("{row}", row) for text in (curve.title, curve.axis, curve.caption))
    return Curve(title, axis, caption, curve.zero)


def _chart(study: LayerStudy, declared: _CurveChart, facts: Mapping[str, str]) -> Chart | None:
    pairs = [(trace, line) for trace in declared.traces if (line := _trace_line(study, trace)) is not None]
    if all(trace.aside for trace, _ in pairs):
        return None
    main, row = declared.traces[0].measure, study.row_noun
    lines, several = [line for _, line in pairs], len(declared.traces) > 1
    published = [curve for curve in study.published if curve.measure == declared.name]
    authors = [curve.source.split(",")[0] for curve in published]
    sources = []
    for each, author in zip(published, authors, strict=True):
        layers, label = [float(layer) for layer in range(len(each.values))], "raw, published" if several else author
        style: dict[str, Any] = {"dash": "dash", "weight": "thin", "name": each.measure}
        group = f"{each.model} on {each.corpus}"
        lines.append(Line(layers, list(each.values), label, "muted", **style, group=f"{group} ({each.source})"))
        sources.append(f"{group} ({author})")
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
    title, caption = declared.title.replace("{row}", row) or curve.title, " ".join(filter(None, texts))
    y = value_axis(main, declared.axis or curve.axis, lines, zero=declared.zero or curve.zero)
    chart = Chart(declared.name, title, caption, [*lines, *rings], LAYER_AXIS, y)
    return replace(chart, wide=declared.wide, direct=len(lines) > 1)


def _trace_line(study: LayerStudy, trace: _Trace) -> Line | None:
    style: dict[str, Any] = {"color": trace.color, "weight": trace.weight, "dash": trace.dash, "group": study.name}
    style["label"] = trace.label.replace("{row}", study.row_noun)
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
    y = [None if each is None else _finite(each.magnitude) for _, each in findings]
    if all(value is None for value in y):
        return None
    bounds = (
        {} if unsigned else {side: [_finite(getattr(each, side, None)) for _, each in findings] for side in _BOUNDS}
    )
    return Line(
        [float(place) for place, _ in findings],
        [value if value is None or not unsigned else abs(value) for value in y],
        n=[0 if each is None else each.n for _, each in findings],
        **{"name": f"{name}_size" if unsigned else name, **bounds, **style},
    )


def value_axis(name: str, title: str, lines: Sequence[Line], *, zero: bool) -> Axis:
    """The y axis of a measure, by its unit; norms that differ much are drawn on a logarithmic axis."""
    unit = measure(name).unit
    values = [value for line in lines for value in line.y]
    positive = [value for value in values if value is not None and value > 0]
    is_wide = bool(positive) and len(positive) == len(values) and max(positive) > _WIDE_RANGE * min(positive)
    log = unit is NORM and is_wide
    return Axis(title, "value", log=log, zero=True, zero_line=zero, percent=unit.is_share, whole=unit is COUNT)


def _rings(study: LayerStudy, line: Line) -> list[Points]:
    counts = {float(layer): finding.magnitude for layer, finding in study.sinks}
    points = [(x, y, f"{counts[x]:,.0f}") for x, y in zip(line.x, line.y, strict=True) if y is not None and x in counts]
    if not points:
        return []
    x, y, texts = zip(*points, strict=True)
    return [Points(x, y, "sinks", "second", 11, ring=True, texts=texts, hover=[f"sinks: {text}" for text in texts])]


def _course(line: Line, style: Callable[[float], str]) -> str:
    """A curve in a sentence: where it starts and ends, and where it is highest if that is elsewhere."""
    points = [(x, value) for x, value in zip(line.x, line.y, strict=True) if value is not None]
    top, most = max(points, key=lambda pair: pair[1])
    places = dict.fromkeys(f"{style(value)} at layer {x:.0f}" for x, value in (points[0], points[-1]))
    if style(most) not in (style(points[0][1]), style(points[-1][1])):
        places[f"highest at layer {top:.0f} ({style(most)})"] = None
    return f"{', '.join(places)}."


def measure_scale(studies: Sequence[LayerStudy]) -> list[Chart]:
    """The measures of studies with one layer, each with its interval."""
    findings = {name: [study.layers[0].findings.get(name) for study in studies] for name in placed("layers", "dots")}
    names = [name for name, values in findings.items() if any(finding_line(name, [(0, each)]) for each in values)]
    forests = []
    for place, label in enumerate(short_names(studies)):
        lines = [finding_line(name, [(row, findings[name][place])]) for row, name in enumerate(names)]
        points = [(line.x[0], line.y[0], line.low[0], line.high[0], line.n[0]) for line in lines if line is not None]
        if points:
            rows, values, low, high, n = zip(*points, strict=True)
            forests.append(Forest(rows, values, low, high, label, series_color(place), n=n))
    caption = (
        "There is only one layer, so there are no curves. Every measure is shown with its 95 % interval if it has one."
    )
    x = Axis("value", "value", zero_line=True)
    y = Axis(name="measure", categories=[entry(name, studies[0]).title for name in names])
    return [Chart("measures", "The measures on one scale", caption, forests, x, y, wide=True)] if forests else []


def _deep_facts(layers: Sequence[DeepLayer]) -> dict[str, str]:
    """The facts that the details of a chart may name in braces."""
    last = layers[-1]
    euclidean = last.dimensions["euclidean"]
    halves = [f"{plain(each.paper)} ({name})" for name, each in last.dimensions.items() if each.paper is not None]
    published = " Published values use squared distances and are half of these:"
    words = max((layer.frequency.n for layer in layers if layer.frequency is not None), default=0)
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


def _finite(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None
