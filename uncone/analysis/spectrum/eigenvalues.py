"""Functions of the eigenvalues of the covariance, and their slopes: how each moves with every eigenvalue."""

from __future__ import annotations

import math

import numpy as np

from uncone.data.batch import Vector

__all__ = [
    "condition_number",
    "condition_number_99",
    "effective_rank",
    "participation_ratio",
    "rank_slope",
    "ratio_slope",
    "share_slope",
    "top_share",
]


def effective_rank(eigenvalues: Vector) -> float:
    """The exponential of the entropy of the variance shares.

    >>> effective_rank(np.array([1.0, 1.0, 0.0]))
    2.0
    """
    shares = _shares(eigenvalues)
    shares = shares[shares > 0]
    return float(np.exp(-(shares * np.log(shares)).sum())) if shares.size else 0.0


def participation_ratio(eigenvalues: Vector) -> float:
    """How many directions really carry the variance: (sum l)^2 / sum l^2.

    >>> participation_ratio(np.array([1.0, 1.0, 0.0, 0.0]))
    2.0
    """
    squares = float((eigenvalues**2).sum())
    return float(eigenvalues.sum() ** 2 / squares) if squares else 0.0


def top_share(eigenvalues: Vector, k: int) -> float:
    """The share of the variance along the first k directions.

    >>> top_share(np.array([3.0, 1.0]), 1)
    0.75
    """
    return min(float(_shares(eigenvalues)[:k].sum()), 1.0)


def condition_number(eigenvalues: Vector, resolution: float = 0.0) -> float:
    """Largest over smallest eigenvalue; infinite when the smallest is rounding."""
    smallest = float(eigenvalues[-1])
    return float(eigenvalues[0]) / smallest if smallest > resolution * float(eigenvalues[0]) else math.inf


def condition_number_99(eigenvalues: Vector) -> float:
    """Largest eigenvalue over the one at which 99 % of the variance is reached."""
    reached = int(np.searchsorted(np.cumsum(_shares(eigenvalues)), 0.99))
    return float(eigenvalues[0] / eigenvalues[min(reached, len(eigenvalues) - 1)])


def _shares(eigenvalues: Vector) -> Vector:
    total = eigenvalues.sum()
    return eigenvalues / total if total > 0 else eigenvalues


def rank_slope(eigenvalues: Vector) -> Vector:
    """The slope of the effective rank."""
    total, shares = eigenvalues.sum(), _shares(eigenvalues)
    logs = np.log(np.where(shares > 0, shares, 1.0))
    entropy = -(shares * logs).sum()
    return np.asarray(np.exp(entropy) * -(logs + entropy) / total)


def ratio_slope(eigenvalues: Vector) -> Vector:
    """The slope of the participation ratio."""
    total, squares = eigenvalues.sum(), (eigenvalues**2).sum()
    return np.asarray(2 * total / squares - 2 * total**2 * eigenvalues / squares**2)


def share_slope(eigenvalues: Vector, k: int) -> Vector:
    """The slope of the share of the first k directions."""
    total = eigenvalues.sum()
    inside = (np.arange(len(eigenvalues)) < k).astype(np.float64)
    return np.asarray((inside - top_share(eigenvalues, k)) / total)
