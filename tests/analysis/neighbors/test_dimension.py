"""Local intrinsic dimension: that of scikit-dimension, of known shapes, and of spaces that have none."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

from uncone.analysis.neighbors.dimension import AllRows, dimensions_of, lid, two_nn
from uncone.analysis.neighbors.search import nearest


def ball(n, inner=10, outer=100, seed=0):
    """Uniform rows in a ball of few dimensions, turned into many."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, inner))
    rows *= rng.random((n, 1)) ** (1 / inner) / np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows @ np.linalg.qr(rng.normal(size=(outer, inner)))[0].T).astype(np.float32)


def distances_of(rows, k):
    """By scikit-learn, without the row itself."""
    return NearestNeighbors(n_neighbors=k + 1).fit(rows.astype(np.float64)).kneighbors()[0][:, :k]


def by_package(rows, distances):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from skdim.id import MLE

    near = distances, np.zeros(distances.shape, int)
    found = MLE().fit(rows, precomputed_knn_arrays=near, n_neighbors=distances.shape[1], comb="mean")
    return found.dimension_pw_, found.dimension_


@pytest.mark.parametrize("inner", [2, 7])
def test_it_is_that_of_scikit_dimension_on_the_same_neighbors(inner):
    rows = ball(900, inner, 30)
    near = nearest(rows, rows, 60, own=np.arange(900))["euclidean"].distances
    each, mean = by_package(rows, near)
    np.testing.assert_allclose(lid(near), each, rtol=1e-12)
    each, mean = by_package(rows, distances_of(rows, 60))
    np.testing.assert_allclose(lid(near), each, rtol=1e-4)
    found = dimensions_of(rows, k=60, queries=900)["euclidean"]
    assert found.value == pytest.approx(mean, rel=1e-5)
    assert (found.k, found.queries, found.base, found.duplicates) == (60, 900, 900, 0.0)


def test_cosine_is_the_same_on_directions():
    rows = ball(900, 5, 12) + 0.5
    units = rows / np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    _, mean = by_package(rows, distances_of(units, 60))
    assert dimensions_of(rows, k=60, queries=900)["cosine"].value == pytest.approx(mean, rel=1e-4)


def test_two_nn_is_that_of_scikit_dimension():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from skdim.id import TwoNN

    for rows in (ball(1_500, 4, 40), ball(701, 9, 30)):
        expected = TwoNN().fit(rows.astype(np.float64)).dimension_
        assert dimensions_of(rows, queries=len(rows))["euclidean"].two_nn == pytest.approx(expected, rel=1e-4)


def test_a_ten_dimensional_ball_grows_towards_ten():
    """8.4 at 5,000 rows, 8.7 at 20,000, 9.1 at 100,000: the neighbors come closer, and the edge is farther."""
    small = [dimensions_of(ball(5_000, seed=seed), queries=5_000)["euclidean"] for seed in (0, 1, 2)]
    assert round(np.mean([one.value for one in small]), 1) == 8.4
    small, large = small[0], dimensions_of(ball(20_000), queries=2_000)["euclidean"]
    assert round(large.value, 1) == 8.7
    for found in (small, large):
        assert found.paper == found.value / 2
        assert found.low < found.value < found.high and found.high - found.low < 0.2
        assert 8.5 < found.two_nn < 10.5


def test_the_convention_of_the_paper_is_that_of_squared_distances():
    near = np.sort(np.random.default_rng(0).random((20, 50)), axis=1)
    np.testing.assert_array_equal(lid(near, convention="paper"), lid(near) / 2)
    np.testing.assert_allclose(lid(near, convention="paper"), lid(near**2), rtol=1e-12)


def test_the_formula_by_a_loop():
    near = [0.5, 0.7, 1.1, 1.3]
    expected = 1 / np.mean([np.log(near[-1] / r) for r in near[:-1]])
    padded = np.array([[0.0, *near, np.inf]])
    assert lid(padded)[0] == pytest.approx(expected, rel=1e-14)


def test_intervals_cover_the_mean_over_all_rows():
    rows = ball(3_000, 4, 8)
    truth = dimensions_of(rows, queries=3_000)["euclidean"].value
    hits = 0
    for seed in range(60):
        found = dimensions_of(rows, queries=100, seed=seed)["euclidean"]
        hits += found.low <= truth <= found.high
    assert hits >= 53


