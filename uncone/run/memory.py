"""Memory of a layer study: how much each part may use, and how freed memory returns to the system."""

from __future__ import annotations

import ctypes
import os
import resource
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from uncone.encoders.batching import TOKENS
from uncone.encoders.encoder import Encoder
from uncone.errors import OptionError

__all__ = ["GIB", "MIB", "Room", "resident_bytes", "return_freed", "share_out"]

MIB = 1 << 20
GIB = 1 << 30
_PYTHON = 560 * MIB
"""What Python, torch, the transformers package and a pool of texts take, before any model: about, as measured."""
_LEAST_TOKENS = 512
_MOST_ROWS = 5_000
_BLOCK = 4096
_COPIES = 8
"""Copies of the deep sample of a layer that are in use while two layers are worked on."""
_OCCURRENCES = (200, 100, 50, 30, 20, 10)


@dataclass(frozen=True)
class Room:
    """Tokens of a batch, rows sampled per layer, words in the table, words for MEV and occurrences of each; bytes.

    `deep` rows per layer are kept for what looks behind the cone; the first `sample` of them are for all else.
    """

    tokens: int
    sample: int
    words: int
    mev_words: int
    occurrences: int
    planned: int
    deep: int = 0

    def to_dict(self) -> dict[str, int]:
        """Plain JSON values."""
        return asdict(self)


def share_out(encoder: Encoder, memory: int, words: int, occurrences: Sequence[int], deep: int = 0) -> Room:
    """Share `memory` bytes: `words` are wanted in the table; `occurrences` of each word that MEV is measured on.

    `deep` rows per layer are wanted to look behind the cone: they may take half of what is free, with the copies that
    two layers at a time are worked on in.

    Raises:
        OptionError: not even the least fits.
    """
    layers, d = encoder.layers, encoder.dim
    # Sums and tables are there twice: those of all texts, and those of the part that is measured.
    fixed = _PYTHON + encoder.model_bytes + layers * (32 * d * d + 3200 * d) + 12 * _BLOCK * d
    least = fixed + _LEAST_TOKENS * encoder.bytes_per_token + layers * d * 4 * 1000
    if memory < least:
        raise OptionError(
            f"{encoder.name} with {layers} layers of {d} dimensions needs about {_size(least)}, more than --memory "
            f"{_size(memory)}. Give it more."
        )
    free = memory - fixed
    tokens = int(min(TOKENS, max(free // 4 // max(encoder.bytes_per_token, 1), _LEAST_TOKENS)))
    free -= tokens * encoder.bytes_per_token
    sample = int(max(min(_MOST_ROWS, free // 4 // (layers * d * 4)), 1000))
    deep = int(max(min(deep, free // 2 // ((layers + _COPIES) * d * 4)), sample)) if deep else 0
    free -= deep * (layers + _COPIES) * d * 4 if deep else sample * layers * d * 4
    n_words, most = _fitting(occurrences, max(free // 3, 0) // (layers * d * 8))
    free -= sum(min(count, most) for count in occurrences[:n_words]) * layers * d * 8
    table = int(min(words, max(free, 0) // (2 * layers * d * 8)))
    planned = memory - max(free, 0) + 2 * table * layers * d * 8
    return Room(tokens, sample, table, n_words, most, planned, deep)


def _fitting(occurrences: Sequence[int], room: int) -> tuple[int, int]:
    """How many of the words, and how many occurrences of each, fit: rather fewer occurrences than fewer words."""
    for most in _OCCURRENCES:
        if sum(min(count, most) for count in occurrences) <= room:
            return len(occurrences), most
    return min(room // _OCCURRENCES[-1], len(occurrences)), _OCCURRENCES[-1]


def _size(size: int) -> str:
    return f"{size / GIB:.1f} GiB" if size >= GIB else f"{size / MIB:.0f} MiB"


def return_freed(above: int = 0) -> None:
    """Give memory that was freed back to the system, where the C library can, if more than `above` bytes are held."""
    trim = _trim()
    if trim is not None and resident_bytes() > above:
        trim(0)


def resident_bytes() -> int:
    """Bytes of this process that lie in memory; where the system doesn't say, the most that ever did."""
    if sys.platform != "linux":
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # bytes on macOS
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGESIZE")


@cache
def _trim() -> Callable[[int], int] | None:
    """malloc_trim of glibc."""
    return getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
