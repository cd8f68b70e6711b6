"""Words: the best threshold on senses is chosen on the train alone; pairs without vectors are counted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from uncone.data.tasks.words import WordPairs
from uncone.errors import NoUsableRowsError, ShapeError
from uncone.evaluation.tasks.words import Senses, best_threshold, same_sense, word_similarity


@given(st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=1, max_size=15))
def test_no_threshold_is_better(rows):
    values, labels = np.array([row[0] for row in rows]) / 6, np.array([row[1] for row in rows])
    threshold, accuracy = best_threshold(values, labels)
    cuts = [-np.inf, np.inf, *(np.arange(-1, 8) / 6 - 1 / 12)]
    assert accuracy == pytest.approx(max(((values >= cut) == labels).mean() for cut in cuts))
    assert ((values >= threshold) == labels).mean() == pytest.approx(accuracy)


def senses(n, seed, noise=1.0):
    rng = np.random.default_rng(seed)
    left, labels = rng.normal(size=(n, 8)), rng.integers(0, 2, n).astype(bool)
    right = np.where(labels[:, None], left, rng.normal(size=(n, 8))) + noise * rng.normal(size=(n, 8))
    return Senses(left, right, labels)


def test_accuracy():
    train, test = senses(300, 0), senses(200, 1)
    result = same_sense(train, test, replicates=100)

    def cosines(part):
        return np.array(
            [a @ b / np.linalg.norm(a) / np.linalg.norm(b) for a, b in zip(part.left, part.right, strict=True)]
        )

    cuts = np.sort(cosines(train))
    best = max(((cosines(train) >= cut) == train.labels).mean() for cut in cuts)
    assert result.train_accuracy == pytest.approx(best)
    right = (cosines(test) >= result.threshold) == test.labels
    accuracy = result.scores["accuracy"]
    assert accuracy.value == pytest.approx(right.mean()) and accuracy.n == 200
    assert 0.6 < accuracy.low < accuracy.value < accuracy.high < 1
    turned = same_sense(train, test._replace(labels=~test.labels), replicates=100)
    assert turned.threshold == result.threshold
    assert turned.scores["accuracy"].value == pytest.approx(1 - accuracy.value)


def test_words_without_a_direction():
    train, test = senses(50, 0), senses(50, 1)
    train.left[0], test.left[:2] = 0, 0
    result = same_sense(train, test, replicates=20)
    assert result.lost == 2
    whole = same_sense(Senses(*(part[1:] for part in train)), test, replicates=20)
    assert result.train_accuracy == whole.train_accuracy


def test_bad_input():
    with pytest.raises(NoUsableRowsError, match="None of 2 similarities"):
        best_threshold([np.nan, np.nan], [True, False])
    with pytest.raises(ShapeError):
        best_threshold([0.1], [True, False])
    with pytest.raises(ShapeError):
        same_sense(senses(20, 0), senses(20, 0)._replace(labels=[True]))


def example(n=40):
    rng = np.random.default_rng(0)
    words = [f"w{at}" for at in range(30)]
    vectors = rng.normal(size=(30, 6))
    left, right = rng.choice(words, n).tolist(), rng.choice(words, n).tolist()
    return words, vectors, left, right, rng.integers(0, 20, n) / 2


def test_equal_to_scipy():
    words, vectors, left, right, scores = example()
    left[0], right[1], left[2], right[3] = "W1", "nowhere", "nowhere", "elsewhere"
    vectors[5] = 0
    result = word_similarity(WordPairs("own", left, right, scores), words, vectors, replicates=100)
    table = {word: vector for word, vector in zip(words, vectors, strict=True) if vector.any()}
    gold, cosines = [], []
    for word, other, score in zip(left, right, scores, strict=True):
        if word.lower() in table and other.lower() in table:
            a, b = table[word.lower()], table[other.lower()]
            gold.append(score)
            cosines.append(a @ b / np.linalg.norm(a) / np.linalg.norm(b))
    spearman = result.scores["spearman"]
    assert spearman.value == pytest.approx(spearmanr(gold, cosines).statistic, abs=1e-12)
    assert spearman.n == len(gold) == 40 - result.left_out and result.missing == ("elsewhere", "nowhere")
    assert spearman.low < spearman.value < spearman.high and len(result.replicates["spearman"]) == 100


def test_undefined():
    words, vectors, left, right, scores = example()
    pairs = WordPairs("own", left, right, scores)
    few = word_similarity(pairs, words[:3], vectors[:3])
    assert few.scores["spearman"].value is None and few.reason.startswith("only ") and few.left_out > 30
    same = word_similarity(pairs, words, np.ones((30, 2)))
    assert same.scores["spearman"].value is None and "all 1" in same.reason
    with pytest.raises(ShapeError, match="30 words"):
        word_similarity(pairs, words, vectors[:20])
