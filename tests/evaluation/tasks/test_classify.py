"""Classification on frozen vectors, against scikit-learn used by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm, t
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score

from uncone.analysis.intervals.resampling import drawn_counts
from uncone.errors import FormatError, OptionError, ShapeError
from uncone.evaluation.tasks import classify as module
from uncone.evaluation.tasks.classify import classify, cross_classify


def blobs(n=240, classes=3, d=5, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, classes, n)
    centers = rng.normal(size=(classes, d))
    x = (centers[labels] + rng.normal(size=(n, d))) * np.array([1, 10, 100, 0.1, 1]) + 7
    return x.astype(np.float32), [f"c{label}" for label in labels]


def f1_items(truth, predicted):
    """The items that a macro-F1 rests on, and its degrees of freedom; each class has one more hit and one more miss."""
    means, parts, texts = [], [], []
    for name, f1 in zip(np.unique(truth), f1_score(truth, predicted, average=None), strict=True):
        n = int((truth == name).sum())
        mean = (n * f1 + 1) / (n + 2)
        means.append(mean)
        parts.append(mean * (1 - mean) / n)
        texts.append(n)
    variance = sum(parts) / len(parts) ** 2
    freedom = sum(parts) ** 2 / sum(part**2 / (n - 1) for part, n in zip(parts, texts, strict=True))
    return np.mean(means) * (1 - np.mean(means)) / variance, freedom


def test_train_and_test(stretched, exact_bounds):
    x, y = blobs()
    result = classify(x[:160], y[:160], x[160:], y[160:], replicates=100, seed=4)
    mean, spread = x[:160].mean(axis=0, dtype=np.float64), x[:160].std(axis=0, dtype=np.float64)
    model = LogisticRegression(max_iter=1000).fit((x[:160] - mean) / spread, y[:160])
    predicted, truth = model.predict((x[160:] - mean) / spread), np.array(y[160:])
    assert result.predicted.tolist() == predicted.tolist() and result.converged and result.folds is None
    assert result.scores["accuracy"].value == pytest.approx(accuracy_score(truth, predicted))
    assert result.scores["macro_f1"].value == pytest.approx(f1_score(truth, predicted, average="macro"))
    counts = np.concatenate(list(drawn_counts(80, 100, 4)))
    rows = [np.repeat(np.arange(80), count) for count in counts]
    f1 = [f1_score(truth[row], predicted[row], average="macro") for row in rows]
    accuracy = [accuracy_score(truth[row], predicted[row]) for row in rows]
    f1 = stretched(f1, result.scores["macro_f1"].value, 80)
    accuracy = stretched(accuracy, result.scores["accuracy"].value, 80)
    size, freedom = f1_items(truth, predicted)
    stretch = t.ppf(0.975, freedom) / norm.ppf(0.975)
    f1 = np.clip(result.scores["macro_f1"].value + stretch * (f1 - result.scores["macro_f1"].value), 0, 1)
    assert result.replicates["macro_f1"] == pytest.approx(f1, abs=1e-4)
    assert result.replicates["accuracy"] == pytest.approx(accuracy, abs=1e-5)
    bounds = exact_bounds(result.scores["macro_f1"].value, f1, size / stretch**2)
    assert (result.scores["macro_f1"].low, result.scores["macro_f1"].high) == pytest.approx(bounds, abs=1e-4)
    bounds = exact_bounds(result.scores["accuracy"].value, accuracy, 80)
    assert (result.scores["accuracy"].low, result.scores["accuracy"].high) == pytest.approx(bounds, abs=1e-4)


def test_a_rare_class_is_not_always_drawn(stretched):
    x, y = blobs(60)
    truth = ["rare", *y[31:]]
    result = classify(x[:30], y[:30], x[30:], truth, replicates=50)
    samples = [np.repeat(np.arange(30), count) for count in np.concatenate(list(drawn_counts(30, 50, 0)))]
    expected = [f1_score(np.array(truth)[row], result.predicted[row], average="macro") for row in samples]
    once = stretched(expected, result.scores["macro_f1"].value, 30) - result.scores["macro_f1"].value
    moved = result.replicates["macro_f1"] - result.scores["macro_f1"].value
    inside = (result.replicates["macro_f1"] > 0) & (result.replicates["macro_f1"] < 1)
    ratio = (moved / once)[inside & (np.abs(once) > 1e-3)]
    assert ratio == pytest.approx(ratio[0]) and ratio[0] > 1.2, "the rare class knows little"


def test_folds_see_each_text_once_and_nothing_of_it():
    x, y = blobs()
    result = cross_classify(x, y, folds=4, replicates=50)
    assert result.folds == 4 and result.scores["accuracy"].n == 240 and 0.6 < result.scores["accuracy"].value < 1
    # Nadeau and Bengio: the variance over texts times 1 + 4/3.
    hits = result.predicted == np.array(y)
    assert result.replicates["accuracy"].std() == pytest.approx(hits.std() * np.sqrt(7 / 3 / 240), rel=0.2)
    rng = np.random.default_rng(0)
    noise = cross_classify(rng.normal(size=(60, 100)), ["a", "b"] * 30, replicates=50)
    assert noise.scores["accuracy"].value < 0.75  # a model that had seen the texts would know them all
    assert np.array_equal(cross_classify(x, y, folds=4, replicates=50).predicted, result.predicted)
    few = cross_classify(x[:23], ["a"] * 20 + ["b"] * 3, folds=10, replicates=10)
    assert few.folds == 3


def test_an_invertible_change_hardly_matters():
    x, y = blobs(400)
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    mix = np.eye(5) + np.random.default_rng(1).uniform(-0.4, 0.4, (5, 5))
    plain, mixed = (cross_classify(rows, y, regularization=1e4, replicates=10) for rows in (x, x @ mix))
    assert (plain.predicted == mixed.predicted).mean() > 0.99


def test_stopping_early_is_said(monkeypatch):
    x, y = blobs()
    monkeypatch.setattr(module, "_STEPS", 1)
    assert not cross_classify(x, y, replicates=10).converged


def test_bad_input():
    x, y = blobs()
    with pytest.raises(FormatError, match="All 240 labels are 'one'"):
        cross_classify(x, ["one"] * 240)
    with pytest.raises(FormatError, match="All 240 labels"):
        classify(x, ["one"] * 240, x, y)
    with pytest.raises(FormatError, match="class 'other' has a single text"):
        cross_classify(x, ["other", *["one"] * 239])
    with pytest.raises(ShapeError, match="one label per vector"):
        cross_classify(x, y[:100])
    with pytest.raises(OptionError, match="1 folds"):
        cross_classify(x, y, folds=1)
    x[3, 2] = np.nan
    with pytest.raises(FormatError, match="1 of 240 vectors of the data are not finite"):
        cross_classify(x, y)
