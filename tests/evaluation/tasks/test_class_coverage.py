"""Intervals of classification and of its gains cover the truth where texts repeat, with heavy tails and clusters.

The truth is that of very many texts; of folds, the mean over many sets of that number. UNCONE_SIMULATIONS sets the
number of draws.
"""

from __future__ import annotations

import os

import numpy as np
import pytest

from uncone.analysis.intervals.bootstrap import Replicates, differences
from uncone.analysis.intervals.pair_units import item_units
from uncone.evaluation.tasks.classify import classify, cross_classify

RUNS = int(os.environ.get("UNCONE_SIMULATIONS", "60"))
D, DRAWS = 6, 200
SIZES = pytest.mark.parametrize(("n", "copies"), [(60, 10), (150, 3)])
KINDS = pytest.mark.parametrize("kind", ["heavy tails", "clusters"])
CLASSES = np.random.default_rng(3).normal(size=(3, D))
PLACES = 2 * np.random.default_rng(8).normal(size=(5, D))


def noise(rng, kind, n):
    return rng.standard_t(2.5, size=(n, D)) if kind == "heavy tails" else rng.normal(size=(n, D))


def assert_covered(scores, truth):
    hits = [one.low <= truth <= one.high for one in scores if one.low is not None]
    assert len(hits) == len(scores) and np.mean(hits) >= 0.9, f"{np.mean(hits):.3f} of {len(hits)} around {truth:.3f}"


def texts(rng, n, kind, apart):
    """Vectors of three classes, one of them rare."""
    labels = rng.choice(3, n, p=[0.6, 0.3, 0.1])
    shared = PLACES[rng.integers(5, size=n)] if kind == "clusters" else 0.0
    return apart * CLASSES[labels] + shared + noise(rng, kind, n), [str(label) for label in labels]


@KINDS
@SIZES
@pytest.mark.parametrize("apart", [1.0, 3.0], ids=["hard", "nearly all right"])
def test_classes_cover_where_texts_repeat(kind, n, copies, apart):
    """By quantiles of draws 1 to 50 of 100 cover where nearly all texts are right."""
    train = texts(np.random.default_rng(1), 300, kind, apart)
    truth = classify(*train, *texts(np.random.default_rng(2), 30_000, kind, apart), replicates=2)
    units = item_units([str(row) for row in range(n)] * copies)
    found = []
    for seed in range(RUNS):
        vectors, labels = texts(np.random.default_rng([seed, 5]), n, kind, apart)
        test = np.tile(vectors, (copies, 1)), labels * copies
        found.append(classify(*train, *test, replicates=DRAWS, seed=seed, units=units))
    assert_covered([one.accuracy for one in found], truth.accuracy.value)
    assert_covered([one.macro_f1 for one in found], truth.macro_f1.value)


@KINDS
@SIZES
def test_folds_cover_where_texts_repeat(kind, n, copies):
    """Other texts are learnt from, too: over the texts of the test alone macro-F1 covers 73 to 92 of 100 times."""
    units = item_units(np.repeat(np.arange(n), copies).tolist())
    found = []
    for seed in range(RUNS // 2):
        vectors, labels = texts(np.random.default_rng([seed, 6]), n, kind, 1.0)
        labels[:6] = ["0", "1", "2"] * 2  # each stands in two texts at least
        repeated = vectors.repeat(copies, axis=0), np.repeat(labels, copies)
        found.append(cross_classify(*repeated, replicates=DRAWS, units=units))
    for name in ("accuracy", "macro_f1"):
        scores = [getattr(one, name) for one in found]
        assert_covered(scores, np.mean([one.value for one in scores]))


@KINDS
@SIZES
def test_gains_cover_where_texts_repeat(kind, n, copies):
    """Fewer dimensions against all differ on few texts: by quantiles of draws 72 to 87 of 100 differences cover."""
    train, many = (texts(np.random.default_rng(seed), rows, kind, 1.0) for seed, rows in ((1, 300), (2, 30_000)))
    few = [(vectors[:, :4], labels) for vectors, labels in (train, many)]
    figures = classify(*train, *many, replicates=2), classify(*few[0], *few[1], replicates=2)
    units = item_units([str(row) for row in range(n)] * copies)
    found = {"accuracy": [], "macro_f1": []}
    for seed in range(RUNS):
        vectors, labels = texts(np.random.default_rng([seed, 5]), n, kind, 1.0)
        tiled, repeated = np.tile(vectors, (copies, 1)), labels * copies
        both = [
            classify(*known, tiled[:, :width], repeated, replicates=DRAWS, seed=seed, units=units)
            for known, width in ((train, D), (few[0], 4))
        ]
        for name, gains in found.items():
            values = np.array([getattr(one, name).value for one in both])
            draws = np.array([one.replicates[name] for one in both])
            items = min(one.sizes[name] for one in both)
            gains.append(differences(Replicates(values, draws, n, n, items))[1])
    for name, gains in found.items():
        assert_covered(gains, getattr(figures[1], name).value - getattr(figures[0], name).value)
