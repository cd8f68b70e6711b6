"""Search among given vectors against a double loop, FAISS and repairs by hand; ties, sides, hubs, and memory."""

from __future__ import annotations

import math
import tracemalloc
from collections import Counter
from collections.abc import Iterator

import faiss
import numpy as np
import pytest

import uncone
from uncone.data.source import Rows, Source
from uncone.repairs import Center, Whiten


def ranked(query, docs):
    """All documents by cosine, one after the other; of equal ones the first comes first."""
    near = []
    for row, doc in enumerate(docs.tolist()):
        dot = math.fsum(a * b for a, b in zip(query.tolist(), doc, strict=True))
        lengths = math.sqrt(math.fsum(a * a for a in query.tolist()) * math.fsum(a * a for a in doc))
        if math.isfinite(lengths) and lengths > 0:
            near.append((-round(dot / lengths, 12), row))
    return [row for _, row in sorted(near)]


def ndcg(ranking, grades, least=1):
    gains = {doc: grade for doc, grade in grades.items() if grade >= least}
    found = sum(gains.get(doc, 0) / math.log2(rank + 2) for rank, doc in enumerate(ranking[:10]))
    best = sorted(gains.values(), reverse=True)[:10]
    return found / sum(grade / math.log2(rank + 2) for rank, grade in enumerate(best))


def by_faiss(queries, docs, k):
    """The ranking of an exact index. FAISS leaves the order of equal scores open, so they are put in that of rows."""
    units, asked = (np.ascontiguousarray(rows, np.float32).copy() for rows in (docs, queries))
    usable = np.flatnonzero(np.isfinite(units).all(axis=1) & (np.abs(units).sum(axis=1) > 0))
    units = np.ascontiguousarray(units[usable])
    faiss.normalize_L2(units)
    faiss.normalize_L2(asked)
    index = faiss.IndexFlatIP(units.shape[1])
    index.add(units)
    scores, rows = index.search(asked, k)
    order = np.lexsort((rows, -scores.round(6)), axis=1)
    return usable[np.take_along_axis(rows, order, axis=1)]


@pytest.fixture
def search():
    """Queries of 40 topics in a crowded space; documents 100 to 109 are copies, and two can't be found."""
    rng = np.random.default_rng(0)
    topics = rng.normal(size=(40, 12))
    docs = np.repeat(topics, 4, axis=0) + 0.9 * rng.normal(size=(160, 12)) + 2
    queries = topics + 0.9 * rng.normal(size=(40, 12)) + 2
    docs[100:110] = docs[90:100]
    docs[7], docs[9, 3] = 0, np.nan
    qrels = {str(q): {str(4 * q + j): int(rng.integers(0, 4)) for j in range(4)} for q in range(40)}
    qrels["3"]["12"] = 1
    return docs.astype(np.float32), queries.astype(np.float32), qrels


def grades_by_row(qrels):
    return {int(q): {int(doc): grade for doc, grade in own.items()} for q, own in qrels.items()}


def value(result, measure="ndcg@10", row=0):
    return result.table.tasks[row].scores[measure].value


@pytest.mark.parametrize("least", [1, 2])
def test_a_double_loop_and_faiss_agree(search, least):
    docs, queries, qrels = search
    result = uncone.evaluate(vectors=docs, queries=queries, qrels=qrels, methods="raw", relevant=least, replicates=50)
    rows = {q: own for q, own in grades_by_row(qrels).items() if max(own.values()) >= least}
    assert 30 < len(rows) < 40, "some have no relevant document"
    naive = [ndcg(ranked(queries[q], docs), own, least) for q, own in rows.items()]
    assert value(result) == pytest.approx(np.mean(naive), abs=1e-9)
    found = by_faiss(queries, docs, 30)
    assert value(result) == pytest.approx(np.mean([ndcg(found[q], own, least) for q, own in rows.items()]), abs=1e-6)
    score = result.table.tasks[0].scores["ndcg@10"]
    assert score.n == len(rows) and score.low < score.value < score.high
    text = " ".join(result.to_text().split())
    verb = "has" if len(rows) == 39 else "have"
    assert f"{40 - len(rows)} of 40 queries {verb} no relevant document" in text
    assert "2 documents are zero or hold NaN" in text


