"""Word frequency against naive loops, scipy, scikit-learn and wordfreq; and spaces that are made to depend on it."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression

from uncone.analysis.frequency import frequency as module
from uncone.analysis.frequency.frequency import NEAREST, frequency_findings, frequency_of, word_means
from uncone.analysis.frequency.word_counts import (
    BINS,
    UNKNOWN,
    Frequencies,
    corpus_frequencies,
    token_frequencies,
    tokenizer_frequencies,
    wordfreq_frequencies,
)
from uncone.analysis.layers.deep import table_deep
from uncone.analysis.neighbors.dimension import dimensions_of
from uncone.analysis.neighbors.neighborhood import hubness_of
from uncone.data.texts.selection import Selection
from uncone.data.texts.texts import ListTexts
from uncone.encoders.encoder import Window
from uncone.encoders.open import open_encoder
from uncone.errors import MissingPackageError, OptionError, ShapeError

N, D = 640, 14


def words_of(n=N):
    return [f"w{i:04d}" for i in range(n)]


def zipf(n=N):
    """Counts that fall with the number of the word, with ties."""
    return corpus_frequencies({word: 2_000 // (i + 1) + 1 for i, word in enumerate(words_of(n))})


@pytest.fixture
def space(cone):
    """A cone in which frequency has a share: word i is the i-th most frequent."""
    rows = cone(N, D, seed=4)
    rows[:, 2] -= 0.8 * np.log(np.arange(N) + 2).astype(np.float32)
    return rows


# Where frequencies come from.


def test_the_share_and_rank_of_a_word():
    counts = {"the": 50, "of": 30, "b": 10, "a": 10, "never": 0}
    found = corpus_frequencies(counts)
    np.testing.assert_allclose(found.log(list(counts)), [*(math.log(n / 100) for n in (50, 30, 10, 10)), math.nan])
    assert found.ranks(["of", "the", "a", "b", "never", "other"]).tolist() == [1, 0, 2, 3, -1, -1]
    assert len(found) == 4


def test_bins_by_rank():
    found = corpus_frequencies({f"w{i}": 10_000 - i for i in range(6_000)})
    asked = [f"w{i}" for i in (0, 99, 100, 499, 500, 4_999, 5_000, 5_999)]
    assert found.bins(asked) == [BINS[i] for i in (0, 0, 1, 1, 2, 2, 3, 3)]
    assert found.bins(["nowhere"]) == [UNKNOWN]
    assert Counter(found.bins([f"w{i}" for i in range(6_000)])) == dict(
        zip(BINS, (100, 400, 4_500, 1_000), strict=True)
    )


def test_another_case_is_looked_up():
    found = corpus_frequencies({"The": 3, "the": 5, "Bank": 2})
    assert found.ranks(["The", "the", "THE", "bank"]).tolist() == [1, 0, 0, 2]
    assert Frequencies("exact", {"the": 0.5}, exact=True).ranks(["the", "The"]).tolist() == [0, -1]


def test_the_order_of_a_tokenizer_is_only_an_order():
    found = tokenizer_frequencies(["<0x0A>", "a", "the", "##ing", "▁of", "##s"])
    assert found.ranks(["the", "##ing", "▁of", "a", "##s", "<0x0A>"]).tolist() == [0, 1, 2, -1, -1, -1]
    logs = found.log(["the", "##ing", "▁of"])
    np.testing.assert_allclose(np.exp(logs).sum(), 1)
    np.testing.assert_allclose(logs[0] - logs, np.log([1, 2, 3]))
    assert "only an order" in found.name


def test_wordfreq():
    wordfreq = pytest.importorskip("wordfreq")
    found, asked = wordfreq_frequencies(), ["the", "River", "anisotropy"]
    expected = [wordfreq.word_frequency(word, "en") for word in asked]
    np.testing.assert_allclose(np.exp(found.log(asked)), expected, rtol=0.01)
    assert found.ranks(["the", "qzxv"]).tolist() == [0, -1] and found.name == "wordfreq (en)"


def test_wordfreq_of_no_language():
    pytest.importorskip("wordfreq")
    with pytest.raises(OptionError, match=r"no language 'xx'; it has ar, .*en"):
        wordfreq_frequencies("xx")


def test_wordfreq_is_not_installed(monkeypatch):
    monkeypatch.setattr("uncone.errors.find_spec", lambda name: None)
    with pytest.raises(MissingPackageError, match=r"needs wordfreq.*pip install 'uncone\[frequency\]'"):
        wordfreq_frequencies()


def test_tokens_of_the_texts(tiny_model):
    texts = ["The text, the school.", "Go to the school!", "the the zebra", "a b " * 60]
    encoder = open_encoder(tiny_model)
    found = token_frequencies(encoder, Selection(ListTexts(texts)), Window(16, stride=4))
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(encoder.tokenizer.tokenize(text))
    total = sum(counts.values())
    assert counts["the"] == 5 and counts["##e"] == 1 and len(found) == len(counts)
    np.testing.assert_allclose(np.exp(found.log(list(counts))), [n / total for n in counts.values()])


# Against loops and other libraries.


def naive_bins(rows, norms, k):
    """All words against all, by two loops."""
    edges = [0, 100, 500, 5_000, 10**9]
    found = []
    for low, high in pairwise(edges):
        far, dots = [], []
        for i in range(low, min(high, len(rows))):
            others = [j for j in range(len(rows)) if j != i]
            far.append(np.mean(sorted(math.dist(rows[i], rows[j]) for j in others)[:k]))
            dots.append(np.mean(sorted((float(rows[i] @ rows[j]) for j in others), reverse=True)[:k]))
        inside = norms[low:high]
        found.append(
            (len(inside), inside.mean(), np.mean(far), np.mean(dots)) if len(inside) else (0, None, None, None)
        )
    return found


def test_the_table_by_two_loops(cone, monkeypatch):
    monkeypatch.setattr(module, "_QUERIES", 10_000)
    n = 130
    rows = cone(n, 6, seed=4)
    found = frequency_of(rows, words_of(n), zipf(n))
    assert [one.name for one in found.bins] == list(BINS)
    wide = rows.astype(np.float64)
    for k in NEAREST:
        for one, expected in zip(found.bins, naive_bins(wide, np.linalg.norm(wide, axis=1), k), strict=True):
            words, norm, far, dot = expected
            assert one.words == one.queries == words
            assert one.norm == (None if norm is None else pytest.approx(norm, rel=1e-6))
            assert one.distance[k] == (None if far is None else pytest.approx(far, rel=1e-5))
            assert one.dot[k] == (None if dot is None else pytest.approx(dot, rel=1e-5))


def test_a_sample_of_queries(space, monkeypatch):
    found = frequency_of(space, words_of(), zipf())
    assert [one.queries for one in found.bins] == [100, 150, 140, 0]
    again, other = (frequency_of(space, words_of(), zipf(), seed=seed) for seed in (0, 1))
    assert again.bins == found.bins and other.bins[0].distance == pytest.approx(found.bins[0].distance)
    assert other.bins[1].distance != pytest.approx(found.bins[1].distance)
    monkeypatch.setattr(module, "_QUERIES", 10_000)
    whole = frequency_of(space, words_of(), zipf())
    assert found.bins[1].distance[3] == pytest.approx(whole.bins[1].distance[3], rel=0.05)


def test_correlations_as_scipy_and_sklearn_have_them(space):
    found = frequency_of(space, words_of(), zipf())
    logs, norms = zipf().log(words_of()), np.linalg.norm(space.astype(np.float64), axis=1)
    expected = stats.pearsonr(norms, logs)
    interval = expected.confidence_interval(0.95)
    assert found.norm_r == pytest.approx(expected.statistic, abs=1e-6)
    assert (found.norm_low, found.norm_high) == pytest.approx((interval.low, interval.high), abs=1e-6)
    assert found.norm_rho == pytest.approx(stats.spearmanr(norms, logs).statistic, abs=1e-6)
    scores = PCA(10, svd_solver="full").fit_transform(space.astype(np.float64))
    singly = [abs(stats.pearsonr(scores[:, i], logs).statistic) for i in range(10)]
    assert found.components_r == pytest.approx(singly, abs=1e-4)
    design = np.column_stack([norms, scores])
    r2 = LinearRegression().fit(design, logs).score(design, logs)
    assert found.explained == pytest.approx(1 - (1 - r2) * (N - 1) / (N - 12), abs=1e-5)
    assert found.explained > 0.2


def test_the_picture(space, monkeypatch):
    monkeypatch.setattr(module, "_IN_PICTURE", 200)
    monkeypatch.setattr(module, "_ALWAYS", 50)
    mixed = np.random.default_rng(0).permutation(N)
    words = [words_of()[i] for i in mixed]
    found = frequency_of(space[mixed], words, zipf())
    assert len(found.point_words) == len(found.points) == len(set(found.point_words)) == 200
    assert list(found.point_words[:50]) == words_of()[:50]
    np.testing.assert_allclose(found.logs, zipf().log(found.point_words) / math.log(10))
    _, _, directions = np.linalg.svd(space.astype(np.float64), full_matrices=False)
    expected = space[[int(word[1:]) for word in found.point_words]] @ directions[:2].T
    expected *= np.sign((space @ directions[:2].T).mean(axis=0))
    np.testing.assert_allclose(found.points, expected, atol=1e-3)
    assert frequency_of(space[mixed], words, zipf(), seed=5).point_words != found.point_words


def test_norms_may_be_given(space):
    norms = np.arange(N, 0, -1).astype(float)
    found = frequency_of(space, words_of(), zipf(), norms=norms)
    assert found.norm_rho > 0.99 and found.bins[0].norm == pytest.approx(norms[:100].mean())


def test_rotation_and_scale(space):
    turned = np.linalg.qr(np.random.default_rng(1).normal(size=(D, D)))[0].astype(np.float32)
    one, other = (frequency_of(rows, words_of(), zipf()) for rows in (space, 3 * space @ turned))
    assert other.norm_r == pytest.approx(one.norm_r, abs=1e-5)
    assert other.explained == pytest.approx(one.explained, abs=1e-4)
    assert other.components_r == pytest.approx(one.components_r, abs=1e-3)
    for a, b in zip(one.bins[:3], other.bins[:3], strict=True):
        assert b.norm == pytest.approx(3 * a.norm, rel=1e-5)
        assert b.distance[5] == pytest.approx(3 * a.distance[5], rel=1e-4)
        assert b.dot[5] == pytest.approx(9 * a.dot[5], rel=1e-4)


def test_huge_numbers(space):
    """Their squares do not fit into the floats that they are."""
    one, other = (frequency_of(rows, words_of(), zipf()) for rows in (space, np.float32(1e12) * space))
    assert other.norm_r == pytest.approx(one.norm_r, abs=1e-5)
    assert other.components_r == pytest.approx(one.components_r, abs=1e-3)


def test_unknown_words_are_left_out_and_counted(space):
    words = [f"x{i}" if i % 3 == 0 else word for i, word in enumerate(words_of())]
    kept = [i for i in range(N) if i % 3]
    found = frequency_of(space, words, zipf())
    alone = frequency_of(space[kept], [words_of()[i] for i in kept], zipf())
    assert (found.n, found.unknown, alone.unknown) == (len(kept), N - len(kept), 0)
    assert (found.norm_r, found.explained) == (alone.norm_r, alone.explained)
    assert found.bins[0].distance == alone.bins[0].distance
    assert found.sentence == alone.sentence + f" {N - len(kept)} words of unknown frequency were left out."


def test_means_of_words(cone):
    rows, words = cone(60, 5), [f"w{i * i % 11}" for i in range(60)]
    norms = np.linalg.norm(rows, axis=1)
    names, means, lengths = word_means(rows, norms, words)
    assert sorted(names) == sorted(set(words)) and means.dtype == np.float32
    for name, mean, length in zip(names, means, lengths, strict=True):
        own = [i for i, word in enumerate(words) if word == name]
        np.testing.assert_allclose(mean, sum(rows[i].astype(float) for i in own) / len(own), rtol=1e-5, atol=1e-6)
        assert length == pytest.approx(sum(norms[i] for i in own) / len(own))
    assert word_means(rows[:0], norms[:0], [])[0] == []


# Spaces that are made.


def test_shells_of_frequency():
    """As BERT-flow found it: frequent words short and dense, rare ones long and sparse."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(N, 30))
    rows *= (1 + 0.5 * np.log(np.arange(N) + 1))[:, None] / np.linalg.norm(rows, axis=1)[:, None]
    found = frequency_of(rows.astype(np.float32), words_of(), zipf())
    assert found.norm_r < -0.95 and found.norm_high < -0.9
    assert found.bins[0].distance[3] < found.bins[1].distance[3] < found.bins[2].distance[3]
    assert "Frequent words have shorter vectors" in found.sentence and "Rare words lie further apart" in found.sentence
    assert "fewer occurrences" not in found.sentence
    means = frequency_of(rows.astype(np.float32), words_of(), zipf(), norms=np.linalg.norm(rows, axis=1))
    assert "means of fewer occurrences do so anyway" in means.sentence and means.norm_r == pytest.approx(found.norm_r)


