"""CKA and the linear probe against naive computations, and the measures of training as declared."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from uncone.analysis.layers.representations import TrainedVectors, linear_cka, linear_probe
from uncone.analysis.measures.registry import families
from uncone.errors import ShapeError


def naive_cka(x: np.ndarray, y: np.ndarray) -> float:
    """By explicit kernels: HSIC(K, L) / sqrt(HSIC(K, K) HSIC(L, L))."""
    n = len(x)
    center = np.eye(n) - np.ones((n, n)) / n

    def hsic(first, second):
        return np.trace(first @ center @ second @ center) / (n - 1) ** 2

    k, m = x @ x.T, y @ y.T
    return hsic(k, m) / np.sqrt(hsic(k, k) * hsic(m, m))


def test_cka_is_that_of_explicit_kernels():
    rng = np.random.default_rng(0)
    x, noise = rng.normal(size=(2, 30, 6)) + 3
    y = np.tanh(x @ rng.normal(size=(6, 4))) + 0.1 * noise[:, :4]
    assert linear_cka(x, y) == pytest.approx(naive_cka(x, y), rel=1e-9)
    assert linear_cka(x, x) == pytest.approx(1.0) and 0 < linear_cka(x, noise) < 0.6
    assert linear_cka(x, np.ones((30, 2))) is None
    with pytest.raises(ShapeError, match="30 and 10"):
        linear_cka(x, y[:10])


def test_the_probe_is_logistic_regression_on_standardized_vectors():
    rng = np.random.default_rng(1)
    labels = np.array(["a", "b"])[rng.integers(0, 2, 300)]
    rows = rng.normal(size=(300, 5)) * [1, 10, 100, 1, 1] + np.where(labels == "a", 1.0, 0.0)[:, None]
    train, test = rows[:200], rows[200:]
    mean, spread = train.mean(axis=0), train.std(axis=0)
    expected = LogisticRegression(max_iter=1000).fit((train - mean) / spread, labels[:200])
    share = (expected.predict((test - mean) / spread) == labels[200:]).mean()
    assert linear_probe(train, labels[:200], test, labels[200:]) == pytest.approx(share)


def test_the_measures_of_training_are_declared_as_every_other():
    rng = np.random.default_rng(2)
    first, second = rng.normal(size=(2, 40, 4))
    space = TrainedVectors(first, second, ["a", "b"] * 20, second, ["a", "b"] * 20)
    findings = {finding.name: finding for family in families("training") for finding in family.findings(space)}
    assert set(findings) == {"alignment", "cka", "linear_probe"}
    assert findings["cka"].value == pytest.approx(naive_cka(first, second)) and findings["cka"].n == 40
    assert not any(finding.failed for finding in findings.values())
