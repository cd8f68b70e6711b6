"""The witness of words against scikit-learn's TF-IDF and scipy's rank correlation."""

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.feature_extraction.text import TfidfVectorizer

from uncone.analysis.advice.witness import ANCHORS, agreement, terms_of, tf_idf, word_pairs
from uncone.analysis.cosine.units import pair_cosines
from uncone.data.demo import demo_texts
from uncone.errors import ShapeError

CHINESE = ["猫坐在垫子上", "狗在公园里跑", "今天天气很好", "他喜欢喝绿茶", "火车晚点了一个小时", "我们昨天去了海边"]
WORDS = [
    "amber",
    "brick",
    "cedar",
    "delta",
    "ember",
    "fjord",
    "grove",
    "haven",
    "inlet",
    "jetty",
    "knoll",
    "ledge",
    "oasis",
]


def sentences(n, seed=0):
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, rng.integers(3, 9))) + f" number{at % 40}" for at in range(n)]


def vectors_of(texts, noise=0.4, seed=0, **settings):
    """Random projections of scikit-learn's weights, with noise: some agreement, far from all."""
    rng = np.random.default_rng(seed)
    weights = TfidfVectorizer(**settings).fit_transform([text.strip() for text in texts])
    vectors = weights @ rng.normal(size=(weights.shape[1], 48))
    return vectors + noise * rng.normal(size=vectors.shape)


@pytest.mark.parametrize("texts", [sentences(700), demo_texts(), [a + b for a in CHINESE for b in CHINESE]])
def test_pairs_and_value_by_sklearn_and_scipy(texts):
    pairs = word_pairs(texts, seed=3)
    kind = {"analyzer": "char_wb", "ngram_range": (2, 3)} if pairs.terms == "character n-grams" else {}
    distinct = list(dict.fromkeys(texts))
    weights = TfidfVectorizer(**kind).fit_transform(distinct)
    cosines = (weights @ weights.T).toarray()
    place = [distinct.index(text) for text in texts]
    left, right = np.take(place, pairs.left), np.take(place, pairs.right)
    assert np.allclose(pairs.similarity, cosines[left, right], atol=1e-12)
    assert len(np.unique(pairs.left)) == min(ANCHORS, len(distinct))
    assert len({*zip(left, right, strict=True)}) == len(left)
    assert (left != right).all()
    for anchor in np.unique(left):
        own = np.delete(cosines[anchor], anchor)
        drawn = np.sort(cosines[anchor, right[left == anchor]])[::-1]
        nearest = np.sort(own[own > 0])[::-1][:5]
        assert np.allclose(drawn[: len(nearest)], nearest)
        assert len(drawn) == len(nearest) + min(5, len(own) - len(nearest))
    vectors = vectors_of(texts, **kind)
    result = pairs.agreement(vectors)
    predicted = [vectors_cosine(vectors, i, j) for i, j in zip(pairs.left, pairs.right, strict=True)]
    expected = spearmanr(predicted, cosines[left, right].round(12)).statistic
    assert result.value == pytest.approx(expected, abs=1e-9)
    assert result.low < result.value < result.high
    assert result == agreement(texts, vectors, seed=3)


def vectors_cosine(vectors, i, j):
    a, b = vectors[i], vectors[j]
    return a @ b / np.sqrt((a @ a) * (b @ b))


def test_weights_are_those_of_sklearn():
    texts = ["The cat sat. The cat!", "A dog's day", "", "x y", "Straße 24 straße"]
    own = tf_idf([TfidfVectorizer().build_analyzer()(text) for text in texts]).toarray()
    other = TfidfVectorizer().fit(texts)
    order = {}
    for text in texts:
        for term in other.build_analyzer()(text):
            order.setdefault(term, len(order))
    columns = [other.vocabulary_[term] for term in order]
    assert np.allclose(own, other.transform(texts).toarray()[:, columns])


def test_change_is_paired():
    texts = sentences(600)
    raw = vectors_of(texts)
    shifted = raw + 3 * np.random.default_rng(1).normal(size=raw.shape[1]) * np.linspace(1, 2, len(raw))[:, None]
    pairs = word_pairs(texts)
    change = pairs.change(shifted, raw)
    assert change.value == pytest.approx(change.after.value - change.before.value)
    assert 0 < change.low < change.value < change.high
    assert change.significant
    # Paired: far narrower than two intervals that know nothing of each other.
    close = pairs.change(raw, raw + 1e-3)
    assert close.high - close.low < (close.before.high - close.before.low) / 5
    same = pairs.change(raw, 2 * raw)
    assert same.value == pytest.approx(0, abs=1e-12)
    assert not same.significant


@pytest.mark.exhaustive
def test_interval_covers_other_texts_of_the_same_kind():
    """Corpora of one kind and size differ by about what their intervals say."""
    corpora = np.array_split(sentences(12_000, seed=5), 20)
    vectors = np.array_split(vectors_of(np.concatenate(corpora).tolist(), noise=0.6), 20)
    results = [
        agreement(part.tolist(), rows, seed=at) for at, (part, rows) in enumerate(zip(corpora, vectors, strict=True))
    ]
    truth = np.mean([result.value for result in results])
    assert sum(result.low <= truth <= result.high for result in results) >= 17


def test_copies_change_nothing():
    texts = sentences(200)
    vectors = vectors_of(texts)
    twice = agreement([*texts, *texts], np.vstack([vectors, vectors]))
    assert twice == agreement(texts, vectors)


def test_unusable_vectors_are_left_out():
    texts = sentences(200)
    vectors = vectors_of(texts)
    pairs = word_pairs(texts)
    vectors[0], vectors[1] = np.nan, 0
    usable = ~np.isin(pairs.left, [0, 1]) & ~np.isin(pairs.right, [0, 1])
    cosines = pair_cosines(vectors[pairs.left[usable]], vectors[pairs.right[usable]])
    result = pairs.agreement(vectors)
    assert result.pairs == usable.sum() < len(usable)
    assert result.value == pytest.approx(spearmanr(cosines, pairs.similarity[usable]).statistic, abs=1e-9)


def test_vectors_that_are_all_the_same_agree_with_nothing():
    result = agreement(sentences(100), np.ones((100, 4)))
    assert (result.value, result.low, result.high) == (None, None, None)


def test_large_corpora_are_sampled(monkeypatch):
    monkeypatch.setattr("uncone.analysis.advice.witness._MOST_TEXTS", 300)
    pairs = word_pairs(sentences(2000))
    assert len(np.unique(np.concatenate([pairs.left, pairs.right]))) <= 300


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["one text", "another text"] * 50, "2 distinct texts are too few"),
        ([f"w{at}x" for at in range(100)], "Only 0 of 100 texts share words with another"),
        (["", None, " "], "0 distinct texts are too few"),
    ],
)
def test_too_small_corpora(texts, message):
    with pytest.raises(ShapeError, match=message):
        word_pairs(texts)


def test_one_vector_per_text():
    with pytest.raises(ShapeError, match="one vector per text"):
        agreement(sentences(100), np.ones((20, 4)))


def test_languages_without_spaces():
    assert terms_of(["แมวนั่งอยู่บนเสื่อ"]) == terms_of(CHINESE) == "character n-grams"
    assert terms_of(["고양이가 매트 위에 앉았다", "The word 猫 means cat"]) == terms_of(["123", ""]) == "words"
