"""The nearest neighbors as a statistic are those of a plain search, whatever was known beforehand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import uncone
from uncone.analysis.neighbors import neighborhood
from uncone.analysis.neighbors.top_k import NearestDistances, NearestRows
from uncone.data.batch import Batch
from uncone.data.vectors.memory import in_memory
from uncone.run.measure import Plan, measure


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(5)
    rows = (rng.normal(size=(40_000, 7)) * np.linspace(3, 0.5, 7) + 2).astype(np.float32)
    rows[30_000:33_000] = rows[:3_000]
    rows[20_000] = np.inf
    rows[20_001] = 0
    return rows


def naive(rows, queries, k):
    """The k smallest distances that are not zero, of the distinct usable vectors."""
    usable = np.unique(rows[np.isfinite(rows).all(axis=1) & rows.any(axis=1)].astype(np.float64), axis=0)
    queries = queries.astype(np.float64)
    units, directions = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (usable, queries))
    results = {}
    for name, base, asking in (("euclidean", usable, queries), ("cosine", units, directions)):
        distances = np.stack([np.sort(np.linalg.norm(base - query, axis=1)) for query in asking])
        results[name] = np.stack([row[row > 1e-7][:k] for row in distances])
    return results


@pytest.mark.parametrize("limited", [False, True])
@pytest.mark.parametrize("workers", [1, 3])
def test_of_a_stream(rows, limited, workers):
    queries, k = rows[100::2_500], 20
    empty = NearestDistances(queries, k, copies=True)
    if limited:
        first = measure(in_memory(rows[:2_000]), empty)
        empty = NearestDistances(queries, k, limits=first.largest, copies=True)
    near = measure(in_memory(rows), empty, Plan(workers))
    for name, expected in naive(rows, queries, k).items():
        np.testing.assert_allclose(near.distances[name], expected, rtol=1e-4)


def test_copies_count_once_wherever_they_are(rows):
    """In one batch, in several, and in parts that are merged in any order."""
    parts = [rows[:300], rows[200:400], np.repeat(rows[:5], 100, axis=0), rows[:10]]
    expected = naive(rows[:400], rows[:4], 9)
    for order in itertools.permutations(range(4)):
        merged = NearestDistances(rows[:4], 9, copies=True)
        for place in order:
            part = merged.empty()
            part.update(Batch.of(parts[place]))
            merged = merged.merge(part)
        for name, distances in expected.items():
            np.testing.assert_allclose(merged.distances[name], distances, rtol=1e-4)


def test_limits_that_were_too_low_are_noticed(rows, monkeypatch):
    monkeypatch.setattr(neighborhood, "_MOST_QUERIES", 100)
    expected = uncone.check(rows, deep=True).findings
    low = property(lambda near: 0.5 * near.scores[:, :, -1])
    monkeypatch.setattr(NearestDistances, "largest", low)
    again = uncone.check(rows, deep=True).findings
    for name in ("lid_euclidean", "lid_cosine"):
        assert again[name].value == pytest.approx(expected[name].value, rel=1e-9)


@pytest.mark.parametrize("offset", [0.0, 30.0])
def test_the_nearest_rows_are_those_of_double_precision(offset):
    """In a narrow cone too, where all cosines are above 0.998; with copies, and a query that has no direction."""
    rng = np.random.default_rng(3)
    base = (rng.normal(size=(5_000, 24)) + offset).astype(np.float32)
    base[3_000:3_040] = base[10]
    queries = np.concatenate([base[10:14] + np.float32(0.1), np.zeros((1, 24), np.float32)])
    near = NearestRows(queries, 60)
    for start in range(0, 5_000, 700):
        near.update(Batch.of(base[start : start + 700], first_row=start))
    units = base / np.linalg.norm(base.astype(np.float64), axis=1, keepdims=True)
    for query, rows, cosines in zip(queries[:4].astype(np.float64), near.rows, near.cosines, strict=False):
        exact = np.array([unit @ query for unit in units]) / np.linalg.norm(query)
        order = np.lexsort((np.arange(5_000), -exact.round(13)))[:60]
        assert rows.tolist() == order.tolist()
        np.testing.assert_allclose(cosines, exact[order], rtol=1e-12)
    assert (near.rows[4] == -1).all()
