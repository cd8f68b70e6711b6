"""Groups of identical rows: the sampling units of every interval where data repeat."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from uncone.data.batch import IntVector, Matrix
from uncone.stats.samples.hashing import Hashes, fingerprints

__all__ = ["copy_groups", "row_prints"]

_AT_ONCE = 8192


def copy_groups(prints: Hashes) -> IntVector | None:
    """The group of each row (n,), numbered from 0: rows with the same fingerprint share one. None when all differ.

    >>> copy_groups(np.array([7, 9, 7], np.uint64))
    array([0, 1, 0])
    """
    ordered = np.sort(prints)
    if (ordered[1:] != ordered[:-1]).all():
        return None
    return np.unique(prints, return_inverse=True)[1].astype(np.int64)


def row_prints(parts: Iterable[Matrix]) -> Hashes:
    """The fingerprints of rows that come in several arrays, in order."""
    blocks = (part[start : start + _AT_ONCE] for part in parts for start in range(0, len(part), _AT_ONCE))
    return np.concatenate([np.empty(0, np.uint64), *map(fingerprints, blocks)])
