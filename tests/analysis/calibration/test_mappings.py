"""Mappings to a probability against scikit-learn, and figures that hold what they promise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.calibration import calibration_curve
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss

from uncone.analysis.calibration.labeled import cross_validated, fit_isotonic, fit_logistic, judge
from uncone.analysis.intervals.pair_units import pair_units
from uncone.analysis.intervals.resampling import drawn_counts


def example(n=400, seed=0, ties=False):
    rng = np.random.default_rng(seed)
    scores = rng.uniform(0.2, 0.9, n)
    truth = (rng.random(n) < expit(12 * (scores - 0.6))).astype(float)
    return truth, scores.round(1) if ties else scores


@pytest.mark.parametrize("ties", [False, True])
def test_logistic_is_that_of_the_greatest_likelihood(ties):
    truth, scores = example(ties=ties)
    found = fit_logistic(scores, truth)

    def loss(at):
        z = at[0] * scores + at[1]
        return float(np.logaddexp(0, z).sum() - truth @ z)

    best = minimize(loss, [1.0, 0.0], method="BFGS", options={"gtol": 1e-9})
    assert (found.slope, found.intercept) == pytest.approx(tuple(best.x), rel=1e-4)
    theirs = LogisticRegression(C=np.inf, tol=1e-10).fit(scores[:, None], truth)
    asked = np.linspace(-1, 1, 50)
    assert found(asked) == pytest.approx(theirs.predict_proba(asked[:, None])[:, 1], abs=1e-4)
    assert found.knots[:, 1] == pytest.approx(expit(found.slope * found.knots[:, 0] + found.intercept))


@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e6])
def test_logistic_of_pairs_that_a_threshold_tells_apart(scale):
    scores = scale * np.linspace(0.1, 0.9, 60)
    truth = (scores > 0.5 * scale).astype(float)
    found = fit_logistic(scores, truth)
    assert np.isfinite([found.slope, found.intercept]).all() and found.slope > 0
    assert found(np.array([0.1, 0.5, 0.9]) * scale) == pytest.approx([0, 0.5, 1], abs=0.01)
    # However close the two kinds come to each other, the slope stays finite.
    close = fit_logistic(np.append(scores, [0.5 * scale, 0.5 * scale * (1 + 1e-9)]), np.append(truth, [0, 1]))
    assert close.slope * scale < 1e4 and ((close(scores) > 0.5) == (truth > 0)).all()


def test_a_higher_score_never_means_less():
    truth, scores = example()
    found = fit_logistic(-scores, truth)
    assert found.slope == 0 and found(np.array([-1.0, 1.0])) == pytest.approx([truth.mean()] * 2)


def test_logistic_of_one_score():
    found = fit_logistic(np.full(20, 0.7), np.array([1.0] * 5 + [0.0] * 15))
    assert found.slope == 0 and found(np.array([-1.0, 0.7])) == pytest.approx([0.25, 0.25])


@pytest.mark.parametrize("ties", [False, True])
def test_isotonic_is_that_of_scikit_learn(ties):
    truth, scores = example(ties=ties)
    found = fit_isotonic(scores, truth)
    theirs = IsotonicRegression(out_of_bounds="clip").fit(scores, truth)
    asked = np.linspace(-1, 1, 501)
    assert found(asked) == pytest.approx(theirs.predict(asked), abs=1e-12)
    assert (np.diff(found.knots, axis=0) >= 0).all() and found.slope is None


def by_hand(truth, scores, fold, fit):
    held_out = np.full(len(truth), np.nan)
    for row in range(len(truth)):
        rows = [other for other in range(len(truth)) if fold[other] != fold[row]]
        held_out[row] = fit(scores[rows], truth[rows])(scores[row : row + 1])[0]
    return held_out


@pytest.mark.parametrize("texts", [False, True])
def test_figures_are_of_held_out_pairs(texts):
    truth, scores = example(60)
    units = pair_units(60, ([row // 2 for row in range(60)], range(100, 160))) if texts else pair_units(60)
    found, noise, folds, reason = cross_validated(truth, scores, units, 50, 7)
    assert (
        reason == ""
        and folds == 5
        and set(noise) == {"logistic", "isotonic"}
        and {one.kind for one in found} == {"logistic", "isotonic"}
    )
    assert found[0].brier.value <= found[1].brier.value
    fold = units.folds(truth, 5, 7)
    if texts:
        assert (fold[::2] == fold[1::2]).all()
    for one in found:
        fit = fit_logistic if one.kind == "logistic" else fit_isotonic
        held_out = by_hand(truth, scores, fold, fit)
        assert one.brier.value == pytest.approx(brier_score_loss(truth, held_out), abs=1e-9)
        share, mean = calibration_curve(truth, held_out, n_bins=6, strategy="quantile")
        assert one.reliability.y == pytest.approx(share) and one.reliability.x == pytest.approx(mean, abs=1e-9)
        assert sum(one.bins) == 60
        error = sum(size * abs(a - b) for size, a, b in zip(one.bins, share, mean, strict=True)) / 60
        assert one.ece.value == pytest.approx(error, abs=1e-9)
        assert (one.reliability.lows <= share).all() and (share <= one.reliability.highs).all()
        assert one.knots == pytest.approx(fit(scores, truth).knots)


def test_the_better_is_first():
    rng = np.random.default_rng(0)
    scores = rng.uniform(0, 1, 2000)
    steps = (rng.random(2000) < np.where(scores < 0.5, 0.1, np.where(scores < 0.9, 0.6, 0.7))).astype(float)
    assert cross_validated(steps, scores, pair_units(2000), 20, 0).mappings[0].kind == "isotonic"
    smooth = (rng.random(150) < expit(6 * (scores[:150] - 0.5))).astype(float)
    assert cross_validated(smooth, scores[:150], pair_units(150), 20, 0).mappings[0].kind == "logistic"


def test_probabilities_that_cannot_be_had():
    scores = np.linspace(0, 1, 40)
    truth = np.zeros(40)
    truth[-3:] = 1
    refused = cross_validated(truth, scores, pair_units(40), 10, 0)
    assert refused.reason == "No probabilities: 3 of 40 distinct pairs are similar, and a mapping needs 5."
    assert refused.mappings == []
    assert "3 of 40 distinct pairs are dissimilar" in cross_validated(1 - truth, scores, pair_units(40), 10, 0).reason
    truth[-8:] = 1
    assert "all scores are the same" in cross_validated(truth, np.ones(40), pair_units(40), 10, 0).reason
    one_text = pair_units(40, ([*range(32), *[32] * 8], range(100, 140)))
    assert "too many pairs share texts" in cross_validated(truth, scores, one_text, 10, 0).reason
    copies = pair_units(120, ([*range(40)] * 3, [*range(100, 140)] * 3))
    truth[-8:-4] = 0
    assert (
        "4 of 40 distinct pairs are similar"
        in cross_validated(np.tile(truth, 3), np.tile(scores, 3), copies, 10, 0).reason
    )


def test_drawn_figures(stretched):
    truth, predicted = example(80)
    brier, ece, noise, reliability, sizes = judge(truth, predicted, pair_units(80), 200, 3)
    place = np.repeat(np.arange(len(sizes)), sizes)[np.argsort(np.argsort(predicted, kind="stable"))]
    briers, errors, noises = [], [], []
    whole = np.array([(predicted - truth)[place == one].sum() / 80 for one in range(8)])
    for counts in np.concatenate(list(drawn_counts(80, 200, 3))):
        rows = np.repeat(np.arange(80), counts)
        briers.append(brier_score_loss(truth[rows], predicted[rows]))
        own = np.array([(predicted[rows] - truth[rows])[place[rows] == one].sum() / 80 for one in range(8)])
        errors.append(abs(own).sum())
        noises.append(abs(own - whole).sum())
    briers, errors, noises = (
        stretched(some, point, 80) for some, point in ((briers, brier.value), (errors, abs(whole).sum()), (noises, 0.0))
    )
    assert (brier.low, brier.high) == pytest.approx(tuple(np.quantile(briers, [0.025, 0.975])), abs=1e-5)
    assert noise == pytest.approx(np.mean(noises), abs=1e-5)
    assert ece.value == pytest.approx(abs(whole).sum())
    assert ece.low == pytest.approx(max(0, ece.value - np.quantile(noises, 0.975)), abs=1e-5)
    assert ece.high == pytest.approx(ece.value + 1.96 * np.std(errors), rel=1e-4)
    assert len(reliability.x) == len(sizes) == 8


@pytest.mark.parametrize("shift", [0.0, 0.08])
def test_the_interval_of_the_calibration_error_holds_the_truth(shift):
    """Predictions that are right, or too high by a known shift, over 200 sets of 500 pairs."""
    found = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        right = rng.uniform(0.1, 0.9, 500)
        truth = (rng.random(500) < right).astype(float)
        found.append(judge(truth, right + shift, pair_units(500), 100, seed))
    assert sum(one.ece.low <= shift <= one.ece.high for one in found) >= 185
    if not shift:
        # All that a perfect mapping has is noise, and draws tell how much that is.
        assert np.mean([one.noise for one in found]) == pytest.approx(
            np.mean([one.ece.value for one in found]), rel=0.1
        )
    else:
        assert np.mean([one.ece.low > 0 for one in found]) > 0.5


@pytest.mark.parametrize(("n", "copies"), [(60, 10), (150, 3)])
def test_brier_score_and_calibration_error_cover_where_pairs_repeat(n, copies):
    """A hundred sets of predictions that are too high by 0.08: what they score is known."""
    names = [*range(n)] * copies, [*range(n, 2 * n)] * copies
    units = pair_units(n * copies, names)
    brier = np.mean((p := np.linspace(0.1, 0.9, 10_001)) * (1 - p)) + 0.08**2
    covered = np.zeros(2)
    for seed in range(100):
        rng = np.random.default_rng(seed)
        right = rng.uniform(0.1, 0.9, n)
        truth = (rng.random(n) < right).astype(float)
        found = judge(np.tile(truth, copies), np.tile(right + 0.08, copies), units, 100, seed)
        covered += [found.brier.low <= brier <= found.brier.high, found.ece.low <= 0.08 <= found.ece.high]
    assert (covered >= 90).all(), covered
