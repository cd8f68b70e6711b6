"""What clusters explain, in sentences written from the numbers."""

from __future__ import annotations

from uncone.analysis.clusters.kmeans import LEAST, TRIED
from uncone.analysis.layers.deep_results import Clusters, TypeCosines
from uncone.analysis.measures.finding import Finding
from uncone.analysis.number_format import cosine, count, percent, plain

__all__ = ["above_chance", "cluster_findings", "cluster_story", "is_sliced"]

_SLICES, _WEAK = 0.03, 0.12
"""Silhouettes at most this far above those of one cloud that is sliced: no clusters, or weak ones."""
_MORE = 0.05
"""A difference of cosines that is worth a sentence."""
_CONE = 0.1


def cluster_story(clusters: Clusters, k: int | None = None) -> str:
    """How many clusters there are, and what they explain of the cosines; `k` is the number that the user chose."""
    return " ".join([_number(clusters, k), *_cosine_sentences(clusters)])


def _number(clusters: Clusters, k: int | None) -> str:
    if clusters.k == 1:
        return _one_cluster(clusters, k)
    fewer = "" if k is None or k == clusters.k else f" (you chose {k}, but no more hold vectors)"
    above = above_chance(clusters)
    if clusters.silhouette is None or clusters.chance is None or above is None:
        return f"{clusters.k:,} clusters{fewer}, among too few vectors to say how clear they are."
    own, cloud = cosine(clusters.silhouette), cosine(clusters.chance)
    if above < _SLICES:
        return (
            f"k-means cuts the vectors into {clusters.k:,}{fewer} with a silhouette of {own}. Gaussian vectors with "
            f"the same covariance come apart as much ({cloud}), so these are slices of one cloud, not clusters."
        )
    weak = "weak " if above < _WEAK else ""
    return (
        f"{clusters.k:,} {weak}clusters{fewer} with a silhouette of {own}. Slices of one Gaussian cloud with the same "
        f"covariance have {cloud}."
    )


def _one_cluster(clusters: Clusters, k: int | None) -> str:
    if k == 1:
        return "One cluster, as you chose."
    if k is not None or (not clusters.tried and clusters.n >= TRIED[0] + 1):
        return f"All vectors{' of the sample' if clusters.judged < clusters.n else ''} are equal: one cluster."
    if not clusters.tried:
        return f"{count(clusters.n, 'vector')} cannot form clusters."
    return _no_clusters(clusters)


def _no_clusters(clusters: Clusters) -> str:
    best = max(clusters.tried, key=lambda k: clusters.tried[k])
    return (
        f"No clusters: for k = {min(clusters.tried)} to {max(clusters.tried)}, the highest silhouette is "
        f"{cosine(clusters.tried[best])} (k = {best}), below {LEAST}."
    )


def _cosine_sentences(clusters: Clusters) -> list[str]:
    """What the cone explains, and what clusters explain beyond it: the difference inside clusters without centering."""
    raw, inside, across = clusters.raw.inter, clusters.within_raw.inter, clusters.across
    if raw is None:
        return ["There are not two types to compare."]
    if clusters.k == 1:
        return [_cone(raw, clusters.global_.inter, clusters.asked)]
    score = f"Different types score {cosine(raw)}"
    if inside is None:
        return [f"{score}: no cluster holds two, so these are scores across clusters."]
    if across is None:
        return [f"{score}, and {cosine(inside)} within a cluster; none are in different clusters."]
    score += f": {cosine(inside)} within a cluster, {cosine(across)} across clusters"
    if inside - raw < _MORE:
        text = f"{score}. Clusters explain almost none of it."
    elif is_sliced(clusters):
        text = f"{score}, like near and far vectors of any cloud. Clusters explain none of it."
    elif across < _CONE:
        text = f"{score}. They are similar because they share a cluster, not because of a cone."
    else:
        adds = f"{cosine(inside - across)} of the remaining {cosine(1 - across)}"
        text = f"{score}. A cone that all clusters share explains {cosine(across)}; sharing a cluster adds {adds}."
    return [text, *_centered(clusters)]


def _centered(clusters: Clusters) -> list[str]:
    """A mean that is subtracted takes cosines away by construction; those of clusters may take more than one."""
    every, each = clusters.global_.inter, clusters.within.inter
    if every is None or each is None:
        return []
    left = f"Subtracting the overall mean leaves {cosine(every)}, subtracting cluster means {cosine(each)}."
    if every - each < _MORE or is_sliced(clusters):
        return [f"{left} That is by construction and says nothing about clusters."]
    return [f"{left} Both fall by construction; only the {cosine(every - each)} between them is due to clusters."]


