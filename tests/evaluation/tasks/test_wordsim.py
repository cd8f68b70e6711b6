"""Word similarity: the pairs that have vectors, and a count of those that have not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from uncone.data.tasks.wordsim import WordPairs
from uncone.errors import ShapeError
from uncone.evaluation.tasks.wordsim import word_similarity


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
    found = word_similarity(WordPairs("own", left, right, scores), words, vectors, replicates=100)
    table = {word: vector for word, vector in zip(words, vectors, strict=True) if vector.any()}
    gold, cosines = [], []
    for one, other, score in zip(left, right, scores, strict=True):
        if one.lower() in table and other.lower() in table:
            a, b = table[one.lower()], table[other.lower()]
            gold.append(score)
            cosines.append(a @ b / np.linalg.norm(a) / np.linalg.norm(b))
    spearman = found.scores["spearman"]
    assert spearman.value == pytest.approx(spearmanr(gold, cosines).statistic, abs=1e-12)
    assert spearman.n == len(gold) == 40 - found.left_out and found.missing == ("elsewhere", "nowhere")
    assert spearman.low < spearman.value < spearman.high and len(found.replicates["spearman"]) == 100


def test_undefined():
    words, vectors, left, right, scores = example()
    pairs = WordPairs("own", left, right, scores)
    few = word_similarity(pairs, words[:3], vectors[:3])
    assert few.scores["spearman"].value is None and few.reason.startswith("only ") and few.left_out > 30
    same = word_similarity(pairs, words, np.ones((30, 2)))
    assert same.scores["spearman"].value is None and "all 1" in same.reason
    with pytest.raises(ShapeError, match="30 words"):
        word_similarity(pairs, words, vectors[:20])
