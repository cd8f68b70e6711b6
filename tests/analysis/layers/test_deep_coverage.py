"""Intervals of `layers --deep` cover the truth where texts and vectors repeat, with heavy tails and clusters.

The truth at a number of texts, words or vectors is the mean over many corpora of that number. A language has words with
fixed vectors, a topic moves whole texts, lengths have heavy tails; where words are the units, every language has words
of its own. UNCONE_SIMULATIONS sets the number of draws.
"""

from __future__ import annotations

import os
from collections import Counter

import numpy as np
import pytest
from simulations import KINDS, REPEATED

from uncone.analysis.clusters.clusters import clusters_of
from uncone.analysis.clusters.story import cluster_findings
from uncone.analysis.frequency.frequency import frequency_of, word_means
from uncone.analysis.frequency.head import _squares
from uncone.analysis.frequency.word_counts import corpus_frequencies
from uncone.analysis.intervals.correlation import pearson, pearson_interval
from uncone.analysis.neighbors.dimension import dimensions_of
from uncone.analysis.neighbors.neighborhood import hubness_of

RUNS = int(os.environ.get("UNCONE_SIMULATIONS", "60"))
D, WORDS = 10, 200
CHANCES = 1 / np.arange(1, WORDS + 1)
CHANCES /= CHANCES.sum()
TOPICS = np.random.default_rng(6).normal(size=(4, D))
CENTERS = 1.5 * np.random.default_rng(77).normal(size=(5, D))


def language(rng, kind):
    words = rng.normal(size=(WORDS, D))
    if kind == "heavy tails":
        return words * np.sqrt(1 / rng.chisquare(3, size=(WORDS, 1)))
    return 0.35 * words + CENTERS[rng.integers(5, size=WORDS)]


def corpus(rng, texts, kind, vocabulary):
    """Rows, the text and the word of each; rare words are longer, and some texts are."""
    lengths = np.minimum((3 + rng.pareto(1.5, texts) * 5).astype(int), 40)
    groups = np.repeat(np.arange(texts), lengths)
    words = rng.choice(WORDS, len(groups), p=CHANCES)
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
        vocabulary = language(rng, kind) * np.exp(0.15 * np.log1p(np.arange(WORDS)))[:, None]
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
