"""Stable hashes: the same row gets the same number on every machine and in every order."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from uncone.data.batch import IntVector, Matrix

__all__ = ["fingerprints", "hash_keys", "hash_sample"]

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


def hash_sample(keys: IntVector, limit: int, seed: int = 0) -> IntVector:
    """The places of the `limit` integer keys with the smallest hashes, in order: a uniform sample of them."""
    return np.sort(np.argsort(hash_keys(keys, seed), kind="stable")[:limit])


def _mixed(z: Hashes) -> Hashes:
    z = (z ^ (z >> np.uint64(30))) * np.uint64(_MIX[0])
    z = (z ^ (z >> np.uint64(27))) * np.uint64(_MIX[1])
    return z ^ (z >> np.uint64(31))


def fingerprints(vectors: Matrix) -> Hashes:
    """A 64-bit number per row that equal rows share: its 32-bit words times fixed odd weights, mixed.

    Words of 32 bits, because coarse numbers (quantised, one-hot, small integers) have only high bits set: the product
    of a 64-bit word with 9 set bits on top would keep 9 bits of its weight.
    """
    words = np.ascontiguousarray(vectors).view(np.uint32)
    with np.errstate(over="ignore"):
        return _mixed(np.einsum("ij,j->i", words, _weights(words.shape[1])))


@lru_cache
def _weights(n: int) -> Hashes:
    return hash_keys(np.arange(n, dtype=np.int64), seed=7) | np.uint64(1)