def test_copies_are_left_out_and_counted():
    rows = ball(2_000, 5, 10)
    copied = np.concatenate([rows, rows[:500], rows[:500]])
    one, other = (dimensions_of(x, queries=3_000) for x in (rows, copied))
    for metric in one:
        assert other[metric].duplicates == pytest.approx(1 / 3) and other[metric].base == 2_000
        assert other[metric].value == pytest.approx(one[metric].value, rel=1e-5)
    assert one["cosine"].duplicates == 0


def test_rows_of_one_direction_are_no_neighbors_by_cosine():
    rows = ball(1_500, 4, 8) + 1
    stretched = np.concatenate([rows, 2 * rows[:700], 3 * rows[:700]])
    near = dimensions_of(stretched, k=90, queries=3_000)["cosine"]
    assert near.value is not None and 2.5 < near.value < 4.5


def test_a_base_that_is_searched_elsewhere():
    rows = ball(3_000, 6, 20)
    whole = dimensions_of(rows, queries=200, seed=3)

    def search(queries, k):
        gaps = np.linalg.norm(queries[:, None].astype(float) - rows, axis=2)
        units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        chords = np.linalg.norm((queries / np.linalg.norm(queries, axis=1, keepdims=True))[:, None] - units, axis=2)
        return {"euclidean": np.sort(gaps)[:, 1 : k + 1], "cosine": np.sort(chords)[:, 1 : k + 1]}, {}

    base = AllRows(search, 3_000, 0.0)
    again = dimensions_of(rows, queries=200, seed=3, base=base)
    for metric, found in whole.items():
        assert again[metric].value == pytest.approx(found.value, rel=1e-5)
        assert again[metric].base == 3_000 and again[metric].recall is None


def nothing(found):
    return all(one.value is None and one.low is None and one.two_nn is None for one in found.values())


def test_spaces_without_a_dimension():
    assert nothing(dimensions_of(np.ones((50, 4), np.float32)))
    assert nothing(dimensions_of(np.arange(8.0).reshape(2, 4)))
    assert nothing(dimensions_of(np.eye(30)))  # all equally far
    found = dimensions_of(np.ones((50, 4), np.float32))["euclidean"]
    assert found.base == 1 and found.duplicates == pytest.approx(0.98)


def test_few_rows_take_all_the_others():
    found = dimensions_of(ball(40, 3, 6))
    assert found["euclidean"].k == 39 and found["euclidean"].value > 0
    assert dimensions_of(ball(3, 2, 2))["euclidean"].k == 2


def test_one_dimension():
    rows = np.random.default_rng(0).random((2_000, 1)) + 1
    found = dimensions_of(rows, queries=2_000)
    assert found["euclidean"].value == pytest.approx(1, abs=0.05)
    assert found["cosine"].value is None  # all point the same way


def test_two_nn_of_nothing():
    assert two_nn(np.array([[0.0, 1.0], [1.0, np.inf]])) is None
    assert two_nn(np.ones((9, 2))) is None


def test_a_cone_is_as_its_rows_about_zero():
    rows = ball(2_500, 6, 20)
    one, other = (dimensions_of(x.astype(np.float32), queries=300)["euclidean"].value for x in (rows, rows + 30.0))
    assert other == pytest.approx(one, rel=1e-3)


def test_the_interval_covers_and_there_is_none_where_nothing_is_local():
    """Rows are shared by neighborhoods, so those of the queries are not independent; copies change nothing."""

    def found(seed, n):
        rng = np.random.default_rng([seed, 1])
        rows = rng.normal(size=(n, 8)) * np.linspace(1.5, 0.5, 8) / np.sqrt(rng.chisquare(5, size=(n, 1)) / 5) + 0.5
        return dimensions_of(np.repeat(rows, 2, axis=0).astype(np.float32), queries=n)

    drawn = [found(seed, 400) for seed in range(40)]
    for name in ("euclidean", "cosine"):
        right = np.mean([one[name].value for one in drawn])
        assert sum(one[name].low <= right <= one[name].high for one in drawn) >= 36
    assert found(0, 150)["euclidean"].low is None
