"""The real executable, as a user runs it."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.fixture
def uncone():
    """Run `uncone` with these arguments and check its exit code."""

    def run(*arguments, code=0):
        done = subprocess.run([sys.executable, "-m", "uncone", *arguments], capture_output=True, text=True)
        assert done.returncode == code, done.stderr
        return done

    return run
