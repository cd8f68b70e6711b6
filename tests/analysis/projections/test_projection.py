"""Projections: PCA and SVD against the singular values, neighbors of the others, seeds, small and bad input."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.decomposition import PCA

from uncone.analysis.projections import projection
from uncone.analysis.projections.projection import fit_axes, project, signs_like
from uncone.errors import MissingPackageError, OptionError, ShapeError

MODULES = {"tsne": "openTSNE", "umap": "umap"}
FLAT = ("pca", "svd")


def blobs(n=150, d=20, seed=0):
    rng = np.random.default_rng(seed)
    own = rng.integers(0, 3, n)
    return (rng.normal(size=(n, d)) + (4 * rng.normal(size=(3, d)))[own]).astype(np.float32), own


def kept_neighbors(rows, points, k=10):
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


@pytest.mark.parametrize(("n", "d"), [(200, 12), (10, 40)])
def test_svd_is_not_centered(n, d):
    rows = np.random.default_rng(0).normal(size=(n, d)) * np.linspace(3, 0.2, d) + 5
    left, values, right = np.linalg.svd(rows, full_matrices=False)
    theirs = left[:, :3] * values[:3]
    points = project(rows, "svd", 3)
    np.testing.assert_allclose(points, theirs * np.sign((theirs * points).sum(axis=0)), atol=1e-8)
    found = fit_axes(rows, 3, centered=False)
    assert found.explained == pytest.approx((values[:3] ** 2).sum() / (values**2).sum(), abs=1e-12)
    np.testing.assert_allclose(np.abs(right[:3]), np.abs(found.directions.T), atol=1e-8)


def test_pca_explains_what_scikit_learn_says():
    rows = np.random.default_rng(1).normal(size=(90, 7)) * np.arange(1, 8) + 3
    expected = PCA(2).fit(rows).explained_variance_ratio_.sum()
    assert fit_axes(rows, 2).explained == pytest.approx(expected, abs=1e-12)
    assert fit_axes(rows, 9).explained == pytest.approx(1.0)


@pytest.mark.parametrize("method", FLAT)
def test_many_rows_in_single_precision_and_blocks_are_the_same(method, monkeypatch):
    """Far from zero, in an order where the first block is not like the others; by double precision all at once."""
    rows = np.random.default_rng(0).normal(size=(700, 9)) * np.linspace(2, 0.5, 9) + 50
    rows = rows[rows[:, 0].argsort()].astype(np.float32)
    exact = project(rows.astype(float), method, 3)
    monkeypatch.setattr(projection, "_SMALL", 100)
    monkeypatch.setattr(projection, "_BLOCK", 64)
    found = project(rows, method, 3)
    np.testing.assert_allclose(found, exact, atol=2e-4)
    learned = fit_axes(rows[::2], 3, centered=method == "pca")
    np.testing.assert_allclose(learned.points(rows)[::2], project(rows[::2], method, 3), atol=2e-4)


def test_axes_can_be_turned_to_run_as_others_do():
    rows = np.random.default_rng(0).normal(size=(60, 5)) * np.arange(1, 6) + 2
    points = project(rows, dims=3)
    flipped = points * [1, -1, -1] + 4
    signs = signs_like(flipped, points)
    assert signs.tolist() == [1, -1, -1]
    turned = fit_axes(rows, 3).flipped(signs)
    np.testing.assert_allclose(turned.points(rows), points * signs)
    np.testing.assert_allclose(project(rows, dims=3, axes=turned), points * signs)
    assert signs_like(np.empty((0, 2)), np.empty((0, 2))).tolist() == [1, 1]


def test_a_direction_without_variance_is_no_axis():
    line = np.arange(30.0)[:, None] * np.array([[1.0, 2.0, 2.0]])
    found = fit_axes(line, 3)
    assert not found.directions[:, 1:].any() and found.explained == pytest.approx(1.0)
    assert not project(line, dims=3)[:, 1:].any()


def test_pca_far_from_zero_keeps_its_digits():
    rows = np.random.default_rng(0).normal(size=(300, 8))
    far = project((rows + 1000).astype(np.float32))
    np.testing.assert_allclose(far, project((rows + 1000).astype(np.float32).astype(float) - 1000), atol=1e-6)


@pytest.mark.parametrize("method", ["pca", "svd", "tsne", pytest.param("umap", marks=pytest.mark.exhaustive)])
def test_neighbors_seeds_few_rows_and_copies(method):
    """One test a method, because UMAP compiles itself in every process that calls it."""
    if method not in FLAT:
        pytest.importorskip(MODULES[method])
    rows, own = blobs()
    for dims in (2, 3):
        told = []
        points = project(rows, method, dims, 0, told.append)
        assert points.shape == (150, dims) and np.isfinite(points).all()
        least = 0.2 if method in FLAT else 0.35
        shuffled = np.random.default_rng(0).permutation(points)
        assert kept_neighbors(rows, points) > least > 2 * kept_neighbors(rows, shuffled)
        nearest = np.linalg.norm(points[:, None] - points[None], axis=2)
        np.fill_diagonal(nearest, np.inf)
        assert (own[nearest.argmin(axis=1)] == own).mean() > 0.98
        assert np.array_equal(points, project(rows, method, dims, 0))
        if method not in FLAT:
            assert len(told) == 1 and f"150 vectors in {dims} dimensions" in told[0]
            assert ("compiles itself" in told[0]) == (method == "umap")
        for some in (rows[:5], rows[:7], np.repeat(rows[:2], 10, axis=0), np.repeat(rows[:3], 9, axis=0)):
            points = project(some, method, dims)
            assert points.shape == (len(some), dims) and np.isfinite(points).all()
    assert not project(np.repeat(rows[:1], 9, axis=0), method).any(), "equal rows are one point"


@pytest.mark.parametrize("dims", [2, 3])
@pytest.mark.parametrize(("n", "own"), [(5, False), (90, False), (90, True)])
def test_what_umap_is_given(n, own, dims, monkeypatch):
    """It compiles itself for 15 seconds; here stands another, which says what it was given and where it would begin."""
    given = {}

    class Umap:
        def __init__(self, **settings):
            given.update(settings)

        def fit_transform(self, rows):
            given["rows"] = rows
            return given["init"]

    monkeypatch.setitem(sys.modules, "umap", SimpleNamespace(UMAP=Umap, __spec__=True))
    monkeypatch.setattr(projection, "_EXACT_UMAP", (80 if own else 4_096, 20_000))
    rows, told = blobs(n)[0], []
    points = project(rows, "umap", dims, 7, told.append)
    assert given["n_components"] == dims and given["random_state"] == 7 and given["n_jobs"] == 1
    assert given["n_neighbors"] == min(15, len(rows) - 1) and given["rows"].dtype == np.float32
    assert (given["precomputed_knn"][0] is not None) == own and len(told) == 1 and "compiles itself" in told[0]
    begin = project(rows, "pca", dims)
    np.testing.assert_allclose(points, begin / begin[:, 0].std(), atol=0.01)


def test_the_neighbors_that_umap_is_given_are_the_nearest():
    from sklearn.neighbors import NearestNeighbors

    rows = blobs()[0].astype(float)
    near, apart = projection._nearest(rows, 7)
    distances, places = NearestNeighbors(n_neighbors=7, algorithm="brute").fit(rows).kneighbors(rows)
    assert np.array_equal(near, places)
    np.testing.assert_allclose(apart, distances, rtol=1e-5, atol=1e-5)


def test_pca_of_one_and_two_rows():
    assert project(np.ones((1, 3))).tolist() == [[0.0, 0.0]]
    points = project(np.array([[0.0, 0.0], [0.0, 2.0]]), dims=3)
    np.testing.assert_allclose(points, [[-1, 0, 0], [1, 0, 0]], atol=1e-12)


@pytest.mark.parametrize("method", ["tsne", "umap"])
def test_without_the_package_the_message_says_what_to_install(method, monkeypatch):
    monkeypatch.setattr("uncone.errors.find_spec", lambda name: None)
    with pytest.raises(MissingPackageError, match=r"pip install 'uncone\[maps\]'"):
        project(blobs()[0], method)


def test_bad_input():
    rows = blobs(8)[0]
    with pytest.raises(OptionError, match="no projection 'mds'; choose one of pca, svd, tsne, umap"):
        project(rows, "mds")
    for method, dims in (("pca", 4), ("svd", 4), ("tsne", 1), ("umap", 0)):
        with pytest.raises(OptionError, match="2 or 3 dimensions"):
            project(rows, method, dims)
    for method, name in (("tsne", "t-SNE"), ("umap", "UMAP")):
        with pytest.raises(ShapeError, match=f"{name} needs at least 5 vectors; we got 4. Use PCA"):
            project(rows[:4], method)
    with pytest.raises(ShapeError, match="1 of 8 vectors contain NaN"):
        project(np.vstack([rows[:7], np.full((1, rows.shape[1]), np.nan)]))
    with pytest.raises(ShapeError, match="rows x dimensions"):
        project(rows[0])
