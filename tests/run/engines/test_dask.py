"""Dask gives the same bytes as threads."""

from __future__ import annotations

import subprocess
import sys

import pytest
from engine_answers import answers

pytest.importorskip("distributed")


@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore")  # distributed leaves sockets to the garbage collector
def test_dask_gives_the_same_bytes(shards, expected):
    assert answers(shards, engine="dask", workers=2) == expected


def test_a_script_without_a_guard_ends_at_once(tmp_path):
    """A line that names the guard, instead of workers that start the script again without end."""
    script = tmp_path / "script.py"
    script.write_text(
        "import numpy as np, uncone\nfrom uncone.errors import WorkerError\n"
        "np.save('vectors.npy', np.eye(8, dtype=np.float32))\n"
        "try:\n    uncone.check('vectors.npy', engine='dask')\nexcept WorkerError as error:\n    print(error)\n"
    )
    run = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120)
    assert run.stdout.count("\n") == 1 and "__main__" in run.stdout
