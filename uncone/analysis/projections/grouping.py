"""Clusters of the rows of a picture, found in the space and not on the picture."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from uncone.analysis.clusters.clusters import cluster_labels
from uncone.data.batch import IntVector, Matrix
from uncone.stats.samples.hashing import hash_keys

__all__ = ["Grouping", "group"]

_LOOKED_AT = 20_000
"""Rows that clusters are looked for in; the others go to the nearest mean."""
_LEAST = 3
_AT_ONCE = 8192


@dataclass(frozen=True, eq=False)
class Grouping:
    """The cluster of every row (n,), largest first, and the means (k, d) of the clusters."""

    labels: IntVector
    means: Matrix

    @property
    def k(self) -> int:
        """Clusters."""
        return len(self.means)

    def nearest(self, rows: Matrix) -> IntVector:
        """The cluster whose mean is nearest to each of other rows."""
        centre = self.means.mean(axis=0)
        means = (self.means - centre).astype(rows.dtype)
        shift, half = centre.astype(rows.dtype), 0.5 * np.vecdot(means, means)
        found = [
            ((rows[start : start + _AT_ONCE] - shift) @ means.T - half).argmax(axis=1)
            for start in range(0, len(rows), _AT_ONCE)
        ]
        return np.concatenate([*found, np.empty(0, np.int64)]).astype(np.int64)


def group(vectors: Matrix, *, k: int | None = None, numbers: IntVector | None = None, seed: int = 0) -> Grouping:
    """The clusters of rows (n, d), as `layers --deep` finds them: k by the silhouette, unless it is asked for.

    Of many rows a sample is looked at, drawn by their `numbers`. Fewer than three rows are one cluster, and so are
    rows that are all equal.
    """
    n = len(vectors)
    if n < _LEAST or (vectors == vectors[0]).all():
        return Grouping(np.zeros(n, np.int64), vectors.mean(axis=0, keepdims=True, dtype=np.float64))
    numbers = np.arange(n) if numbers is None else numbers
    looked = np.sort(np.argsort(hash_keys(numbers, seed), kind="stable")[:_LOOKED_AT])
    some = vectors if len(looked) == n else vectors[looked]
    labels, _ = cluster_labels(some, k=k, seed=seed)
    means = np.stack([some[labels == one].mean(axis=0, dtype=np.float64) for one in range(int(labels.max()) + 1)])
    if len(looked) == n:
        return Grouping(labels, means)
    whole = Grouping(labels, means).nearest(vectors)
    whole[looked] = labels
    order = np.argsort(-np.bincount(whole, minlength=len(means)), kind="stable")
    return Grouping(np.argsort(order)[whole], means[order])
