"""Folds that share no text, and scores over them against scipy, scikit-learn and the bootstrap of evaluation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score

from uncone.analysis.intervals.bootstrap import bootstrap
from uncone.analysis.intervals.pair_units import pair_units
from uncone.analysis.intervals.resampling import drawn_counts
from uncone.errors import FormatError, ShapeError
from uncone.evaluation.folds import Folds, Judge, PairProblem, split


@pytest.mark.parametrize("seed", range(5))
def test_no_text_stands_in_two_folds(seed):
    rng = np.random.default_rng(seed)
    left, right = np.repeat(np.arange(60), 3), rng.permutation(180) + 60
    pairs = PairProblem(left, right, rng.normal(size=180))
    folds = split(pairs, np.arange(240), 5, seed)
    assert folds.apart and np.bincount(folds.fold).min() >= 33
    of_text = {}
    for a, b, fold in zip(left, right, folds.fold, strict=True):
        assert of_text.setdefault(a, fold) == fold and of_text.setdefault(b, fold) == fold
    assert folds.units.independent == 60


def test_labels_are_shared_out():
    rng = np.random.default_rng(0)
    labels = np.arange(200) < 20
    folds = split(PairProblem(np.arange(200), np.arange(200) + 200, rng.permutation(labels)), np.arange(400), 5, 0)
    assert folds.k == 3  # so that each has the better part of 10 of the rare label
    pairs = PairProblem(np.arange(200), np.arange(200) + 200, labels)
    folds = split(pairs, np.arange(400), 5, 0)
    assert sorted(np.bincount(folds.fold[labels])) == [6, 7, 7] and sorted(np.bincount(folds.fold)) == [66, 67, 67]


def test_where_all_pairs_are_linked_what_chooses_shares_no_text():
    pairs = PairProblem(np.arange(50), np.arange(50) + 1, np.arange(50.0))
    folds = split(pairs, np.arange(51), 5, 0)
    assert not folds.apart and folds.units.by_texts and np.bincount(folds.fold).tolist() == [10] * 5
    assert folds.units.independent == 25  # every other pair of the chain
    for fold in range(5):
        texts = {text for i in folds.pairs(fold) for text in (pairs.left[i], pairs.right[i])}
        for other in {*range(5)} - {fold}:
            clear = folds.clear(other, fold)
            expected = [not {pairs.left[i], pairs.right[i]} & texts for i in folds.pairs(other)]
            assert clear.tolist() == expected and sum(expected) >= 4  # a chain is cut in few places


def example(labels, ties, n=90):
    rng = np.random.default_rng(0)
    gold = rng.integers(0, 2 if labels else 6, n).astype(float)
    values = gold + rng.normal(size=(3, n)) * [[0.5], [2.0], [5.0]]
    values = values.round() if ties else values
    pairs = PairProblem(np.arange(n), np.arange(n) + n, gold)
    return pairs, values, np.arange(n) * 3 // n


@pytest.mark.parametrize("ties", [False, True])
def test_alone_every_pair_is_drawn_as_in_evaluation(ties):
    pairs, values, _ = example(False, ties)
    result = Judge(pairs, Folds(np.zeros(90, np.int64), pair_units(90), 1)).over_folds(values, 50, seed=4)
    expected = bootstrap(pairs.scores, values, replicates=50, seed=4)
    assert result.scores == pytest.approx(expected.scores, abs=1e-12)
    assert result.values == pytest.approx(expected.values, abs=1e-12)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("labels", [False, True])
def test_units_are_drawn_whole(labels, ties, stretched):
    pairs, values, fold = example(labels, ties)
    unit = np.arange(90) // 3 if labels else np.minimum(np.arange(90) // 2, 40)
    fold = fold if labels else np.arange(90) // 46
    k = fold.max() + 1
    units = pair_units(90, (unit.tolist(), range(100, 190)))
    result = Judge(pairs, Folds(fold, units, k)).over_folds(values, 15, seed=2)
    naive = roc_auc_score if labels else lambda gold, own: spearmanr(gold, own).statistic
    expected = np.zeros((3, 15))
    for r, counts in enumerate(np.concatenate(list(drawn_counts(unit.max() + 1, 15, 2)))):
        for at in range(k):
            place = np.flatnonzero(fold == at)
            rows = [i for i in place for _ in range(counts[unit[i]])]
            for method in range(3):
                expected[method, r] += len(place) / 90 * naive(pairs.scores[rows], values[method, rows])
    sizes = np.bincount(unit)
    expected = stretched(expected, result.scores, 90**2 / (sizes @ sizes), centers=k)
    expected += (result.scores - expected.mean(axis=1))[:, None]
    assert result.values == pytest.approx(expected, abs=1e-4)


def test_undefined_stays_undefined():
    pairs, values, fold = example(False, False)
    values[1, 3] = np.nan
    result = Judge(pairs, Folds(fold, pair_units(90), 3)).over_folds(values, 10, seed=0)
    assert np.isfinite(result.values[[0, 2]]).all() and np.isnan(result.scores[1]) and np.isnan(result.values[1]).all()


def test_problems_are_checked():
    rows = np.arange(12)
    with pytest.raises(ShapeError, match="has 9 distinct pairs"):
        PairProblem(rows[:9], rows[:9], np.arange(9.0))
    with pytest.raises(FormatError, match=r"all 12 scores are 3\. We need pairs that differ"):
        PairProblem(rows, rows, np.full(12, 3.0))
    with pytest.raises(FormatError, match=r"all 12 scores are 1\. We need both 0 and 1"):
        PairProblem(rows, rows, np.ones(12))
    with pytest.raises(FormatError, match="not finite"):
        PairProblem(rows, rows, np.where(rows == 3, np.nan, rows))
    with pytest.raises(ShapeError, match="different lengths"):
        PairProblem(rows, rows[:11], rows)
    with pytest.raises(ShapeError, match="negative"):
        PairProblem(rows - 1, rows, rows)
    with pytest.raises(ShapeError, match="whole numbers"):
        PairProblem(rows / 2, rows, rows)
