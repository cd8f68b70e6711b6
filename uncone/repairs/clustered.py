"""The cluster-based repair: every cluster of rows is centered by itself and loses its own top directions."""

from __future__ import annotations

from collections import deque
from typing import ClassVar, Literal, Self

import numpy as np

from uncone.analysis.clusters.kmeans import AUTO, best_k, gaussian_cells, kmeans_cells, without_small
from uncone.data.batch import IntVector, Matrix, Vector
from uncone.data.source import Source
from uncone.errors import FitError, OptionError
from uncone.repairs.directions import leading, product
from uncone.repairs.repair import Arrays, Progress, Repair, sampled_rows
from uncone.run.measure import Plan, measure, step_progress
from uncone.run.threads import on_all_cores
from uncone.stats.cluster_moments import Cells, ClusterMoments, runs_by_label

__all__ = ["Clustered"]

_AT_ONCE = 8192
_SCATTER_BYTES = 1 << 29
"""Memory for the scatters of the clusters; when they need more, the rows are read once for every so many clusters."""


class Clustered(Repair):
    """Assign a row to its cluster, subtract the mean of the cluster, remove its top `p` principal directions.

    Rajaee and Pilehvar 2021, A Cluster-based Approach for Improving Isotropy in Contextual Embedding Space. `p=0`
    subtracts the means alone. `k="auto"` takes the number of clusters, 2 to 30, with the largest mean silhouette.
    `assign="gmm"` is a mixture of Gaussians with diagonal covariances, begun at k-means.

    The centroids are learned from at most `sample` rows, drawn by `seed` when there are more; means and directions
    from all, in a second pass. A row that comes later goes to the cluster it fits best, as the rows of the fit did.
    A cluster with fewer than 2 (p + 1) of the sampled rows is given up, and its rows go to the next best: `p`
    directions would be most of what they span. A cluster whose rows differ in fewer than `p` directions loses those
    there are; copies of one row have none and become zero.

    Learned: `k_` clusters with `centroids_` (k, d), `means_` (k, d), `sizes_` (k,), `directions_` (k, p, d) of which
    the first `counts_` (k,) are filled, the others zero; `cells_`, which assigns; `note_`, what was done.
    """

    kind: ClassVar[str] = "clustered"
    cells_: Cells
    k_: int
    centroids_: Matrix
    means_: Matrix
    directions_: Matrix
    counts_: IntVector
    sizes_: IntVector
    note_: str

    def __init__(
        self,
        k: int | Literal["auto"] = 27,
        p: int = 12,
        assign: Literal["kmeans", "gmm"] = "kmeans",
        seed: int = 0,
        iterations: int = 20,
        sample: int = 50_000,
    ) -> None:
        self.k = k
        self.p = p
        self.assign = assign
        self.seed = seed
        self.iterations = iterations
        self.sample = sample

    def _learn(self, source: Source, plan: Plan, progress: Progress | None) -> None:
        self._check(source)
        rows = sampled_rows(source, plan, self.sample, self.seed, "clustered, sample", progress)
        cells, note = self._cells_of(rows)
        n = len(rows)
        del rows
        self._set_cells(cells)
        self._measure(source, plan, progress)
        sample = "a seeded sample of " if self.sizes_.sum() > n else ""
        self.note_ = f"{note}, learned from {sample}{n:,} vectors"

    def _check(self, source: Source) -> None:
        if self.k != "auto" and not (_whole(self.k) and self.k >= 1):
            raise OptionError(f'k={self.k!r} is no number of clusters. Give a whole number from 1 on, or "auto".')
        if not (_whole(self.p) and self.p >= 0):
            raise OptionError(f"p={self.p!r} is no number of directions. Give a whole number from 0 on.")
        if self.assign not in ("kmeans", "gmm"):
            raise OptionError(f'assign={self.assign!r} is unknown. Give "kmeans" or "gmm".')
        for name, value, least in (("iterations", self.iterations, 1), ("sample", self.sample, 2)):
            if not (_whole(value) and value >= least):
                raise OptionError(f"{name}={value!r} cannot be used. Give a whole number from {least} on.")
        if not (_whole(self.seed) and 0 <= self.seed < 2**31):
            raise OptionError(f"seed={self.seed!r} cannot be used. Give a whole number from 0 to {2**31 - 1}.")
        if self.p >= source.dim:
            raise FitError(
                f"Removing p={self.p} directions of {source.dim} (n_features={source.dim}) leaves nothing. "
                "Give a p smaller than the dimensions."
            )
        if not source.rereadable:
            raise OptionError(
                f"{source.name} can be read only once, and clustered reads its rows twice: first for the centroids, "
                "then for the directions. Save it to a file first."
            )

    def _cells_of(self, rows: Matrix) -> tuple[Cells, str]:
        """The cells that rows are assigned to, and a description of how they were found."""
        n = len(rows)
        if n < self.p + 2:
            raise FitError(
                f"{n:,} rows (n_samples={n}) differ in at most {n - 1} directions, so that removing p={self.p} leaves "
                "nothing of them. Give more rows or a smaller p."
            )
        k, selection = self.k, ""
        if k == "auto":
            k, silhouette = best_k(rows, self.seed, self.iterations)
            selection = f" (of 2 to {AUTO[-1]} the best silhouette, {silhouette:.2f})"
        elif k > n:
            raise FitError(f"k={k} clusters cannot be made of {n:,} rows (n_samples={n}). Give a smaller k.")
        if self.assign == "gmm":
            cells, converged = gaussian_cells(rows, k, self.seed, self.iterations)
            clusters = "Gaussians" if converged else f"Gaussians (still moving after {self.iterations} iterations)"
        else:
            cells, clusters = kmeans_cells(rows, k, self.seed, self.iterations), "k-means clusters"
        least = 2 * (self.p + 1)
        large = without_small(cells, rows, least)
        lost = f", {k - large.k} of fewer than {least} vectors merged into others" if large.k < k else ""
        return large, f"{k} {clusters}{selection}{lost}"

    def _set_cells(self, cells: Cells) -> None:
        self.cells_, self.k_, self.centroids_ = cells, cells.k, cells.centroids
        self.n_features_in_ = self._n_features_out = cells.centroids.shape[1]

    def _measure(self, source: Source, plan: Plan, progress: Progress | None) -> None:
        """The second pass: means and directions of the clusters, some clusters at a time when they are many."""
        cells, dim = self.cells_, source.dim
        self.directions_ = np.zeros((cells.k, self.p, dim))
        self.counts_ = np.zeros(cells.k, np.int64)
        together = max(_SCATTER_BYTES // (8 * dim * dim), 1) if self.p else cells.k
        settings = cells.center, cells.centroids, cells.scale, cells.precisions, cells.weights
        report = step_progress(progress, "clustered, directions", source.rows)
        for first in range(0, cells.k, together):
            last = min(first + together, cells.k) if self.p else first
            empty = ClusterMoments(*settings, dtype=plan.dtype, first=first, last=last)
            moments = measure(source, empty, plan, report)
            self.means_, self.sizes_ = moments.means, moments.counts
            self._take_directions(moments)

    def _take_directions(self, moments: ClusterMoments) -> None:
        clusters = range(moments.first, moments.last)
        with on_all_cores() as threads:
            results = threads.map(lambda cluster: _top_directions(moments, cluster, self.p), clusters)
            for cluster, directions in zip(clusters, results, strict=True):
                self.counts_[cluster] = len(directions)
                self.directions_[cluster, : len(directions)] = directions

    @property
    def flops_per_row(self) -> float:
        """The distances to the centroids, and the directions that are removed from a row."""
        removed = float(self.counts_ @ self.sizes_) / float(self.sizes_.sum())
        return self.cells_.flops_per_row + 4.0 * self.n_features_in_ * removed

    def _map(self, rows: Matrix) -> Matrix:
        out = np.empty(rows.shape, rows.dtype)
        means, directions = self.means_.astype(rows.dtype), self.directions_.astype(rows.dtype)
        starts = range(0, len(rows), _AT_ONCE)

        def repair(start: int) -> None:
            self._repair(rows[start : start + _AT_ONCE], means, directions, out[start : start + _AT_ONCE])

        if len(starts) == 1:
            repair(0)
            return out
        # One BLAS thread for each of ours: the products are small, and two threads would wait for each other.
        with on_all_cores() as threads:
            deque(threads.map(repair, starts), maxlen=0)
        return out

    def _repair(self, rows: Matrix, means: Matrix, directions: Matrix, out: Matrix) -> None:
        """Repair a block of rows, cluster by cluster: they are put in the order of their clusters, and back."""
        order, runs = runs_by_label(self.cells_.labels(rows))
        with np.errstate(invalid="ignore", over="ignore"):  # NaN stays NaN, and infinity becomes NaN
            turned = np.take(rows, order, axis=0, mode="clip")
            for cluster, run in runs:
                y, removed = turned[run], directions[cluster, : self.counts_[cluster]]
                y -= means[cluster]
                y -= product(product(y, removed.T), removed)
            back = np.empty_like(order)
            back[order] = np.arange(len(order))
            np.take(turned, back, axis=0, mode="clip", out=out)

    def arrays(self) -> Arrays:
        """What was learned, in float64: `precisions` and `weights` only of a mixture."""
        cells = self.cells_
        mixture = {} if cells.precisions is None else {"precisions": cells.precisions, "weights": cells.weights}
        return {
            "centre": cells.center,
            "scale": np.array([cells.scale]),
            "centroids": cells.centroids,
            "means": self.means_,
            "directions": self.directions_,
            "counts": self.counts_.astype(np.float64),
            "sizes": self.sizes_.astype(np.float64),
            **{name: value for name, value in mixture.items() if value is not None},
        }

    def restore(self, arrays: Arrays) -> Self:
        """Take over what another repair with the same parameters learned."""
        (k, dim), p = arrays["centroids"].shape, self.p
        shapes = {"centre": (dim,), "means": (k, dim), "directions": (k, p, dim), "counts": (k,), "sizes": (k,)}
        for name, shape in shapes.items():
            if arrays[name].shape != shape:
                raise ValueError(f"{name} has shape {arrays[name].shape}, not {shape}")
        cells = Cells(
            arrays["centre"],
            arrays["centroids"],
            float(arrays["scale"][0]),
            arrays.get("precisions"),
            arrays.get("weights"),
        )
        self._set_cells(cells)
        self.means_, self.directions_ = arrays["means"], arrays["directions"]
        self.counts_, self.sizes_ = arrays["counts"].astype(np.int64), arrays["sizes"].astype(np.int64)
        return self


def _whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _top_directions(moments: ClusterMoments, cluster: int, p: int) -> Matrix:
    """The principal directions of a cluster (at most p, d), the first component first, each with a fixed sign."""
    n = int(moments.counts[cluster])
    values, vectors = leading(moments.scatter(cluster), p)
    mean, centroid = moments.means[cluster], moments.cells.centroids[cluster]
    real = values > _floor(values, n, mean, mean - centroid, float(np.finfo(moments.dtype).eps))
    directions: Matrix = vectors[:, real].T[: max(n - 1, 0)]
    largest = np.abs(directions).argmax(axis=1)
    return np.asarray(directions * np.sign(directions[np.arange(len(directions)), largest])[:, None])


def _floor(values: Vector, n: int, mean: Vector, offset: Vector, eps: float) -> float:
    """The eigenvalue that rounding alone can cause: of the products, of the shift to the mean, of the rows."""
    rounding = (4 * eps) ** 2 * float(mean @ mean)
    return max(16 * eps * float(values[0]), n * 100 * eps * float(offset @ offset), n * rounding)