def test_copies_stand_in_the_order_of_their_rows():
    """Whatever block they come in, and beside whatever else."""
    rng = np.random.default_rng(1)
    query, other = rng.normal(size=(2, 33)).astype(np.float32)
    docs = np.concatenate([np.tile(query, (3, 1)), rng.normal(size=(4_090, 33)), np.tile(2 * query, (9, 1))])
    for relevant, rank in ((2, 3), (4_093, 4), (4_095, 6), (4_100, 11)):
        result = uncone.evaluate(
            vectors=docs, queries=[query, other], qrels={"0": {str(relevant): 1}}, methods="raw", replicates=10
        )
        assert value(result, "mrr@10") == (1 / rank if rank <= 10 else 0)


def test_each_side_is_repaired_by_its_own(search):
    docs, queries, qrels = search
    docs = np.delete(docs, [7, 9], axis=0)
    methods = "raw,center,whiten:dim=6"
    result = uncone.evaluate(vectors=docs, queries=queries, qrels=qrels, methods=methods, sides="both", replicates=20)
    labels = [(row.method.name, row.method.sides) for row in result.table.tasks]
    pairs = [("center", "together"), ("center", "separate"), ("whiten dim=6", "together"), ("whiten dim=6", "separate")]
    assert labels == [("raw", ""), *pairs]
    for at, (kind, sides) in enumerate(pairs, start=1):
        make = Center if kind == "center" else lambda: Whiten(dim=6)
        of_docs = make().fit(docs)
        of_queries = of_docs if sides == "together" else make().fit(queries)
        found = [ranked(query, of_docs.transform(docs)) for query in of_queries.transform(queries)]
        naive = [ndcg(found[q], own) for q, own in grades_by_row(qrels).items() if max(own.values()) > 0]
        assert value(result, row=at) == pytest.approx(np.mean(naive), abs=1e-4), (kind, sides)
        gain = result.table.tasks[at].differences["ndcg@10"]
        assert gain.value == pytest.approx(value(result, row=at) - value(result), abs=1e-9) and gain.low < gain.high
    assert "misaligns" in result.table.tasks[-1].note and "separate" in result.to_text()


def test_a_repair_that_was_saved_and_one_of_other_vectors(search, tmp_path):
    docs, queries, qrels = search
    rng = np.random.default_rng(5)
    np.save("others.npy", (rng.normal(size=(300, 12)) + 2).astype(np.float32))
    uncone.fix("others.npy", "center", save=tmp_path / "mine")
    options = {"vectors": docs, "queries": queries, "qrels": qrels, "replicates": 20}
    saved = uncone.evaluate(**options, methods=f"raw,{tmp_path}/mine")
    others = uncone.evaluate(**options, methods="raw,center", fit_on="others.npy", sides="both")
    assert value(saved, row=1) == pytest.approx(value(others, row=1), abs=1e-9)
    assert [row.method.protocol for row in others.table.tasks] == ["raw", "inductive"], "one repair for both sides"
    assert others.table.tasks[1].method.fitted_on == "others.npy"


