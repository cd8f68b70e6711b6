"""Correlations are scipy's, ties and all; what is undefined is said."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import pearsonr, spearmanr

from uncone.analysis.cosine.units import pair_cosines
from uncone.analysis.intervals.correlation import adjusted_r2, aggregate, pearson, pearson_interval, spearman
from uncone.data.tasks.sts import STS, open_pairs
from uncone.errors import OptionError, ShapeError


@pytest.mark.parametrize("n", [2, 3, 11, 500])
@pytest.mark.parametrize("steps", [2, 6, 10**9])
def test_equal_to_scipy(n, steps):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x = rng.integers(0, steps, n) / 7
        y = x + rng.integers(0, steps, n)
        if len(set(x)) == 1 or len(set(y)) == 1:
            continue
        assert spearman(x, y).value == pytest.approx(spearmanr(x, y).statistic, abs=1e-12)
        assert pearson(x, y).value == pytest.approx(pearsonr(x, y).statistic, abs=1e-12)


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=3, max_size=12))
def test_equal_to_scipy_wherever_it_is_defined(rows):
    x, y = np.array(rows, float).T
    constant = len(set(x)) == 1 or len(set(y)) == 1
    for ours, scipys in ((spearman, spearmanr), (pearson, pearsonr)):
        found = ours(x, y)
        assert (found.value is None) == constant == bool(found.reason)
        if not constant:
            assert found.value == pytest.approx(scipys(x, y).statistic, abs=1e-12)


def test_scales_do_not_matter():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 50))
    for scale in (1e-200, 1e-9, 1e9, 1e150):
        assert pearson(x * scale, y).value == pytest.approx(pearsonr(x, y).statistic, abs=1e-12)


def test_undefined_is_said():
    x = np.arange(5.0)
    assert spearman(x, np.full(5, 0.25)).reason == "the second are all 0.25"
    assert pearson(np.full(5, 2.0), x).reason == "the first are all 2"
    assert spearman(x, [1, 2, np.nan, 3, np.inf]).reason == "2 of 5 of the second are not finite"
    assert spearman([1.0], [2.0]).reason == "a correlation needs two pairs, not 1"
    near = np.array([1.0, np.nextafter(1.0, 2), 1.0, 1.0, 1.0])
    assert pearson(x, near).reason == "the second are all 1 but for rounding"
    assert spearman(x, near).value is not None
    with pytest.raises(ShapeError):
        spearman(x, x[:4])


def naive(gold, predicted, subsets, scipys):
    names = sorted(set(subsets))
    parts = [[at for at, subset in enumerate(subsets) if subset == name] for name in names]
    each = [scipys(gold[part], predicted[part]).statistic for part in parts]
    n = len(gold)
    return (
        scipys(gold, predicted).statistic,
        sum(each) / len(each),
        sum(one * len(part) / n for one, part in zip(each, parts, strict=True)),
    )


@pytest.mark.parametrize("name", STS)
def test_three_aggregations_on_real_sets(name, real_data):
    task = open_pairs(name, real_data)

    def overlap(left, right):
        one, other = set(left.lower().split()), set(right.lower().split())
        return len(one & other) / math.sqrt(len(one) * len(other))

    predicted = np.array([overlap(*pair) for pair in zip(task.left, task.right, strict=True)])
    for kind, scipys in (("spearman", spearmanr), ("pearson", pearsonr)):
        found = aggregate(task.scores, predicted, task.subsets, kind)
        expected = naive(task.scores, predicted, task.subsets, scipys)
        assert (found.all, found.mean, found.wmean) == pytest.approx(expected, abs=1e-12)
        assert found.all > 0.4 and found.n == len(task) and found.reason == ""
        assert sum(one.n for one in found.subsets.values()) == len(task)
    if name.startswith("sts1"):
        assert len({found.all, found.mean, found.wmean}) == 3


def test_a_subset_may_be_undefined():
    gold = np.array([1.0, 2, 3, 1, 2, 3])
    found = aggregate(gold, [1, 2, 3, 5, 5, 5], ["a"] * 3 + ["b"] * 3)
    assert found.all is not None and (found.mean, found.wmean) == (None, None)
    assert found.reason == "in b, the similarities are all 5" and found.subsets["a"].value == 1.0
    found = aggregate(gold, np.ones(6), None)
    assert (found.all, found.mean, found.reason) == (None, None, "the similarities are all 1")
    with pytest.raises(OptionError, match="no correlation 'kendall'"):
        aggregate(gold, gold, None, "kendall")
    with pytest.raises(ShapeError, match="6 pairs but 5 subsets"):
        aggregate(gold, gold, ["a"] * 5)


def test_cosines():
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(2, 20, 5))
    left[3], right[4, 0], right[5] = 0, np.nan, right[5] * 1e-300
    found = pair_cosines(left, right)
    for at, (one, other) in enumerate(zip(left, right, strict=True)):
        if at in (3, 4):
            assert np.isnan(found[at])
        else:
            other = other * (1e300 if at == 5 else 1)
            assert found[at] == pytest.approx(one @ other / math.sqrt((one @ one) * (other @ other)), abs=1e-12)
    with pytest.raises(ShapeError):
        pair_cosines(left, right[:3])


def test_the_interval_of_a_correlation():
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 9, 40).astype(float), rng.normal(size=40)
    assert spearman(x, y).value == pytest.approx(spearmanr(x, y).statistic)
    assert pearson(np.full(40, 0.1), y).value is None
    assert pearson(1e-200 * x, 1e200 * y).value == pytest.approx(pearson(x, y).value)
    assert pearson_interval(np.ones(40), y) == pearson_interval(x[:3], y[:3]) == (None, None)
    assert pearson_interval(y, 2 * y) == pytest.approx((1.0, 1.0), abs=1e-12)  # a dot product of equal numbers
    low, high = pearson_interval(x, y)
    copied = pearson_interval(np.tile(x, 9), np.tile(y, 9), np.tile(np.arange(40), 9))
    assert copied == pytest.approx((low, high), rel=1e-9), "copies add no evidence"


def test_the_interval_of_a_correlation_with_heavy_tails_is_that_of_the_jackknife():
    rng = np.random.default_rng(0)
    y = rng.normal(size=3_000)
    x = y + rng.standard_t(5, 3_000) * np.abs(y)
    without = np.array([pearsonr(np.delete(x, i), np.delete(y, i)).statistic for i in range(len(x))])
    error = np.arctanh(without).std() * np.sqrt(len(x) - 1)
    low, high = np.arctanh(pearson_interval(x, y))
    assert 1.96 * error > 1.3 * 1.96 / np.sqrt(len(x) - 3), "wider than for normal columns"
    assert (high - low) / 2 == pytest.approx(1.96 * error, rel=0.04)


def test_r2_of_columns_that_say_the_same():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=50), rng.normal(size=50)
    once = adjusted_r2(y, [x])
    assert once == pytest.approx(1 - (1 - pearsonr(x, y).statistic ** 2) * 49 / 48)
    assert adjusted_r2(y, [x, 2 * x, np.ones(50)]) == pytest.approx(once)
    assert adjusted_r2(np.ones(50), [x]) is None and adjusted_r2(y, []) is None
    assert adjusted_r2(y[:4], [rng.normal(size=4) for _ in range(3)]) is None
