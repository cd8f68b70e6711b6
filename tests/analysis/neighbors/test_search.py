"""The nearest rows are those of a plain search in double precision, whatever the shape of the space."""

from __future__ import annotations

import numpy as np
import pytest

from uncone.analysis.neighbors import search as neighbors
from uncone.analysis.neighbors.search import Near, approximate, nearest

METRICS = ("euclidean", "cosine", "dot")


def naive(base, queries, metric):
    """All distances by differences of the rows, one query at a time."""
    base, queries = base.astype(np.float64), queries.astype(np.float64)
    if metric == "dot":
        return -(queries @ base.T)
    if metric == "cosine":
        base = base / np.linalg.norm(base, axis=1, keepdims=True)
        queries = queries / np.linalg.norm(queries, axis=1, keepdims=True)
    return np.stack([np.linalg.norm(base - query, axis=1) for query in queries])


def spaces():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(5_000, 24)) * np.linspace(1, 0.1, 24)
    far = rows + 1_000 * rng.normal(size=24)
    sinks = rows.copy()
    sinks[:40] += 800
    lengths = rows * np.exp(rng.normal(size=(5_000, 1)))
    blobs = rows * 0.01 + rng.normal(size=(5, 24))[rng.integers(0, 5, 5_000)]
    return {
        "about zero": rows.astype(np.float32),
        "a narrow cone": far.astype(np.float32),
        "sinks": sinks.astype(np.float32),
        "all lengths": lengths.astype(np.float32),
        "tight blobs": blobs.astype(np.float32),
        "huge numbers": rows * 1e30 + 1e31,
        "tiny numbers": rows * 1e-25,
        "half precision": rows.astype(np.float16),
    }


SPACES = spaces()


# The products of sinks with each other differ by less than a float32 can hold.
CASES = [(name, metric) for name in SPACES for metric in METRICS if (name, metric) != ("sinks", "dot")]


@pytest.mark.parametrize(("name", "metric"), CASES)
def test_the_nearest_are_those_of_a_plain_search(name, metric):
    rows, k = SPACES[name], 30
    own = np.array([0, 3, 39, 40, 2_047, 2_048, *range(1_100, 1_300), 4_999])
    found = nearest(rows, rows[own], k, metrics=METRICS, own=own)[metric]
    true = naive(rows, rows[own], metric)
    true[np.arange(len(own)), own] = np.inf
    expected = np.sort(true, axis=1)[:, :k]
    expected = -expected if metric == "dot" else expected
    # Where two rows are equally far to six digits either may come first; the distances tell.
    np.testing.assert_allclose(found.distances, expected, rtol=2e-5, atol=1e-6 * np.abs(expected).max())
    there = np.take_along_axis(true, found.places, axis=1)
    np.testing.assert_allclose(-there if metric == "dot" else there, expected, rtol=2e-5, atol=1e-6 * expected.max())
    assert (np.argsort(true, axis=1, kind="stable")[:, :k] == found.places).mean() > 0.99
    assert not (found.places == own[:, None]).any()