def test_a_direction_of_frequency():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(N, 30))
    rows[:, 3] += 6 * zipf().log(words_of())
    found = frequency_of(rows.astype(np.float32), words_of(), zipf())
    assert found.components_r[0] > 0.95 and found.explained > 0.95 and max(found.components_r[1:]) < 0.2
    assert frequency_findings(found)[2].value == found.components_r[0]


def test_a_ball_knows_nothing_of_frequency():
    rows = np.random.default_rng(3).normal(size=(N, 30)).astype(np.float32)
    found = frequency_of(rows, words_of(), zipf())
    assert found.norm_low < 0 < found.norm_high and abs(found.explained) < 0.03
    assert "vectors of similar norms" in found.sentence and "as close to their neighbors" in found.sentence


def test_a_correlation_that_may_be_chance_is_not_called_none():
    rows = np.eye(12, dtype=np.float32) * np.random.default_rng(1).uniform(1, 2, 12)[:, None].astype(np.float32)
    rows[:3] *= 1.2
    found = frequency_of(rows, words_of(12), zipf(12))
    assert abs(found.norm_r) > 0.1 and found.norm_low < 0 < found.norm_high
    assert found.sentence.startswith("12 words are too few to say whether norms depend on frequency: r = ")


def test_tokens_are_not_called_words(space):
    found = frequency_of(space, words_of(), zipf(), unit="token")
    assert "tokens" in found.sentence and "word" not in found.sentence
    assert "640 tokens" in frequency_findings(found)[0].meaning


