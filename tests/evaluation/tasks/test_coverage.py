"""Intervals of every task, and of what a method gains over the raw vectors, cover the truth if items repeat.

The truth is that of very many queries, words or texts; for word pairs and cross-validation it is the mean over many
sets of that size. Tails are heavy, or vectors lie in clusters. UNCONE_SIMULATIONS sets the number of simulations.
"""

from __future__ import annotations

import os
from functools import cache

import numpy as np
import pytest
from scipy.stats import spearmanr
from simulations import KINDS, REPEATED

from uncone.analysis.cosine.units import pair_cosines
from uncone.analysis.intervals.bootstrap import Replicates, differences
from uncone.analysis.intervals.pair_units import item_units, pair_units
from uncone.data.tasks.retrieval import RetrievalTask
from uncone.data.tasks.words import WordPairs
from uncone.evaluation.tasks.classify import classify, cross_classify
from uncone.evaluation.tasks.retrieve import MEASURES, retrieve, score_queries
from uncone.evaluation.tasks.words import Senses, same_sense, word_similarity

RUNS = int(os.environ.get("UNCONE_SIMULATIONS", "60"))
D, DRAWS = 6, 200
METHODS = pytest.mark.parametrize("method", ["four dimensions", "slight change"])
CLASSES = np.random.default_rng(3).normal(size=(3, D))
PLACES = 2 * np.random.default_rng(8).normal(size=(5, D))


@pytest.fixture(params=[60, pytest.param(400, marks=pytest.mark.exhaustive)])
def gain_runs(request):
    return request.param


def noise(rng, kind, n):
    return rng.standard_t(2.5, size=(n, D)) if kind == "heavy tails" else rng.normal(size=(n, D))


def assert_covered(scores, truth):
    hits = [score.low <= truth <= score.high for score in scores if score.low is not None]
    assert len(hits) == len(scores) and np.mean(hits) >= 0.9, f"{np.mean(hits):.3f} of {len(hits)} around {truth:.3f}"


def after(method, rows):
    """Rows after a method: one that changes most figures, or one that changes few of them."""
    return rows[:, :4] if method == "four dimensions" else rows * np.linspace(1.0, 0.9, D)


def gain(raw, repaired, name):
    """The gain over the raw vectors in one figure, as `evaluate` computes it."""
    figures = [(result.scores[name].value, result.replicates[name], result.sizes[name]) for result in (raw, repaired)]
    values, replicates, sizes = zip(*figures, strict=True)
    return differences(Replicates(np.array(values), np.array(replicates), raw.units, raw.units, min(sizes)))[1]


def documents(kind):
    rng = np.random.default_rng(0)
    shared = 1.5 * PLACES[np.arange(200) % 5] if kind == "clusters" else 0.0
    return shared + noise(rng, kind, 200)


def searched(rng, docs, kind, n, strength):
    """Vectors of queries near a document each, and what is relevant: that one, and the two nearest to it."""
    target = rng.integers(len(docs), size=n)
    units = docs / np.linalg.norm(docs, axis=1, keepdims=True)
    near = np.argsort(-units @ units.T, axis=1)[:, :3]
    return docs[target] + noise(rng, kind, n) / strength, near[target]


def retrieved(docs, queries, relevant, names, seed=0, replicates=DRAWS):
    ids, query_ids = [f"d{i}" for i in range(len(docs))], [f"q{i}" for i in range(len(names))]
    qrels = {
        name: {ids[doc]: 1 + int(at == 0) for at, doc in enumerate(row)}
        for name, row in zip(query_ids, relevant, strict=True)
    }
    task = RetrievalTask("made up", ids, ids, query_ids, names, qrels)
    return retrieve(task, queries, docs, replicates=replicates, seed=seed)


@cache
def retrieval_truth(kind, strength):
    docs = documents(kind)
    queries, relevant = searched(np.random.default_rng(99), docs, kind, 5_000, strength)
    result = retrieved(docs, queries, relevant, [str(i) for i in range(5_000)], replicates=2)
    return {name: each.mean() for name, each in result.each.items()}


@KINDS
@REPEATED
@pytest.mark.parametrize("strength", [1.0, 6.0], ids=["hard", "nearly all right"])
def test_retrieval_covers_where_queries_repeat(kind, n, copies, strength):
    """Copies of a query find the same, and leave every interval where it is: so most sets are searched once."""
    docs, names, results = documents(kind), [str(i) for i in range(n)], []
    for seed in range(RUNS):
        queries, relevant = searched(np.random.default_rng([seed, 1]), docs, kind, n, strength)
        result = retrieved(docs, queries, relevant, names, seed)
        if seed == 0:
            often = retrieved(docs, np.tile(queries, (copies, 1)), np.tile(relevant, (copies, 1)), names * copies)
            for name in MEASURES:
                again, once = often.scores[name], result.scores[name]
                assert (again.low, again.high) == pytest.approx((once.low, once.high), abs=1e-9)
        results.append(result)
    for name, truth in retrieval_truth(kind, strength).items():
        assert_covered([result.scores[name] for result in results], truth)


