"""Two texts in every row: the cosine of each pair by label, and the background of texts that are never paired."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uncone.analysis.calibration.background import RATES, background_from
from uncone.analysis.calibration.quantiles import quantiles_of
from uncone.analysis.calibration.results import Background
from uncone.analysis.calibration.sampled_pairs import BUCKETS, Sampled
from uncone.analysis.cosine.units import BLOCK, Units, pair_cosines
from uncone.analysis.intervals.intervals import LEAST_UNITS, student
from uncone.analysis.number_format import count
from uncone.analysis.similarity.label_sums import PairMean, above, coded, estimate
from uncone.analysis.similarity.per_label import COSINE_GRID, auc_interval, inconclusive, share_below
from uncone.analysis.similarity.results import PerLabel, TwoColumns
from uncone.analysis.similarity.sampling_units import BackgroundError, independent_pairs, pair_texts, text_variance
from uncone.data.batch import IntVector, Matrix, Vector
from uncone.data.lazy_property import once
from uncone.data.tables.fields import label_text
from uncone.data.vectors.memory import ArrayVectors
from uncone.errors import NoUsableRowsError, ShapeError
from uncone.run.measure import measure
from uncone.stats.hashing import hash_keys
from uncone.stats.unit_vectors import CosineSums, UnitScatter

__all__ = ["two_columns", "unrelated_pairs"]

_TABLE_LABELS = 12
"""The largest labels, which make 66 comparisons."""
_MINIMUM = 3
"""Independent pairs of a label that a comparison needs."""

Floats = NDArray[np.float64]
Interval = tuple[float, float, float]
"""A value with the bounds of its interval."""


def two_columns(
    left: ArrayLike,
    right: ArrayLike,
    labels: Sequence[Hashable] | None = None,
    background_mean: float = 0.0,
    *,
    background: BackgroundError = BackgroundError(),  # noqa: B008 - immutable
) -> TwoColumns:
    """The cosine of every vector of `left` (n, d) with the same row of `right`, and its distribution by label.

    A vector without a direction has the cosine NaN and is left out of the table, as is a row without a label. The AUC
    of "a over b" is the probability that a pair labeled a is more similar than one labeled b, ties counting half; the
    label that scores higher comes first. Rows that share a text, an identical vector in either column, vary together
    in the intervals, and copies of a row are one.
    `background_mean` is the mean cosine of unrelated pairs, subtracted in `above`, and `background` its error: none by
    default.

    Raises:
        ShapeError: the two are not of one shape, or not one label per row.
        NoUsableRowsError: no row has two directions.
    """
    cosines = pair_cosines(left, right)
    n = len(cosines)
    if labels is not None and len(labels) != n:
        raise ShapeError(f"We need one label per pair: there are {len(labels):,} for {n:,} pairs.")
    finite = np.isfinite(cosines)
    if not finite.any():
        raise NoUsableRowsError(f"None of the {n:,} pairs has two vectors with a direction: there is no cosine.")
    codes, names = (np.zeros(n, np.int64), ["all"]) if labels is None else coded(labels)
    texts = pair_texts(left, right)
    counts = np.bincount(codes[finite & (codes >= 0)], minlength=len(names))
    largest = np.sort(np.argsort(-counts, kind="stable")[:_TABLE_LABELS])
    masks = {names[a]: finite & (codes == a) for a in largest[counts[largest] > 0].tolist()}
    by_label = {name: _LabelPairs(cosines[mask], *(side[mask] for side in texts)) for name, mask in masks.items()}
    table = []
    for name, pairs in by_label.items():
        mean = _mean(pairs, masks[name], texts, background)
        table.append(PerLabel(name, name, estimate(mean), above(mean, background_mean, background)))
    auc, units = {}, {}
    for a, b in combinations(by_label, 2):
        if (compared := _auc(by_label[a], by_label[b])) is not None:
            (value, low, high), name = compared, f"{a} over {b}"
            if value < 0.5:
                value, low, high, name = 1 - value, 1 - high, 1 - low, f"{b} over {a}"
            auc[name], units[name] = (value, low, high), int(by_label[a].joined(by_label[b]).units)
    label_texts = None if labels is None else [label_text(label) or "" for label in labels]
    more = int((counts > 0).sum()) - len(by_label)
    differs = "" if labels is None else _differences(len(by_label), auc, units, more)
    return TwoColumns(cosines, label_texts, table, auc, differs, units)


@dataclass(frozen=True, eq=False)
class _LabelPairs:
    """The cosines of the pairs with one label, and the texts of both sides of each."""

    cosines: Floats
    left: IntVector
    right: IntVector

    @once
    def units(self) -> float:
        """The effective number of independent pairs."""
        return independent_pairs(self.left, self.right)

    def joined(self, others: _LabelPairs) -> _LabelPairs:
        """The pairs of both labels."""
        columns = ("cosines", "left", "right")
        return _LabelPairs(*(np.concatenate([getattr(self, name), getattr(others, name)]) for name in columns))


def _mean(
    pairs: _LabelPairs, mask: NDArray[np.bool_], texts: tuple[IntVector, IntVector], error: BackgroundError
) -> PairMean:
    """The mean cosine of a label, its variance, and its covariance with the mean of the background."""
    cosines, n, units = pairs.cosines, len(pairs.cosines), pairs.units
    mean, square = float(cosines.mean()), float((cosines**2).mean())
    if units < 2:
        return PairMean(mean, square, n)
    each = math.sqrt(units / (units - 1)) * (cosines - mean) / n
    variance, covariance = text_variance(each, pairs.left, pairs.right), 0.0
    if error.each is not None:  # Var(x - y) = Var(x) + Var(y) - 2 Cov(x, y)
        difference = -error.each
        difference[mask] += each
        covariance = (variance + error.variance - text_variance(difference, *texts)) / 2
    return PairMean(mean, square, n, variance, units - 1, covariance)


def _auc(ours: _LabelPairs, theirs: _LabelPairs) -> Interval | None:
    """The AUC with its interval, by DeLong's variance; pairs that share a text vary together."""
    n, m = ours.units, theirs.units
    if min(n, m) < _MINIMUM:
        return None
    scores, other_scores = np.rint(ours.cosines * COSINE_GRID), np.rint(theirs.cosines * COSINE_GRID)
    over = share_below(scores, other_scores)
    value = float(over.mean())
    parts = (over - value) / len(scores) * math.sqrt(n / (n - 1))
    other_parts = (1 - share_below(other_scores, scores) - value) / len(other_scores) * math.sqrt(m / (m - 1))
    both = ours.joined(theirs)
    variance = text_variance(np.concatenate([parts, other_parts]), both.left, both.right)
    a, b = text_variance(parts, ours.left, ours.right), text_variance(other_parts, theirs.left, theirs.right)
    freedom = (a + b) ** 2 / (a**2 / (n - 1) + b**2 / (m - 1)) if a + b > 0 else min(n, m) - 1
    low, high = auc_interval(value, variance, min(freedom, both.units - 1), int(min(n, m)))
    return None if low is None or high is None else (value, low, high)


