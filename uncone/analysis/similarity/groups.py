"""Groups of texts by their cosines: k-means or hierarchical clustering, and their agreement with labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import Literal

import numpy as np

from uncone.analysis.clusters.silhouettes import cosine_silhouettes, group_sums
from uncone.analysis.cosine.units import BLOCK
from uncone.analysis.number_format import count, plain
from uncone.analysis.similarity.results import Group, Groups
from uncone.data.batch import IntVector, Matrix
from uncone.data.tables.fields import label_text
from uncone.errors import OptionError
from uncone.stats.hashing import fingerprints

__all__ = ["cut", "distances", "hierarchical", "k_means", "linkage_of"]

_CANDIDATES = range(2, 11)
"""Numbers of groups that "auto" tries."""
_TREE_LIMIT = 4_000
"""Vectors in a hierarchical clustering: all distances take 250 MB at this number."""
_CENTER_SAMPLE, _AUTO_SAMPLE = 50_000, 4_096
"""Vectors that k-means centers are fitted on, and that "auto" tries numbers of groups on."""
_WEAK = 0.25
"""A silhouette up to this is no substantial structure (Kaufman and Rousseeuw 1990)."""
_ONE_GROUP, _FEW, _SMALL = 0.9, 3, 0.01
"""One group and some outliers: the largest group has this share, every other at most a few texts or one in 100."""
_EQUAL = 1e-6
"""Vectors with a mean cosine this close to 1 are equal up to rounding."""

Count = int | Literal["auto"]


def k_means(units: Matrix, k: Count = "auto", labels: Sequence[Hashable] | None = None, seed: int = 0) -> Groups:
    """Spherical k-means of unit vectors (n, d), the best of three seeded starts, largest group first.

    With "auto", k is the number from 2 to 10 with the largest silhouette.

    Raises:
        OptionError: k is less than 1, or more than the vectors.
    """
    distinct = _distinct(units)
    k, notes = _checked_count(k, len(units), distinct), []
    if k == "auto":
        sample = units[_sample(len(units), _AUTO_SAMPLE, seed)]
        k, reason = _best_count(
            sample, distinct, lambda each: nearest_center(sample, k_means_centers(sample, each, seed, starts=2))
        )
        notes.append(reason)
        if len(sample) < len(units):
            notes.append(f"Tried on {len(sample):,} vectors drawn with seed {seed}.")
    notes += _fewer_groups(k, distinct)
    training = units if len(units) <= _CENTER_SAMPLE else units[_sample(len(units), _CENTER_SAMPLE, seed)]
    if len(training) < len(units):
        notes.append(f"The centers were learned from {len(training):,} vectors drawn with seed {seed}.")
    members = nearest_center(units, k_means_centers(training, min(k, distinct), seed))
    n_groups = len(np.unique(members))
    if n_groups < min(k, distinct):
        notes.append(f"{count(min(k, distinct) - n_groups, 'center')} attracted no vector: {count(n_groups, 'group')}.")
    return _summary("k-means", units, members, labels, notes)


def hierarchical(
    units: Matrix,
    k: Count = "auto",
    linkage: Literal["average", "ward"] = "average",
    labels: Sequence[Hashable] | None = None,
    seed: int = 0,
    limit: int = _TREE_LIMIT,
) -> Groups:
    """Hierarchical clustering of unit vectors, cut at k groups.

    "average" joins by the mean of 1 - cosine between two groups, "ward" by the added squared distances. Beyond `limit`
    vectors a seeded sample is clustered, and every other vector joins the group with the nearest center.

    Raises:
        OptionError: k is less than 1, or more than the vectors; no such linkage.
    """
    if linkage not in ("average", "ward"):
        raise OptionError(f"There is no linkage {linkage!r}; choose average or ward.")
    distinct = _distinct(units)
    k, notes = _checked_count(k, len(units), distinct), []
    places = _sample(len(units), limit, seed)
    sample = units[places]
    distinct = distinct if len(sample) == len(units) else _distinct(sample)
    tree = linkage_of(sample, linkage)
    if k == "auto":
        k, reason = _best_count(sample, distinct, lambda each: cut(tree, each))
        notes.append(reason)
    notes += _fewer_groups(k, distinct)
    members = cut(tree, min(k, distinct))
    if len(sample) < len(units):
        notes.append(
            f"Clustered on {len(sample):,} vectors drawn with seed {seed}; the other {len(units) - len(sample):,} "
            "joined the group with the nearest center."
        )
        sums = group_sums(sample, members, int(members.max()) + 1)
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        every = nearest_center(units, sums / np.where(lengths > 0, lengths, 1.0))
        every[places] = members
        members = every
    return _summary(f"hierarchical, {linkage}", units, members, labels, notes)


def _distinct(units: Matrix) -> int:
    """The number of distinct vectors; 1 if all are equal up to rounding."""
    mean = units.sum(axis=0, dtype=np.float64) / len(units)
    return 1 if float(mean @ mean) > 1 - _EQUAL else len(np.unique(fingerprints(units)))


def _sample(n: int, limit: int, seed: int) -> IntVector:
    return np.arange(n) if n <= limit else np.sort(np.random.default_rng(seed).permutation(n)[:limit])


def _checked_count(k: Count, n: int, distinct: int) -> Count:
    if k == "auto":
        return 1 if distinct < 3 else k
    if not isinstance(k, int | np.integer) or k < 1:
        raise OptionError(f"{k} groups cannot be made; we need a whole number from 1 on, or auto.")
    if k > n:
        raise OptionError(f"{count(n, 'vector')} cannot be put into {k:,} groups. Ask for {n:,} or fewer, or auto.")
    return k


def _fewer_groups(k: int, distinct: int) -> list[str]:
    if k <= distinct:
        return []
    if distinct == 1:
        return [f"All vectors are equal: one group, not {k:,}."]
    return [f"There are only {distinct:,} distinct vectors: {distinct:,} groups, not {k:,}."]


def _best_count(rows: Matrix, distinct: int, group: Callable[[int], IntVector]) -> tuple[int, str]:
    """The number of groups with the largest mean silhouette, and a sentence that says so."""
    tried = [k for k in _CANDIDATES if k < min(len(rows), distinct + 1)]
    if len(tried) == 1:
        return tried[0], f"There are too few vectors for more than {tried[0]} groups."
    scores = {k: float(np.mean(cosine_silhouettes(rows, group(k), k))) for k in tried}
    best = max(tried, key=lambda k: scores[k])
    return best, (
        f"{best} groups have the largest silhouette ({plain(scores[best])}) of {tried[0]} to {tried[-1]} groups."
    )


def _summary(
    method: str, units: Matrix, groups: IntVector, labels: Sequence[Hashable] | None, notes: list[str]
) -> Groups:
    """The groups, largest first (of one size, by their first text), with what is in each."""
    names, first, inverse, sizes = np.unique(groups, return_index=True, return_inverse=True, return_counts=True)
    k = len(names)
    rank = np.empty(k, np.int64)
    rank[np.lexsort((first, -sizes))] = np.arange(k)
    members = rank[inverse]
    label_names = [None] * len(units) if labels is None else [label_text(label) for label in labels]
    silhouettes, sums = cosine_silhouettes(units, members, k), group_sums(units, members, k)
    contents = []
    for number in range(k):
        rows, total = np.flatnonzero(members == number), sums[number]
        inside, size = units[rows], len(rows)
        pairs = float(total @ total) - float(np.vecdot(inside, inside).sum(dtype=np.float64))
        own = float(silhouettes[rows].mean())
        counts = Counter(name for row in rows.tolist() if (name := label_names[row]) is not None)
        contents.append(
            Group(
                number,
                size,
                own if size > 1 and np.isfinite(own) else None,
                int(rows[int((inside @ total).argmax())]),
                min(pairs / (size * (size - 1)), 1.0) if size > 1 else None,
                dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))),
            )
        )
    mean = float(silhouettes.mean()) if 1 < k < len(units) else None
    outliers = _outliers(units, members)
    if outliers:
        notes.append(
            f"That is one group and {count(outliers, 'outlier')}: the silhouette shows how far these lie from it, not "
            "that there are groups."
        )
    elif mean is not None and mean <= _WEAK:
        notes.append(f"A silhouette of {plain(mean)} is weak: by cosine the texts hardly fall into {k:,} groups.")
    if k == 1:
        notes.append("One group has no silhouette.")
    return Groups(method, k, members, contents, mean, _agreement(members, label_names), " ".join(notes), outliers)


def _outliers(rows: Matrix, members: IntVector) -> int:
    """The number of texts outside the largest group if they are few and far from each other, else 0.

    Copies of a text count once: a text that appears a hundred times is no group.
    """
    first = np.unique(fingerprints(rows), return_index=True)[1]
    *others, largest = sorted(np.bincount(members[first], minlength=int(members.max()) + 1).tolist())
    if not others or largest < _ONE_GROUP * len(first) or others[-1] > max(_FEW, _SMALL * len(first)):
        return 0
    return sum(others)


def _agreement(members: IntVector, label_names: Sequence[str | None]) -> float | None:
    """The adjusted Rand index of groups and labels (Hubert and Arabie 1985); None with one label or one group."""
    from sklearn.metrics import adjusted_rand_score

    labeled = [row for row, name in enumerate(label_names) if name is not None]
    own, groups = [label_names[row] for row in labeled], members[labeled]
    if len(set(own)) < 2 or len(np.unique(groups)) < 2:
        return None
    return float(adjusted_rand_score(own, groups))


_ITERATIONS = 25


def k_means_centers(units: Matrix, k: int, seed: int, starts: int = 3) -> Matrix:
    """The k unit centers (k, d) of spherical k-means, the best of some starts.

    It runs on one thread: with two, faiss adds in another order, and a group may change.
    """
    if k == 1:
        return np.ones((1, units.shape[1]), np.float32)
    import faiss

    rows = np.ascontiguousarray(units, np.float32)
    model = faiss.Kmeans(
        rows.shape[1],
        k,
        niter=_ITERATIONS,
        nredo=starts,
        seed=seed,
        spherical=True,
        min_points_per_centroid=1,
        max_points_per_centroid=len(rows),  # the default subsamples 256 per group
    )
    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        model.train(rows)
    finally:
        faiss.omp_set_num_threads(threads)
    return np.asarray(model.centroids)


def nearest_center(units: Matrix, centers: Matrix) -> IntVector:
    """The center with the highest cosine for each vector (n,)."""
    columns = centers.astype(units.dtype).T
    blocks = [units[start : start + BLOCK] for start in range(0, len(units), BLOCK)]
    return np.concatenate([(block @ columns).argmax(axis=1) for block in blocks]).astype(np.int64)


def distances(units: Matrix) -> Matrix:
    """1 - cosine of every two unit vectors (n, n), in float64, with a zero diagonal."""
    rows = np.asarray(units, np.float64)
    apart = np.asarray(1 - (rows @ rows.T).clip(-1.0, 1.0))
    np.fill_diagonal(apart, 0.0)
    return apart


def linkage_of(units: Matrix, method: Literal["average", "ward"] = "average") -> Matrix:
    """The linkage matrix of scipy (n - 1, 4): average by 1 - cosine, Ward by the distance |u - v|."""
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    if len(units) < 2:
        return np.empty((0, 4))
    apart = squareform(distances(units), checks=False)
    if method == "ward":
        np.sqrt(2 * apart, out=apart)  # |u - v|^2 = 2 (1 - cosine)
    return np.asarray(linkage(apart, method))


def cut(tree: Matrix, k: int) -> IntVector:
    """Exactly k groups: the last k - 1 joins undone. With ties, scipy's `fcluster` may give fewer.

    >>> cut(np.array([[0.0, 1.0, 0.1, 2.0], [2.0, 3.0, 0.5, 3.0]]), 2).tolist()
    [1, 1, 0]
    """
    n = len(tree) + 1
    group = np.arange(2 * n - 1)
    for join in range(n - k - 1, -1, -1):  # from the top: a node has its group before its children need it
        group[tree[join, :2].astype(np.int64)] = group[n + join]
    return np.unique(group[:n], return_inverse=True)[1].astype(np.int64)
