"""`layers(deep=True)` as a whole: what it adds, what it leaves alone, and what it does with little."""

import json
import random
import re
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

import uncone
from uncone.analysis.layers.deep_results import (
    Bin,
    Cluster,
    Clusters,
    Deep,
    DeepLayer,
    Dimension,
    Frequency,
    HeadFrequency,
    Hub,
    Hubness,
    Manifold,
    TableDeep,
)
from uncone.encoders.open import open_encoder
from uncone.errors import MissingPackageError, ModelError, OptionError
from uncone.report.documents.layers import LARGE_FIELDS

WORDS = ["the", "text", "go", "school", "zebra", "tree", "stone", "river", "12", "7", ".", ",", "!"]


def texts(n=150, seed=0, longest=12):
    draw = random.Random(seed)
    weights = [1 / (rank + 1) for rank in range(len(WORDS))]
    return [" ".join(draw.choices(WORDS, weights, k=draw.randint(3, longest))) + f" {i}" for i in range(n)]


@pytest.fixture(scope="module")
def studies(tiny_model):
    options = {"min_contexts": 2}
    corpus = texts()
    return uncone.layers(tiny_model, corpus, **options), uncone.layers(tiny_model, corpus, deep=True, **options)


def test_the_plain_findings_are_the_same_digits(studies):
    plain, deep = studies
    assert plain.deep is None and deep.deep is not None
    for one, other in zip(plain.layers, deep.layers, strict=True):
        assert {name: other.findings[name] for name in one.findings} == dict(one.findings)
    assert [*deep.story] == [*plain.story]


def test_every_layer_has_every_deep_finding(studies):
    _, deep = studies
    expected = {"lid_euclidean", "lid_cosine", "twonn_euclidean", "twonn_cosine", "hubness_skew", "antihub_share"}
    expected |= {"cluster_count", "cluster_silhouette", "s_inter_global", "s_intra_global", "s_inter_within_raw"}
    expected |= {"s_intra_within_raw", "s_inter_within", "s_intra_within", "isoscore_within"}
    expected |= {"frequency_norm_r", "frequency_pc1_r", "frequency_explained"}
    expected |= {"manifold_ratio", "position_angle_r", "manifold_visible"}
    for layer in deep.layers:
        assert expected <= set(layer.findings)


def test_the_json_holds_all_numbers_and_no_rows(studies):
    _, deep = studies
    found = json.loads(deep.to_json())["deep"]
    assert len(found["layers"]) == 3
    one, layer = deep.deep.layers[1], found["layers"][1]
    assert layer["dimensions"]["euclidean"]["value"] == one.dimensions["euclidean"].value
    assert layer["dimensions"]["euclidean"]["paper"] == one.dimensions["euclidean"].value / 2
    assert layer["clusters"]["global"]["inter"] == one.clusters.global_.inter
    assert {field.name.rstrip("_") for field in fields(one.clusters)} - LARGE_FIELDS == set(layer["clusters"])
    assert not LARGE_FIELDS & set(layer["manifold"])
    assert found["story"] == list(deep.deep.story)


def test_every_name_of_the_json_is_documented():
    """Names that data bring along, such as the kinds of a cluster, are not ours."""
    text = (Path(__file__).parents[3] / "docs" / "deep.md").read_text(encoding="utf-8")
    known = {name for quoted in re.findall(r"`([a-z0-9_.\[\]]+)`", text) for name in re.split(r"[.\[\]]+", quoted)}
    ours = (Deep, DeepLayer, TableDeep, Dimension, Hubness, Hub, Clusters, Cluster)
    ours += (Frequency, Bin, Manifold, HeadFrequency)
    names = {field.name.rstrip("_") for one in ours for field in fields(one)} - LARGE_FIELDS
    assert names <= known and "paper" in known


def test_a_study_without_deep_has_no_such_part(studies):
    plain, _ = studies
    assert "deep" not in json.loads(plain.to_json())


