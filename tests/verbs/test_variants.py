"""Layers of several checkpoints of a model, and of its architecture with random weights."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import huggingface_hub
import numpy as np
import pytest
import torch
from commands import refused, run
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModel

import uncone
from uncone.encoders.encoder import Window
from uncone.encoders.open import Loading, open_encoder
from uncone.errors import ModelError, OptionError

TEXTS = [f"the text {i} go to school {i % 7}, the rain {i % 5}" for i in range(40)]


@pytest.fixture
def training(tiny_model, tmp_path):
    """A training folder with two checkpoints: the model, and the same with a common part added to every embedding."""
    Path("texts.txt").write_text("\n".join(TEXTS) + "\n")
    folder = tmp_path / "run"
    for name, shift in (("checkpoint-20", 0.0), ("checkpoint-100", 3.0)):
        shutil.copytree(tiny_model, folder / name)
        weights = load_file(folder / name / "model.safetensors")
        key = next(key for key in weights if key.endswith("embeddings.LayerNorm.bias"))
        weights[key] = weights[key] + shift
        save_file(weights, folder / name / "model.safetensors", {"format": "pt"})
    return folder


def states(encoder):
    passage = encoder.passages(["go to school"], Window())[0][0]
    every = np.arange(passage.length)
    return [encoder.encode([passage]).pooled(layer, every, every).copy() for layer in range(encoder.layers)]


def test_random_weights_are_those_of_the_architecture(tiny_model):
    before = torch.random.get_rng_state()
    control = open_encoder(tiny_model, Loading(fresh=5))
    assert torch.equal(torch.random.get_rng_state(), before), "the caller's generator goes on where it was"
    torch.manual_seed(5)
    expected = AutoModel.from_config(AutoConfig.from_pretrained(tiny_model)).state_dict()
    found = control.model.state_dict()
    assert found.keys() == expected.keys() and all(torch.equal(found[key], expected[key]) for key in expected)
    spread = found["encoder.layer.0.output.dense.weight"].std()
    assert spread == pytest.approx(control.model.config.initializer_range, rel=0.1)
    assert control.name.endswith("(random weights)") and control.head() is None and "drawn anew" in control.head_note
    again, other, trained = (open_encoder(tiny_model, Loading(fresh=seed)) for seed in (5, 6, None))
    for left, right in zip(states(control), states(again), strict=True):
        np.testing.assert_array_equal(left, right)
    assert np.abs(states(control)[-1] - states(trained)[-1]).max() > 0.1
    # Caches and checkpoints go by the fingerprint.
    assert control.fingerprint() == again.fingerprint()
    assert len({control.fingerprint(), other.fingerprint(), trained.fingerprint()}) == 3


def test_a_control_beside_the_model(training, tmp_path, capfd):
    folder = training / "checkpoint-20"
    torch.manual_seed(3)
    saved = tmp_path / "fresh"
    shutil.copytree(folder, saved)
    AutoModel.from_config(AutoConfig.from_pretrained(folder)).save_pretrained(saved)
    alone = uncone.layers(saved, TEXTS)
    arguments = ["--control", "random", "--seed", 3, "--no-html", "--json", "-"]
    assert run("layers", folder, "--corpus", "texts.txt", *arguments) == 0
    model, control = json.loads(capfd.readouterr().out)["studies"]
    assert control["source"]["model"] == f"{folder} (random weights)" != model["source"]["model"] == str(folder)
    for ours, measured in zip(control["layers"], alone.layers, strict=True):
        assert ours["findings"]["baseline"]["value"] == pytest.approx(measured["baseline"].value, abs=1e-6)
    assert model["provenance"]["model_content"] != control["provenance"]["model_content"]


def test_checkpoints_in_their_order(training, capfd):
    names = ["checkpoint-100", "checkpoint-20"]
    report = ["--no-html", "--json", "c.json", "--figures", "figures"]
    assert run("layers", training, "--corpus", "texts.txt", "--revisions", ",".join(names), *report) == 0
    assert "Over the checkpoints" not in capfd.readouterr().err
    studies = json.loads(Path("c.json").read_text())["studies"]
    assert [study["source"]["revision"] for study in studies] == names
    for name, study in zip(names, studies, strict=True):
        alone = uncone.layers(training / name, TEXTS)
        assert study["layers"][-1]["findings"]["baseline"]["value"] == pytest.approx(alone[-1]["baseline"].value)
    assert studies[0]["layers"][0]["findings"]["baseline"]["value"] > 0.8
    rows = next(Path("figures").glob("*revisions_baseline*.csv")).read_text()
    assert rows.index("checkpoint-100") < rows.index("checkpoint-20")


def test_revisions_of_the_hub(training, monkeypatch, tmp_path):
    asked = []

    def give(name, revision=None, **_):
        asked.append((name, revision))
        return str(training / revision)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", give)
    both = {"revisions": ["checkpoint-20", "checkpoint-100"], "control": "random"}
    result = uncone.compare_layers(["a/model"], [TEXTS], **both, state=tmp_path / "state", keep_state=True)
    names = [study.source["model"] for study in result.studies]
    assert names == ["a/model@checkpoint-20", "a/model@checkpoint-100", "a/model (random weights)"]
    assert {revision for _, revision in asked} == {"checkpoint-20", "checkpoint-100"}
    folders = [study.run.folder for study in result.studies]
    assert len(set(folders)) == 3, "each has a saved state of its own"
    charts = [chart for chart in result.document().charts() if chart.name == "revisions_baseline"]
    assert [list(chart.x.categories) for chart in charts] == [["checkpoint-20", "checkpoint-100"]]
    for line, layer in zip(charts[0].marks, (0, 1, 2), strict=True):
        assert line.y == [study[layer]["baseline"].value for study in result.studies[:2]]


def test_bad_input(training, tmp_path, capfd):
    lines = [f"{word} {i} 1 2" for i, word in enumerate(("the", "text", "go", "school"))]
    Path("words.vec").write_text("\n".join(["4 3", *lines]) + "\n")
    layers = ["layers", training, "--corpus", "texts.txt", "--no-html"]
    for arguments, message in {
        (*layers, "--revisions", "checkpoint-7"): "no checkpoint 'checkpoint-7'. It has checkpoint-100, checkpoint-20.",
        (*layers, "--revisions", "../run"): "names subfolders of",
        (*layers, "--revisions", "checkpoint-20,checkpoint-20"): "names checkpoint-20 twice",
        (*layers, "--revisions", "checkpoint-20", "--revision", "main"): "leave one out",
        (*layers, "--control", "shuffled"): "random",
        ("layers", "words.vec", "--corpus", "texts.txt", "--control", "random"): "is a file of word vectors",
        ("layers", "words.vec", "--corpus", "texts.txt", "--revisions", "a,b"): "is a file, which has no checkpoints",
        (*layers, "--revisions", "checkpoint-20,checkpoint-100", "--word-table", "w.csv"): "writes one study",
    }.items():
        assert message in refused(tmp_path, capfd, *arguments), arguments
    with pytest.raises(OptionError, match="compare_layers"):
        uncone.layers(training / "checkpoint-20", TEXTS, control="random")
    encoder = open_encoder(training / "checkpoint-20")
    with pytest.raises(ModelError, match="a model in memory"):
        uncone.compare_layers([encoder], [TEXTS], control="random")
    with pytest.raises(OptionError, match="in memory"):
        uncone.compare_layers([encoder], [TEXTS], revisions=["a"])
