"""The clusters of a layer: how many, what they hold, and what they explain of the cosines (Cai et al. 2021).

Subtracting the mean of a cluster makes the cosines inside it small by construction: a cone without clusters loses its
cosines too. So beside them stand the cosines after subtracting one mean for all vectors, and those inside clusters
without any centering: only these differences speak of clusters.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Sized
from dataclasses import replace

import numpy as np

from uncone.analysis.clusters.kmeans import Choice, best_clusters, chance_silhouette, clusters_of_k
from uncone.analysis.clusters.shape import (
    Types,
    about_zero,
    mean_over_clusters,
    measure_clusters,
    parts_of,
    weighted_mean,
)
from uncone.analysis.clusters.silhouettes import cosine_silhouettes
from uncone.analysis.clusters.story import cluster_story
from uncone.analysis.frequency.word_counts import BINS
from uncone.analysis.layers.deep_results import Cluster, Clusters
from uncone.data.batch import IntVector, Matrix, Vector
from uncone.encoders.rows.row_facts import RowFacts
from uncone.errors import NoUsableRowsError, OptionError, ShapeError
from uncone.run.threads import one_blas_thread
from uncone.stats.cluster_moments import padded

__all__ = ["cluster_labels", "clusters_of", "contents_of"]

_WORDS = 12
_EXAMPLES = 3
_LOOKED_AT = 500
"""Examples are chosen among so many vectors: a cluster may hold thousands of one word."""
_LEAST = 2
"""A word has to stand so often in a cluster: once may be chance."""


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
    """The clusters of vectors (n, d), each with its type, its sentence and what is known of it.

    Without `k` it is the number from 2 to 15 whose k-means has the largest mean Euclidean silhouette, on a seeded
    sample; below 0.1 all vectors are one cluster. Vectors whose type is negative are types of one vector.

    Raises:
        NoUsableRowsError: there are no vectors.
        OptionError: k is less than 1, or more than the vectors.
        ShapeError: the vectors, types and sentences are not equally many.
    """
    _check(vectors, k, types=words, sentences=groups, facts=None if facts is None else facts.rows, bins=bins)
    with one_blas_thread():
        lengths = np.sqrt(np.vecdot(vectors, vectors).astype(np.float64))
        z, noise = about_zero(vectors, lengths, seed)
        choice, labels, sizes = _choose(z, k, seed)
        chance = chance_silhouette(z, len(sizes), seed) if choice.values is not None else None
        units = vectors[choice.sample] / np.where(lengths > 0, lengths, 1.0)[choice.sample, None]
        by_cosine = cosine_silhouettes(units, labels[choice.sample], len(sizes))
        shapes = measure_clusters(vectors, lengths, z, noise, labels, Types(words, groups))
    within_raw, within = shapes.within_raw.each, shapes.within.each
    clusters = Clusters(
        k=len(sizes),
        silhouette=None if choice.values is None else float(choice.values.mean()),
        silhouette_cosine=None if choice.values is None else float(by_cosine.mean()),
        tried=choice.tried if k is None else {},
        asked=k is not None,
        n=len(labels),
        clusters=[
            replace(
                cluster,
                silhouette=_silhouette_of(choice, labels, i),
                isoscore=shapes.isoscores[i],
                raw=within_raw[i],
                centred=within[i],
            )
            for i, cluster in enumerate(contents_of(labels, len(sizes), words, facts, bins, shapes.apart))
        ],
        labels=labels,
        raw=shapes.raw.each[0],
        global_=shapes.global_.each[0],
        within_raw=mean_over_clusters(within_raw, sizes),
        within=mean_over_clusters(within, sizes),
        within_raw_plain=mean_over_clusters(within_raw, np.ones_like(sizes)),
        within_plain=mean_over_clusters(within, np.ones_like(sizes)),
        isoscore=weighted_mean(shapes.isoscores, sizes),
        isoscore_all=shapes.isoscore_all,
        chance=chance,
        judged=len(choice.sample),
        across=shapes.within_raw.across,
    )
    return replace(clusters, sentence=cluster_story(clusters, k))


def cluster_labels(vectors: Matrix, *, k: int | None = None, seed: int = 0) -> tuple[IntVector, dict[int, float]]:
    """The cluster of every vector, the largest first, and the silhouette of every k that was tried: nothing else.

    >>> labels, tried = cluster_labels(np.repeat([[0.0, 1.0], [5.0, 1.0]], [3, 2], axis=0))
    >>> labels.tolist(), tried
    ([0, 0, 0, 1, 1], {2: 1.0})
    """
    _check(vectors, k)
    with one_blas_thread():
        lengths = np.sqrt(np.vecdot(vectors, vectors).astype(np.float64))
        choice, labels, _ = _choose(about_zero(vectors, lengths, seed)[0], k, seed)
    return labels, choice.tried


def _choose(z: Matrix, k: int | None, seed: int) -> tuple[Choice, IntVector, IntVector]:
    choice = best_clusters(z, seed) if k is None else clusters_of_k(z, k, seed)
    return choice, *_ranked(z, choice.centroids)


def _check(vectors: Matrix, k: int | None, **columns: Sized | None) -> None:
    n = len(vectors)
    for name, values in columns.items():
        if values is not None and len(values) != n:
            raise ShapeError(f"{n:,} rows came with {len(values):,} {name}. Give one for every row.")
    if n == 0:
        raise NoUsableRowsError("There are no rows to find clusters in. Give at least one.")
    if k is not None and (isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1):
        raise OptionError(f"k={k!r} is no number of clusters. Give a whole number from 1 on.")
    if k is not None and k > n:
        raise OptionError(f"k={k:,} clusters cannot be made of {n:,} rows. Give a smaller k.")


def _ranked(z: Matrix, centroids: Matrix) -> tuple[IntVector, IntVector]:
    """The cluster of every vector, the largest first (of equal ones that with the earliest vector), and their sizes."""
    columns, bias = padded(centroids, -0.5 * np.vecdot(centroids, centroids), z.dtype)
    parts = [(z[part] @ columns + bias).argmax(axis=1) for part in parts_of(len(z))]
    _, first, own, sizes = np.unique(np.concatenate(parts), return_index=True, return_inverse=True, return_counts=True)
    order = np.lexsort((first, -sizes))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return rank[own], sizes[order]


def _silhouette_of(choice: Choice, labels: IntVector, cluster: int) -> float | None:
    """The mean silhouette of the vectors of a cluster that were looked at."""
    if choice.values is None:
        return None
    own = choice.values[labels[choice.sample] == cluster]
    return float(own.mean()) if len(own) else None


def contents_of(
    labels: IntVector,
    k: int,
    words: IntVector,
    facts: RowFacts | None,
    bins: Sequence[str] | None,
    apart: Vector,
) -> list[Cluster]:
    """What each of k clusters holds; `apart` is how far each vector is from the middle of its cluster.

    A position counts as the first when no vector stands before it: special tokens, which models put at the beginning,
    are often left out.
    """
    sizes = np.bincount(labels, minlength=k)
    ranges = [{} for _ in range(k)] if bins is None else _shares(labels, sizes, bins, BINS)
    clusters = [Cluster(n, n / len(labels), bins=own) for n, own in zip(sizes.tolist(), ranges, strict=True)]
    if facts is None:
        return clusters
    names = _over_represented(labels, sizes, words, facts)
    _, place, codes = np.unique(facts.kinds, return_index=True, return_inverse=True)
    kinds = _share_table(labels, sizes, codes, [facts.kind(int(row)) for row in place])
    earliest = facts.positions == facts.positions.min()
    for cluster, contents in enumerate(clusters):
        rows = np.flatnonzero(labels == cluster)
        clusters[cluster] = replace(
            contents,
            words=names[cluster],
            kinds=kinds[cluster],
            first=float(earliest[rows].mean()),
            position=float(np.median(facts.positions[rows])),
            examples=_examples(rows, words, facts, apart[rows]),
        )
    return clusters


def _over_represented(labels: IntVector, sizes: IntVector, words: IntVector, facts: RowFacts) -> list[list[str]]:
    """The words that stand in a cluster more often than its size lets expect: by o log(o/e), the most surprising first.

    That is what a word adds to the likelihood ratio of Dunning (1993).
    """
    rows = np.flatnonzero(words >= 0)
    types, place, codes = np.unique(words[rows], return_index=True, return_inverse=True)
    counts = np.bincount(labels[rows] * len(types) + codes, minlength=len(sizes) * len(types))
    observed = counts.reshape(len(sizes), len(types)).astype(np.float64)
    expected = sizes[:, None] * observed.sum(axis=0) / max(int(sizes.sum()), 1)
    more = (observed >= _LEAST) & (observed > expected)
    surprise = np.where(more, observed * np.log(np.where(more, observed, 1.0) / np.where(more, expected, 1.0)), 0.0)
    words_of = []
    for row in surprise:
        best = np.argsort(-row, kind="stable")[:_WORDS]
        words_of.append([facts.words[int(rows[place[i]])] for i in best.tolist() if row[i] > 0])
    return words_of


def _shares(labels: IntVector, sizes: IntVector, of: Sequence[str], order: Iterable[str]) -> list[dict[str, float]]:
    """The share of each name among the vectors of each cluster, in a given order; other names come last."""
    met = dict.fromkeys(of)
    names = [name for name in dict.fromkeys((*order, *sorted(met))) if name in met]
    numbers = {name: i for i, name in enumerate(names)}
    return _share_table(labels, sizes, np.fromiter(map(numbers.__getitem__, of), np.int64, len(of)), names)


def _share_table(labels: IntVector, sizes: IntVector, codes: IntVector, names: Sequence[str]) -> list[dict[str, float]]:
    counts = np.bincount(labels * len(names) + codes, minlength=len(sizes) * len(names)).reshape(len(sizes), -1)
    shares = counts / np.maximum(sizes, 1)[:, None]
    return [dict(zip(names, row, strict=True)) for row in shares.tolist()]


def _examples(rows: IntVector, words: IntVector, facts: RowFacts, apart: Vector) -> list[str]:
    """The vectors nearest to the middle of a cluster, of different words, each in its sentence."""
    examples: dict[tuple[int, str], str] = {}
    for place in rows[np.argsort(apart, kind="stable")[:_LOOKED_AT]].tolist():
        word = int(words[place])
        key = (word, "") if word >= 0 else (word, facts.words[place])
        if key not in examples:
            examples[key] = facts.excerpt(place)
        if len(examples) == _EXAMPLES:
            break
    return list(examples.values())
