"""ELMo's original format goes through `uncone.layers` like any other model."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import uncone
from uncone.encoders.elmo import load_elmo


@pytest.fixture
def elmo(tmp_path):
    spec = importlib.util.spec_from_file_location("tiny_elmo", Path(__file__).parent / "tiny_elmo.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    folder = tmp_path / "elmo"
    folder.mkdir()
    module.write_tiny_elmo(folder)
    return folder


def test_layers_of_elmo_equal_a_naive_computation(elmo):
    words = ["river", "bank", "the", "money", "é", "!"]
    rng = np.random.default_rng(0)
    texts = list(dict.fromkeys(" ".join(rng.choice(words, rng.integers(2, 7))) for _ in range(40)))
    study = uncone.layers(elmo, texts)
    model = load_elmo(elmo)
    assert study.source["model_kind"] == "ELMo" and len(study.layers) == model.layers == 3
    for number, layer in enumerate(study.layers):
        rows = [model.encode([text.split()])[number][0].numpy().astype(np.float64) for text in texts]
        units = [part / np.linalg.norm(part, axis=1, keepdims=True) for part in rows]
        pairs = [
            float((a @ b.T).mean() * len(a) * len(b))
            for i, a in enumerate(units)
            for j, b in enumerate(units)
            if i != j
        ]
        count = sum(len(a) * len(b) for i, a in enumerate(units) for j, b in enumerate(units) if i != j)
        assert layer["baseline"].value == pytest.approx(sum(pairs) / count, abs=1e-5)
        intrasim = [
            float((unit @ part.mean(axis=0)).mean() / np.linalg.norm(part.mean(axis=0)))
            for part, unit in zip(rows, units, strict=True)
            if len(part) > 1
        ]
        assert layer["intrasim"].value == pytest.approx(np.mean(intrasim), abs=1e-5)
    # Layer 0 knows no context: a word is the same everywhere.
    assert study[0]["selfsim"].value == pytest.approx(1, abs=1e-5)
    assert study[2]["selfsim"].value < 0.9999
