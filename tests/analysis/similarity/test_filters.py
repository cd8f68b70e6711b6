"""Bounds as people write them."""

from __future__ import annotations

import numpy as np
import pytest

from uncone.analysis.calibration.results import Background
from uncone.analysis.calibration.thresholds import percentile_at
from uncone.analysis.similarity.filters import bounds, duplicate_bound, parse_bound
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
