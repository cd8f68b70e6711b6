"""Pictures side by side, their colors, clusters and word lists, and trust against scikit-learn and double loops."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.manifold import trustworthiness

from uncone.analysis.projections import pictures
from uncone.analysis.projections.pictures import Space, group, neighbor_preservation, pictures_of, trust_of
from uncone.analysis.projections.projection import project
from uncone.analysis.projections.results import by_category
from uncone.analysis.projections.word_list import OF_EACH, ListedRows, WordList
from uncone.data.vectors.memory import ArrayVectors
from uncone.data.vectors.shards import NamedRows
from uncone.encoders.encoder import Encoder, States
from uncone.errors import OptionError, ShapeError
from uncone.run.measure import measure
from uncone.verbs.map.texts import LayerMeans


def rows_of(n=200, d=6, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)) * np.arange(d, 0, -1) + 4


def test_axes_of_pictures_run_alike():
    rows = rows_of()
    mirrored = rows * [-1, 1, -1, 1, 1, 1]
    numbers = np.arange(200) * 3
    spaces = [Space("raw", rows, np.arange(200)), Space("mirrored", mirrored[50:], np.arange(50, 200), layer=4)]
    first, second = pictures_of(spaces, numbers, "pca", 3)
    np.testing.assert_allclose(pictures_of(spaces[:1], numbers, "pca", 3)[0].panel.points, first.panel.points)
    shared = first.panel.points[50:]
    assert all(np.corrcoef(a, b)[0, 1] > 0.99 for a, b in zip(shared.T, second.panel.points.T, strict=True))
    np.testing.assert_allclose(second.axes.points(mirrored[50:]), second.panel.points)
    assert (second.panel.name, second.panel.layer, second.panel.places[0]) == ("mirrored", 4, 50)
    assert 0 < second.panel.trust.explained < 1 and first.panel.trust.n == 200


def test_a_picture_of_neighbors_begins_at_axes_that_run_alike():
    pytest.importorskip("openTSNE")
    rows = rows_of(120)
    spaces = [Space("a", rows, np.arange(120)), Space("b", -rows, np.arange(120))]
    first, second = pictures_of(spaces, np.arange(120), "tsne", 2)
    np.testing.assert_allclose(first.panel.points, second.panel.points, atol=1e-6)
    assert first.panel.trust.explained is None


def test_too_few_rows_are_an_error():
    with pytest.raises(ShapeError, match="t-SNE needs at least 5 vectors; we got 3"):
        pictures_of([Space("a", rows_of(3), np.arange(3))], np.arange(3), "tsne", 2)


def test_the_largest_categories_are_named():
    found = by_category("label", "label", ["a", "b", "b", "", None, "c", "c", "c", " "], most=2)
    assert found.names == ("c", "b") and found.other == 1
    assert found.members.tolist() == [-1, 1, 1, -1, -1, 0, 0, 0, -1]


def test_clusters_of_blobs_are_found_and_carried_to_other_rows(monkeypatch):
    rng = np.random.default_rng(0)
    own = np.repeat([0, 1, 2], [300, 200, 100])
    rows = (rng.normal(size=(600, 8)) + 12 * rng.normal(size=(3, 8))[own] + 30).astype(np.float32)
    found = group(rows)
    assert found.k == 3 and (found.labels == own).all(), "largest first"
    assert (found.nearest(rows) == own).all()
    monkeypatch.setattr(pictures, "_CLUSTER_SAMPLE", 150)
    assert (group(rows).labels == own).all(), "rows that were not looked at go to the nearest mean"
    assert group(rows, k=5).k == 5
    assert group(rows[:2]).labels.tolist() == [0, 0] and group(np.ones((9, 3))).k == 1


def test_words_stand_in_texts_whatever_their_case():
    words = WordList([" bank", "River", "bank", ""])
    assert words.words == ("bank", "River") and len(words) == 2
    texts = ["A RIVER runs", "the bank's river bank", "embankment", "BANK", ""]
    assert [words.first(text) for text in texts] == [1, 0, -1, 0, -1]
    assert words.contained("the river bank") == {0, 1}
    assert words.firsts(None, 2).tolist() == [-1, -1]
    known, notes = words.restrict({"river"}, "a.txt")
    assert known.words == ("River",) and notes == ["Not in the texts: bank."]
    assert words.restrict({"river", "bank"}, "a.txt")[1] == []
    many = WordList([f"w{i}" for i in range(11)])
    with pytest.raises(OptionError, match=r"a\.txt contains none of the words of --words: w0, .*w7 and 3 more\."):
        many.restrict(set(), "a.txt")
    nothing, said = WordList().restrict(set(), "a.txt")
    assert not len(nothing) and said == []


def test_rows_that_hold_a_word_are_kept_beside_a_sample():
    rows = rows_of(3_000, 3).astype(np.float32)
    texts = ["plain"] * 3_000
    for i in range(0, 3_000, 2):
        texts[i] = "the river"
    texts[7] = texts[2_900] = "a bank"
    words = WordList(["bank", "river", "sea"])
    found = measure(NamedRows(ArrayVectors(rows), texts, None), ListedRows.of(words, 3))
    assert found.present == {"bank", "river"} and found["word1"].sampled.n == OF_EACH
    some = found["word0"].sampled
    assert some.rows.tolist() == [7, 2_900]
    both = found.beside(some)
    assert {7, 2_900} <= set(both.rows.tolist()) and both.n == 2 + OF_EACH and (np.diff(both.rows) > 0).all()
    np.testing.assert_array_equal(both.vectors, rows[both.rows])
    assert all(both.texts[i] == texts[row] for i, row in enumerate(both.rows.tolist()))


class _Counting(States):
    """The state of token t at layer l is (l, t)."""

    def pooled(self, layer, tokens, starts):
        bags = np.split(tokens, starts[1:])
        return np.array([[layer, bag.mean()] for bag in bags], np.float32)

    def longest(self, layer, tokens, starts):
        bags = np.split(tokens, starts[1:])
        return np.array([[layer, bag.max()] for bag in bags], np.float32)


class _Encoder(Encoder):
    name, kind, layers, dim, window = "counting", "test", 5, 2, None
    seen: tuple[str, ...] = ()

    def passages(self, texts, window):
        return [[text] for text in texts]

    def encode(self, batch):
        return _Counting()

    def fingerprint(self):
        return "print"

    def prepare(self, texts):
        self.seen = tuple(texts)

    def token_name(self, token):
        return f"<{token}>"


def test_chosen_layers_are_means_of_an_encoders_layers():
    inner = _Encoder()
    view = LayerMeans(inner, [(4,), (1, 2)])
    assert (view.layers, view.dim, view.name, view.fingerprint()) == (2, 2, "counting", "print")
    states = view.encode([])
    tokens, starts = np.array([0, 2, 5, 7]), np.array([0, 2])
    assert states.pooled(0, tokens, starts).tolist() == [[4, 1], [4, 6]]
    assert states.pooled(1, tokens, starts).tolist() == [[1.5, 1], [1.5, 6]]
    assert states.longest(1, tokens, starts).tolist() == [[1.5, 2], [1.5, 7]]
    view.prepare(["a"])
    assert inner.seen == ("a",) and view.token_name(3) == "<3>" and view.passages(["b"], None) == [["b"]]


def rows_and_picture(n=120, d=15, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, d)) * np.linspace(3, 0.3, d) + 7
    return rows, project(rows)


def naive_continuity(rows, points, k):
    """By its definition, in a double loop."""
    n, penalty = len(rows), 0
    for i in range(n):
        space = sorted((np.linalg.norm(rows[i] - rows[j]), j) for j in range(n) if j != i)
        picture = sorted((np.linalg.norm(points[i] - points[j]), j) for j in range(n) if j != i)
        rank = {j: place for place, (_, j) in enumerate(picture, 1)}
        penalty += sum(max(rank[j] - k, 0) for _, j in space[:k])
    return 1 - 2 / (n * k * (2 * n - 3 * k - 1)) * penalty


@pytest.mark.parametrize("k", [1, 7, 15])
def test_trustworthiness_is_that_of_scikit_learn(k):
    for seed in (0, 1):
        rows, points = rows_and_picture(seed=seed)
        expected = trustworthiness(rows, points, n_neighbors=k)
        assert neighbor_preservation(rows, points, k).trustworthiness == pytest.approx(expected, abs=1e-12)
        shuffled = np.random.default_rng(seed).permutation(points)
        expected = trustworthiness(rows, shuffled, n_neighbors=k)
        assert neighbor_preservation(rows, shuffled, k).trustworthiness == pytest.approx(expected, abs=1e-12)


def test_continuity_and_share_by_a_double_loop():
    rows, points = rows_and_picture(60)
    kept = neighbor_preservation(rows, points, 5)
    assert kept.continuity == pytest.approx(naive_continuity(rows, points, 5), abs=1e-12)
    near = [np.linalg.norm(x[:, None] - x[None], axis=2).argsort(axis=1)[:, 1:6] for x in (rows, points)]
    assert kept.share == pytest.approx(np.mean([len(set(a) & set(b)) / 5 for a, b in zip(*near, strict=True)]))
    assert neighbor_preservation(points, rows, 5).trustworthiness == pytest.approx(kept.continuity)


def test_of_many_points_a_seeded_sample_is_taken():
    rows, points = rows_and_picture(2_600, 6)
    found = trust_of(rows.astype(np.float32), points, "pca", explained=0.5)
    assert (found.n, found.k, found.explained) == (2_000, 15, 0.5)
    assert found == trust_of(rows.astype(np.float32), points, "pca", explained=0.5)
    assert found != trust_of(rows.astype(np.float32), points, "pca", explained=0.5, seed=1)
    expected = trustworthiness(rows, points, n_neighbors=39)  # the same share of all
    assert found.trustworthiness == pytest.approx(expected, abs=0.02)


def test_the_sentence_says_how_good_it_is():
    rng = np.random.default_rng(0)
    flat = np.pad(rng.normal(size=(300, 2)), ((0, 0), (0, 6)))
    good = trust_of(flat, project(flat), "pca", explained=1.0)
    assert good.trustworthiness == good.continuity == 1.0
    assert good.sentence.startswith(
        "The two axes hold 100 % of the variance. Of the 15 points nearest to a point, 100 %"
    )
    assert "You can trust its groups and neighbors" in good.sentence
    bad = trust_of(flat, rng.normal(size=(300, 2)), "tsne")
    assert 0.4 < bad.trustworthiness < 0.6 and "hardly better than a random picture" in bad.sentence
    assert "axes" not in bad.sentence
    ball = rng.normal(size=(300, 40))
    assert "not its neighbors" in trust_of(ball, project(ball, dims=3), "svd", explained=0.1).sentence


def test_few_and_equal_rows():
    rows, points = rows_and_picture(2)
    few = trust_of(rows, points, "pca", explained=1.0)
    assert few.trustworthiness is None and few.continuity is None and "too few vectors" in few.sentence
    three = rows_and_picture(3)
    assert (
        trust_of(*three, "pca").k == 1
        and "For 100 % of the points, the nearest point" in trust_of(*three, "pca").sentence
    )
    equal = trust_of(np.ones((40, 3)), np.zeros((40, 2)), "pca", explained=0.0)
    assert equal.trustworthiness is None and "all vectors are equal" in equal.sentence
    copies = np.repeat(rows_and_picture(20)[0], 3, axis=0)
    assert 0.5 < trust_of(copies, project(copies), "pca").trustworthiness <= 1
