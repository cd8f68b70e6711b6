"""The curves of `layers`, declared: which measures each chart shows. The registry of measures has the texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from uncone.analysis.layers.deep_results import DeepLayer
from uncone.report.charts.model import Dash, Number

__all__ = ["CONE", "DEEP", "CurveChart", "Trace"]


@dataclass(frozen=True)
class Trace:
    """One curve: a measure by name, or a number that `value` reads off the deep results of a layer.

    `unsigned` draws the absolute value of a correlation whose sign is arbitrary. A chart that has only `aside` curves
    is not drawn.
    """

    measure: str
    label: str
    color: str = "accent"
    weight: Literal["main", "thin", "light"] = "main"
    dash: Dash = "solid"
    value: Callable[[DeepLayer], Number] | None = None
    unsigned: bool = False
    aside: bool = False


@dataclass(frozen=True)
class CurveChart:
    """A chart of one study. Title, axis and caption are those of the first measure unless they are given here.

    The first sentence of a caption names the quantity; its values at the first and last layer are added there.

    `{row}` stands for word, token or text. `detail` follows the caption; it may name facts of the deep results in
    braces. `sinks` circles the layers that have sinks. Published curves of the measure `name` are drawn too.
    """

    name: str
    traces: Sequence[Trace]
    title: str = ""
    axis: str = ""
    caption: str = ""
    detail: str = ""
    zero: bool = False
    wide: bool = False
    sinks: bool = False


# Tables: one argument per line would make them twice as long.
# fmt: off
CONE = (
    CurveChart("baseline", [Trace("baseline", "measured")], wide=True),
    CurveChart("selfsim", [
        Trace("selfsim_adjusted", "adjusted"),
        Trace("selfsim", "raw", weight="light"),
        Trace("baseline", "random {row}s", "muted", "thin", aside=True),
    ], axis="cosine, SelfSim", detail="At zero, a word is no more similar to itself than to any other."),
    CurveChart("intrasim", [
        Trace("intrasim_adjusted_matched", "adjusted"),
        Trace("intrasim_adjusted", "minus baseline", "second", "thin"),
        Trace("intrasim", "raw", weight="light"),
        Trace("baseline", "random {row}s", "muted", "thin", aside=True),
    ], axis="cosine, IntraSim", detail="Minus the baseline, as published, it isn't zero for unrelated words."),
    CurveChart("mev", [
        Trace("mev_adjusted", "adjusted"),
        Trace("mev", "raw", weight="light"),
        Trace("mev_matched", "random {row}s", "muted", "thin", aside=True),
    ], axis="share explained, MEV"),
    CurveChart("types", [Trace("s_intra", "within"), Trace("s_inter", "between", "muted")],
        "Within and between types", "mean cosine",
        "Mean cosine of the occurrences of one word (within types, S_intra). Between types (S_inter): of two different "
        "words. The closer the two curves, the less a cosine separates words."),
    CurveChart("isoscore", [Trace("isoscore_corrected", "IsoScore")],
        detail="Corrected for the number of vectors."),
    CurveChart("partition", [Trace("partition_isotropy_unit_log10", "log₁₀ I")],
        "Isotropy: partition function", "log₁₀ I, at mean norm 1",
        "From 0 (all directions equal) downward; at -3 they differ a thousandfold. Measured at mean norm 1."),
    CurveChart("rogue", [
        Trace("rogue_share_3", "top 3"),
        Trace("rogue_share_5", "top 5", weight="light"),
        Trace("rogue_share_1", "top 1", weight="thin"),
    ], detail="A few of {dimensions} dimensions can make up most of it."),
    CurveChart("norms", [Trace("norm_mean", "mean norm")], sinks=True),
    CurveChart("mean", [Trace("mean_over_rms", "|mean|/rms")], "Distance from zero mean", "|mean of x| / rms",
        "From 0 (centered at zero) to 1 (all vectors the same)."),
)
"""The curves of every study, in the order of the page."""


def _component(place: int) -> Callable[[DeepLayer], Number]:
    def size(layer: DeepLayer) -> Number:
        values = () if layer.frequency is None else layer.frequency.components_r
        value = values[place] if place < len(values) else None
        return None if value is None else abs(value)

    return size


def _cluster_cosines(which: Literal["inter", "intra"], title: str, caption: str) -> CurveChart:
    return CurveChart(f"s_{which}_clusters", [
        Trace(f"s_{which}", "as they are", "muted", value=lambda layer: getattr(layer.clusters.raw, which)),
        Trace(f"s_{which}_within_raw", "inside clusters", "muted", "thin", "dash"),
        Trace(f"s_{which}_global", "centered"),
        Trace(f"s_{which}_within", "centered by cluster", "second"),
    ], title, f"mean cosine, S_{which}",
        f"{caption}. Subtracting means makes cosines small by construction. So clusters show only in the differences "
        "between the two centered curves, and between the two others.", zero=True)


DEEP = (
    CurveChart("lid", [
        Trace("lid_euclidean", "Euclidean"),
        Trace("lid_cosine", "cosine", "second"),
        Trace("twonn_euclidean", "TwoNN, Euclidean", weight="thin", aside=True),
        Trace("twonn_cosine", "TwoNN, cosine", "second", "thin", aside=True),
    ], "Local intrinsic dimension", "dimensions, LID",
        detail="Maximum likelihood on the distances of {queries} vectors to the {nearest} nearest of n = {base}. Thin "
        "lines: TwoNN, from the two nearest neighbors only.{halves}", wide=True),
    CurveChart("hubness", [Trace("hubness_skew", "skewness")],
        detail="Above 1.4, a few vectors are neighbors of many. By cosine, k = {hub_k}, n = {hub_n}."),
    CurveChart("antihubs", [Trace("antihub_share", "anti-hubs")],
        detail="A search hardly ever finds them. By cosine, k = {hub_k}, n = {hub_n}."),
    CurveChart("cluster_count", [Trace("cluster_count", "k")], detail="n = {cluster_n}."),
    CurveChart("silhouette", [
        Trace("cluster_silhouette", "Euclidean"),
        Trace("silhouette_cosine", "cosine", "muted", "thin", value=lambda layer: layer.clusters.silhouette_cosine),
        Trace("silhouette_chance", "by chance", "muted", "thin", "dash", lambda layer: layer.clusters.chance,
            aside=True),
    ], detail="A layer below 0.1 counts as one cluster. By chance: equally many clusters of Gaussian vectors with the "
        "same covariance.", zero=True),
    _cluster_cosines("inter", "Different {row}s in clusters: S_inter", "Mean cosine of different {row}s"),
    _cluster_cosines("intra", "One {row} in clusters: S_intra", "Mean cosine of the occurrences of one {row}"),
    CurveChart("isoscore_within", [
        Trace("isoscore_within", "inside clusters"),
        Trace("isoscore_all", "all vectors", "muted", value=lambda layer: layer.clusters.isoscore_all, aside=True),
    ]),
    CurveChart("frequency_r", [
        Trace("frequency_norm_r", "mean norm of the vectors"),
        Trace("frequency_vector_norm_r", "norm of the mean vector", "accent", "thin", "dash"),
        Trace("frequency_pc1_r_size", "component 1, |r|", "second", value=_component(0)),
        Trace("frequency_pc2_r_size", "component 2, |r|", "second", "light", value=_component(1)),
        Trace("frequency_pc3_r_size", "component 3, |r|", "second", "thin", value=_component(2)),
        Trace("frequency_explained", "all together, R²", "muted", "thin", "dash"),
    ], "Word frequency", "correlation, r",
        detail="The norm of the mean vector falls with the number of occurrences anyway. The sign of a principal "
        "component is arbitrary, so only the size of its correlation is drawn. R²: the share of the variance of "
        "log-frequency that the norm and ten components explain. n = {frequency_n}.", wide=True),
    CurveChart("manifold_ratio", [Trace("manifold_ratio", "ratio")],
        detail="About 1 is flat. The table of manifolds tells curved sheets from clusters."),
    CurveChart("position_angle", [
        Trace("position_angle_r", "position and angle, |r|", unsigned=True),
        Trace("position_share", "explained by position", "muted", "thin",
            value=lambda layer: layer.manifold.position_share, aside=True),
    ], axis="correlation, share", detail="The direction of the curve is arbitrary, so only the size is drawn."),
)
"""The curves that `--deep` adds, in the order of the page."""
