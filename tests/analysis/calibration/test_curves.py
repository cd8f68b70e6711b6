"""Curves and operating points against scikit-learn, and their bands against drawn pairs, one draw at a time."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.metrics import (
    average_precision_score,
    f1_score,
    precision_recall_curve,
    precision_score,
    recall_score,
    roc_auc_score,
    roc_curve,
)

from uncone.analysis.calibration.curves import Goal, curves, goals, operate
from uncone.analysis.calibration.results import Background
from uncone.analysis.calibration.thresholds import rate_at
from uncone.analysis.intervals.labeled_pairs import PairCurve
from uncone.analysis.intervals.pair_units import pair_units
from uncone.analysis.intervals.resampling import drawn_counts, wilson
from uncone.errors import OptionError


def example(n=90, ties=False, seed=0):
    rng = np.random.default_rng(seed)
    truth = (rng.random(n) < 0.4).astype(float)
    scores = 0.5 + 0.1 * truth + 0.1 * rng.normal(size=n)
    return truth, scores.round(1) if ties else scores


def background(name="unrelated"):
    tails = np.array([0.9, 0.5, 0.1, 0.01])
    scores = np.array([0.1, 0.3, 0.5, 0.7])
    return Background(name, 100, None, 4950, 4950, 0.3, 0.29, 0.31, 0.1, tails, scores, scores, scores, {})


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_curves_are_those_of_scikit_learn(ties, seed):
    truth, scores = example(ties=ties, seed=seed)
    roc, pr = curves(PairCurve(truth, scores), pair_units(90), 10, seed)
    x, y, _ = roc_curve(truth, scores, drop_intermediate=False)
    every = set(zip(x, y, strict=True))
    assert set(zip(roc.x, roc.y, strict=True)) <= every
    assert np.trapezoid(roc.y, roc.x) == pytest.approx(roc_auc_score(truth, scores), abs=1e-12)
    # Between the corners nothing is lost: every point of scikit-learn lies on our curve.
    for one, other in every:
        on = np.interp(one, roc.x, roc.y) if (roc.x == one).sum() < 2 else None
        low, high = (roc.y[roc.x == one].min(), roc.y[roc.x == one].max()) if on is None else (on, on)
        assert low - 1e-12 <= other <= high + 1e-12
    precision, recall, _ = precision_recall_curve(truth, scores)
    highest = {r: max(precision[recall == r]) for r in recall if r > 0}
    assert dict(zip(pr.x, pr.y, strict=True)) == pytest.approx(highest)
    area = float(np.diff(pr.x, prepend=0.0) @ pr.y)
    assert area == pytest.approx(average_precision_score(truth, scores), abs=1e-12)


@pytest.mark.parametrize("ties", [False, True])
def test_bands_are_percentiles_of_drawn_pairs(ties, stretched):
    truth, scores = example(60, ties)
    roc, pr = curves(PairCurve(truth, scores), pair_units(60), 40, 5)
    rates, precisions = [], []
    for counts in np.concatenate(list(drawn_counts(60, 40, 5))):
        rows = np.repeat(np.arange(60), counts)
        x, y, _ = roc_curve(truth[rows], scores[rows], drop_intermediate=False)
        rates.append(naive_rates(roc, x, y))
        precision, recall, _ = precision_recall_curve(truth[rows], scores[rows])
        reached = [recall >= r - 1e-12 for r in pr.x]
        precisions.append([precision[at][recall[at] == recall[at].min()].max() for at in reached])
    for curve, drawn in ((roc, rates), (pr, precisions)):
        low, high = np.quantile(stretched(np.transpose(drawn), curve.y, 60), [0.025, 0.975], axis=1)
        assert curve.lows == pytest.approx(low, abs=1e-5) and curve.highs == pytest.approx(high, abs=1e-5)
        assert (curve.lows <= curve.highs).all()


def naive_rates(curve, x, y):
    """Upper ends by the highest rate at that place, lower ends of vertical pieces by what comes before it."""
    found = []
    for at, place in enumerate(curve.x):
        lower = at + 1 < len(curve.x) and curve.x[at + 1] == place
        if place in x:
            found.append(y[x == place].min() if lower else y[x == place].max())
            continue
        right = int(np.argmax(x > place))
        share = (place - x[right - 1]) / (x[right] - x[right - 1])
        found.append(y[right - 1] + share * (y[right] - y[right - 1]))
    return found


def test_many_points_are_thinned_and_stay_on_the_curve():
    truth, scores = example(20_000)
    roc, pr = curves(PairCurve(truth, scores), pair_units(20_000), 2, 0)
    assert 250 <= len(roc.x) <= 300 and 250 <= len(pr.x) <= 300
    x, y, _ = roc_curve(truth, scores, drop_intermediate=False)
    assert set(zip(roc.x, roc.y, strict=True)) <= set(zip(x, y, strict=True))
    assert (roc.x[0], roc.y[0], roc.x[-1], roc.y[-1], pr.x[-1]) == (0, 0, 1, 1, 1)
    assert max(np.diff(roc.x + roc.y)) < 0.02 and max(np.diff(pr.x)) < 0.01


def test_one_alike_pair_has_no_band():
    roc, pr = curves(PairCurve(np.eye(1, 30)[0], np.arange(30.0)), pair_units(30), 100, 0)
    assert roc.lows is None and pr.highs is None
    assert roc.x.tolist() == [0, 1, 1] and roc.y.tolist() == [0, 0, 1] and pr.y == pytest.approx([1 / 30])


def naive(truth, scores, goal):
    """Every threshold in a loop."""
    best = None
    for cut in sorted(set(scores), reverse=True):
        taken = scores >= cut
        hits = (taken & (truth == 1)).sum()
        precision, recall = hits / taken.sum(), hits / truth.sum()
        if goal.kind == "F1":
            value = 2 * precision * recall / (precision + recall) if hits else 0.0
            if best is None or value > best[0] + 1e-12:
                best = (value, cut)
        elif goal.kind == "precision" and precision >= goal.target - 1e-9:
            best = (precision, cut)
        elif goal.kind == "recall" and best is None and recall >= goal.target - 1e-9:
            best = (recall, cut)
    return None if best is None else best[1]


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_operating_points_are_those_of_a_loop(ties, seed):
    truth, scores = example(ties=ties, seed=seed)
    cuts, wanted = PairCurve(truth, scores), goals((0.5, 0.7), (0.5, 0.9, 1.0))
    found = operate(cuts, wanted, pair_units(90), background(), 60, seed)
    assert [one.goal for one in found] == [
        "best F1", "precision 0.5", "precision 0.7", "recall 0.5", "recall 0.9", "recall 1"
    ]  # fmt: skip
    below = dict(zip(cuts.distinct[:-1], cuts.distinct[1:], strict=True))
    for goal, one in zip(wanted, found, strict=True):
        lowest = naive(truth, scores, goal)
        taken = scores >= lowest
        assert one.value == pytest.approx((lowest + below.get(lowest, lowest)) / 2)
        assert ((scores >= one.value) == taken).all()
        assert one.precision.value == pytest.approx(precision_score(truth, taken))
        assert one.recall.value == pytest.approx(recall_score(truth, taken))
        assert one.f1.value == pytest.approx(f1_score(truth, taken)) and one.f1.n == 90
        for score in (one.precision, one.recall, one.f1):
            assert 0 <= score.low <= score.value <= score.high <= 1
        assert one.low <= one.high
        assert one.background_rate == pytest.approx(rate_by_hand(one.value))


def rate_by_hand(value):
    b = background()
    if value < b.scores[0] or value > b.scores[-1]:
        return 1.0 if value < b.scores[0] else 0.0
    at = min(int(np.searchsorted(b.scores, value, side="right")) - 1, 2)
    share = (value - b.scores[at]) / (b.scores[at + 1] - b.scores[at])
    return b.tails[at] + share * (b.tails[at + 1] - b.tails[at])


def test_the_interval_of_a_threshold_is_over_draws(stretched):
    truth, scores = example(60)
    wanted = [Goal("F1"), Goal("recall", 0.8)]
    found = operate(PairCurve(truth, scores), wanted, pair_units(60), None, 50, 3)
    below = dict(zip(np.unique(scores)[1:], np.unique(scores)[:-1], strict=True))
    for goal, one in zip(wanted, found, strict=True):
        drawn = []
        for counts in np.concatenate(list(drawn_counts(60, 50, 3))):
            rows = np.repeat(np.arange(60), counts)
            lowest = naive(truth[rows], scores[rows], goal)
            drawn.append((lowest + below.get(lowest, lowest)) / 2)
        drawn = stretched(drawn, one.value, 60)
        assert (one.low, one.high) == pytest.approx(tuple(np.quantile(drawn, [0.025, 0.975])), abs=1e-5)
        assert one.background_rate is None


def test_goals_that_cannot_be_had():
    truth, scores = example(200)
    truth[np.argsort(-scores)[:20]] = [0, 1] * 10
    (one,) = operate(PairCurve(truth, scores), goals((0.95,), ())[1:], pair_units(200), background(), 100, 0)
    assert one.value is None and one.precision.value is None and one.background_rate is None
    assert "no threshold has a precision of 0.95; the highest is" in one.reason
    # One alike pair on top is a precision of 1, by luck.
    truth[np.argsort(-scores)[:3]] = [1, 0, 0]
    (one,) = operate(PairCurve(truth, scores), goals((0.95,), ())[1:], pair_units(200), None, 400, 0)
    assert one.value is None and "1 of the 1 pairs above" in one.reason and "label more pairs" in one.reason
    same = operate(PairCurve(truth, np.full(200, 0.7)), goals((0.9,), (0.9,)), pair_units(200), None, 10, 0)
    assert {one.reason for one in same} == {"all scores are 0.7"} and {one.value for one in same} == {None}
    backwards = operate(PairCurve(1 - truth, scores), [Goal("recall", 1.0)], pair_units(200), None, 10, 0)
    assert backwards[0].reason.startswith("it accepts every pair") and backwards[0].value == scores.min()


@pytest.mark.parametrize(("precisions", "recalls"), [((90,), ()), ((), (0,)), ((float("nan"),), ())])
def test_wanted_shares(precisions, recalls):
    with pytest.raises(OptionError, match=r"such as 0\.9"):
        goals(precisions, recalls)
    assert [str(goal) for goal in goals((0.9, 0.9), (1,))] == ["best F1", "precision 0.9", "recall 1"]


def test_neighboring_numbers_have_a_threshold_between():
    high = 0.7
    low = np.nextafter(high, 0)
    cuts = PairCurve(np.array([1.0, 0.0]), np.array([high, low]))
    assert cuts.thresholds.tolist() == [high, low]  # half-way would round to the lower one


def test_background_beyond_what_is_known():
    assert rate_at(background(), [0.0, 0.3, 0.9]).tolist() == [1.0, 0.5, 0.0]


def test_wilson_holds_what_it_promises():
    for share, n in ((0.5, 20), (0.9, 40), (0.02, 50)):
        k = np.random.default_rng(0).binomial(n, share, 4000)
        low, high = wilson(k.astype(float), float(n))
        assert ((low <= share) & (share <= high)).mean() > 0.92
        # The bounds are the shares that a test at 95 % would not reject.
        assert (abs(k[:9] / n - low[:9]) <= norm.ppf(0.975) * np.sqrt(low[:9] * (1 - low[:9]) / n) + 1e-9).all()
