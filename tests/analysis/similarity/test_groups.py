"""Groups of rows, against scikit-learn, scipy and double loops."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster
from scipy.cluster.hierarchy import linkage as scipy_linkage
from scipy.spatial.distance import pdist
from sklearn.metrics import silhouette_samples, silhouette_score

from uncone.analysis.clusters.silhouettes import cosine_silhouettes
from uncone.analysis.similarity.groups import cut, hierarchical, k_means, linkage_of
from uncone.errors import OptionError


@pytest.fixture(scope="module")
def blobs():
    """Unit rows around four directions, and which."""
    rng = np.random.default_rng(0)
    own = rng.integers(0, 4, 300)
    rows = rng.normal(size=(300, 24)) + (rng.normal(size=(4, 24)) * 1.2)[own]
    return _units(rows).astype(np.float32), [f"label {i}" for i in own]


def _units(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def _rand_by_pairs(a, b):
    """The adjusted Rand index, from every pair of rows."""
    together = Counter((a[i] == a[j], b[i] == b[j]) for i, j in combinations(range(len(a)), 2))
    both, one, other, none = (together[key] for key in ((True, True), (True, False), (False, True), (False, False)))
    return 2 * (both * none - one * other) / ((both + one) * (one + none) + (both + other) * (other + none))


METHODS = [
    pytest.param(lambda units, k, labels=None: k_means(units, k, labels), id="k-means"),
    pytest.param(lambda units, k, labels=None: hierarchical(units, k, "average", labels), id="average"),
    pytest.param(lambda units, k, labels=None: hierarchical(units, k, "ward", labels), id="ward"),
]


@pytest.mark.parametrize("group", METHODS)
def test_what_is_said_of_groups_is_what_a_double_loop_finds(group, blobs):
    units, labels = blobs
    found = group(units, 6, labels)
    members = found.members
    assert found.k == 6 and sorted(set(members.tolist())) == list(range(6))
    expected = silhouette_samples(units.astype(float), members, metric="cosine")
    assert found.silhouette == pytest.approx(expected.mean(), abs=1e-6)
    assert found.ari == pytest.approx(_rand_by_pairs(members, labels), abs=1e-12)
    assert [one.size for one in found.groups] == sorted(np.bincount(members).tolist(), reverse=True)
    for one in found.groups:
        rows = np.flatnonzero(members == one.number)
        cosines = np.array([[float(units[i] @ units[j]) for j in rows] for i in rows])
        pairs = [cosines[i, j] for i, j in combinations(range(len(rows)), 2)]
        assert one.size == len(rows)
        assert one.mean_cosine == (pytest.approx(np.mean(pairs), abs=1e-5) if pairs else None)
        assert one.silhouette == (pytest.approx(expected[rows].mean(), abs=1e-6) if pairs else None)
        assert one.labels == Counter(labels[row] for row in rows)
        assert list(one.labels.values()) == sorted(one.labels.values(), reverse=True)
        # The most central is the one with the highest mean cosine with its group.
        assert one.central == rows[int(cosines.mean(axis=1).argmax())]


@pytest.mark.parametrize("group", METHODS)
def test_clear_groups_are_found_and_auto_finds_how_many(group, blobs):
    units, labels = blobs
    found = group(units, "auto", labels)
    assert found.k == 4 and found.ari > 0.95
    assert "4 groups" in found.note and "largest" in found.note


def test_auto_takes_the_largest_silhouette_of_all_that_it_tries(blobs):
    units, _ = blobs
    tree = scipy_linkage(pdist(units.astype(float), "cosine"), "average")
    scores = {k: silhouette_score(units, fcluster(tree, k, "maxclust"), metric="cosine") for k in range(2, 11)}
    assert hierarchical(units, "auto").k == max(scores, key=scores.get)


def test_each_row_is_nearest_to_the_center_of_its_group(blobs):
    units, _ = blobs
    members = k_means(units, 5).members
    centers = _units(np.stack([units[members == g].astype(float).sum(axis=0) for g in range(5)]))
    assert ((units @ centers.T).argmax(axis=1) == members).mean() > 0.99


def test_k_means_is_the_same_for_a_seed_whatever_the_threads(blobs):
    faiss = pytest.importorskip("faiss")
    units, _ = blobs
    before = faiss.omp_get_max_threads()
    try:
        faiss.omp_set_num_threads(2)
        two = k_means(units, 6, seed=3).members
        assert faiss.omp_get_max_threads() == 2
        faiss.omp_set_num_threads(1)
        assert np.array_equal(two, k_means(units, 6, seed=3).members)
    finally:
        faiss.omp_set_num_threads(before)


@pytest.mark.parametrize(("how", "metric"), [("average", "cosine"), ("ward", "euclidean")])
def test_the_tree_is_the_one_that_scipy_makes_of_the_rows(how, metric, blobs):
    units = blobs[0][:80].astype(np.float64)
    units = _units(units)
    expected = scipy_linkage(pdist(units, metric), how)
    np.testing.assert_allclose(linkage_of(units, how)[:, 2], expected[:, 2], atol=1e-7)
    for k in (2, 3, 7):
        ours, theirs = cut(linkage_of(units, how), k), fcluster(expected, k, "maxclust")
        assert _rand_by_pairs(ours, theirs) == 1.0


def test_a_tree_with_ties_still_gives_as_many_groups_as_asked():
    units = np.eye(6)
    assert len(set(cut(linkage_of(units), 4).tolist())) == 4


def test_of_many_rows_a_sample_is_joined_and_the_rest_goes_to_the_nearest_center(blobs):
    units, labels = blobs
    found = hierarchical(units, 4, "ward", labels, limit=100)
    assert "100 vectors drawn with seed 0; the other 200" in found.note
    drawn = np.sort(np.random.default_rng(0).permutation(300)[:100])
    centers = _units(np.stack([units[drawn[found.members[drawn] == g]].astype(float).sum(axis=0) for g in range(4)]))
    rest = np.setdiff1d(np.arange(300), drawn)
    assert np.array_equal((units[rest] @ centers.T).argmax(axis=1), found.members[rest])
    assert found.ari > 0.95


def test_a_row_alone_and_rows_without_a_group():
    units = _units(np.random.default_rng(1).normal(size=(9, 4)))
    members = np.array([0, 0, 0, 1, 1, 1, 2, -1, 0])
    values = cosine_silhouettes(units, members, 3)
    inside = members >= 0
    np.testing.assert_allclose(values[inside], silhouette_samples(units[inside], members[inside], metric="cosine"))
    assert values[6] == 0 and np.isnan(values[7])


@pytest.mark.parametrize("group", METHODS)
def test_two_rows_one_group_and_equal_rows(group, blobs):
    units = blobs[0]
    assert group(units[:2], 2).members.tolist() == [0, 1] and group(units[:2], 2).silhouette is None
    one = group(units[:20], 1, ["a", "b"] * 10)
    assert one.k == 1 and one.silhouette is None and one.ari is None and "One group" in one.note
    assert group(units[:2], "auto").k == 1
    equal = group(np.repeat(units[:1], 12, axis=0), 3)
    assert equal.k == 1 and "All vectors are equal: one group, not 3." in equal.note
    three = group(np.repeat(units[[0, 1, 5]], 4, axis=0), 5)
    assert three.k == 3 and "only 3 distinct vectors" in three.note
    assert group(units[:1], 1).groups[0].mean_cosine is None


@pytest.mark.parametrize("group", METHODS)
def test_bad_numbers_of_groups(group, blobs):
    units = blobs[0][:5]
    with pytest.raises(OptionError, match=r"5 vectors cannot be put into 6 groups\. Ask for 5 or fewer, or auto"):
        group(units, 6)
    for bad in (0, -1, 2.5):
        with pytest.raises(OptionError, match="whole number from 1 on"):
            group(units, bad)


def test_no_such_linkage(blobs):
    with pytest.raises(OptionError, match="no linkage 'single'; choose average or ward"):
        hierarchical(blobs[0], 2, "single")


def test_noise_is_called_weak_and_missing_labels_do_not_count():
    units = _units(np.random.default_rng(2).normal(size=(200, 20)))
    labels = [None if i % 4 == 0 else "ab"[i % 2] for i in range(200)]
    found = k_means(units, 3, labels)
    assert "weak" in found.note and abs(found.ari) < 0.1
    named = [i for i in range(200) if labels[i] is not None]
    assert found.ari == pytest.approx(_rand_by_pairs(found.members[named], [labels[i] for i in named]))
    assert sum(sum(one.labels.values()) for one in found.groups) == 150


def test_of_very_many_rows_centers_are_learned_from_some(monkeypatch, blobs):
    monkeypatch.setattr("uncone.analysis.similarity.groups._CENTER_SAMPLE", 100)
    monkeypatch.setattr("uncone.analysis.similarity.groups._AUTO_SAMPLE", 150)
    found = k_means(blobs[0], "auto", blobs[1])
    assert "Tried on 150 vectors" in found.note and "learned from 100 vectors" in found.note and found.ari > 0.9


def test_one_group_and_outliers_are_called_so():
    rng = np.random.default_rng(0)
    cloud = _units(rng.normal(size=(400, 8)) + 8 * np.eye(1, 8))
    far = _units(np.stack([-np.eye(8)[0], np.eye(8)[3], -np.eye(8)[3]]) + 0.01 * rng.normal(size=(3, 8)))
    rows = np.concatenate([cloud, far])
    found = hierarchical(rows, 4)
    assert sorted(one.size for one in found.groups) == [1, 1, 1, 400] and found.outliers == 3
    assert "one group and 3 outliers" in found.note and "weak" not in found.note
    # A text that stands a hundred times is still one text.
    copied = np.concatenate([rows, np.repeat(far[:1], 99, axis=0)])
    assert hierarchical(copied, 4).outliers == 3
    # A group of its own, however small beside the other, is none.
    small = _units(rng.normal(size=(40, 8)) - 8 * np.eye(1, 8))
    assert hierarchical(np.concatenate([cloud, small]), 2).outliers == 0
