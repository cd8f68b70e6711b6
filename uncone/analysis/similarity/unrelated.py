"""The background of two text columns: every text of the first with every text of the second it is never paired with.

Mean and standard deviation are exact over all such pairs of rows. Quantiles come from a seeded sample of about a
million pairs, in which every row is equally frequent.
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
from uncone.analysis.cosine.units import BLOCK, Units
from uncone.analysis.intervals.intervals import student
from uncone.analysis.similarity.sampling_units import BackgroundError, independent_pairs, pair_texts, text_variance
from uncone.data.batch import IntVector, Matrix, Vector
from uncone.data.vectors.memory import ArrayVectors
from uncone.errors import ShapeError
from uncone.run.measure import measure
from uncone.stats.samples.hashing import hash_keys
from uncone.stats.sums.unit_scatter import CosineSums, UnitScatter

__all__ = ["unrelated_pairs"]


def unrelated_pairs(
    units: Units, beside: Units, *, name: str = "", seed: int = 0
) -> tuple[Background, BackgroundError]:
    """The cosines of unit vectors (n, d) with those beside other rows, and the error of their mean.

    Two texts are related if some row pairs them, and so are a text and its copy. Texts are the sampling units:
    identical vectors on either side are one text, and the two texts of a row vary together.

    >>> sides = np.eye(4, dtype=np.float32)[[0, 0, 1]], np.eye(4, dtype=np.float32)[[2, 3, 2]]
    >>> unrelated_pairs(*sides)[0].all_pairs  # the second text of row 2 with the fourth
    1

    Raises:
        ShapeError: every text of one side is paired with every text of the other.
    """
    table = _PairTable.of(units, beside)
    if table.pairs <= 0:
        raise ShapeError(
            f"{name}: every text of the first column is paired with every text of the second, so no two are "
            "unrelated. We need rows that differ."
        )
    sides = [measure(ArrayVectors(side), UnitScatter(side.shape[1])) for side in (units, beside)]
    excluded = table.excluded
    moments = sides[0].between(sides[1], excluded)
    mean = min(max(moments.mean, -1.0), 1.0)
    each = table.contributions(moments.mean)
    n = independent_pairs(table.one, table.other)
    variance = text_variance(each, table.one, table.other) * n / (n - 1) if n >= 2 else math.nan
    reach = student(n - 1) * math.sqrt(variance) if math.isfinite(variance) else math.inf
    quantiles = quantiles_of(lambda pairs, floor: table.sample(mean, pairs, floor, seed), RATES, min(table.distinct))
    background = Background(
        name=name,
        rows=len(units),
        documents=len(beside),
        all_pairs=moments.pairs,
        pairs=quantiles.pairs,
        mean=mean,
        mean_low=max(mean - reach, -1.0),
        mean_high=min(mean + reach, 1.0),
        sd=moments.sd,
        tails=quantiles.tails,
        scores=quantiles.scores,
        lows=quantiles.lows,
        highs=quantiles.highs,
        histogram={"edges": quantiles.edges.tolist(), "counts": quantiles.counts.tolist()},
        left_out={"side by side, or the same text": excluded.pairs},
        distinct=table.distinct[0],
        distinct_documents=table.distinct[1],
        distinct_pairs=table.distinct_pairs,
        units=int(n),
        beyond=min(quantiles.beyond, 1.0),
    )
    return background, BackgroundError(variance, each * math.sqrt(n / (n - 1)) if n >= 2 else None)


@dataclass(frozen=True, eq=False)
class _PairTable:
    """Rows of two texts as numbers (`one`, `other`), and the distinct related pairs of texts.

    `related` are sorted keys, the first text times `texts` plus the second; `weights` the number of pairs of rows
    that each stands for, and `cosines` their cosines. `distinct` counts the texts of each side.
    """

    units: Units
    beside: Units
    one: IntVector
    other: IntVector
    related: IntVector
    weights: Vector
    cosines: Vector
    texts: int
    distinct: tuple[int, int]

    @classmethod
    def of(cls, units: Units, beside: Units) -> _PairTable:
        one, other = pair_texts(units, beside)
        texts = int(max(one.max(), other.max())) + 1
        same = np.intersect1d(one, other)
        related = np.unique(np.concatenate([one * texts + other, same * texts + same]))
        first, second = np.divmod(related, texts)
        counts = [np.bincount(side, minlength=texts).astype(np.float64) for side in (one, other)]
        places = np.zeros((2, texts), np.int64)
        places[0, one] = places[1, other] = np.arange(len(one))
        cosines = np.empty(len(related))
        for start in range(0, len(related), BLOCK):
            part = slice(start, start + BLOCK)
            left, right = units[places[0, first[part]]], beside[places[1, second[part]]]
            cosines[part] = np.vecdot(left.astype(np.float64), right.astype(np.float64))
        weights, distinct = counts[0][first] * counts[1][second], (len(np.unique(one)), len(np.unique(other)))
        return cls(units, beside, one, other, related, weights, cosines, texts, distinct)

    @property
    def pairs(self) -> int:
        """The number of unrelated pairs of rows."""
        return len(self.one) * len(self.other) - round(float(self.weights.sum()))

    @property
    def distinct_pairs(self) -> int:
        """The number of unrelated pairs of distinct texts."""
        return self.distinct[0] * self.distinct[1] - len(self.related)

    @property
    def excluded(self) -> CosineSums:
        """The related pairs of rows."""
        first = float(self.weights @ self.cosines)
        return CosineSums(round(float(self.weights.sum())), first, float(self.weights @ self.cosines**2))

    def contributions(self, mean: float) -> Vector:
        """The contribution of each row to the error of the mean, through the unrelated pairs of its two texts."""
        n = len(self.one)
        first, second = np.divmod(self.related, self.texts)
        added = np.zeros(n)
        for side, others, own, partners, ours, theirs in (
            (self.units, self.beside, self.one, self.other, first, second),
            (self.beside, self.units, self.other, self.one, second, first),
        ):
            counts = np.bincount(partners, minlength=self.texts)
            total = others.sum(axis=0, dtype=np.float64)
            less = np.bincount(ours, counts[theirs] * (self.cosines - mean), self.texts)
            for start in range(0, n, BLOCK):
                part = slice(start, start + BLOCK)
                added[part] += side[part].astype(np.float64) @ total - n * mean - less[own[part]]
        return added / self.pairs

    def sample(self, base: float, pairs: int, floor: float, seed: int) -> Sampled:
        """About `pairs` unrelated pairs as deviations from `base`, of which those of at least `floor` are kept.

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
            high = values >= floor
            parts.append((values[high], left[high], right[high]))
        values, first, second = (np.concatenate(part) for part in zip(*parts, strict=True))
        return Sampled(base, total, values, first, second, touched, max(total / self.distinct_pairs, 1.0))

    def _blocks(self, pairs: int, seed: int) -> Iterator[tuple[IntVector, IntVector, Matrix]]:
        """Rows (b, s, 1), their partners (b, 1, s), and the cosines (b, s, s): each row has s partners.

        All pairs if there are few; else the rows of both sides are shuffled and cut into parts of s.
        """
        n = len(self.one)
        size = n if n * n <= 2 * pairs else max(pairs // n, 1)
        count = n // size
        rng = np.random.default_rng(seed)
        rows, partners = (rng.permutation(n)[: count * size].reshape(count, size) for _ in range(2))
        step = max(1, BLOCK // size)
        for start in range(0, count, step):
            ours, theirs = rows[start : start + step], partners[start : start + step]
            left, right = self.units[ours].astype(np.float64), self.beside[theirs].astype(np.float64)
            yield ours[:, :, None], theirs[:, None, :], left @ right.swapaxes(1, 2)
