"""Labeled pairs against scikit-learn's metrics."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, logit
from simulations import REPEATED, one_daily
from sklearn.metrics import average_precision_score, f1_score, roc_auc_score

from uncone.analysis.intervals.labeled_pairs import score_pairs
from uncone.analysis.intervals.pair_units import item_units
from uncone.analysis.intervals.resampling import drawn_counts, score
from uncone.errors import FormatError, ShapeError


def example(n=80, ties=False, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, n)
    values = labels + rng.normal(size=n)
    return labels, values.round() if ties else values


def best_f1(labels, values):
    return max(f1_score(labels, values >= cut) for cut in np.unique(values))


@pytest.mark.parametrize("ties", [False, True])
@one_daily("seed", 0, 1, 2)
def test_equal_to_scikit_learn(ties, seed, stretched):
    labels, values = example(ties=ties, seed=seed)
    found = score_pairs(labels, values, replicates=20, seed=seed)
    naive = {"roc_auc": roc_auc_score, "average_precision": average_precision_score, "best_f1": best_f1}
    counts = np.concatenate(list(drawn_counts(80, 20, seed)))
    for name, function in naive.items():
        score = getattr(found, name)
        assert score.value == pytest.approx(function(labels, values), abs=1e-12) and score.n == 80
        drawn = [np.repeat(np.arange(80), count) for count in counts]
        expected = stretched([function(labels[rows], values[rows]) for rows in drawn], score.value, 80)
        assert found.replicates[name] == pytest.approx(expected, abs=1e-5)
        bounds = tuple(np.quantile(expected, [0.025, 0.975]))
        if name != "roc_auc":  # even in the log odds; that of the best is moved down by what draws exceed it by
            middle, odds = logit(score.value), logit(expected)
            middle -= max(np.mean(odds) - middle, 0) if name == "best_f1" else 0
            low, high = (expit(middle + sign * 1.959964 * np.std(odds)) for sign in (-1, 1))
            bounds = low, max(high, score.value)
        assert (score.low, score.high) == pytest.approx(bounds, abs=1e-5)
    assert f1_score(labels, values >= found.threshold) == pytest.approx(found.best_f1.value)
    assert found.threshold not in values or found.threshold == values.min()
    assert found.positives == labels.sum() and found.reason == ""


def test_order_is_all_that_counts():
    labels, values = example()
    one, other = score_pairs(labels, values, replicates=10), score_pairs(labels, np.exp(values), replicates=10)
    assert one.roc_auc == other.roc_auc and one.best_f1 == other.best_f1


def test_undefined():
    labels, values = example()
    same = score_pairs(labels, np.ones(80), replicates=50)
    assert same.roc_auc.value == 0.5 and same.threshold == 1.0
    values[3] = np.nan
    found = score_pairs(labels, values)
    assert found.roc_auc.value is None and found.reason == "1 of 80 similarities are not finite"
    rare = score_pairs([1] + [0] * 19, np.arange(20.0), replicates=200)
    assert rare.roc_auc.value == 0.0 and rare.roc_auc.low is None  # a third of the draws lack the one alike pair


def test_bad_input():
    with pytest.raises(FormatError, match="All 5 labels are 1"):
        score_pairs([1] * 5, range(5))
    with pytest.raises(FormatError, match="Labels of pairs are 0 and 1"):
        score_pairs([0, 1, 0.5], range(3))
    with pytest.raises(ShapeError):
        score_pairs([0, 1], range(3))


@REPEATED
def test_intervals_cover_where_pairs_repeat(n, copies):
    """Sixty sets of labeled pairs, in clusters and with heavy tails, and the mean of a figure per item."""

    def drawn(rng, n):
        truth = rng.integers(0, 4, n) + 0.2 * rng.standard_t(2.5, n)
        return (truth > 1.5).astype(int), truth + rng.standard_t(3, n), np.clip(rng.beta(0.3, 0.5, n), 0, 1)

    labels, values, items = drawn(np.random.default_rng(999), 100_000)
    order = np.argsort(-values)
    hits = np.cumsum(labels[order])
    best = (2 * hits / (np.arange(1, len(hits) + 1) + labels.sum())).max()
    truths = roc_auc_score(labels, values), average_precision_score(labels, values), best, items.mean()
    units = item_units([str(row) for row in range(n)] * copies)
    covered = np.zeros(4)
    for seed in range(60):
        own = [np.tile(column, copies) for column in drawn(np.random.default_rng(seed), n)]
        found = score_pairs(*own[:2], replicates=200, seed=seed, units=units)
        each = units.replicate(lambda weights, own=own: (weights @ own[2] / weights.sum(axis=1))[None], 200, seed)[0]
        figures = found.roc_auc, found.average_precision, found.best_f1, score(own[2].mean(), each, n)
        covered += [one.low <= truth <= one.high for one, truth in zip(figures, truths, strict=True)]
    # A true 95 % covers 52 or more of 60 in 99 of 100 such tests.
    assert (covered >= 52).all(), covered
