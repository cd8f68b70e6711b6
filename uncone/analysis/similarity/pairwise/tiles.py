"""The upper triangle of the cosine matrix in tiles that stay in a core's cache, strip by strip on all cores.

The grid is fixed, and each tile is one product on one BLAS thread: the number of cores does not change a digit.
"""

from __future__ import annotations

import numpy as np

from uncone.analysis.similarity.pairwise.unit_rows import Units

__all__ = ["TILE", "product", "starts"]

TILE = 512
"""Rows and columns of a tile: 1 MiB of float32, so that what follows a product finds it in the cache."""


def starts(n: int, first: int = 0) -> range:
    """Where the strips of n rows begin."""
    return range(first, n, TILE)


def product(one: Units, other: Units, limit: np.float32, room: Units) -> Units:
    """The products of every row of `one` with every row of `other`, within -limit and limit, written into `room`.

    Lengths are 1 but for rounding, so a cosine may come out a little above 1.
    """
    tile = room[: len(one) * len(other)].reshape(len(one), len(other))
    np.matmul(one, other.T, out=tile)
    return np.clip(tile, -limit, limit, out=tile)
