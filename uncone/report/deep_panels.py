"""The curves of what lies behind the cone: one study in detail, several over one another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from uncone.diagnosis.deep_results import Clusters, DeepLayer, TypeCosines
from uncone.diagnosis.measures.registry import measures
from uncone.diagnosis.words import count, plain
from uncone.report.deep_lines import base_rows, row_noun
from uncone.report.overlay_panels import overlay
from uncone.report.panel import Number, Panel, Series, course, curve, further_panels, there
from uncone.report.study import LayerStudy

__all__ = ["deep_panels"]

_COMPONENTS = 3
"""Principal components whose correlation with frequency is drawn."""
_CENTRING = (
    "Subtracting means makes cosines small by construction, so only differences speak of clusters: what lies between "
    "the two centred curves, and between the two that are not."
)


def deep_panels(parts: Sequence[LayerStudy]) -> list[Panel]:
    """What there is to draw of several layers; a study of one layer has its tables."""
    deep = [study for study in parts if study.deep is not None]
    if not deep or all(len(study.layers) == 1 for study in deep):
        return []
    if len(parts) > 1:
        what = row_noun(deep[0])
        panels = [overlay(deep, one, what) for one in measures("deep").values()]
        return [_finished(panel, deep) for panel in panels if panel is not None]
    makers = (_lid, _skew, _antihubs, _count, _silhouette, _inter, _intra, _isoscore, _frequency, _ratio, _angle)
    drawn = [panel for make in makers if (panel := make(parts[0])) is not None]
    return [*drawn, *further_panels(parts[0], measures("deep").values(), drawn)]


def _finished(panel: Panel, parts: Sequence[LayerStudy]) -> Panel:
    """With the rows behind local dimensions, and without signs that are arbitrary."""
    if panel.name == "position_angle_r":
        return replace(panel, series=[_sized(one) for one in panel.series])
    return replace(panel, caption=panel.caption + _bases(parts, panel.name))


def _bases(parts: Sequence[LayerStudy], name: str) -> str:
    """How many rows each study's local dimension is measured against."""
    if name not in ("lid_euclidean", "lid_cosine"):
        return ""
    metric = name.removeprefix("lid_")
    bases = [max(one.dimensions[metric].base for one in study.deep.layers) for study in parts if study.deep]
    said = " and ".join(f"{base:,}" for base in dict.fromkeys(bases))
    return f" Here n is {said}{' for all' if len(set(bases)) == 1 and len(bases) > 1 else ''}."


def _layers(study: LayerStudy) -> Sequence[DeepLayer]:
    assert study.deep is not None
    return study.deep.layers


def _lid(study: LayerStudy) -> Panel | None:
    euclid, angle = curve(study, "lid_euclidean", "Euclidean", "accent"), curve(study, "lid_cosine", "cosine", "second")
    if euclid is None and angle is None:
        return None
    layers = _layers(study)
    last = layers[-1].dimensions
    halves = [f"{plain(one.paper)} ({name})" for name, one in last.items() if one.paper is not None]
    one = last["euclidean"]
    caption = (
        f"In how many directions a row has neighbours, Euclidean: {course(euclid or angle)} Maximum likelihood on the "
        f"distances of {one.queries:,} rows to the {one.k} nearest of n = {base_rows(layers)}; it grows with n. Thin: "
        "TwoNN, from the two nearest alone."
    )
    if halves:
        caption += f" Published values are on squared distances, half of these: {', '.join(halves)} at the last layer."
    drawn = there(
        euclid,
        angle,
        curve(study, "twonn_euclidean", "TwoNN, Euclidean", "accent", "thin"),
        curve(study, "twonn_cosine", "TwoNN, cosine", "second", "thin"),
    )
    return Panel("lid", "Local intrinsic dimension", caption, "dimensions, LID", drawn, wide=True)


def _skew(study: LayerStudy) -> Panel | None:
    main = curve(study, "hubness_skew", "skewness", "accent")
    if main is None:
        return None
    hubs = _layers(study)[-1].hubness
    caption = (
        f"Skewness of how often a row is among the {hubs.k} nearest of others, by cosine, n = {hubs.n:,}: "
        f"{course(main)} Near 0 all rows are neighbours about as often; above 1.4 a few are everybody's."
    )
    return Panel("hubness", "Hubs", caption, f"skewness of N{_low(hubs.k)}", [main])


def _antihubs(study: LayerStudy) -> Panel | None:
    main = curve(study, "antihub_share", "anti-hubs", "accent")
    if main is None:
        return None
    hubs = _layers(study)[-1].hubness
    caption = f"Rows that are among the {hubs.k} nearest of no other: a search hardly ever finds them. n = {hubs.n:,}."
    return Panel("antihubs", "Anti-hubs", caption, "share of the rows", [main], share=True)


def _count(study: LayerStudy) -> Panel | None:
    main = curve(study, "cluster_count", "k", "accent")
    if main is None:
        return None
    asked = _layers(study)[-1].clusters.asked
    how = "k was given" if asked else "k from 2 to 15 by the Euclidean silhouette, 1 where none reaches 0.1"
    caption = f"k-means; {how}. n = {_layers(study)[-1].clusters.n:,}."
    return Panel("cluster_count", "Clusters", caption, "clusters, k", [main])


def _silhouette(study: LayerStudy) -> Panel | None:
    main = curve(study, "cluster_silhouette", "Euclidean", "accent")
    angle = _made(study, "cosine", lambda one: one.clusters.silhouette_cosine, "muted", "thin", "silhouette_cosine")
    if main is None:
        return None
    chance = _made(study, "by chance", lambda one: one.clusters.chance, "muted", "dashed", "silhouette_chance")
    caption = f"1 is far apart, 0 is no clusters at all: {course(main)} Below 0.1 a layer counts as one cluster."
    if chance is not None:
        caption += " Dashed: as many clusters of Gaussian rows with the same covariance, slices of one cloud."
    drawn = there(main, angle, chance)
    return Panel("silhouette", "How clear the clusters are", caption, "silhouette", drawn, zero=True)


