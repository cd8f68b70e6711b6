"""Nearest neighbors among vectors in memory or in blocks: exact, or in a graph (HNSW, by faiss)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from uncone.analysis.neighbors.metrics import METRICS, Metric, Queries, Tile
from uncone.data.batch import IntVector, Matrix, Vector
from uncone.run.threads import in_order, one_blas_thread
from uncone.stats.hashing import hash_keys

if TYPE_CHECKING:
    import faiss

__all__ = ["Best", "Block", "Candidates", "Near", "Search", "approximate", "nearest"]

Block = Matrix | Callable[[], Iterable[Matrix]]
"""Vectors of the base (b, d); or what reads them, to be called in the thread that looks at them."""

_TILE = 2048
_CHUNK = 1024
"""Vectors of the base and queries that are multiplied together."""
_SHARED = 20_000_000_000
"""Products from which all cores look together."""
_PART = 128
"""Queries whose products are looked at together: they stay in a core's cache."""
_LINKS, _BUILT, _SEARCHED = 32, 120, 256
"""Links of a vector in the graph, and how many vectors are kept in view when it is built and searched."""
_RECALL_QUERIES = 50
"""Queries whose neighbors are also looked for exactly."""


class Near(NamedTuple):
    """For each of m queries the places (m, k) of its nearest vectors in the base, nearest first, and their distances.

    Where there are fewer than k, the place is -1 and the distance infinite.
    """

    places: IntVector
    distances: Vector


class Candidates(NamedTuple):
    """Vectors of a block that may be among the nearest: of which query, where in the block, with which score."""

    queries: IntVector
    places: IntVector
    scores: Vector


@one_blas_thread()
def nearest(
    base: Matrix | Iterable[Block],
    queries: Matrix,
    k: int,
    *,
    metrics: Sequence[str] = ("euclidean", "cosine"),
    own: IntVector | None = None,
    distinct: bool = False,
) -> dict[str, Near]:
    """The k nearest vectors of the base (n, d) for each query (m, d), by each metric; the base may come in blocks.

    One product of centered vectors, in the precision of the queries, serves all metrics, and no cone takes its digits:
    with c the middle of the queries, |x - y|² follows from (x - c)·(y - c), and the squared chord |u - v|² of the
    directions is (|x - y|² - (|x| - |y|)²)/(|x||y|). A vector is looked at again when it is nearer than the k-th best
    so far; where the two terms cancel, its distance is computed anew from the vectors themselves. Equal ones go by
    place.

    "cosine" gives chords; "dot" gives the largest inner products as distances. `own` (m,) is the place of each query
    in the base, where it is left out; with `distinct`, every vector that equals the query but for rounding is (by
    cosine: that has its direction). Blocks that are handed over as arrays must stay as they are.

    >>> rows = np.array([[0.0, 1.0], [0.0, 3.0], [4.0, 1.0]])
    >>> near = nearest(rows, rows, 1, own=np.arange(3))
    >>> near["euclidean"].distances.ravel().round(3).tolist(), near["cosine"].places.ravel().tolist()
    ([2.0, 2.0, 4.0], [1, 0, 0])
    """
    keep = k + (own is not None)
    search = Search(queries, metrics, keep, distinct)
    best = [Best(len(queries), keep) for _ in metrics]
    n_rows = 0

    def look(block: Block) -> tuple[int, list[Candidates]]:
        return search.look(block, [each.limits for each in best])

    def take(n: int, candidates: Sequence[Candidates]) -> None:
        nonlocal n_rows
        for each, batch in zip(best, candidates, strict=False):
            places = batch.places + n_rows
            others = slice(None) if own is None else places != own[batch.queries]
            each.add(batch.queries[others], places[others], batch.scores[others])
        n_rows += n

    blocks, alone = base, False
    if isinstance(base, np.ndarray):
        # One tile first: the limits that it sets spare the sorting of all others.
        take(*look(base[:_TILE]))
        # Threads that wait for each other would take longer over little than one alone.
        blocks, alone = _tiles(base[_TILE:]), base.size * len(queries) < _SHARED
    for n, candidates in map(look, blocks) if alone else in_order(look, blocks):
        take(n, candidates)
    return {name: each.result(metric, k) for name, metric, each in zip(metrics, search.metrics, best, strict=True)}


def _tiles(rows: Matrix) -> Iterator[Matrix]:
    for start in range(0, len(rows), _TILE):
        yield rows[start : start + _TILE]


class _Room(NamedTuple):
    """Arrays that a thread uses again and again, because new ones cost more than what is done in them."""

    rows: Matrix
    products: Matrix
    spare: Matrix


