"""Count, mean and scatter of every cluster of the rows, in one pass: no cluster is ever copied out."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from uncone.data.batch import Batch, IntVector, Matrix, Vector
from uncone.data.buffers import borrow, give_back
from uncone.stats.statistic import State, Statistic

__all__ = ["Cells", "ClusterMoments", "padded", "runs_by_label"]

_TOGETHER = 16_384
"""Rows that wait to be multiplied: so that each of 27 clusters has some hundreds in a product."""

_LANES = 16
"""Numbers of float32 that a processor multiplies at once."""

_NOISE = 1e-13
"""A scatter below this share of the sums it is the difference of is rounding: copies of one row have none."""


class Cells:
    """Which of k clusters a row belongs to: the largest of z.linear + z².quadratic + bias, z = (x - center) / scale.

    Without `precisions` that is the nearest centroid; with them, and the `weights` of the clusters, the most likely
    Gaussian with these means and inverse variances (of z). The center is taken off first: expanded distances between
    rows far from zero have no digits left.
    """

    def __init__(
        self,
        center: Vector,
        centroids: Matrix,
        scale: float = 1.0,
        precisions: Matrix | None = None,
        weights: Vector | None = None,
    ) -> None:
        self.center, self.centroids, self.scale = center, centroids, scale
        self.precisions, self.weights = precisions, weights
        self._rounded: dict[np.dtype[Any], tuple[Vector, Matrix, Vector]] = {}
        z = (centroids - center) / scale
        if precisions is None or weights is None:
            self.linear, self.quadratic, self.bias = z, None, -0.5 * np.vecdot(z, z)
        else:
            self.linear, self.quadratic = z * precisions, -0.5 * precisions
            self.bias = np.log(weights) + 0.5 * np.log(precisions).sum(axis=1) - 0.5 * (z * z * precisions).sum(axis=1)

    @property
    def k(self) -> int:
        """Clusters."""
        return len(self.centroids)

    @property
    def flops_per_row(self) -> float:
        """Multiplications and additions that assign a row."""
        return 2.0 * self.centroids.size * (1 if self.quadratic is None else 2)

    def labels(self, rows: Matrix) -> IntVector:
        """The cluster of every row (n,); the first of several that fit alike."""
        center, columns, bias = self._ready(rows.dtype)
        z = rows - center
        score = z @ columns
        score += bias
        if self.quadratic is not None:
            z *= rows.dtype.type(1.0 / self.scale)
            np.multiply(z, z, out=z)
            score[:, : self.k] += z @ self.quadratic.T.astype(rows.dtype)
        return np.asarray(score.argmax(axis=1))

    def _ready(self, dtype: np.dtype[Any]) -> tuple[Vector, Matrix, Vector]:
        """The center, what x - center is multiplied by and what is added, in a precision."""
        if dtype not in self._rounded:
            self._rounded[dtype] = self.center.astype(dtype), *padded(self.linear / self.scale, self.bias, dtype)
        return self._rounded[dtype]

    def only(self, clusters: IntVector) -> Cells:
        """The same with these clusters alone: the rows of the others go to the next best."""
        precisions, weights = (None if part is None else part[clusters] for part in (self.precisions, self.weights))
        return Cells(self.center, self.centroids[clusters], self.scale, precisions, weights)


def padded(linear: Matrix, bias: Vector, dtype: DTypeLike) -> tuple[Matrix, Vector]:
    """Factors (k, d) as columns, and what is added to the products; as many as BLAS likes best, the rest never chosen.

    >>> columns, added = padded(np.ones((2, 3)), np.zeros(2), np.float32)
    >>> columns.shape, added[:3].tolist()
    ((3, 16), [0.0, 0.0, -inf])
    """
    k, dim = linear.shape
    columns = np.zeros((dim, -(-k // _LANES) * _LANES), dtype)
    added = np.full(columns.shape[1], -np.inf, dtype)
    columns[:, :k], added[:k] = linear.T, bias
    return columns, added


def runs_by_label(labels: IntVector) -> tuple[IntVector, list[tuple[int, slice]]]:
    """The places in the order of their labels, and each label that occurs with its run in that order.

    >>> order, runs = runs_by_label(np.array([2, 0, 2]))
    >>> [(label, order[run].tolist()) for label, run in runs]
    [(0, [1]), (2, [0, 2])]
    """
    order = np.argsort(labels, kind="stable")
    names, starts = np.unique(labels[order], return_index=True)
    edges = [*starts.tolist(), len(labels)]
    return order, [(name, slice(*edge)) for name, edge in zip(names.tolist(), pairwise(edges), strict=True)]


class ClusterMoments(Statistic):
    """Sums of y and y y' in every cluster, y = x - its centroid, in float64; products per block in `dtype`.

    Scatters, d x d numbers each, are kept for the clusters from `first` to `last` alone, so that many large ones can
    be had in several passes. A centroid is near the mean of its cluster, however far both are from zero: float32
    keeps its digits.

    >>> moments = ClusterMoments(np.zeros(1), np.array([[0.0], [10.0]]))
    >>> moments.update(Batch.of(np.array([[1.0], [3.0], [12.0]])))
    >>> moments.counts.tolist(), moments.means.ravel().tolist(), moments.scatter(0).tolist()
    ([2, 1], [2.0, 12.0], [[2.0]])
    """

    def __init__(
        self,
        center: Vector,
        centroids: Matrix,
        scale: float = 1.0,
        precisions: Matrix | None = None,
        weights: Vector | None = None,
        *,
        dtype: DTypeLike = np.float32,
        first: int = 0,
        last: int | None = None,
    ) -> None:
        self.cells = Cells(center, centroids, scale, precisions, weights)
        self.dtype = np.dtype(dtype)
        self.first, self.last = first, len(centroids) if last is None else last
        self.dim = len(center)
        self._shift: Matrix = centroids.astype(self.dtype)
        self._counts = np.zeros(len(centroids), np.int64)
        self._sums = np.zeros(centroids.shape)
        self._products: dict[int, Matrix] = {}
        self._block: Matrix | None = None
        self._labels: list[IntVector] = []
        self._waiting = 0

    @property
    def settings(self) -> dict[str, Any]:
        cells = self.cells
        return {
            "center": cells.center,
            "centroids": cells.centroids,
            "scale": cells.scale,
            "precisions": cells.precisions,
            "weights": cells.weights,
            "dtype": self.dtype,
            "first": self.first,
            "last": self.last,
        }

    @property
    def flops_per_row(self) -> float:
        own = (self.last - self.first) / self.cells.k  # the share of the clusters whose scatter is kept
        return self.cells.flops_per_row + own * self.dim * (self.dim + 1)

    def update(self, batch: Batch) -> None:
        for start in range(0, batch.n, _TOGETHER):
            rows = batch.vectors[start : start + _TOGETHER]
            self._put_aside(rows, self.cells.labels(rows))

    def _put_aside(self, rows: Matrix, labels: IntVector) -> None:
        if self._waiting + len(rows) > _TOGETHER:
            self.finish()
        if self._block is None:
            self._block = borrow(_TOGETHER, self.dim, self.dtype)
        y = self._block[self._waiting : self._waiting + len(rows)]
        np.subtract(rows, self._shift[labels], out=y)
        self._labels.append(labels)
        self._waiting += len(rows)

    def finish(self) -> None:
        if self._block is None:
            return
        order, runs = runs_by_label(np.concatenate(self._labels))
        for label, run in runs:
            y = np.take(self._block, order[run], axis=0, mode="clip")
            self._counts[label] += len(y)
            self._sums[label] += y.sum(axis=0, dtype=np.float64)
            if self.first <= label < self.last:
                self._add(label, y.T @ y)
        give_back(self._block)
        self._block, self._labels, self._waiting = None, [], 0

    def _add(self, label: int, product: Matrix) -> None:
        """Add a product that nobody else will change; one alone stays in `dtype`, half the size, without a loss."""
        mine = self._products.get(label)
        if mine is None:
            self._products[label] = product
        elif mine.dtype == np.float64:
            mine += product
        else:
            self._products[label] = mine.astype(np.float64) + product

    def absorb(self, other: ClusterMoments) -> None:
        self.finish()
        other.finish()
        if not self._counts.any():
            self._shift = other._shift
        delta = None if np.array_equal(self._shift, other._shift) else other._shift.astype(np.float64) - self._shift
        for label, product in other._products.items():
            self._add(label, other._owned(label, product, delta, alone=label not in self._products))
        self._counts += other._counts
        self._sums += other._sums if delta is None else other._sums + other._counts[:, None] * delta

    def _owned(self, label: int, product: Matrix, delta: Matrix | None, *, alone: bool) -> Matrix:
        """A product for another to keep, about points that lie `delta` lower."""
        if delta is None:
            # What is float64 may be added to in place, so it must not be shared.
            return product.copy() if alone and product.dtype == np.float64 else product
        cross = np.outer(delta[label], self._sums[label])
        square = np.outer(delta[label], delta[label])
        return np.asarray(product.astype(np.float64) + (cross + cross.T) + float(self._counts[label]) * square)

    @property
    def counts(self) -> IntVector:
        """Rows of every cluster (k,)."""
        self.finish()
        return self._counts

    @property
    def means(self) -> Matrix:
        """The mean of every cluster (k, d); of an empty one, its centroid."""
        self.finish()
        return self._shift + self._sums / np.maximum(self._counts, 1)[:, None]

    def scatter(self, label: int) -> Matrix:
        """The sum of (x - mean)(x - mean)' in a cluster, (d, d)."""
        self.finish()
        product = self._product(label)
        total, length = self._sums[label], np.sqrt(np.diag(product))
        product -= np.outer(total, total) / max(int(self._counts[label]), 1)
        product[np.abs(product) <= _NOISE * np.outer(length, length)] = 0.0
        return product

    def state(self) -> State:
        """About the means, so that it does not tell which points the sums were taken about."""
        scatters = [self.scatter(label) for label in range(self.first, self.last)]
        return {"counts": self.counts, "means": self.means, "scatters": self._stack(scatters)}

    def _restore(self, state: State) -> None:
        self._counts, self._sums = state["counts"].copy(), np.zeros_like(self._sums)
        self._products = {label: state["scatters"][label - self.first].copy() for label in self._occupied}
        self._shift = state["means"].copy()

    def snapshot(self) -> State:
        """Of the products, which are symmetric, only the upper half: they are what takes memory on its way."""
        self.finish()
        rows, columns = np.triu_indices(self.dim)
        products = np.zeros((self.last - self.first, len(rows)))
        for label, product in self._products.items():
            products[label - self.first] = product[rows, columns]
        return {"counts": self._counts, "sums": self._sums, "products": products}

    def resume(self, snapshot: State) -> None:
        self._counts, self._sums = snapshot["counts"].copy(), snapshot["sums"].copy()
        self._products = {label: self._whole(snapshot["products"][label - self.first]) for label in self._occupied}

    @property
    def _occupied(self) -> list[int]:
        return [label for label in range(self.first, self.last) if self._counts[label]]

    def _whole(self, upper: Vector) -> Matrix:
        rows, columns = np.triu_indices(self.dim)
        product: Matrix = np.empty((self.dim, self.dim))
        product[rows, columns] = product[columns, rows] = upper
        return product

    def _stack(self, squares: list[Matrix]) -> Matrix:
        return np.stack(squares) if squares else np.zeros((0, self.dim, self.dim))

    def _product(self, label: int) -> Matrix:
        """A float64 copy."""
        product = self._products.get(label)
        return np.zeros((self.dim, self.dim)) if product is None else product.astype(np.float64)
