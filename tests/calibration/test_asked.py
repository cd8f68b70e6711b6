"""What a score means: how many unrelated pairs reach it, with bounds that hold, and shares of labelled pairs."""

from __future__ import annotations

import numpy as np
import pytest

from uncone.calibration.asked import ask, rate_bounds
from uncone.calibration.background import background_of
from uncone.calibration.calibration import Calibration
from uncone.data.memory import ArrayVectors


def rows_of(n, seed, d=12):
    return (np.random.default_rng(seed).normal(size=(n, d)) + 0.6).astype(np.float32)


def background(n, seed):
    return background_of(ArrayVectors(rows_of(n, seed)), name="rows", rates=(0.01,), seed=seed)


def share_of_all(score, n=3_000):
    u = rows_of(n, 10_000).astype(np.float64)
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    return float(((u @ u.T)[np.triu_indices(n, 1)] >= score).mean())


@pytest.mark.parametrize("score", [0.4, 0.7])
def test_the_bounds_of_a_rate_hold(score):
    truth = share_of_all(score)
    held = 0
    for seed in range(100):
        low, high = rate_bounds(background(200, seed), score)
        held += low <= truth <= high
    assert held >= 88, "95 in a hundred, give or take chance"


def test_beyond_all_pairs():
    one = background(200, 0)
    low, high = rate_bounds(one, 1.0)
    assert low == 0 and 0 < high < 0.01
    assert rate_bounds(one, -1.0)[1] == 1.0


def test_labelled_shares():
    calibration = Calibration({"name": "rows"}, [background(200, 0)], corpus_size=1_000)
    found = ask(calibration, 0.5, [1, 1, 0, 0, 0], [0.9, 0.5, 0.6, 0.1, 0.4])
    assert (found.found.value, found.let_through.value, found.precision.value) == (1.0, 1 / 3, 2 / 3)
    assert found.hits == pytest.approx(1_000 * found.rate) and found.probability is None
    none = ask(calibration, 0.99, [1, 0], [0.9, 0.1])
    assert none.found.value == 0.0 and none.precision.value is None and none.to_dict()["score"] == 0.99
