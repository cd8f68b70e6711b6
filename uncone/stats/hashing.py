"""Stable hashes: the same row gets the same number on every machine and in every order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from uncone.data.batch import IntVector, Matrix

__all__ = ["fingerprints", "hash_keys"]

Hashes = NDArray[np.uint64]

_GOLDEN = 0x9E3779B97F4A7C15
_MIX = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
_WORD = (1 << 64) - 1


def hash_keys(keys: IntVector, seed: int = 0) -> Hashes:
    """SplitMix64 of integer keys: uniform 64-bit numbers."""
    offset = np.uint64((seed + 1) * _GOLDEN & _WORD)
    with np.errstate(over="ignore"):
        z = keys.astype(np.uint64) * np.uint64(_GOLDEN) + offset
        return _mixed(_mixed(z))


def _mixed(z: Hashes) -> Hashes:
    z = (z ^ (z >> np.uint64(30))) * np.uint64(_MIX[0])
    z = (z ^ (z >> np.uint64(27))) * np.uint64(_MIX[1])
    return z ^ (z >> np.uint64(31))


def fingerprints(vectors: Matrix) -> Hashes:
    """A 64-bit number per row that equal rows share: the bits of the row times fixed odd weights, mixed.

    Two passes over half-words would be needed against an adversary; against chance 64 bits are enough.
    """
    n, d = vectors.shape
    vectors = np.ascontiguousarray(vectors)
    per_word = 8 // vectors.dtype.itemsize
    whole = d - d % per_word
    words = vectors[:, :whole] if whole == d else np.ascontiguousarray(vectors[:, :whole])
    weights = hash_keys(np.arange(d + 1, dtype=np.int64), seed=7) | np.uint64(1)
    with np.errstate(over="ignore"):
        total = np.zeros(n, np.uint64)
        if whole:
            # einsum multiplies integers faster than matmul does.
            np.einsum("ij,j->i", words.view(np.uint64), weights[: whole // per_word], out=total)
        for column in range(whole, d):
            bits = np.ascontiguousarray(vectors[:, column]).view(f"u{vectors.dtype.itemsize}")
            total = total + bits.astype(np.uint64) * weights[column + 1]
        return _mixed(total)