def test_blocks_arrays_and_readers_give_the_same_digits():
    rows = SPACES["about zero"]
    queries = rows[:70]
    whole = nearest(rows, queries, 20)
    cuts = range(0, 5_000, neighbors._TILE)
    parts = [rows[start : start + neighbors._TILE] for start in cuts]
    for base in (parts, iter(parts), [lambda part=part: iter([part]) for part in parts]):
        again = nearest(base, queries, 20)
        for metric, found in whole.items():
            np.testing.assert_array_equal(again[metric].places, found.places)
            np.testing.assert_array_equal(again[metric].distances, found.distances)
    uneven = nearest([rows[:1], rows[1:1], rows[1:3_333], rows[3_333:]], queries, 20)
    for metric, found in whole.items():
        np.testing.assert_allclose(uneven[metric].distances, found.distances, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("metric", METRICS)
def test_rows_in_double_precision_keep_it(metric):
    rows = SPACES["all lengths"].astype(np.float64)
    found = nearest(rows, rows[:60], 40, metrics=(metric,), own=np.arange(60))[metric]
    true = naive(rows, rows[:60], metric)
    true[np.arange(60), np.arange(60)] = np.inf
    expected = np.sort(true, axis=1)[:, :40]
    np.testing.assert_allclose(found.distances, -expected if metric == "dot" else expected, rtol=1e-11)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_the_number_of_threads_changes_no_digit(threads, monkeypatch):
    rows = SPACES["all lengths"]
    expected = nearest(rows, rows[:300], 40)
    monkeypatch.setattr("uncone.run.threads.cores", lambda: threads)
    for metric, found in nearest(rows, rows[:300], 40).items():
        np.testing.assert_array_equal(found.places, expected[metric].places)
        np.testing.assert_array_equal(found.distances, expected[metric].distances)


def test_rows_that_come_ever_closer_are_all_found():
    """The worst order for a limit that shrinks: every later row is nearer."""
    rows = np.outer(np.linspace(50, 1, 9_000), np.ones(3)).astype(np.float32)
    found = nearest(rows, np.zeros((2, 3), np.float32), 25, metrics=("euclidean",))["euclidean"]
    np.testing.assert_array_equal(found.places, np.tile(np.arange(8_999, 8_974, -1), (2, 1)))


def test_equal_distances_go_by_place():
    rows = np.eye(3_000, 40, dtype=np.float32)
    rows[np.arange(3_000), np.arange(3_000) % 40] = 1.0
    found = nearest(rows, rows[:1], 100, metrics=("euclidean",), own=np.zeros(1, np.int64))["euclidean"]
    copies = np.arange(40, 3_000, 40)
    np.testing.assert_array_equal(found.places[0, : len(copies)], copies)
    others = [i for i in range(3_000) if i % 40][: 100 - len(copies)]
    np.testing.assert_array_equal(found.places[0, len(copies) :], others)


def test_distinct_leaves_out_what_is_equal_but_for_rounding():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(4_000, 10)).astype(np.float32)
    rows[1:900] = rows[0]  # more copies than are asked for
    rows[900:950] = rows[0] * (1 + 1e-7)
    rows[950:970] = rows[0] * 3
    found = nearest(rows, rows[np.r_[0, 1_000:1_020]], 50, distinct=True)
    found = {metric: Near(near.places[:1], near.distances[:1]) for metric, near in found.items()}
    assert (found["euclidean"].places >= 950).all() and (found["cosine"].places >= 970).all()
    true = naive(rows, rows[:1], "cosine")[0]
    np.testing.assert_allclose(found["cosine"].distances[0], np.sort(true[970:])[:50], rtol=1e-5)


def test_fewer_rows_than_asked_for():
    rows = np.arange(6.0).reshape(3, 2)
    found = nearest(rows, rows, 5, own=np.arange(3))["euclidean"]
    assert found.places.shape == (3, 5)
    assert (found.places[:, 2:] == -1).all() and np.isinf(found.distances[:, 2:]).all()
    assert np.isfinite(found.distances[:, :2]).all()


def test_a_graph_finds_most_and_says_how_many():
    rows = SPACES["about zero"]
    queries = rows[::50]
    found, recall = approximate(lambda: [rows[:3_000], lambda: [rows[3_000:]]], queries, 20, 0)
    exact = nearest(rows, queries, 20, distinct=True)
    for metric in ("euclidean", "cosine"):
        hits = np.mean(
            [len(set(a) & set(b)) / 20 for a, b in zip(found[metric].places, exact[metric].places, strict=True)]
        )
        assert 0.9 < recall[metric] <= 1.0 and recall[metric] == pytest.approx(hits, abs=0.05)
        assert (found[metric].distances > 0).all()
        assert (found[metric].distances >= exact[metric].distances * (1 - 1e-4)).all()
