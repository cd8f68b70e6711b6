"""What a score means: how many unrelated pairs reach it, with bounds that hold, and shares of labeled pairs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from uncone.analysis.calibration.background import survey
from uncone.analysis.calibration.calibration import (
    Calibration,
    LabeledScores,
    rate_bounds,
    ratio_evidence,
    score_meanings,
)
from uncone.analysis.cosine.baseline import Evidence
from uncone.analysis.intervals.pair_units import pair_units
from uncone.analysis.intervals.resampling import Score
from uncone.data.vectors.memory import ArrayVectors


def rows_of(n, seed, d=12):
    return (np.random.default_rng(seed).normal(size=(n, d)) + 0.6).astype(np.float32)


def background(n, seed):
    return survey(ArrayVectors(rows_of(n, seed)), name="rows", rates=(0.01,), seed=seed).background


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


def labeled(similar, cosines, times=1):
    """Each labeled pair so many times; its copies hang together."""
    n = len(similar)
    texts = [f"a{i % n}" for i in range(n * times)], [f"b{i % n}" for i in range(n * times)]
    return LabeledScores(
        np.tile(np.asarray(similar, np.float64), times), np.tile(cosines, times), pair_units(n * times, texts)
    )


def drawn_pairs(n, seed, near=0.75):
    """Half of the pairs are similar, and score higher."""
    rng = np.random.default_rng(seed)
    similar = np.arange(n) % 2
    return similar, np.where(similar, near, 0.2) + 0.2 * rng.normal(size=n)


def test_labeled_shares():
    calibration = Calibration({"name": "rows"}, [background(200, 0)], corpus_size=1_000)
    found, none = score_meanings(calibration, [0.5, 0.99], labeled([1, 1, 0, 0, 0], [0.9, 0.5, 0.6, 0.1, 0.4]))
    assert (found.found.value, found.let_through.value, found.precision.value) == (1.0, 1 / 3, 2 / 3)
    assert found.hits == pytest.approx(1_000 * found.rate) and found.probability is None
    assert found.labeled_ratio.value == pytest.approx(3.0) and found.ratio.value == pytest.approx(1 / found.rate)
    assert none.found.value == 0.0 and none.precision.value is None and none.to_dict()["score"] == 0.99
    assert score_meanings(calibration, [0.5])[0].ratio is None


def test_shares_are_those_of_wilson_where_pairs_share_no_text():
    similar, cosines = drawn_pairs(200, 0)
    one = score_meanings(Calibration({"name": "rows"}, [background(200, 0)]), [0.7], labeled(similar, cosines))[0]
    k, n = int((cosines[similar == 1] >= 0.7).sum()), 100
    expected = stats.binomtest(k, n).proportion_ci(method="wilson")
    assert (one.found.low, one.found.high) == pytest.approx(tuple(expected), abs=0.01)


def test_copies_of_labeled_pairs_are_no_evidence():
    """20 pairs, 30 times each, are 20: no narrower interval and no verdict by the ratio."""
    calibration = Calibration({"name": "rows"}, [background(200, 0)])
    once, often = (score_meanings(calibration, [0.3], labeled(*drawn_pairs(20, 1), times))[0] for times in (1, 30))
    for name in ("found", "let_through", "precision", "ratio", "labeled_ratio"):
        one, other = getattr(once, name), getattr(often, name)
        assert other.value == pytest.approx(one.value), name
        width = one.high - one.low
        assert (other.low, other.high) == pytest.approx((one.low, one.high), abs=0.15 * width), name
    assert often.ratio.n == 10 and not often.is_judged_by_ratio and often.evidence is once.evidence


def test_shares_of_repeated_pairs_cover():
    """60 distinct pairs x 10: the truth is that of the normal law they are drawn from."""
    calibration = Calibration({"name": "rows"}, [background(200, 0)])
    truth = {"found": stats.norm.sf(0.7, 0.75, 0.2), "let_through": stats.norm.sf(0.7, 0.2, 0.2)}
    held = dict.fromkeys(truth, 0)
    for seed in range(60):
        one = score_meanings(calibration, [0.7], labeled(*drawn_pairs(60, seed), 10)._replace(replicates=200))[0]
        for name, share in truth.items():
            held[name] += getattr(one, name).low <= share <= getattr(one, name).high
    assert min(held.values()) >= 54, held


def test_a_score_is_judged_by_the_likelihood_ratio():
    """6 % of unrelated pairs reach it, and nearly all similar ones: that is evidence."""
    one = background(2_000, 0)
    at = float(np.interp(-0.06, -one.tails, one.scores))
    calibration = Calibration({"name": "rows"}, [one])
    assert score_meanings(calibration, [at])[0].evidence is Evidence.NONE
    rng = np.random.default_rng(0)
    similar = np.repeat([1, 0], 150)
    cosines = np.where(similar, at + np.abs(rng.normal(size=300)) / 10, rng.uniform(-1, 1, 300))
    found = score_meanings(calibration, [at], labeled(similar, cosines))[0]
    assert found.is_judged_by_ratio and found.evidence is Evidence.STRONG
    assert found.ratio.value == pytest.approx(1 / 0.06, rel=1e-3) and found.ratio.low > 10 and found.ratio.high < 30
    same = score_meanings(calibration, [at], labeled(similar, rng.uniform(-1, 1, 300)))[0]
    assert same.ratio.value == pytest.approx(same.found.value / 0.06, rel=1e-3)
    none = score_meanings(calibration, [at], labeled(similar, np.where(rng.random(300) < 0.07, 0.99, -0.5)))[0]
    assert none.evidence is Evidence.NONE


def test_the_ratio_covers():
    """Over fresh labeled pairs and a fresh background."""
    truth = stats.norm.sf(0.5, 0.6, 0.2) / share_of_all(0.5)
    held = 0
    for seed in range(60):
        calibration = Calibration({"name": "rows"}, [background(200, seed)])
        pairs = labeled(*drawn_pairs(80, seed, near=0.6), 5)._replace(replicates=200)
        ratio = score_meanings(calibration, [0.5], pairs)[0].ratio
        held += ratio.low <= truth <= ratio.high
    assert held >= 54


@pytest.mark.parametrize(
    ("ratio", "grade"),
    [
        ((17, 12, 22), Evidence.STRONG),
        ((5, 3, 8), Evidence.WEAK),
        ((1.5, 1.2, 1.9), Evidence.NONE),
        ((5, 1.5, 20), Evidence.UNKNOWN),
        ((5, 2, None), Evidence.UNKNOWN),
    ],
)
def test_grades_of_ratios(ratio, grade):
    assert ratio_evidence(Score(*ratio, 100)) is grade
