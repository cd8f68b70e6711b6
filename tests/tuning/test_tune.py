"""`tune` from end to end on a tiny random model: objectives, frozen layers, interrupted runs, and bad input."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

import uncone
from uncone.cli.main import _run
from uncone.errors import ModelError, OutputError, ShapeError, StateError
from uncone.tuning import trainer
from uncone.verbs.schema.schema import validate

QUICK = {"batch_size": 8, "steps": 6, "max_length": 16, "probe_every": 2, "data": "nowhere", "lr": 1e-3}
WORDS = ["the", "text", "go", "school"]


@pytest.fixture(autouse=True)
def _without_named_data(monkeypatch):
    monkeypatch.delenv("UNCONE_DATA", raising=False)


def sentence(i: int) -> str:
    return f"{WORDS[i % 4]} {WORDS[i // 4 % 4]} {i} of {chr(97 + i % 26)}{chr(97 + i // 26 % 26)}"


@pytest.fixture
def labeled():
    rows = "".join(f"{sentence(i)},{'cat' if i % 2 else 'dog'}\n" for i in range(200))
    Path("labeled.csv").write_text("text,label\n" + rows)
    return "labeled.csv"


@pytest.fixture
def texts():
    Path("texts.txt").write_text("".join(f"{sentence(i)}\n" for i in range(150)))
    return "texts.txt"


def weights(folder: str) -> dict[str, np.ndarray]:
    return load_file(Path(folder) / "model.safetensors")


SOURCES = {
    "contrastive": {"text": [sentence(i) for i in range(120)]},
    "pairs": {"anchor": [sentence(i) for i in range(120)], "positive": [f"{sentence(i)} too" for i in range(120)]},
    "triplets": {
        "anchor": [sentence(i) for i in range(120)],
        "positive": [f"{sentence(i)} too" for i in range(120)],
        "negative": [f"not {sentence(i + 7)}" for i in range(120)],
    },
    "nli": {
        "premise": [sentence(i // 2) for i in range(240)],
        "hypothesis": [f"{'so' if i % 2 else 'not'} {sentence(i)}" for i in range(240)],
        "label": ["entailment" if i % 2 else "contradiction" for i in range(240)],
    },
    "scored": {
        "sentence1": [sentence(i) for i in range(120)],
        "sentence2": [sentence(i + 3) for i in range(120)],
        "score": [float(i % 6) for i in range(120)],
    },
    "labeled": {"text": [sentence(i) for i in range(120)], "label": ["ab"[i % 2] for i in range(120)]},
    "classify": {"text": [sentence(i) for i in range(120)], "label": ["ab"[i % 2] for i in range(120)]},
}


@pytest.mark.parametrize("objective", SOURCES)
def test_every_objective_trains_a_model_that_loads(objective, tiny_model):
    from sentence_transformers import SentenceTransformer

    result = uncone.tune(tiny_model, SOURCES[objective], objective=objective, out="tuned", **QUICK)
    assert result.objective == objective and result.training.step == 6
    assert [probe.step for probe in result.training.probes][::3] == [0, 6][: len(result.training.probes[::3])]
    assert all(np.isfinite(loss) for _, loss in result.training.losses) and len(result.training.losses) == 6
    assert validate(result.to_json()) == "tune"
    before, after = weights(tiny_model), weights("tuned")
    changed = any(not np.array_equal(before[name], after[name]) for name in before if "encoder" in name)
    assert changed == (result.last.step > 0)  # on random texts, the untrained model may do best
    vectors = SentenceTransformer("tuned", device="cpu").encode(["the text", "go to school"])
    uncone.encode(["the text", "go to school"], model="tuned", out="vectors.npy")
    np.testing.assert_allclose(np.load("vectors.npy"), vectors, atol=1e-5)
    assert "## Training" in Path("tuned/README.md").read_text() and not Path("tuned.run").exists()


def test_the_result_renders_everywhere(tiny_model, labeled):
    result = uncone.tune(tiny_model, labeled, out="tuned", then="whiten", datasets=[scored_pairs()], **QUICK)
    assert "untuned" in result.to_text() and "tuned, whiten" in result.to_markdown()
    assert "<html" in result.to_html() and "tabular" in result.to_latex()
    assert {chart.name for chart in result.document().charts()} >= {"loss", "probe-baseline", "differences", "baseline"}
    assert result.repair is not None and result.comparison.table.rows[0].method.name == "untuned"


def scored_pairs():
    table = SOURCES["scored"]
    rows = zip(table["sentence1"], table["sentence2"], table["score"], strict=True)
    Path("pairs.csv").write_text("sentence1,sentence2,score\n" + "".join(f"{a},{b},{s}\n" for a, b, s in rows))
    return "pairs.csv"


def test_the_comparison_is_that_of_a_naive_computation(tiny_model, labeled):
    from scipy.stats import spearmanr
    from sentence_transformers import SentenceTransformer

    result = uncone.tune(tiny_model, labeled, out="tuned", datasets=[scored_pairs()], **QUICK)
    table, model = SOURCES["scored"], SentenceTransformer("tuned", device="cpu")
    left, right = (model.encode(table[side], normalize_embeddings=True) for side in ("sentence1", "sentence2"))
    expected = spearmanr((left * right).sum(axis=1), table["score"]).statistic
    tuned = next(row for row in result.comparison.table.rows if row.method.name == "tuned")
    assert tuned.average == pytest.approx(expected, abs=1e-4)


def test_frozen_parameters_stay_bit_identical(tiny_model, texts):
    uncone.tune(tiny_model, texts, out="tuned", freeze="embeddings,1", **QUICK)
    before, after = weights(tiny_model), weights("tuned")
    frozen = [name for name in before if name.startswith(("embeddings", "encoder.layer.0"))]
    assert frozen and all(np.array_equal(before[name], after[name]) for name in frozen)
    assert not np.array_equal(
        before["encoder.layer.1.output.dense.weight"], after["encoder.layer.1.output.dense.weight"]
    )


def test_a_dropped_layer_is_gone_from_the_saved_model(tiny_model, texts):
    uncone.tune(tiny_model, texts, out="tuned", drop_layers="1", **QUICK)
    assert not any("layer.1" in name for name in weights("tuned"))
    assert json.loads(Path("tuned/config.json").read_text())["num_hidden_layers"] == 1


def test_the_step_with_the_best_dev_score_is_saved_and_training_may_stop_early(tiny_model, labeled, monkeypatch):
    scores = iter([0.1, 0.5, 0.3, 0.2, 0.1, 0.1])
    monkeypatch.setattr("uncone.tuning.probes.dev_score", lambda *_: next(scores))
    snapshots = {}
    save = trainer._Watch._probe

    def probe(self, step):
        save(self, step)
        snapshots[step] = {name: value.clone() for name, value in self.model.state_dict().items()}

    monkeypatch.setattr(trainer._Watch, "_probe", probe)
    result = uncone.tune(tiny_model, labeled, out="tuned", **{**QUICK, "steps": 20, "patience": 2})
    assert result.last.step == 2 and result.training.step == 6
    own = {name.removeprefix("0.model."): value for name, value in snapshots[2].items()}
    for name, value in weights("tuned").items():
        match = next(other for key, other in own.items() if key.endswith(name))
        np.testing.assert_array_equal(value, match.numpy())


@pytest.mark.parametrize("objective", ["contrastive", "nli", "labeled", "classify"])
def test_a_run_that_was_interrupted_continues_to_the_same_weights(objective, tiny_model, monkeypatch):
    uncone.tune(tiny_model, SOURCES[objective], objective=objective, out="whole", **QUICK)
    log = trainer._Watch.on_log

    def interrupted(self, args, state, control, logs, **more):
        log(self, args, state, control, logs, **more)
        if state.global_step == 5:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(trainer._Watch, "on_log", interrupted)
        uncone.tune(tiny_model, SOURCES[objective], objective=objective, out="tuned", **QUICK)
    assert not Path("tuned").exists() and list(Path("tuned.run").glob("checkpoint-*"))
    (Path("tuned.run") / "checkpoint-5").mkdir()  # what a kill in the middle of saving leaves behind
    with pytest.raises(StateError, match="lr changed"):
        uncone.tune(
            tiny_model, SOURCES[objective], objective=objective, out="tuned", resume=True, **{**QUICK, "lr": 1.0}
        )
    result = uncone.tune(tiny_model, SOURCES[objective], objective=objective, out="tuned", resume=True, **QUICK)
    assert result.training.resumed and [step for step, _ in result.training.losses] == [1, 2, 3, 4, 5, 6]
    for name, value in weights("whole").items():
        np.testing.assert_array_equal(value, weights("tuned")[name])


@pytest.mark.exhaustive
def test_a_killed_run_continues_to_the_same_weights(tiny_model, texts):
    command = [sys.executable, "-m", "uncone", "tune", str(tiny_model), texts, "--steps", "40", "--batch-size", "8"]
    command += ["--probe-every", "2", "--no-html"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run([*command, "-o", "whole"], check=True, capture_output=True, env=environment)
    process = subprocess.Popen([*command, "-o", "tuned"], stdout=subprocess.DEVNULL, env=environment)
    while process.poll() is None and not list(Path().glob("tuned.run/checkpoint-*/state.json")):
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    if Path("tuned").exists():
        pytest.skip("it was over before it could be killed")
    subprocess.run([*command, "-o", "tuned", "--resume"], check=True, capture_output=True, env=environment)
    for name, value in weights("whole").items():
        np.testing.assert_array_equal(value, weights("tuned")[name])


def test_a_loss_that_is_no_number_ends_the_run_and_the_last_good_step_stays(tiny_model, texts, monkeypatch):
    log = trainer._Watch.on_log

    def diverging(self, args, state, control, logs, **more):
        log(self, args, state, control, {**logs, "loss": float("nan")} if state.global_step == 4 else logs, **more)

    monkeypatch.setattr(trainer._Watch, "on_log", diverging)
    with pytest.raises(ModelError, match=r"after step 4.*learning rate 0.001.*step 2 are in.*--lr 0.0003"):
        uncone.tune(tiny_model, texts, out="tuned", **QUICK)
    assert [path.name for path in Path("tuned.run").glob("checkpoint-*")] == ["checkpoint-2"]


def test_a_full_disk_leaves_the_last_checkpoint(tiny_model, texts, monkeypatch):
    save = trainer.SentenceTransformerTrainer._save

    def full(self, output_dir=None, state_dict=None):
        save(self, output_dir, state_dict)
        if output_dir.endswith("checkpoint-4"):
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(trainer.SentenceTransformerTrainer, "_save", full)
    monkeypatch.setattr(trainer, "_SAVE_SHARE", 1e9)  # save at every probe
    with pytest.raises(OutputError, match="No space left"):
        uncone.tune(tiny_model, texts, out="tuned", **QUICK)
    assert [path.name for path in Path("tuned.run").glob("checkpoint-*")] == ["checkpoint-2"]
    assert not Path("tuned").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["texts.txt", "--batch-size", "500"], "fewer than a batch of 500"),
        (["texts.txt", "--freeze", "7"], "layers 1 to 2"),
        (["texts.txt", "--freeze", "all-but", "9"], "layers 1 to 2"),
        (["texts.txt", "--freeze", "embeddings,1-2"], "nothing would be trained"),
        (["texts.txt", "--epochs", "1", "--steps", "3"], "two ways"),
        (["texts.txt", "--objective", "labeled"], "texts alone, and labeled needs"),
        (["texts.txt", "--dropout", "0"], "has no dropout"),
        (["texts.txt", "--dev", "nowhere.csv"], "nowhere.csv"),
        (["texts.txt", "--resume"], "nothing to resume"),
        (["one-class.csv", "--label", "label"], "two classes"),
        (["same.txt"], "only one distinct text"),
        (["texts.txt", "-o", "full"], "holds something else"),
        ([], "Name what to train on"),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(arguments, message, tiny_model, texts, capsys):
    Path("one-class.csv").write_text("text,label\n" + "".join(f"{sentence(i)},a\n" for i in range(40)))
    Path("same.txt").write_text("the same\n" * 40)
    Path("full").mkdir()
    Path("full/thing").write_text("mine")
    out = [] if "-o" in arguments else ["-o", "tuned"]
    assert _run(["tune", str(tiny_model), *arguments, *out]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
    assert not Path("tuned").exists() and not Path("uncone-tune.html").exists()
    assert Path("full/thing").read_text() == "mine"


def test_without_the_extra_the_command_says_what_to_install(tiny_model, texts, capsys, monkeypatch):
    from importlib.util import find_spec

    monkeypatch.setattr("uncone.errors.find_spec", lambda name: None if name == "accelerate" else find_spec(name))
    assert _run(["tune", str(tiny_model), texts, "-o", "tuned"]) == 2
    assert "pip install 'uncone[tune]'" in capsys.readouterr().err


def test_too_few_texts_in_memory(tiny_model):
    with pytest.raises(ShapeError, match="fewer than a batch"):
        uncone.tune(tiny_model, ["a text", "another text"], out="tuned", data="nowhere")
    assert not Path("tuned.run").exists()


def test_a_sentence_transformers_folder_keeps_its_recipe(tiny_model, texts):
    from sentence_transformers import SentenceTransformer

    uncone.tune(tiny_model, texts, out="first", pooling="cls", **QUICK)
    uncone.tune("first", texts, out="second", **QUICK)
    shutil.rmtree("first")
    assert SentenceTransformer("second", device="cpu")[1].pooling_mode == "cls"
