"""IsoScore*: the published algorithm as another route, its slope by torch, and its interval on many samples."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.covariance import ledoit_wolf_shrinkage

import uncone
from uncone.analysis.intervals.intervals import LEAST_UNITS
from uncone.analysis.space.spectrum.isotropy import isoscore_star


def published(rows, zeta, reference):
    """Rudman and Eickhoff 2024, step by step: shrink, decompose, normalize, defect, score."""
    d = rows.shape[1]
    shrunk = (1 - zeta) * np.cov(rows.T) + zeta * reference
    values = np.linalg.svd(shrunk, compute_uv=False)
    normalized = np.sqrt(d) * values / np.linalg.norm(values)
    defect = np.linalg.norm(normalized - 1) / np.sqrt(2 * (d - np.sqrt(d)))
    dimensions = (d - defect**2 * (d - np.sqrt(d))) ** 2 / d**2
    return (d * dimensions - 1) / (d - 1)


def spread_out(n, d, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) @ np.diag(np.linspace(2, 0.3, d)) @ rng.normal(size=(d, d))


@pytest.mark.parametrize("zeta", [0.0, 0.2, 0.9])
def test_the_published_algorithm(zeta):
    rows, others = spread_out(40, 12), spread_out(500, 12, seed=1)
    covariance, reference = np.cov(rows.T), np.cov(others.T)
    assert isoscore_star(covariance, zeta, reference) == pytest.approx(published(rows, zeta, reference), abs=1e-12)
    ball = np.eye(12) * np.trace(covariance) / 12
    assert isoscore_star(covariance, zeta) == pytest.approx(published(rows, zeta, ball), abs=1e-12)


@pytest.mark.parametrize("reference", [None, np.diag(np.linspace(1, 3, 6))])
def test_it_can_be_differentiated(reference):
    rows = torch.tensor(spread_out(30, 6), requires_grad=True)

    def score(x):
        covariance = torch.cov(x.T)
        return isoscore_star(covariance, 0.2, None if reference is None else torch.tensor(reference))

    assert torch.autograd.gradcheck(score, rows)


@pytest.mark.parametrize("n", [20, 60, 2000])
def test_check_shrinks_as_ledoit_and_wolf(n):
    rows = spread_out(n, 12)
    found = uncone.check(rows, float64=True)["isoscore_star"]
    zeta = ledoit_wolf_shrinkage(rows)
    ball = np.eye(12) * np.trace(np.cov(rows.T)) / 12
    assert found.value == pytest.approx(published(rows, zeta, ball), rel=1e-6)
    assert (found.low is None) == (n < max(2 * 12, LEAST_UNITS))
    assert found.low is None or found.low <= found.value <= found.high


def test_the_interval_covers_the_score_of_the_true_covariance():
    """At the shrinkage of each sample, which the interval takes as given."""
    d, n, hits, runs = 10, 300, 0, 60
    scales = np.linspace(3, 0.5, d)
    for seed in range(runs):
        rows = np.random.default_rng(seed).normal(size=(n, d)) * scales
        found = uncone.check(rows, float64=True)["isoscore_star"]
        truth = isoscore_star(np.diag(scales**2), ledoit_wolf_shrinkage(rows))
        hits += found.low <= truth <= found.high
    # 95 % of 60 is 57; with fewer than 51 hits it would be under 0.95 by more than three standard errors.
    assert hits >= 51


def test_spaces_without_a_score():
    assert uncone.check(np.ones((50, 4)))["isoscore_star"].value == 0.0
    assert uncone.check(np.arange(1.0, 60.0)[:, None])["isoscore_star"].value is None
