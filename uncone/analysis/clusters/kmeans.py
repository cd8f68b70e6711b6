"""Clusters of vectors by k-means or a Gaussian mixture, and how many there are.

`best_clusters` runs k-means for every number at once and judges all by one matrix of distances: the centroids of every
k are the rows of one matrix. Its steps are taken among the principal directions of a sample, where clusters that
stand apart lie apart, and the last ones in all dimensions.
"""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable, Sequence
from itertools import pairwise, repeat
from typing import NamedTuple, TypeVar

import numpy as np

from uncone.analysis.clusters.silhouettes import distances_of, silhouettes_from
from uncone.data.batch import IntVector, Matrix, Vector
from uncone.run.threads import on_all_cores, one_blas_thread
from uncone.stats.cluster_moments import Cells, padded, runs_by_label

__all__ = [
    "AUTO",
    "LEAST",
    "TRIED",
    "Choice",
    "best_clusters",
    "best_k",
    "chance_silhouette",
    "clusters_of_k",
    "gaussian_cells",
    "kmeans_cells",
    "labels_of",
    "scaled",
    "spread_out",
    "without_small",
]

T = TypeVar("T")

AUTO = range(2, 31)
"""The numbers of clusters that `best_k` tries."""
_TRIED_ON = 8192
_JUDGED_ON = 2048
"""Vectors that k-means is tried on, and vectors whose silhouette is taken: every pair of them is looked at."""
_BEGUN_FROM = 4096
"""Vectors that the first centroids are chosen of."""
_LEAST_VARIANCE = 1e-4
"""Added to the variances of a mixture, where the mean variance of all dimensions is 1."""
_AT_ONCE = 16_384
_IN_A_STEP = 4096
"""Vectors that a thread looks at together in a step of k-means: enough pieces for all cores."""
TRIED = range(2, 16)
"""The numbers of clusters that are tried (Cai et al. 2021)."""
LEAST = 0.1
"""Below this silhouette there are no clusters."""
_LEARNT_FROM = 4096
"""Vectors that all numbers of clusters are tried on."""
_CLOUD_SAMPLE = 1024
"""Gaussian vectors to compare with."""
_DIRECTIONS = 32
_STEPS, _LAST_STEPS = 20, 2
_SMALL, _STARTS = 5, 3
"""Up to so many clusters the best of so many starts is taken: few centroids are easily caught in a bad place."""
_ITERATIONS = 25


def kmeans_cells(rows: Matrix, k: int, seed: int, iterations: int) -> Cells:
    """The cells of the k centroids that k-means finds among the vectors (n, d)."""
    frame = _frame(rows)
    with one_blas_thread():
        return _nearest(frame, _kmeans(scaled(rows, frame), k, seed, iterations))