@KINDS
@REPEATED
@METHODS
@pytest.mark.parametrize("strength", [1.0, 6.0], ids=["hard", "nearly all right"])
def test_gains_of_retrieval_cover_where_queries_repeat(kind, n, copies, method, strength, gain_runs):
    """Queries are drawn from 3,000, which are searched once before and once after the method."""
    docs, names = documents(kind), [str(i) for i in range(n)]
    queries, relevant = searched(np.random.default_rng(99), docs, kind, 3_000, strength)
    spaces = (docs, queries), (after(method, docs), after(method, queries))
    texts = [str(i) for i in range(len(queries))]
    each = np.array([[*retrieved(*space, relevant, texts, replicates=2).each.values()] for space in spaces])

    def gains(chosen, texts, seed):
        both = [score_queries(own[:, chosen], texts, DRAWS, seed) for own in each]
        return [gain(*both, name) for name in MEASURES]

    results = []
    for seed in range(gain_runs):
        rows = np.random.default_rng([seed, 1]).integers(len(queries), size=n)
        results.append(gains(rows, names, seed))
        if seed == 0:
            for once, often in zip(results[0], gains(np.tile(rows, copies), names * copies, seed), strict=True):
                assert (often.low, often.high) == pytest.approx((once.low, once.high), abs=1e-9)
    for measure, truth in zip(zip(*results, strict=True), np.diff(each.mean(axis=2), axis=0)[0], strict=True):
        assert_covered(measure, truth)


def senses(rng, words, kind, strength):
    """Pairs of occurrences of words, some words in several; a word has a difficulty of its own."""
    word = np.repeat(np.arange(words), rng.geometric(0.4, size=words))
    n = len(word)
    labels, own = rng.integers(0, 2, n).astype(bool), 2 * rng.normal(size=(words, D))[word]
    left, other = own + rng.normal(size=(n, D)), own + 2 * rng.normal(size=(n, D))
    hard = np.exp(rng.normal(size=words))[word, None]
    return Senses(left, np.where(labels[:, None], left, other) + noise(rng, kind, n) / strength * hard, labels), word


def repeated_senses(rng, words, kind, strength, copies):
    """The same pairs several times, with the units they are drawn by: pairs that share a word or a sentence."""
    test, word = senses(rng, words, kind, strength)
    n = len(word)
    names = word.tolist() * copies
    sentences = [f"{side}{i}" for side in "st" for _ in range(copies) for i in range(n)]
    units = pair_units(2 * n * copies, (names * 2, sentences)).select(np.arange(n * copies))
    return Senses(*(np.concatenate([part] * copies) for part in test)), units


@KINDS
@REPEATED
@pytest.mark.parametrize("strength", [0.5, 10.0], ids=["hard", "nearly all right"])
def test_words_in_context_cover_where_items_repeat(kind, n, copies, strength):
    train, _ = senses(np.random.default_rng(1), 300, kind, strength)
    many, _ = senses(np.random.default_rng(2), 100_000, kind, strength)
    truth = same_sense(train, many, replicates=1).scores["accuracy"].value
    results = []
    for seed in range(RUNS):
        test, units = repeated_senses(np.random.default_rng([seed, 3]), n, kind, strength, copies)
        results.append(same_sense(train, test, replicates=DRAWS, seed=seed, units=units).scores["accuracy"])
    assert_covered(results, truth)


@KINDS
@REPEATED
@METHODS
@pytest.mark.parametrize("strength", [0.5, 10.0], ids=["hard", "nearly all right"])
def test_gains_of_words_in_context_cover_where_items_repeat(kind, n, copies, method, strength, gain_runs):
    def compared(test, **drawn):
        spaces = ((after(method, senses.left), after(method, senses.right), senses.labels) for senses in (train, test))
        return same_sense(train, test, **drawn), same_sense(*(Senses(*space) for space in spaces), **drawn)

    train, _ = senses(np.random.default_rng(1), 300, kind, strength)
    raw, repaired = compared(senses(np.random.default_rng(2), 100_000, kind, strength)[0], replicates=1)
    results = []
    for seed in range(gain_runs):
        test, units = repeated_senses(np.random.default_rng([seed, 3]), n, kind, strength, copies)
        results.append(gain(*compared(test, replicates=DRAWS, seed=seed, units=units), "accuracy"))
    assert_covered(results, repaired.scores["accuracy"].value - raw.scores["accuracy"].value)