def test_rows_of_the_sample_are_named(studies):
    _, deep = studies
    facts = deep.deep.facts
    assert facts.n == deep.source["rows"] == deep.deep.layers[0].n
    hub = deep.deep.layers[0].hubness.hubs[0]
    place = int(np.flatnonzero(facts.rows == hub.row)[0])
    assert hub.text == facts.shown(place)


def test_the_same_seed_gives_the_same_digits(tiny_model):
    runs = [uncone.layers(tiny_model, texts(60), deep=True, min_contexts=2, seed=3).to_dict()["deep"] for _ in range(2)]
    assert runs[0] == runs[1]


def test_a_sample_smaller_than_the_texts(tiny_model):
    study = uncone.layers(tiny_model, texts(400), deep=True, deep_sample=1500, min_contexts=2)
    assert study.source["rows"] > 1500
    assert {layer.n for layer in study.deep.layers} == {1500}
    assert any("seeded sample of 1,500 of" in note for note in study.notes)


def test_k_is_what_was_asked(tiny_model):
    study = uncone.layers(tiny_model, texts(80), deep=True, k=4, min_contexts=2)
    assert [layer.clusters.k for layer in study.deep.layers] == [4, 4, 4]
    assert all(layer.clusters.asked for layer in study.deep.layers)


@pytest.mark.parametrize("rows", ["sentences", "cls", "tokens"])
def test_other_rows(tiny_model, rows):
    study = uncone.layers(tiny_model, texts(120), deep=True, rows=rows, min_contexts=2)
    if rows == "cls":
        assert study.deep.layers[0].dimensions["euclidean"].value is None, "at layer 0 every CLS vector is the same"
        assert study.deep.layers[0].clusters.k == 1
    for layer in study.deep.layers[1:]:
        assert layer.dimensions["euclidean"].value > 0
        assert (layer.frequency is None) == (rows != "tokens")
        if rows != "tokens":
            assert layer.manifold.angle_r is None


def test_static_vectors(tmp_path):
    rng = np.random.default_rng(0)
    words = [f"{a}{b}{c}" for a in "bcdfghjklm" for b in "aeiouxyz" for c in "mnpqrstvwz"]
    lines = [f"{word} {' '.join(f'{value:.4f}' for value in rng.normal(size=6))}" for word in words]
    (tmp_path / "vectors.txt").write_text("\n".join(lines))
    draw = random.Random(1)
    corpus = [" ".join(draw.choices(words, k=8)) for _ in range(1500)]
    study = uncone.layers(tmp_path / "vectors.txt", corpus, deep=True)
    found = study.deep.layers[0].dimensions["euclidean"]
    assert found.base == len(words), "the occurrences of a word are one row"
    assert found.duplicates == pytest.approx(1 - len(words) / study.deep.layers[0].n)
    assert 2 < found.value < 6
    assert study.deep.table.n == len(words)
    assert study.deep.head is None
    assert study.deep.layers[0].hubness.n == len(words) and study.deep.layers[0].hubness.skew < 1.4, "no hub is a copy"
    assert study.deep.layers[0].clusters.k > 1, "the occurrences of a word are all alike"
    assert f"{found.duplicates:.0%}".replace("%", " %") + " of the vectors are copies of others" in study.deep.story[1]


@pytest.mark.parametrize("n", [2, 3, 5])
def test_very_few_texts(tiny_model, n):
    study = uncone.layers(tiny_model, ["the text", "go the text", "the school", "the . tree", "a zebra the"][:n],
                          deep=True, min_contexts=2)  # fmt: skip
    assert len(study.deep.layers) == 3
    json.loads(study.to_json())
    assert study.to_html() and study.to_markdown()


