"""Clusters of the vectors in a picture, computed in the space and not in the picture."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from uncone.analysis.clusters.clusters import cluster_labels
from uncone.data.batch import IntVector, Matrix
from uncone.stats.samples.hashing import hash_keys

__all__ = ["Grouping", "group"]

_SAMPLE = 20_000
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
    chosen = np.sort(np.argsort(hash_keys(np.arange(n) if numbers is None else numbers, seed), kind="stable")[:_SAMPLE])
    sample = vectors if len(chosen) == n else vectors[chosen]
    labels, _ = cluster_labels(sample, k=k, seed=seed)
    means = np.stack([sample[labels == one].mean(axis=0, dtype=np.float64) for one in range(int(labels.max()) + 1)])
    if len(chosen) == n:
        return Grouping(labels, means)
    every = Grouping(labels, means).nearest(vectors)
    every[chosen] = labels
    order = np.argsort(-np.bincount(every, minlength=len(means)), kind="stable")
    return Grouping(np.argsort(order)[every], means[order])
