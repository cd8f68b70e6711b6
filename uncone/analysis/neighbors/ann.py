"""The nearest rows found in a graph (HNSW, by faiss): not all of them, and how many is measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import faiss
import numpy as np

from uncone.analysis.neighbors.search import Block, Near, nearest
from uncone.data.batch import IntVector, Matrix, Vector

__all__ = ["approximate"]

_LINKS, _BUILT, _SEARCHED = 32, 120, 256
"""Links of a row in the graph, and how many rows are kept in view when it is built and searched."""
_JUDGED = 50
"""Queries whose neighbours are also looked for exactly."""


def approximate(
    blocks: Callable[[], Iterable[Block]], queries: Matrix, k: int, seed: int
) -> tuple[dict[str, Near], dict[str, float]]:
    """The k nearest rows of each query by Euclidean distance and by cosine, and the share that the search finds.

    A graph for each metric over all rows, which have to fit in memory. It is built on one thread: with two, links
    depend on which was faster. The neighbours of some seeded queries are looked for exactly as well, in another pass.
    """
    judged = np.sort(np.random.default_rng(seed).permutation(len(queries))[:_JUDGED])
    true = nearest(blocks(), queries[judged], k, distinct=True)
    centre = queries.mean(axis=0, dtype=np.float64)
    found, recall = {}, {}
    for metric in ("euclidean", "cosine"):
        with _one_thread():
            index = _graph(blocks(), metric, centre)
            found[metric] = _search(index, _placed(queries, metric, centre), k)
        recall[metric] = _recall(found[metric].places[judged], true[metric].places)
    return found, recall


@contextmanager
def _one_thread() -> Iterator[None]:
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


def _graph(blocks: Iterable[Block], metric: str, centre: Vector) -> faiss.IndexHNSWFlat:
    index = faiss.IndexHNSWFlat(len(centre), _LINKS)
    index.hnsw.efConstruction = _BUILT
    for rows in _each(blocks):
        index.add(_placed(rows, metric, centre))
    return index


def _each(blocks: Iterable[Block]) -> Iterator[Matrix]:
    for block in blocks:
        yield from block() if callable(block) else (block,)


def _placed(rows: Matrix, metric: str, centre: Vector) -> Matrix:
    """The rows about a centre, or their directions: there Euclidean distance is the metric asked for."""
    exact = rows.astype(np.float64)
    if metric == "cosine":
        exact /= np.sqrt(np.vecdot(exact, exact))[:, None]
        centre = centre / max(float(np.sqrt(centre @ centre)), 1e-300)
    return np.ascontiguousarray(exact - centre, np.float32)


def _search(index: faiss.IndexHNSWFlat, queries: Matrix, k: int) -> Near:
    index.hnsw.efSearch = max(_SEARCHED, 2 * k)
    # One more, as a query finds itself.
    squares, places = index.search(queries, k + 1)
    lengths = np.vecdot(queries, queries).astype(np.float64)[:, None]
    apart = np.where((places >= 0) & (squares > 1e-10 * lengths), squares.astype(np.float64), np.inf)
    order = np.argsort(apart, axis=1, kind="stable")[:, :k]
    distances = np.sqrt(np.take_along_axis(apart, order, axis=1))
    names = np.where(np.isfinite(distances), np.take_along_axis(places, order, axis=1), -1)
    return Near(names, distances)


def _recall(found: IntVector, true: IntVector) -> float:
    """The share of the true neighbours that were found."""
    hits = sum(len(np.intersect1d(a[a >= 0], b[b >= 0])) for a, b in zip(found, true, strict=True))
    return hits / max(int((true >= 0).sum()), 1)
