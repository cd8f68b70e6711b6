"""`ablate layers` on a tiny model: variants, runs that resume, differences by hand; and the findings on bert-mini."""

from __future__ import annotations

import numpy as np
import pytest

from uncone.errors import FormatError, MissingSourceError, ShapeError
from uncone.tuning.ablation.layers import variants_of
from uncone.verbs.training.ablate import ablate_layers

QUICK = {"train": 48, "epochs": 1, "batch_size": 8, "lr": 3e-3, "max_length": 16, "seeds": 2, "device": "cpu"}


def table(n=240):
    """Texts with the word "go" in every second one, and no two the same."""
    rng = np.random.default_rng(0)
    words = ["the", "text", "school", "a", "b", "c"]
    texts = [" ".join([*rng.choice(words, int(rng.integers(4, 9))), "go" if i % 2 else "."]) for i in range(n)]
    return {"text": [f"{text} {i % 10} {i // 10 % 10} {i // 100}" for i, text in enumerate(texts)], "label": list("ab") * (n // 2)}  # fmt: skip  # noqa: E501


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def study(tiny_model, runs):
    return ablate_layers(tiny_model, task=table(), runs=runs, **QUICK)


def test_variants_cover_every_layer():
    variants = variants_of(3)
    counts = {kind: sum(variant.kind == kind for variant in variants) for kind in ("none", "freeze", "drop", "first")}
    assert counts == {"none": 1, "freeze": 3, "drop": 3, "first": 2}
    assert variants[-1].surgery.freeze == {0, 1, 2, 3}
    assert [sorted(v.surgery.freeze) for v in variants if v.kind == "first"] == [[0, 1], [0, 1, 2]]
    assert {variant.kind for variant in variants_of(1, ["drop", "head"])} == {"none", "head"}


def test_differences_are_those_of_the_predictions(study):
    rows = study.study.rows
    assert len(rows) == 1 + 3 * 2 + 1 + 1
    assert (study.study.n_train, study.study.n_test) == (48, 60)
    accuracies = [np.mean([run.correct / 60 for run in row.runs]) for row in rows]
    for row, accuracy in zip(rows, accuracies, strict=True):
        assert len(row.runs) == 2
        np.testing.assert_allclose(row.score.accuracy.value, accuracy)
        if row.score.difference is not None:
            np.testing.assert_allclose(row.score.difference.value, accuracy - accuracies[0], atol=1e-12)


def test_the_last_layer_is_measured_before_and_after(study):
    for row in study.study.rows:
        for run in row.runs:
            for trace in (run.before, run.after):
                assert -1 <= trace.baseline <= 1
                assert trace.selfsim is not None
                assert trace.intrasim is not None
        moved = row.runs[0].before != row.runs[0].after
        assert moved == (row.variant.kind != "head"), "a frozen encoder gives what it gave"


def test_an_interrupted_study_resumes(tiny_model, runs, study, monkeypatch):
    import uncone.tuning.ablation.layers as module

    messages, trainings, real = [], [], module.train
    files = sorted(runs.rglob("*.json"))
    assert len(files) == 18
    for file in files[:3]:
        file.unlink()
    monkeypatch.setattr(module, "train", lambda *a, **k: (trainings.append(1), real(*a, **k))[1])
    monkeypatch.setattr(module, "_estimate", lambda *_: 60.0)
    again = ablate_layers(tiny_model, task=table(), runs=runs, announce=messages.append, **QUICK)
    assert len(trainings) == 3
    assert messages[0] == "18 trainings, 15 of which were done before: about 3 minutes at most."
    assert [row.score for row in again.study.rows] == [row.score for row in study.study.rows]
    other = ablate_layers(tiny_model, task=table(), runs=runs, variants=["head"], **{**QUICK, "lr": 1e-3})
    assert len(trainings) == 3 + 4, "another learning rate is another study"
    assert len(other.study.rows) == 2


def test_the_time_is_said_first(tiny_model, tmp_path):
    messages, steps = [], []
    ablate_layers(
        tiny_model,
        task=table(),
        runs=tmp_path,
        variants=["head"],
        announce=messages.append,
        progress=lambda step, amount, total: steps.append((step, len(messages))),
        **QUICK,
    )
    assert messages[0].startswith("4 trainings: about ")
    assert messages[1].startswith("The first training took ")
    assert steps[0] == ("training steps", 1)


@pytest.mark.parametrize(
    ("task", "keywords", "error", "words"),
    [
        ({"text": [f"a {i}" for i in range(40)], "label": ["x"] * 40}, {}, FormatError, "two classes"),
        ("sst4", {}, MissingSourceError, "sst2, rte, wic"),
        (table(20), {"batch_size": 32}, ShapeError, "fewer than a batch of 32"),
    ],
)
def test_bad_input_is_one_line(tiny_model, tmp_path, task, keywords, error, words):
    with pytest.raises(error, match=words) as raised:
        ablate_layers(tiny_model, task=task, runs=tmp_path, **{**QUICK, **keywords})
    assert "\n" not in str(raised.value)


@pytest.mark.exhaustive
def test_layers_of_bert_mini(real_data, tmp_path):
    """The whole model at 75.5, each layer alone within its spread of it, and the head alone far below."""
    model = real_data / "../models/bert-mini"
    study = ablate_layers(
        model, task="sst2:dev+test", variants=["drop", "head"], seeds=2, runs=tmp_path, data=real_data, device="cpu"
    ).study
    accuracies = {row.variant.name: 100 * row.score.accuracy.value for row in study.rows}
    assert 72 < accuracies["all layers trained"] < 80
    assert all(70 < accuracies[f"layer {layer} dropped"] < 81 for layer in range(1, 5))
    assert 50 < accuracies["head alone trained"] < 73
    assert study.rows[-1].score.difference.significant
