"""Differences paired by seed and by test item, against naive means and the variance of items and seeds."""

from __future__ import annotations

import numpy as np

from uncone.analysis.intervals.resampling import LEVEL
from uncone.tuning.ablation.pairing import paired_accuracies


def hits(share, seeds=3, n=400, seed=0, spread=0.0):
    rng = np.random.default_rng(seed)
    shares = np.clip(share + spread * rng.normal(size=(seeds, 1)), 0, 1)
    return rng.random((seeds, n)) < shares


def keys(n=400, copies=1):
    return [(f"text {i // copies}", "") for i in range(n)]


def test_values_are_plain_means():
    table = {"none": hits(0.8), "a": hits(0.5, seed=1), "b": hits(0.8, seed=2)}
    scores = paired_accuracies(table, keys())
    for name, own in table.items():
        np.testing.assert_allclose(scores[name].accuracy.value, np.mean(own))
        if name != "none":
            np.testing.assert_allclose(scores[name].difference.value, np.mean(own) - np.mean(table["none"]))
    assert scores["none"].difference is None
    assert scores["a"].difference.significant
    assert not scores["b"].difference.significant


def test_the_interval_has_the_variance_of_items_and_seeds():
    table = {"none": hits(0.8, spread=0.05), "a": hits(0.72, seed=1, spread=0.05)}
    gap = paired_accuracies(table, keys())["a"].difference
    each = table["a"].astype(float) - table["none"]
    of_items = each.mean(axis=0).var(ddof=1) / each.shape[1]
    of_seeds = each.mean(axis=1).var(ddof=1) / each.shape[0]
    naive = 2 * 1.96 * np.sqrt(of_items + of_seeds)
    assert 0.85 * naive < gap.high - gap.low < 1.25 * naive


def test_pairing_narrows_the_interval():
    same = hits(0.8, seeds=2)
    flipped = same.copy()
    flipped[:, :12] = False
    paired = paired_accuracies({"none": same, "a": flipped}, keys())["a"].difference
    apart = paired_accuracies({"none": same, "a": hits(0.77, seeds=2, seed=9)}, keys())["a"].difference
    assert paired.high - paired.low < 0.7 * (apart.high - apart.low)
    assert paired.significant


def test_copies_of_an_item_are_one_unit():
    own = {name: np.repeat(hits(share, n=200, seed=at), 2, axis=1) for at, (name, share) in enumerate(
        {"none": 0.8, "a": 0.7}.items())}  # fmt: skip
    copied, single = (
        paired_accuracies(own, keys(400, 2))["a"],
        paired_accuracies({name: values[:, ::2] for name, values in own.items()}, keys(200))["a"],
    )
    assert copied.units == single.units == 200
    widths = [gap.high - gap.low for gap in (copied.difference, single.difference)]
    assert abs(widths[0] / widths[1] - 1) < 0.15


def test_many_variants_are_corrected_for():
    """Without a true difference, a proven one among ten is rare."""
    proven = 0
    for trial in range(20):
        table = {f"v{at}": hits(0.75, n=150, seed=100 * trial + at) for at in range(11)}
        proven += any(s.difference.significant for s in paired_accuracies(table, keys(150)).values() if s.difference)
    assert proven <= 4
    assert LEVEL == 0.95
