"""Intervals of retrieval, words in context and word similarity cover the truth where items repeat.

The truth is that of very many queries or words; of word pairs, the mean over many sets of that number. Tails are heavy,
or vectors lie in clusters. UNCONE_SIMULATIONS sets the number of draws.
"""

from __future__ import annotations

import os
from functools import cache

import numpy as np
import pytest
from scipy.stats import spearmanr

from uncone.analysis.cosine.paired import pair_cosines
from uncone.analysis.intervals.pair_units import pair_units
from uncone.data.tasks.retrieval import RetrievalTask
from uncone.data.tasks.wordsim import WordPairs
from uncone.evaluation.tasks.retrieve import MEASURES, retrieve
from uncone.evaluation.tasks.wic import Senses, same_sense
from uncone.evaluation.tasks.wordsim import word_similarity

RUNS = int(os.environ.get("UNCONE_SIMULATIONS", "60"))
D, DRAWS = 6, 200
SIZES = pytest.mark.parametrize(("n", "copies"), [(60, 10), (150, 3)])
KINDS = pytest.mark.parametrize("kind", ["heavy tails", "clusters"])
PLACES = 2 * np.random.default_rng(8).normal(size=(5, D))


def noise(rng, kind, n):
    return rng.standard_t(2.5, size=(n, D)) if kind == "heavy tails" else rng.normal(size=(n, D))


def assert_covered(scores, truth):
    hits = [one.low <= truth <= one.high for one in scores if one.low is not None]
    assert len(hits) == len(scores) and np.mean(hits) >= 0.9, f"{np.mean(hits):.3f} of {len(hits)} around {truth:.3f}"


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
    ids, asked = [f"d{i}" for i in range(len(docs))], [f"q{i}" for i in range(len(names))]
    judged = {
        name: {ids[doc]: 1 + int(at == 0) for at, doc in enumerate(row)}
        for name, row in zip(asked, relevant, strict=True)
    }
    task = RetrievalTask("made up", ids, ids, asked, names, judged)
    return retrieve(task, queries, docs, engine="numpy", replicates=replicates, seed=seed)


@cache
def retrieval_truth(kind, strength):
    docs = documents(kind)
    queries, relevant = searched(np.random.default_rng(99), docs, kind, 5_000, strength)
    found = retrieved(docs, queries, relevant, [str(i) for i in range(5_000)], replicates=2)
    return {name: each.mean() for name, each in found.each.items()}


@KINDS
@SIZES
@pytest.mark.parametrize("strength", [1.0, 6.0], ids=["hard", "nearly all right"])
def test_retrieval_covers_where_queries_repeat(kind, n, copies, strength):
    """Copies of a query find the same, and leave every interval where it is: so most sets are searched once."""
    docs, names, found = documents(kind), [str(i) for i in range(n)], []
    for seed in range(RUNS):
        queries, relevant = searched(np.random.default_rng([seed, 1]), docs, kind, n, strength)
        one = retrieved(docs, queries, relevant, names, seed)
        if seed == 0:
            often = retrieved(docs, np.tile(queries, (copies, 1)), np.tile(relevant, (copies, 1)), names * copies)
            for name in MEASURES:
                again, once = often.scores[name], one.scores[name]
                assert (again.low, again.high) == pytest.approx((once.low, once.high), abs=1e-9)
        found.append(one)
    for name, truth in retrieval_truth(kind, strength).items():
        assert_covered([one.scores[name] for one in found], truth)


def senses(rng, words, kind, strength):
    """Pairs of occurrences of words, some words in several; a word has a difficulty of its own."""
    word = np.repeat(np.arange(words), rng.geometric(0.4, size=words))
    n = len(word)
    labels, own = rng.integers(0, 2, n).astype(bool), 2 * rng.normal(size=(words, D))[word]
    left, other = own + rng.normal(size=(n, D)), own + 2 * rng.normal(size=(n, D))
    hard = np.exp(rng.normal(size=words))[word, None]
    return Senses(left, np.where(labels[:, None], left, other) + noise(rng, kind, n) / strength * hard, labels), word


@KINDS
@SIZES
@pytest.mark.parametrize("strength", [0.5, 10.0], ids=["hard", "nearly all right"])
def test_words_in_context_cover_where_items_repeat(kind, n, copies, strength):
    train, _ = senses(np.random.default_rng(1), 300, kind, strength)
    many, _ = senses(np.random.default_rng(2), 100_000, kind, strength)
    truth = same_sense(train, many, replicates=1).accuracy.value
    found = []
    for seed in range(RUNS):
        test, word = senses(np.random.default_rng([seed, 3]), n, kind, strength)
        items = len(word)
        names, sentences = word.tolist() * copies, [f"s{i}" for i in range(items)] * copies
        others = [f"t{i}" for i in range(items)] * copies
        units = pair_units(2 * items * copies, ((*names, *names), (*sentences, *others))).select(
            np.arange(items * copies)
        )
        repeated = Senses(*(np.concatenate([part] * copies) for part in test))
        found.append(same_sense(train, repeated, replicates=DRAWS, seed=seed, units=units).accuracy)
    assert_covered(found, truth)


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
@SIZES
@pytest.mark.parametrize("linked", [False, True], ids=["apart", "linked"])
def test_word_similarity_covers_where_pairs_repeat(kind, n, copies, linked):
    drawn = [word_pairs(np.random.default_rng([seed, 7]), n, kind, linked) for seed in range(200)]
    truth = np.mean([spearmanr(pair_cosines(x[left], x[right]), gold).statistic for x, left, right, gold in drawn])
    found = []
    for seed in range(RUNS):
        vectors, left, right, gold = word_pairs(np.random.default_rng([seed, 8]), n, kind, linked)
        sides = ([f"w{i}" for i in np.tile(side, copies)] for side in (left, right))
        task = WordPairs("made up", *sides, np.tile(gold, copies))
        names = [f"w{i}" for i in range(len(vectors))]
        found.append(word_similarity(task, names, vectors, replicates=DRAWS, seed=seed).spearman)
    assert_covered(found, truth)
