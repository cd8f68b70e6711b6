"""Repeating an input adds no evidence: no interval of any verb changes by more than 15 %, and no verdict or proof does.

Values may move, because copies weigh in them as the data have them; so an interval is compared by its width, and a
judgment by what it says.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import uncone

TIMES = 3
JUDGMENTS = ("level", "evidence", "significant", "proven", "verdict", "helps", "recommended", "independent", "units")
"""Fields that judge, or count what a judgment rests on."""

LEFT_OUT = ("duplicate_share", "pair_cosine_quantiles")
"""The share of copies itself, and quantiles of all pairs: those of copies lie at the upper end, and move the others."""


def vectors(n=90, d=12, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.standard_t(5, size=(n, d)) + 1.2 * np.eye(3, d)[np.arange(n) % 3] + 0.5).astype(np.float32)


def sentences(n=80, seed=0):
    rng = np.random.default_rng(seed)
    words = ["".join(rng.choice(list("abcdefghij"), rng.integers(2, 5))) for _ in range(40)]
    return [" ".join(rng.choice(words, rng.integers(4, 9))) for _ in range(n)]


def pairs_file(k, n=60):
    """Pairs of sentences that share words or do not, graded by how many, each k times."""
    rng, texts = np.random.default_rng(1), sentences(2 * n)
    rows = []
    for i in range(n):
        left, other = texts[2 * i].split(), texts[2 * i + 1].split()
        shared = rng.integers(0, len(left) + 1)
        rows.append((" ".join(left), " ".join(left[:shared] + other[shared:]) + ".", round(5 * shared / len(left), 1)))
    with Path(f"pairs{k}.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("sentence1", "sentence2", "score"), *rows * k])
    return f"pairs{k}.csv"


def table_file(k):
    texts = sentences(120)
    rows = [(texts[2 * i], texts[2 * i + 1], "ab"[i % 2]) for i in range(60)]
    with Path(f"table{k}.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("first", "second", "label"), *rows * k])
    return f"table{k}.csv"


def searched(k):
    """A search with every query k times, each judged alike."""
    docs, noise = vectors(120), vectors(60, seed=4)
    qrels = {str(row + 60 * copy): {str(row): 1, str(row + 60): 2} for copy in range(k) for row in range(60)}
    queries = np.tile(docs[:60] + 0.8 * noise, (k, 1))
    return uncone.evaluate(vectors=docs, queries=queries, qrels=qrels, methods="raw,center,whiten:dim=4")


VERBS = {
    "check": lambda k, _: uncone.check(np.tile(vectors(), (k, 1)), scores=[0.3, 0.95]),
    "check few": lambda k, _: uncone.check(np.tile(vectors(8), (k, 1)), scores=[0.3, 0.95]),
    "fix": lambda k, _: uncone.fix(np.tile(vectors(), (k, 1)), "droptop", k=1),
    "calibrate": lambda k, _: uncone.calibrate(np.tile(vectors(150), (k, 1)), scores=[0.3], fpr=[0.05, 0.01]),
    "calibrate few": lambda k, _: uncone.calibrate(np.tile(vectors(8), (k, 1)), scores=[0.3]),
    "calibrate pairs": lambda k, model: uncone.calibrate(
        sentences(150) * k, model=model, pairs=pairs_file(k), scores=[0.95], recalls=[0.8], replicates=300
    ),
    "similarity": lambda k, _: uncone.similarity(np.tile(vectors(), (k, 1)), labels=["a", "b", "c"] * (30 * k)),
    "two columns": lambda k, model: uncone.similarity(
        table_file(k), text="first", against="second", label="label", model=model
    ),
    "layers": lambda k, model: uncone.layers(model, sentences() * k),
    "layers, copies kept": lambda k, model: uncone.layers(model, sentences() * k, keep_duplicates=True),
    "layers --deep, copies kept": lambda k, model: uncone.layers(
        model, sentences(150) * k, deep=True, keep_duplicates=True
    ),
    "evaluate": lambda k, model: uncone.evaluate(
        model, [pairs_file(k)], "raw,center,whiten", fit_on=sentences(300, seed=2)
    ),
    "evaluate vectors": lambda k, _: searched(k),
    "prescribe": lambda k, model: uncone.prescribe(sentences(300), model=model, pairs=pairs_file(k), replicates=300),
}


def numbers(part, path=""):
    """Every interval by its path, and every judgment."""
    intervals, judgments = {}, {}
    if isinstance(part, dict):
        for key, value in part.items():
            if key in LEFT_OUT:
                continue
            other = part.get(key.replace("low", "high")) if "low" in key else None
            if isinstance(value, int | float) and isinstance(other, int | float):
                intervals[f"{path}.{key}"] = other - value
            if key in JUDGMENTS and not isinstance(value, dict | list):
                judgments[f"{path}.{key}"] = value
            for values, more in zip((intervals, judgments), numbers(value, f"{path}.{key}"), strict=True):
                values |= more
    elif isinstance(part, list):
        for at, value in enumerate(part):
            for values, more in zip((intervals, judgments), numbers(value, f"{path}[{at}]"), strict=True):
                values |= more
    return intervals, judgments


@pytest.mark.parametrize("verb", VERBS)
def test_repeating_an_input_adds_no_evidence(verb, tiny_model):
    once, often = (json.loads(json.dumps(VERBS[verb](k, tiny_model).to_dict(), default=str)) for k in (1, TIMES))
    (before, judgments), (after, judgments_again) = numbers(once), numbers(often)
    assert judgments == judgments_again
    assert before.keys() == after.keys() and (len(before) >= 4 or "few" in verb)
    wrong = {path: (before[path], after[path]) for path in before if not near(before[path], after[path])}
    assert not wrong, "\n".join(f"{path}: {old:.4g} -> {new:.4g}" for path, (old, new) in wrong.items())


def near(width, other):
    return abs(other - width) <= 0.15 * abs(width) + 1e-6
