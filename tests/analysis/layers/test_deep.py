"""`layers(deep=True)`: what it adds and leaves alone, and intervals that cover the truth where texts repeat.

The truth at a number of texts, words or vectors is the mean over many corpora of that number. A language has words with
fixed vectors, a topic moves whole texts, lengths have heavy tails; where words are the units, every language has words
of its own. UNCONE_SIMULATIONS sets the number of draws.
"""

from __future__ import annotations

import json
import os
import random
import re
from collections import Counter
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from simulations import KINDS, REPEATED

import uncone
from uncone.analysis.clusters.clusters import clusters_of
from uncone.analysis.clusters.story import cluster_findings
from uncone.analysis.frequency.frequency import frequency_of, word_means
from uncone.analysis.frequency.head import _squares
from uncone.analysis.frequency.word_counts import corpus_frequencies
from uncone.analysis.intervals.correlation import pearson, pearson_interval
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
from uncone.analysis.neighbors.dimension import dimensions_of
from uncone.analysis.neighbors.neighborhood import hubness_of
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
    assert hub.text == facts.excerpt(place)


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
        ({"deep": True, "frequency": "wordfreq", "rows": "cls"}, "with --rows cls a vector is a whole text"),
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
    monkeypatch.setattr("uncone.errors.find_spec", lambda name: None)
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


RUNS = int(os.environ.get("UNCONE_SIMULATIONS", "60"))
D, N_WORDS = 10, 200
CHANCES = 1 / np.arange(1, N_WORDS + 1)
CHANCES /= CHANCES.sum()
TOPICS = np.random.default_rng(6).normal(size=(4, D))
CENTERS = 1.5 * np.random.default_rng(77).normal(size=(5, D))


def language(rng, kind):
    words = rng.normal(size=(N_WORDS, D))
    if kind == "heavy tails":
        return words * np.sqrt(1 / rng.chisquare(3, size=(N_WORDS, 1)))
    return 0.35 * words + CENTERS[rng.integers(5, size=N_WORDS)]


def corpus(rng, texts, kind, vocabulary):
    """Rows, the text and the word of each; rare words are longer, and some texts are."""
    lengths = np.minimum((3 + rng.pareto(1.5, texts) * 5).astype(int), 40)
    groups = np.repeat(np.arange(texts), lengths)
    words = rng.choice(N_WORDS, len(groups), p=CHANCES)
    moved = 0.5 * rng.normal(size=(texts, D)) + TOPICS[rng.integers(4, size=texts)]
    noise = rng.standard_t(3, size=(len(groups), D)) if kind == "heavy tails" else rng.normal(size=(len(groups), D))
    rows = np.append(2.0, np.full(D - 1, 0.5)) + vocabulary[words] + moved[groups] + 0.4 * noise
    return rows.astype(np.float32), groups, words


def assert_covered(found):
    """The intervals of (value, low, high) hold the mean of the values 90 times in a hundred."""
    truth = np.mean([value for value, _, _ in found])
    hits = [low <= truth <= high for _, low, high in found if low is not None]
    assert len(hits) >= RUNS // 3, f"only {len(hits)} intervals"
    assert np.mean(hits) >= 0.9, f"{np.mean(hits):.3f} of {len(hits)} around {truth:.3f}"


@KINDS
@REPEATED
def test_dimension_and_hubs_cover_where_texts_repeat(kind, n, copies):
    """Rows of one text vary together: by rows, the intervals of the dimension cover 53 to 85 times in a hundred."""
    vocabulary = language(np.random.default_rng(5), kind)
    found = {"euclidean": [], "cosine": [], "hubs": []}
    for seed in range(RUNS):
        rows, groups, _ = corpus(np.random.default_rng(seed), n, kind, vocabulary)
        tiled = np.tile(rows, (copies, 1))
        for name, one in dimensions_of(tiled, units=np.tile(groups, copies)).items():
            found[name].append((one.value, one.low, one.high))
        hubs = hubness_of(tiled)
        found["hubs"].append((hubs.skew, hubs.low, hubs.high))
    for each in found.values():
        assert_covered(each)


def vectors(rng, kind, n):
    if kind == "heavy tails":
        return rng.normal(size=(n, D)) * np.linspace(1.5, 0.5, D) / np.sqrt(rng.chisquare(3, size=(n, 1)) / 3) + 0.5
    return CENTERS[rng.integers(5, size=n)] + 0.5 * rng.normal(size=(n, D)) + 0.5


@KINDS
@REPEATED
def test_hubs_cover_where_vectors_repeat(kind, n, copies):
    found = [
        hubness_of(np.repeat(vectors(np.random.default_rng(seed), kind, n), copies, axis=0)) for seed in range(RUNS)
    ]
    assert_covered([(one.skew, one.low, one.high) for one in found])
    assert dimensions_of(vectors(np.random.default_rng(0), kind, n))["euclidean"].low is None, "k is most of the rows"


