"""Projections: PCA against the singular values, neighbours of t-SNE and UMAP, seeds, small and bad input."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.decomposition import PCA

from uncone.errors import MissingPackageError, OptionError, ShapeError
from uncone.maps import projection
from uncone.maps.projection import METHODS, project

MODULES = {"tsne": "openTSNE", "umap": "umap"}


def blobs(n=150, d=20, seed=0):
    rng = np.random.default_rng(seed)
    own = rng.integers(0, 3, n)
    return (rng.normal(size=(n, d)) + (4 * rng.normal(size=(3, d)))[own]).astype(np.float32), own


def kept_neighbours(rows, points, k=10):
    """The share of the k nearest rows that are among the k nearest points."""
    near = [np.linalg.norm(x[:, None] - x[None], axis=2).argsort(axis=1)[:, 1 : k + 1] for x in (rows, points)]
    return np.mean([len(set(a) & set(b)) / k for a, b in zip(*near, strict=True)])


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize(("n", "d"), [(200, 12), (10, 40), (30, 30)])
def test_pca_is_that_of_the_singular_values_with_signs_fixed(n, d, dims):
    rows = np.random.default_rng(0).normal(size=(n, d)) * np.linspace(3, 0.2, d) + 5
    points = project(rows, "pca", dims)
    expected = PCA(dims, svd_solver="full").fit(rows)
    theirs = expected.transform(rows)
    signs = np.sign((theirs * points).sum(axis=0))
    np.testing.assert_allclose(points, theirs * signs, atol=1e-8)
    directions = expected.components_ * signs[:, None]
    assert all(direction[np.abs(direction).argmax()] > 0 for direction in directions)


def test_pca_far_from_zero_keeps_its_digits():
    rows = np.random.default_rng(0).normal(size=(300, 8))
    far = project((rows + 1000).astype(np.float32))
    np.testing.assert_allclose(far, project((rows + 1000).astype(np.float32).astype(float) - 1000), atol=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_neighbours_seeds_few_rows_and_copies(method):
    """One test a method, because UMAP compiles itself in every process that calls it."""
    if method != "pca":
        pytest.importorskip(MODULES[method])
    rows, own = blobs()
    for dims in (2, 3):
        told = []
        points = project(rows, method, dims, 0, told.append)
        assert points.shape == (150, dims) and np.isfinite(points).all()
        least = 0.2 if method == "pca" else 0.35
        shuffled = np.random.default_rng(0).permutation(points)
        assert kept_neighbours(rows, points) > least > 2 * kept_neighbours(rows, shuffled)
        nearest = np.linalg.norm(points[:, None] - points[None], axis=2)
        np.fill_diagonal(nearest, np.inf)
        assert (own[nearest.argmin(axis=1)] == own).mean() > 0.98
        assert np.array_equal(points, project(rows, method, dims, 0))
        if method != "pca":
            assert len(told) == 1 and f"150 rows in {dims} dimensions" in told[0]
            assert ("compiles itself first" in told[0]) == (method == "umap")
        for some in (rows[:5], rows[:7], np.repeat(rows[:2], 10, axis=0), np.repeat(rows[:3], 9, axis=0)):
            points = project(some, method, dims)
            assert points.shape == (len(some), dims) and np.isfinite(points).all()
    assert not project(np.repeat(rows[:1], 9, axis=0), method).any(), "equal rows are one point"


def test_the_neighbours_that_umap_is_given_are_the_nearest(monkeypatch):
    from sklearn.neighbors import NearestNeighbors

    monkeypatch.setattr(projection, "_AT_ONCE", 64)
    rows = blobs()[0].astype(float)
    near, apart, _ = projection._nearest(rows, 7)
    distances, places = NearestNeighbors(n_neighbors=7, algorithm="brute").fit(rows).kneighbors(rows)
    assert np.array_equal(near, places)
    np.testing.assert_allclose(apart, distances, atol=1e-5)


def test_pca_of_one_and_two_rows():
    assert project(np.ones((1, 3))).tolist() == [[0.0, 0.0]]
    points = project(np.array([[0.0, 0.0], [0.0, 2.0]]), dims=3)
    np.testing.assert_allclose(points, [[-1, 0, 0], [1, 0, 0]], atol=1e-12)


@pytest.mark.parametrize("method", ["tsne", "umap"])
def test_without_the_package_the_message_says_what_to_install(method, monkeypatch):
    monkeypatch.setattr("uncone.extras.find_spec", lambda name: None)
    with pytest.raises(MissingPackageError, match=r"pip install 'uncone\[maps\]'"):
        project(blobs()[0], method)


def test_bad_input():
    rows = blobs(8)[0]
    with pytest.raises(OptionError, match="no projection 'mds'; choose one of pca, tsne, umap"):
        project(rows, "mds")
    for method, dims in (("pca", 4), ("tsne", 1), ("umap", 0)):
        with pytest.raises(OptionError, match="2 or 3 dimensions"):
            project(rows, method, dims)
    for method, name in (("tsne", "t-SNE"), ("umap", "UMAP")):
        with pytest.raises(ShapeError, match=f"{name} needs at least 5 rows; we got 4. Take PCA"):
            project(rows[:4], method)
    with pytest.raises(ShapeError, match="1 of 8 rows hold NaN"):
        project(np.vstack([rows[:7], np.full((1, rows.shape[1]), np.nan)]))
    with pytest.raises(ShapeError, match="rows x dimensions"):
        project(rows[0])
