"""Alignment and uniformity on pairs: against a loop, and by how often the interval holds the truth."""

from __future__ import annotations

import math

import numpy as np
import pytest

from uncone.analysis.intervals.pair_units import pair_units
from uncone.data.tasks.sts import PairTask
from uncone.evaluation.spaces import Settings, open_spaces
from uncone.evaluation.tasks.positives import alignments, sampled_uniformity
from uncone.evaluation.tasks.sts import evaluate_sts


def test_the_alignment_of_a_model_by_a_loop(tiny_model):
    words = ["school", "text", "go", "the", "cat", "dog", "tree", "rain", "snow", "car", "boat", "bird", "fish", "book"]
    rng = np.random.default_rng(0)
    pairs = [(" ".join(rng.choice(words, 4)), " ".join(rng.choice(words, 4))) for _ in range(50)]
    scores = rng.integers(0, 6, 50).astype(float)
    task = PairTask("own", [left for left, _ in pairs], [right for _, right in pairs], scores, ["own"] * 50)
    settings = Settings(fit_on=[text for pair in pairs for text in pair], replicates=50)
    table = evaluate_sts(tiny_model, [task], "raw,center", settings)

    (space,) = open_spaces(tiny_model, [text for pair in pairs for text in pair], settings)
    distances = []
    for (left, right), score in zip(pairs, scores, strict=True):
        if score >= 4:
            u, v = (row / np.linalg.norm(row) for row in space.vectors([left, right]).astype(np.float64))
            distances.append(((u - v) ** 2).sum())
    raw, center = (row.cells[0] for row in table.rows)
    assert raw.alignment.value == pytest.approx(np.mean(distances), abs=1e-6)
    assert raw.alignment.n == len(distances) and raw.alignment.low <= raw.alignment.value <= raw.alignment.high
    texts = list(dict.fromkeys(text for pair in pairs for text in pair))
    units = [row / np.linalg.norm(row) for row in space.vectors(texts).astype(np.float64)]
    kernel = [math.exp(-2 * ((u - v) ** 2).sum()) for i, u in enumerate(units) for v in units[:i]]
    assert raw.uniformity == pytest.approx(math.log(np.mean(kernel)), abs=1e-5)
    assert center.uniformity < raw.uniformity and center.alignment.value > raw.alignment.value


def test_the_interval_holds_the_truth():
    hits, runs, n = 0, 120, 80
    for seed in range(runs):
        cosines = 1 - np.random.default_rng(seed).beta(2, 5, n)
        (found,) = alignments(np.ones(n), [cosines], pair_units(n), 300, seed)
        hits += found.low <= 2 * 2 / 7 <= found.high
    assert hits >= 106  # 95 % of 120 is 114; fewer is over three standard errors below


def test_nothing_to_align():
    for scores in (np.zeros(4), np.full(4, -1.0)):
        (found,) = alignments(scores, [np.ones(4)], pair_units(4), 20, 0)
        assert (found.value, found.n) == (None, 0)
    assert sampled_uniformity(np.full((1, 3), 1.0), 0) is None
