"""The nearest neighbors of some queries as a statistic: a stream of any length, in threads or on a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from uncone.analysis.cosine.units import unit_rows
from uncone.analysis.neighbors.search import Best, Search
from uncone.data.batch import Batch, IntVector, Matrix, Vector
from uncone.stats.hashing import fingerprints
from uncone.stats.statistic import State, Statistic

__all__ = ["NearestDistances", "NearestRows"]

_TOGETHER = 2048
"""Vectors that are looked at together."""
_MARGIN = 1e-4
"""What a limit is raised by: the scores that it was taken from are only as exact as their products."""
_SLACK = 1e-6, 2e-8
"""More than a product of two vectors of length 1 in float32 can be off by: so much, and so much per dimension."""
_QUERIES = 1024
"""Queries that are multiplied with a batch together."""
_PAIRS = 4096
"""Pairs of a query and a vector whose cosines are computed anew together."""


class NearestDistances(Statistic):
    """The distances (m, k) of each query (m, d) to its k nearest vectors, by each metric, nearest first.

    A vector that equals the query but for rounding is none of them; with `copies`, equal vectors count once. Scores
    beyond the `limits` (metrics, m) are passed over: those of a part of the vectors spare most of the work on the rest.

    >>> near = NearestDistances(np.array([[0.0, 1.0]]), 2)
    >>> near.update(Batch.of(np.array([[0.0, 4.0], [0.0, 1.0], [0.0, 2.0], [3.0, 1.0]])))
    >>> near.distances["euclidean"].tolist()
    [[1.0, 3.0]]
    """

    def __init__(
        self,
        queries: Matrix,
        k: int,
        metrics: Sequence[str] = ("euclidean", "cosine"),
        limits: NDArray[np.float64] | None = None,
        copies: bool = False,
    ) -> None:
        self.queries = queries
        self.k = k
        self.metrics = tuple(metrics)
        self.limits = limits
        self.copies = copies
        self._search = Search(queries, metrics, k, distinct=True)
        self._clear()

    def _clear(self) -> None:
        limits = [None] * len(self.metrics) if self.limits is None else self.limits
        self._best = [Best(len(self.queries), self.k, limit, by_name=self.copies) for limit in limits]
        self._rows: Matrix | None = None
        self._waiting = 0

    def empty(self) -> Self:
        """A statistic of the same queries, which shares what is prepared of them."""
        other = copy(self)
        other._clear()
        return other

    def update(self, batch: Batch) -> None:
        """Put the vectors aside, and look at them when there are enough."""
        for start in range(0, batch.n, _TOGETHER):
            self._put_aside(batch.vectors[start : start + _TOGETHER])

    def _put_aside(self, vectors: Matrix) -> None:
        if self._waiting + len(vectors) > _TOGETHER:
            self.finish()
        if self._rows is None:
            self._rows = np.empty((_TOGETHER, vectors.shape[1]), vectors.dtype)
        self._rows[self._waiting : self._waiting + len(vectors)] = vectors
        self._waiting += len(vectors)

    def finish(self) -> None:
        """Look at what was put aside."""
        if self._rows is None or not self._waiting:
            return
        rows, names = self._rows[: self._waiting], np.arange(self._waiting)
        if self.copies:
            prints, first = np.unique(fingerprints(rows), return_index=True)
            rows, names = rows[first], prints.view(np.int64)
        _, candidates = self._search.look(rows, [best.limits for best in self._best])
        for best, part in zip(self._best, candidates, strict=True):
            best.add(part.queries, names[part.places], part.scores)
        self._waiting = 0

    def absorb(self, other: NearestDistances) -> None:
        """Add what another has found."""
        other.finish()
        for best, part in zip(self._best, other._best, strict=True):
            best.absorb(part)

    @property
    def scores(self) -> NDArray[np.float64]:
        """The k smallest scores of each query by each metric (metrics, m, k), infinite where there are fewer."""
        self.finish()
        for best in self._best:
            best.sort()
        return np.stack([best.scores for best in self._best])

    @property
    def distances(self) -> dict[str, Matrix]:
        """The distances (m, k) by metric, infinite where there are fewer."""
        metrics = self._search.metrics
        return {
            name: metric.distances(scores)
            for name, metric, scores in zip(self.metrics, metrics, self.scores, strict=True)
        }

    @property
    def largest(self) -> NDArray[np.float64]:
        """Limits (metrics, m) for a search among more vectors: the k-th score, and somewhat more."""
        last = self.scores[:, :, -1]
        return last + _MARGIN * np.abs(last)

    @property
    def _names(self) -> IntVector:
        return np.stack([best.places for best in self._best]) if self.copies else np.empty(0, np.int64)

    def state(self) -> State:
        """The scores, and by which names equal vectors are known."""
        return {"scores": self.scores, "names": self._names}

    def _restore(self, state: State) -> None:
        self._clear()
        for place, best in enumerate(self._best):
            best.scores = state["scores"][place].copy()
            best.places = state["names"][place].copy() if self.copies else np.zeros(best.scores.shape, np.int64)
            best.limits = np.minimum(best.limits, best.scores[:, -1])

    def __getstate__(self) -> dict[str, Any]:
        """What is sent to another process holds no empty room, and nothing that follows from the queries."""
        self.finish()
        return self.__dict__ | {"_rows": None, "_search": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._search = Search(self.queries, self.metrics, self.k, distinct=True)


class NearestRows(Statistic):
    """The `rows` and `cosines` (m, k) of the vectors nearest to each query (m, d) by cosine, nearest first.

    Products in single precision choose candidates, whose cosines are computed in double precision, each by itself: so
    equal vectors have equal cosines. Of equal cosines, the smaller row comes first. Where there are fewer than k
    vectors, and for queries without a direction, the row is -1 and the cosine -inf. The limits that come of the vectors
    seen so far spare most of the work on later ones, so one statistic for a whole stream takes the least time.

    >>> near = NearestRows(np.array([[0.0, 1.0]]), 2)
    >>> near.update(Batch.of(np.array([[3.0, 4.0], [1.0, 0.0], [0.0, 2.0], [6.0, 8.0]])))
    >>> near.rows.tolist(), near.cosines.tolist()
    ([[2, 0]], [[1.0, 0.8]])
    """

    def __init__(self, queries: Matrix, k: int) -> None:
        self.queries = queries
        self.k = k
        self._units = unit_rows(queries)
        self._single = self._units.astype(np.float32)
        self._slack = _SLACK[0] + _SLACK[1] * queries.shape[1]
        self._usable = np.isfinite(self._units[:, 0])
        self._clear()

    def _clear(self) -> None:
        shape = (len(self.queries), self.k)
        self._rows: IntVector = np.full(shape, -1, np.int64)
        self._cosines: Matrix = np.full(shape, -np.inf)
        self._waiting: list[tuple[IntVector, IntVector, Vector]] = []
        self._count = 0

    def empty(self) -> Self:
        """A statistic of the same queries, which shares what is prepared of them."""
        other = copy(self)
        other._clear()
        return other

    def update(self, batch: Batch) -> None:
        """Look at the vectors of a batch."""
        singles = (batch.vectors * (1 / batch.norms)[:, None]).astype(np.float32)
        for start in range(0, len(self.queries), _QUERIES):
            self._look(singles, batch, start)
        # Not each time: the limits hold, if not as closely as they could.
        if self._count >= self._rows.size or np.isneginf(self._limits(slice(None))).any():
            self.finish()

    def _look(self, singles: Matrix, batch: Batch, start: int) -> None:
        near = self._single[start : start + _QUERIES] @ singles.T
        limits = self._limits(slice(start, start + len(near)))
        if np.isneginf(limits).any() and self.k < batch.n:
            limits = np.fmax(limits, np.partition(near, -self.k, axis=1)[:, -self.k] - self._slack)
        queries, places = np.nonzero(near >= (limits - self._slack).astype(np.float32)[:, None])
        if not len(queries):
            return
        queries += start
        distinct, of_distinct = np.unique(places, return_inverse=True)
        units = unit_rows(batch.vectors[distinct])
        cosines = np.empty(len(queries))
        for first in range(0, len(queries), _PAIRS):
            some = slice(first, first + _PAIRS)
            cosines[some] = np.vecdot(self._units[queries[some]], units[of_distinct[some]])
        self._wait(queries, batch.rows[places], cosines.clip(-1.0, 1.0))

    def _limits(self, queries: slice) -> Vector:
        """The k-th best cosines so far: -inf where there are fewer, and infinite for a query without a direction."""
        return np.where(self._usable[queries], self._cosines[queries, -1], np.inf)

    def _wait(self, queries: IntVector, rows: IntVector, cosines: Vector) -> None:
        self._waiting.append((queries, rows, cosines))
        self._count += len(queries)

    def finish(self) -> None:
        """Bring what is waiting into the table."""
        if not self._count:
            return
        parts = [*self._table(), *self._waiting]
        queries, rows, cosines = (np.concatenate(column) for column in zip(*parts, strict=True))
        self._clear()
        order = np.lexsort((rows, -cosines, queries))
        queries = queries[order]
        ranks = np.arange(len(order)) - np.searchsorted(queries, np.arange(len(self.queries)))[queries]
        best = ranks < self.k
        order, places = order[best], (queries[best], ranks[best])
        self._rows[places], self._cosines[places] = rows[order], cosines[order]

    def _table(self) -> list[tuple[IntVector, IntVector, Vector]]:
        queries, columns = np.nonzero(self._rows >= 0)
        return [(queries, self._rows[queries, columns], self._cosines[queries, columns])]

    def absorb(self, other: NearestRows) -> None:
        """Add what another has found."""
        other.finish()
        self._wait(*other._table()[0])
        self.finish()

    @property
    def rows(self) -> IntVector:
        """The rows (m, k) of the nearest vectors, nearest first."""
        self.finish()
        return self._rows

    @property
    def cosines(self) -> Matrix:
        """Their cosines (m, k)."""
        self.finish()
        return self._cosines

    @property
    def flops_per_row(self) -> float:
        """Those of the product with every query."""
        return 2.0 * self.queries.size

    def state(self) -> State:
        """The rows and their cosines."""
        return {"rows": self.rows, "cosines": self.cosines}

    def _restore(self, state: State) -> None:
        self._clear()
        self._rows, self._cosines = state["rows"].copy(), state["cosines"].copy()
