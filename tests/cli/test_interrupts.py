"""Ctrl-C and kill -9 at every file that a command makes: what there is in the end is whole, or not there."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from uncone.cli.main import _run

ENDS_ITSELF = """
import os, sys
sys.argv[1:], number, last = sys.argv[3:], int(sys.argv[1]), int(sys.argv[2])
folder, steps = os.getcwd(), 0

def watch(event, arguments):
    '''Each file or folder that is made or renamed in this folder is a step; the last one is followed by the signal.'''
    global steps
    makes = event in ("os.rename", "os.mkdir") or (event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR))
    if makes and not isinstance(arguments[0], int) and os.path.abspath(os.fsdecode(arguments[0])).startswith(folder):
        steps += 1
        if steps == last:
            os.kill(os.getpid(), number)

from uncone.cli.main import main
sys.addaudithook(watch)
main()
"""
"""The command in a process that sends itself a signal when it makes its last so many files."""

COMMANDS = {
    "fix": "fix vectors.npy --method whiten -o fixed.npy --save own --json a.json --html a.html",
    "apply": "apply repair vectors.npy -o fixed.npy",
    "calibrate": "calibrate vectors.npy --save calibration --json a.json --html a.html",
    "check": "check vectors.npy --json a.json --markdown a.md --html a.html",
}
OUTPUTS = ("fixed.npy", "own", "calibration", "a.json", "a.md", "a.html")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = np.random.default_rng(0).normal(size=(3_000, 6)).astype(np.float32) + 1
    np.save("vectors.npy", rows)
    assert _run(["fix", "vectors.npy", "--method", "center", "--save", "repair", "--no-html"]) == 0
    return tmp_path


def outputs():
    """The content of every output, by its name."""
    files = [path for name in OUTPUTS for path in (Path(name), *sorted(Path(name).glob("**/*"))) if path.is_file()]
    return {str(path): path.read_bytes() for path in files}


def run(number, last, words):
    command = [sys.executable, "-c", ENDS_ITSELF, str(int(number)), str(last), *words]
    return subprocess.run(command, capture_output=True, text=True)


def interrupted(name, number, lasts):
    """End the command by a signal at these steps, and look at what it leaves; gives the exit codes."""
    words = COMMANDS[name].split()
    assert run(number, 0, words).returncode == 0
    whole, codes = outputs(), []
    for last in lasts:
        for path in whole:
            Path(path).unlink(missing_ok=True)
        done = run(number, last, words)
        codes.append(done.returncode)
        for path, content in outputs().items():
            assert len(content) == len(whole[path]), f"{path} is not whole when {name} ends at step {last}"
        hidden = [path for path in Path().iterdir() if ".part" in path.name]
        if number == signal.SIGINT:
            assert not hidden, f"{hidden} is left when {name} ends at step {last}"
            assert done.returncode == 0 or done.stderr.count("\n") == 1, done.stderr
        if done.returncode == 0:
            break
    return codes


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_repair_that_is_interrupted_while_it_is_written(folder, number):
    codes = interrupted("fix", number, [3])
    assert codes == [130 if number == signal.SIGINT else -signal.SIGKILL]


@pytest.mark.exhaustive
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize("name", COMMANDS)
def test_every_step(folder, name, number):
    *ended, last = interrupted(name, number, range(1, 100))
    assert last == 0 and len(ended) >= 2
    assert set(ended) <= {130, 0} if number == signal.SIGINT else set(ended) == {-signal.SIGKILL}
