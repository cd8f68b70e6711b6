"""The cluster-based repair in the loop, end to end on a small random model, and its findings on real texts."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

import uncone
from uncone.analysis.space.spectrum.isotropy import log10_isotropy, mean_offset
from uncone.errors import FormatError, OptionError, SourceError
from uncone.tuning.ablation.repair import (
    agreement,
    label_share,
    published,
    study_task,
    summarize,
    train_method,
    unrepaired,
)
from uncone.tuning.bridges import clusters_of, parse_methods
from uncone.tuning.classifier import FitSettings, build, head_inputs
from uncone.tuning.tasks import ClassTask, Items

SETTINGS = FitSettings(epochs=2, batch_size=16, lr=2e-3, max_length=16)


def texts(n, seed):
    """Texts of a few letters, of class "school" or "go" by a word among them."""
    rng = np.random.default_rng(seed)
    words = [("go", "school")[at % 2] for at in range(n)]
    left = [" ".join([*rng.choice([*"abcdefghij"], 4), word, str(rng.integers(10**6))]) for word in words]
    return Items(left, None, words)


@pytest.fixture(scope="module")
def task():
    return ClassTask("letters", texts(64, 0), texts(56, 1), "held out", ("go", "school"))


@pytest.fixture(scope="module")
def study(task, tiny_model):
    methods = parse_methods(["none", "batch/1/0", "batch/3/2", "running/3/2", "frozen/2/1", "offline/2/1"])
    return study_task(tiny_model, task, methods, SETTINGS)


def naive_log10_isotropy(rows):
    """A double loop over eigenvectors and signs, in logs."""
    rows = np.asarray(rows, np.float64)
    _, vectors = np.linalg.eigh(rows.T @ rows)
    logs = []
    for vector in vectors.T:
        for sign in (1, -1):
            products = [sign * float(vector @ row) for row in rows]
            most = max(products)
            logs.append(most + math.log(sum(math.exp(product - most) for product in products)))
    return (min(logs) - max(logs)) / math.log(10)


@pytest.mark.parametrize("scale", [0.01, 1.0, 50.0, 1000.0])
def test_isotropy_of_a_matrix(cone, scale):
    rows = cone(n=90, d=8) * scale
    assert log10_isotropy(rows) == pytest.approx(naive_log10_isotropy(rows), rel=1e-6)
    few = rows[:5]
    assert log10_isotropy(few) == pytest.approx(naive_log10_isotropy(few), rel=1e-6)


def test_zero_vectors_count_for_isotropy(cone):
    rows = np.concatenate([cone(n=20, d=4), np.zeros((30, 4), np.float32)])
    assert log10_isotropy(rows) == pytest.approx(naive_log10_isotropy(rows), rel=1e-6)
    assert log10_isotropy(np.zeros((30, 4))) == 0.0
    assert mean_offset(np.zeros((30, 4))) == 0.0


def test_distance_from_zero_mean(cone):
    rows = cone(n=50, d=6).astype(np.float64)
    norms = [sum(x**2 for x in row) for row in rows]
    assert mean_offset(rows) == pytest.approx(np.linalg.norm(rows.mean(axis=0)) / math.sqrt(sum(norms) / len(norms)))


def test_agreement_is_the_mean_over_full_batches():
    from sklearn.metrics import adjusted_mutual_info_score

    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 50)
    vectors = np.concatenate([10.0 * labels[:, None], rng.normal(size=(50, 3))], axis=1).astype(np.float32)
    find = partial(lambda rows: clusters_of(torch.tensor(rows), 2).numpy())
    same = agreement(find, vectors, labels, 16)
    assert same.ami == pytest.approx(1.0) and same.purity == 1.0 and 0.5 < same.chance < 0.8
    mixed = agreement(find, vectors, rng.permutation(labels), 16)
    assert abs(mixed.ami) < 0.2 and mixed.purity == pytest.approx(mixed.chance, abs=0.1)
    cells = np.arange(50) % 3
    own = agreement(lambda rows: cells[: len(rows)], vectors, labels, 16)
    expected = np.mean([adjusted_mutual_info_score(labels[at : at + 16], cells[:16]) for at in (0, 16, 32)])
    assert own.ami == pytest.approx(expected)


def test_every_method_is_measured(study, task):
    assert [row.method for row in study.rows] == [
        "none", "batch/1/0", "batch/3/2", "running/3/2", "frozen/2/1", "offline/2/1",
    ]  # fmt: skip
    truth = np.array([task.classes.index(label) for label in task.test.labels])
    for row in study.rows:
        hits = [np.mean(np.array(run.predictions) == truth) for run in row.runs]
        assert row.by_seed == pytest.approx(hits) and row.accuracy.value == pytest.approx(np.mean(hits))
        assert [layer.epoch for layer in row.runs[0].layers] == [1, 2]
        assert len(row.geometry(2).offset) == 3  # the embeddings and two layers
    none, batch = study.rows[0], study.rows[2]
    assert none.difference is None
    assert batch.difference.value == pytest.approx(batch.accuracy.value - none.accuracy.value)
    assert study.majority == 0.5 and study.units == 56


def test_seeds_are_averaged_and_paired_by_item(study, task):
    runs = {row.method: row.runs[0] for row in study.rows[:2]}
    truth = [task.classes.index(label) for label in task.test.labels]
    wrong = [1 - code for code in truth]
    table = {
        "none": [replace(runs["none"], predictions=truth), replace(runs["none"], predictions=truth[:28] + wrong[28:])],
        "batch/1/0": [replace(runs["batch/1/0"], predictions=wrong)] * 2,
    }
    none, batch = summarize(task, SETTINGS, table).rows
    assert none.by_seed == [1.0, 0.5] and none.accuracy.value == 0.75 and batch.accuracy.value == 0.0
    assert batch.difference.value == -0.75 and batch.difference.significant
    assert batch.difference.low <= -0.75 <= batch.difference.high < 0
    assert none.log10_isotropy == pytest.approx(runs["none"].log10_isotropy)


def test_only_batch_statistics_depend_on_the_batch(study):
    moved = {row.method: (row.moved, row.moved_alone) for row in study.rows}
    assert min(moved["batch/1/0"]) > 0
    assert all(shares == (0.0, 0.0) for method, shares in moved.items() if not method.startswith("batch"))


def test_agreements_are_of_the_own_clusters(study):
    ks = {row.method: sorted(row.runs[0].clusters) for row in study.rows}
    assert ks == {
        "none": ["2", "3"],
        "batch/1/0": [],
        "batch/3/2": ["3"],
        "running/3/2": ["3"],
        "frozen/2/1": ["2"],
        "offline/2/1": ["2"],
    }


def test_the_probe_is_cross_validated(task, study):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, 200)
    noise = rng.normal(size=(200, 6))
    assert label_share(noise + 4 * codes[:, None], codes) > 0.98
    assert abs(label_share(noise, codes) - 0.5) < 0.15, "not the accuracy on its own training rows"
    centered = noise + 4 * codes[:, None]
    for code in (0, 1):
        centered[codes == code] -= centered[codes == code].mean(axis=0)
    assert label_share(centered, codes) < 0.65, "the means were all there was"
    for row in study.rows:
        assert 0.5 < row.label.before <= 1 and 0 <= row.label.after <= 1
        assert (row.label.control is None) == (row.method != "batch/3/2")
    assert study.rows[0].label.after == pytest.approx(study.rows[0].label.before, abs=0.05)


def test_isotropy_is_of_what_the_head_sees(task, tiny_model):
    (method,) = parse_methods(["batch/3/2"])[1:]
    run = train_method(tiny_model, task, [method], [method], SETTINGS)["batch/3/2"]
    assert run.log10_isotropy > run.layers[-1].log10_isotropy[-1]
    none = train_method(tiny_model, task, parse_methods([]), parse_methods([]), SETTINGS)["none"]
    assert none.log10_isotropy == pytest.approx(none.layers[-1].log10_isotropy[-1], abs=1e-4)


def test_vectors_without_the_bridge(task, tiny_model):
    classifier = build(tiny_model, task.classes, SETTINGS, bridge=torch.nn.Flatten(0, 0))
    plain = build(tiny_model, task.classes, SETTINGS)
    np.testing.assert_allclose(unrepaired(classifier, task.test), head_inputs(plain, task.test), atol=1e-5)
    assert isinstance(classifier.bridge, torch.nn.Flatten)


def test_an_interrupted_study_resumes(task, tiny_model):
    stored, calls = {}, []

    def remember(method, seed, values):
        calls.append(method)
        stored[method, seed] = values

    run = partial(
        study_task, tiny_model, task, settings=SETTINGS,
        recall=lambda method, seed: stored.get((method, seed)), remember=remember,
    )  # fmt: skip
    run(methods=parse_methods(["batch/2/0"]))
    assert calls == ["none", "batch/2/0"]
    again = run(methods=parse_methods(["batch/2/0"]))
    assert calls == ["none", "batch/2/0"], "nothing is trained twice"
    more = run(methods=parse_methods(["batch/2/0", "frozen/3/0"]))
    assert calls[2:] == ["none", "frozen/3/0"], "3 clusters are new to the run without a repair"
    assert more.rows[0].by_seed == again.rows[0].by_seed, "the same seed gives the same training"


def write_table(folder, items):
    lines = [f"{text},{label}" for text, label in zip(items.left, items.labels, strict=True)]
    path = folder / "letters.csv"
    path.write_text("text,label\n" + "\n".join(lines) + "\n")
    return path


def test_the_verb(tiny_model, tmp_path):
    path = write_table(tmp_path, texts(80, 3))
    options = {"tasks": [str(path)], "methods": ["batch/2/1"], "epochs": 1, "batch_size": 16, "runs": tmp_path / "runs"}
    result = uncone.ablate_repair(tiny_model, **options)
    values = result.to_dict()
    assert [row["method"] for row in values["tasks"][0]["methods"]] == ["none", "batch/2/1"]
    assert len(list((tmp_path / "runs").rglob("*.json"))) == 2
    assert "letters.csv" in result.to_text() and result.to_html() and result.to_markdown() and result.to_latex()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"methods": ["online/3/2"]}, "There is no mode 'online'"),
        ({"methods": ["batch/three/2"]}, "mode/k/p"),
        ({"methods": ["batch/17/0"]}, "17 clusters of a batch of 16"),
        ({"methods": ["running/1/32"]}, "the vectors have 32"),
        ({"tasks": ["cola"]}, "There is no task 'cola'"),
    ],
)
def test_bad_input(tiny_model, tmp_path, options, reason):
    path = write_table(tmp_path, texts(80, 3))
    with pytest.raises((OptionError, SourceError), match=reason) as caught:
        uncone.ablate_repair(tiny_model, **{"tasks": [str(path)], "batch_size": 16, **options})
    assert "\n" not in str(caught.value)


def test_one_task_twice_and_one_class(tiny_model, tmp_path):
    path = str(write_table(tmp_path, texts(80, 3)))
    with pytest.raises(OptionError, match="twice"):
        uncone.ablate_repair(tiny_model, tasks=[path, path])
    one = Items(["a b", "c d", "e f"] * 5, None, ["go"] * 15)
    with pytest.raises(FormatError, match="two classes"):
        uncone.ablate_repair(tiny_model, tasks=[str(write_table(tmp_path, one))])


def test_published_rows():
    assert [row.accuracy for row in published("rte")] == [65.3, 62.8]
    assert [row.accuracy for row in published("wic:dev")] == [64.04, 62.1]
    assert not published("sst2")


@pytest.mark.exhaustive
def test_findings_on_sst2(real_data):
    """The guide's picture: rounder, worse, and a third of predictions that depend on the batch; not so if stored."""
    model = real_data.parent / "models" / "bert-mini"
    methods = ["batch/1/0", "batch/3/0", "batch/3/2", "running/1/0", "frozen/3/2"]
    result = uncone.ablate_repair(model, tasks=["sst2"], methods=methods, data=real_data, runs="runs")
    (task,) = result.tasks
    rows = {row.method: row for row in task.rows}
    none = rows["none"]
    assert 0.72 < none.accuracy.value < 0.80 and none.log10_isotropy < -5
    assert rows["batch/3/2"].log10_isotropy > -0.5 and rows["batch/3/0"].log10_isotropy > -1.5
    for method in ("batch/3/0", "batch/3/2"):
        assert rows[method].difference.significant and rows[method].difference.value < -0.07
        assert rows[method].agreement(3).purity > rows[method].agreement(3).chance + 0.1
        label = rows[method].label
        assert label.after < label.before, "the repair removes part of the label"
    assert max(rows[method].moved for method in ("batch/3/0", "batch/3/2")) > 0.2
    assert abs(rows["batch/1/0"].difference.value) < 0.03 and rows["batch/1/0"].moved > 0.02
    for method in ("running/1/0", "frozen/3/2"):
        assert rows[method].moved == rows[method].moved_alone == 0
    offset = none.geometry(2).offset
    assert offset[0] > 0.95 and offset[-1] > 0.4, "CLS is not zero-mean in this model"


@pytest.mark.exhaustive
def test_findings_on_rte(real_data):
    model = real_data.parent / "models" / "bert-mini"
    result = uncone.ablate_repair(model, tasks=["rte"], methods=["batch/3/2"], data=real_data, train=2490, runs="runs")
    none, batch = result.tasks[0].rows
    assert none.accuracy.value > 0.5 and none.log10_isotropy < -5 and batch.log10_isotropy > -1
    assert batch.accuracy.value < none.accuracy.value + 0.06 and batch.moved > 0.1
