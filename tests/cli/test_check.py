"""`uncone check` as a process: outputs, gates, pipes, interrupts."""

from __future__ import annotations

import base64
import contextlib
import gzip
import json
import os
import re
import signal
import subprocess
from pathlib import Path

import numpy as np
import pytest
from commands import UNCONE, started, wait_until

from uncone.cli.main import _run


@pytest.fixture
def saved(cone):
    np.save("x.npy", cone(500, 16))
    return "x.npy"


def test_the_default_report(saved, capfd):
    assert _run(["check", saved]) == 0
    out = capfd.readouterr().out
    assert "Crowded" in out and "report uncone-report.html" in out
    page = Path("uncone-report.html").read_text()
    names = {"chart-cosines", "chart-eigenvalues", "chart-contributions", "chart-norms", "cloud-points", "download"}
    assert names | {"baseline", "bad_rows"} <= set(re.findall(r'id="([^"]+)"', page)), "charts, findings and health"
    packed = dict(re.findall(r'<script type="application/gzip" id="(\w+)">([^<]+)<', page))
    unpacked = {name: gzip.decompress(base64.b64decode(text)).decode() for name, text in packed.items()}
    assert "Plotly" in unpacked["plotly"] and len(unpacked["plotly"]) > 1_000_000, "the script that draws the charts"
    assert json.loads(unpacked["summary"])["verdict"]["level"] == "crowded", "the numbers to download"


def test_outputs(saved, capfd):
    assert _run(["check", saved, "--no-html", "--json", "a.json", "--markdown", "a.md"]) == 0
    assert not Path("uncone-report.html").exists()
    assert json.loads(Path("a.json").read_text())["verdict"]["level"] == "crowded"
    assert "| finding |" in Path("a.md").read_text()


def test_json_to_standard_output_is_alone_there(saved):
    done = subprocess.run([*UNCONE, "check", saved, "--json", "-"], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["schema"] == 1
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("gate", "code"),
    [
        (["--fail-above", "baseline=0.01"], 1),
        (["--fail-above", "baseline=0.99"], 0),
        (["--fail-below", "effective_rank=1000"], 1),
        (["--fail-above", "bad_rows=0", "--fail-above", "constant_dimensions=0"], 0),
    ],
)
def test_gates(saved, gate, code, capfd):
    assert _run(["check", saved, "--no-html", *gate]) == code
    assert ("gate:" in capfd.readouterr().err) == bool(code)


def test_side_by_side(saved, cone, capfd):
    np.save("y.npy", cone(400, 8, mean=0.0))
    assert _run(["check", saved, "y.npy", "--json", "both.json", "--fail-above", "baseline=0.2"]) == 1
    out, err = capfd.readouterr()
    assert "▲ x.npy" in out and "✓ y.npy" in out
    assert "x.npy" in err and "y.npy" not in err
    assert len(json.loads(Path("both.json").read_text())["sources"]) == 2


def test_a_pipe_of_npy(saved):
    with Path(saved).open("rb") as stream:
        done = subprocess.run([*UNCONE, "check", "-", "--json", "-"], stdin=stream, capture_output=True, check=True)
    assert json.loads(done.stdout)["source"]["name"] == "standard input"


@pytest.mark.parametrize("output", [["--json", "-"], ["--markdown", "a.md"]])
def test_a_reader_that_goes_away(saved, output):
    first = subprocess.Popen([*UNCONE, "check", saved, *output], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    first.stdout.close()
    assert first.stderr.read() == b""
    first.stderr.close()
    assert first.wait() == 0


def test_ctrl_c():
    """In the middle of a pass: exit code 130, one line, no file, no process left."""
    os.mkfifo("slow.fifo")
    Path("old.html").write_text("old")
    command = ["check", "-", "--html", "old.html"]
    with (
        subprocess.Popen(["cat", "slow.fifo"], stdout=subprocess.PIPE) as feeder,
        started(*command, stdin=feeder.stdout) as run,
    ):
        with Path("slow.fifo").open("wb") as fifo:
            np.lib.format.write_array_header_1_0(
                fifo, {"descr": "<f4", "fortran_order": False, "shape": (10_000_000, 8)}
            )
            fifo.write(np.ones((40_000, 8), np.float32).tobytes())
            fifo.flush()
            # A pipe holds far less: by now the pass has begun. When all wait for more rows, it is in its middle.
            wait_until(lambda: waiting(run.pid), run, times=20)
            os.killpg(run.pid, signal.SIGINT)
            _, err = run.communicate(timeout=60)
        feeder.kill()
        wait_until(lambda: nobody_left_in(run.pid))
    assert run.returncode == 130
    assert err.count("\n") == 1 and "interrupted" in err
    assert Path("old.html").read_text() == "old"
    assert sorted(path.name for path in Path().iterdir()) == ["old.html", "slow.fifo"]


def waiting(group):
    """Whether there are processes of a group, and all of them sleep."""
    states = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            state, _, own = stat.read_text().rpartition(")")[2].split()[:3]
            if int(own) == group:
                states.append(state)
    return set(states) == {"S"}


def nobody_left_in(group):
    """Whether the processes of a group have ended."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


def test_piped_output_has_no_color_and_no_boxes(saved):
    done = subprocess.run([*UNCONE, "check", saved], capture_output=True, text=True, check=True)
    assert "\x1b" not in done.stdout
    assert not set("│┃─━┏┓╭╮") & set(done.stdout)
    assert max(map(len, done.stdout.splitlines())) <= 80
