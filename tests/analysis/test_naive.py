"""The findings equal naive computations: double loops, numpy, scipy, the IsoScore package."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.special import logsumexp

from uncone import check

SPACES = [(300, 12, 1.0), (150, 20, 0.3), (40, 6, 2.0), (500, 3, 0.0), (30, 50, 1.0)]


@pytest.fixture(params=SPACES, ids=lambda p: f"{p[0]}x{p[1]} mean {p[2]}")
def rows(request, cone):
    n, d, mean = request.param
    return cone(n, d, mean, seed=n + d)


@pytest.fixture
def found(rows):
    return check(rows, float64=True)


def exact(rows):
    return rows.astype(np.float64)


def eigenvalues(rows):
    return np.sort(np.linalg.eigvalsh(np.cov(exact(rows).T)))[::-1].clip(min=0)


def units(rows):
    return exact(rows) / np.linalg.norm(exact(rows), axis=1, keepdims=True)


def test_baseline_by_a_double_loop(rows, found):
    u, n = units(rows), len(rows)
    cosines = [float(u[i] @ u[j]) for i in range(n) for j in range(i)]
    assert found["baseline"].value == pytest.approx(np.mean(cosines), rel=1e-9, abs=1e-12)
    quantiles = found["pair_cosine_quantiles"].value
    for p, value in quantiles.items():
        # Every pair is seen from both of its ends.
        assert value == pytest.approx(np.quantile(np.repeat(cosines, 2), float(p)), rel=1e-9, abs=1e-12)
    kernel = np.exp(-2 * np.array([2 - 2 * c for c in cosines]))
    assert found["uniformity"].value == pytest.approx(np.log(kernel.mean()), rel=1e-9)


def test_contributions_by_a_double_loop(rows, found):
    u, n = units(rows), len(rows)
    total = sum(u[i] * u[j] for i in range(n) for j in range(n) if i != j) / (n * (n - 1))
    np.testing.assert_allclose(found.pictures.contributions, total, rtol=2e-5, atol=1e-9)
    if total.sum() < 0.05:
        assert found["rogue_share_1"].value is None
    else:
        shares = np.sort(total)[::-1] / total.sum()
        for k in (1, 3, 5):
            assert found[f"rogue_share_{k}"].value == pytest.approx(shares[:k].sum(), rel=1e-9)


def test_spectrum(rows, found):
    values = eigenvalues(rows)
    shares = values / values.sum()
    positive = shares[shares > 1e-14]
    assert found["effective_rank"].value == pytest.approx(np.exp(-(positive * np.log(positive)).sum()), rel=1e-9)
    assert found["participation_ratio"].value == pytest.approx(1 / (shares**2).sum(), rel=1e-9)
    assert found["top1_share"].value == pytest.approx(shares[0], rel=1e-9)
    assert found["top10_share"].value == pytest.approx(shares[:10].sum(), rel=1e-9)
    if len(rows) > rows.shape[1]:
        assert found["condition_number"].value == pytest.approx(values[0] / values[-1], rel=1e-8)
    else:
        assert found["condition_number"].value is None


def test_isoscore_is_that_of_the_package(rows, found):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from IsoScore.IsoScore import IsoScore
    # Inside, the package takes the square root of the dimension in float32.
    assert found["isoscore"].value == pytest.approx(float(IsoScore(exact(rows))), abs=2e-6)


def test_corrected_isoscore_does_not_depend_on_n():
    """Isotropic in 100 dimensions: the plain score reads 0.5 at n = 100 and 0.8 at n = 400."""
    rng = np.random.default_rng(0)
    for n in (100, 400):
        scores = [check(rng.normal(size=(n, 100)), float64=True) for _ in range(5)]
        assert np.mean([s["isoscore"].value for s in scores]) < 0.85
        assert np.mean([s["isoscore_corrected"].value for s in scores]) == pytest.approx(1.0, abs=0.02)


def test_correction_holds_for_heavy_tails():
    rng = np.random.default_rng(1)
    spectrum = np.linspace(1, 4, 30)
    truth = (spectrum.sum() ** 2 / (spectrum**2).sum() - 1) / 29
    values = []
    for _ in range(40):
        rows = rng.normal(size=(60, 30)) * np.sqrt(spectrum) / np.sqrt(rng.chisquare(8, size=(60, 1)) / 6)
        values.append(check(rows, float64=True)["isoscore_corrected"].value)
    assert np.mean(values) == pytest.approx(truth, abs=0.02)


def test_partition_isotropy_with_both_signs(rows, found):
    x = exact(rows)
    _, directions = np.linalg.eigh(x.T @ x)
    for name, scale in (("", 1.0), ("_unit", 1 / np.linalg.norm(x, axis=1).mean())):
        z = [logsumexp(sign * scale * (x @ c)) for c in directions.T for sign in (1, -1)]
        expected = (min(z) - max(z)) / np.log(10)
        assert found[f"partition_isotropy{name}_log10"].value == pytest.approx(expected, rel=1e-7)


def test_mean_and_norms(rows, found):
    x = exact(rows)
    rms = np.sqrt((x**2).sum(axis=1).mean())
    assert found["mean_over_rms"].value == pytest.approx(np.linalg.norm(x.mean(axis=0)) / rms, rel=1e-9)
    assert found["norm_mean"].value == pytest.approx(np.linalg.norm(x, axis=1).mean(), rel=1e-9)


def test_score_share(rows):
    u, n = units(rows), len(rows)
    cosines = np.array([u[i] @ u[j] for i in range(n) for j in range(i)])
    found = check(rows, scores=[0.25], float64=True)
    assert found.scores[0].beaten_by == pytest.approx((cosines > 0.25).mean(), abs=1e-12)


def test_closest_to_everything_by_name(cone):
    rows = cone(200, 8)
    u = units(rows)
    means = [(u[i] @ u.sum(axis=0) - 1) / 199 for i in range(200)]
    found = check(rows, texts=[f"word {i}" for i in range(200)])["central_rows"]
    assert found.rows[0]["text"] == f"word {int(np.argmax(means))}"
    assert found.value == pytest.approx(max(means), rel=1e-5)
