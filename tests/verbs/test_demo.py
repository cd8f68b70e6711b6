"""The demo tells a true story: its inputs are what they claim to be, and a naive computation gives its numbers."""

from __future__ import annotations

import csv

import numpy as np
import pytest

import uncone
from uncone.data.demo import DEMO_PAIRS, demo_texts
from uncone.verbs.demo import demo


def test_inputs():
    texts = demo_texts()
    assert len(texts) == len(set(texts)) >= 250
    with DEMO_PAIRS.open(newline="") as file:
        pairs = list(csv.DictReader(file))
    scores = np.array([float(row["score"]) for row in pairs])
    assert scores.min() >= 0 and scores.max() <= 5 and len({tuple(row.values()) for row in pairs}) == len(pairs)
    assert min((scores < 1).sum(), (scores > 4).sum()) >= 30


@pytest.fixture
def tiny_demo(tiny_model, monkeypatch):
    """The demo on a tiny random model."""
    monkeypatch.setattr("uncone.data.demo.demo_model", lambda: tiny_model)
    monkeypatch.setattr("uncone.verbs.demo.LAYER", 1)
    return demo()


def test_every_step_has_its_section(tiny_demo):
    result = tiny_demo
    titles = [section.title for section in result.document().sections]
    assert [title[:2] for title in titles[:5]] == ["1.", "2.", "3.", "4.", "5."]
    names = [chart.name for chart in result.document().charts()]
    assert len(names) == len(set(names)) == 2
    assert uncone.validate(result.to_json()) == "demo"
    assert set(result.to_dict()) == {"schema", "check", "calibrate", "fix", "prescribe", "prescribe_last_layer"}
    assert result.before["baseline"].value == pytest.approx(result.repaired.before["baseline"].value)
    assert abs(result.repaired.after["baseline"].value) < result.before["baseline"].value


@pytest.mark.exhaustive
def test_the_story_on_the_real_model(minilm):
    import torch
    from transformers import AutoModel, AutoTokenizer

    result = demo()
    assert result.prescription.proven and result.prescription.gain.low > 0
    assert not result.last.proven
    texts = demo_texts()
    tokens = AutoTokenizer.from_pretrained(minilm)(texts, padding=True, return_tensors="pt")
    with torch.no_grad():
        states = AutoModel.from_pretrained(minilm)(**tokens, output_hidden_states=True).hidden_states[5]
    mask = tokens["attention_mask"][..., None]
    rows = ((states * mask).sum(1) / mask.sum(1)).double().numpy()
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    baseline = (units @ units.T)[np.triu_indices(len(rows), 1)].mean()
    assert baseline > 0.55
    assert result.before["baseline"].value == pytest.approx(baseline, abs=1e-5)
