"""Sums and scatter of the unit vectors: mean and variance of all pairwise cosines without a loop over pairs."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike, NDArray

from uncone.data.bags import Bags, OpenGroups, run_starts
from uncone.data.batch import Batch, IntVector, Matrix, Vector
from uncone.stats.hashing import hash_keys
from uncone.stats.moments import Moments
from uncone.stats.statistic import State, Statistic

__all__ = ["CosineSums", "GroupedUnitSum", "PairMoments", "UnitScatter", "UnitSum"]


class UnitSum(Statistic):
    """Sum of u = x/|x|, and of u^2 per dimension.

    The baseline is (|S|^2 - n)/(n^2 - n); dimension j contributes (s_j^2 - sum_i u_ij^2)/(n^2 - n) to it.

    >>> units = UnitSum(2)
    >>> units.update(Batch.of(np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]])))
    >>> round(units.baseline, 4)
    0.3333
    """

    additive = ("n", "total", "squares")

    def __init__(self, dim: int) -> None:
        self.dim = dim
        self.n = 0
        self.total: Vector = np.zeros(dim)
        self.squares: Vector = np.zeros(dim)

    def update(self, batch: Batch) -> None:
        weights = (1.0 / batch.norms).astype(batch.vectors.dtype)
        self.total += weights @ batch.vectors
        self.squares += weights**2 @ (batch.vectors * batch.vectors)
        self.n += batch.n

    @property
    def contributions(self) -> Vector:
        """What each dimension adds to the baseline (d,); they sum to it."""
        pairs = self.n * (self.n - 1)
        return (self.total**2 - self.squares) / pairs if pairs else np.full(self.dim, np.nan)

    @property
    def baseline(self) -> float:
        """Mean cosine of two different rows, over all pairs."""
        return float(self.contributions.sum())


class GroupedUnitSum(Statistic):
    """Sums of unit vectors U_s of each group s, kept in `buckets` for a delete-a-group jackknife.

    The baseline over pairs from different groups is (|sum U_s|^2 - sum |U_s|^2)/(n^2 - sum n_s^2).
    A group (the words of a sentence, the chunks of a document) must not straddle batches, unless they are open; rows
    without groups are groups of one. Identical groups share a bucket: they are one sampling unit.

    >>> units = GroupedUnitSum(2)
    >>> units.update(Batch.of(np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]]), groups=np.array([0, 0, 1])))
    >>> units.baseline
    0.5
    """

    additive = ("counts", "group_pairs", "totals", "squares")

    def __init__(self, dim: int, *, buckets: int = 100, seed: int = 0) -> None:
        self.dim = dim
        self.buckets = buckets
        self.seed = seed
        self.counts: IntVector = np.zeros(buckets, np.int64)
        self.group_pairs: IntVector = np.zeros(buckets, np.int64)
        self.totals: Matrix = np.zeros((buckets, dim))
        self.squares: Matrix = np.zeros((buckets, dim))
        self._open = OpenGroups()

    def update(self, batch: Batch) -> None:
        if batch.n == 0:
            return
        names, units, sizes, _, sums = batch.grouped
        if batch.keys.open:
            self._open.put((names, units), sizes, sums)
        else:
            self._add(units, sizes, sums)

    def close(self) -> None:
        if (groups := self._open.close()) is not None:
            (_, units), (sizes, sums) = groups
            self._add(units, sizes, sums)

    def _add(self, units: IntVector, sizes: IntVector, sums: Matrix) -> None:
        bucket = (hash_keys(units, self.seed) % np.uint64(self.buckets)).astype(np.int64)
        order = np.argsort(bucket, kind="stable")
        starts = run_starts(bucket[order])
        bags, occupied = Bags(order, starts), bucket[order[starts]]
        self.counts += np.bincount(bucket, weights=sizes, minlength=self.buckets).astype(np.int64)
        self.group_pairs += np.bincount(bucket, weights=sizes**2, minlength=self.buckets).astype(np.int64)
        self.totals[occupied] += bags.sums(sums)
        self.squares[occupied] += bags.sums(sums**2)

    @property
    def n(self) -> int:
        """Rows measured."""
        return int(self.counts.sum())

    @property
    def total(self) -> Vector:
        """The sum of all unit vectors (d,)."""
        return np.asarray(self.totals.sum(axis=0))

    @property
    def contributions(self) -> Vector:
        """What each dimension adds to the baseline (d,)."""
        pairs = self.n**2 - int(self.group_pairs.sum())
        total = self.total
        return (total**2 - self.squares.sum(axis=0)) / pairs if pairs else np.full(self.dim, np.nan)

    @property
    def baseline(self) -> float:
        """Mean cosine of two rows of different groups, over all such pairs."""
        return float(self.contributions.sum())

    def jackknife(self) -> NDArray[np.float64]:
        """The baseline without each bucket in turn (buckets,); NaN where a bucket is empty."""
        return np.asarray(self.contributions_without().sum(axis=1), np.float64)

    def contributions_without(self) -> Matrix:
        """What each dimension adds to the baseline without each bucket in turn (buckets, d); NaN where it is empty."""
        rest = self.total - self.totals
        pairs = (self.n - self.counts) ** 2 - (self.group_pairs.sum() - self.group_pairs)
        values = rest**2 - (self.squares.sum(axis=0) - self.squares)
        usable = (self.counts > 0) & (pairs > 0)
        return np.asarray(np.where(usable[:, None], values / np.where(usable, pairs, 1)[:, None], np.nan))


@dataclass(frozen=True)
class CosineSums:
    """How many pairs, and the sums of their cosines and of the squares of these: pairs that are to be left out."""

    pairs: int = 0
    first: float = 0.0
    second: float = 0.0

    def __add__(self, other: CosineSums) -> CosineSums:
        return CosineSums(self.pairs + other.pairs, self.first + other.first, self.second + other.second)

    def about(self, point: float) -> tuple[float, float]:
        """The sums of c - point and of its square."""
        return self.first - point * self.pairs, self.second - 2 * point * self.first + point**2 * self.pairs


@dataclass(frozen=True)
class PairMoments:
    """Mean and standard deviation over all pairs; `variance` of the mean when the rows are the sampling units."""

    pairs: int
    mean: float
    sd: float
    variance: float


class UnitScatter(Moments):
    """Mean m and scatter C of u = x/|x| about it.

    The cosine of rows i and j is |m|^2 + m.z_i + m.z_j + z_i.z_j with z = u - m, so over all n^2 ordered pairs the
    squared deviations from |m|^2 sum to 2n m'Cm + |C|^2 (Frobenius): positive terms, in which a tight cone loses no
    digits, unlike |U'U|^2/n^2 minus the square of the mean. With float32 products the deviation is right to 1e-7. A
    `reference` near the mean spares the merging of parts that each chose their own.

    >>> units = UnitScatter(2)
    >>> units.update(Batch.of(np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]])))
    >>> found = units.among()
    >>> found.pairs, round(found.mean, 4), round(found.sd, 4)
    (3, 0.3333, 0.4714)
    """

    def __init__(self, dim: int, *, dtype: DTypeLike = np.float32, reference: Vector | None = None) -> None:
        super().__init__(dim, dtype=dtype, reference=reference, higher=False)

    @property
    def scatter(self) -> Matrix:
        """The sum of (u - m)(u - m)' (d, d)."""
        return self.centered.second

    def empty(self) -> UnitScatter:
        return UnitScatter(self.dim, dtype=self.dtype, reference=self.reference)

    def update(self, batch: Batch) -> None:
        self.add(batch.vectors, batch.inverse_norms)

    def place(self, rows: int) -> Matrix | None:
        """None: rows are scaled on their way into the block."""

    def state(self) -> State:
        return _without_higher(super().state())

    def _restore(self, state: State) -> None:
        super()._restore(self._with_higher(state))

    def snapshot(self) -> State:
        return _without_higher(super().snapshot())

    def resume(self, snapshot: State) -> None:
        super().resume(self._with_higher(snapshot))

    def _with_higher(self, state: State) -> State:
        nothing = np.nan if int(state["n"]) else 0.0
        return {**state, "third": np.full(self.dim, nothing), "fourth": np.array(nothing)}

    def among(self, left_out: CosineSums | None = None) -> PairMoments:
        """Over all pairs of two rows, but for those that are left out; NaN where no pair is left."""
        left_out = left_out or CosineSums()
        n, mean, scatter = self.n, self.mean, self.scatter
        pairs = n * (n - 1) // 2 - left_out.pairs
        if pairs <= 0:
            return PairMoments(0, math.nan, math.nan, math.nan)
        # |m|^2 and 1 - |m|^2, the deviation of a row with itself: of both together, so that each keeps its digits.
        length, spread = float(mean @ mean), float(np.trace(scatter)) / n
        base, spread = length / (length + spread), spread / (length + spread)
        along = float(mean @ scatter @ mean)
        first, second = left_out.about(base)
        excluded, excluded_squares = n * spread + 2 * first, n * spread**2 + 2 * second
        deviation = -excluded / (2 * pairs)
        variance = (2 * n * along + float((scatter**2).sum()) - excluded_squares) / (2 * pairs) - deviation**2
        # The delete-one jackknife: without row i the mean changes by its cosine with the sum of all.
        jackknife = 4 * n * along / ((n - 1) * (n - 2) ** 2) if n > 2 else math.nan
        return PairMoments(pairs, base + deviation, math.sqrt(max(variance, 0.0)), jackknife)

    def between(self, other: UnitScatter, left_out: CosineSums | None = None) -> PairMoments:
        """Over all pairs of a row of this side and one of the other, but for those that are left out."""
        left_out = left_out or CosineSums()
        pairs = self.n * other.n - left_out.pairs
        if pairs <= 0:
            return PairMoments(0, math.nan, math.nan, math.nan)
        base = float(self.mean @ other.mean)
        ours, theirs = self.scatter / self.n, other.scatter / other.n
        along = [float(other.mean @ ours @ other.mean), float(self.mean @ theirs @ self.mean)]
        first, second = left_out.about(base)
        squares = self.n * other.n * (sum(along) + float((ours * theirs).sum()))
        variance = (squares - second) / pairs - (first / pairs) ** 2
        of_mean = along[0] / max(self.n - 1, 1) + along[1] / max(other.n - 1, 1)
        return PairMoments(pairs, base - first / pairs, math.sqrt(max(variance, 0.0)), of_mean)


def _without_higher(state: State) -> State:
    return {key: value for key, value in state.items() if key not in ("third", "fourth")}
