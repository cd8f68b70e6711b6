import numpy as np
import pytest

from uncone.data.batch import Batch
from uncone.stats.moments import Moments


def test_against_numpy(cone):
    rows = cone(1000, 9).astype(np.float64)
    moments = Moments(9, dtype=np.float64)
    for start in range(0, 1000, 130):
        moments.update(Batch.of(rows[start : start + 130], first_row=start))
    centered = rows - rows.mean(axis=0)
    np.testing.assert_allclose(moments.mean, rows.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(moments.covariance, np.cov(rows.T), rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(moments.centered.fourth, (np.linalg.norm(centered, axis=1) ** 4).sum(), rtol=1e-11)
    third = (np.linalg.norm(centered, axis=1)[:, None] ** 2 * centered).sum(axis=0)
    np.testing.assert_allclose(moments.centered.third, third, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("offset", [0.0, 10.0, 100.0])
def test_float32_products_keep_their_digits_in_a_narrow_cone(offset):
    """A mean of 100 times the spread: without the shift, float32 is off by 3e-2."""
    rng = np.random.default_rng(1)
    rows = (rng.normal(size=(20_000, 6)) + offset).astype(np.float32)
    moments = Moments(6)
    for start in range(0, len(rows), 512):
        moments.update(Batch.of(rows[start : start + 512], first_row=start))
    exact = np.cov(rows.astype(np.float64).T)
    spread = np.sqrt(np.diag(exact))
    assert np.abs((moments.covariance - exact) / np.outer(spread, spread)).max() < 1e-6


def test_merging_about_different_points(cone):
    rows = cone(400, 5, mean=3.0).astype(np.float64)
    one, other = Moments(5, dtype=np.float64), Moments(5, dtype=np.float64, reference=np.full(5, -2.0))
    one.update(Batch.of(rows[:150]))
    other.update(Batch.of(rows[150:], first_row=150))
    np.testing.assert_allclose(one.merge(other).covariance, np.cov(rows.T), rtol=1e-10)
