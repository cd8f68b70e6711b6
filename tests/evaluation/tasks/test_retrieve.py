"""Retrieval against naive loops over all documents."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.metrics import ndcg_score

from uncone.analysis.intervals.resampling import drawn_counts
from uncone.data.tasks.retrieval import RetrievalTask, open_retrieval
from uncone.errors import OptionError, ShapeError
from uncone.evaluation.tasks import retrieve as module
from uncone.evaluation.tasks.retrieve import MEASURES, retrieve, search


def cosine(one, other):
    return sum(a * b for a, b in zip(one, other, strict=True)) / math.sqrt(
        sum(a * a for a in one) * sum(b * b for b in other)
    )


def naive(judged, ranked):
    """The four measures of one query by their definitions."""
    gain = sum(judged.get(doc, 0) / math.log2(rank + 1) for rank, doc in enumerate(ranked[:10], start=1))
    best = sorted(judged.values(), reverse=True)[:10]
    ideal = sum(value / math.log2(rank + 1) for rank, value in enumerate(best, start=1))
    relevant = {doc for doc, value in judged.items() if value > 0}
    first = next((rank for rank, doc in enumerate(ranked[:10], start=1) if doc in relevant), None)
    return (
        gain / ideal,
        len(relevant & set(ranked[:10])) / len(relevant),
        len(relevant & set(ranked[:100])) / len(relevant),
        0.0 if first is None else 1 / first,
    )


@pytest.fixture
def case():
    rng = np.random.default_rng(0)
    docs, queries = rng.normal(size=(150, 6)), rng.normal(size=(20, 6))
    ids = [f"d{at}" for at in range(150)]
    names = [f"q{at}" for at in range(20)]
    qrels = {
        name: {str(doc): int(rng.integers(0, 4)) for doc in rng.choice(ids, 25, replace=False)} for name in names[:18]
    }
    qrels["q5"] = {"d3": 0, "d4": 0}  # nothing relevant
    qrels["q6"] = {"d3": 2}
    return RetrievalTask("case", ids, ["text"] * 150, names, [f"query {i}" for i in range(20)], qrels), queries, docs


def test_measures(case, stretched, exact_bounds):
    task, queries, docs = case
    result = retrieve(task, queries, docs, replicates=50, seed=2)
    assert result.query_ids == tuple(name for name in task.query_ids[:18] if name != "q5")
    rows = []
    for name in result.query_ids:
        query = queries[int(name[1:])]
        ranked = sorted(task.doc_ids, key=lambda doc: -cosine(query, docs[int(doc[1:])]))
        rows.append(naive(task.qrels[name], ranked))
    for measure, expected in zip(MEASURES, np.array(rows).T, strict=True):
        assert result.each[measure] == pytest.approx(expected)
        score = result.scores[measure]
        assert score.value == pytest.approx(expected.mean()) and score.n == 17
        means = [counts @ expected / 17 for counts in np.concatenate(list(drawn_counts(17, 50, 2)))]
        means = stretched(means, score.value, 17)
        assert result.replicates[measure] == pytest.approx(means, abs=1e-4)
        more = np.append(expected, [0.0, 1.0])
        size = 17 * more.mean() * (1 - more.mean()) / more.var()
        assert result.sizes[measure] == pytest.approx(size)
        assert (score.low, score.high) == pytest.approx(exact_bounds(score.value, means, size), abs=1e-4)
    at = result.query_ids.index("q0")
    similar = [[cosine(queries[0], doc) for doc in docs]]
    gains = [[task.qrels["q0"].get(doc, 0) for doc in task.doc_ids]]
    assert result.each["ndcg@10"][at] == pytest.approx(ndcg_score(gains, similar, k=10))


def test_rows_without_a_direction(case, monkeypatch):
    task, queries, docs = case
    docs[3], docs[7, 0], queries[6] = 0, np.nan, 0
    result = retrieve(task, queries, docs, replicates=20)
    assert (result.lost_docs, result.lost_queries) == (2, 1)
    assert [result.each[name][result.query_ids.index("q6")] for name in MEASURES] == [0, 0, 0, 0]
    monkeypatch.setattr(module, "_BLOCK", 40)
    rows, cosines = search(queries, docs, 149)
    assert (rows[:, 148] == -1).all() and np.isnan(cosines[:, 148]).all()
    assert (rows[6] == -1).all() and not np.isin(rows, (3, 7)).any()
    assert (np.diff(cosines[0, :148]) <= 0).all() and sorted(rows[0, :148]) == [*set(range(150)) - {3, 7}]
    assert cosines[0, 0] == pytest.approx(cosine(queries[0], docs[rows[0, 0]]), abs=1e-6)


def test_cranfield_by_words(real_data):
    """Bags of words find something; the empty documents are never found."""
    task = open_retrieval("cranfield", real_data)
    words = sorted({word for text in task.queries for word in text.split()})
    place = {word: at for at, word in enumerate(words)}

    def bags(texts):
        bag = np.zeros((len(texts), len(words)))
        for at, text in enumerate(texts):
            for word in text.split():
                if word in place:
                    bag[at, place[word]] += 1
        return bag

    queries, docs = bags(task.queries), bags(task.docs)
    weights = np.log(1400 / (1 + (docs > 0).sum(axis=0)))
    result = retrieve(task, queries * weights, docs * weights, replicates=100)
    assert result.lost_docs == 2 and 0.2 < result.scores["ndcg@10"].value < 0.6
    assert result.scores["recall@10"].value < result.scores["recall@100"].value
    unit = [
        rows * weights / np.maximum(np.linalg.norm(rows * weights, axis=1), 1e-9)[:, None] for rows in (queries, docs)
    ]
    ranked = [task.doc_ids[at] for at in np.argsort(-(unit[1] @ unit[0][0]), kind="stable")]
    assert [result.each[name][0] for name in MEASURES] == pytest.approx(naive(task.qrels["1"], ranked))


def test_bad_input(case):
    task, queries, docs = case
    with pytest.raises(ShapeError, match="20 queries and 150 documents, but there are 20 and 149"):
        retrieve(task, queries, docs[:149])
    with pytest.raises(ShapeError, match="same dimensions"):
        search(queries, docs[:, :5])
    with pytest.raises(OptionError, match="search for 0 documents"):
        search(queries, docs, 0)
