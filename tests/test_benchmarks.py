"""Every benchmark runs in its smallest setting; what it measures there says nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.exhaustive
SMALLEST = {
    "check": "--rows 2000 --rounds 1",
    "scale": "--rows 2000 --rounds 1",
    "neighbors": "--rows 3000 --queries 100 --rounds 1",
    "engines": "--rows 20000 --rounds 1 --engines dask",
    "clusters": "--rows 4000 --sample 3000 --rounds 1",
    "repairs": "--rows 2000 --texts 200",
    "bootstrap": "--pairs 100 --methods 2 --replicates 20 --rounds 1",
    "calibration": "--rows 4000 --rounds 1",
    "similarity": "--rows 1500 --rounds 1",
    "layers": "--sentences 100 --rounds 1",
    "deep": "--sentences 100 --rounds 1",
    "encode": "--texts 60 --rounds 1",
    "tables": "--rows 2000 --rounds 1",
    "tuning": "--steps 4 --train 100 --rounds 1",
    "databases": "--rows 500 --rounds 1",
    "evaluation": "--datasets stsb --fit-on texts.txt",
    "advice": "--only bert-tiny --cap 60",
    "evidence": "--texts 200 --models bert-tiny",
}


@pytest.mark.parametrize("name", SMALLEST)
def test_it_runs(name, tmp_path, real_data, minilm):
    """In a copy of its folder, because it writes its table into the page beside it."""
    shutil.copytree(ROOT / "benchmarks", tmp_path / "benchmarks")
    (tmp_path / "docs").mkdir()
    shutil.copy(ROOT / "docs" / "benchmarks.md", tmp_path / "docs")
    (tmp_path / "texts.txt").write_text("".join(f"The number {i} comes after {i - 1}.\n" for i in range(1, 300)))
    command = [sys.executable, "-m", f"benchmarks.{name}", *SMALLEST[name].split()]
    environment = os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}", "UNCONE_DATA": str(real_data)}
    process = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert process.returncode == 0, process.stderr
    assert "|---|" in process.stdout


def test_make_bench_runs_all_of_them():
    recipe = (ROOT / "Makefile").read_text().partition("\nbench:")[2].partition("\n\n")[0]
    assert {line.rpartition(".")[2] for line in recipe.splitlines()[1:]} == set(SMALLEST)
