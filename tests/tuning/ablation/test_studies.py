"""Studies of layers and of data: pairing, stored runs, draws, and both studies from end to end on a tiny model."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import uncone
from uncone.cli.main import _run
from uncone.errors import OptionError, ShapeError
from uncone.tuning.ablation import data, layers
from uncone.tuning.ablation.pairing import paired_accuracies
from uncone.tuning.ablation.runs import RunStore
from uncone.tuning.results import Skew
from uncone.tuning.tasks import open_task
from uncone.verbs.schema.schema import validate

WORDS = {"cat": ["school", "text", "the"], "dog": ["go", "sea", "boat"]}
QUICK = {"epochs": 1, "batch_size": 8, "max_length": 16, "train": 40, "runs": "runs"}


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    rows = [f"{' '.join(rng.choice(WORDS[label], 4))} {i},{label},{'ab'[i % 2]}" for i in range(80) for label in WORDS]
    Path("texts.csv").write_text("text,label,topic\n" + "\n".join(rows) + "\n")
    return "texts.csv"


def test_accuracies_are_paired_by_seed_and_item():
    rng = np.random.default_rng(1)
    base = rng.random((3, 400)) < 0.7
    worse = base & (rng.random((3, 400)) < 0.8)
    items = [(f"text {i}", "") for i in range(400)]
    result = paired_accuracies({"base": base, "worse": worse, "same": base}, items)
    assert result["base"].difference is None and result["base"].accuracy.value == pytest.approx(base.mean())
    gain = result["worse"].difference
    assert gain.value == pytest.approx(worse.mean() - base.mean()) and gain.significant and gain.high < 0
    assert result["same"].difference.value == 0 and not result["same"].difference.significant
    # By the formula: items and seeds are independent sources of variance.
    difference = worse.mean(axis=0) - base.mean(axis=0)
    by_seed = worse.mean(axis=1) - base.mean(axis=1)
    spread = np.sqrt(difference.var(ddof=1) / 400 + by_seed.var(ddof=1) / 3)
    assert 0.9 < (gain.high - gain.low) / 2 / (1.96 * spread) < 1.6, "a little wider, for two more items"


def test_seeds_widen_the_interval():
    rng = np.random.default_rng(2)
    items = [(f"text {i}", "") for i in range(300)]
    base = np.tile(rng.random(300) < 0.7, (3, 1))
    steady = np.tile(rng.random(300) < 0.6, (3, 1))
    moving = np.array([rng.random(300) < p for p in (0.4, 0.6, 0.8)])
    result = paired_accuracies({"base": base, "steady": steady, "moving": moving}, items)
    widths = [result[name].difference.high - result[name].difference.low for name in ("steady", "moving")]
    assert widths[1] > 1.5 * widths[0]


def test_copies_of_an_item_count_once():
    hits = np.random.default_rng(3).random((2, 1, 60)) < 0.5
    alone = paired_accuracies({"a": hits[0], "b": hits[1]}, [(f"text {i}", "") for i in range(60)])
    repeated = np.repeat(hits, 5, axis=2)
    copies = paired_accuracies({"a": repeated[0], "b": repeated[1]}, [(f"text {i // 5}", "") for i in range(300)])
    assert copies["b"].units == alone["b"].units == 60
    widths = [result["b"].difference.high - result["b"].difference.low for result in (alone, copies)]
    assert widths[1] == pytest.approx(widths[0], rel=0.1)


def test_a_damaged_run_is_made_again(tmp_path):
    store = RunStore(tmp_path, {"model": "a"})
    store.remember("drop/1", 0, {"correct": 3})
    assert store.recall("drop/1", 0) == {"correct": 3}
    next(store.folder.glob("*.json")).write_text("{")
    assert store.recall("drop/1", 0) is None


def test_draws_are_balanced_disjoint_and_skewed(table):
    task = open_task(table, columns=["topic"])
    draws = data._draws(task, Skew(0.9, "dog"), 40, 0, None)
    assert {name: dict(Counter(items.labels)) for name, items in draws.items()} == {
        "balanced": {"cat": 20, "dog": 20},
        "control": {"cat": 20, "dog": 20},
        "skewed": {"cat": 4, "dog": 36},
    }
    assert not set(draws["balanced"].left) & set(draws["control"].left)
    by_topic = data._draws(task, Skew.parse("topic=a:0.75"), 40, 0, None)
    assert Counter(by_topic["skewed"].columns["topic"]) == {"a": 30, "b": 10}
    with pytest.raises(OptionError, match="no item with 'bird'"):
        data._draws(task, Skew(0.9, "bird"), 40, 0, None)
    with pytest.raises(ShapeError, match="--train"):
        data._draws(task, Skew(0.9, "dog"), 4000, 0, None)


def test_variants_cover_every_layer():
    names = [variant.name for variant in layers.variants_of(3)]
    assert len(names) == 1 + 3 * 3 + 2 + 1 and names[-2:] == ["embeddings and layers 1–2 frozen", "head alone trained"]
    assert len(layers.variants_of(1)) == 4


def test_the_layers_of_a_tiny_model(table, tiny_model, monkeypatch):
    lines = []
    result = uncone.ablate_layers(tiny_model, task=table, seeds=2, announce=lines.append, **QUICK)
    assert "18 trainings" in lines[0]
    assert validate(result.to_json()) == "ablate layers"
    values = result.to_dict()
    frozen = next(row for row in values["variants"] if row["variant"] == "head alone trained")
    for run in frozen["runs"]:
        assert run["before"] == run["after"], "nothing but the head was trained"
    test = open_task(table, seed=0, n_train=40).test
    for row in values["variants"]:
        for run in row["runs"]:
            labels = [("cat", "dog")[code] for code in run["predictions"]]
            assert run["correct"] == sum(a == b for a, b in zip(labels, test.labels, strict=True))
        assert row["accuracy"]["value"] == pytest.approx(np.mean([run["correct"] for run in row["runs"]]) / len(test))
    assert {chart.name for chart in result.document().charts()} >= {"layers", "context-intrasim"}
    assert result.to_html() and result.to_markdown() and result.to_latex()

    # Finished trainings are kept: nothing is trained again.
    monkeypatch.setattr(layers, "train", None)
    again = uncone.ablate_layers(tiny_model, task=table, seeds=2, announce=lines.append, **QUICK)
    assert again.to_dict()["variants"] == values["variants"] and "18 of which were done before" in lines[2]


def test_the_data_of_a_tiny_model(table, tiny_model, monkeypatch):
    options = {**QUICK, "seeds": 1, "skew": 0.9, "epochs": 3, "lr": 3e-3}
    result = uncone.ablate_data(tiny_model, task=table, **options)
    assert validate(result.to_json()) == "ablate data"
    values = result.to_dict()
    assert [run["draw"] for run in values["runs"]] == ["balanced", "control", "skewed"] * 2
    assert values["runs"][2]["counts"] == {"cat": 4, "dog": 36} and values["skewed_to"] == "dog"
    assert values["runs"][0]["layers"][0]["cka"] is None and 0 < values["runs"][1]["layers"][-1]["cka"] <= 1
    recalls = values["recalls"]["balanced"]
    accuracy = values["accuracies"]["balanced"]["accuracy"]["value"]
    assert accuracy == pytest.approx(np.mean(list(recalls.values()))), "the test is balanced"
    assert {chart.name for chart in result.document().charts()} >= {"draws", "classify-cka", "contrastive-probe"}
    assert result.to_html() and result.to_text() and result.to_latex()
    monkeypatch.setattr(data, "_train", None)
    assert uncone.ablate_data(tiny_model, task=table, **options).to_dict()["runs"] == values["runs"]


def test_the_other_corpus_and_another_column(table, tiny_model):
    options = {**QUICK, "seeds": 1, "objectives": ["classify"]}
    other = uncone.ablate_data(tiny_model, task=table, against=table, **options)
    assert other.study.skewed_to == "another corpus" and other.to_text()
    by_topic = uncone.ablate_data(tiny_model, task=table, skew_by="topic=a:0.8", **options)
    assert by_topic.study.runs[2].counts == {"a": 32, "b": 8}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["layers", "--task", "nowhere"], "sst2, rte, wic"),
        (["layers", "--task", "one-class.csv"], "one-class.csv"),
        (["layers", "--task", "texts.csv", "--batch-size", "500"], "fewer than a batch"),
        (["layers", "--task", "texts.csv", "--variants", "shuffle"], "freeze"),
        (["data", "--task", "texts.csv", "--skew", "0.3"], "above 0.5"),
        (["data", "--task", "texts.csv", "--skew-by", "topic"], "COLUMN=VALUE:SHARE"),
        (["data", "--task", "texts.csv", "--skew-by", "color=red:0.9"], "color"),
        (["data", "--task", "texts.csv", "--skew", "0.9", "--against", "texts.csv"], "two ways"),
        (["data", "--task", "texts.csv", "--train", "100000"], "--train"),
        (["repair", "--task", "texts.csv", "--methods", "batch/x"], "batch/x"),
    ],
)
def test_bad_input_is_one_line(arguments, message, table, tiny_model, capsys):
    Path("one-class.csv").write_text("text,label\n" + "".join(f"text {i},a\n" for i in range(40)))
    assert _run(["ablate", arguments[0], str(tiny_model), *arguments[1:], "--runs", "runs"]) == 2
    error = capsys.readouterr().err.splitlines()
    assert message in error[-1] and error[-1].startswith("uncone: ")
    assert not Path("uncone-ablate.html").exists()


@pytest.mark.exhaustive
def test_a_skew_on_bert_mini(real_data):
    """The head loses the rare class, the layers keep it, and the control is closer to the balanced model."""
    model = real_data / "../models/bert-mini"
    options = {"seeds": 1, "lr": 3e-4, "data": real_data, "device": "cpu", "runs": "runs"}
    study = uncone.ablate_data(model, task="sst2", skew=0.95, objectives=["classify"], **options).study
    assert 0.74 < study.accuracies["balanced"].accuracy.value < 0.80
    assert study.recalls["skewed"]["0"] < 0.2
    assert study.accuracies["skewed"].difference.significant and not study.accuracies["control"].difference.significant
    control, skewed = (study.curve("classify", draw, "cka") for draw in ("control", "skewed"))
    assert all(other < own - 0.1 for own, other in list(zip(control, skewed, strict=True))[2:])
    assert study.curve("classify", "skewed", "probe")[-1] > 0.66
