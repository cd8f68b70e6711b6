"""Real models: one that was trained for similarity is left alone, one that was not is repaired."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from uncone.data.cache import VectorCache
from uncone.data.tasks.sts import PairTask, open_pairs
from uncone.data.texts.texts import ListTexts
from uncone.encoders.open import sentence_source
from uncone.evaluation.folds import pair_problem
from uncone.evaluation.prescribe import prescribe


def encoded(texts, model, **asked):
    source = sentence_source(ListTexts(texts), model, cache=VectorCache(), **asked)
    return np.concatenate([rows.vectors.copy() for rows in source.read()])


def judged(vectors, pairs):
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return spearmanr(pairs.scores, (units[pairs.left] * units[pairs.right]).sum(axis=1)).statistic


def part_of(task, rows, without=frozenset()):
    """These pairs, but for those with one of the texts that are not to be seen."""
    chosen = [i for i in rows if not {task.left[i], task.right[i]} & without]
    left, right, subsets = ([column[i] for i in chosen] for column in (task.left, task.right, task.subsets))
    return PairTask(task.name, left, right, task.scores[chosen], subsets, task.split)


@pytest.mark.exhaustive
def test_a_sentence_model_is_left_alone(real_data, minilm):
    texts, pairs = pair_problem(open_pairs("stsb:dev", real_data))
    found = prescribe(encoded(texts, minilm), pairs)
    assert found.recommended is None and found.verdict == "leave it alone" and not found.proven
    assert found.gain.value < 0.01 and found.raw == pytest.approx(0.86, abs=0.02)
    hurt = {one.method.name for one in found.table if one.significant and one.difference.value < 0}
    assert {"whiten", "droptop 15"} <= hurt


@pytest.mark.exhaustive
def test_a_language_model_is_repaired(real_data):
    asked = {"model": real_data.parent / "models" / "bert-tiny", "layer": 2, "pooling": "mean"}
    unseen, test = pair_problem(open_pairs("stsb:test", real_data))
    train = open_pairs("stsb:train", real_data)
    texts, pairs = pair_problem(part_of(train, range(len(train)), without=set(unseen)))
    found = prescribe(encoded(texts, **asked), pairs)
    assert found.recommended is not None and found.proven and found.gain.low > 0.15
    vectors = encoded(unseen, **asked)
    raw = judged(vectors, test)
    assert raw == pytest.approx(0.321, abs=0.002)
    assert judged(found.repair.transform(vectors), test) > raw + 0.15


def test_a_language_model_is_repaired_by_few_pairs(real_data):
    """The same in seconds: 400 judged pairs, and as many texts that the repair never saw."""
    asked = {"model": real_data.parent / "models" / "bert-tiny", "layer": 2, "pooling": "mean"}
    every = open_pairs("stsb:test", real_data)
    texts, pairs = pair_problem(part_of(every, range(0, 1200, 3)))
    unseen, test = pair_problem(part_of(every, range(1, 1200, 3), without=set(texts)))
    found = prescribe(encoded(texts, **asked), pairs, replicates=100)
    assert found.recommended is not None and found.proven and found.gain.low > 0.05
    vectors = encoded(unseen, **asked)
    assert judged(found.repair.transform(vectors), test) > judged(vectors, test) + 0.1
