import numpy as np
import pytest

from uncone.data.batch import Batch
from uncone.stats.cluster_moments import Cells, ClusterMoments, runs_by_label


def clusters(n=900, d=6, far=0.0, dtype=np.float64):
    rng = np.random.default_rng(3)
    centers = 8 * rng.normal(size=(3, d))
    spread = rng.uniform(0.2, 1.5, size=(3, d))
    which = rng.integers(0, 3, n)
    return (centers[which] + rng.normal(size=(n, d)) * spread[which] + far).astype(dtype), centers + far


def measured(rows, statistic):
    for start in range(0, len(rows), 130):
        statistic.update(Batch.of(rows[start : start + 130], first_row=start))
    return statistic


def nearest(rows, centroids):
    """By the plain distances of every pair."""
    apart = rows[:, None].astype(np.float64) - centroids[None]
    return (apart**2).sum(axis=2).argmin(axis=1)


def test_against_a_loop_over_the_clusters():
    rows, centroids = clusters()
    moments = measured(rows, ClusterMoments(rows.mean(axis=0), centroids, dtype=np.float64))
    labels = nearest(rows, centroids)
    for i in range(3):
        members = rows[labels == i]
        assert moments.counts[i] == len(members)
        np.testing.assert_allclose(moments.means[i], members.mean(axis=0), rtol=1e-12)
        np.testing.assert_allclose(moments.scatter(i), np.cov(members.T, ddof=0) * len(members), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("far", [0.0, 300.0])
def test_float32_keeps_its_digits_far_from_zero(far):
    rows, centroids = clusters(20_000, far=far, dtype=np.float32)
    moments = measured(rows, ClusterMoments(rows.mean(axis=0, dtype=np.float64), centroids))
    labels = nearest(rows, centroids)
    for i in range(3):
        members = rows[labels == i].astype(np.float64)
        exact = np.cov(members.T, ddof=0) * len(members)
        spread = np.sqrt(np.diag(exact))
        assert moments.counts[i] == len(members)
        assert np.abs((moments.scatter(i) - exact) / np.outer(spread, spread)).max() < 2e-6


def test_scatters_of_some_clusters_alone():
    rows, centroids = clusters()
    every = measured(rows, ClusterMoments(rows.mean(axis=0), centroids, dtype=np.float64))
    some = measured(rows, ClusterMoments(rows.mean(axis=0), centroids, dtype=np.float64, first=1, last=2))
    assert some.state()["scatters"].shape == (1, 6, 6)
    np.testing.assert_array_equal(some.scatter(1), every.scatter(1))
    np.testing.assert_array_equal(some.means, every.means)


def test_an_empty_cluster_and_copies_of_one_row():
    rows = np.tile([1.7, -0.3, 2.9], (50, 1))
    moments = measured(rows, ClusterMoments(np.zeros(3), np.array([[1.0, 0, 3], [90.0, 0, 0]]), dtype=np.float64))
    assert moments.counts.tolist() == [50, 0]
    assert moments.means[1].tolist() == [90.0, 0, 0]
    assert not moments.scatter(0).any() and not moments.scatter(1).any()


def test_gaussians_against_their_densities():
    rng = np.random.default_rng(0)
    rows, centroids = 4 * rng.normal(size=(900, 6)) + 3, rng.normal(size=(3, 6)) + 3
    center, scale = rows.mean(axis=0), 2.5
    precisions, weights = rng.uniform(0.5, 1.5, size=(3, 6)), np.array([0.7, 0.2, 0.1])
    z = (rows[:, None] - centroids) / scale
    density = weights * np.sqrt(precisions.prod(axis=1)) * np.exp(-0.5 * (z**2 * precisions).sum(axis=2))
    labels = Cells(center, centroids, scale, precisions, weights).labels(rows)
    assert (labels == density.argmax(axis=1)).all()
    assert (labels != nearest(rows, centroids)).any()


def test_cells_without_one_give_its_rows_to_the_next():
    rows, centroids = clusters()
    cells = Cells(rows.mean(axis=0), centroids)
    assert (cells.only(np.array([0, 2])).labels(rows) == nearest(rows, centroids[[0, 2]])).all()


def test_runs_cover_every_place_once():
    labels = np.random.default_rng(0).integers(0, 5, 100)
    order, runs = runs_by_label(labels)
    assert sorted(order.tolist()) == list(range(100))
    assert [place for label, run in runs for place in order[run] if labels[place] != label] == []
    assert runs_by_label(np.empty(0, np.int64))[1] == []