def word_pairs(rng, pairs, kind, linked):
    """Vectors, the words of each pair, and people's scores; linked pairs share their words."""
    count = pairs if linked else 2 * pairs
    vectors = noise(rng, kind, count) + (PLACES[rng.integers(5, size=count)] if kind == "clusters" else 0.0)
    half = count // 2
    left, right = (
        (rng.integers(0, half, pairs), rng.integers(half, count, pairs)) if linked else np.arange(count).reshape(2, -1)
    )
    hidden = vectors + 0.7 * rng.normal(size=vectors.shape)
    return vectors, left, right, pair_cosines(hidden[left], hidden[right]) + 0.2 * rng.normal(size=pairs)


@KINDS
@REPEATED
@pytest.mark.parametrize("linked", [False, True], ids=["apart", "linked"])
def test_word_similarity_covers_where_pairs_repeat(kind, n, copies, linked):
    samples = [word_pairs(np.random.default_rng([seed, 7]), n, kind, linked) for seed in range(200)]
    truth = np.mean([spearmanr(pair_cosines(x[left], x[right]), gold).statistic for x, left, right, gold in samples])
    results = []
    for seed in range(RUNS):
        vectors, left, right, gold = word_pairs(np.random.default_rng([seed, 8]), n, kind, linked)
        sides = ([f"w{i}" for i in np.tile(side, copies)] for side in (left, right))
        task = WordPairs("made up", *sides, np.tile(gold, copies))
        names = [f"w{i}" for i in range(len(vectors))]
        results.append(word_similarity(task, names, vectors, replicates=DRAWS, seed=seed).scores["spearman"])
    assert_covered(results, truth)


def texts(rng, n, kind, apart):
    """Vectors of three classes, one of them rare."""
    labels = rng.choice(3, n, p=[0.6, 0.3, 0.1])
    shared = PLACES[rng.integers(5, size=n)] if kind == "clusters" else 0.0
    return apart * CLASSES[labels] + shared + noise(rng, kind, n), [str(label) for label in labels]


@KINDS
@REPEATED
@pytest.mark.parametrize("apart", [1.0, 3.0], ids=["hard", "nearly all right"])
def test_classes_cover_where_texts_repeat(kind, n, copies, apart):
    """By quantiles of draws 1 to 50 of 100 cover where nearly all texts are right."""
    train = texts(np.random.default_rng(1), 300, kind, apart)
    truth = classify(*train, *texts(np.random.default_rng(2), 30_000, kind, apart), replicates=2)
    units = item_units([str(row) for row in range(n)] * copies)
    results = []
    for seed in range(RUNS):
        vectors, labels = texts(np.random.default_rng([seed, 5]), n, kind, apart)
        test = np.tile(vectors, (copies, 1)), labels * copies
        results.append(classify(*train, *test, replicates=DRAWS, seed=seed, units=units))
    assert_covered([result.scores["accuracy"] for result in results], truth.scores["accuracy"].value)
    assert_covered([result.scores["macro_f1"] for result in results], truth.scores["macro_f1"].value)


@KINDS
@REPEATED
def test_folds_cover_where_texts_repeat(kind, n, copies):
    """Other texts are learned from, too: over the texts of the test alone macro-F1 covers 73 to 92 of 100 times."""
    units = item_units(np.repeat(np.arange(n), copies).tolist())
    results = []
    for seed in range(RUNS // 2):
        vectors, labels = texts(np.random.default_rng([seed, 6]), n, kind, 1.0)
        labels[:6] = ["0", "1", "2"] * 2  # each stands in two texts at least
        repeated = vectors.repeat(copies, axis=0), np.repeat(labels, copies)
        results.append(cross_classify(*repeated, replicates=DRAWS, units=units))
    for name in ("accuracy", "macro_f1"):
        scores = [result.scores[name] for result in results]
        assert_covered(scores, np.mean([score.value for score in scores]))


@KINDS
@REPEATED
def test_gains_cover_where_texts_repeat(kind, n, copies):
    """Fewer dimensions against all differ on few texts: by quantiles of draws 72 to 87 of 100 differences cover."""
    train, many = (texts(np.random.default_rng(seed), rows, kind, 1.0) for seed, rows in ((1, 300), (2, 30_000)))
    few = [(vectors[:, :4], labels) for vectors, labels in (train, many)]
    figures = classify(*train, *many, replicates=2), classify(*few[0], *few[1], replicates=2)
    units = item_units([str(row) for row in range(n)] * copies)
    result = {"accuracy": [], "macro_f1": []}
    for seed in range(RUNS):
        vectors, labels = texts(np.random.default_rng([seed, 5]), n, kind, 1.0)
        tiled, repeated = np.tile(vectors, (copies, 1)), labels * copies
        both = [
            classify(*data, tiled[:, :width], repeated, replicates=DRAWS, seed=seed, units=units)
            for data, width in ((train, D), (few[0], 4))
        ]
        for name, gains in result.items():
            gains.append(gain(*both, name))
    for name, gains in result.items():
        assert_covered(gains, figures[1].scores[name].value - figures[0].scores[name].value)
