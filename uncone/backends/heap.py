"""What the C library does with memory that was freed.

Batches differ in shape, so the tensors of one do not fit into the holes that those of another left: a long run would
hold several times what it uses, and the more the longer it is.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

__all__ = ["large_blocks_apart", "return_freed"]

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Of malloc.h."""
_LARGE = 1 << 19
_LEFT_ON_TOP = 64 << 20
_ONCE_GROWN = 32 << 20, 64 << 20
"""Where glibc ends by itself once a block of 32 MiB was freed."""
_SET_BY_USER = ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "GLIBC_TUNABLES")


@contextmanager
def large_blocks_apart() -> Iterator[None]:
    """Within it a block of half a MiB or more is a mapping of its own, which goes back to the system when it is freed.

    Does nothing where the C library is not glibc, or was told by the environment what to do.
    """
    mallopt = _from_glibc("mallopt")
    if mallopt is None or any(name in os.environ for name in _SET_BY_USER):
        yield
        return
    mallopt(_MMAP_THRESHOLD, _LARGE)
    # Else what is small would go back all the time too, and the run would take longer.
    mallopt(_TRIM_THRESHOLD, _LEFT_ON_TOP)
    try:
        yield
    finally:
        mapped, left = _ONCE_GROWN
        mallopt(_MMAP_THRESHOLD, mapped)
        mallopt(_TRIM_THRESHOLD, left)


def return_freed() -> None:
    """Give memory that was freed back to the system, where the C library can."""
    trim = _from_glibc("malloc_trim")
    if trim is not None:
        trim(0)


@cache
def _from_glibc(name: str) -> Callable[..., int] | None:
    return getattr(ctypes.CDLL(None), name, None) if sys.platform == "linux" else None
