"""The bootstrap by counts is the bootstrap by rows, exactly; and its stars are rarely luck."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from uncone.analysis.intervals import pair_units, resampling
from uncone.analysis.intervals.bootstrap import Replicates, bootstrap, differences
from uncone.analysis.intervals.resampling import bounds, drawn_counts
from uncone.errors import OptionError, ShapeError


def example(n=60, methods=4, seed=0):
    rng = np.random.default_rng(seed)
    gold = rng.integers(0, 11, n) / 2
    predicted = gold + rng.normal(size=(methods, n)) * np.arange(1, methods + 1)[:, None]
    predicted[-1] = predicted[-1].round()  # ties here too
    return gold, predicted


def all_counts(n, replicates, seed):
    return np.concatenate(list(drawn_counts(n, replicates, seed)))


def test_equal_to_scipy_on_the_drawn_rows(stretched):
    gold, predicted = example()
    found = bootstrap(gold, predicted, replicates=50, seed=3)
    assert found.values.shape == (4, 50) and found.n == found.units == 60
    drawn = [np.repeat(np.arange(60), counts) for counts in all_counts(60, 50, 3)]
    expected = np.array([[spearmanr(gold[rows], row[rows]).statistic for rows in drawn] for row in predicted])
    assert found.values == pytest.approx(centered(stretched(expected, found.scores, 60), found.scores), abs=1e-5)
    assert found.scores == pytest.approx([spearmanr(gold, row).statistic for row in predicted], abs=1e-12)


def centered(values, scores):
    return values + (scores - values.mean(axis=1))[:, None]


def test_blocks_and_companions_do_not_change_the_draw(monkeypatch):
    gold, predicted = example()
    whole = bootstrap(gold, predicted, replicates=50).values
    alone = bootstrap(gold, predicted[1], replicates=50).values
    assert np.array_equal(whole[1], alone[0])
    assert np.array_equal(whole, bootstrap(gold, predicted, replicates=50).values)
    assert not np.array_equal(whole, bootstrap(gold, predicted, replicates=50, seed=1).values)
    for cells in (1, 60 * 7, 60 * 49):
        monkeypatch.setattr(resampling, "CELLS", cells)
        monkeypatch.setattr(pair_units, "CELLS", cells)
        assert np.array_equal(whole, bootstrap(gold, predicted, replicates=50).values)


def test_counts_are_multinomial():
    counts = all_counts(50, 4000, 0)
    assert (counts.sum(axis=1) == 50).all() and (counts >= 0).all()
    assert counts.mean(axis=0) == pytest.approx(np.ones(50), abs=5 * np.sqrt(0.98 / 4000))
    assert counts.var() == pytest.approx(0.98, abs=0.02)


def test_undefined_replicates():
    gold, predicted = example(12)
    predicted[0] = [1.0] + [0.0] * 11  # often not drawn at all
    predicted[1] = 0.5
    predicted[2, 3] = np.nan
    found = bootstrap(gold, predicted[[3, 0, 1, 2]], replicates=200)
    missed = all_counts(12, 200, 0)[:, 0] == 0
    assert np.array_equal(np.isnan(found.values[1]), missed) and missed.any()
    assert np.isnan(found.values[2:]).all() and np.isnan(found.scores[2:]).all()
    assert np.isfinite(found.values[0]).all()
    gains = differences(found)
    assert [gain.value for gain in gains] == [0.0, None, None, None]
    assert not any(gain.significant for gain in gains)


def test_differences():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=1000) / 100
    raw = 0.5 + rng.normal(size=1000) / 10
    values = np.stack([raw, raw + 0.05 + noise, raw - 0.001 + noise, raw - 0.08 + noise])
    found = differences(Replicates(np.array([0.5, 0.55, 0.499, 0.42]), values, 100, 100))
    assert [gain.value for gain in found] == pytest.approx([0.0, 0.05, -0.001, -0.08])
    assert [gain.significant for gain in found] == [False, True, False, True]
    low, high = np.quantile(noise + 0.05, [0.025, 0.975])
    assert (found[1].low, found[1].high) == pytest.approx((low, high))
    assert (found[0].low, found[0].high, found[0].p) == (0.0, 0.0, 1.0)
    wide = differences(Replicates(np.array([0.5, 0.55, 0.499, 0.42]), values, 100, 100), level=0.99)
    assert wide[1].low < found[1].low and wide[1].high > found[1].high


def test_corrections():
    """Shares of replicates beyond zero that are significant alone, in three, and in three after others were."""
    r = 1000

    def gain(beyond):
        return np.where(np.arange(r) < beyond, -1.0, 1.0 + np.arange(r) / r)

    # Two-sided p-values of .008, .04 and .044 before correction.
    values = np.stack([np.zeros(r), gain(3), gain(19), gain(21)])
    scores = np.array([0.0, 1.0, 1.0, 1.0])
    plain = np.array([2 * (beyond + 1) / (r + 1) for beyond in (3, 19, 21)])
    expected = {
        "none": plain,
        "bonferroni": plain * 3,
        "holm": np.array([plain[0] * 3, plain[1] * 2, max(plain[1] * 2, plain[2])]),
    }
    for correction, values_of_p in expected.items():
        found = differences(Replicates(scores, values, 10, 30), correction=correction)[1:]
        assert [one.p for one in found] == pytest.approx(values_of_p)
        assert [one.significant for one in found] == [p <= 0.05 for p in values_of_p]


def test_many_methods_can_still_be_proven():
    rng = np.random.default_rng(1)
    values = np.concatenate([np.zeros((1, 1000)), 0.3 + rng.normal(size=(200, 1000)) / 20])
    found = differences(Replicates(np.r_[0, np.full(200, 0.3)], values, 10, 30))
    assert all(one.significant and one.units == 30 for one in found[1:])
    few = differences(Replicates(np.r_[0, np.full(200, 0.3)], values, 1000, 29))
    assert not any(one.significant for one in few) and few[1].low > 0


def test_stars_are_rarely_luck_and_intervals_cover():
    """Two methods of equal worth, and one that is better: 200 benchmarks of 80 pairs."""
    rng = np.random.default_rng(0)
    stars, covered, found = 0, 0, 0
    for _ in range(200):
        truth = rng.normal(size=80)
        shared = rng.normal(size=80)
        predicted = truth + 0.5 * shared + rng.normal(size=(3, 80)) * np.array([[1.0], [1.0], [0.3]])
        gains = differences(bootstrap(truth, predicted, replicates=200))
        stars += gains[1].significant
        covered += gains[1].low <= 0 <= gains[1].high
        found += gains[2].significant
    assert stars <= 16 and covered >= 178 and found >= 150


def test_bad_input():
    gold, predicted = example()
    with pytest.raises(ShapeError):
        bootstrap(gold, predicted[:, :50])
    with pytest.raises(OptionError, match="0 replicates"):
        bootstrap(gold, predicted, replicates=0)
    found = bootstrap(gold, predicted, replicates=20)
    with pytest.raises(OptionError, match="no correction 'fdr'"):
        differences(found, correction="fdr")
    with pytest.raises(OptionError, match="between 0 and 1"):
        bounds(found.values[0], 95)
