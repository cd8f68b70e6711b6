"""The background of two text columns: every text of the first with every text of the second that it never stands by.

Mean and standard deviation are exact over all such pairs, each as often as the rows have it; so they do not depend on
a seed. Quantiles are of a sample of about a million pairs, in which every row stands equally often.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from uncone.analysis.calibration.background import RATES
from uncone.analysis.calibration.quantiles import quantiles_of
from uncone.analysis.calibration.results import Background
from uncone.analysis.calibration.sampled_pairs import BUCKETS, Sampled
from uncone.analysis.intervals.intervals import student
from uncone.analysis.similarity.pairwise.unit_rows import Units
from uncone.analysis.similarity.sampling_units import BackgroundError, independent_pairs, pair_texts, text_variance
from uncone.data.batch import IntVector, Matrix, Vector
from uncone.data.lazy_property import once
from uncone.data.vectors.memory import ArrayVectors
from uncone.errors import ShapeError
from uncone.run.measure import measure
from uncone.stats.samples.hashing import hash_keys
from uncone.stats.sums.unit_scatter import CosineSums, UnitScatter

__all__ = ["unrelated_pairs"]

_AT_ONCE = 8192


def unrelated_pairs(
    units: Units, beside: Units, *, name: str = "", seed: int = 0
) -> tuple[Background, BackgroundError]:
    """The cosines of unit rows (n, d) with those that stand beside other rows, and the error of their mean.

    Two texts are related when some row has them side by side; so are a text and its copy. The sampling units are the
    texts: identical rows of either side are one, and the two texts of a row vary together.

    >>> sides = np.eye(4, dtype=np.float32)[[0, 0, 1]], np.eye(4, dtype=np.float32)[[2, 3, 2]]
    >>> unrelated_pairs(*sides)[0].all_pairs  # the second text of row 2 with the fourth
    1

    Raises:
        ShapeError: every text of one side stands beside every text of the other.
    """
    table = _Table.of(units, beside)
    if table.pairs <= 0:
        raise ShapeError(
            f"{name}: every text of the first column stands beside every text of the second, so no two are unrelated. "
            "We need rows that differ."
        )
    sides = [measure(ArrayVectors(side), UnitScatter(side.shape[1])) for side in (units, beside)]
    moments = sides[0].between(sides[1], table.left_out)
    mean = min(max(moments.mean, -1.0), 1.0)
    each = table.influence(moments.mean)
    n = independent_pairs(table.one, table.other)
    variance = text_variance(each, table.one, table.other) * n / (n - 1) if n >= 2 else math.nan
    reach = student(n - 1) * math.sqrt(variance) if math.isfinite(variance) else math.inf
    found = quantiles_of(lambda pairs, floor: table.sample(mean, pairs, floor, seed), RATES, min(table.distinct))
    background = Background(
        name=name,
        rows=len(units),
        documents=len(beside),
        all_pairs=moments.pairs,
        pairs=found.pairs,
        mean=mean,
        mean_low=max(mean - reach, -1.0),
        mean_high=min(mean + reach, 1.0),
        sd=moments.sd,
        tails=found.tails,
        scores=found.scores,
        lows=found.lows,
        highs=found.highs,
        histogram={"edges": found.edges.tolist(), "counts": found.counts.tolist()},
        left_out={"side by side, or the same text": table.left_out.pairs},
        distinct=table.distinct[0],
        distinct_documents=table.distinct[1],
        distinct_pairs=table.distinct[0] * table.distinct[1] - len(table.related),
        units=int(n),
        beyond=min(found.beyond, 1.0),
    )
    return background, BackgroundError(variance, each * math.sqrt(n / (n - 1)) if n >= 2 else None)


@dataclass(frozen=True, eq=False)
class _Table:
    """Rows of two texts, as numbers: `one` and `other` (n,), and the pairs of texts that are related, each once."""

    units: Units
    beside: Units
    one: IntVector
    other: IntVector
    related: IntVector
    """The first text times the number of texts, plus the second: sorted."""
    weights: Vector
    """How many pairs of rows each of them is."""
    cosines: Vector
    texts: int

    @classmethod
    def of(cls, units: Units, beside: Units) -> _Table:
        one, other = pair_texts(units, beside)
        texts = int(max(one.max(), other.max())) + 1
        same = np.intersect1d(one, other)
        related = np.unique(np.concatenate([one * texts + other, same * texts + same]))
        first, second = np.divmod(related, texts)
        counts = [np.bincount(side, minlength=texts).astype(np.float64) for side in (one, other)]
        places = [np.zeros(texts, np.int64), np.zeros(texts, np.int64)]
        for place, side in zip(places, (one, other), strict=True):
            place[side] = np.arange(len(side))
        cosines = np.empty(len(related))
        for start in range(0, len(related), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            left, right = units[places[0][first[part]]], beside[places[1][second[part]]]
            cosines[part] = np.vecdot(left.astype(np.float64), right.astype(np.float64))
        return cls(units, beside, one, other, related, counts[0][first] * counts[1][second], cosines, texts)

    @property
    def pairs(self) -> int:
        """How many pairs of rows are unrelated."""
        return len(self.one) * len(self.other) - round(float(self.weights.sum()))

    @property
    def left_out(self) -> CosineSums:
        """The related pairs of rows."""
        first = float(self.weights @ self.cosines)
        return CosineSums(round(float(self.weights.sum())), first, float(self.weights @ self.cosines**2))

    @once
    def distinct(self) -> tuple[int, int]:
        """The distinct texts of each side."""
        return len(np.unique(self.one)), len(np.unique(self.other))

    def influence(self, mean: float) -> Vector:
        """What each row adds to the error of the mean: what its two texts score with the texts they never stand by."""
        n, pairs = len(self.one), self.pairs
        gone = np.divmod(self.related, self.texts)
        added = np.zeros(n)
        for side, others, own, (ours, theirs) in (
            (self.units, self.beside, self.one, gone),
            (self.beside, self.units, self.other, gone[::-1]),
        ):
            counts = np.bincount(self.other if own is self.one else self.one, minlength=self.texts)
            total = others.sum(axis=0, dtype=np.float64)
            less = np.bincount(ours, counts[theirs] * (self.cosines - mean), self.texts)
            for start in range(0, n, _AT_ONCE):
                part = slice(start, start + _AT_ONCE)
                added[part] += side[part].astype(np.float64) @ total - n * mean - less[own[part]]
        return added / pairs

    def sample(self, base: float, pairs: int, floor: float, seed: int) -> Sampled:
        """About so many unrelated pairs, as deviations from `base`: those of at least `floor`.

        Rows that share the text of the side with fewer texts are in one bucket, with both of their texts.
        """
        fewer = self.one if self.distinct[0] <= self.distinct[1] else self.other
        buckets = (hash_keys(fewer, seed=5) % np.uint64(BUCKETS)).astype(np.uint8)
        parts: list[tuple[Vector, NDArray[np.uint8], NDArray[np.uint8]]] = []
        touched, total = np.zeros(BUCKETS), 0
        for rows, partners, cosines in self._blocks(pairs, seed):
            keys = self.one[rows] * self.texts + self.other[partners]
            places = np.searchsorted(self.related, keys).clip(max=len(self.related) - 1)
            apart = self.related[places] != keys
            left, right = (np.broadcast_to(buckets[side], keys.shape)[apart] for side in (rows, partners))
            touched += np.bincount(left, minlength=BUCKETS) + np.bincount(right, minlength=BUCKETS)
            values = cosines[apart] - base
            total += len(values)
            kept = values >= floor
            parts.append((values[kept], left[kept], right[kept]))
        values, first, second = (np.concatenate(part) for part in zip(*parts, strict=True))
        repeats = max(total / (self.distinct[0] * self.distinct[1] - len(self.related)), 1.0)
        return Sampled(base, total, values, first, second, touched, repeats)

    def _blocks(self, pairs: int, seed: int) -> Iterator[tuple[IntVector, IntVector, Matrix]]:
        """Rows (b, s, 1), their partners (b, 1, s), and the cosines (b, s, s): each row has s partners.

        All pairs when there are few; else the rows of both sides are shuffled, and cut into parts of s.
        """
        n = len(self.one)
        size = n if n * n <= 2 * pairs else max(pairs // n, 1)
        count = n // size
        shuffled = np.random.default_rng(seed)
        rows, partners = (shuffled.permutation(n)[: count * size].reshape(count, size) for _ in range(2))
        step = max(1, _AT_ONCE // size)
        for start in range(0, count, step):
            ours, theirs = rows[start : start + step], partners[start : start + step]
            left, right = self.units[ours].astype(np.float64), self.beside[theirs].astype(np.float64)
            yield ours[:, :, None], theirs[:, None, :], left @ right.swapaxes(1, 2)
