"""Repeating a table adds no evidence: no interval of `similarity` changes by more than 15 %, and no judgment does."""

from __future__ import annotations

import re

import numpy as np
import pytest

import uncone
from uncone.report.documents.similarity.sentences import level

TIMES = 3


def space(labels, seed=0, n=90, d=12):
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % labels
    return (rng.standard_t(4, size=(n, d)) + 1.2 * np.eye(labels, d)[codes] + 0.4).astype(np.float32), codes


def intervals(part, name=""):
    """Every value with its bounds, by name."""
    bounds = {}
    if isinstance(part, dict):
        if {"mean", "low", "high"} <= set(part):
            bounds[name] = (part["mean"], part["low"], part["high"])
        if "auc_low" in part:
            bounds[f"{name}/auc"] = (part["auc"], part["auc_low"], part["auc_high"])
        if "mean_low" in part:
            bounds[f"{name}/mean"] = (part["mean"], part["mean_low"], part["mean_high"])
        for key, value in part.items():
            of_auc = isinstance(value, list) and name.endswith("/auc")
            bounds |= {f"{name}/{key}": tuple(value)} if of_auc else intervals(value, f"{name}/{key}")
    elif isinstance(part, list):
        for place, value in enumerate(part):
            bounds |= intervals(value, f"{name}/{place}")
    return bounds


def judgments(found):
    """What is said, without its numbers."""
    sentences = [found.headline, level(found), *(group.outliers for group in found.groups)]
    sentences += [] if found.per_label is None else [found.per_label.sentence]
    sentences += [] if found.two_columns is None else [found.two_columns.differs]
    sentences += [line for line in found.lines() if line.startswith(("95 %", "Near-duplicates cannot"))]
    return [re.sub(r"\d[\d.,]*", "#", str(sentence)) for sentence in sentences]


def compare(once, many, parts):
    before, after = (intervals({part: outcome.to_dict()[part] for part in parts}) for outcome in (once, many))
    assert before.keys() == after.keys() and len(before) > 5
    for name, (value, low, high) in before.items():
        again, lower, upper = after[name]
        width = high - low
        assert abs((upper - lower) - width) <= 0.15 * width, name
        for bound, other in ((low, lower), (high, upper)):
            assert abs((other - again) - (bound - value)) <= 0.15 * width, name
    assert judgments(once) == judgments(many)


@pytest.mark.parametrize("shuffled", [False, True])
def test_repeated_vectors(shuffled):
    """With labels that show in the cosines, and with labels that do not."""
    rows, codes = space(3)
    codes = np.random.default_rng(1).permutation(codes) if shuffled else codes
    once = uncone.similarity(rows, labels=codes.tolist(), seed=2)
    many = uncone.similarity(np.tile(rows, (TIMES, 1)), labels=np.tile(codes, TIMES).tolist(), seed=2)
    compare(once, many, ["labels", "background"])
    assert many.source["distinct"] == 90 and many.per_label.texts == 90


def test_few_vectors_stay_few():
    rows, codes = space(2, n=20)
    for k in (1, 20):
        result = uncone.similarity(np.tile(rows, (k, 1)), labels=np.tile(codes, k).tolist())
        assert "20 distinct texts are too few" in result.per_label.sentence and "hard to judge" in result.headline
        assert level(result) == "note" and "190 unrelated pairs: percentiles are rough." in " ".join(result.notes)
        assert result.steps[-1].key == "few"


def test_repeated_pairs_of_texts(tiny_model):
    rng = np.random.default_rng(0)
    words = ["school", "go", "the", "text", "a", "b", "c", "d", "e", "f", "g", "h", "i"]
    texts = list(dict.fromkeys(" ".join(rng.choice(words, 6)) for _ in range(200)))[:160]
    left, right = [texts[i // 2] for i in range(80)], texts[80:]
    right = [text if i % 2 else f"{two} {text[:3]}" for i, (text, two) in enumerate(zip(right, left, strict=True))]
    table = {"left": left, "right": right, "kind": ["near", "far"] * 40}
    results = []
    for k in (1, TIMES):
        columns = {name: column * k for name, column in table.items()}
        results.append(uncone.similarity(columns, text="left", against="right", label="kind", model=tiny_model))
    compare(*results, ["two_columns", "background"])
    assert results[0].background.mean == pytest.approx(results[1].background.mean, abs=1e-6)
    assert results[0].two_columns.units == results[1].two_columns.units == {"near over far": 40}
