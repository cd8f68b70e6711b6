"""The curves of `layers`, declared once: which measures a chart shows, its titles, and how to read it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from uncone.analysis.layers.deep_results import Clusters, DeepLayer, TypeCosines
from uncone.report.charts.model import Dash, Number

__all__ = ["CONE", "DEEP", "CurveChart", "Trace"]


@dataclass(frozen=True)
class Trace:
    """One curve: a measure by name, or a number that `value` reads off the deep results of a layer.

    `unsigned` draws the absolute value, for correlations with an arbitrary sign.
    """

    measure: str
    label: str
    color: str = "accent"
    weight: Literal["main", "thin", "light"] = "main"
    dash: Dash = "solid"
    value: Callable[[DeepLayer], Number] | None = None
    unsigned: bool = False
    aside: bool = False
    """Whether it only accompanies others: a chart of nothing else is not drawn."""


@dataclass(frozen=True)
class CurveChart:
    """A chart of a study: `about` says what is measured, `reading` how to read it, `detail` what else is drawn.

    Texts may name facts of the study in braces, see `_facts`. `zero` draws the zero line. `published` names a measure
    whose published curves are drawn too. `sinks` circles the layers that have sinks, and a wide range of values makes
    their axis logarithmic. The first of `traces` is the main curve.
    """

    name: str
    title: str
    y_title: str
    about: str
    traces: Sequence[Trace]
    reading: str = ""
    detail: str = ""
    zero: bool = False
    wide: bool = False
    published: str = ""
    sinks: bool = False


CONE = (
    CurveChart(
        "baseline",
        "How similar random {noun} are",
        "mean cosine, baseline",
        "Mean cosine of {pairs}",
        [Trace("baseline", "measured")],
        reading="The higher it is, the less a score means.",
        wide=True,
        published="baseline",
    ),
    CurveChart(
        "selfsim",
        "A word across contexts: self-similarity",
        "cosine, SelfSim",
        "Mean cosine of a word with itself in other texts, minus that of random {noun}",
        [
            Trace("selfsim_adjusted", "adjusted"),
            Trace("selfsim", "raw", weight="light"),
            Trace("baseline", "random {noun}", "muted", "thin", aside=True),
        ],
        reading="At zero, a word is no more similar to itself than to any other.",
        zero=True,
        published="selfsim",
    ),
    CurveChart(
        "intrasim",
        "The words of a sentence: intra-sentence similarity",
        "cosine, IntraSim",
        "Mean cosine of a sentence's words with their mean, minus that of as many unrelated words",
        [
            Trace("intrasim_adjusted_matched", "adjusted"),
            Trace("intrasim_adjusted", "minus baseline", "second", "thin"),
            Trace("intrasim", "raw", weight="light"),
            Trace("baseline", "random {noun}", "muted", "thin", aside=True),
        ],
        detail="Minus the baseline, as published, it isn't zero for unrelated words.",
        zero=True,
        published="intrasim",
    ),
    CurveChart(
        "mev",
        "Can one vector stand for a word? MEV",
        "share explained, MEV",
        "Share of a word's occurrences that one vector explains, minus that of as many occurrences of different words",
        [
            Trace("mev_adjusted", "adjusted"),
            Trace("mev", "raw", weight="light"),
            Trace("mev_matched", "random {noun}", "muted", "thin", aside=True),
        ],
        zero=True,
    ),
    CurveChart(
        "types",
        "Within and between types",
        "mean cosine",
        "Mean cosine between types (S_inter: two different words) and within types (S_intra: occurrences of one word)",
        [Trace("s_intra", "within"), Trace("s_inter", "between", "muted")],
        reading="The closer the two curves, the less a cosine separates words.",
    ),
    CurveChart(
        "isoscore",
        "Isotropy: IsoScore",
        "IsoScore, corrected",
        "From 0 (one direction) to 1 (all directions used equally)",
        [Trace("isoscore_corrected", "IsoScore")],
        detail="Corrected for the number of vectors.",
    ),
    CurveChart(
        "partition",
        "Isotropy: partition function",
        "log₁₀ I, at mean norm 1",
        "From 0 (all directions equal) downward; at -3 they differ a thousandfold",
        [Trace("partition_isotropy_unit_log10", "log₁₀ I")],
        detail="Measured at mean norm 1.",
    ),
    CurveChart(
        "rogue",
        "Rogue dimensions",
        "share of the baseline",
        "Share of the mean cosine that comes from the strongest of {dimensions} dimensions",
        [
            Trace("rogue_share_3", "top 3"),
            Trace("rogue_share_5", "top 5", weight="light"),
            Trace("rogue_share_1", "top 1", weight="thin"),
        ],
        reading="A few rogue dimensions can make up most of it. It isn't measured if the baseline is below 0.05.",
    ),
    CurveChart(
        "norms",
        "Norms of the vectors",
        "mean norm, |x|",
        "Mean length of a vector",
        [Trace("norm_mean", "mean norm")],
        sinks=True,
    ),
    CurveChart(
        "mean",
        "Distance from zero mean",
        "|mean of x| / rms",
        "From 0 (centered at zero) to 1 (all vectors the same)",
        [Trace("mean_over_rms", "|mean|/rms")],
    ),
)
"""The curves of every study, in the order of the page."""


def _cosines(
    which: Literal["inter", "intra"], pick: Callable[[Clusters], TypeCosines]
) -> Callable[[DeepLayer], Number]:
    return lambda layer: getattr(pick(layer.clusters), which)


def _component(place: int) -> Callable[[DeepLayer], Number]:
    def size(layer: DeepLayer) -> Number:
        known = () if layer.frequency is None else layer.frequency.components_r
        value = known[place] if place < len(known) else None
        return None if value is None else abs(value)

    return size


def _cluster_cosines(which: Literal["inter", "intra"], title: str, about: str) -> CurveChart:
    return CurveChart(
        f"s_{which}_clusters",
        title,
        f"mean cosine, S_{which}",
        about,
        [
            Trace(f"s_{which}", "as they are", "muted", value=_cosines(which, lambda one: one.raw)),
            Trace(
                f"s_{which}_within_raw",
                "inside clusters",
                "muted",
                "thin",
                "dash",
                _cosines(which, lambda one: one.within_raw),
            ),
            Trace(f"s_{which}_global", "centered"),
            Trace(f"s_{which}_within", "centered by cluster", "second"),
        ],
        reading="Subtracting means makes cosines small by construction. So clusters show only in the differences: "
        "between the two centered curves, and between the two others.",
        zero=True,
    )


_LID = "Number of directions in which a vector has neighbors"
_ISOSCORE = (
    "IsoScore inside clusters, weighted by their size, from 0 (one direction) to 1 (all directions used equally)"
)

DEEP = (
    CurveChart(
        "lid",
        "Local intrinsic dimension",
        "dimensions, LID",
        f"{_LID}, Euclidean",
        [
            Trace("lid_euclidean", "Euclidean"),
            Trace("lid_cosine", "cosine", "second"),
            Trace("twonn_euclidean", "TwoNN, Euclidean", weight="thin", aside=True),
            Trace("twonn_cosine", "TwoNN, cosine", "second", "thin", aside=True),
        ],
        detail="Maximum likelihood on the distances of {queries} vectors to the {nearest} nearest of n = {base}. It "
        "grows with n. Thin lines: TwoNN, from the two nearest neighbors only.{halves}",
        wide=True,
    ),
    CurveChart(
        "hubness",
        "Hubs",
        "skewness of N{hub_k_low}",
        "Skewness of how often a vector is among the {hub_k} nearest neighbors of others, by cosine (n = {hub_n})",
        [Trace("hubness_skew", "skewness")],
        reading="Near 0, all vectors are neighbors about equally often. Above 1.4, a few are neighbors of many.",
    ),
    CurveChart(
        "antihubs",
        "Anti-hubs",
        "share of the vectors",
        "Vectors that are among the {hub_k} nearest neighbors of no other vector (n = {hub_n})",
        [Trace("antihub_share", "anti-hubs")],
        reading="A search hardly ever finds them.",
    ),
    CurveChart(
        "cluster_count",
        "Clusters",
        "clusters, k",
        "Number of k-means clusters (n = {cluster_n})",
        [Trace("cluster_count", "k")],
        reading="{cluster_choice}",
    ),
    CurveChart(
        "silhouette",
        "How clear the clusters are",
        "silhouette",
        "From 0 (no clusters) to 1 (clusters far apart)",
        [
            Trace("cluster_silhouette", "Euclidean"),
            Trace("silhouette_cosine", "cosine", "muted", "thin", value=lambda layer: layer.clusters.silhouette_cosine),
            Trace(
                "silhouette_chance",
                "by chance",
                "muted",
                "thin",
                "dash",
                lambda layer: layer.clusters.chance,
                aside=True,
            ),
        ],
        reading="A layer below 0.1 counts as one cluster.",
        detail="By chance: equally many clusters of Gaussian vectors with the same covariance.",
        zero=True,
    ),
    _cluster_cosines("inter", "Different {unit}s in clusters: S_inter", "Mean cosine of different {unit}s"),
    _cluster_cosines("intra", "One {unit} in clusters: S_intra", "Mean cosine of the occurrences of one {unit}"),
    CurveChart(
        "isoscore_within",
        "Isotropy inside clusters: IsoScore",
        "IsoScore, corrected",
        _ISOSCORE,
        [
            Trace("isoscore_within", "inside clusters"),
            Trace("isoscore_all", "all vectors", "muted", value=lambda layer: layer.clusters.isoscore_all, aside=True),
        ],
    ),
    CurveChart(
        "frequency_r",
        "Word frequency",
        "correlation, r",
        "Correlation of a word's log-frequency with the mean norm of its vectors",
        [
            Trace("frequency_norm_r", "mean norm of the vectors"),
            Trace("frequency_vector_norm_r", "norm of the mean vector", "accent", "thin", "dash"),
            Trace("frequency_pc1_r_size", "component 1, |r|", "second", value=_component(0)),
            Trace("frequency_pc2_r_size", "component 2, |r|", "second", "light", value=_component(1)),
            Trace("frequency_pc3_r_size", "component 3, |r|", "second", "thin", value=_component(2)),
            Trace("frequency_explained", "all together, R²", "muted", "thin", "dash"),
        ],
        detail="The norm of the mean vector falls with the number of occurrences anyway. The sign of a principal "
        "component is arbitrary, so only the size of its correlation is drawn. R²: the share of the variance of "
        "log-frequency that the norm and ten components explain. n = {frequency_n}.",
        zero=True,
        wide=True,
    ),
    CurveChart(
        "manifold_ratio",
        "Curved or flat",
        "LID / LID if flat",
        "Local dimension divided by that of Gaussian vectors with the same mean and covariance",
        [Trace("manifold_ratio", "ratio")],
        reading="About 1 is flat. A curved sheet lies well below 1, but so do many small clusters: see the table of "
        "manifolds.",
    ),
    CurveChart(
        "position_angle",
        "Position along the curve",
        "correlation, share",
        "Correlation of the position of a vector with the angle along the curve of the mean vectors by position",
        [
            Trace("position_angle_r", "position and angle, |r|", unsigned=True),
            Trace(
                "position_share",
                "explained by position",
                "muted",
                "thin",
                value=lambda layer: layer.manifold.position_share,
                aside=True,
            ),
        ],
        detail="The direction of the curve is arbitrary, so only the size is drawn.",
        zero=True,
    ),
)
"""The curves that `--deep` adds, in the order of the page."""
