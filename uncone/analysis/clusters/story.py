"""What clusters explain, in sentences written from the numbers."""

from __future__ import annotations

from uncone.analysis.clusters.choose_k import LEAST, TRIED
from uncone.analysis.layers.deep_results import Clusters
from uncone.analysis.number_format import cosine, count

__all__ = ["above_chance", "no_clusters", "sliced", "tell_clusters"]

_SLICES, _WEAK = 0.03, 0.12
"""Silhouettes that are no more than so much above those of one cloud that is sliced: no clusters, or weak ones."""
_MORE = 0.05
"""A difference of cosines that is worth telling."""
_CONE = 0.1


def tell_clusters(found: Clusters, asked: int | None = None) -> str:
    """How many clusters there are, and what they explain of the cosines; `asked` is the number that was asked for."""
    return " ".join([_how_many(found, asked), *_explained(found)])


def _how_many(found: Clusters, asked: int | None) -> str:
    if found.k == 1:
        return _one(found, asked)
    fewer = "" if asked is None or asked == found.k else f" ({asked} were asked for, but no more hold rows)"
    above = above_chance(found)
    if found.silhouette is None or found.chance is None or above is None:
        return f"{found.k:,} clusters{fewer}, among too few rows to say how clear they are."
    own, cloud = cosine(found.silhouette), cosine(found.chance)
    if above < _SLICES:
        return (
            f"k-means cuts the rows into {found.k:,}{fewer} with a silhouette of {own}, but Gaussian rows with the "
            f"same covariance come apart as much ({cloud}): slices of one cloud, not clusters."
        )
    if above < _WEAK:
        return (
            f"{found.k:,} weak clusters{fewer} with a silhouette of {own}; Gaussian rows with the same covariance, one "
            f"cloud that is sliced, have {cloud}."
        )
    return (
        f"{found.k:,} clusters{fewer} with a silhouette of {own}; Gaussian rows with the same covariance have {cloud}."
    )


def _one(found: Clusters, asked: int | None) -> str:
    if asked == 1:
        return "One cluster, as asked."
    if asked is not None or (not found.tried and found.n >= TRIED[0] + 1):
        return f"All rows{' of the sample' if found.judged < found.n else ''} are equal: one cluster."
    if not found.tried:
        return f"{count(found.n, 'row')} cannot fall into clusters."
    return no_clusters(found)


def no_clusters(found: Clusters) -> str:
    """That no number of clusters is clear enough."""
    best = max(found.tried, key=lambda k: found.tried[k])
    return (
        f"No clusters: of k = {min(found.tried)} to {max(found.tried)}, the largest silhouette is "
        f"{cosine(found.tried[best])} (k = {best}), below {LEAST}."
    )


def _explained(found: Clusters) -> list[str]:
    """What the cone explains, and what clusters explain beyond it: the difference inside clusters without centring."""
    raw, inside, across = found.raw.inter, found.within_raw.inter, found.across
    if raw is None:
        return ["There are not two types to compare."]
    if found.k == 1:
        return [_cone(raw, found.global_.inter, found.asked)]
    if inside is None:
        return [f"Two types score {cosine(raw)}: no cluster holds two, so these are scores across clusters."]
    if across is None:
        return [f"Two types score {cosine(raw)}, and {cosine(inside)} in one cluster; none are in different ones."]
    scores = f"Two types score {cosine(raw)}: {cosine(inside)} in one cluster, {cosine(across)} in different ones"
    if inside - raw < _MORE:
        told = f"{scores}. Clusters explain next to nothing of it."
    elif sliced(found):
        told = f"{scores}, as near and far rows of any cloud do. Clusters explain nothing of it."
    elif across < _CONE:
        told = f"{scores}. What makes them alike is a cluster that they share, not a cone."
    else:
        told = f"{scores}. A cone that all clusters share explains {cosine(across)}, a cluster {_more(inside, across)}."
    return [told, *_centred(found)]


def _more(inside: float, across: float) -> str:
    return f"{cosine(inside - across)} of the {cosine(1 - across)} above it"


def _centred(found: Clusters) -> list[str]:
    """A mean that is subtracted takes cosines away by construction; those of clusters may take more than one."""
    every, each = found.global_.inter, found.within.inter
    if every is None or each is None:
        return []
    left = f"Subtracting one mean for all rows leaves {cosine(every)}, one for each cluster {cosine(each)}"
    if every - each < _MORE or sliced(found):
        return [f"{left}: that is by construction, and tells nothing of clusters."]
    return [f"{left}: both fall by construction, and only the {cosine(every - each)} between them speaks of clusters."]


def _cone(raw: float, centred: float | None, asked: bool) -> str:
    if raw < _CONE:
        return f"Two types score {cosine(raw)}: there is no cone{'' if asked else ' either'}."
    if centred is None:
        return f"Two types score {cosine(raw)}."
    without = "" if asked else ", without clusters"
    much = "it" if centred < _CONE else f"{cosine(raw - centred)} of it"
    scores = f"Two types score {cosine(raw)}, and {cosine(centred)} once the mean of all rows is subtracted"
    return f"{scores}: one cone explains {much}{without}."


def sliced(found: Clusters) -> bool:
    """Whether the clusters stand no farther apart than the slices of one Gaussian cloud."""
    above = above_chance(found)
    return above is not None and above < _SLICES


def above_chance(found: Clusters) -> float | None:
    """How far the silhouette lies above that of one cloud that is sliced; None where one of them is not known."""
    return None if found.silhouette is None or found.chance is None else found.silhouette - found.chance
