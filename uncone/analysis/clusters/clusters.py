"""The clusters of a layer: how many, what they hold, and what they explain of the cosines (Cai et al. 2021).

Subtracting the mean of a cluster makes the cosines inside it small by construction: a cone without clusters loses its
cosines too. So beside them stand the cosines after subtracting one mean for all rows, and those inside clusters without
any centring: only these differences speak of clusters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from uncone.analysis.clusters.choose_k import LEAST, Choice, asked_clusters, best_clusters, chance_silhouette
from uncone.analysis.clusters.contents import contents_of
from uncone.analysis.clusters.shape import about_zero, measure_clusters, parts_of
from uncone.analysis.clusters.silhouettes import cosine_silhouettes
from uncone.analysis.clusters.story import no_clusters, sliced, tell_clusters
from uncone.analysis.clusters.types import Types, mean_over_clusters
from uncone.analysis.layers.deep_results import Cluster, Clusters, TypeCosines
from uncone.analysis.measures.finding import Finding
from uncone.analysis.number_format import cosine, percent, plain
from uncone.data.batch import IntVector, Matrix
from uncone.encoders.rows.facts import RowFacts
from uncone.errors import NoUsableRowsError, OptionError, ShapeError
from uncone.run.blas_threads import one_blas_thread
from uncone.stats.sums.cluster_moments import padded

__all__ = ["cluster_findings", "cluster_labels", "clusters_of"]


def clusters_of(
    vectors: Matrix,
    words: IntVector,
    groups: IntVector,
    facts: RowFacts | None = None,
    bins: Sequence[str] | None = None,
    *,
    k: int | None = None,
    seed: int = 0,
) -> Clusters:
    """The clusters of rows (n, d), each with its type, its sentence and what is known of it.

    Without `k` it is the number from 2 to 15 whose k-means has the largest mean Euclidean silhouette, on a seeded
    sample; below 0.1 all rows are one cluster. Rows whose type is negative are types of one row.

    Raises:
        NoUsableRowsError: there are no rows.
        OptionError: k is less than 1, or more than the rows.
        ShapeError: the rows, types and sentences are not equally many.
    """
    _check(vectors, words, groups, facts, bins, k)
    with one_blas_thread():
        lengths = np.sqrt(np.vecdot(vectors, vectors).astype(np.float64))
        z, noise = about_zero(vectors, lengths, seed)
        choice, labels, sizes = _chosen(z, k, seed)
        chance = chance_silhouette(z, len(sizes), seed) if choice.values is not None else None
        units = vectors[choice.judged] / np.where(lengths > 0, lengths, 1.0)[choice.judged, None]
        by_cosine = cosine_silhouettes(units, labels[choice.judged], len(sizes))
        measured = measure_clusters(vectors, lengths, z, noise, labels, Types(words, groups))
    within_raw, within = measured.within_raw.each, measured.within.each
    held = contents_of(labels, len(sizes), words, facts, bins, measured.apart)
    clusters = [
        Cluster(
            size,
            size / len(labels),
            one.words,
            one.kinds,
            one.first,
            one.position,
            one.bins,
            _silhouette_of(choice, labels, place),
            measured.isoscores[place],
            one.examples,
            within_raw[place],
            within[place],
        )
        for place, (size, one) in enumerate(zip(sizes.tolist(), held, strict=True))
    ]
    mean = None if choice.values is None else float(choice.values.mean())
    found = Clusters(
        len(sizes),
        mean,
        float(by_cosine.mean()) if mean is not None else None,
        choice.tried if k is None else {},
        k is not None,
        len(labels),
        clusters,
        labels,
        measured.raw.each[0],
        measured.global_.each[0],
        mean_over_clusters(within_raw, sizes),
        mean_over_clusters(within, sizes),
        mean_over_clusters(within_raw, np.ones_like(sizes)),
        mean_over_clusters(within, np.ones_like(sizes)),
        _weighted(measured.isoscores, sizes),
        measured.isoscore_all,
        "",
        chance,
        len(choice.judged),
        measured.within_raw.across,
    )
    return replace(found, sentence=tell_clusters(found, k))


def cluster_labels(vectors: Matrix, *, k: int | None = None, seed: int = 0) -> tuple[IntVector, dict[int, float]]:
    """The cluster of every row, the largest first, and the silhouette of every k that was tried: nothing else.

    >>> labels, tried = cluster_labels(np.repeat([[0.0, 1.0], [5.0, 1.0]], [3, 2], axis=0))
    >>> labels.tolist(), tried
    ([0, 0, 0, 1, 1], {2: 1.0})
    """
    nothing = np.zeros(len(vectors), np.int64)
    _check(vectors, nothing, nothing, None, None, k)
    with one_blas_thread():
        lengths = np.sqrt(np.vecdot(vectors, vectors).astype(np.float64))
        choice, labels, _ = _chosen(about_zero(vectors, lengths, seed)[0], k, seed)
    return labels, choice.tried


def _chosen(z: Matrix, k: int | None, seed: int) -> tuple[Choice, IntVector, IntVector]:
    choice = best_clusters(z, seed) if k is None else asked_clusters(z, k, seed)
    return choice, *_ranked(z, choice.centroids)


def _check(
    vectors: Matrix,
    words: IntVector,
    groups: IntVector,
    facts: RowFacts | None,
    bins: Sequence[str] | None,
    k: int | None,
) -> None:
    n = len(vectors)
    known = {"types": len(words), "sentences": len(groups)}
    known |= {} if facts is None else {"facts": facts.n}
    known |= {} if bins is None else {"bins": len(bins)}
    for name, length in known.items():
        if length != n:
            raise ShapeError(f"{n:,} rows came with {length:,} {name}. Give one for every row.")
    if n == 0:
        raise NoUsableRowsError("There are no rows to find clusters in. Give at least one.")
    if k is not None and (isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1):
        raise OptionError(f"k={k!r} is no number of clusters. Give a whole number from 1 on.")
    if k is not None and k > n:
        raise OptionError(f"k={k:,} clusters cannot be made of {n:,} rows. Give a smaller k.")


def _ranked(z: Matrix, centroids: Matrix) -> tuple[IntVector, IntVector]:
    """The cluster of every row, the largest first (of equal ones that with the earliest row), and their sizes."""
    columns, bias = padded(centroids, -0.5 * np.vecdot(centroids, centroids), z.dtype)
    parts = [(z[part] @ columns + bias).argmax(axis=1) for part in parts_of(len(z))]
    _, first, own, sizes = np.unique(np.concatenate(parts), return_index=True, return_inverse=True, return_counts=True)
    order = np.lexsort((first, -sizes))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return rank[own], sizes[order]


def _weighted(values: Sequence[float | None], sizes: IntVector) -> float | None:
    known = [(value, size) for value, size in zip(values, sizes.tolist(), strict=True) if value is not None]
    total = sum(size for _, size in known)
    return sum(value * (size / total) for value, size in known) if total else None


def _silhouette_of(choice: Choice, labels: IntVector, cluster: int) -> float | None:
    """The mean silhouette of the rows of a cluster that were looked at."""
    if choice.values is None:
        return None
    own = choice.values[labels[choice.judged] == cluster]
    return float(own.mean()) if len(own) else None


def cluster_findings(found: Clusters) -> list[Finding]:
    """How many clusters, how clear, and the cosines of types: centred all together, and inside clusters."""
    n = found.n
    return [
        Finding("cluster_count", found.k, n, _counted(found), "Ask for another number with --k."),
        # No interval: other texts would have other clusters, of another number, and most of its spread is theirs.
        Finding("cluster_silhouette", found.silhouette, found.judged, _clear(found), threshold=LEAST),
        *_cosines("global", found.global_, found, "after subtracting the mean of all rows", None),
        *_cosines("within_raw", found.within_raw, found, "inside clusters, as they are", found.within_raw_plain),
        *_cosines("within", found.within, found, "inside clusters, after subtracting their means", found.within_plain),
        Finding("isoscore_within", found.isoscore, n, _even(found)),
    ]


def _counted(found: Clusters) -> str:
    if found.k == 1:
        return "All rows are one cluster." if found.asked or not found.tried else no_clusters(found)
    how = "as asked" if found.asked else f"the largest silhouette of k = {min(found.tried)} to {max(found.tried)}"
    cloud = "; they are slices of one cloud" if sliced(found) else ""
    return f"{found.k:,} clusters, {how}{cloud}; the largest holds {percent(found.clusters[0].share)} of the rows."


def _clear(found: Clusters) -> str:
    if found.silhouette is None:
        best = f"; the largest that was tried is {cosine(max(found.tried.values()))}" if found.tried else ""
        return f"{'One cluster has' if found.k == 1 else 'So many clusters have'} no silhouette{best}."
    angle = "" if found.silhouette_cosine is None else f", {cosine(found.silhouette_cosine)} by cosine"
    cloud = "" if found.chance is None else f"; Gaussian rows with the same covariance have {cosine(found.chance)}"
    return f"{cosine(found.silhouette)} by Euclidean distance{angle}, where 1 is far apart and 0 is none{cloud}."


def _cosines(name: str, own: TypeCosines, found: Clusters, where: str, unweighted: TypeCosines | None) -> list[Finding]:
    made = []
    for which, what, none in (
        ("inter", "Two types", "There are not two types to compare"),
        ("intra", "Two occurrences of a type", "No type stands in two sentences"),
    ):
        value, raw = getattr(own, which), getattr(found.raw, which)
        if value is None:
            made.append(Finding(f"s_{which}_{name}", None, found.n, f"{none} {where}."))
            continue
        paper = getattr(unweighted, which) if unweighted is not None else None
        also = "" if paper is None else f" ({cosine(paper)} as a plain mean over clusters)"
        over = "" if raw is None else f"; {cosine(raw)} over all rows as they are"
        made.append(Finding(f"s_{which}_{name}", value, found.n, f"{what} score {cosine(value)} {where}{also}{over}."))
    return made


def _even(found: Clusters) -> str:
    if found.isoscore is None:
        return "No cluster has 4 rows that differ, in two dimensions or more."
    over = "" if found.isoscore_all is None else f"; {plain(found.isoscore_all)} over all rows"
    return f"{plain(found.isoscore)} of 1 inside clusters, weighted by size{over}: 1 is a ball, 0 a line."
