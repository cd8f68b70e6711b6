"""Partition isotropy and distance from zero mean of a matrix that fits in memory, and IsoScore* of a covariance."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from uncone.data.batch import Batch, Matrix
from uncone.stats.partition import PartitionSums

__all__ = [
    "PartitionIsotropy",
    "isoscore_star",
    "ledoit_wolf_share",
    "log10_isotropy",
    "mean_offset",
    "partition_isotropy",
]


def isoscore_star(covariance: Any, zeta: float = 0.0, reference: Any = None) -> Any:  # noqa: ANN401 - arrays or tensors
    """IsoScore* of a covariance (d, d): the IsoScore of (1 - zeta) C + zeta R (Rudman and Eickhoff 2024).

    R is a `reference` covariance, such as that of more vectors; without one it is the identity times the mean variance.
    It takes a NumPy array or a torch tensor, through which it can be differentiated: it is made of sums and products.

    >>> round(isoscore_star(np.diag([3.0, 1.0])), 3), round(isoscore_star(np.diag([3.0, 1.0]), 0.5), 3)
    (0.6, 0.882)
    """
    d = len(covariance)
    if reference is None:
        trace, squares = covariance.diagonal().sum(), (covariance * covariance).sum()
        squares = (1 - zeta) ** 2 * squares + (2 - zeta) * zeta * trace**2 / d
    else:
        mixed = (1 - zeta) * covariance + zeta * reference
        trace, squares = mixed.diagonal().sum(), (mixed * mixed).sum()
    score = (trace**2 / squares - 1) / (d - 1)
    return float(score) if isinstance(score, np.floating) else score


def ledoit_wolf_share(n: float, dim: int, trace: float, squares: float, fourth: float) -> float:
    """The share zeta of (tr C/d) I that brings C nearest to the true covariance in expectation, from 0 to 1.

    `trace` and `squares` are tr C and tr C^2 of the covariance with 1/n, `fourth` is the mean of |x - mean|^4, so that
    streamed moments are enough (Ledoit and Wolf 2004). NaN when the fourth moment is not known.
    """
    spread = squares - trace**2 / dim
    error = (fourth - squares) / n
    if math.isnan(error):
        return math.nan
    return 0.0 if error <= 0 else min(error, spread) / spread if spread > 0 else 1.0


@dataclass(frozen=True)
class PartitionIsotropy:
    """log10 I(W) under three conventions.

    `published` is that of the code of the papers: each eigenvector with the one sign that the solver happens to return.
    `both_signs` is our safe form, which depends on no solver: Z(c) and Z(-c) both count. `unit` is the same after
    scaling the vectors to mean norm 1, because I(W) depends on their length. All by log-sum-exp, so nothing overflows.
    """

    published: float
    both_signs: float
    unit: float


def partition_isotropy(blocks: Callable[[], Iterable[Matrix]]) -> PartitionIsotropy | None:
    """I(W) of vectors that come in blocks (n, d), which are read twice; None if none is usable.

    >>> isotropy = partition_isotropy(lambda: [np.array([[1.0, 0.0], [-1.0, 0.0]])])
    >>> isotropy.both_signs == log10_isotropy(np.array([[1.0, 0.0], [-1.0, 0.0]]))
    True
    """
    gram: Matrix | None = None
    norms, n, zeros = 0.0, 0, 0
    for block in blocks():
        batch = Batch.of(block)
        product = (batch.vectors.T @ batch.vectors).astype(np.float64)
        gram = product if gram is None else gram + product
        norms += float(batch.norms.sum(dtype=np.float64))
        n, zeros = n + batch.n, zeros + batch.zero.size
    if gram is None or not n:
        return None
    # The code of the papers calls numpy.linalg.eig, whose signs and rounding are not those of eigh.
    returned = PartitionSums(np.ascontiguousarray(np.linalg.eig(gram)[1].real))
    safe = PartitionSums(np.linalg.eigh(gram)[1], scales=(1.0, n / norms))
    for block in blocks():
        batch = Batch.of(block)
        returned.update(batch)
        safe.update(batch)
    sums = [returned.log_sums[0, 0], *safe.log_sums]
    if zeros:  # they count: exp(0) is 1 in every direction
        sums = [np.logaddexp(logs, math.log(zeros)) for logs in sums]
    return PartitionIsotropy(*(float(logs.min() - logs.max()) / math.log(10) for logs in sums))


def log10_isotropy(rows: Matrix) -> float:
    """log10 I(W) of vectors (n, d): the smallest Z(c) over the largest, Z(c) = sum_w exp(c.w).

    c are the eigenvectors of W'W, with both signs (Mu and Viswanath 2018). 0 is isotropic. It depends on the lengths
    of the vectors.

    >>> round(log10_isotropy(np.array([[1.0, 0.0], [-1.0, 0.0]])), 3) == round(math.log10(1 / math.cosh(1)), 3)
    True
    """
    vectors = np.ascontiguousarray(rows, np.float64)
    sums = PartitionSums(np.linalg.eigh(vectors.T @ vectors)[1])
    # Zero vectors count: exp(0) is 1 in every direction.
    usable = Batch.of(vectors)
    sums.update(usable)
    logs = sums.log_sums
    if usable.zero.size:
        logs = np.logaddexp(logs, math.log(usable.zero.size))
    return float(logs.min() - logs.max()) / math.log(10)


def mean_offset(rows: Matrix) -> float:
    """How far vectors (n, d) are from zero mean: |mean| over the root mean square of their norms, from 0 to 1.

    >>> mean_offset(np.array([[3.0, 4.0], [3.0, 4.0]])), mean_offset(np.array([[1.0], [-1.0]]))
    (1.0, 0.0)
    """
    vectors = np.asarray(rows, np.float64)
    square = float(np.vecdot(vectors, vectors).mean())
    return float(np.linalg.norm(vectors.mean(axis=0))) / math.sqrt(square) if square else 0.0