def _differences(labels: int, auc: Mapping[str, Interval], units: Mapping[str, int], more: int) -> str:
    """A sentence about the differences between labels."""
    if not labels:
        return "No pair has a label, so there is nothing to compare."
    if labels == 1:
        return "There is only one label, so there is nothing to compare."
    if not auc:
        return f"There are too few pairs to compare labels: each needs at least {_MINIMUM} that share no text."
    few = {name for name in auc if units[name] < LEAST_UNITS}
    apart = [name for name, (_, low, high) in auc.items() if name not in few and not low <= 0.5 <= high]
    by_difference = sorted(apart or auc, key=lambda name: -abs(auc[name][0] - 0.5))
    most, least = (
        f"{name} (AUC {auc[name][0]:.3f}, {auc[name][1]:.3f} to {auc[name][2]:.3f})"
        for name in (by_difference[0], by_difference[-1])
    )
    left = f" The table has the {labels} largest of {labels + more:,} labels." if more else ""
    if not apart and (few or any(inconclusive(low, high) for _, low, high in auc.values())):
        pairs = count(units[by_difference[0]], "pair")
        few_pairs = f"{pairs} that share no text are too few to say whether the labels differ."
        return f"{few_pairs} The largest difference is {most}.{left}"
    if not apart:
        return f"Cosine doesn't separate the labels; the largest difference is {most}.{left}"
    little = ", but little" if abs(auc[by_difference[0]][0] - 0.5) < 0.1 else ""
    if len(auc) == 1:
        return f"The two labels differ{little}: {most}; 0.5 is chance.{left}"
    if len(apart) == len(auc):
        return f"All labels differ{little}: most {most}, least {least}; 0.5 is chance.{left}"
    same = ", ".join(name.replace(" over ", " and ") for name in auc if name not in apart)
    return (
        f"{len(apart)} of {count(len(auc), 'pair')} of labels differ{little}: most {most}. "
        f"No difference found: {same}.{left}"
    )


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
    n = independent_pairs(table.left, table.right)
    variance = text_variance(each, table.left, table.right) * n / (n - 1) if n >= 2 else math.nan
    reach = student(n - 1) * math.sqrt(variance) if math.isfinite(variance) else math.inf
    quantiles = quantiles_of(lambda pairs, floor: table.sample(mean, pairs, floor, seed), RATES, min(table.distinct))
    left_out, unique = (
        {"side by side, or the same text": excluded.pairs},
        (*table.distinct, table.distinct_pairs, int(n)),
    )
    sizes, interval = (len(units), len(beside)), (mean - reach, mean + reach)
    background = background_from(name, sizes, moments, interval, quantiles, left_out, unique)
    return background, BackgroundError(variance, each * math.sqrt(n / (n - 1)) if n >= 2 else None)