def gaussian_cells(rows: Matrix, k: int, seed: int, iterations: int) -> tuple[Cells, bool]:
    """The cells of a mixture of k Gaussians, begun at k-means, and whether it came to rest.

    Their covariances are diagonal: full ones would need more vectors in every cluster than there are dimensions.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import GaussianMixture

    start = without_small(kmeans_cells(rows, k, seed, iterations), rows, 1)
    z = scaled(rows, start)
    labels = labels_of(start, rows)
    order, runs = runs_by_label(labels)
    variances = np.stack([z[order[run]].var(axis=0, dtype=np.float64) for _, run in runs])
    mixture = GaussianMixture(
        start.k,
        covariance_type="diag",
        reg_covar=_LEAST_VARIANCE,
        max_iter=iterations,
        init_params="random_from_data",
        weights_init=np.bincount(labels, minlength=start.k) / len(rows),
        means_init=start.linear,
        precisions_init=1.0 / (variances + _LEAST_VARIANCE),
        random_state=seed,
    )
    with one_blas_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it is told to the caller
        mixture.fit(z.astype(np.float64))
    centroids = start.center + start.scale * mixture.means_
    weights = np.maximum(mixture.weights_, np.finfo(np.float64).tiny)
    return Cells(start.center, centroids, start.scale, mixture.precisions_, weights), bool(mixture.converged_)


def best_k(rows: Matrix, seed: int, iterations: int) -> tuple[int, float]:
    """The number of clusters, of `AUTO`, whose k-means has the largest mean silhouette, and that silhouette."""
    from sklearn.metrics import pairwise_distances, silhouette_score

    order = np.random.default_rng(seed).permutation(len(rows))
    tried = rows[np.sort(order[:_TRIED_ON])]
    sample = rows[np.sort(order[:_JUDGED_ON])]
    frame = _frame(tried)
    z = scaled(tried, frame)
    best = 1, -1.0
    with one_blas_thread():
        distances = pairwise_distances(scaled(sample, frame).astype(np.float64))
        np.fill_diagonal(distances, 0.0)
        for k in AUTO:
            if k >= len(sample):
                break
            labels = _nearest(frame, _kmeans(z, k, seed, iterations)).labels(sample)
            if 1 < len(np.unique(labels)) < len(sample):
                score = float(silhouette_score(distances, labels, metric="precomputed"))
                best = (k, score) if score > best[1] else best
    return best


def without_small(cells: Cells, rows: Matrix, least: int) -> Cells:
    """The cells without those that hold fewer than `least` of the vectors, the smallest first; at least one stays.

    The vectors of a cell that goes are shared out among those that are nearest to them.
    """
    labels = labels_of(cells, rows)
    while cells.k > 1:
        counts = np.bincount(labels, minlength=cells.k)
        smallest = int(counts.argmin())
        if counts[smallest] >= least:
            break
        others = np.delete(np.arange(cells.k), smallest)
        orphans = np.flatnonzero(labels == smallest)
        cells = cells.only(others)
        labels = labels - (labels > smallest)
        if orphans.size:
            labels[orphans] = labels_of(cells, rows[orphans])
    return cells


def labels_of(cells: Cells, rows: Matrix) -> IntVector:
    """The cell of every vector, in blocks."""
    return np.concatenate(_each(cells.labels, rows))


def _each(work: Callable[[Matrix], T], rows: Matrix) -> list[T]:
    """What is made of each block of vectors, in their order, on all cores."""
    blocks = [rows[start : start + _AT_ONCE] for start in range(0, len(rows), _AT_ONCE)]
    if len(blocks) == 1:
        return [work(blocks[0])]
    with on_all_cores() as threads:
        return list(threads.map(work, blocks))


def _frame(rows: Matrix) -> Cells:
    """One cell for all vectors: its center is their mean, its scale their standard deviation over all dimensions."""
    center = np.sum(_each(lambda block: block.sum(axis=0, dtype=np.float64), rows), axis=0) / len(rows)
    shift = center.astype(rows.dtype)

    def squares(block: Matrix) -> float:
        y = block - shift
        return float(np.vecdot(y, y).sum(dtype=np.float64))

    return Cells(center, center[None], float(np.sqrt(sum(_each(squares, rows)) / rows.size)))


def _nearest(frame: Cells, z: Matrix) -> Cells:
    return Cells(frame.center, frame.center + frame.scale * z.astype(np.float64), frame.scale)


def scaled(rows: Matrix, frame: Cells) -> Matrix:
    """The vectors about their mean, and of length about 1 per dimension: float32 has its digits there."""
    shift, factor = frame.center.astype(rows.dtype), rows.dtype.type(1 / frame.scale)
    z = np.empty(rows.shape, np.float32)

    def scale(start: int) -> None:
        np.multiply(rows[start : start + _AT_ONCE] - shift, factor, out=z[start : start + _AT_ONCE])

    with on_all_cores() as threads:
        deque(threads.map(scale, range(0, len(rows), _AT_ONCE)), maxlen=0)
    return z


def _kmeans(z: Matrix, k: int, seed: int, iterations: int) -> Matrix:
    """The centroids (k, d) by Lloyd's steps, until no vector changes its cluster; to be called with one BLAS thread.

    Not by faiss: the BLAS that its package brings may not know the processor, and takes several times as long as
    these two products. The blocks are fixed and their sums are added in order: the cores do not change a digit.
    """
    centroids = spread_out(z, k, seed)
    blocks = [z[start : start + _IN_A_STEP] for start in range(0, len(z), _IN_A_STEP)]
    labels: list[IntVector | None] = [None] * len(blocks)
    sums, counts = np.zeros((k, z.shape[1])), np.zeros(k, np.int64)
    with on_all_cores() as threads:
        for _ in range(iterations):
            columns, bias = padded(centroids, -0.5 * np.vecdot(centroids, centroids), z.dtype)
            steps = list(threads.map(_step, blocks, labels, repeat(columns), repeat(bias)))
            labels = [step.labels for step in steps]
            if not any(step.moved for step in steps):
                break
            for step in steps:
                sums += step.sums
                counts += step.counts
            centroids = centroids.copy()
            centroids[counts > 0] = (sums / np.maximum(counts, 1)[:, None])[counts > 0].astype(z.dtype)
            if not counts.all():
                centroids[counts == 0] = _farthest(blocks, columns, bias, int((counts == 0).sum()))
    return centroids


class _Step(NamedTuple):
    """The nearest centroid of each vector, how many vectors moved, and what that adds to sums and counts."""

    labels: IntVector
    moved: int
    sums: Matrix
    counts: IntVector


def _step(z: Matrix, before: IntVector | None, columns: Matrix, bias: Vector) -> _Step:
    """Only vectors that moved are added where they are now, and taken off where they were: later they are few."""
    k = int(np.count_nonzero(np.isfinite(bias)))
    labels = np.asarray((z @ columns + bias).argmax(axis=1))
    names = np.arange(k)[:, None]
    if before is None:
        change, rows, moved = (names == labels).astype(z.dtype), z, len(z)
    else:
        places = np.flatnonzero(labels != before)
        change = (names == labels[places]).astype(z.dtype) - (names == before[places])
        rows, moved = np.take(z, places, axis=0, mode="clip"), len(places)
    return _Step(labels, moved, (change @ rows).astype(np.float64), change.sum(axis=1, dtype=np.int64))


def _farthest(blocks: Sequence[Matrix], columns: Matrix, bias: Vector, n: int) -> Matrix:
    """The n vectors that are farthest from their own centroids: there a cluster without vectors begins anew."""
    apart = np.concatenate([np.vecdot(z, z) - 2 * (z @ columns + bias).max(axis=1) for z in blocks])
    places = np.argsort(-apart, kind="stable")[:n]
    return np.stack([blocks[place // _IN_A_STEP][place % _IN_A_STEP] for place in places.tolist()])


def spread_out(z: Matrix, k: int, seed: int) -> Matrix:
    """First centroids, far from each other: greedy k-means++ (Arthur and Vassilvitskii 2007) on some vectors."""
    rng = np.random.default_rng(seed)
    z = z[rng.permutation(len(z))[: max(_BEGUN_FROM, 16 * k)]]
    squares = np.vecdot(z, z)
    picks = [0]  # they are in random order
    apart = _apart(z, squares, picks)[0]
    for _ in range(1, k):
        summed = np.cumsum(apart, dtype=np.float64)
        candidates = np.searchsorted(summed, rng.random(2 + int(np.log(k))) * summed[-1], side="right")
        candidates = np.minimum(candidates, len(z) - 1)
        closer = np.minimum(apart, _apart(z, squares, candidates))
        best = int(closer.sum(axis=1, dtype=np.float64).argmin())
        picks.append(int(candidates[best]))
        apart = closer[best]
    return z[picks]


def _apart(z: Matrix, squares: Vector, places: Sequence[int] | IntVector) -> Matrix:
    """The squared distances of every vector to those at some places, (places, n)."""
    distances = squares[places][:, None] + squares - 2 * (z[places] @ z.T)
    return np.maximum(distances, 0.0)


class Choice(NamedTuple):
    """The centroids (k, d) that were chosen, and the silhouette of every k that was tried.

    `sample` are the places of the vectors whose silhouettes, at the chosen k, are `values`; None with one cluster.
    """

    centroids: Matrix
    tried: dict[int, float]
    sample: IntVector
    values: Vector | None


def best_clusters(z: Matrix, seed: int) -> Choice:
    """The clusters of vectors (n, d) about zero, of the number in `TRIED` with the largest mean Euclidean silhouette.

    When that is below `LEAST`, all vectors are one cluster. Of many vectors a seeded sample is looked at.
    """
    places = np.random.default_rng(seed).permutation(len(z))[:_LEARNT_FROM]
    rows, sample = np.take(z, places, axis=0), places[:_JUDGED_ON]
    ks = [k for k in TRIED if k < len(sample)]
    single = Choice(np.zeros((1, z.shape[1]), z.dtype), {}, sample, None)
    if not ks or not rows.any():
        return single
    centroids = _k_means(rows, ks, seed)
    labels = {k: _labels(rows[: len(sample)], own) for k, own in centroids.items()}
    labels = {k: own for k, own in labels.items() if 1 < len(np.unique(own)) < len(sample)}
    if not labels:
        return single
    values = dict(zip(labels, silhouettes_from(distances_of(rows[: len(sample)]), list(labels.values())), strict=True))
    tried = {k: float(value.mean()) for k, value in values.items()}
    best = max(tried, key=lambda k: tried[k])  # the smallest of several that are as good
    if tried[best] < LEAST:
        return single._replace(tried=tried)
    return Choice(centroids[best], tried, sample, values[best])


def clusters_of_k(z: Matrix, k: int, seed: int) -> Choice:
    """The same for a number that was asked for; fewer, when fewer vectors differ."""
    places = np.random.default_rng(seed).permutation(len(z))[: max(_LEARNT_FROM, 64 * k)]
    rows, sample = np.take(z, places, axis=0), places[:_JUDGED_ON]
    if k == 1 or not rows.any():
        return Choice(np.zeros((1, z.shape[1]), z.dtype), {}, sample, None)
    centroids = kmeans_cells(rows, k, seed, _ITERATIONS).centroids.astype(z.dtype)
    centroids = centroids[np.unique(_labels(rows, centroids))]
    labels = _labels(z[sample], centroids)
    if not 1 < len(np.unique(labels)) < len(sample):
        return Choice(centroids, {}, sample, None)
    (values,) = silhouettes_from(distances_of(z[sample]), [labels])
    return Choice(centroids, {len(centroids): float(values.mean())}, sample, values)


def chance_silhouette(z: Matrix, k: int, seed: int) -> float | None:
    """The mean silhouette of k slices of one cloud: Gaussian vectors with the covariance of z.

    Sums of the vectors with random weights are Gaussian, and have their covariance.
    """
    rng = np.random.default_rng([seed, 1])
    source = np.take(z, rng.permutation(len(z))[:_CLOUD_SAMPLE], axis=0)
    source -= source.mean(axis=0)
    n = min(_CLOUD_SAMPLE, len(z))
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
    """The centroids (k, d) of every k for which so many differ and have vectors."""
    few = _main_directions(rows, seed)
    runs = [(k, start) for k in ks for start in range(_STARTS if k <= _SMALL else 1)]
    firsts = [spread_out(few, max(ks, default=2), seed + start) for start in range(_STARTS)]
    # The beginning of a spread of many vectors is a spread of fewer.
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
    """The vectors along their strongest principal directions, by a few steps of subspace iteration."""
    d = rows.shape[1]
    if d <= _DIRECTIONS:
        return rows
    scatter = rows.T @ rows
    turned = np.random.default_rng(seed).standard_normal((d, _DIRECTIONS)).astype(rows.dtype)
    for _ in range(5):
        turned = scatter @ np.linalg.qr(turned)[0]
    return np.asarray(rows @ np.linalg.qr(turned)[0])


def _own(rows: Matrix, centroids: Matrix, bounds: IntVector) -> tuple[Matrix, Vector]:
    """1 where a centroid is the nearest of its run to a vector (centroids, n), and how near all are in each run.

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
    """The mean vector of every centroid; one without vectors stays where it was."""
    counts = own.sum(axis=1)[:, None]
    return np.where(counts > 0, own @ rows / np.maximum(counts, 1), before).astype(rows.dtype)


def _labels(rows: Matrix, centroids: Matrix) -> IntVector:
    """The nearest centroid of every vector, the first of several."""
    scores = rows @ centroids.T
    scores -= 0.5 * np.vecdot(centroids, centroids)
    return np.asarray(scores.argmax(axis=1))