class Search:
    """Looks at blocks for what may be among the `keep` nearest of each query; several threads may share it."""

    def __init__(self, queries: Matrix, metrics: Sequence[str], keep: int, distinct: bool) -> None:
        self.queries = Queries(queries)
        self.metrics = [METRICS[name](self.queries) for name in metrics]
        self.keep = keep
        self.distinct = distinct
        self._rooms: list[_Room] = []

    def look(self, block: Block, limits: Sequence[Vector]) -> tuple[int, list[Candidates]]:
        """The number of vectors of a block, and by each metric those with scores under the limit of a query (m,)."""
        n = 0
        candidates: list[list[Candidates]] = [[] for _ in self.metrics]
        room = self._room()
        for rows in block() if callable(block) else _tiles(block):
            for some in _tiles(rows):
                tile = Tile.of(some, self.queries, room.rows[: len(some)])
                for start in range(0, self.queries.m, _CHUNK):
                    self._look_at(tile, start, n, room, limits, candidates)
                n += len(some)
        self._rooms.append(room)
        nonempty = filter(None, candidates)
        return n, [Candidates(*map(np.concatenate, zip(*parts, strict=True))) for parts in nonempty]

    def _room(self) -> _Room:
        """Room that no other thread is using; asked for and not looked at first, because another may be quicker."""
        try:
            return self._rooms.pop()
        except IndexError:
            m, dtype = self.queries.m, self.queries.rows.dtype
            sizes = (_TILE, self.queries.dim + 1), min(m, _CHUNK) * _TILE, min(m, _PART) * _TILE
            return _Room(*(np.empty(size, dtype) for size in sizes))

    def _look_at(
        self,
        tile: Tile,
        start: int,
        first: int,
        room: _Room,
        limits: Sequence[Vector],
        candidates: list[list[Candidates]],
    ) -> None:
        block, b = self.queries.augmented[start : start + _CHUNK], len(tile.rows)
        products = room.products[: len(block) * b].reshape(len(block), b)
        np.matmul(block, tile.augmented.T, out=products)
        for low in range(0, len(block), _PART):
            part = products[low : low + _PART]
            chunk = slice(start + low, start + low + len(part))
            spare = room.spare[: part.size].reshape(part.shape)
            for metric, most, parts in zip(self.metrics, limits, candidates, strict=True):
                parts.append(self._near(metric, most[chunk], part, tile, chunk, first, spare))

    def _near(
        self, metric: Metric, limits: Vector, products: Matrix, tile: Tile, chunk: slice, first: int, spare: Matrix
    ) -> Candidates:
        if np.isfinite(limits).all():
            near = metric.under(products, tile, chunk, limits, spare)
        else:
            near = metric.smallest(products, tile, chunk, self.keep, self.distinct, spare)
        flat = np.flatnonzero(near)
        of, at = np.divmod(flat, len(tile.rows))
        scores, below = metric.scores(products.reshape(-1)[flat], tile, of + chunk.start, at, self.distinct)
        below &= scores < limits[of]
        return Candidates(of[below] + chunk.start, at[below] + first, scores[below])


class Best:
    """The `k` smallest scores of each of m queries so far, with their places, in the order of the places.

    Scores from `limits` (m,) on are known to be too large. With `by_name`, the places are names instead, such as
    fingerprints: of several vectors of a name the smallest score counts, and only once.
    """

    def __init__(self, m: int, k: int, limits: Vector | None = None, *, by_name: bool = False) -> None:
        self.m, self.k = m, k
        self.limits: Vector = np.full(m, np.inf) if limits is None else limits
        self._clear()
        self.by_name = by_name
        self._waiting: list[Candidates] = []
        self._count = 0

    def _clear(self) -> None:
        # As narrow as what was found: most parts of a stream find little.
        self.scores: Matrix = np.empty((self.m, 0))
        self.places: IntVector = np.empty((self.m, 0), np.int64)

    def add(self, queries: IntVector, places: IntVector, scores: Vector) -> None:
        """Vectors whose places come after all that were added before."""
        self._waiting.append(Candidates(queries, places, scores))
        self._count += len(queries)
        # Not each time: one merge for every k vectors that a query has found is enough to keep the limits close.
        if self._count >= self.m * self.k or np.isinf(self.limits[0]):
            self.merge()

    def absorb(self, other: Best) -> None:
        """Add what another has found."""
        for part in other._parts():
            self.add(*part)

    def _parts(self) -> list[Candidates]:
        queries, columns = np.nonzero(np.isfinite(self.scores))
        best = Candidates(queries, self.places[queries, columns], self.scores[queries, columns])
        return [part for part in (best, *self._waiting) if len(part.queries)]

    def merge(self) -> None:
        """Let nothing wait: the best are in the table, and the limits as close as they can be."""
        if not self._count:
            return
        if self.by_name:
            self._waiting = [_once_each(self._parts())]
            self._clear()
        queries, places, scores = (np.concatenate(column) for column in zip(*self._waiting, strict=True))
        self._waiting, self._count = [], 0
        m, k, width = self.m, self.k, self.scores.shape[1]
        order = np.argsort(queries.astype(np.uint16) if m < 1 << 16 else queries, kind="stable")
        counts = np.bincount(queries, minlength=m)
        columns = width + np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
        rows = queries[order]
        table = np.full((m, width + int(counts.max())), np.inf)
        names = np.full(table.shape, -1, np.int64)
        table[:, :width], names[:, :width] = self.scores, self.places
        table[rows, columns], names[rows, columns] = scores[order], places[order]
        if table.shape[1] < k:
            self.scores, self.places = table, names
            return
        last = np.partition(table, k - 1, axis=1)[:, k - 1 : k]
        below, equal = table < last, table == last
        nearest_k = below | (equal & (np.cumsum(equal, axis=1) <= k - below.sum(axis=1, keepdims=True)))
        self.scores, self.places = table[nearest_k].reshape(m, k), names[nearest_k].reshape(m, k)
        self.limits = np.minimum(self.limits, last[:, 0])

    def sort(self) -> None:
        """Put the k best of each query in order, best first; where there are fewer, the place is -1."""
        self.merge()
        missing = (0, 0), (0, self.k - self.scores.shape[1])
        scores = np.pad(self.scores, missing, constant_values=np.inf)
        places = np.pad(self.places, missing, constant_values=-1)
        order = np.argsort(scores, axis=1, kind="stable")
        self.scores, self.places = np.take_along_axis(scores, order, axis=1), np.take_along_axis(places, order, axis=1)

    def result(self, metric: Metric, k: int) -> Near:
        """The k best of each query, best first."""
        self.sort()
        return Near(self.places[:, :k], metric.distances(self.scores[:, :k]))


