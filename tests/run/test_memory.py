"""Memory that was freed between what stays goes back to the system, when so much is held that it is worth while."""

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="malloc_trim is of glibc")

_CODE = """
import json
import numpy as np
from uncone.run.memory import resident_bytes, return_freed

np.ones(1 << 21)  # 16 MiB: from now on glibc takes smaller blocks from the heap
before = resident_bytes()
blocks, small = [], []
for _ in range(100):
    blocks.append(np.ones(1 << 17))
    small.append(bytes(100_000))  # larger than the holes that imports leave behind
del blocks
left = []
for above in (before + (200 << 20), before + (50 << 20)):
    return_freed(above)
    left.append((resident_bytes() - before) >> 20)
print(json.dumps(left))
"""


def test_freed_memory_goes_back_when_more_is_held_than_allowed() -> None:
    done = subprocess.run([sys.executable, "-c", _CODE], capture_output=True, text=True, check=True)
    under, over = json.loads(done.stdout)
    assert under > 80, "100 MiB were freed, and less was held than allowed"
    assert over < 20
