"""Pictures of one or several spaces, side by side: axes in the same direction, clusters, and how far to trust them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from uncone.analysis.clusters.clusters import cluster_labels
from uncone.analysis.number_format import count, percent
from uncone.analysis.projections.projection import (
    FLAT,
    Axes,
    Method,
    Progress,
    check_rows,
    fit_axes,
    project,
    signs_like,
)
from uncone.analysis.projections.results import Panel, Trust
from uncone.data.batch import IntVector, Matrix, Vector
from uncone.stats.hashing import hash_sample

__all__ = ["Grouping", "Picture", "Space", "group", "neighbor_preservation", "pictures_of", "trust_of"]


@dataclass(frozen=True, eq=False)
class Space:
    """Vectors (m, d) of a layer or a repair, at these `places` of the map."""

    name: str
    vectors: Matrix
    places: IntVector
    layer: int | None = None

    @property
    def norms(self) -> Vector:
        """The length of every vector."""
        return np.asarray(np.sqrt(np.vecdot(self.vectors, self.vectors).astype(np.float64)))


@dataclass(frozen=True, eq=False)
class Picture:
    """A panel, and the axes of PCA or SVD that it is drawn on or started from."""

    panel: Panel
    axes: Axes


def pictures_of(
    spaces: Sequence[Space],
    rows: IntVector,
    method: Method,
    dims: int,
    seed: int = 0,
    progress: Progress | None = None,
) -> list[Picture]:
    """A picture of every space; `rows` are the row numbers of the map's points.

    Every space has its own axes, but each axis of PCA points in the same direction as in the previous picture, by the
    rows of both, and t-SNE and UMAP start there.

    Raises:
        ShapeError: too few vectors, or vectors that are not finite.
    """
    pictures: list[Picture] = []
    before: tuple[IntVector, Matrix] | None = None
    for space in spaces:
        vectors = check_rows(space.vectors, method)
        axes = fit_axes(vectors, dims, centered=method != "svd")
        points = axes.points(vectors)
        if before is not None:
            _, mine, theirs = np.intersect1d(space.places, before[0], assume_unique=True, return_indices=True)
            signs = signs_like(points[mine], before[1][theirs])
            axes, points = axes.flipped(signs), points * signs
        before = space.places, points
        if method not in FLAT:
            points = project(vectors, method, dims, seed, progress, axes)
        explained = axes.explained if method in FLAT else None
        trust = trust_of(vectors, points, method, explained=explained, numbers=rows[space.places], seed=seed)
        pictures.append(Picture(Panel(space.name, points, space.places, trust, space.layer), axes))
    return pictures


_K, _TRUST_SAMPLE, _TRUST_BLOCK = 15, 2_000, 256
"""Neighbors, points that are compared with each other, and points at a time."""
_WELL, _ROUGHLY, _HARDLY = 0.95, 0.85, 0.65
_SHARED = 0.25
"""The share of neighbors that a picture must keep to be read point by point."""


class Preservation(NamedTuple):
    """What a picture preserves: trustworthiness, continuity, and the share of the k nearest that stay among them."""

    trustworthiness: float
    continuity: float
    share: float


def trust_of(
    vectors: Matrix,
    points: Matrix,
    method: str,
    *,
    explained: float | None = None,
    numbers: IntVector | None = None,
    seed: int = 0,
) -> Trust:
    """The trust of a picture `points` (n, 2 or 3) of `vectors` (n, d).

    It is measured on up to 2,000 points, drawn by their `numbers`, with k = 15 neighbors, or fewer among few points.
    """
    numbers = np.arange(len(points)) if numbers is None else numbers
    places = hash_sample(numbers, _TRUST_SAMPLE, seed)
    k = min(_K, (len(places) - 1) // 2)
    if k < 1 or not np.ptp(points[places], axis=0).any():
        reason = "all vectors are equal" if k else "there are too few vectors"
        return Trust(None, None, explained, max(k, 0), len(places), f"Neighbors can't be compared: {reason}.")
    preserved = neighbor_preservation(vectors[places], points[places], k)
    sentence = _sentence(method, points.shape[1], explained, preserved, k, len(places))
    return Trust(preserved.trustworthiness, preserved.continuity, explained, k, len(places), sentence)


def neighbor_preservation(vectors: Matrix, points: Matrix, k: int) -> Preservation:
    """Trustworthiness and continuity (Venna and Kaski 2001) of points (n, p) for vectors (n, d); k is under n / 2.

    T = 1 - 2 / (n k (2n - 3k - 1)) * sum of (rank in the space - k) over the k nearest points in the picture that are
    not among the k nearest in the space; continuity swaps space and picture.

    >>> line = np.arange(12.0)[:, None]
    >>> neighbor_preservation(line, 2 * line, 3)
    Preservation(trustworthiness=1.0, continuity=1.0, share=1.0)
    """
    n = len(points)
    sides = [np.asarray(side - side.mean(axis=0, dtype=np.float64), np.float64) for side in (vectors, points)]
    torn = false = shared = 0
    for start in range(0, n, _TRUST_BLOCK):
        space, picture = (_distances(side, start) for side in sides)
        in_space, in_picture = (np.argpartition(side, k - 1, axis=1)[:, :k] for side in (space, picture))
        ranks, back = _ranks(space, in_picture), _ranks(picture, in_space)
        false += int(np.maximum(ranks - k, 0).sum())
        torn += int(np.maximum(back - k, 0).sum())
        shared += int((ranks <= k).sum())
    scale = 2.0 / (n * k * (2 * n - 3 * k - 1))
    return Preservation(1.0 - scale * false, 1.0 - scale * torn, shared / (n * k))


def _distances(rows: Matrix, start: int) -> Matrix:
    """Squared distances of a block of rows to all (b, n), infinite to itself."""
    block = rows[start : start + _TRUST_BLOCK]
    distances = np.vecdot(block, block)[:, None] + np.vecdot(rows, rows) - 2 * (block @ rows.T)
    own = np.arange(len(block))
    distances[own, start + own] = np.inf
    return np.asarray(distances)


def _ranks(distances: Matrix, places: IntVector) -> IntVector:
    """The rank of each place by distance (b, k); 1 is the nearest."""
    values = np.take_along_axis(distances, places, axis=1)
    return np.stack([1 + np.count_nonzero(distances < column[:, None], axis=1) for column in values.T], axis=1)


def _sentence(method: str, dims: int, explained: float | None, quality: Preservation, k: int, n: int) -> str:
    of = "variance" if method == "pca" else "squared length"
    axes = "two" if dims == 2 else "three"
    first = f"The {axes} axes hold {percent(explained)} of the {of}. " if explained is not None else ""
    neighbors = f"Of the {k} points nearest to a point, {percent(quality.share)} are among its {k} nearest in the space"
    if k == 1:
        neighbors = f"For {percent(quality.share)} of the points, the nearest point is also the nearest in the space"
    scores = f"trustworthiness {quality.trustworthiness:.2f}, continuity {quality.continuity:.2f}"
    return f"{first}{neighbors} ({scores}, on {count(n, 'point')}). {_advice(quality)}"


def _advice(preserved: Preservation) -> str:
    worse = min(preserved.trustworthiness, preserved.continuity)
    if worse >= _WELL and preserved.share >= _SHARED:
        return "You can trust its groups and neighbors."
    if worse >= _ROUGHLY:
        if preserved.trustworthiness < preserved.continuity:
            return "You can trust its groups, but points that are near each other may be far apart in the space."
        return "You can trust its groups, but some neighbors are torn apart."
    if worse >= _HARDLY:
        return "You can trust its overall shape, but not its neighbors."
    return "It is hardly better than a random picture."


_CLUSTER_SAMPLE = 20_000
"""Vectors that are clustered; the others go to the nearest mean."""
_BLOCK = 8192


@dataclass(frozen=True, eq=False)
class Grouping:
    """The cluster of every vector (n,), largest first, and the means (k, d) of the clusters."""

    labels: IntVector
    means: Matrix

    @property
    def k(self) -> int:
        """The number of clusters."""
        return len(self.means)

    def nearest(self, rows: Matrix) -> IntVector:
        """The cluster with the nearest mean for each of other vectors."""
        center = self.means.mean(axis=0)
        means, shift = (self.means - center).astype(rows.dtype), center.astype(rows.dtype)
        half = 0.5 * np.vecdot(means, means)
        blocks = (rows[start : start + _BLOCK] for start in range(0, len(rows), _BLOCK))
        labels = [((block - shift) @ means.T - half).argmax(axis=1) for block in blocks]
        return np.concatenate([*labels, np.empty(0, np.int64)]).astype(np.int64)


def group(vectors: Matrix, *, k: int | None = None, numbers: IntVector | None = None, seed: int = 0) -> Grouping:
    """The clusters of vectors (n, d), as in `layers --deep`: k by silhouette unless it is given.

    Of many vectors a sample is clustered, drawn by their `numbers`. Fewer than three vectors, or equal ones, are one
    cluster.
    """
    n = len(vectors)
    if n < 3 or (vectors == vectors[0]).all():
        return Grouping(np.zeros(n, np.int64), vectors.mean(axis=0, keepdims=True, dtype=np.float64))
    places = hash_sample(np.arange(n) if numbers is None else numbers, _CLUSTER_SAMPLE, seed)
    sample = vectors if len(places) == n else vectors[places]
    labels, _ = cluster_labels(sample, k=k, seed=seed)
    means = np.stack(
        [sample[labels == number].mean(axis=0, dtype=np.float64) for number in range(int(labels.max()) + 1)]
    )
    if len(places) == n:
        return Grouping(labels, means)
    every = Grouping(labels, means).nearest(vectors)
    every[places] = labels
    order = np.argsort(-np.bincount(every, minlength=len(means)), kind="stable")
    return Grouping(np.argsort(order)[every], means[order])
