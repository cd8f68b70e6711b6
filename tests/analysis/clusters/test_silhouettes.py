"""Silhouettes by cosine and by Euclidean distance, against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import silhouette_samples

from uncone.analysis.clusters import silhouettes
from uncone.analysis.clusters.silhouettes import cosine_silhouettes, distances_of, group_sums, silhouettes_from


def rows_of(n=240, d=9, k=5, seed=0, far=0.0, dtype=np.float64):
    """Rows in groups of very different sizes, the last of one row, and which."""
    rng = np.random.default_rng(seed)
    members = np.minimum(rng.geometric(0.4, n) - 1, k - 2)
    members[n // 2] = k - 1
    return (rng.normal(size=(n, d)) + 1.5 * rng.normal(size=(k, d))[members] + far).astype(dtype), members


def units(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.mark.parametrize("far", [0.0, 30.0])
def test_equals_scikit_learn(far, monkeypatch):
    monkeypatch.setattr(silhouettes, "_AT_ONCE", 50)  # so that there are several blocks
    rows, members = rows_of(far=far)
    expected = silhouette_samples(rows, members, metric="cosine")
    np.testing.assert_allclose(cosine_silhouettes(units(rows), members, 5), expected, atol=1e-10)
    assert expected[len(rows) // 2] == 0.0  # alone in its group
    assert expected.min() < 0 < expected.max()


def test_float32_is_looked_at_in_float64():
    rows, members = rows_of(far=100.0, dtype=np.float32)
    wide = units(rows.astype(np.float64))
    expected = silhouette_samples(wide, members, metric="cosine")
    # A cosine of 0.999 is 1 - 1e-3, of which float32 keeps four digits.
    np.testing.assert_allclose(cosine_silhouettes(wide.astype(np.float32), members, 5), expected, atol=5e-3)


def test_rows_without_a_group_and_empty_groups():
    rows, members = rows_of()
    members = np.where(members == 1, -1, members)
    inside = members >= 0
    found = cosine_silhouettes(units(rows), members, 9)
    assert np.isnan(found[~inside]).all() and (~inside).any()
    expected = silhouette_samples(rows[inside], members[inside], metric="cosine")
    np.testing.assert_allclose(found[inside], expected, atol=1e-10)


def test_one_group_has_none():
    rows = units(rows_of(20)[0])
    assert np.isnan(cosine_silhouettes(rows, np.zeros(20, np.int64), 3)).all()
    assert cosine_silhouettes(rows[:0], np.zeros(0, np.int64), 2).shape == (0,)


def test_copies_stand_as_far_apart_as_can_be():
    rows = np.repeat(np.random.default_rng(0).normal(size=(3, 6)), [4, 5, 1], axis=0)
    members = np.repeat([0, 1, 2], [4, 5, 1])
    expected = np.repeat([1.0, 1.0, 0.0], [4, 5, 1])
    np.testing.assert_allclose(cosine_silhouettes(units(rows), members, 3), expected, atol=1e-7)
    (euclidean,) = silhouettes_from(distances_of(rows), [members])
    np.testing.assert_allclose(euclidean, expected, atol=1e-6)
    assert not np.abs(cosine_silhouettes(units(np.ones((6, 3))), np.array([0, 0, 0, 1, 1, 1]), 2)).any()


def test_distances_equal_a_double_loop():
    rows, _ = rows_of(40)
    expected = [[np.sqrt(((a - b) ** 2).sum()) for b in rows] for a in rows]
    np.testing.assert_allclose(distances_of(rows), expected, atol=1e-7)
    narrow = rows.astype(np.float32)
    narrow[1] = narrow[0]
    found = distances_of(narrow)
    assert found.dtype == np.float32 and found[0, 1] == found[1, 0] == 0.0
    np.testing.assert_allclose(found[2:, 2:], np.array(expected)[2:, 2:], atol=1e-4)


def test_one_matrix_of_distances_serves_several_labelings():
    rows, members = rows_of()
    halves, thirds = np.arange(240) % 2, np.arange(240) // 80
    for dtype, near in ((np.float64, 1e-9), (np.float32, 1e-5)):
        found = silhouettes_from(distances_of(rows.astype(dtype)), [members, halves, thirds])
        for one, labels in zip(found, (members, halves, thirds), strict=True):
            np.testing.assert_allclose(one, silhouette_samples(rows, labels), atol=near)


def test_sums_of_groups(monkeypatch):
    monkeypatch.setattr(silhouettes, "_AT_ONCE", 7)
    rows, members = rows_of(90)
    members[::4] = -1
    for group, total in enumerate(group_sums(rows, members, 6)):
        own = [row for row, label in zip(rows, members, strict=True) if label == group]
        np.testing.assert_allclose(total, np.sum(own, axis=0) if own else np.zeros(9), atol=1e-12)
