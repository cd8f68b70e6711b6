"""The command as a user runs it, but for the process: `tests/cli` has those."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from commands import run


class Printed(NamedTuple):
    """What a command wrote to the terminal."""

    stdout: str
    stderr: str


@pytest.fixture
def uncone(capfd):
    """Run `uncone` with these arguments and check its exit code."""

    def command(*arguments, code=0):
        capfd.readouterr()
        found = run(*arguments)
        printed = Printed(*capfd.readouterr())
        assert found == code, printed.stderr
        return printed

    return command
