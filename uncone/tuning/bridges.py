"""Bridges: the cluster-based repair as a module between encoder and head (Rajaee and Pilehvar 2021).

A bridge assigns each vector to one of k clusters, subtracts the mean of that cluster and removes its top p principal
directions. With p = 0 it only subtracts means, and with k = 1 as well it centers. The modes differ in where the
statistics come from: the batch itself, moving averages over the training, or a fit on the training set before every
epoch. Assignments and directions are constants to the gradient, which flows through subtraction and projection.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from uncone.analysis.clusters.kmeans import spread_out
from uncone.data.batch import Matrix
from uncone.errors import OptionError, require
from uncone.repairs.clustered import Clustered

require("torch", extra="tune")

import torch  # noqa: E402
from torch import Tensor, nn  # noqa: E402

__all__ = [
    "MODES",
    "BatchBridge",
    "Bridge",
    "FrozenBridge",
    "RepairMethod",
    "RunningBridge",
    "clusters_of",
    "make_bridge",
    "parse_methods",
]

MODES = ("none", "batch", "running", "frozen", "offline")
"""Where the statistics of a repair in the loop come from."""
_STEPS = 10
"""Steps of k-means on a batch; it seldom takes more."""
_MOMENTUM = 0.1
"""The weight of a batch in moving averages, as in batch normalization."""
_ROUNDING = 1e-5
"""Directions with a smaller share of the largest spread are rounding."""


@dataclass(frozen=True)
class RepairMethod:
    """A mode with its k clusters and p directions; `none` has neither."""

    mode: str
    k: int = 1
    p: int = 0

    @property
    def name(self) -> str:
        """The method as the command line has it: `batch/3/2`, or `none`."""
        return self.mode if self.mode == "none" else f"{self.mode}/{self.k}/{self.p}"

    def check(self, batch_size: int, dim: int) -> None:
        """Refuse more clusters than a batch has vectors, and removing every direction.

        Raises:
            OptionError: k or p is too large.
        """
        if self.k > batch_size:
            raise OptionError(
                f"{self.name} asks for {self.k} clusters of a batch of {batch_size}. Give a smaller k, or a larger "
                "--batch-size."
            )
        if self.p >= dim:
            raise OptionError(
                f"{self.name} removes {self.p} directions, and the vectors have {dim}: nothing would be left. Give a "
                "smaller p."
            )


def parse_methods(names: Sequence[str]) -> list[RepairMethod]:
    """Methods written as mode/k/p, each once; `none` comes first, because the others are compared with it.

    >>> [method.name for method in parse_methods(["batch/3/2", "running", "batch/3/2"])]
    ['none', 'batch/3/2', 'running/1/0']

    Raises:
        OptionError: a method cannot be read.
    """
    return list(dict.fromkeys([RepairMethod("none"), *map(_parse, names)]))


def _parse(text: str) -> RepairMethod:
    mode, *numbers = str(text).strip().lower().split("/")
    if mode not in MODES:
        raise OptionError(f"There is no mode {mode!r} of a repair in the loop; choose from {', '.join(MODES)}.")
    if len(numbers) > 2 or not all(re.fullmatch(r"[0-9]{1,6}", number) for number in numbers):
        raise OptionError(
            f"{text!r} can't be read as mode/k/p. Write for instance batch/3/2: 3 clusters, 2 directions."
        )
    if mode == "none":
        if numbers:
            raise OptionError(f"{text!r}: none repairs nothing, so it has no clusters and no directions. Write none.")
        return RepairMethod(mode)
    k, p = (*map(int, numbers), *(1, 0)[len(numbers) :])
    if k < 1:
        raise OptionError(f"{text!r} has no cluster. Give k from 1 on; 1 is a single mean.")
    return RepairMethod(mode, k, p)


class Bridge(nn.Module):
    """A repair of vectors (b, d) with k clusters and p directions each."""

    def __init__(self, dim: int, k: int, p: int, seed: int = 0) -> None:
        super().__init__()
        self.dim, self.k, self.p, self.seed = dim, k, p, seed

    @abstractmethod
    def assign(self, vectors: Tensor) -> Tensor:
        """The cluster of each vector (b,)."""

    @abstractmethod
    def forward(self, vectors: Tensor) -> Tensor:
        """The repaired vectors."""


class BatchBridge(Bridge):
    """Clusters, means and directions of the very batch, in training and in prediction, as in the source.

    So the prediction for a text depends on its neighbors in the batch. A cluster of one vector becomes zero. A cluster
    with no more than p vectors has fewer directions, which are all removed.
    """

    def assign(self, vectors: Tensor) -> Tensor:
        """The clusters that k-means finds in the batch."""
        return clusters_of(vectors, self.k, self.seed)

    def forward(self, vectors: Tensor) -> Tensor:
        """The repaired vectors. Means are functions of the batch, and the gradient flows through them."""
        labels = self.assign(vectors)
        one_hot = nn.functional.one_hot(labels, self.k).to(vectors.dtype)
        means = one_hot.T @ vectors / one_hot.sum(dim=0).clamp(min=1.0)[:, None]
        rows = vectors - means[labels]
        if not self.p:
            return rows
        directions = vectors.new_zeros((self.k, self.p, self.dim))
        for cluster in sorted(set(labels.tolist())):
            own = rows.detach()[labels == cluster]
            _, spreads, axes = torch.linalg.svd(own.double(), full_matrices=False)
            floor = _ROUNDING * max(float(spreads[0]), float(vectors.detach().abs().max()))
            real = axes[: self.p][spreads[: self.p] > floor]
            directions[cluster, : len(real)] = real.to(vectors.dtype)
        return _without(rows, directions[labels])


class _StoredBridge(Bridge):
    """A bridge with saved statistics: a vector goes to the nearest centroid, whatever else is in its batch."""

    centroids: Tensor
    means: Tensor
    directions: Tensor

    def __init__(self, dim: int, k: int, p: int, seed: int = 0) -> None:
        super().__init__(dim, k, p, seed)
        # A cluster without a place is infinitely far from every vector.
        self.register_buffer("centroids", torch.full((k, dim), torch.inf))
        self.register_buffer("means", torch.zeros(k, dim))
        self.register_buffer("directions", torch.zeros(k, p, dim))

    def assign(self, vectors: Tensor) -> Tensor:
        """The nearest centroid of each vector."""
        with torch.no_grad():
            return _squared_distances(vectors, self.centroids).argmin(dim=1)

    def forward(self, vectors: Tensor) -> Tensor:
        """The repaired vectors, by the statistics as they are."""
        labels = self.assign(vectors)
        rows = vectors - self.means[labels]
        return _without(rows, self.directions[labels]) if self.p else rows


class RunningBridge(_StoredBridge):
    """Moving averages of the means and covariances of k clusters, updated by every training batch.

    The first batch sets the clusters by k-means. After that, a vector belongs to the nearest running mean, and every
    cluster that has vectors in a batch moves a tenth of the way. Outside training, nothing moves.
    """

    covariances: Tensor

    def __init__(self, dim: int, k: int, p: int, seed: int = 0) -> None:
        super().__init__(dim, k, p, seed)
        self.register_buffer("covariances", torch.zeros(k, dim, dim) if p else torch.zeros(0))

    def forward(self, vectors: Tensor) -> Tensor:
        """The repaired vectors; in training, the statistics take the batch in first."""
        if self.training:
            self._update(vectors.detach())
        return super().forward(vectors)

    @torch.no_grad()
    def _update(self, vectors: Tensor) -> None:
        starts = not bool(self.centroids.isfinite().any())
        labels = clusters_of(vectors, self.k, self.seed) if starts else self.assign(vectors)
        weight = 1.0 if starts else _MOMENTUM
        for cluster in sorted(set(labels.tolist())):
            own = vectors[labels == cluster]
            self.means[cluster].lerp_(own.mean(dim=0), weight)
            self.centroids[cluster] = self.means[cluster]
            if self.p:
                around = own - self.means[cluster]
                self.covariances[cluster].lerp_(around.T @ around / len(own), weight)
                self.directions[cluster] = _top_directions(self.covariances[cluster], self.p)


class FrozenBridge(_StoredBridge):
    """Statistics of a fit on many vectors, unchanged until the next fit."""

    @torch.no_grad()
    def fit(self, rows: Matrix) -> None:
        """Learn clusters, means and directions from vectors (n, d); small clusters join others.

        Raises:
            FitError: there are too few vectors, or all are equal.
        """
        repair = Clustered(k=self.k, p=self.p, seed=self.seed).fit(rows)
        device, dtype = self.means.device, self.means.dtype
        self.centroids.fill_(torch.inf)
        learned = (repair.centroids_, repair.means_, repair.directions_)
        for buffer, values in zip((self.centroids, self.means, self.directions), learned, strict=True):
            buffer[: repair.k_] = torch.as_tensor(values, dtype=dtype, device=device)


def make_bridge(method: RepairMethod, dim: int, seed: int = 0) -> Bridge | None:
    """The module of a method; none for `none` and for `offline`, which trains without a repair."""
    kinds: dict[str, type[Bridge]] = {"batch": BatchBridge, "running": RunningBridge, "frozen": FrozenBridge}
    kind = kinds.get(method.mode)
    return None if kind is None else kind(dim, method.k, method.p, seed)


def clusters_of(vectors: Tensor, k: int, seed: int = 0) -> Tensor:
    """The cluster of each vector (n,), by k-means from a seeded start; with fewer vectors than k, one each."""
    with torch.no_grad():
        rows = (vectors - vectors.mean(dim=0)).float()
        if k == 1 or len(rows) == 1:
            return torch.zeros(len(rows), dtype=torch.long, device=rows.device)
        first = spread_out(np.ascontiguousarray(rows.cpu().numpy()), min(k, len(rows)), seed)
        centroids = torch.as_tensor(first, device=rows.device)
        labels = _squared_distances(rows, centroids).argmin(dim=1)
        for _ in range(_STEPS):
            one_hot = nn.functional.one_hot(labels, len(centroids)).float()
            sizes = one_hot.sum(dim=0)[:, None]
            centroids = torch.where(sizes > 0, one_hot.T @ rows / sizes.clamp(min=1.0), centroids)
            before, labels = labels, _squared_distances(rows, centroids).argmin(dim=1)
            if torch.equal(before, labels):
                break
        return labels


def _squared_distances(rows: Tensor, centroids: Tensor) -> Tensor:
    """Squared distances (n, k) from differences: expanded products have no digits left on a cone."""
    return torch.stack([(rows - centroid).square().sum(dim=1) for centroid in centroids], dim=1)


def _top_directions(covariance: Tensor, p: int) -> Tensor:
    """The p strongest principal directions (p, d), zero where there is no spread."""
    values, vectors = torch.linalg.eigh(covariance.double().cpu())
    top, spreads = vectors.flip(1)[:, :p].T, values.flip(0)[:p]
    real = spreads > _ROUNDING**2 * max(float(values[-1]), torch.finfo(torch.float32).tiny)
    directions: Tensor = (top * real[:, None]).to(covariance)
    return directions


def _without(rows: Tensor, directions: Tensor) -> Tensor:
    """The rows (b, d) without what lies along their directions (b, p, d)."""
    return rows - torch.einsum("bp,bpd->bd", torch.einsum("bd,bpd->bp", rows, directions), directions)