@pytest.mark.parametrize(
    ("part", "name", "told"),
    [
        ("dimensions_of", "lid_euclidean", "lid_euclidean could not be measured, because the space is flat"),
        ("hubness_of", "hubness_skew", "hubness_skew could not be measured, because the space is flat"),
        ("clusters_of", "cluster_count", "cluster_count could not be measured, because the space is flat"),
        ("frequency_of", "frequency_norm_r", "frequency_norm_r could not be measured, because the space is flat"),
        ("manifold_of", "manifold_ratio", "manifold_ratio could not be measured, because the space is flat"),
        ("head_frequency", "", "The language-model head could not be measured, because the space is flat."),
        ("_table", "", "The input embeddings could not be measured, because the space is flat."),
    ],
)
def test_a_part_that_fails_is_a_finding_and_costs_no_report(tiny_model, monkeypatch, part, name, told):
    def fail(*args, **kwargs):
        raise np.linalg.LinAlgError("the space is flat")

    monkeypatch.setattr(f"uncone.analysis.layers.deep.{part}", fail)
    study = uncone.layers(tiny_model, texts(40), deep=True, min_contexts=2)
    assert any(told in note for note in study.notes)
    for layer in study.layers:
        failed = [one.name for one in layer.findings.values() if one.failed]
        assert (name in failed) == bool(name) and "baseline" not in failed
        assert all(layer[one].value is None for one in failed)
    json.loads(study.to_json())
    assert "could not be measured" in study.to_html() and study.to_text() and study.to_latex()


def test_sinks_left_out_of_one_layer_alone(tiny_model):
    study = uncone.layers(tiny_model, texts(100), deep=True, no_sinks=True, min_contexts=2)
    for layer, rows in zip(study.deep.layers, study.deep.rows, strict=True):
        assert layer.n == len(rows) == len(layer.clusters.labels)
        assert np.isin(rows, study.deep.facts.rows).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 3}, "--k needs --deep"),
        ({"deep": True, "deep_sample": 5}, "--deep-sample must be a whole number, at least 100"),
        ({"deep": True, "k": 0}, "--k must be a whole number, 1 to 1,000"),
        ({"deep": True, "k": 5000}, "--k must be a whole number, 1 to 1,000"),
        ({"deep": True, "frequency": "guess"}, "--frequency must be corpus, tokenizer or wordfreq"),
        ({"deep": True, "frequency": "wordfreq", "rows": "cls"}, "a vector of --rows cls is a whole text"),
    ],
)
def test_options_that_cannot_be(tiny_model, options, message):
    with pytest.raises(OptionError, match=message):
        uncone.layers(tiny_model, texts(10), **options)


@pytest.mark.parametrize(("source", "error"), [("wordfreq", MissingPackageError), ("tokenizer", ModelError)])
def test_frequencies_that_cannot_be_had_are_refused_before_the_run(tiny_model, monkeypatch, source, error):
    encoder = open_encoder(tiny_model)
    monkeypatch.setattr(encoder, "encode", lambda passages: pytest.fail("a long run had begun"))
    monkeypatch.setattr(encoder, "input_table", lambda *, marked=False: None)
    monkeypatch.setattr("uncone.extras.find_spec", lambda name: None)
    with pytest.raises(error, match=r"pip install 'uncone\[frequency\]'|Try --frequency corpus"):
        uncone.layers(encoder, texts(10), deep=True, frequency=source, min_contexts=2)


def test_an_interrupted_run_ends_with_the_same_digits(tiny_model, tmp_path):
    class StopError(Exception):
        pass

    calls = 0

    def stop(step, done, total):
        nonlocal calls
        calls += step == "encoding"
        if calls > 4:
            raise StopError

    corpus, options = texts(300), {"deep": True, "min_contexts": 2, "batch_size": 16}
    whole = uncone.layers(tiny_model, corpus, **options).to_dict()["deep"]
    state = {"state": tmp_path / "state", "save_every": 0.0}
    with pytest.raises(StopError):
        uncone.layers(tiny_model, corpus, progress=stop, **state, **options)
    assert uncone.layers(tiny_model, corpus, resume=True, **state, **options).to_dict()["deep"] == whole
