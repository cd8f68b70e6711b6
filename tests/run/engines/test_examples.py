"""The examples of docs/cluster.md run as they stand, but for the port: a cluster is started, and used."""

from __future__ import annotations

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

PAGE = (Path(__file__).parents[3] / "docs" / "cluster.md").read_text()
SECTIONS = dict(re.findall(r"^### ([^\n]+)\n(.*?)(?=^##)", PAGE, re.M | re.S))
PACKAGES = {"Ray": "ray", "Dask": "distributed", "Spark": "pyspark", "Spark Connect": "grpc_status"}


def blocks(section, kind):
    return re.findall(rf"^```{kind}\n(.*?)^```", SECTIONS[section], re.M | re.S)


def script(section, port):
    """What a reader would do, in one shell: start what runs on, wait until it answers, use it, and stop it."""
    start, use = blocks(section, "bash")
    (code,) = blocks(section, "python")
    (usual,) = set(re.findall(r"--address \S+:([0-9]+)", use))
    lines = [line if line.startswith("export ") else f"{line} >> started.log 2>&1 &" for line in start.splitlines()]
    waiting = (
        "import time\nfrom uncone.errors import WorkerError\nfrom uncone.run.engines.address import check_address\n"
        f"end = time.monotonic() + 120\nwhile True:\n    try:\n        check_address('127.0.0.1:{port}', '{section}')\n"
        "        break\n    except WorkerError:\n        assert time.monotonic() < end\n        time.sleep(0.2)\n"
    )
    steps = [
        "trap 'kill $(jobs -p); wait' EXIT",
        *lines,
        "set -e",
        f"python -c {shlex.quote(waiting)}",
        use,
        "python example.py",
    ]
    replaced = "\n".join(steps).replace(usual, str(port))
    return replaced, code.replace(usual, str(port)) + "\nprint('the example is done')\n"


@pytest.mark.parametrize("section", PACKAGES)
def test_every_engine_has_an_example(section):
    start, use = blocks(section, "bash")
    assert "uncone " not in start and "--address" in use
    compile(blocks(section, "python")[0], section, "exec")


@pytest.mark.exhaustive
@pytest.mark.parametrize("section", PACKAGES)
def test_the_example_runs(section, tmp_path):
    pytest.importorskip(PACKAGES[section])
    (tmp_path / "shards").mkdir()
    rows = np.random.default_rng(0).normal(size=(3_000, 8)).astype(np.float32) + 1
    for place, (start, stop) in enumerate([(0, 700), (700, 3_000)]):
        np.save(tmp_path / "shards" / f"part-{place}.npy", rows[start:stop])
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    commands, code = script(section, port)
    (tmp_path / "example.py").write_text(code)
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": programs, "SPARK_LOCAL_IP": "127.0.0.1"}
    shell = subprocess.Popen(
        ["bash", "-c", commands],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        output, errors = shell.communicate(timeout=500)
    finally:
        if shell.poll() is None:
            os.killpg(shell.pid, signal.SIGKILL)
    assert shell.returncode == 0, errors + (tmp_path / "started.log").read_text()[-2_000:]
    assert "vectors" in output and output.rstrip().endswith("the example is done")
    assert (tmp_path / "uncone-report.html").exists()
