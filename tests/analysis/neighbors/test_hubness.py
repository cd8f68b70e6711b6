"""Hubness equals a naive count, and finds the rows that answer everything."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import skew

from uncone.analysis.neighbors.neighborhood import UNEVEN, has_hubs, hubness_of, skewness


def counted(rows, k):
    """How often each row is among the k nearest of another: a double loop."""
    units = rows.astype(np.float64) / np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    counts = np.zeros(len(rows), int)
    for i in range(len(rows)):
        order = sorted((j for j in range(len(rows)) if j != i), key=lambda j: -float(units[i] @ units[j]))
        for j in order[:k]:
            counts[j] += 1
    return counts


@pytest.mark.parametrize("k", [3, 10])
def test_it_equals_a_naive_count(cone, k):
    rows = cone(250, 12)
    counts = counted(rows, k)
    found = hubness_of(rows, k=k)
    assert found.skew == pytest.approx(skew(counts), rel=1e-12)
    assert found.antihubs == np.mean(counts == 0)
    assert found.top_share == np.sort(counts)[-3:].sum() / counts.sum()
    worst = sorted(range(250), key=lambda i: (-counts[i], i))[:5]
    assert [(hub.row, hub.count) for hub in found.hubs] == [(i, counts[i]) for i in worst]
    assert (found.k, found.n) == (k, 250)
    assert found.low < found.skew < found.high


def test_hubs_by_name():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(600, 40)).astype(np.float32)
    rows[123] = rows.mean(axis=0) + 0.02 * rng.normal(size=40)
    rows[:] += 3 * rows[123] / np.linalg.norm(rows[123])
    found = hubness_of(rows, name=lambda place: f"text {place}", numbers=1_000 + np.arange(600))
    assert (found.hubs[0].row, found.hubs[0].text) == (1_123, "text 123")
    assert found.hubs[0].count > 150 and found.skew > 5


def test_directions_on_a_sphere_have_no_hubs():
    found = hubness_of(np.random.default_rng(0).normal(size=(2_000, 100)))
    assert abs(found.skew) < 0.6 and found.low < found.skew < found.high


def test_a_sample_is_seeded_and_keeps_its_row_numbers(cone):
    rows = cone(900, 10)
    one, again, other = (hubness_of(rows, rows=300, seed=seed) for seed in (1, 1, 2))
    assert one == again and one != other and one.n == 300
    places = np.sort(np.random.default_rng(1).permutation(900)[:300])
    counts = counted(rows[places], 10)
    assert one.hubs[0].row == places[counts.argmax()] and one.hubs[0].count == counts.max()


def test_too_few_rows_or_all_alike():
    for n in (2, 11):
        found = hubness_of(np.random.default_rng(0).normal(size=(n, 4)))
        assert found.skew is None and found.antihubs is None and not found.hubs and found.n == n
    assert hubness_of(np.random.default_rng(0).normal(size=(12, 4))).skew is not None
    same = hubness_of(np.ones((40, 3)))
    assert same.skew is None and same.n == 1, "copies are one row"


def test_skewness_of_a_constant():
    assert skewness(np.full(9, 10)) is None


def test_intervals_cover_what_other_samples_say():
    rng = np.random.default_rng(0)

    def sample():
        return rng.normal(size=(400, 12)) * np.linspace(2, 0.2, 12) + 0.5

    found = [hubness_of(sample()) for _ in range(120)]
    truth = np.mean([one.skew for one in found])
    hits = sum(one.low <= truth <= one.high for one in found)
    assert hits / 120 > 0.85


def test_copies_of_rows_make_no_hubs():
    """Copies are each other's nearest, and which of them come first is chance."""
    rows = np.random.default_rng(0).normal(size=(300, 32))
    found = hubness_of(np.repeat(rows, 10, axis=0))
    assert found.n == 300 and found.skew == hubness_of(rows).skew and not has_hubs(found)
    equal = hubness_of(np.ones((500, 8)))
    assert (equal.skew, equal.n) == (None, 1) and not has_hubs(equal)
    numbers = 7 * np.arange(3_000)
    named = hubness_of(np.repeat(rows, 10, axis=0), name=str, numbers=numbers)
    assert all(hub.row % 70 == 0 and int(hub.text) * 7 == hub.row for hub in named.hubs), "the first of the copies"


@pytest.mark.parametrize("rows", [np.eye(200), np.eye(200) + 1.0], ids=["orthogonal", "in a cone"])
def test_equal_cosines_make_no_hubs(rows):
    """Every row is equally far from every other: which ten come first says nothing."""
    found = hubness_of(rows.astype(np.float32))
    assert found.skew < UNEVEN and not has_hubs(found)
    assert found.hubs[0].count < 40
