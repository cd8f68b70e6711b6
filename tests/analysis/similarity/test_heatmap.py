"""The heatmap: its rows, their order, its tree and its numbers."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import cophenet, dendrogram, linkage
from scipy.spatial.distance import pdist, squareform

from uncone.analysis.similarity.heatmap import picture, stratified_sample
from uncone.errors import OptionError


def _rows(n=60, d=8, seed=0):
    rows = np.random.default_rng(seed).normal(size=(n, d))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def _percentile(cosines):
    return 50 * (cosines + 1)


@pytest.mark.parametrize("order", ["label", "clustering"])
def test_cosines_are_those_of_the_rows_in_their_order(order):
    units, labels = _rows(), ["b", "a", "10", "9"] * 15
    made = picture(units, _percentile, labels, order)
    assert sorted(made.rows.tolist()) == list(range(60)) and made.note == "" and made.order == order
    for i, one in enumerate(made.rows):
        for j, other in enumerate(made.rows):
            expected = float(units[one].astype(float) @ units[other].astype(float))
            assert made.cosines[i, j] == pytest.approx(expected, abs=1e-6)
    assert (np.diag(made.cosines) == 1).all()
    np.testing.assert_allclose(made.percentiles, 50 * (made.cosines + 1))


def test_by_label_the_rows_of_a_label_lie_together_and_numbers_come_in_their_order():
    labels = ["10", "9", "9", "10", "9", None]
    made = picture(_rows(6), _percentile, labels, "label")
    assert [labels[row] for row in made.rows] == ["9", "9", "9", "10", "10", None]
    assert made.blocks == [("9", 3), ("10", 2), ("no label", 1)] and made.linkage is None and made.leaves is None


def test_by_clustering_the_tree_fits_the_drawn_order():
    units = _rows()
    made = picture(units, _percentile, None, "clustering")
    assert made.blocks == []
    assert np.array_equal(np.sort(made.rows)[made.leaves], made.rows)
    # scipy draws the leaves of the tree that was given in the same order.
    assert dendrogram(made.linkage, no_plot=True)["leaves"] == made.leaves.tolist()
    distances = pdist(units.astype(float), "cosine")
    np.testing.assert_allclose(cophenet(made.linkage), cophenet(linkage(distances, "average")), atol=1e-6)
    drawn = squareform(distances)[np.ix_(made.leaves, made.leaves)]
    plain = squareform(distances)[np.ix_(*[dendrogram(linkage(distances, "average"), no_plot=True)["leaves"]] * 2)]
    # Turned branches bring neighbors nearer.
    assert np.diag(drawn, 1).sum() < np.diag(plain, 1).sum()


def test_of_many_rows_every_label_keeps_its_part():
    labels = ["a"] * 600 + ["b"] * 300 + ["c"] * 99 + ["d"]
    made = picture(_rows(1000), _percentile, labels, "label", limit=100)
    counts = Counter(labels[row] for row in made.rows)
    assert sum(counts.values()) == 100 and counts["d"] == 1
    for label, share in (("a", 60), ("b", 30), ("c", 10)):
        assert abs(counts[label] - share) <= 1
    assert "100 of 1,000 texts, drawn with seed 0, stratified by label" in made.note
    again = picture(_rows(1000), _percentile, labels, "label", limit=100)
    assert np.array_equal(again.rows, made.rows)
    other = picture(_rows(1000), _percentile, labels, "label", limit=100, seed=1)
    assert not np.array_equal(np.sort(other.rows), np.sort(made.rows))


@given(st.lists(st.sampled_from("abcde"), min_size=1, max_size=60), st.integers(1, 30), st.integers(0, 3))
def test_the_sample_has_the_size_that_was_asked_for_and_every_label_it_can(labels, most, seed):
    rows = stratified_sample(labels, len(labels), most, seed)
    assert len(set(rows.tolist())) == len(rows) == min(most, len(labels)) and (np.diff(rows) > 0).all()
    assert len({labels[row] for row in rows}) == len(set(labels)) or len(set(labels)) > most


def test_one_row_is_drawn():
    units = _rows(1)
    one = picture(units, _percentile, ["a"], "label")
    assert one.cosines.tolist() == [[1.0]] and one.rows.tolist() == [0]
    alone = picture(units, _percentile, None, "clustering")
    assert alone.linkage.shape == (0, 4) and alone.leaves.tolist() == [0]


def test_equal_rows_are_drawn():
    made = picture(np.repeat(_rows(1), 5, axis=0), _percentile, None, "clustering")
    np.testing.assert_allclose(made.cosines, 1.0, atol=1e-6)


def test_bad_input():
    with pytest.raises(OptionError, match=r"needs labels\. Name a column"):
        picture(_rows(), _percentile, None, "label")
    with pytest.raises(OptionError, match="no order 'size'"):
        picture(_rows(), _percentile, None, "size")