# What cannot be known.


def check_unknown(found, *said):
    for part in said:
        assert part in found.sentence
    assert "Rare words" not in found.sentence
    assert [one.value for one in frequency_findings(found)] == [None] * 4
    assert all("could not be measured" in one.meaning for one in frequency_findings(found))


def test_all_words_are_as_frequent(space):
    found = frequency_of(space, words_of(), corpus_frequencies(dict.fromkeys(words_of(), 3)))
    check_unknown(found, "All 640 words are equally frequent")
    assert found.norm_rho is None and found.bins[1].distance[3] is not None


def test_no_word_is_known(space):
    found = frequency_of(space, words_of(), corpus_frequencies({"other": 3}))
    check_unknown(found, "No word has a known frequency", "640 words of unknown frequency were left out")
    assert found.n == 0 and found.points.shape == (0, 2) and all(one.norm is None for one in found.bins)


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_very_few_words(space, n):
    found = frequency_of(space[:n], words_of(n), zipf())
    assert found.n == n and found.norm_low is None and found.points.shape == (n, 2)
    assert all(value is None for one in found.bins[1:] for value in one.distance.values())
    assert found.bins[0].distance[3] is None
    assert ("No word" if n == 0 else "too few") in found.sentence


def test_fewer_words_than_neighbors(space):
    found = frequency_of(space[:6], words_of(6), zipf())
    far = found.bins[0].distance
    assert far[3] is not None and far[5] is not None and far[7] is None
    assert found.bins[0].dot[5] is not None and found.bins[0].dot[7] is None
    assert found.explained is None and found.norm_low < found.norm_r < found.norm_high


