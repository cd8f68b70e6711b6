"""`uncone` as tests call it: in this process, and what a refused command must not do."""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from uncone.cli.main import _run
from uncone.errors import UnconeError

UNCONE = [sys.executable, "-m", "uncone"]
"""The command as a process of its own: for signals, pipes, limits and what is imported; elsewhere `run` is quicker."""


def run(*arguments: object) -> int:
    """The exit code of the command."""
    return _run([str(argument) for argument in arguments])


def contents(folder: Path) -> dict[Path, str | None]:
    """Every file and folder with its content, but for the cache of vectors: what bad input must not change."""
    return {
        path: hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
        if ".vectors" not in path.parts
    }


def said(error: type[Exception], function: Callable[..., object], *arguments: object, **options: object) -> str:
    """The one line of the error that a call ends with."""
    with pytest.raises(error) as caught:
        function(*arguments, **options)
    message = str(caught.value)
    assert isinstance(caught.value, UnconeError) and "\n" not in message
    return message


def refused(folder: Path, capfd, *arguments: object) -> str:
    """The one line that a command ends with; nothing is printed, written, changed or run."""
    before = contents(folder)
    capfd.readouterr()
    assert run(*arguments) == 2
    out, err = capfd.readouterr()
    assert err.count("\n") == 1 and err.startswith("uncone: ") and err.endswith((".\n", "?\n")), err
    assert out == "" and "unexpected" not in err and "Traceback" not in err
    assert contents(folder) == before
    return err


@contextlib.contextmanager
def started(*arguments: object, **options: object) -> Iterator[subprocess.Popen]:
    """A process of the command in a group of its own, all of which ends however the test does."""
    pipe = subprocess.PIPE
    settings = {"stdout": pipe, "stderr": pipe, "text": True, "start_new_session": True, **options}
    with subprocess.Popen([*UNCONE, *map(str, arguments)], **settings) as process:
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def wait_until(condition: Callable[[], object], process: subprocess.Popen | None = None, times: int = 1) -> None:
    """Wait until a condition holds `times` times in a row, for at most a minute and while the process runs."""
    until, row = time.monotonic() + 60, 0
    while row < times:
        row = row + 1 if condition() else 0
        assert process is None or process.poll() is None, f"it was over before: {process.communicate()}"
        assert time.monotonic() < until, "nothing was to be seen in a minute"
        time.sleep(0.01)


def grows(work: Callable[[str], object], text: str) -> float:
    """How many times as long four such texts take, in the time of the processor; the best of three."""

    def seconds(text: str) -> float:
        begun = time.process_time()
        work(text)
        return time.process_time() - begun

    work("a")
    short, long = (min(seconds(repeated) for _ in range(3)) for repeated in (text, 4 * text))
    return long / max(short, 1e-3)
