"""What the C library does with memory that was freed.

Batches differ in shape, so the tensors of one do not fit into the holes that those of another left: a long run would
hold several times what it uses, and the more the longer it is.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

__all__ = ["return_freed"]


def return_freed(above: int = 0) -> None:
    """Give memory that was freed back to the system, where the C library can, if more than `above` bytes are held."""
    trim = _trim()
    if trim is not None and _held() > above:
        trim(0)


def _held() -> int:
    """Bytes of this process that lie in memory."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGESIZE")


@cache
def _trim() -> Callable[[int], int] | None:
    """malloc_trim of glibc."""
    return getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
