"""Uniform samples of rows and of pairs of rows that do not depend on how the stream is cut."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uncone.data.batch import Batch, IntVector, Matrix, Vector
from uncone.data.buffers import Shelf
from uncone.data.lazy_property import once
from uncone.data.source import joined_names
from uncone.stats.hashing import Hashes, hash_keys
from uncone.stats.statistic import State, Statistic

__all__ = ["Cosines", "PairCosines", "RowSample", "SampledRows", "cutoff_for"]

_TOGETHER = 16_384
"""Rows of the stream whose sample makes one part."""

_NOTHING = np.empty(0, np.int64)
_NUMBERS = ("groups", "words", "origins", "copies")
_COLUMNS = ("hashes", "rows", "norms", "texts", "labels", *_NUMBERS)

_EXACT_UP_TO = 20_000_000
"""Up to so many rows the cutoff is exact."""
_HASHED = 1 << 14
"""Rows that are hashed at once: they stay in a core's cache."""


@dataclass(frozen=True)
class SampledRows:
    """Rows with their hashes, norms (m,), numbers, texts, labels, groups, words and origins where known.

    The groups are the sampling units: the rows of a text. Of identical texts there is one, and each of its rows stands
    for as many as there are `copies`. Origins follow from the text and the place in it.

    The vectors stay in the `parts` they were collected in, because copying a sample of 150 MB into one array
    costs as much as all findings together.
    """

    hashes: Hashes
    rows: IntVector
    norms: Vector
    parts: tuple[Matrix, ...]
    texts: Sequence[str] | None = None
    labels: Sequence[str] | None = None
    groups: IntVector | None = None
    words: IntVector | None = None
    origins: IntVector | None = None
    copies: IntVector | None = None

    @property
    def n(self) -> int:
        """Rows in the sample."""
        return len(self.rows)

    @property
    def vectors(self) -> Matrix:
        """The vectors as one array (m, d)."""
        return self.parts[0] if len(self.parts) == 1 else np.concatenate(self.parts)

    @once
    def weights(self) -> NDArray[np.float64] | None:
        """How many rows each stands for, over their mean; None if all stand for as many."""
        copies = self.copies
        return None if copies is None or (copies == copies[:1]).all() else np.asarray(copies / copies.mean())

    @once
    def order(self) -> IntVector:
        """The rows in the order of their hashes: the first m of it are a uniform sample of m rows."""
        return np.lexsort((self.rows, self.hashes))

    def dot(self, vector: Vector) -> Vector:
        """x.v for every row, (m,)."""
        # Row by row, so that the digits do not depend on how the rows are spread over the parts.
        products = [np.vecdot(part, vector.astype(part.dtype)) for part in self.parts]
        return np.concatenate(products).astype(np.float64)

    def columns(self, dimensions: IntVector) -> Matrix:
        """Some dimensions of every row."""
        return np.concatenate([part[:, dimensions] for part in self.parts])

    def vectors_at(self, places: IntVector) -> Matrix:
        """The vectors at these places, in this order."""
        if len(self.parts) == 1:
            # Unlike rows[places] it lets other threads run.
            return np.take(self.parts[0], places, axis=0, mode="clip")
        vectors = np.empty((len(places), self.parts[0].shape[1]), self.parts[0].dtype)
        ends = np.cumsum([len(part) for part in self.parts])
        of = np.searchsorted(ends, places, side="right")
        for i in np.unique(of):
            rows = np.flatnonzero(of == i)
            vectors[rows] = self.parts[i][places[rows] - (ends[i] - len(self.parts[i]))]
        return vectors

    def take(self, places: IntVector) -> SampledRows:
        """The rows at these places, in this order, as one part."""
        columns: dict[str, Any] = {name: _select(getattr(self, name), places) for name in _COLUMNS}
        return SampledRows(parts=(self.vectors_at(places),), **columns)

    def first(self, m: int) -> SampledRows:
        """A smaller uniform sample: the m rows with the smallest hashes."""
        return self.take(self.order[:m])

    def at_most(self, m: int) -> SampledRows:
        """The same smaller sample in the order of the rows, as a smaller `RowSample` would have kept it."""
        return self if self.n <= m else self.take(np.sort(self.order[:m]))

    @classmethod
    def joined(cls, samples: Sequence[SampledRows]) -> SampledRows:
        """All rows of several samples; no vector is copied."""
        columns: dict[str, Any] = {name: _join([getattr(sample, name) for sample in samples]) for name in _COLUMNS}
        return cls(parts=tuple(part for sample in samples for part in sample.parts), **columns)


