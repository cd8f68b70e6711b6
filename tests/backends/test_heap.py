"""What is freed within `large_blocks_apart` goes back to the system, and afterwards everything is as it was."""

import json
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="glibc")

_CODE = """
import json
import numpy as np
from uncone.backends.heap import large_blocks_apart

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 // 2**20

def left_behind():
    "MiB that stay of 100 which are freed, with something small that stays behind each."
    before = resident()
    blocks, small = [], []
    for _ in range(100):
        blocks.append(np.ones(1 << 17))
        small.append(bytes(4000))
    del blocks
    return resident() - before

np.ones(1 << 22)  # 32 MiB: from now on glibc takes blocks from the heap
found = []
with large_blocks_apart():
    found.append(left_behind())
found.append(left_behind())
print(json.dumps(found))
"""


def _left_behind(**environment: str) -> list[int]:
    own = {key: value for key, value in os.environ.items() if not key.startswith(("MALLOC_", "GLIBC_"))}
    done = subprocess.run(
        [sys.executable, "-c", _CODE], env={**own, **environment}, capture_output=True, text=True, check=True
    )
    found: list[int] = json.loads(done.stdout)
    return found


def test_large_blocks_go_back_at_once_and_only_within() -> None:
    within, afterwards = _left_behind()
    assert within < 20
    assert afterwards > 80


def test_what_the_environment_says_is_not_overruled() -> None:
    within, _ = _left_behind(MALLOC_MMAP_THRESHOLD_=str(32 << 20))
    assert within > 80
