"""A uniform sample of the rows that does not depend on how the stream was cut."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uncone.data.batch import Batch, IntVector, Matrix, Vector
from uncone.stats.hashing import Hashes, hash_keys
from uncone.stats.statistic import State, Statistic

__all__ = ["RowSample", "SampledRows", "cutoff_for"]


@dataclass(frozen=True)
class SampledRows:
    """Rows with their hashes: vectors (m, d), norms (m,), row numbers, texts and labels where known."""

    hashes: Hashes
    rows: IntVector
    vectors: Matrix
    norms: Vector
    texts: Sequence[str] | None
    labels: Sequence[str] | None

    @property
    def n(self) -> int:
        """Rows in the sample."""
        return len(self.rows)

    @cached_property
    def order(self) -> IntVector:
        """The rows in the order of their hashes: the first m of it are a uniform sample of m rows."""
        return np.lexsort((self.rows, self.hashes))

    def take(self, chosen: IntVector) -> SampledRows:
        """The rows at these places, in this order."""
        return SampledRows(
            self.hashes[chosen],
            self.rows[chosen],
            self.vectors[chosen],
            self.norms[chosen],
            None if self.texts is None else [self.texts[i] for i in chosen],
            None if self.labels is None else [self.labels[i] for i in chosen],
        )

    def first(self, m: int) -> SampledRows:
        """A smaller uniform sample: the m rows with the smallest hashes."""
        return self.take(self.order[:m])


class RowSample(Statistic):
    """The `k` rows whose numbers have the smallest hashes: uniform, and the same for every sharding.

    `cutoff`, when the number of rows is known, only saves work: rows above it are never copied.

    >>> sample = RowSample(1, k=2)
    >>> sample.update(Batch.of(np.array([[1.0], [2.0], [3.0]])))
    >>> sample.sampled.n
    2
    """

    def __init__(self, dim: int, k: int = 50_000, *, seed: int = 0, cutoff: int | None = None) -> None:
        self.dim = dim
        self.k = k
        self.seed = seed
        self.cutoff = cutoff
        self._parts: list[SampledRows] = []
        self._kept = 0
        self._whole = False

    @property
    def settings(self) -> dict[str, Any]:
        return {"dim": self.dim, "k": self.k, "seed": self.seed, "cutoff": self.cutoff}

    def update(self, batch: Batch) -> None:
        hashes = hash_keys(batch.rows, self.seed)
        chosen = np.flatnonzero(hashes <= np.uint64(self.cutoff)) if self.cutoff is not None else np.arange(batch.n)
        if chosen.size == 0:
            return
        everything = SampledRows(hashes, batch.rows, batch.vectors, batch.norms, batch.texts, batch.labels)
        self._add(everything.take(chosen))

    def absorb(self, other: RowSample) -> None:
        for part in other._parts:
            self._add(part)

    def _add(self, part: SampledRows) -> None:
        self._parts.append(part)
        self._kept += part.n
        self._whole = False
        # Trimming now and then, not each time, keeps the copying linear in the number of rows.
        if self._kept > 1.5 * self.k:
            self._trim()

    def _trim(self) -> None:
        """Keep the k smallest hashes, as one part in the order of the rows."""
        if self._whole or not self._parts:
            return
        parts = sorted(self._parts, key=lambda part: int(part.rows[0]))
        hashes = np.concatenate([part.hashes for part in parts])
        rows = np.concatenate([part.rows for part in parts])
        kept = np.zeros(len(rows), bool)
        kept[np.lexsort((rows, hashes))[: self.k] if len(rows) > self.k else slice(None)] = True
        joined = _joined(parts, kept)
        in_order = bool((np.diff(joined.rows) >= 0).all())
        self._parts = [joined if in_order else joined.take(np.argsort(joined.rows, kind="stable"))]
        self._kept, self._whole = self._parts[0].n, True

    @property
    def sampled(self) -> SampledRows:
        """The sample, in the order of the rows."""
        if not self._parts:
            nothing = np.empty(0)
            return SampledRows(
                nothing.astype(np.uint64), nothing.astype(np.int64), np.empty((0, self.dim)), nothing, None, None
            )
        self._trim()
        return self._parts[0]

    def state(self) -> State:
        kept = self.sampled
        names = json.dumps([kept.texts, kept.labels])
        return {
            "hashes": kept.hashes,
            "rows": kept.rows,
            "vectors": kept.vectors,
            "norms": kept.norms,
            "names": np.frombuffer(names.encode(), np.uint8),
        }

    def _restore(self, state: State) -> None:
        texts, labels = json.loads(state["names"].tobytes())
        kept = SampledRows(state["hashes"], state["rows"], state["vectors"], state["norms"], texts, labels)
        self._parts, self._kept = ([kept] if kept.n else []), kept.n


def cutoff_for(k: int, rows: int) -> int | None:
    """A hash under which at least `k` of `rows` hashes lie, but for one chance in a billion."""
    share = (k + 6 * k**0.5 + 10) / max(rows, 1)
    return None if share >= 1 else int(share * 2**64)


def _joined(parts: Sequence[SampledRows], kept: NDArray[np.bool_]) -> SampledRows:
    """The kept rows of all parts; each vector is copied once."""
    vectors = np.empty((int(kept.sum()), parts[0].vectors.shape[1]), parts[0].vectors.dtype)
    first = done = 0
    for part in parts:
        mask = kept[first : first + part.n]
        count = int(mask.sum())
        np.compress(mask, part.vectors, axis=0, out=vectors[done : done + count])
        first, done = first + part.n, done + count
    chosen = np.flatnonzero(kept)
    return SampledRows(
        np.concatenate([part.hashes for part in parts])[chosen],
        np.concatenate([part.rows for part in parts])[chosen],
        vectors,
        np.concatenate([part.norms for part in parts])[chosen],
        _names([part.texts for part in parts], chosen),
        _names([part.labels for part in parts], chosen),
    )


def _names(parts: Sequence[Sequence[str] | None], chosen: IntVector) -> list[str] | None:
    if any(part is None for part in parts):
        return None
    joined = [text for part in parts if part is not None for text in part]
    return [joined[i] for i in chosen]
