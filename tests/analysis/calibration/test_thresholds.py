from dataclasses import replace

import numpy as np
import pytest

from uncone.analysis.calibration.background import survey, survey_between
from uncone.analysis.calibration.results import Background
from uncone.analysis.calibration.thresholds import one_hit, rate_at, score_at, threshold, translate
from uncone.data.vectors.memory import ArrayVectors
from uncone.errors import OptionError


@pytest.fixture(scope="module")
def uneven(spaces):
    rows = spaces["some rows close to everything"].rows(2_000, 0)
    return survey(ArrayVectors(rows), name="uneven", rates=(0.01, 1e-4)).background


@pytest.fixture(scope="module")
def cone(spaces):
    return survey(ArrayVectors(spaces["a cone"].rows(2_000, 1)), name="cone", rates=(0.01, 1e-4)).background


def by_hand(rows, rate):
    """The exact quantile over all pairs."""
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return np.quantile((units @ units.T)[np.triu_indices(len(rows), 1)], 1 - rate)


def test_many_pairs_of_one_score(spaces):
    """Rows along one line: half of the pairs score 1, half -1, and no cut lets through 1 % of them."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 1)) * rng.normal(size=8)
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    alike = ((units @ units.T)[np.triu_indices(400, 1)] > 0).mean()
    line = survey(ArrayVectors(rows.astype(np.float32)), name="line").background
    for score in (1.0, 0.5, 0.0, -0.5):
        assert rate_at(line, score) == pytest.approx(alike, abs=0.02)
    assert rate_at(line, -1.0) == 1.0
    found = threshold(line, 0.01)
    assert found.value is None and found.rows_needed is None and "score 1.0000 or more" in found.reason


@pytest.mark.parametrize("rate", [0.3, 0.05, 0.01, 0.002, 1e-4])
def test_a_threshold_is_the_quantile(uneven, spaces, rate):
    rows = spaces["some rows close to everything"].rows(2_000, 0)
    found = threshold(uneven, rate)
    assert found.value == pytest.approx(by_hand(rows, rate), abs=1e-3)
    assert found.low < found.value < found.high and found.reason == "" and found.rows_needed is None
    assert rate_at(uneven, found.value) == pytest.approx(rate, rel=1e-2)


def test_the_number_of_hits(uneven):
    found = threshold(uneven, 0.01, 1_000_000)
    assert found.hits == pytest.approx(10_000) and found.corpus_size == 1_000_000
    one = one_hit(uneven, 10_000)
    assert (one.rate, one.hits, one.value) == (1e-4, pytest.approx(1.0), threshold(uneven, 1e-4).value)
    assert one.value > found.value


def test_a_corpus_of_one_row(uneven):
    assert one_hit(uneven, 1).value == -1.0 and one_hit(uneven, 1).hits == 1.0


@pytest.mark.parametrize("rate", [0.01, 0.001])
def test_too_few_pairs_beyond(spaces, rate):
    """A hundred pairs beyond the threshold: n(n - 1)/2 times the rate."""
    needed = next(n for n in range(2, 1_000) if n * (n - 1) / 2 * rate >= 100)
    rows = spaces["all directions"].rows(needed, 0)
    few = survey(ArrayVectors(rows[:-1]), name="few", rates=(rate,)).background
    found = threshold(few, rate)
    assert (found.value, found.low, found.high) == (None, None, None) and found.rows_needed == needed
    assert f"about {needed:,} vectors" in found.reason and found.hits is None
    enough = survey(ArrayVectors(rows), name="enough", rates=(rate,)).background
    assert threshold(enough, rate).value is not None


def test_the_rows_it_asks_for_are_enough(spaces):
    """About one row in twelve makes the pairs beyond: of pairs there are enough, but of knowledge there is little."""
    space = type(spaces["a cone"])((0.02, 0.9), (0.92, 0.08))
    few = survey(ArrayVectors(space.rows(160, 0)), name="few", rates=(0.01,)).background
    found = threshold(few, 0.01)
    assert few.all_pairs * 0.01 > 100 and found.value is None
    assert "a few vectors make up most of the pairs" in found.reason and 160 < found.rows_needed < 2_000
    more = survey(ArrayVectors(space.rows(2 * found.rows_needed, 1)), name="more", rates=(0.01,)).background
    assert threshold(more, 0.01).value is not None


def test_pairs_that_were_not_compared(spaces, monkeypatch):
    """The rows would do; only the sample was made for another rate."""
    monkeypatch.setattr("uncone.analysis.calibration.quantiles._PAIRS", 20_000)
    found = survey(ArrayVectors(spaces["a cone"].rows(3_000, 0)), name="x", rates=(0.1,)).background
    refused = threshold(found, 1e-3)
    assert refused.value is None and refused.rows_needed is None
    assert "Calibrate again with --fpr 0.001" in refused.reason
    assert "more than 1,000,000,000 pairs" in threshold(replace(found, all_pairs=10**12), 1e-9).reason


def test_two_sides_ask_for_more_of_both(spaces):
    space = spaces["all directions"]
    found = survey_between(ArrayVectors(space.rows(20, 0)), ArrayVectors(space.rows(80, 1)), name="x").background
    refused = threshold(found, 0.01)
    # 1,600 pairs, and 10,000 are needed: both sides times 2.5.
    assert refused.value is None and refused.rows_needed == 50


@pytest.mark.parametrize("rate", [0.0, 1.0, -0.1, 2.0, float("nan")])
def test_bad_rates(uneven, rate):
    with pytest.raises(OptionError, match="lies between 0 and 1"):
        threshold(uneven, rate)


@pytest.mark.parametrize("size", [0, -3])
def test_bad_sizes(uneven, size):
    with pytest.raises(OptionError, match="at least 1 vector"):
        one_hit(uneven, size)
    with pytest.raises(OptionError, match="at least 1 vector"):
        threshold(uneven, 0.01, size)


@pytest.mark.parametrize("score", [0.75, 0.8])
def test_translation_keeps_the_rate(cone, uneven, spaces, score):
    found = translate(score, cone, uneven, "cone")
    assert found.rate == pytest.approx(spaces["a cone"].share(score), rel=0.05)
    assert spaces["some rows close to everything"].share(found.new) == pytest.approx(found.rate, rel=0.1)
    assert found.low < found.new < found.high and (found.old, found.old_name, found.reason) == (score, "cone", "")
    back = translate(found.new, uneven, cone, "uneven")
    assert back.new == pytest.approx(score, abs=1e-6) and back.rate == pytest.approx(found.rate)
    # As uncertain as both spaces together.
    alone = threshold(uneven, found.rate)
    assert found.low <= alone.low + 1e-9 and found.high >= alone.high - 1e-9


def test_translation_within_one_space_is_the_same_score(uneven):
    found = translate(0.5, uneven, uneven, "itself")
    assert found.new == pytest.approx(0.5, abs=1e-9)


@pytest.mark.parametrize(("score", "said"), [(0.999999, "none of 1,999,000"), (-1.0, "all 1,999,000")])
def test_what_cannot_be_translated(cone, uneven, score, said):
    found = translate(score, cone, uneven, "cone")
    assert (found.new, found.low, found.high) == (None, None, None) and said in found.reason


def test_a_rate_that_one_of_the_spaces_cannot_support(cone, uneven, spaces):
    rare = score_at(cone, 2e-5)
    found = translate(rare, cone, uneven, "old")
    assert found.new is None and found.reason.startswith("old: ") and found.rate == pytest.approx(2e-5)
    few = survey(ArrayVectors(spaces["a cone"].rows(100, 0)), name="few").background
    found = translate(score_at(cone, 0.005), cone, few, "old")
    assert found.new is None and found.reason.startswith("few: 0.5 % of 4,950 pairs")


@pytest.mark.parametrize("score", [1.5, -2.0, float("nan")])
def test_bad_scores(cone, uneven, score):
    with pytest.raises(OptionError, match="between -1 and 1"):
        translate(score, cone, uneven, "cone")


def test_between_and_beyond_the_grid():
    curve = np.array([0.0, 0.4, 0.8])
    one = Background("x", 9, None, 36, 36, 0.4, 0.3, 0.5, 0.1, np.array([1.0, 0.5, 0.1]), curve, curve, curve, {})
    assert rate_at(one, [-0.5, 0.0, 0.2, 0.4, 0.8, 0.9]).tolist() == pytest.approx([1.0, 1.0, 0.75, 0.5, 0.1, 0.0])
    assert score_at(one, 0.3) == pytest.approx(0.6) and np.isnan(rate_at(one, np.nan))