def _cone(raw: float, centered: float | None, fixed_k: bool) -> str:
    score = f"Different types score {cosine(raw)}"
    if raw < _CONE:
        return f"{score}: there is no cone{'' if fixed_k else ' either'}."
    if centered is None:
        return f"{score}."
    much = "it" if centered < _CONE else f"{cosine(raw - centered)} of it"
    without = "" if fixed_k else ", without clusters"
    return f"{score}, and {cosine(centered)} after subtracting the overall mean: one cone explains {much}{without}."


def is_sliced(clusters: Clusters) -> bool:
    """Whether the clusters stand no farther apart than the slices of one Gaussian cloud."""
    above = above_chance(clusters)
    return above is not None and above < _SLICES


def above_chance(clusters: Clusters) -> float | None:
    """How far the silhouette lies above that of one cloud that is sliced; None where one of them is not known."""
    return None if clusters.silhouette is None or clusters.chance is None else clusters.silhouette - clusters.chance


def cluster_findings(clusters: Clusters) -> list[Finding]:
    """How many clusters, how clear, and the cosines of types: centered all together, and inside clusters."""
    n = clusters.n
    inside, centered = "inside clusters, as they are", "inside clusters, after subtracting their means"
    return [
        Finding("cluster_count", clusters.k, n, _count_meaning(clusters), "Choose another number with --k."),
        # No interval: other texts would have other clusters, of another number, and most of its spread is theirs.
        Finding("cluster_silhouette", clusters.silhouette, clusters.judged, _silhouette(clusters), threshold=LEAST),
        *_type_findings("global", clusters.global_, clusters, "after subtracting the mean of all vectors", None),
        *_type_findings("within_raw", clusters.within_raw, clusters, inside, clusters.within_raw_plain),
        *_type_findings("within", clusters.within, clusters, centered, clusters.within_plain),
        Finding("isoscore_within", clusters.isoscore, n, _isoscore(clusters)),
    ]


def _count_meaning(clusters: Clusters) -> str:
    if clusters.k == 1:
        return "All vectors are one cluster." if clusters.asked or not clusters.tried else _no_clusters(clusters)
    tried = clusters.tried
    choice = "as you chose" if clusters.asked else f"by the highest silhouette of k = {min(tried)} to {max(tried)}"
    cloud = "; they are slices of one cloud" if is_sliced(clusters) else ""
    share = percent(clusters.clusters[0].share)
    return f"{clusters.k:,} clusters, {choice}{cloud}. The largest holds {share} of the vectors."


def _silhouette(clusters: Clusters) -> str:
    if clusters.silhouette is None:
        best = f"; the highest that was tried is {cosine(max(clusters.tried.values()))}" if clusters.tried else ""
        return f"{'One cluster has' if clusters.k == 1 else 'These clusters have'} no silhouette{best}."
    angle = "" if clusters.silhouette_cosine is None else f", {cosine(clusters.silhouette_cosine)} by cosine"
    cloud = (
        "" if clusters.chance is None else f" Gaussian vectors with the same covariance have {cosine(clusters.chance)}."
    )
    return f"{cosine(clusters.silhouette)} by Euclidean distance{angle}; 1 is far apart and 0 is none.{cloud}"


def _type_findings(
    name: str, own: TypeCosines, clusters: Clusters, where: str, unweighted: TypeCosines | None
) -> list[Finding]:
    findings = []
    for kind, subject, none in (
        ("inter", "Different types", "There are not two types to compare"),
        ("intra", "Occurrences of one type", "No type stands in two sentences"),
    ):
        value, raw, paper = (getattr(cosines, kind, None) for cosines in (own, clusters.raw, unweighted))
        also = "" if paper is None else f" ({cosine(paper)} as a plain mean over clusters)"
        over = "" if raw is None else f"; {cosine(raw)} over all vectors as they are"
        meaning = f"{none} {where}." if value is None else f"{subject} score {cosine(value)} {where}{also}{over}."
        findings.append(Finding(f"s_{kind}_{name}", value, clusters.n, meaning))
    return findings


def _isoscore(clusters: Clusters) -> str:
    if clusters.isoscore is None:
        return "No cluster has 4 vectors that differ, in two dimensions or more."
    over = "" if clusters.isoscore_all is None else f"; {plain(clusters.isoscore_all)} over all vectors"
    return f"{plain(clusters.isoscore)} of 1 inside clusters, weighted by size{over}: 1 is a ball, 0 a line."
