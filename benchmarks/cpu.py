"""CPU seconds: what benchmarks compare, because other work on the machine does not change them much."""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["seconds"]


def seconds(work: Callable[[], object]) -> float:
    """CPU seconds of some work."""
    start = time.process_time()
    work()
    return time.process_time() - start
