"""Bounds as people write them, and near-duplicates: a credible count, or a sentence that cosine can't detect them."""

from __future__ import annotations

import numpy as np
import pytest

from uncone.analysis.calibration.background import survey
from uncone.analysis.calibration.results import Background
from uncone.analysis.calibration.thresholds import percentile_at
from uncone.analysis.cosine.units import units_of
from uncone.analysis.similarity.filters import bounds, crowd_at, duplicate_bound, equal_pairs, parse_bound, same_text
from uncone.data.vectors.memory import ArrayVectors
from uncone.errors import OptionError


@pytest.fixture(scope="module")
def values():
    return np.sort(np.random.default_rng(0).normal(0.4, 0.1, 20_001).clip(-1, 1))


@pytest.fixture(scope="module")
def background(values):
    tails = np.array([0.99, 0.9, 0.5, 0.25, 0.1, 0.05, 0.01, 0.001])
    scores = np.quantile(values, 1 - tails)
    return Background("made", 500, None, 1, 20_001, 0.4, 0.39, 0.41, 0.1, tails, scores, scores, scores, {})


@pytest.mark.parametrize("text, value", [("0.8", 0.8), (" -1 ", -1.0), (1, 1.0), ("1e-1", 0.1), (0.25, 0.25)])
def test_a_cosine_is_itself(text, value):
    assert parse_bound(text) == value


@pytest.mark.parametrize("percent", [10, 50, 90, 95, 99, 99.9])
def test_a_percentile_is_that_of_the_background(percent, values, background):
    found = parse_bound(f"p{percent:g}", background)
    assert found == pytest.approx(np.quantile(values, percent / 100), abs=1e-12)
    assert parse_bound(f"P{percent:g}", background) == found
    assert percentile_at(background, found) == pytest.approx(percent)


def test_between_the_known_percentiles_it_is_interpolated(values, background):
    found = parse_bound("p93", background)
    assert np.quantile(values, 0.90) < found < np.quantile(values, 0.95)
    assert percentile_at(background, [found, -1.0, 1.0]).tolist() == pytest.approx([93, 0, 100])
    assert parse_bound("p0", background) == -1.0


@pytest.mark.parametrize(
    "text, said",
    [
        ("1.5", "between -1 and 1. For the percentile write p1.5"),
        ("95", "For the percentile write p95"),
        ("-2", "between -1 and 1"),
        ("inf", "between -1 and 1"),
        ("nan", "percentile of the background such as p99; this is 'nan'"),
        ("", "this is ''"),
        ("much", "this is 'much'"),
        ("p", "p0 to p100"),
        ("p101", "p0 to p100"),
        ("p-1", "p0 to p100"),
        ("pnan", "p0 to p100"),
        ("p99.99", "known up to p99.9"),
        ("p100", "Ask for a lower percentile"),
    ],
)
def test_what_cannot_be_used_is_one_line(text, said, background):
    with pytest.raises(OptionError) as caught:
        parse_bound(text, background, "--max")
    assert said in str(caught.value) and "--max" in str(caught.value) and "\n" not in str(caught.value)


def test_a_percentile_needs_a_background():
    with pytest.raises(OptionError, match="--min p99 needs a background"):
        parse_bound("p99")


def test_both_bounds(background):
    assert bounds(None, None) == (None, None)
    assert bounds("0.1", 0.2) == (0.1, 0.2)
    low, high = bounds("p50", "p99", background)
    assert low < high
    assert bounds("p50", None, background) == (low, None)
    with pytest.raises(OptionError, match=r"--min p99 is a cosine of 0\.6.* Swap"):
        bounds("p99", "0.2", background)


def test_near_duplicates_are_near_for_their_space():
    assert duplicate_bound(0.0) == 0.98
    assert duplicate_bound(0.5) == pytest.approx(0.99)
    assert duplicate_bound(0.99) < 1


def crowd_of(rows):
    background = survey(ArrayVectors(rows.astype(np.float32), "rows"), name="rows").background
    return crowd_at(background, duplicate_bound(background.mean), len(rows))


def crowded(n=300):
    """Rows along one direction and a little of others: cosines from -1 to 1, and most of them near 1."""
    rng = np.random.default_rng(0)
    return np.hstack([np.abs(rng.normal(size=(n, 1))) * 10, rng.normal(size=(n, 7))])


def test_a_bound_amid_unrelated_pairs_tells_nothing():
    rows = crowded()
    found = crowd_of(rows)
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    naive = [units[i] @ units[j] for i in range(300) for j in range(i)]
    mean = np.mean(naive)
    assert found is not None and found.bound == pytest.approx(mean + 0.98 * (1 - mean), abs=1e-6)
    assert found.share == pytest.approx(np.mean(np.array(naive) >= found.bound), rel=0.05)
    assert found.per_row == pytest.approx(found.share * 299)


def test_a_healthy_space_tells_its_near_duplicates():
    rows = np.random.default_rng(1).normal(size=(300, 32))
    rows[7] = rows[3] + 0.01 * rows[5]
    assert crowd_of(rows) is None
    assert crowd_of(rows + 1.0) is None  # crowded, but no pair comes near the bound by chance


@pytest.mark.parametrize("n", [3, 10, 400])
def test_many_copies_of_a_few_templates_leave_a_gap(n):
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(max(n // 20, 2), 32))[np.arange(n) % max(n // 20, 2)] + 1e-3 * rng.normal(size=(n, 32))
    assert crowd_of(rows) is None


def test_pairs_of_the_same_text_are_counted_and_listed():
    texts = ["A  b", "c", "a b ", "caf\u0065\u0301", "CAF\u00c9", "a B", "d"]
    units = units_of(np.random.default_rng(3).normal(size=(7, 4)).astype(np.float32))[0]
    keys = [same_text(text) for text in texts]
    found = equal_pairs(keys, units, most=2, percentile=lambda cosines: 100 * cosines, reason="the same text")
    naive = {(i, j): float(units[i] @ units[j]) for j in range(7) for i in range(j) if keys[i] == keys[j]}
    assert found.found == len(naive) == 4 and len(found.one) == 2
    assert set(naive) >= set(zip(found.one.tolist(), found.other.tolist(), strict=True))
    every = equal_pairs(keys, units, most=9, percentile=lambda cosines: 100 * cosines, reason="")
    assert list(every.cosines) == sorted(every.cosines, reverse=True)
    for one, other, cosine in zip(every.one, every.other, every.cosines, strict=True):
        assert cosine == pytest.approx(naive[one, other], abs=1e-6)
    nothing = equal_pairs("abc", units[:3], most=9, percentile=lambda cosines: cosines, reason="")
    assert nothing.found == len(nothing.one) == 0
