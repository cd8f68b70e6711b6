"""The nearest neighbors of some queries as a statistic: a stream of any length, in threads or on a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from uncone.analysis.neighbors.search import Best, Search
from uncone.data.batch import Batch, IntVector, Matrix
from uncone.stats.hashing import fingerprints
from uncone.stats.statistic import State, Statistic

__all__ = ["NearestDistances"]

_TOGETHER = 2048
"""Vectors that are looked at together."""
_MARGIN = 1e-4
"""What a limit is raised by: the scores that it was taken from are only as exact as their products."""


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
