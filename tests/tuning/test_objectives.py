"""Losses, probes and learning rates against naive computations."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr

from uncone.analysis.cosine.alignment import alignment, exact_uniformity
from uncone.data.tasks.sts import PairTask
from uncone.tuning.objectives import default_lr, supervised_contrastive
from uncone.tuning.probes import Prober


def test_supervised_contrastive_loss_is_that_of_a_double_loop():
    rng = np.random.default_rng(0)
    vectors, labels = rng.normal(size=(7, 5)), np.array([0, 0, 1, 1, 1, 2, 0])
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    terms = []
    for i in range(7):
        total = sum(math.exp(4 * units[i] @ units[j]) for j in range(7) if j != i)
        shares = [
            math.log(math.exp(4 * units[i] @ units[j]) / total) for j in range(7) if j != i and labels[j] == labels[i]
        ]
        if shares:
            terms.append(-sum(shares) / len(shares))
    loss = supervised_contrastive(torch.tensor(vectors), torch.tensor(labels), 4.0)
    assert float(loss) == pytest.approx(sum(terms) / len(terms), rel=1e-9)


def test_supervised_contrastive_loss_has_a_gradient_where_a_text_has_no_partner():
    vectors = torch.randn(4, 3, requires_grad=True)
    supervised_contrastive(vectors, torch.tensor([0, 0, 1, 2]), 20.0).backward()
    assert torch.isfinite(vectors.grad).all()


def test_alignment_and_uniformity_are_those_of_a_double_loop():
    rng = np.random.default_rng(1)
    left, right = rng.normal(size=(2, 20, 6))
    u, v = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (left, right))
    assert alignment(left, right) == pytest.approx(np.mean([np.sum((a - b) ** 2) for a, b in zip(u, v, strict=True)]))
    kernel = [math.exp(-2 * np.sum((u[i] - u[j]) ** 2)) for i in range(20) for j in range(20) if i != j]
    assert exact_uniformity(left) == pytest.approx(math.log(np.mean(kernel)))
    assert exact_uniformity(left[:1]) is None


def test_a_probe_measures_held_out_texts_and_dev_pairs():
    rng = np.random.default_rng(2)
    texts = [f"text {i}" for i in range(40)]
    table = dict(zip(texts, rng.normal(size=(40, 8)) + 1, strict=True))
    scores = rng.integers(0, 6, 20).astype(float)
    pairs = PairTask("dev", texts[:20], texts[20:], scores, ["dev"] * 20)
    probe = Prober(texts, pairs)(3, lambda names: np.array([table[name] for name in names]), None)
    rows = np.array([table[text] for text in texts])
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    cosines = units @ units.T
    assert probe.baseline == pytest.approx((cosines.sum() - 40) / (40 * 39))
    own = [units[i] @ units[20 + i] for i in range(20)]
    assert probe.dev == pytest.approx(spearmanr(own, scores).statistic)
    close = [2 - 2 * own[i] for i in range(20) if scores[i] >= 4]
    assert probe.alignment == pytest.approx(np.mean(close)) and probe.step == 3


def test_without_positive_pairs_alignment_is_that_of_two_views():
    texts = [f"text {i}" for i in range(10)]
    rows = np.random.default_rng(3).normal(size=(3, 10, 4))
    probe = Prober(texts, None)(0, lambda _: rows[0], lambda _, seed: rows[seed])
    assert probe.alignment == pytest.approx(alignment(rows[1], rows[2])) and probe.dev is None


def test_wider_models_learn_more_slowly():
    rates = [default_lr(width) for width in (32, 128, 256, 768, 1024)]
    assert rates[0] == rates[1] == 5e-4 and rates == sorted(rates, reverse=True)
    assert 2e-5 < rates[3] < 5e-5
