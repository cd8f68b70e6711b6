"""`uncone plan` as a user types it: files, and bad input in a line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from commands import refused, run


@pytest.fixture
def vectors(cone):
    np.save("vectors.npy", cone(400, 6))


def test_every_kind_of_output_says_what_was_measured(vectors, capsys):
    files = ["--json", "plan.json", "--markdown", "plan.md", "--latex", "plan.tex", "--figures", "figures"]
    assert run("plan", "vectors.npy", "--engine", "ray", "--workers", "4", "--bandwidth", "1GB/s", *files) == 0
    printed = capsys.readouterr().out
    found = json.loads(Path("plan.json").read_text())
    kinds = {name: figure["how"] for name, figure in found["figures"].items()}
    assert kinds["rate"] == "measured" and kinds["seconds"] == "computed" and kinds["workers"] == "given"
    for text in (printed, *(Path(name).read_text() for name in ("plan.md", "plan.tex", "uncone-plan.html"))):
        assert all(word in text for word in ("measured", "computed", "given", "expected time", "memory per worker"))
    assert run("schema", "check", "plan.json", "--verb", "plan") == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Name a source, or the size of synthetic vectors with --rows and --dim"),
        (["--rows", "1e9"], "with --rows and --dim"),
        (["--dim", "7"], "--dim needs --rows"),
        (["--rows", "1.5", "--dim", "7"], "--rows must be a whole number from 2 to 1e12, not 1.5"),
        (["--rows", "1e15", "--dim", "7"], "--rows must be a whole number"),
        (["--rows", "1e6", "--dim", "0"], "--dim must be 1 to 16,384, not 0"),
        (["--rows", "1e6", "--dtype", "int8"], "--dtype needs --dim"),
        (["vectors.npy", "--rows", "1e6", "--dim", "7"], "a source has its own"),
        (["vectors.npy", "--bandwidth", "fast"], "such as 25Gbit/s or 3GB/s, not 'fast'"),
        (["vectors.npy", "--bandwidth", "0GB/s"], "--bandwidth must be"),
        (["vectors.npy", "--workers", "-1"], "--workers must be at least 0, not -1"),
        (["vectors.npy", "--engine", "beam"], "--engine"),
        (["vectors.npy", "--method", "magic"], "no method 'magic'"),
        (["vectors.npy", "--method", "auto"], "--method auto needs labeled pairs"),
        (["vectors.npy", "--method", "whiten", "--exact"], "--exact is for check"),
        (["nowhere.npy"], "There is no file or folder nowhere.npy"),
        (["vectors.npy", "--html", "vectors.npy"], "would overwrite the source"),
    ],
)
def test_bad_input(vectors, tmp_path, capfd, arguments, message):
    assert message in refused(tmp_path, capfd, "plan", *arguments)