@pytest.mark.parametrize("value", [0.0, 2.5])
def test_all_vectors_are_the_same(value):
    found = frequency_of(np.full((20, 4), value, np.float32), words_of(20), zipf())
    assert found.norm_r is None and found.components_r == [] and found.explained is None
    assert "All 20 words have the same norm" in found.sentence
    assert found.bins[0].distance[3] == pytest.approx(0, abs=1e-6)


def test_vectors_on_a_line():
    found = frequency_of(np.outer(np.arange(1, 31), np.ones(5)).astype(np.float32), words_of(30), zipf())
    assert len(found.components_r) == 1 and found.explained > 0.5


def test_one_dimension(cone):
    found = frequency_of(cone(50, 1), words_of(50), zipf())
    assert found.points.shape == (50, 2) and (found.points[:, 1] == 0).all() and len(found.components_r) == 1


def test_rows_that_are_no_numbers(space):
    broken = space.copy()
    broken[5, 3], broken[9, 0] = np.nan, np.inf
    found = frequency_of(broken, words_of(), zipf())
    assert found.n == N - 2 and found.unknown == 0 and math.isfinite(found.norm_r)
    assert not {"w0005", "w0009"} & set(found.point_words)


def test_words_and_vectors_have_to_match(space):
    with pytest.raises(ShapeError, match="640 vectors for 10 words"):
        frequency_of(space, words_of(10), zipf())
    with pytest.raises(ShapeError, match="each needs a vector and a norm"):
        frequency_of(space, words_of(), zipf(), norms=np.ones(3))


