"""Search among given vectors: every method by nDCG@10, recall and MRR, in one pass over the documents each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from uncone.analysis.cosine.units import unit_rows
from uncone.analysis.neighbors.top_k import NearestRows
from uncone.analysis.space.spectrum.spectrum import corrected_ratio
from uncone.data.batch import IntVector, Matrix
from uncone.data.source import Source, batches
from uncone.errors import FitError
from uncone.evaluation.methods import Fits
from uncone.evaluation.table import Hubs, Method, TaskRow
from uncone.evaluation.tasks.retrieve import DEPTH, TOP, score_queries, score_query
from uncone.evaluation.tasks.tasks import APART, TaskResult, task_rows
from uncone.evaluation.vectors.fits import VectorFits
from uncone.evaluation.vectors.hubs import hubs_of
from uncone.repairs.repair import Mapped, Repair
from uncone.stats.hashing import fingerprints
from uncone.stats.moments import Moments

__all__ = ["SearchProblem", "evaluate_search"]


@dataclass(frozen=True, eq=False)
class SearchProblem:
    """Queries that have a relevant document, and all documents.

    Attributes:
        name: the name of the judgments.
        queries: the vectors of the queries (q, d).
        query_ids: their ids.
        gains: for each query, the grades of its relevant documents by row; a document that is not there has a row
            below 0.
        docs: the documents.
        describe: the id and the text of some documents, by row.
    """

    name: str
    queries: Matrix
    query_ids: Sequence[str]
    gains: Sequence[Mapping[int, int]]
    docs: Source
    describe: Callable[[Sequence[int]], Mapping[int, tuple[str, str]]]


@dataclass(frozen=True, eq=False)
class _Outcome:
    """A pass over the documents: the rows found for each query (q, k), and what was measured on the way."""

    rows: IntVector
    isoscore: float | None
    n_docs: int
    lost_docs: int


def evaluate_search(problem: SearchProblem, fits: VectorFits, methods: Sequence[Method]) -> tuple[list[TaskRow], Hubs]:
    """Every method with its differences from the raw vectors, which come first; and the hubs.

    In memory are the queries, the documents found, and a block of the others. Queries of equal vectors are one sampling
    unit. Of documents with equal cosines, the one that stands first comes first.
    """
    searches = _Searches(problem, fits)
    rows = task_rows(problem.name, fits, methods, searches.judge)
    tops = [(fits.in_space(method), top) for method, top in searches.tops]
    return rows, hubs_of(problem.name, tops, problem.gains, searches.n_docs, problem.describe)


class _Searches:
    """The searches of all methods: a pass over the documents each. `tops` are the first documents under each method."""

    def __init__(self, problem: SearchProblem, fits: VectorFits) -> None:
        self.problem, self.fits = problem, fits
        self.units = fingerprints(problem.queries).tolist()
        self.tops: list[tuple[Method, IntVector]] = []
        self.n_docs = 0

    def judge(self, _: Fits, method: Method, seed: int) -> TaskResult:
        """The measures of a method, and what to say about it."""
        repair = self.fits.repair(method, seed)
        queries = self._repaired_queries(method, seed, repair)
        outcome = self._search(queries, repair)
        if not any(method is other for other, _ in self.tops):  # the first of its seeds
            self.tops.append((method, outcome.rows[:, :TOP]))
        self.n_docs = outcome.n_docs
        each = [
            score_query(own, ranking) for own, ranking in zip(self.problem.gains, outcome.rows.tolist(), strict=True)
        ]
        settings = self.fits.settings
        figures = score_queries(np.array(each).T, self.units, settings.replicates, settings.seed)
        notes = ["" if repair is None else repair.note_, APART if method.sides == "separate" else ""]
        if not method.repair:
            lost_queries = int(np.isnan(unit_rows(queries)[:, 0]).sum())
            notes += _lost(outcome.lost_docs, "document", "is never found", "are never found")
            notes += _lost(lost_queries, "query", "finds nothing", "find nothing")
        return TaskResult(figures, outcome.isoscore, " ".join(filter(None, notes)))

    def _repaired_queries(self, method: Method, seed: int, repair: Repair | None) -> Matrix:
        if repair is None:
            return self.problem.queries
        own = self.fits.fit(method, seed, queries=True) if method.sides == "separate" else repair
        if own._n_features_out != repair._n_features_out:
            raise FitError(
                f"The repair of the queries has {own._n_features_out} dimensions and that of the documents "
                f"{repair._n_features_out}, so they can't be compared."
            )
        return own.map(self.problem.queries)

    def _search(self, queries: Matrix, repair: Repair | None) -> _Outcome:
        docs = self.problem.docs if repair is None else Mapped(self.problem.docs, repair)
        near, moments = NearestRows(queries, DEPTH), Moments(docs.dim)
        n_docs = lost = 0
        for batch in batches(docs.read(), np.float32):
            near.update(batch)
            moments.update(batch)
            n_docs, lost = n_docs + batch.n_read, lost + batch.n_read - batch.n
            self.fits.settings.report("searching", batch.n_read, docs.rows)
        return _Outcome(near.rows, _isoscore(moments), n_docs, lost)


def _isoscore(moments: Moments) -> float | None:
    """The IsoScore of vectors, corrected for their number; None where it is not defined."""
    d = moments.dim
    moments.finish()
    if d < 2 or moments.n < 4:
        return None
    scatter = moments.covariance
    ratio = corrected_ratio(moments.n, float(np.trace(scatter)), float((scatter**2).sum()), moments.fourth)
    return None if ratio is None else float(np.clip((ratio - 1) / (d - 1), 0.0, 1.0))


def _lost(n: int, noun: str, fate: str, fate_of_several: str) -> list[str]:
    """A note on vectors without a direction."""
    if not n:
        return []
    nouns = noun if n == 1 else {"query": "queries"}.get(noun, f"{noun}s")
    verb, end = ("is zero or holds", fate) if n == 1 else ("are zero or hold", fate_of_several)
    return [f"{n:,} {nouns} {verb} NaN, infinity or huge numbers, and {end}."]