class RowSample(Statistic):
    """The `k` rows whose numbers have the smallest hashes: uniform, and the same for every sharding.

    `cutoff`, when the number of rows is known, saves work: rows above it are never copied. Without `named`, texts are
    not kept.

    >>> sample = RowSample(1, k=2)
    >>> sample.update(Batch.of(np.array([[1.0], [2.0], [3.0]])))
    >>> sample.sampled.n
    2
    """

    def __init__(
        self, dim: int, k: int = 50_000, *, seed: int = 0, cutoff: int | None = None, keep_texts: bool = True
    ) -> None:
        self.dim = dim
        self.k = k
        self.seed = seed
        self.cutoff = cutoff
        self.keep_texts = keep_texts
        self._samples: list[SampledRows] = []
        self._shelf: Shelf | None = None
        self._texts: list[Sequence[str] | None] = []
        self._labels: list[Sequence[str] | None] = []
        self._count = 0

    def rows_kept(self, rows: int) -> float:
        """Those under the cutoff, but at most `k`."""
        return min(float(self.k), rows * (1.0 if self.cutoff is None else self.cutoff / 2**64))

    def update(self, batch: Batch) -> None:
        batch = batch.without_copies
        hashes = hash_keys(batch.distinct_rows, self.seed)
        places = np.arange(batch.n) if self.cutoff is None else np.flatnonzero(hashes <= np.uint64(self.cutoff))
        if not places.size:
            return
        if self._shelf is None:
            share = 1.0 if self.cutoff is None else self.cutoff / 2**64
            self._shelf = Shelf(int(1.1 * share * _TOGETHER) + 64)
        keys = batch.keys
        columns = {"groups": batch.units, "words": batch.words, "origins": keys.origins, "copies": keys.copies}
        self._shelf.put(places, hashes=hashes, rows=batch.rows, norms=batch.norms, vectors=batch.vectors, **columns)
        indices = places.tolist()
        self._texts.append([batch.texts[i] for i in indices] if batch.texts is not None and self.keep_texts else None)
        self._labels.append(None if batch.labels is None else [batch.labels[i] for i in indices])
        self._count += places.size
        self._trim_now_and_then()

    def _close(self) -> None:
        """Make one sample of the rows of many batches: one in a thousand pieces is slow to walk through."""
        shelf = self._shelf
        if shelf is None:
            return
        hashes, rows, norms = (shelf.column(name) for name in ("hashes", "rows", "norms"))
        assert hashes is not None and rows is not None and norms is not None
        numbers = (shelf.column(name) for name in _NUMBERS)
        texts, labels = joined_names(self._texts), joined_names(self._labels)
        whole = SampledRows(hashes, rows, norms, tuple(shelf.pieces("vectors")), texts, labels, *numbers)
        in_order = bool((np.diff(rows) > 0).all())
        self._samples.append(whole if in_order else whole.take(np.argsort(rows, kind="stable")))
        self._shelf, self._texts, self._labels = None, [], []

    def __getstate__(self) -> dict[str, Any]:
        """What is sent to another process holds no empty room."""
        self._close()
        return self.__dict__

    def absorb(self, other: RowSample) -> None:
        other._close()
        self._samples.extend(other._samples)
        self._count += other._count
        self._trim_now_and_then()

    def _trim_now_and_then(self) -> None:
        # Not each time: so the copying stays linear in the number of rows.
        if self._count > 1.5 * self.k:
            self._trim()

    def _trim(self) -> None:
        """Keep the k smallest hashes, in the order of the rows; copy only when rows have to go or to move."""
        self._close()
        samples = sorted(self._samples, key=lambda sample: int(sample.rows[0]))
        joined = SampledRows.joined(samples)
        places = joined.order[: self.k]
        places = places[np.argsort(joined.rows[places], kind="stable")]
        untouched = len(places) == joined.n and bool((np.diff(places) == 1).all())
        self._samples = [joined if untouched else joined.take(places)]
        self._count = len(places)

    @property
    def sampled(self) -> SampledRows:
        """The sample, in the order of the rows."""
        self._close()
        if not self._samples:
            nothing = np.empty(0)
            return SampledRows(nothing.astype(np.uint64), nothing.astype(np.int64), nothing, (np.empty((0, self.dim)),))
        if len(self._samples) > 1 or self._count > self.k:
            self._trim()
        return self._samples[0]

    def state(self) -> State:
        sample = self.sampled
        numbers = {name: getattr(sample, name) for name in _COLUMNS if name not in ("texts", "labels")}
        return {
            **{name: _NOTHING if column is None else column for name, column in numbers.items()},
            "vectors": sample.vectors,
            "names": np.frombuffer(json.dumps([sample.texts, sample.labels]).encode(), np.uint8),
        }

    def _restore(self, state: State) -> None:
        texts, labels = json.loads(state["names"].tobytes())
        numbers = (state[key] if state[key].size else None for key in _NUMBERS)
        parts = (state["vectors"],)
        sample = SampledRows(state["hashes"], state["rows"], state["norms"], parts, texts, labels, *numbers)
        self._shelf, self._texts, self._labels = None, [], []
        self._samples, self._count = ([sample] if sample.n else []), sample.n


def _select(column: Any, places: IntVector) -> Any:  # noqa: ANN401 - an array, a list of names, or None
    return [column[i] for i in places] if isinstance(column, list) else None if column is None else column[places]


