"""Labeled pairs: grades, mappings to a probability against scikit-learn, bad input, and real pairs."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import spearmanr
from simulations import REPEATED
from sklearn.calibration import calibration_curve
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, brier_score_loss, roc_auc_score

from uncone.analysis.calibration.labeled import (
    cross_validated,
    fit_isotonic,
    fit_logistic,
    judge,
    label_pairs,
    truth_of,
)
from uncone.analysis.calibration.results import Background
from uncone.analysis.intervals.labeled_pairs import score_pairs
from uncone.analysis.intervals.pair_units import pair_units
from uncone.analysis.intervals.resampling import drawn_counts
from uncone.data.tasks.pair_file import open_pair_file
from uncone.errors import FormatError, OptionError, ShapeError, UnconeError


def example(n=200, seed=0):
    rng = np.random.default_rng(seed)
    grades = rng.integers(0, 11, n) / 2
    grades[:2] = 0, 5
    return grades, 0.4 + 0.08 * grades + 0.1 * rng.normal(size=n)


def said(error, *args, **options) -> str:
    with pytest.raises(error) as caught:
        label_pairs(*args, name="pairs.csv", **options)
    message = str(caught.value)
    assert isinstance(caught.value, UnconeError) and "\n" not in message and message.startswith("pairs.csv")
    return message


def test_figures_of_labels():
    grades, scores = example()
    labels = (grades > 2.5).astype(int)
    found = label_pairs(labels, scores, name="pairs.csv", replicates=100, seed=4)
    assert found.roc_auc.value == pytest.approx(roc_auc_score(labels, scores), abs=1e-12)
    assert found.average_precision.value == pytest.approx(average_precision_score(labels, scores), abs=1e-12)
    # Where no texts are known the pairs are drawn as those of `uncone evaluate`.
    other = score_pairs(labels, scores, replicates=100, seed=4)
    assert (found.roc_auc, found.average_precision) == (other.roc_auc, other.average_precision)
    assert found.operating[0].value == other.threshold and found.operating[0].f1.value == pytest.approx(
        other.best_f1.value
    )
    assert (found.n, found.positives, found.graded, found.cut, found.spearman) == (200, labels.sum(), False, None, None)
    for kind, histogram in ((1, found.similar), (0, found.dissimilar)):
        own = scores[labels == kind]
        edges = histogram["edges"]
        naive = [sum(low <= s < high for s in own) for low, high in pairwise(edges)]
        naive[-1] += sum(s == edges[-1] for s in own)
        assert histogram["counts"] == naive and sum(naive) == len(own)
    base = labels.mean()
    assert found.extra["base_brier"] == pytest.approx(base * (1 - base)) and found.extra["units"] == 200
    assert found.mappings[0].brier.value < found.extra["base_brier"]
    assert found.notes == [
        f"The probabilities hold if {100 * base:.1f} % of pairs are similar, as here. If fewer are, they are too high."
    ]
    json.dumps([found.extra, found.similar])


def test_the_same_seed_gives_the_same_figures():
    grades, scores = example()
    one, other, third = (label_pairs(grades, scores, name="x", replicates=50, seed=seed) for seed in (1, 1, 2))
    assert one.roc_auc == other.roc_auc and one.operating == other.operating
    assert one.mappings[0].brier == other.mappings[0].brier
    assert one.roc_auc.low != third.roc_auc.low and one.roc_auc.value == third.roc_auc.value


def test_grades():
    grades, scores = example()
    found = label_pairs(grades, scores, name="x", replicates=100)
    assert found.graded and found.cut == 4 and found.positives == (grades >= 4).sum()
    assert found.roc_auc.value == pytest.approx(roc_auc_score(grades >= 4, scores), abs=1e-12)
    assert found.spearman.value == pytest.approx(spearmanr(grades, scores).statistic, abs=1e-12)
    assert found.spearman.low < found.spearman.value < found.spearman.high
    assert found.notes[0] == "Grades go from 0 to 5: pairs graded 4 or more count as similar, the upper fifth."
    other = label_pairs(grades, scores, name="x", replicates=100, cut=2.5)
    assert (other.cut, other.positives) == (2.5, (grades >= 2.5).sum()) and "Grades" not in " ".join(other.notes)
    two = label_pairs(np.where(grades > 3, 1, -1), scores, name="x", replicates=20)
    assert not two.graded and two.positives == (grades > 3).sum()
    assert two.notes[0] == "The labels are -1 and 1: pairs labeled 1 count as similar."


def test_wanted_goals_and_the_background():
    grades, scores = example()
    levels = np.linspace(0.2, 1.2, 11)
    background = Background("b", 9, None, 36, 36, 0.5, 0.4, 0.6, 0.1, np.linspace(1, 0, 11), levels, levels, levels, {})
    found = label_pairs(
        grades, scores, name="x", background=background, precisions=(0.6,), recalls=(0.9,), replicates=50
    )
    assert [one.goal for one in found.operating] == ["best F1", "precision 0.6", "recall 0.9"]
    for one in found.operating:
        assert one.background_rate == pytest.approx(1.2 - one.value)


def test_texts_are_kept_together():
    grades, scores = example()
    left, right = [f"q{row // 4}" for row in range(200)], [f"d{row}" for row in range(200)]
    found = label_pairs(grades, scores, name="x", replicates=50, texts=(left, right))
    assert (found.extra["units"], found.extra["by_texts"], found.extra["folds"]) == (50, False, 5)
    hub = label_pairs(grades, scores, name="x", replicates=50, texts=(["q"] * 200, right))
    assert (hub.extra["units"], hub.extra["by_texts"], hub.extra["distinct_pairs"]) == (1, True, 200)
    assert any("200 of 200 pairs are linked through shared texts" in note for note in hub.notes)
    assert hub.mappings == [] and any("too many pairs share texts" in note for note in hub.notes)


def test_copies_of_pairs_are_no_evidence():
    """Every interval of 40 pairs, thirty times each, is that of the 40: only the sizes of samples grow."""
    grades, scores = example(40, seed=3)
    names = [f"a{row}" for row in range(40)], [f"b{row}" for row in range(40)]
    once = label_pairs(grades, scores, name="x", replicates=200, recalls=(0.8,), texts=names)
    many = label_pairs(
        np.tile(grades, 30),
        np.tile(scores, 30),
        name="x",
        replicates=200,
        recalls=(0.8,),
        texts=(names[0] * 30, names[1] * 30),
    )
    assert many.extra["units"] == once.extra["units"] == 40
    found = [
        [one.roc_auc, one.average_precision, one.spearman]
        + [score for at in one.operating for score in (at, at.precision, at.recall, at.f1)]
        + [score for at in one.mappings for score in (at.brier, at.ece)]
        for one in (once, many)
    ]
    for one, other in zip(*found, strict=True):
        assert (other.value, other.low, other.high) == pytest.approx((one.value, one.low, one.high), rel=1e-3)
    assert many.mappings[0].reliability.lows == pytest.approx(once.mappings[0].reliability.lows, rel=1e-3)
    assert many.roc.lows == pytest.approx(once.roc.lows, abs=1e-9)
    few = np.tile(grades[:19], 5), np.tile(scores[:19], 5)
    with pytest.raises(ShapeError, match="has 19 distinct pairs, and calibration needs at least 20"):
        label_pairs(*few, name="x", texts=(names[0][:19] * 5, names[1][:19] * 5))


def test_pairs_without_a_score_are_left_out():
    grades, scores = example()
    scores[[3, 77]] = np.nan, np.inf
    names = [str(row // 2) for row in range(200)], [f"d{row}" for row in range(200)]
    found = label_pairs(grades, scores, name="x", replicates=30, texts=names)
    assert found.n == 198 and found.notes[0] == "2 of 200 pairs have no score (a vector is zero or not finite)."
    assert found.extra["units"] == 100


def test_rare_and_useless():
    rng = np.random.default_rng(0)
    rare = label_pairs([1] + [0] * 39, rng.random(40), name="x", replicates=200)
    assert rare.roc_auc.low is None and rare.mappings == [] and rare.roc.lows is None
    assert rare.operating[0].value is None and "label more pairs" in rare.operating[0].reason
    assert any("1 of 40 distinct pairs are similar" in note for note in rare.notes)
    labels = np.arange(40) % 2
    same = label_pairs(labels, np.full(40, 0.7), name="x", replicates=50, precisions=(0.9,))
    assert same.roc_auc.value == 0.5 and same.mappings == []
    assert {one.reason for one in same.operating} == {"all scores are 0.7"}
    collapsed = label_pairs(labels, 1 - 1.2e-16 * rng.integers(0, 3, 40), name="x", replicates=50)
    assert sum(collapsed.similar["counts"]) == 20 and np.ptp(collapsed.similar["edges"]) > 0
    backwards = label_pairs(labels, 0.5 - 0.3 * labels + 0.1 * rng.random(40), name="x", replicates=50)
    assert any("Are the labels reversed?" in note for note in backwards.notes)
    noise = label_pairs(labels, np.arange(40) // 2, name="x", replicates=100)  # every score once of each kind
    assert noise.roc_auc.value == 0.5
    assert any("0.5 is possible" in note for note in noise.notes)


def test_pairs_that_a_threshold_tells_apart():
    labels = np.arange(60) % 2
    found = label_pairs(labels, 0.2 + 0.5 * labels + np.linspace(0, 0.1, 60), name="x", replicates=100, precisions=(1,))
    assert found.roc_auc.value == 1 and found.mappings[0].brier.value < 0.01
    best = found.operating[0]
    assert best.f1.value == 1 and 0.8 < best.f1.low < 1 and 0.8 < best.precision.low < 1
    assert all(np.isfinite(one.knots).all() for one in found.mappings)


def test_bad_input():
    grades, scores = example()
    assert "one label per score" in said(ShapeError, grades[:-1], scores)
    assert "has 19 pairs, and calibration needs at least 20" in said(ShapeError, grades[:19], scores[:19])
    gone = np.where(np.arange(200) < 195, np.nan, scores)
    assert "has 5 pairs with a score" in said(ShapeError, grades, gone)
    assert "all 200 labels are 1" in said(FormatError, np.ones(200), scores)
    assert "3 of 200 labels are not finite" in said(FormatError, np.append(grades[3:], [np.nan] * 3), scores)
    for cut in (0, 6, -1, float("nan")):
        assert "the labels go from 0 to 5" in said(OptionError, grades, scores, cut=cut)
    with pytest.raises(OptionError, match="A precision is above 0"):
        label_pairs(grades, scores, name="x", precisions=(90,))
    with pytest.raises(ShapeError, match="two texts for each of 200 pairs"):
        label_pairs(grades, scores, name="x", texts=(["a"], ["b"]))
    assert truth_of([1, 2, 2]).similar.tolist() == [0, 1, 1]


def test_real_pairs(real_data):
    """STS-B: the default cut is 4, and shared words tell alike pairs."""
    pairs = open_pair_file("stsb", data=real_data)
    left, right = pairs.texts
    words = [(set(a.lower().split()), set(b.lower().split())) for a, b in zip(left, right, strict=True)]
    scores = [len(a & b) / len(a | b) for a, b in words]
    found = label_pairs(pairs.labels, scores, name=pairs.name, replicates=50, texts=pairs.texts)
    assert (found.n, found.cut, found.positives) == (1379, 4.0, (pairs.labels >= 4).sum())
    assert found.roc_auc.value == pytest.approx(roc_auc_score(pairs.labels >= 4, scores), abs=1e-12)
    assert not found.extra["by_texts"] and found.extra["units"] < found.extra["distinct_pairs"] == 1377
    assert found.spearman.value == pytest.approx(spearmanr(pairs.labels, scores).statistic, abs=1e-12)


def drawn_pairs(rng, n):
    """Grades and scores in four clusters, with heavy tails."""
    truth = rng.integers(0, 4, n) + 0.2 * rng.standard_t(2.5, n)
    return np.clip(truth + 0.4 * rng.normal(size=n), 0, 3), truth + rng.standard_t(3, n)


@REPEATED
def test_intervals_cover_where_pairs_repeat(n, copies):
    """Sixty sets: AUC, average precision, rank correlation, recall and precision of a threshold, F1 of the best."""
    grades, scores = drawn_pairs(np.random.default_rng(999), 100_000)
    alike = grades >= 2
    right = (
        roc_auc_score(alike, scores),
        average_precision_score(alike, scores),
        spearmanr(grades, scores).statistic,
    )
    texts = [f"a{row}" for row in range(n)] * copies, [f"b{row}" for row in range(n)] * copies
    order = np.argsort(-scores)
    hits, taken = np.cumsum(alike[order]), np.arange(1, len(scores) + 1)
    best = scores[order][(2 * hits / (taken + alike.sum())).argmax()]
    covered = np.zeros(8)
    for seed in range(60):
        own = (np.tile(column, copies) for column in drawn_pairs(np.random.default_rng(seed), n))
        found = label_pairs(*own, name="x", replicates=200, seed=seed, texts=texts, cut=2.0, recalls=(0.8,))
        top, point = found.operating
        f1, over = scores >= top.value, scores >= point.value
        truths = (
            *right,
            *((over & alike).sum() / alike.sum(), (over & alike).sum() / over.sum()),
            *(2 * (f1 & alike).sum() / (f1.sum() + alike.sum()), (f1 & alike).sum() / f1.sum(), best),
        )
        figures = (
            *(found.roc_auc, found.average_precision, found.spearman),
            *(point.recall, point.precision, top.f1, top.precision, top),
        )
        covered += [one.low <= truth <= one.high for one, truth in zip(figures, truths, strict=True)]
    # A true 95 % covers 52 or more of 60 in 99 of 100 such tests.
    assert (covered >= 52).all(), covered


def logistic_pairs(n=400, seed=0, ties=False):
    rng = np.random.default_rng(seed)
    scores = rng.uniform(0.2, 0.9, n)
    truth = (rng.random(n) < expit(12 * (scores - 0.6))).astype(float)
    return truth, scores.round(1) if ties else scores


@pytest.mark.parametrize("ties", [False, True])
def test_logistic_is_that_of_the_greatest_likelihood(ties):
    truth, scores = logistic_pairs(ties=ties)
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
    truth, scores = logistic_pairs()
    found = fit_logistic(-scores, truth)
    assert found.slope == 0 and found(np.array([-1.0, 1.0])) == pytest.approx([truth.mean()] * 2)


def test_logistic_of_one_score():
    found = fit_logistic(np.full(20, 0.7), np.array([1.0] * 5 + [0.0] * 15))
    assert found.slope == 0 and found(np.array([-1.0, 0.7])) == pytest.approx([0.25, 0.25])


@pytest.mark.parametrize("ties", [False, True])
def test_isotonic_is_that_of_scikit_learn(ties):
    truth, scores = logistic_pairs(ties=ties)
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
    truth, scores = logistic_pairs(60)
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
    truth, predicted = logistic_pairs(80)
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
