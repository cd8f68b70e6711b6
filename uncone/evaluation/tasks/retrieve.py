"""Retrieval: exact search by cosine, and the ranks of the relevant documents."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uncone.analysis.cosine.units import unit_rows
from uncone.analysis.intervals.pair_units import item_units
from uncone.analysis.intervals.resampling import REPLICATES, mean_size, share_score
from uncone.analysis.neighbors.top_k import NearestRows
from uncone.data.batch import Batch
from uncone.data.tasks.retrieval import RetrievalTask
from uncone.errors import OptionError, ShapeError
from uncone.evaluation.table import TaskScores

__all__ = ["DEPTH", "MEASURES", "TOP", "Retrieved", "retrieve", "score_queries", "score_query", "search"]

D = TypeVar("D", bound=Hashable)
"""What names a document: its id, or its row."""

MEASURES = ("ndcg@10", "recall@10", "recall@100", "mrr@10")
"""The measures of each query."""

DEPTH = 100
"""Documents that a search finds for each query."""
TOP = 10
"""Documents that a reader looks at."""
_BLOCK = 2048
"""Documents that are looked at together."""


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


def search(queries: ArrayLike, docs: ArrayLike, k: int = DEPTH) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The k documents of highest cosine for each query, best first: their rows and cosines, both (q, k).

    Of equal cosines, the document that stands first comes first. Where there are fewer than k, and for queries without
    a direction, the row is -1 and the cosine NaN.

    Raises:
        ShapeError: queries and documents are of different dimensions.
        OptionError: k is not positive.
    """
    q, d = (_floats(side) for side in (queries, docs))
    if q.ndim != 2 or q.shape[1:] != d.shape[1:]:
        raise ShapeError(f"Queries {q.shape} and documents {d.shape} need the same dimensions.")
    if k < 1:
        raise OptionError(f"We cannot search for {k} documents: k is 1 or more.")
    near = NearestRows(q, k)
    for start in range(0, len(d), _BLOCK):
        near.update(Batch.of(d[start : start + _BLOCK], first_row=start))
    return near.rows, np.where(near.rows < 0, np.nan, near.cosines)


def retrieve(
    task: RetrievalTask,
    queries: ArrayLike,
    docs: ArrayLike,
    *,
    replicates: int = REPLICATES,
    seed: int = 0,
) -> Retrieved:
    """nDCG@10, recall@10, recall@100 and MRR@10 of the vectors of queries (q, d) and documents (n, d).

    Both stand in the order of the task. As in BEIR, the gain of nDCG is the grade itself, and queries without a
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
    answerable = [(row, name) for row, name in enumerate(task.query_ids) if task.gains(name)]
    rows, _ = search(q[[row for row, _ in answerable]], d)
    values = [
        score_query(task.gains(name), [task.doc_ids[at] for at in ranking if at >= 0])
        for (_, name), ranking in zip(answerable, rows, strict=True)
    ]
    result = score_queries(np.array(values).T, [task.queries[row] for row, _ in answerable], replicates, seed)
    return replace(
        result, query_ids=tuple(name for _, name in answerable), lost_docs=_count_lost(d), lost_queries=_count_lost(q)
    )


def score_queries(each: NDArray[np.float64], queries: Sequence[Hashable], replicates: int, seed: int) -> Retrieved:
    """The means of the measures (4, q) of the queries, with intervals; equal queries are drawn together."""
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


def _count_lost(vectors: NDArray[Any]) -> int:
    return int(np.isnan(unit_rows(vectors)[:, 0]).sum())


def score_query(gains: Mapping[D, int], ranking: Sequence[D]) -> list[float]:
    """The measures of one query: the grades of its relevant documents, and the documents found, best first.

    >>> [round(value, 3) for value in score_query({"a": 1, "b": 3}, ["c", "a"])]
    [0.174, 0.5, 0.5, 0.5]
    """
    grades = np.array([gains.get(doc, 0) for doc in ranking], np.float64)
    ideal = np.sort([*gains.values()])[::-1].astype(np.float64)
    hits = np.flatnonzero(grades[:TOP] > 0)
    return [
        _dcg(grades) / _dcg(ideal),
        float((grades[:TOP] > 0).sum()) / len(ideal),
        float((grades[:DEPTH] > 0).sum()) / len(ideal),
        1.0 / float(hits[0] + 1) if len(hits) else 0.0,
    ]


def _dcg(gains: NDArray[np.float64]) -> float:
    top = gains[:TOP]
    return float(top @ (1.0 / np.log2(np.arange(2, len(top) + 2))))


def _floats(vectors: ArrayLike) -> NDArray[Any]:
    rows = np.asarray(vectors)
    return rows if rows.dtype in (np.float32, np.float64) else rows.astype(np.float64)