def _once_each(parts: Sequence[Candidates]) -> Candidates:
    """Of the candidates of a query that share a name, the one with the smallest score."""
    queries, names, scores = (np.concatenate(column) for column in zip(*parts, strict=True))
    keys = names.view(np.uint64) ^ hash_keys(np.arange(queries.max() + 1))[queries]
    ordered = np.sort(keys)
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]
    if not repeated.size:
        return Candidates(queries, names, scores)
    places = np.flatnonzero(np.isin(keys, repeated))
    places = places[np.lexsort((scores[places], keys[places]))]
    once = np.ones(len(keys), np.bool_)
    once[places[1:][keys[places[1:]] == keys[places[:-1]]]] = False
    return Candidates(queries[once], names[once], scores[once])


def approximate(
    blocks: Callable[[], Iterable[Block]], queries: Matrix, k: int, seed: int
) -> tuple[dict[str, Near], dict[str, float]]:
    """The k nearest vectors of each query by Euclidean distance and by cosine, and the share that the search finds.

    A graph for each metric over all vectors, which have to fit in memory. It is built on one thread: with two, links
    depend on which was faster. The neighbors of some seeded queries are looked for exactly as well, in another pass.
    """
    sample = np.sort(np.random.default_rng(seed).permutation(len(queries))[:_RECALL_QUERIES])
    true = nearest(blocks(), queries[sample], k, distinct=True)
    center = queries.mean(axis=0, dtype=np.float64)
    near, recall = {}, {}
    for metric in ("euclidean", "cosine"):
        with _one_thread():
            index = _graph(blocks(), metric, center)
            near[metric] = _search(index, _placed(queries, metric, center), k)
        recall[metric] = _recall(near[metric].places[sample], true[metric].places)
    return near, recall


@contextmanager
def _one_thread() -> Iterator[None]:
    import faiss

    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


def _graph(blocks: Iterable[Block], metric: str, center: Vector) -> faiss.IndexHNSWFlat:
    import faiss  # it takes a while to load

    index = faiss.IndexHNSWFlat(len(center), _LINKS)
    index.hnsw.efConstruction = _BUILT
    for rows in _each(blocks):
        index.add(_placed(rows, metric, center))
    return index


def _each(blocks: Iterable[Block]) -> Iterator[Matrix]:
    for block in blocks:
        yield from block() if callable(block) else (block,)


def _placed(rows: Matrix, metric: str, center: Vector) -> Matrix:
    """The vectors about a center, or their directions: there Euclidean distance is the metric asked for."""
    exact = rows.astype(np.float64)
    if metric == "cosine":
        exact /= np.sqrt(np.vecdot(exact, exact))[:, None]
        center = center / max(float(np.sqrt(center @ center)), 1e-300)
    return np.ascontiguousarray(exact - center, np.float32)


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


def _recall(places: IntVector, true: IntVector) -> float:
    """The share of the true neighbors that were found."""
    hits = sum(len(np.intersect1d(a[a >= 0], b[b >= 0])) for a, b in zip(places, true, strict=True))
    return hits / max(int((true >= 0).sum()), 1)
