"""What learners and researchers do with a model, in seconds: a random one, and few texts."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture
def texts():
    """A table of texts about two topics."""
    rng = np.random.default_rng(0)
    words = {"school": ["school", "text", "the"], "travel": ["go", "boat", "sea"]}
    rows = [
        (f"the {' '.join(rng.choice(words[topic], 4))} go {i}.", topic)
        for i in range(30)
        for topic in ("school", "travel")
    ]
    with Path("texts.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("text", "topic"), *rows])
    return [text for text, _ in rows]


def test_the_learner(uncone, texts, tiny_model):
    model = ("--model", tiny_model, "--text", "text")
    assert "text, topic" in uncone("check", "texts.csv", "--model", tiny_model, "--text", "sentence", code=2).stderr
    assert "60 x 32" in uncone("check", "texts.csv", *model, "--label", "topic").stdout
    page = Path("uncone-report.html").read_text()
    assert "school" in page and texts[0] in page

    fixed = ["--method", "center", "-o", "fixed.csv", "--save", "repair"]
    assert "60 x 32" in uncone("fix", "texts.csv", *model, *fixed).stdout
    with Path("fixed.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["topic"] for row in rows[:2]] == ["school", "travel"]
    alone = json.loads(uncone("apply", "repair", "--text", texts[0], "--model", tiny_model).stdout)
    np.testing.assert_allclose(alone["embedding"], json.loads(rows[0]["embedding"]), atol=1e-5)
    assert "371" in uncone("cache").stdout  # 60, and 311 on many subjects

    files = ["--labels-out", "labels.csv", "--pairs-out", "pairs.csv", "--groups-out", "groups.csv", "--json", "a.json"]
    assert "60 x 32" in uncone("similarity", "texts.csv", *model, "--label", "topic", *files).stdout
    with Path("labels.csv").open(newline="") as file:
        labels = {(row["label"], row["other_label"]): int(row["pairs"]) for row in csv.DictReader(file)}
    assert labels == {("school", "school"): 435, ("travel", "travel"): 435, ("school", "travel"): 900}
    with Path("groups.csv").open(newline="") as file:
        assert [row["text"] for row in csv.DictReader(file)] == texts
    assert texts[0] in Path("uncone-similarity.html").read_text()


def test_the_researcher(uncone, texts, tiny_model):
    corpus = ["--corpus", "texts.csv", "--text", "text"]
    outputs = ["--json", "a.json", "--figures", "figures", "--word-table", "words.csv", "--markdown", "table.md"]
    told = " ".join(uncone("layers", tiny_model, *corpus, "--words", "school", *outputs).stdout.split())
    assert "3 layers x 32 dimensions" in told and "60 texts" in told
    with Path("words.csv").open() as file:
        assert "school" in {row["word"] for row in csv.DictReader(file)}
    assert {"baseline.svg", "baseline.png", "baseline.csv"} <= {path.name for path in Path("figures").iterdir()}

    deep = json.loads(uncone("layers", tiny_model, *corpus, "--deep", "--json", "-", "--no-html").stdout)
    for layer, findings in zip(deep["deep"]["layers"], deep["layers"], strict=True):
        lid = layer["dimensions"]["euclidean"]
        assert findings["findings"]["lid_euclidean"]["value"] == lid["value"] == 2 * lid["paper"]
        assert sum(one["size"] for one in layer["clusters"]["clusters"]) == layer["n"]

    both = json.loads(uncone("layers", tiny_model, tiny_model, *corpus, "--json", "-", "--no-html").stdout)
    assert len(both["studies"]) == 2
    assert {one["findings"]["baseline"]["value"] for one in both["differences"][0]["layers"]} == {0.0}

    words = ["--model", tiny_model, "--text", "text", "--rows", "words", "--layer", "all", "--color", "frequency"]
    assert "trustworthiness" in uncone("map", "texts.csv", *words, "--png", "map.png").stdout
    assert Path("map.png").read_bytes()[:4] == b"\x89PNG" and Path("uncone-map.html").is_file()


def test_the_learner_trains(uncone, texts, tiny_model, monkeypatch):
    """A table of labeled texts: a model tuned on it, and what it is worth beside a repair."""
    monkeypatch.delenv("UNCONE_DATA", raising=False)
    columns = ["texts.csv", "--text", "text", "--label", "topic"]
    assert "fewer than a batch" in uncone("tune", tiny_model, *columns, "-o", "tuned", code=2).stderr
    quick = ["--batch-size", "16", "--steps", "8", "--max-length", "16", "--lr", "1e-3"]
    printed = uncone("tune", tiny_model, *columns, "-o", "tuned", *quick, "--json", "tuned.json").stdout
    assert "The cone" in printed and "labeled" in printed and Path("uncone-tune.html").is_file()
    assert json.loads(Path("tuned.json").read_text())["objective"] == "labeled"
    assert "60 x 32" in uncone("check", "texts.csv", "--model", "tuned", "--text", "text").stdout
    assert "holds something else" in uncone("tune", tiny_model, *columns, "-o", "tuned", *quick, code=2).stderr


def test_the_researcher_trains(uncone, texts, tiny_model, monkeypatch):
    """Contrastive tuning with a frozen layer, and what each layer is worth for a task."""
    monkeypatch.delenv("UNCONE_DATA", raising=False)
    Path("texts.txt").write_text("\n".join(texts) + "\n")
    quick = ["--batch-size", "16", "--steps", "6", "--max-length", "16", "--freeze", "all-but", "2"]
    printed = uncone("tune", tiny_model, "texts.txt", "-o", "tuned", *quick, "--figures", "figures").stdout
    assert "contrastive" in printed and {"loss.svg", "probe-baseline.csv"} <= {
        p.name for p in Path("figures").iterdir()
    }
    task = ["--task", "texts.csv", "--label", "topic", "--train", "30", "--epochs", "1", "--batch-size", "8"]
    study = uncone("ablate", "layers", "tuned", *task, "--seeds", "1", "--runs", "runs", "--latex", "layers.tex")
    assert "9 trainings" in study.stderr and "head alone trained" in study.stdout
    assert "layer 2 dropped" in Path("layers.tex").read_text()
