"""How many clusters rows fall into: k-means for every number at once, judged by one matrix of distances.

All k share their products: the centroids of every k are the rows of one matrix. The steps are taken among the principal
directions of a sample, where clusters that stand apart lie apart, and the last ones in all dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from uncone.analysis.clusters.centroids import kmeans_cells, spread_out
from uncone.analysis.clusters.silhouettes import distances_of, silhouettes_from
from uncone.data.batch import IntVector, Matrix, Vector

__all__ = ["LEAST", "TRIED", "Choice", "asked_clusters", "best_clusters", "chance_silhouette"]

TRIED = range(2, 16)
"""The numbers of clusters that are tried (Cai et al. 2021)."""
LEAST = 0.1
"""Below this silhouette there are no clusters."""

_LEARNT_FROM = 4096
_JUDGED_ON = 2048
"""Rows that k-means learns from, and rows whose silhouette is taken: every pair of them is looked at."""
_DRAWN = 1024
"""Gaussian rows to compare with."""
_DIRECTIONS = 32
_STEPS, _LAST_STEPS = 20, 2
_SMALL, _STARTS = 5, 3
"""Up to so many clusters the best of so many starts is taken: few centroids are easily caught in a bad place."""
_ITERATIONS = 25


class Choice(NamedTuple):
    """The centroids (k, d) that were chosen, and the silhouette of every k that was tried.

    `judged` are the places of the rows whose silhouettes, at the chosen k, are `values`; None with one cluster.
    """

    centroids: Matrix
    tried: dict[int, float]
    judged: IntVector
    values: Vector | None


def best_clusters(z: Matrix, seed: int) -> Choice:
    """The clusters of rows (n, d) about zero, of the number in `TRIED` with the largest mean Euclidean silhouette.

    When that is below `LEAST`, all rows are one cluster. Of many rows a seeded sample is looked at.
    """
    places = np.random.default_rng(seed).permutation(len(z))[:_LEARNT_FROM]
    rows, judged = np.take(z, places, axis=0), places[:_JUDGED_ON]
    ks = [k for k in TRIED if k < len(judged)]
    single = Choice(np.zeros((1, z.shape[1]), z.dtype), {}, judged, None)
    if not ks or not rows.any():
        return single
    centroids = _k_means(rows, ks, seed)
    labels = {k: _labels(rows[: len(judged)], own) for k, own in centroids.items()}
    labels = {k: own for k, own in labels.items() if 1 < len(np.unique(own)) < len(judged)}
    if not labels:
        return single
    values = dict(zip(labels, silhouettes_from(distances_of(rows[: len(judged)]), list(labels.values())), strict=True))
    tried = {k: float(value.mean()) for k, value in values.items()}
    best = max(tried, key=lambda k: tried[k])  # the smallest of several that are as good
    if tried[best] < LEAST:
        return single._replace(tried=tried)
    return Choice(centroids[best], tried, judged, values[best])


def asked_clusters(z: Matrix, k: int, seed: int) -> Choice:
    """The same for a number that was asked for; fewer, when fewer rows differ."""
    places = np.random.default_rng(seed).permutation(len(z))[: max(_LEARNT_FROM, 64 * k)]
    rows, judged = np.take(z, places, axis=0), places[:_JUDGED_ON]
    if k == 1 or not rows.any():
        return Choice(np.zeros((1, z.shape[1]), z.dtype), {}, judged, None)
    centroids = kmeans_cells(rows, k, seed, _ITERATIONS).centroids.astype(z.dtype)
    centroids = centroids[np.unique(_labels(rows, centroids))]
    labels = _labels(z[judged], centroids)
    if not 1 < len(np.unique(labels)) < len(judged):
        return Choice(centroids, {}, judged, None)
    (values,) = silhouettes_from(distances_of(z[judged]), [labels])
    return Choice(centroids, {len(centroids): float(values.mean())}, judged, values)


def chance_silhouette(z: Matrix, k: int, seed: int) -> float | None:
    """The mean silhouette of k clusters of Gaussian rows with the covariance of z: what one cloud has that is sliced.

    Sums of the rows with random weights are Gaussian, and have their covariance.
    """
    rng = np.random.default_rng([seed, 1])
    source = np.take(z, rng.permutation(len(z))[:_DRAWN], axis=0)
    source -= source.mean(axis=0)
    n = min(_DRAWN, len(z))
    if k >= n:
        return None
    cloud = rng.standard_normal((n, len(source)), dtype=np.float32) @ source
    cloud *= np.float32(1 / np.sqrt(max(len(source) - 1, 1)))
    centroids = _k_means(cloud, [k], seed)
    labels = _labels(cloud, centroids[k]) if k in centroids else np.zeros(n, np.int64)
    if len(np.unique(labels)) < 2:
        return None
    return float(silhouettes_from(distances_of(cloud), [labels])[0].mean())


def _k_means(rows: Matrix, ks: Sequence[int], seed: int) -> dict[int, Matrix]:
    """The centroids (k, d) of every k for which so many differ and have rows."""
    few = _main_directions(rows, seed)
    runs = [(k, start) for k in ks for start in range(_STARTS if k <= _SMALL else 1)]
    firsts = [spread_out(few, max(ks, default=2), seed + start) for start in range(_STARTS)]
    # The beginning of a spread of many rows is a spread of fewer.
    centroids = np.concatenate([firsts[start][:k] for k, start in runs])
    bounds = np.cumsum([0, *(k for k, _ in runs)])
    before: Matrix | None = None
    for _ in range(_STEPS):
        own, score = _own(few, centroids, bounds)
        if before is not None and np.array_equal(own, before):
            break
        centroids, before = _means(own, few, centroids), own
    best = {k: max((i for i, run in enumerate(runs) if run[0] == k), key=lambda i: score[i]) for k in ks}
    own = np.concatenate([own[bounds[i] : bounds[i + 1]] for i in best.values()])
    bounds = np.cumsum([0, *best])
    wide = _means(own, rows, np.zeros((len(own), rows.shape[1]), rows.dtype))
    for _ in range(_LAST_STEPS):
        own, _ = _own(rows, wide, bounds)
        wide = _means(own, rows, wide)
    sizes: Vector = own.sum(axis=1)
    parts = {k: slice(*ends) for k, ends in zip(best, pairwise(bounds.tolist()), strict=True)}
    return {k: wide[part] for k, part in parts.items() if sizes[part].all() and len(np.unique(wide[part], axis=0)) == k}


def _main_directions(rows: Matrix, seed: int) -> Matrix:
    """The rows along their strongest principal directions, by a few steps of subspace iteration."""
    d = rows.shape[1]
    if d <= _DIRECTIONS:
        return rows
    scatter = rows.T @ rows
    turned = np.random.default_rng(seed).standard_normal((d, _DIRECTIONS)).astype(rows.dtype)
    for _ in range(5):
        turned = scatter @ np.linalg.qr(turned)[0]
    return np.asarray(rows @ np.linalg.qr(turned)[0])


def _own(rows: Matrix, centroids: Matrix, bounds: IntVector) -> tuple[Matrix, Vector]:
    """1 where a centroid is the nearest of its run to a row (centroids, n), and how near all are in each run.

    That is the sum of x.c - |c|^2/2, which grows as squared distances shrink.
    """
    scores = centroids @ rows.T
    scores -= 0.5 * np.vecdot(centroids, centroids)[:, None]
    near = np.empty(len(bounds) - 1)
    for run, (start, end) in enumerate(pairwise(bounds.tolist())):
        part = scores[start:end]
        best = part.max(axis=0)
        near[run] = best.sum(dtype=np.float64)
        np.equal(part, best, out=part, casting="unsafe")
    return scores, near


def _means(own: Matrix, rows: Matrix, before: Matrix) -> Matrix:
    """The mean row of every centroid; one without rows stays where it was."""
    counts = own.sum(axis=1)[:, None]
    return np.where(counts > 0, own @ rows / np.maximum(counts, 1), before).astype(rows.dtype)


def _labels(rows: Matrix, centroids: Matrix) -> IntVector:
    """The nearest centroid of every row, the first of several."""
    scores = rows @ centroids.T
    scores -= 0.5 * np.vecdot(centroids, centroids)
    return np.asarray(scores.argmax(axis=1))
