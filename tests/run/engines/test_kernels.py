"""Workers whose last digits would differ are refused, unless that is allowed: with a worker of another BLAS kernel."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from uncone.cli.main import _run
from uncone.run.job import kernel


@pytest.fixture
def other_cluster(tmp_path):
    """The address of a Dask cluster whose only worker computes with another kernel than this process."""
    pytest.importorskip("distributed")
    mine = kernel()["BLAS"]
    other = next(name for name in ("Haswell", "Nehalem") if name.lower() != mine.lower())
    code = (
        "import asyncio, sys\n"
        "from distributed import Nanny, Scheduler\n"
        "async def main():\n"
        "    async with Scheduler(host='127.0.0.1', port=0, dashboard_address=':0') as scheduler:\n"
        "        async with Nanny(scheduler.address, nthreads=1):\n"
        "            print(scheduler.address, flush=True)\n"
        "            await asyncio.to_thread(sys.stdin.read)\n"
        "if __name__ == '__main__':\n    asyncio.run(main())\n"
    )
    (tmp_path / "cluster.py").write_text(code)
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[3]), "OPENBLAS_CORETYPE": other}
    cluster = subprocess.Popen(
        [sys.executable, tmp_path / "cluster.py"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        text=True,
        start_new_session=True,
    )
    try:
        yield other, cluster.stdout.readline().strip()
    finally:
        cluster.stdin.close()
        try:
            cluster.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(cluster.pid, signal.SIGKILL)
        cluster.stdout.close()


@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore")
@pytest.mark.skipif(not re.fullmatch("[A-Z][A-Za-z]+", kernel()["BLAS"]), reason="needs OpenBLAS")
def test_a_worker_with_another_kernel(other_cluster, tmp_path):
    other, address = other_cluster
    rows = np.random.default_rng(0).normal(size=(20_000, 32)).astype(np.float32) + 1
    np.save(tmp_path / "vectors.npy", rows)

    def run(*options):
        words = [sys.executable, "-m", "uncone", "check", "vectors.npy", "--no-html", *options]
        return subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)

    refused = run("--json", "refused.json", "--engine", "dask", "--address", address)
    assert refused.returncode == 2 and refused.stderr.count("\n") == 1
    assert f"BLAS {other}" in refused.stderr and "--any-kernel" in refused.stderr
    assert not (tmp_path / "refused.json").exists()
    allowed = run("--json", "allowed.json", "--engine", "dask", "--address", address, "--any-kernel")
    assert allowed.returncode == 0, allowed.stderr
    assert run("--json", "own.json").returncode == 0
    values = [json.loads((tmp_path / name).read_text())["findings"] for name in ("allowed.json", "own.json")]
    assert values[0]["baseline"]["value"] == pytest.approx(values[1]["baseline"]["value"], rel=1e-4)
    assert _run(["check", str(tmp_path / "vectors.npy"), "--any-kernel"]) == 2