@dataclass(frozen=True, eq=False)
class _PairTable:
    """Rows of two texts as numbers (`left`, `right`), and the distinct related pairs of texts.

    `related` are sorted keys, the first text times `texts` plus the second; `weights` the number of pairs of rows
    that each stands for, and `cosines` their cosines. `distinct` counts the texts of each side.
    """

    units: Units
    beside: Units
    left: IntVector
    right: IntVector
    related: IntVector
    weights: Vector
    cosines: Vector
    texts: int
    distinct: tuple[int, int]

    @classmethod
    def of(cls, units: Units, beside: Units) -> _PairTable:
        left, right = pair_texts(units, beside)
        texts = int(max(left.max(), right.max())) + 1
        same = np.intersect1d(left, right)
        related = np.unique(np.concatenate([left * texts + right, same * texts + same]))
        first, second = np.divmod(related, texts)
        counts = [np.bincount(side, minlength=texts).astype(np.float64) for side in (left, right)]
        places = np.zeros((2, texts), np.int64)
        places[0, left] = places[1, right] = np.arange(len(left))
        cosines = np.empty(len(related))
        for start in range(0, len(related), BLOCK):
            part = slice(start, start + BLOCK)
            our_vectors, their_vectors = units[places[0, first[part]]], beside[places[1, second[part]]]
            cosines[part] = np.vecdot(our_vectors.astype(np.float64), their_vectors.astype(np.float64))
        weights, distinct = counts[0][first] * counts[1][second], (len(np.unique(left)), len(np.unique(right)))
        return cls(units, beside, left, right, related, weights, cosines, texts, distinct)

    @property
    def pairs(self) -> int:
        """The number of unrelated pairs of rows."""
        return len(self.left) * len(self.right) - round(float(self.weights.sum()))

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
        n = len(self.left)
        first, second = np.divmod(self.related, self.texts)
        added = np.zeros(n)
        for side, others, own, partners, ours, theirs in (
            (self.units, self.beside, self.left, self.right, first, second),
            (self.beside, self.units, self.right, self.left, second, first),
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
        fewer = self.left if self.distinct[0] <= self.distinct[1] else self.right
        buckets = (hash_keys(fewer, seed=5) % np.uint64(BUCKETS)).astype(np.uint8)
        parts: list[tuple[Vector, NDArray[np.uint8], NDArray[np.uint8]]] = []
        touched, total = np.zeros(BUCKETS), 0
        for rows, partners, cosines in self._blocks(pairs, seed):
            keys = self.left[rows] * self.texts + self.right[partners]
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
        n = len(self.left)
        size = n if n * n <= 2 * pairs else max(pairs // n, 1)
        count = n // size
        rng = np.random.default_rng(seed)
        rows, partners = (rng.permutation(n)[: count * size].reshape(count, size) for _ in range(2))
        step = max(1, BLOCK // size)
        for start in range(0, count, step):
            ours, theirs = rows[start : start + step], partners[start : start + step]
            left, right = self.units[ours].astype(np.float64), self.beside[theirs].astype(np.float64)
            yield ours[:, :, None], theirs[:, None, :], left @ right.swapaxes(1, 2)