@pytest.mark.parametrize(("n", "clusters"), [(300, 3), (600, 6), (600, 12), (2_000, 20)])
def test_a_dimension_whose_neighbors_end_with_a_cluster_has_no_interval(n, clusters):
    """Clusters of about k rows: whether the last neighbor is inside decides, and 37 to 88 of 100 intervals covered."""
    centers = 4 * np.random.default_rng(clusters).normal(size=(clusters, 8))
    for seed in range(10):
        rng = np.random.default_rng([seed, 3])
        rows = centers[rng.integers(clusters, size=n)] + rng.normal(size=(n, 8))
        found = dimensions_of(rows.astype(np.float32))["euclidean"]
        assert found.value is not None and found.low is found.high is None


@pytest.mark.parametrize("clusters", [1, 5])
def test_a_dimension_inside_clusters_covers(clusters):
    """Twice as many rows as k and more: nearly no neighborhood leaves its cluster."""
    centers = 4 * np.random.default_rng(clusters).normal(size=(clusters, 8))
    found = []
    for seed in range(RUNS):
        rng = np.random.default_rng([seed, 3])
        rows = centers[np.arange(1_000) % clusters] + rng.normal(size=(1_000, 8)) * np.linspace(1.5, 0.5, 8)
        one = dimensions_of(rows.astype(np.float32))["euclidean"]
        found.append((one.value, one.low, one.high))
    assert_covered(found)


@KINDS
@REPEATED
@pytest.mark.parametrize("scale", [0.0, 0.4], ids=["texts of one scale", "texts of several scales"])
def test_frequency_covers_where_texts_repeat(kind, n, copies, scale):
    found = {"norm": [], "vector_norm": []}
    for seed in range(RUNS):
        rng = np.random.default_rng([seed, 1])
        vocabulary = language(rng, kind) * np.exp(0.15 * np.log1p(np.arange(N_WORDS)))[:, None]
        rows, groups, words = corpus(rng, n, kind, vocabulary)
        rows = np.tile(rows * np.exp(scale * rng.normal(size=n))[groups, None], (copies, 1)).astype(np.float32)
        names = [f"w{word}" for word in words] * copies
        known, means, norms = word_means(rows, np.linalg.norm(rows, axis=1), names)
        one = frequency_of(means, known, corpus_frequencies(Counter(names)), norms=norms)
        found["norm"].append((one.norm_r, one.norm_low, one.norm_high))
        found["vector_norm"].append((one.vector_norm_r, one.vector_norm_low, one.vector_norm_high))
    for each in found.values():
        assert_covered(each)


def columns(rng, kind, n):
    """Norms, or mean logits, and log-frequencies of n words."""
    logs = -np.log(rng.permutation(np.arange(1, n + 1)))
    z = (logs - logs.mean()) / logs.std()
    if kind == "heavy tails":
        return np.abs(rng.standard_t(3, n)) + 1 - 0.5 * z, logs
    return rng.choice([1.0, 3.0], size=n, p=[0.8, 0.2]) * (1 - 0.2 * z) + 0.1 * rng.normal(size=n), logs


@KINDS
@REPEATED
def test_correlations_of_a_table_and_of_a_head_cover_where_vectors_repeat(kind, n, copies):
    """By Fisher's z alone 85 of 100 cover with heavy tails; the head has the square of a correlation."""
    drawn = [
        [np.repeat(column, copies) for column in columns(np.random.default_rng(s), kind, n)] for s in range(5 * RUNS)
    ]
    same = np.repeat(np.arange(n), copies)
    bounds = [pearson_interval(*both, same) for both in drawn]
    values = [pearson(*both).value for both in drawn]
    assert_covered([(r, *ends) for r, ends in zip(values, bounds, strict=True)])
    assert_covered([(r * r, *_squares(*ends)) for r, ends in zip(values, bounds, strict=True)])


def test_a_table_counts_equal_vectors_once():
    rng = np.random.default_rng(0)
    rows = vectors(rng, "heavy tails", 60).astype(np.float32)
    names = [f"w{i}" for i in range(600)]
    counts = corpus_frequencies({name: 10_000 // (i + 1) for i, name in enumerate(names)})
    found = frequency_of(np.repeat(rows, 10, axis=0), names, counts)
    reach = (np.arctanh(found.norm_high) - np.arctanh(found.norm_low)) / 2
    assert reach >= 1.96 / np.sqrt(57)


def test_a_silhouette_has_no_interval():
    """Other texts have other clusters, of another number: an interval over rows or texts covered 5 to 80 of 100."""
    rows, groups, words = corpus(
        np.random.default_rng(0), 60, "clusters", language(np.random.default_rng(5), "clusters")
    )
    found = {one.name: one for one in cluster_findings(clusters_of(rows, words, groups))}["cluster_silhouette"]
    assert found.value is not None and found.low is found.high is None
