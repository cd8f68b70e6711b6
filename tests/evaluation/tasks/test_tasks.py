"""The other tasks end to end: each for the raw vectors and for each method, with paired differences."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from uncone.data.tasks.labeled import LabeledTask
from uncone.data.tasks.sts import PairTask
from uncone.data.tasks.words import WicTask, WordPairs
from uncone.data.texts.texts import ListTexts
from uncone.encoders.open import sentence_source
from uncone.errors import FormatError, OptionError
from uncone.evaluation.spaces import Settings
from uncone.evaluation.tasks.tasks import (
    LINEAR,
    evaluate_labeled,
    evaluate_pairs,
    evaluate_retrieval,
    evaluate_wic,
    evaluate_words,
)

WORDS = ["the", "text", "go", "school", "a", "b", "c", "d", "e", "f", "g", "h"]
FEW = Settings(layer=1, replicates=50, seeds=2)
SEARCH = replace(FEW, fit_on=(), protocols=("transductive",))


def texts_of(n, seed=0, words=WORDS):
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(words, rng.integers(2, 8))) for _ in range(n)]


def shape_of(rows, task, names):
    assert [row.method.name for row in rows] == names
    assert {row.task for row in rows} == {task}
    assert not rows[0].differences
    for row in rows[1:]:
        assert set(row.differences) == set(row.scores)
        for name, gain in row.differences.items():
            assert gain.value == pytest.approx(row.scores[name].value - rows[0].scores[name].value, abs=1e-9)
            assert row.isoscore is not None


def test_classification(tiny_model):
    texts = [*texts_of(40, 1, WORDS[:6]), *texts_of(40, 2, WORDS[6:])]
    labels = ["one"] * 40 + ["two"] * 40
    task = LabeledTask("mine", texts, labels)
    methods = "center@transductive,clustered:k=2;p=1@transductive"
    rows = evaluate_labeled(tiny_model, task, methods, settings=FEW)
    shape_of(rows, "mine", ["raw", "center", "clustered k=2 p=1"])
    assert rows[0].scores["accuracy"].value > 0.7
    assert LINEAR in rows[1].note
    split = evaluate_labeled(tiny_model, task, "center", train=task, settings=replace(FEW, fit_on=texts_of(30)))
    shape_of(split, "mine", ["raw", "center"])
    assert split[1].method.protocol == "inductive"
    # Standardizing comes first, so a shift changes nothing but rounding.
    assert abs(split[1].differences["accuracy"].value) < 0.05


def test_labeled_pairs(tiny_model):
    left, right = texts_of(40, 1), texts_of(40, 2)
    labels = np.array([0.0, 1.0] * 20)
    task = PairTask("duplicates", left, right, labels, ["duplicates"] * 40)
    rows = evaluate_pairs(tiny_model, task, "whiten@transductive", settings=FEW)
    shape_of(rows, "duplicates", ["raw", "whiten"])
    sides = [
        np.concatenate([np.array(block.vectors, np.float64) for block in source.read()])
        for source in (sentence_source(ListTexts(side), tiny_model, layer=1) for side in (left, right))
    ]
    a, b = (side / np.linalg.norm(side, axis=1, keepdims=True) for side in sides)
    assert rows[0].scores["roc_auc"].value == pytest.approx(roc_auc_score(labels, (a * b).sum(axis=1)), abs=1e-9)
    scored = PairTask("scores", left, right, np.arange(40.0), ["s"] * 40)
    with pytest.raises(FormatError, match="scores, not labels"):
        evaluate_pairs(tiny_model, scored, "center@transductive")


@pytest.fixture
def beir(tmp_path):
    folder = tmp_path / "search"
    folder.mkdir()
    docs = list(dict.fromkeys(texts_of(60, 3)))[:30]
    corpus = [{"_id": f"d{i}", "text": text} for i, text in enumerate([*docs, ""])]
    queries = [{"_id": f"q{i}", "text": text} for i, text in enumerate(docs[:12])]
    for name, rows in (("corpus", corpus), ("queries", queries)):
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    lines = ["query-id\tcorpus-id\tscore", *(f"q{i}\td{i}\t1" for i in range(12))]
    (folder / "qrels.tsv").write_text("\n".join(lines) + "\n")
    return folder


def test_retrieval(tiny_model, beir):
    rows = evaluate_retrieval(tiny_model, beir, "center,whiten:shrinkage=0.1,static", settings=SEARCH)
    shape_of(rows, "search", ["raw", "center", "whiten shrinkage=0.1", "static mean"])
    assert rows[0].scores["mrr@10"].value == pytest.approx(1.0), "a query is its own document"
    assert rows[1].method.protocol == "transductive" and "1 documents without" in rows[1].note
    apart = evaluate_retrieval(tiny_model, beir, "center", sides=("together", "separate"), settings=SEARCH)
    assert [row.method.sides for row in apart] == ["", "together", "separate"]
    assert "their own repair" in apart[2].note and apart[1].scores == rows[1].scores
    assert apart[2].scores["mrr@10"].value <= 1.0
    inductive = evaluate_retrieval(tiny_model, beir, "center@inductive", settings=replace(FEW, fit_on=texts_of(30)))
    assert inductive[1].method.fitted_on == "30 texts"


def test_words_in_context(tiny_model):
    def task(seed):
        rng = np.random.default_rng(seed)
        left, right = ([f"{text} school {text}" for text in texts_of(30, seed + i)] for i in (0, 50))
        spans = [[(text.index("school"), text.index("school") + 6) for text in side] for side in (left, right)]
        return WicTask("wic", ["school"] * 30, left, right, *spans, rng.random(30) < 0.5)

    methods = "center@transductive,clustered:k=2;p=1@transductive"
    rows = evaluate_wic(tiny_model, task(1), task(2), methods, settings=FEW)
    shape_of(rows, "wic", ["raw", "center", "clustered k=2 p=1"])
    assert {row.method.level for row in rows} == {"token"}
    assert 0 <= rows[0].scores["accuracy"].value <= 1
    with pytest.raises(OptionError, match="static"):
        evaluate_wic(tiny_model, task(1), task(2), "static", settings=FEW)


def test_word_similarity(tmp_path):
    rng = np.random.default_rng(0)
    names = [f"word{chr(97 + i)}" for i in range(26)]
    table = rng.normal(size=(26, 6)) + 2
    lines = [f"{name} {' '.join(f'{x:.6f}' for x in row)}" for name, row in zip(names, table, strict=True)]
    path = tmp_path / "static.vec"
    path.write_text("26 6\n" + "\n".join(lines) + "\n")
    left, right = names[:20], names[6:]
    unit = table - table.mean(axis=0)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    gold = (unit[:20] * unit[6:]).sum(axis=1)
    rows = evaluate_words(path, WordPairs("ws", left, right, gold), "center,whiten:dim=3", settings=FEW)
    shape_of(rows, "ws", ["raw", "center", "whiten dim=3"])
    assert rows[1].scores["spearman"].value == pytest.approx(1.0, abs=1e-6), "scored by centered vectors"


def test_a_method_that_cannot_be_fitted_is_said(tiny_model):
    task = PairTask("p", texts_of(20, 1), texts_of(20, 2), np.array([0.0, 1.0] * 10), ["p"] * 20)
    rows = evaluate_pairs(tiny_model, task, "droptop:k=40@transductive,center@transductive", settings=FEW)
    assert rows[1].scores["roc_auc"].value is None and "40" in rows[1].note
    assert rows[2].differences["roc_auc"].value is not None