def _join(parts: Sequence[Any]) -> Any:  # noqa: ANN401 - the same; None unless every part is known
    if any(part is None for part in parts):
        return None
    return np.concatenate(parts) if isinstance(parts[0], np.ndarray) else joined_names(parts)


def cutoff_for(k: int, rows: int, seed: int = 0) -> int | None:
    """The hash of the last of the `k` rows that will be kept, so that no other is copied; None when all are.

    Beyond 20 million rows it is not worth hashing them all beforehand: then the cutoff leaves room enough that
    fewer than k rows lie under it only once in a billion.
    """
    if rows <= k:
        return None
    bound = min((k + 6 * k**0.5 + 10) / rows, 1.0)
    if rows > _EXACT_UP_TO:
        return int(bound * 2**64)
    while True:
        low = np.concatenate(
            [_hashes_below(bound, first, min(first + _HASHED, rows), seed) for first in range(0, rows, _HASHED)]
        )
        if len(low) >= k:
            return int(np.partition(low, k - 1)[k - 1])
        bound = min(2 * bound, 1.0)


def _hashes_below(bound: float, first: int, last: int, seed: int) -> Hashes:
    """The hashes of a range of rows that lie in the lowest share of `bound`."""
    hashes = hash_keys(np.arange(first, last, dtype=np.int64), seed)
    return np.asarray(hashes[hashes <= np.uint64(min(int(bound * 2**64), 2**64 - 1))])


ALL_PAIRS = 2_048
"""Up to so many rows every pair is taken, so the answer does not depend on the order of the rows."""


@dataclass(frozen=True)
class Cosines:
    """Cosines of pairs of `m` rows in random order: `values[s, i]` is the pair of row i and row i + s + 1, cyclically.

    Every row stands in equally many pairs. When `complete`, every pair is there, from both of its ends.
    """

    values: Matrix
    complete: bool
    groups: IntVector | None = None
    """What the rows share (m,), where some vary together."""

    @property
    def m(self) -> int:
        """Rows that the pairs are made of."""
        return int(self.values.shape[1])

    @property
    def pairs(self) -> int:
        """Number of different pairs."""
        return int(self.values.size) // (2 if self.complete else 1)

    @property
    def copies(self) -> float:
        """The share of these pairs whose rows are of one group."""
        groups = self.groups
        if groups is None or not len(self.values):
            return 0.0
        return float(np.mean([(groups == np.roll(groups, -shift)).mean() for shift in range(1, len(self.values) + 1)]))

    def per_row(self, kernel: NDArray[np.float64]) -> NDArray[np.float64]:
        """The mean over the pairs of each row of a function of the cosine, given per pair."""
        if self.complete:
            return np.asarray(kernel.mean(axis=0), np.float64)
        total = kernel.sum(axis=0)
        for shift, values in enumerate(kernel, start=1):
            total += np.roll(values, shift)
        return np.asarray(total / (2 * len(kernel)), np.float64)


class PairCosines(RowSample):
    """A row sample, paired: the cosines of up to `shifts` partners per row, or of all pairs if there are few rows.

    >>> pairs = PairCosines(2)
    >>> pairs.update(Batch.of(np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]])))
    >>> sorted(pairs.cosines().values.ravel().tolist())
    [0.0, 0.0, 0.0, 0.0, 1.0, 1.0]
    """

    def __init__(
        self, dim: int, k: int = 50_000, *, shifts: int = 10, seed: int = 0, cutoff: int | None = None
    ) -> None:
        super().__init__(dim, k, seed=seed, cutoff=cutoff)
        self.shifts = shifts

    def cosines(self, shifts: int | None = None) -> Cosines:
        """The cosines of the sampled pairs, with `shifts` partners per row if that is given."""
        rows = self.sampled
        return _all_pairs(rows) if rows.n <= ALL_PAIRS else _some_pairs(rows, shifts or self.shifts)


def _all_pairs(rows: SampledRows) -> Cosines:
    units = _units(rows, rows.order)
    table = np.clip(units @ units.T, -1.0, 1.0)
    places = np.arange(rows.n)
    values = [table[places, np.roll(places, -shift)] for shift in range(1, rows.n)]
    return Cosines(np.stack(values) if values else table[:0], complete=True)


def _some_pairs(rows: SampledRows, shifts: int) -> Cosines:
    values = np.empty((shifts, rows.n), rows.parts[0].dtype)
    step = 2_048
    for start in range(0, rows.n, step):
        stop = min(start + step, rows.n)
        units = _units(rows, rows.order[np.arange(start, stop + shifts) % rows.n])
        for s in range(shifts):
            values[s, start:stop] = np.einsum("ij,ij->i", units[: stop - start], units[s + 1 : s + 1 + stop - start])
    return Cosines(np.clip(values, -1.0, 1.0), complete=False)


def _units(rows: SampledRows, places: IntVector) -> Matrix:
    vectors = rows.vectors_at(places)
    return vectors / rows.norms[places, None].astype(vectors.dtype)
