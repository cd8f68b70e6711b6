"""The researcher with a model: its layers on a corpus, as figures and tables for a paper."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

TENSOR = "embeddings.word_embeddings.weight"


def test_the_embedding_matrix(uncone, minilm):
    """First the word embeddings alone, straight from the file."""
    model, words = str(minilm / "model.safetensors"), str(minilm / "vocab.txt")
    by_hand = json.loads(uncone("check", model, "--tensor", TENSOR, "--text", words, "--json", "-", "--no-html").stdout)
    assert by_hand["source"]["rows"] == 30_522 and by_hand["source"]["dimensions"] == 384
    findings = by_hand["findings"]

    # The figures by another route: plain numpy on the tensor as the safetensors package reads it.
    from safetensors.numpy import load_file

    rows = load_file(model)[TENSOR].astype(np.float64)
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    n = len(rows)
    assert findings["baseline"]["value"] == pytest.approx(
        (((units.sum(axis=0)) ** 2).sum() - n) / (n * n - n), rel=1e-5
    )
    values = np.linalg.eigvalsh(np.cov(rows.T))
    assert findings["participation_ratio"]["value"] == pytest.approx(values.sum() ** 2 / (values**2).sum(), rel=1e-5)
    vocabulary = Path(words).read_text().splitlines()
    central = findings["central_rows"]["rows"][0]
    assert central["text"] == vocabulary[central["row"]]

    # The same to nine digits in double precision, on all rows, and as markdown for the paper.
    precise = json.loads(
        uncone(
            "check", model, "--tensor", TENSOR, "--float64", "--exact", "--json", "-", "--markdown", "table.md"
        ).stdout
    )
    assert precise["findings"]["norm_mean"]["value"] == pytest.approx(np.linalg.norm(rows, axis=1).mean(), rel=1e-9)
    assert precise["findings"]["partition_isotropy_log10"]["n"] == n
    assert "| Directions used |" in Path("table.md").read_text()


@pytest.mark.exhaustive
def test_the_demo(uncone, minilm):
    told = uncone("demo").stdout
    assert "all-MiniLM-L6-v2, layer 5" in told and "Crowded" in told
    told = " ".join(told.split())
    assert "held-out pairs" in told and "illustrate" in told and "leave it alone" in told
    assert Path("uncone-demo.html").is_file()


@pytest.mark.exhaustive
def test_the_layers_of_a_model(uncone, real_data, minilm, monkeypatch):
    """Then every layer on real texts: the curves, the words, the figures."""
    monkeypatch.setenv("XDG_CACHE_HOME", "cache")
    tiny = str(real_data.parent / "models" / "bert-tiny")
    corpus = ["--corpus", "snli", "--data", str(real_data), "--limit", "1500"]
    outputs = ["--json", "a.json", "--figures", "figures", "--word-table", "words.csv", "--markdown", "table.md"]
    told = " ".join(uncone("layers", tiny, *corpus, "--words", "dog,street", *outputs).stdout.split())
    assert "3 layers x 128 dimensions" in told and "1,500 texts" in told
    found = json.loads(Path("a.json").read_text())
    curve = [layer["findings"]["baseline"]["value"] for layer in found["layers"]]
    assert curve[0] < 0.25 < curve[1] < curve[2], "the cone narrows with depth"
    assert f"score {curve[0]:.2f} at layer 0 and {curve[2]:.2f} at layer 2" in told
    with Path("words.csv").open() as file:
        table = {row["word"]: row for row in csv.DictReader(file)}
    assert float(table["dog"]["selfsim_0"]) > float(table["dog"]["selfsim_2"]) - 0.2
    names = {path.name for path in Path("figures").iterdir()}
    assert {"baseline.svg", "baseline.png", "baseline.csv"} <= names

    # A fine-tuned model against another, on the same texts: differences with intervals.
    mini = str(real_data.parent / "models" / "bert-mini")
    both = json.loads(uncone("layers", tiny, mini, *corpus, "--json", "-").stdout)
    assert len(both["studies"]) == 2 and both["differences"][0]["paired"]
    last = both["differences"][0]["layers"][-1]["findings"]["baseline"]
    assert last["low"] < last["value"] < last["high"]

    # The published repair, at token level: the cone opens, and the page shows it.
    texts = ["snli", "--data", str(real_data), "--model", tiny, "--layer", "2", "--limit", "800"]
    clustered = ["--method", "clustered", "--level", "token", "--k", "10", "--save", "repair", "--json", "-"]
    opened = json.loads(uncone("fix", *texts, *clustered).stdout)
    assert opened["before"]["findings"]["baseline"]["value"] > 0.5
    assert opened["after"]["findings"]["baseline"]["value"] < 0.2
    assert json.loads(Path("repair/repair.json").read_text())["provenance"]["level"] == "token"
    assert "x 128" in uncone("check", *texts, "--no-html").stdout

    # Sentence vectors of the last layer, with the verdict that everyone else gets too.
    assert "x 384" in uncone("check", "snli", "--data", str(real_data), "--model", str(minilm), "--limit", "200").stdout


@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore")
def test_the_layers_on_a_cluster(uncone, real_data):
    """The same command with an engine writes the same numbers: of one study with its curve, and of two compared."""
    pytest.importorskip("ray")
    models = [str(real_data.parent / "models" / name) for name in ("bert-tiny", "bert-mini")]
    corpus = ["--corpus", "snli", "--data", str(real_data), "--limit", "1200", "--no-html"]
    for names, options in ((models[:1], ["--curve", "--deep", "--deep-sample", "800"]), (models, [])):
        here = uncone("layers", *names, *corpus, *options, "--json", "-").stdout
        there = uncone("layers", *names, *corpus, *options, "--engine", "ray", "--workers", "2", "--json", "-").stdout
        assert json.loads(here)["schema"] and there == here


@pytest.mark.exhaustive
def test_behind_the_cone(uncone, real_data, minilm):
    """What lies inside the cone: dimension, clusters, hubs, frequency, manifold; as numbers, page, figures and map."""
    tiny = str(real_data.parent / "models" / "bert-tiny")
    corpus = ["--corpus", "wikitext2", "--data", str(real_data), "--limit", "400"]
    outputs = ["--json", "deep.json", "--figures", "figures", "--markdown", "deep.md", "--html", "deep.html"]
    told = " ".join(uncone("layers", tiny, *corpus, "--deep", *outputs).stdout.split())
    assert "local dimension is" in told
    found = json.loads(Path("deep.json").read_text())
    for layer, findings in zip(found["deep"]["layers"], found["layers"], strict=True):
        lid = layer["dimensions"]["euclidean"]
        assert findings["findings"]["lid_euclidean"]["value"] == lid["value"] == 2 * lid["paper"]
        assert 2 < lid["value"] < 128 and lid["base"] <= found["source"]["rows"]
        clusters = layer["clusters"]
        assert sum(one["size"] for one in clusters["clusters"]) == layer["n"]
        assert abs(clusters["global"]["inter"]) < clusters["raw"]["inter"], "the mean makes the cone"
        assert layer["hubness"]["hubs"][0]["text"]
    assert found["deep"]["table"]["frequency"]["bins"][0]["name"] == "0-100"
    assert found["deep"]["head"] is None, "a classifier has no language-model head"
    assert "Behind the cone" in Path("deep.html").read_text() and "Behind the cone" in Path("deep.md").read_text()
    assert {"lid.svg", "lid.csv"} <= {path.name for path in Path("figures").iterdir()}

    # A causal model has a head; contextual and static vectors stand in one table.
    stories = str(real_data.parent / "models" / "stories-15m")
    causal = json.loads(uncone("layers", stories, *corpus[:-1], "150", "--deep", "--json", "-", "--no-html").stdout)
    assert 0 <= causal["deep"]["head"]["r2"] <= 1

    # The same words as points, every layer, before they go into the paper.
    words = ["--model", tiny, "--rows", "words", "--layer", "all", "--color", "frequency", "--points", "3000"]
    shown = uncone("map", "wikitext2", "--data", str(real_data), "--limit", "400", *words, "--png", "map.png").stdout
    assert "trustworthiness" in shown and "seed 0" in " ".join(shown.split())
    assert Path("map.png").read_bytes()[:4] == b"\x89PNG" and Path("uncone-map.html").is_file()

    # The figures and tables of the papers, beside the published rows; and the same words in two models.
    both = [tiny, str(real_data.parent / "models" / "bert-mini"), "--corpus", "wikitext2", "--data", str(real_data)]
    suite = ["--suite", "papers", "--out", "papers", "--methods", "center,whiten", "--words", "the,city"]
    told = uncone("layers", *both, "--limit", "300", *suite).stdout
    assert "not run" in told and "Does a repair remove the bias?" in told
    names = {path.name for path in Path("papers").iterdir()}
    assert {"layers.html", "layers.tex", "context-baseline.svg", "table-frequency-bins.csv"} <= names
    pictures = ["--limit", "100", "--kinds", "symbols,words", "--no-html", "--json", "-"]
    shown = json.loads(uncone("map", *both, *pictures).stdout)
    assert [panel["name"] for panel in shown["panels"]] == ["bert-tiny", "bert-mini"]
