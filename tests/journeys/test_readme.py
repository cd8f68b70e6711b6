"""The three journeys of the README, typed into a shell as they are printed there and nothing else."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from uncone.data.demo import DEMO_PAIRS, demo_texts

README = (Path(__file__).parents[2] / "README.md").read_text()
JOURNEYS = re.findall(r"```bash\n(.*?)```", README.partition("## Three ways")[2].partition("\n## ")[0], re.S)


def type_in(block: str) -> str:
    """Run the lines of a block in one shell; all that they printed."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-e", "-c", block], capture_output=True, text=True, env={**os.environ, "PATH": path}, timeout=900
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def texts(minilm):
    """A folder with a model, texts with a label each, and labeled pairs."""
    Path("model").symlink_to(minilm)
    lines = demo_texts()
    Path("texts.txt").write_text("\n".join(lines) + "\n")
    rows = "".join(f'"{line}",subject {place // 10}\n' for place, line in enumerate(lines))
    Path("texts.csv").write_text(f"text,label\n{rows}")
    shutil.copy(DEMO_PAIRS, "pairs.csv")


def test_there_are_three_journeys_of_five_lines_at_most():
    assert len(JOURNEYS) == 3
    assert all(len(block.strip().splitlines()) <= 5 for block in JOURNEYS)


def test_the_engineer():
    rng = np.random.default_rng(0)
    rows = (rng.normal(size=(2_000, 48)) + 1.5).astype(np.float32)
    np.save("vectors.npy", rows)
    np.save("new.npy", rows[:10])
    printed = type_in(JOURNEYS[0])
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    cosines = (units @ units.T)[np.triu_indices(len(rows), 1)]
    assert f"{cosines.mean():.2f}" in printed
    threshold = json.loads(Path("calibration/calibration.json").read_text())
    assert threshold["schema"] == 1
    np.testing.assert_allclose(np.load("new-fixed.npy"), np.load("fixed.npy")[:10], atol=1e-5)
    assert all(Path(page).is_file() for page in {"uncone-report.html", "uncone-calibrate.html", "uncone-fix.html"})


@pytest.mark.exhaustive
def test_the_researcher(texts):
    printed = type_in(JOURNEYS[1])
    assert all(f"layer {layer}" in printed for layer in (0, 6)) and "droptop" in printed
    assert any(Path("figures").glob("*.svg"))
    assert all(Path(page).is_file() for page in {"uncone-layers.html", "uncone-map.html", "uncone-evaluate.html"})


@pytest.mark.exhaustive
def test_the_learner(texts):
    printed = type_in(JOURNEYS[2])
    assert "AUC" in printed and "leave it alone" in printed.lower()
    assert all(Path(page).is_file() for page in {"uncone-similarity.html", "uncone-report.html"})