def test_findings(space):
    found = frequency_of(space, words_of(), zipf())
    norm, vector, first, whole = frequency_findings(found)
    assert (first.name, whole.name) == ("frequency_pc1_r", "frequency_explained")
    assert (norm.name, vector.name) == ("frequency_norm_r", "frequency_vector_norm_r")
    assert vector.value == norm.value, "one vector per word has one norm"
    assert (norm.value, norm.low, norm.high, norm.n) == (found.norm_r, found.norm_low, found.norm_high, N)
    assert "the words of the corpus" in norm.meaning and whole.value == found.explained


def test_the_mean_norm_and_the_norm_of_the_mean_are_told_apart():
    """Occurrences of equal length that point anywhere: the more there are, the shorter is their mean."""
    rng = np.random.default_rng(4)
    words = words_of(60)
    counts = np.geomspace(200, 2, 60).astype(int)
    names = [word for word, n in zip(words, counts, strict=True) for _ in range(n)]
    rows = rng.normal(size=(len(names), 20))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True) * rng.uniform(0.99, 1.01, size=(len(rows), 1))
    known, means, norms = word_means(rows, np.linalg.norm(rows, axis=1), names)
    found = frequency_of(means, known, zipf(60), norms=norms)
    logs = zipf(60).log(known)
    assert found.vector_norm_r == pytest.approx(np.corrcoef(np.linalg.norm(means, axis=1), logs)[0, 1], abs=1e-5)
    assert found.norm_r == pytest.approx(np.corrcoef(norms, logs)[0, 1], abs=1e-5)
    assert found.vector_norm_high < -0.5 and abs(found.norm_r) < 0.4
    assert "With the norm of the word's mean vector r = -" in found.sentence


# Tables.


def test_the_table_of_a_model(tiny_model):
    encoder = open_encoder(tiny_model)
    names, vectors = encoder.input_table()
    frequencies = token_frequencies(encoder, Selection(ListTexts(["the text", "go to school", "a b c d"])), Window())
    found = table_deep(encoder, frequencies, seed=3)
    assert (found.name, found.n, found.dim, found.note) == ("input embeddings", len(names), 32, "")
    assert found.dimensions == dimensions_of(vectors, seed=3)
    assert found.hubness.skew == hubness_of(vectors, seed=3).skew
    assert all(hub.text == names[hub.row] for hub in found.hubness.hubs)
    occurring = {"the", "text", "go", "t", "##o", "school", "a", "b", "c", "d"}
    assert found.frequency.n == len(frequencies) == len(occurring) and set(found.frequency.point_words) == occurring
    assert table_deep(encoder, None).frequency is None


def test_the_table_of_a_file(tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "vectors.txt"
    lines = [f"w{i} " + " ".join(f"{x:.4f}" for x in rng.normal(size=5)) for i in range(300)]
    path.write_text("\n".join([*lines, "nothing 0 0 0 0 0"]) + "\n")
    encoder = open_encoder(path)
    found = table_deep(encoder, tokenizer_frequencies(encoder.input_table()[0]))
    assert (found.name, found.n, found.dim) == ("word vectors", 300, 5)
    assert found.note == "1 row of zeros or without numbers was left out."
    assert found.dimensions["euclidean"].base == 300 and 3 < found.dimensions["euclidean"].value < 6
    assert found.frequency.n == 300


def test_no_table(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text("nothing 0 0 0\nthe 1 2 3\n")
    assert table_deep(open_encoder(path), None) is None