def test_hubs_are_counted(search):
    docs, queries, qrels = search
    docs[150] = docs[np.isfinite(docs[:, 3])].mean(axis=0)  # in the middle of the cone, and near everything
    texts = [f"text {row}" for row in range(len(docs))]
    result = uncone.evaluate(
        vectors=docs, queries=queries, qrels=qrels, methods="raw,center", text=texts, replicates=20
    )
    hubs, rows = result.table.hubs, grades_by_row(qrels)
    asked = [q for q, own in rows.items() if max(own.values()) > 0]
    found = {q: ranked(queries[q], docs)[:10] for q in asked}
    counts = Counter(doc for top in found.values() for doc in top)
    first = hubs.documents[0]
    assert (first.row, first.id, first.text) == (150, "150", "text 150")
    expected = [(-n, doc) for doc, n in counts.items() if n >= hubs.least]
    assert [(-hub.queries, hub.row) for hub in hubs.documents] == sorted(expected)[:10]
    for hub in hubs.documents:
        assert hub.hits == sum(hub.row in found[q] and rows[q].get(hub.row, 0) > 0 for q in asked)
        assert hub.relevant == sum(rows[q].get(hub.row, 0) > 0 for q in asked)
    raw = hubs.methods[0]
    assert (raw.hubs, raw.largest) == (len(expected), counts[150])
    assert raw.share == pytest.approx(sum(-n for n, _ in expected) / (10 * len(asked)))
    assert hubs.methods[1].largest < raw.largest, "centering takes the middle of the cone away"
    text = " ".join(result.to_text().split())
    assert f"150 (text 150) stands in the top 10 of {counts[150]} of {len(asked)} queries" in text
    assert "relevant to none of them" in text


class _Endless(Source):
    """Vectors that are made while they are read, and never stand in memory together."""

    def __init__(self, rows: int, dim: int) -> None:
        self.name, self.kind, self.dtype, self.dim, self.rows = "endless", "array", "float32", dim, rows

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Rows]:
        for first in range(start, self.rows if stop is None else stop, 8192):
            rng = np.random.default_rng(first)
            yield Rows(rng.normal(size=(min(8192, self.rows - first), self.dim)).astype(np.float32))


def test_documents_are_a_stream():
    """Ten times as many documents take hardly more memory: a block for each thread, and the documents found."""
    queries = np.random.default_rng(0).normal(size=(20, 32)).astype(np.float32)
    peaks = []
    for rows in (16_384, 163_840):
        qrels = {str(q): {str(q * 701): 1} for q in range(20)}
        tracemalloc.start()
        uncone.evaluate(vectors=_Endless(rows, 32), queries=queries, qrels=qrels, methods="raw,center", replicates=10)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] - peaks[0] < (163_840 - 16_384) * 32 * 4 / 3


@pytest.mark.exhaustive
def test_cranfield(real_data, minilm):
    """A double loop, FAISS and we: 225 queries, 1,400 documents, two of which are empty."""
    from uncone.data.tasks.retrieval import open_retrieval
    from uncone.verbs.spaces.encoding import Encoding, encoded, open_texts_of

    task = open_retrieval("cranfield", real_data)
    docs, queries = (
        np.concatenate([rows.vectors.copy() for rows in encoded(open_texts_of(texts), Encoding(minilm)).read()])
        for texts in (list(task.docs), list(task.queries))
    )
    qrels = real_data / "cranfield" / "qrels.tsv"
    options = {"ids": task.doc_ids, "query_ids": task.query_ids, "methods": "raw,center", "replicates": 50}
    result = uncone.evaluate(vectors=docs, queries=queries, qrels=qrels, **options)
    places = {doc: row for row, doc in enumerate(task.doc_ids)}
    rows = {
        at: {places[doc]: grade for doc, grade in task.qrels[name].items()}
        for at, name in enumerate(task.query_ids)
        if max(task.qrels.get(name, {"": 0}).values()) > 0
    }
    units = [side / np.linalg.norm(side.astype(np.float64), axis=1, keepdims=True) for side in (docs, queries)]
    loop = []
    for at, own in rows.items():
        near = [(-float(np.dot(units[1][at], doc)), row) for row, doc in enumerate(units[0]) if np.isfinite(doc[0])]
        loop.append(ndcg([row for _, row in sorted(near)], own))
    found = by_faiss(queries, docs, 100)
    assert value(result) == pytest.approx(np.mean(loop), abs=1e-6)
    assert value(result) == pytest.approx(np.mean([ndcg(found[at], own) for at, own in rows.items()]), abs=1e-6)
    assert 0.3 < value(result) < 0.5 and result.table.hubs.queries == len(rows)
