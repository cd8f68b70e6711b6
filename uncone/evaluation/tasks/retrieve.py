"""Retrieval: exact search by cosine, and the ranks of the relevant documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uncone.analysis.cosine.units import unit_rows
from uncone.analysis.intervals.pair_units import item_units
from uncone.analysis.intervals.resampling import REPLICATES, mean_size, share_score
from uncone.data.tasks.retrieval import RetrievalTask
from uncone.errors import OptionError, ShapeError
from uncone.evaluation.table import TaskScores

__all__ = ["MEASURES", "Retrieved", "retrieve", "score_queries", "search"]

MEASURES = ("ndcg@10", "recall@10", "recall@100", "mrr@10")
"""The measures of each query."""

_DEPTH = 100
_BLOCK = 1 << 22  # similarities in memory at a time


@dataclass(frozen=True, eq=False)
class Retrieved(TaskScores):
    """The measures over the queries that have a relevant document, and each of them by query.

    Queries of one text are one sampling unit. Rows without a direction, such as zero vectors, are counted in
    `lost_docs` and `lost_queries`: such documents are never found, and such queries find nothing.
    """

    each: Mapping[str, NDArray[np.float64]]
    query_ids: tuple[str, ...] = ()
    lost_docs: int = 0
    lost_queries: int = 0


def search(
    queries: ArrayLike, docs: ArrayLike, k: int = _DEPTH, *, engine: Literal["faiss", "numpy"] = "faiss"
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The k documents of highest cosine for each query, best first: their rows and cosines, both (q, k).

    Where there are fewer than k, and for queries without a direction, the row is -1 and the cosine NaN.

    Raises:
        ShapeError: queries and documents are of different dimensions.
        OptionError: k is not positive, or there is no such engine.
    """
    q, d = unit_rows(queries).astype(np.float32), unit_rows(docs).astype(np.float32)
    if q.ndim != 2 or q.shape[1:] != d.shape[1:]:
        raise ShapeError(f"Queries {q.shape} and documents {d.shape} need the same dimensions.")
    if k < 1 or engine not in ("faiss", "numpy"):
        raise OptionError(f"We cannot search for {k} documents with {engine}: k is 1 or more, with faiss or numpy.")
    query_rows, doc_rows = (np.flatnonzero(np.isfinite(rows[:, 0])) for rows in (q, d))
    rows = np.full((len(q), k), -1, np.int64)
    cosines = np.full((len(q), k), np.nan, np.float32)
    depth = min(k, len(doc_rows))
    if depth and len(query_rows):
        best, at = (_faiss if engine == "faiss" else _numpy)(q[query_rows], d[doc_rows], depth)
        rows[query_rows, :depth], cosines[query_rows, :depth] = doc_rows[at], best
    return rows, cosines


def retrieve(
    task: RetrievalTask,
    queries: ArrayLike,
    docs: ArrayLike,
    *,
    engine: Literal["faiss", "numpy"] = "faiss",
    replicates: int = REPLICATES,
    seed: int = 0,
) -> Retrieved:
    """nDCG@10, recall@10, recall@100 and MRR@10 of the vectors of queries (q, d) and documents (n, d).

    Both stand in the order of the task. As in BEIR, the gain of nDCG is the judgment itself, and queries without a
    relevant document are left out.

    Raises:
        ShapeError: not one vector per query and document.
    """
    q, d = np.asarray(queries), np.asarray(docs)
    if len(q) != len(task.queries) or len(d) != len(task.docs):
        raise ShapeError(
            f"{task.name} has {len(task.queries):,} queries and {len(task.docs):,} documents, but there are "
            f"{len(q):,} and {len(d):,} vectors."
        )
    answerable = [
        (row, name) for row, name in enumerate(task.query_ids) if max(_relevance(task, name).values(), default=0) > 0
    ]
    rows, _ = search(q[[row for row, _ in answerable]], d, _DEPTH, engine=engine)
    values = [
        _score_query(_relevance(task, name), [task.doc_ids[at] for at in ranking if at >= 0])
        for (_, name), ranking in zip(answerable, rows, strict=True)
    ]
    result = score_queries(np.array(values).T, [task.queries[row] for row, _ in answerable], replicates, seed)
    return replace(
        result, query_ids=tuple(name for _, name in answerable), lost_docs=_count_lost(d), lost_queries=_count_lost(q)
    )


def score_queries(each: NDArray[np.float64], queries: Sequence[str], replicates: int, seed: int) -> Retrieved:
    """The means of the measures (4, q) of the queries, with intervals; queries of one text are drawn together."""
    units = item_units(queries)
    samples = units.replicate(lambda counts: each @ counts.T / counts.sum(axis=1), replicates, seed)
    sizes = [mean_size(own, units.effective_items) for own in each]
    scores = [
        share_score(float(own.mean()), draws, len(queries), size)
        for own, draws, size in zip(each, samples, sizes, strict=True)
    ]
    by_query, replicated = (dict(zip(MEASURES, rows, strict=True)) for rows in (each, samples))
    figures = dict(zip(MEASURES, scores, strict=True)), replicated, dict(zip(MEASURES, sizes, strict=True))
    return Retrieved(*figures, units.independent, by_query)


def _relevance(task: RetrievalTask, query: str) -> Mapping[str, int]:
    return task.qrels.get(query, {})


def _count_lost(vectors: NDArray[Any]) -> int:
    return int(np.isnan(unit_rows(vectors)[:, 0]).sum())


def _score_query(relevance: Mapping[str, int], ranking: list[str]) -> list[float]:
    """The measures of one query, given the documents found, best first."""
    gains = np.array([max(relevance.get(doc, 0), 0) for doc in ranking], np.float64)
    ideal = np.sort([max(gain, 0) for gain in relevance.values()])[::-1].astype(np.float64)
    hits = np.flatnonzero(gains[:10] > 0)
    relevant = int((ideal > 0).sum())
    return [
        _dcg(gains) / _dcg(ideal),
        float((gains[:10] > 0).sum()) / relevant,
        float((gains[:100] > 0).sum()) / relevant,
        1.0 / float(hits[0] + 1) if len(hits) else 0.0,
    ]


def _dcg(gains: NDArray[np.float64]) -> float:
    top = gains[:10]
    return float(top @ (1.0 / np.log2(np.arange(2, len(top) + 2))))


def _faiss(queries: NDArray[Any], docs: NDArray[Any], k: int) -> tuple[NDArray[Any], NDArray[Any]]:
    import faiss

    index = faiss.IndexFlatIP(docs.shape[1])
    index.add(np.ascontiguousarray(docs))
    best, at = index.search(np.ascontiguousarray(queries), k)
    return best, at


def _numpy(queries: NDArray[Any], docs: NDArray[Any], k: int) -> tuple[NDArray[Any], NDArray[Any]]:
    parts = []
    step = max(1, _BLOCK // len(docs))
    for start in range(0, len(queries), step):
        near = queries[start : start + step] @ docs.T
        some = np.argpartition(-near, k - 1, axis=1)[:, :k]
        order = np.argsort(-np.take_along_axis(near, some, axis=1), axis=1, kind="stable")
        at = np.take_along_axis(some, order, axis=1)
        parts.append((np.take_along_axis(near, at, axis=1), at))
    return np.concatenate([best for best, _ in parts]), np.concatenate([at for _, at in parts])
