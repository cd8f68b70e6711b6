"""Real models: one that was trained for similarity is left alone, one that was not is repaired."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from uncone.data.tasks import PairTask, open_pairs
from uncone.data.texts import ListTexts
from uncone.encoders.open import sentence_source
from uncone.prescription.prescribe import prescribe
from uncone.prescription.problem import pair_problem


def encoded(texts, model, **asked):
    return np.concatenate([rows.vectors for rows in sentence_source(ListTexts(texts), model, **asked).read()])


def judged(vectors, pairs):
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return spearmanr(pairs.scores, (units[pairs.left] * units[pairs.right]).sum(axis=1)).statistic


def test_a_sentence_model_is_left_alone(real_data, minilm):
    texts, pairs = pair_problem(open_pairs("stsb:dev", real_data))
    found = prescribe(encoded(texts, minilm), pairs)
    assert found.recommended is None and found.verdict == "leave it alone" and not found.proven
    assert found.gain.value < 0.01 and found.raw == pytest.approx(0.86, abs=0.02)
    hurt = {one.method.name for one in found.table if one.significant and one.difference.value < 0}
    assert {"whiten", "droptop 15"} <= hurt


def test_a_language_model_is_repaired(real_data):
    asked = {"model": real_data.parent / "models" / "bert-tiny", "layer": 2, "pooling": "mean"}
    unseen, test = pair_problem(open_pairs("stsb:test", real_data))
    train = open_pairs("stsb:train", real_data)
    kept = [i for i in range(len(train)) if not {train.left[i], train.right[i]} & set(unseen)]
    left, right, subsets = ([column[i] for i in kept] for column in (train.left, train.right, train.subsets))
    texts, pairs = pair_problem(PairTask("stsb:train", left, right, train.scores[kept], subsets, "train"))
    found = prescribe(encoded(texts, **asked), pairs)
    assert found.recommended is not None and found.proven and found.gain.low > 0.15
    vectors = encoded(unseen, **asked)
    raw = judged(vectors, test)
    assert raw == pytest.approx(0.321, abs=0.002)
    assert judged(found.repair.transform(vectors), test) > raw + 0.15
