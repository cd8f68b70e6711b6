"""Trust: against scikit-learn, against double loops, and what the sentence says of good and bad pictures."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.manifold import trustworthiness

from uncone.analysis.projections.pictures import neighbor_preservation, trust_of
from uncone.analysis.projections.projection import project


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
