"""Words in context: the threshold is the best of all, and chosen on the train alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from uncone.errors import NoUsableRowsError, ShapeError
from uncone.evaluation.tasks.wic import Senses, best_threshold, same_sense


@given(st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=1, max_size=15))
def test_no_threshold_is_better(rows):
    values, labels = np.array([row[0] for row in rows]) / 6, np.array([row[1] for row in rows])
    threshold, accuracy = best_threshold(values, labels)
    cuts = [-np.inf, np.inf, *(np.arange(-1, 8) / 6 - 1 / 12)]
    assert accuracy == pytest.approx(max(((values >= cut) == labels).mean() for cut in cuts))
    assert ((values >= threshold) == labels).mean() == pytest.approx(accuracy)


def senses(n, seed, noise=1.0):
    rng = np.random.default_rng(seed)
    left, labels = rng.normal(size=(n, 8)), rng.integers(0, 2, n).astype(bool)
    right = np.where(labels[:, None], left, rng.normal(size=(n, 8))) + noise * rng.normal(size=(n, 8))
    return Senses(left, right, labels)


def test_accuracy():
    train, test = senses(300, 0), senses(200, 1)
    found = same_sense(train, test, replicates=100)

    def cosines(part):
        return np.array(
            [a @ b / np.linalg.norm(a) / np.linalg.norm(b) for a, b in zip(part.left, part.right, strict=True)]
        )

    cuts = np.sort(cosines(train))
    best = max(((cosines(train) >= cut) == train.labels).mean() for cut in cuts)
    assert found.train_accuracy == pytest.approx(best)
    right = (cosines(test) >= found.threshold) == test.labels
    accuracy = found.scores["accuracy"]
    assert accuracy.value == pytest.approx(right.mean()) and accuracy.n == 200
    assert 0.6 < accuracy.low < accuracy.value < accuracy.high < 1
    turned = same_sense(train, test._replace(labels=~test.labels), replicates=100)
    assert turned.threshold == found.threshold
    assert turned.scores["accuracy"].value == pytest.approx(1 - accuracy.value)


def test_words_without_a_direction():
    train, test = senses(50, 0), senses(50, 1)
    train.left[0], test.left[:2] = 0, 0
    found = same_sense(train, test, replicates=20)
    assert found.lost == 2
    assert found.train_accuracy == same_sense(Senses(*(part[1:] for part in train)), test, replicates=20).train_accuracy


def test_bad_input():
    with pytest.raises(NoUsableRowsError, match="None of 2 similarities"):
        best_threshold([np.nan, np.nan], [True, False])
    with pytest.raises(ShapeError):
        best_threshold([0.1], [True, False])
    with pytest.raises(ShapeError):
        same_sense(senses(20, 0), senses(20, 0)._replace(labels=[True]))