def _inter(study: LayerStudy) -> Panel | None:
    what = row_noun(study)
    return _cosines(study, "inter", f"Different {what}s in clusters: S_inter", f"Mean cosine of different {what}s")


def _intra(study: LayerStudy) -> Panel | None:
    what = row_noun(study)
    return _cosines(study, "intra", f"One {what} in clusters: S_intra", f"Mean cosine of the occurrences of one {what}")


def _cosines(study: LayerStudy, which: str, title: str, said: str) -> Panel | None:
    """As they are, after centring all rows, inside clusters as they are, and inside clusters after centring those."""

    def of(pick: Callable[[Clusters], TypeCosines]) -> Callable[[DeepLayer], Number]:
        return lambda one: getattr(pick(one.clusters), which)

    drawn = there(
        _made(study, "as they are", of(lambda one: one.raw), "muted", "main", f"s_{which}"),
        _made(study, "inside clusters", of(lambda one: one.within_raw), "muted", "dashed", f"s_{which}_within_raw"),
        curve(study, f"s_{which}_global", "centred", "accent"),
        curve(study, f"s_{which}_within", "centred by cluster", "second"),
    )
    if not drawn:
        return None
    return Panel(f"s_{which}_clusters", title, f"{said}. {_CENTRING}", f"mean cosine, S_{which}", drawn, zero=True)


def _isoscore(study: LayerStudy) -> Panel | None:
    main = curve(study, "isoscore_within", "inside clusters", "accent")
    if main is None:
        return None
    every = _made(study, "all rows", lambda one: one.clusters.isoscore_all, "muted", "main", "isoscore_all")
    caption = f"1 uses all directions alike, 0 only one. Inside clusters, weighted by their size: {course(main)}"
    title = "Isotropy inside clusters: IsoScore"
    return Panel("isoscore_within", title, caption, "IsoScore, corrected", there(main, every))


def _frequency(study: LayerStudy) -> Panel | None:
    norm = curve(study, "frequency_norm_r", "mean norm of the rows", "accent")
    vector = curve(study, "frequency_vector_norm_r", "norm of the mean vector", "accent", "dashed")
    components = [_component(study, place) for place in range(_COMPONENTS)]
    explained = curve(study, "frequency_explained", "all together, R²", "muted", "dashed")
    drawn = there(norm, vector, *components, explained)
    if not drawn:
        return None
    n = max((one.frequency.n for one in _layers(study) if one.frequency is not None), default=0)
    caption = f"Correlation of a word's log-frequency with the mean norm of its rows: {course(norm)} " if norm else ""
    caption += (
        "The norm of the mean vector falls with the number of rows anyway. With the first principal components only "
        "the size counts: their sign is arbitrary. R²: what norm and ten components explain of log-frequency. "
        f"n = {count(n, 'word')}."
    )
    return Panel("frequency_r", "Word frequency", caption, "correlation, r", drawn, zero=True, wide=True)


def _component(study: LayerStudy, place: int) -> Series | None:
    def size(one: DeepLayer) -> Number:
        known = () if one.frequency is None else one.frequency.components_r
        value = known[place] if place < len(known) else None
        return None if value is None else abs(value)

    weight = "main" if place == 0 else "light" if place == 1 else "thin"
    return _made(study, f"component {place + 1}, |r|", size, "second", weight, f"frequency_pc{place + 1}_r_size")


def _ratio(study: LayerStudy) -> Panel | None:
    main = curve(study, "manifold_ratio", "ratio", "accent")
    if main is None:
        return None
    caption = (
        f"Local dimension over that of Gaussian rows with the same mean and covariance: {course(main)} About 1 is "
        "flat. A curved sheet lies well below, but so do many small clusters: see the table of manifolds."
    )
    return Panel("manifold_ratio", "Curved or flat", caption, "LID / LID if flat", [main])


def _angle(study: LayerStudy) -> Panel | None:
    signed = curve(study, "position_angle_r", "position and angle, |r|", "accent")
    if signed is None:
        return None
    main = _sized(signed)
    caption = (
        f"Correlation of the position of a row with the angle along the curve of the mean rows: {course(main)} "
        "Which way round is arbitrary, so only its size is drawn."
    )
    share = _made(
        study, "explained by position", lambda one: one.manifold.position_share, "muted", "thin", "position_share"
    )
    title = "Position along the curve"
    return Panel("position_angle", title, caption, "correlation, share", there(main, share), zero=True)


def _sized(series: Series) -> Series:
    """The same without signs, where these are arbitrary."""
    y = [None if value is None else abs(value) for value in series.y]
    unknown = [None] * len(y)
    return replace(series, measure=f"{series.measure}_size", y=y, low=unknown, high=unknown)


def _made(
    study: LayerStudy,
    label: str,
    value: Callable[[DeepLayer], Number],
    colour: str,
    weight: str,
    measure: str,
) -> Series | None:
    """A curve through what is no finding of its own."""
    layers = _layers(study)
    y = [value(one) for one in layers]
    if all(one is None for one in y):
        return None
    numbers, empty = [one.number for one in layers], [None] * len(layers)
    x = [float(number) for number in numbers]
    return Series(study.name, measure, label, colour, x, y, empty, empty, [one.n for one in layers], numbers, weight)


def _low(number: int) -> str:
    return "".join("₀₁₂₃₄₅₆₇₈₉"[int(digit)] for digit in str(number))
