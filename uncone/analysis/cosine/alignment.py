"""Alignment and uniformity of unit vectors in memory (Wang and Isola 2020)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from uncone.analysis.cosine.units import pair_cosines, unit_rows

__all__ = ["alignment", "exact_uniformity"]


def alignment(left: ArrayLike, right: ArrayLike) -> float | None:
    """The mean squared distance of unit vectors that belong together, E|u - v|²; None without any.

    >>> alignment([[1.0, 0.0]], [[0.0, 2.0]])
    2.0
    """
    cosines = pair_cosines(left, right)
    cosines = cosines[np.isfinite(cosines)]
    return float((2 - 2 * cosines).mean()) if len(cosines) else None


def exact_uniformity(vectors: ArrayLike) -> float | None:
    """The logarithm of E exp(-2|u - v|²) over all pairs of rows; None for fewer than two.

    >>> round(exact_uniformity([[1.0, 0.0], [-1.0, 0.0]]), 6)
    -8.0
    """
    units = unit_rows(vectors)
    units = units[np.isfinite(units[:, 0])]
    n = len(units)
    if n < 2:
        return None
    kernel = np.exp(-4 * (1 - np.clip(units @ units.T, -1.0, 1.0)))
    return math.log((float(kernel.sum()) - float(np.trace(kernel))) / (n * (n - 1)))
