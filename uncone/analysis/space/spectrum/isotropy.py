"""Partition isotropy and distance from zero mean of a matrix that fits in memory."""

from __future__ import annotations

import math

import numpy as np

from uncone.data.batch import Batch, Matrix
from uncone.stats.partition import PartitionSums

__all__ = ["log10_isotropy", "mean_offset"]


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
