"""`uncone` as tests call it: in this process, and what a refused command must not do."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

from uncone.cli.main import _run

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
