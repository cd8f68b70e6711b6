"""Partition isotropy and distance from zero mean of a matrix that fits in memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from uncone.data.batch import Batch, Matrix
from uncone.stats.partition import PartitionSums

__all__ = ["PartitionIsotropy", "log10_isotropy", "mean_offset", "partition_isotropy"]


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
