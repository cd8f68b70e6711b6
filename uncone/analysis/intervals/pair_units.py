"""Sampling units of pairs: pairs that share a text vary together, and copies of a pair are one.

The unit is the connected component: pairs linked through texts they share. If one component holds over a fifth of the
pairs, whether it is drawn would decide everything. Then texts are drawn instead (two-way): a pair's weight is the sum
of the weights of its two texts, so pairs that share a text vary together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, reverse_cuthill_mckee

from uncone.analysis.intervals.intervals import NORMAL, effective_number, student
from uncone.analysis.intervals.resampling import CELLS, Seed, Weights, drawn_counts
from uncone.data.batch import IntVector
from uncone.data.lazy_property import once
from uncone.errors import ShapeError

__all__ = ["PairUnits", "Statistic", "Texts", "item_units", "pair_units"]

Texts = tuple[Sequence[Hashable], Sequence[Hashable]]
"""The first and the second text of each pair, or what names them."""

Statistic = Callable[[Weights], NDArray[np.float64]]
"""Figures of weighted pairs, (r, n) -> (..., r). Weights need not be integers, and their sum varies."""

_LARGEST = 0.2  # of the pairs in one component
_HEAVY, _CHANCE = 2.5, 0.2  # a text's weight, mean 1/2 and variance 1: it is 2.5 with this chance, else 0
_OWN = 200  # draws for the part of the variance that is the pair's own
_PIECES = 4  # per fold, of a component that is too large for one


@dataclass(frozen=True, eq=False)
class PairUnits:
    """The sampling units of n pairs.

    Attributes:
        unit: the component of each pair (n,), numbered over all pairs of the run.
        texts: the numbers of the two texts of each pair (2, n).
        by_texts: whether texts are drawn instead of components.
        n_units: how many components, or texts, there are to draw from in the run.
    """

    unit: IntVector
    texts: IntVector
    by_texts: bool
    n_units: int

    def __len__(self) -> int:
        return len(np.unique(self.unit))

    @once
    def independent(self) -> int:
        """The number of independent pairs: one per component, or pairs that share no text if texts are drawn."""
        return self._most_disjoint() if self.by_texts else len(self)

    @once
    def pair(self) -> IntVector:
        """The number of each distinct pair of texts (n,), whichever stands first."""
        low, high = self.texts.min(axis=0), self.texts.max(axis=0)
        return np.unique(low * (int(high.max(initial=0)) + 1) + high, return_inverse=True)[1].astype(np.int64)

    @property
    def distinct(self) -> int:
        """The number of distinct pairs of texts."""
        return int(self.pair.max(initial=-1)) + 1

    @once
    def effective(self) -> float:
        """The number of equally large units that would be worth as much."""
        return effective_number(self.texts.ravel() if self.by_texts else self.unit)

    @once
    def effective_items(self) -> float:
        """The same for distinct items, whether or not they share texts: only copies are one item."""
        return effective_number(self.pair)

    @property
    def note(self) -> str:
        """A sentence on how pairs were drawn; empty in the ordinary case."""
        if not self.by_texts:
            return ""
        sizes = np.bincount(self.unit)
        return (
            f"{sizes.max():,} of {len(self.unit):,} pairs are linked through shared texts, so the intervals resample "
            f"texts instead of pairs; {self.independent:,} pairs share no text."
        )

    def select(self, rows: IntVector) -> PairUnits:
        """Some of the pairs. The same seed draws the same units, so figures of several selections are paired."""
        return PairUnits(self.unit[rows], self.texts[:, rows], self.by_texts, self.n_units)

    def clear_of(self, rows: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The pairs that share no text with those of `rows` (n,)."""
        touched = np.zeros(int(self.texts.max(initial=-1)) + 1, np.bool_)
        touched[self.texts[:, rows]] = True
        return np.asarray(~touched[self.texts].any(axis=0))

    def replicate(self, statistic: Statistic, replicates: int, seed: Seed, *, centers: int = 1) -> NDArray[np.float64]:
        """The figures over draws of units: (..., replicates).

        Deviations from the figures themselves are stretched by sqrt(u / (u - centers)) and by Student's t with u units
        (Hesterberg 2015), because a draw of few units varies too little; they stay in the range of the draws. `centers`
        is how many means, or groups of ranks, the figures are centered by.

        Where texts are drawn, a pair's own part counts twice, once for each of its texts. Let A be the variance over
        draws of texts and B that over draws of single pairs; the variance of sums over pairs that share texts is A - B
        (Fafchamps and Gubert 2007), and we take no less than B. All figures are brought to it by one factor, their
        mean, so that differences between them hold.
        """
        n = len(self.unit)
        point = statistic(np.ones((1, n), np.int64))
        values = self._over(statistic, self._weights(replicates, seed))
        freedom = max(self.effective - centers, 1.0)
        factor = math.sqrt((freedom + centers) / freedom) * student(freedom) / NORMAL
        if self.by_texts:
            alone = self._over(statistic, self._pair_counts(min(replicates, _OWN), seed))
            factor *= _without_own(values, alone)
        low, high = (np.expand_dims(end.reduce(values, axis=-1), -1) for end in (np.fmin, np.fmax))
        return np.clip(np.where(np.isfinite(point), point + factor * (values - point), values), low, high)

    def folds(self, truth: NDArray[np.float64], k: int, seed: int) -> IntVector:
        """The fold of each pair (n,): pieces whole, similar and dissimilar pairs in nearly equal shares.

        The pieces are sorted by their size and their similar pairs, at random among equals, and dealt in turn. Only
        where a component was cut do folds share texts: `clear_of` then shows which pairs a fit may use.
        """
        piece = self.pieces(k)
        sizes, similar = np.bincount(piece), np.bincount(piece, weights=truth)
        order = np.lexsort((np.random.default_rng(seed).permutation(len(sizes)), -similar, -sizes))
        fold = np.empty(len(sizes), np.int64)
        fold[order] = np.arange(len(sizes)) % k
        return fold[piece]

    def pieces(self, k: int) -> IntVector:
        """The piece of each pair (n,) to deal into k folds: its component, unless that fills over half a fold.

        Such a one is cut along an order of its texts in which neighbors stand together (Cuthill and McKee 1969), so
        that few pairs share texts with other pieces. Copies of a pair stay together.
        """
        unit = np.unique(self.unit, return_inverse=True)[1].astype(np.int64)
        sizes, n = np.bincount(unit), len(unit)
        large = np.flatnonzero(sizes > max(n / (2 * k), 1))
        if not len(large):
            return unit
        place = np.argsort(reverse_cuthill_mckee(_graph(self.texts), symmetric_mode=True), kind="stable")
        along = place[self.texts].sum(axis=0)
        for number in large:
            rows = np.flatnonzero(unit == number)
            rows = rows[np.lexsort((self.pair[rows], along[rows]))]
            starts = np.flatnonzero(np.diff(self.pair[rows], prepend=-1) != 0)
            chunk = np.zeros(len(rows), np.int64)
            chunk[starts] = 1
            first = starts[np.cumsum(chunk) - 1]  # of the copies that each row belongs to
            unit[rows] = unit.max() + 1 + first // max(n // (_PIECES * k), 1)
        return np.unique(unit, return_inverse=True)[1].astype(np.int64)

    def _weights(self, replicates: int, seed: Seed) -> Iterator[Weights]:
        """The weights of the pairs, in blocks (r, n)."""
        if not self.by_texts:
            whole = self.n_units == len(self.unit) and (np.diff(self.unit) == 1).all()
            for counts in drawn_counts(self.n_units, replicates, seed):
                yield counts if whole else counts[:, self.unit]
            return
        rng, most = np.random.default_rng(seed), max(1, CELLS // self.n_units)
        (left, right), half = self.texts, np.where(self.texts[0] == self.texts[1], 0.5, 0.0)
        for start in range(0, replicates, most):
            size = min(most, replicates - start)
            heavy = np.where(rng.random((size, self.n_units)) < _CHANCE, _HEAVY, 0.0)
            # A text paired with itself counts once.
            yield np.where(half > 0, heavy[:, left] + half, heavy[:, left] + heavy[:, right])

    def _pair_counts(self, replicates: int, seed: Seed) -> Iterator[Weights]:
        for counts in drawn_counts(self.distinct, replicates, [*np.atleast_1d(np.asarray(seed)).tolist(), 1]):
            yield counts[:, self.pair]

    def _over(self, statistic: Statistic, blocks: Iterator[Weights]) -> NDArray[np.float64]:
        """The statistic over all blocks, joined or cut to a size that the caches of a processor hold."""
        n = len(self.unit)
        most, some, figures = max(1, CELLS // n), [], []
        for block in blocks:
            for start in range(0, len(block), most):
                some.append(block[start : start + most])
                if sum(map(len, some)) * n > CELLS // 2:
                    figures.append(statistic(np.concatenate(some) if len(some) > 1 else some[0]))
                    some = []
        if some:
            figures.append(statistic(np.concatenate(some)))
        return np.concatenate(figures, axis=-1)

    def disjoint(self, seed: Seed) -> IntVector:
        """The rows of pairs that share no text: every pair in a random order whose texts no earlier one has."""
        first = np.unique(self.pair, return_index=True)[1]
        return np.sort(self._matching(first[np.random.default_rng(seed).permutation(len(first))]))

    def _most_disjoint(self) -> int:
        """How many pairs share no text, those with the fewest neighbors first."""
        first = np.unique(self.pair, return_index=True)[1]
        texts = self.texts[:, first]
        degree = np.bincount(texts.ravel())
        return len(self._matching(first[np.argsort(degree[texts].sum(axis=0), kind="stable")]))

    def _matching(self, rows: IntVector) -> IntVector:
        """The rows of a maximal matching: each in turn whose texts are not covered."""
        covered: set[int] = set()
        matching = []
        for row, (left, right) in zip(rows.tolist(), self.texts[:, rows].T.tolist(), strict=True):
            if left not in covered and right not in covered:
                covered |= {left, right}
                matching.append(row)
        return np.array(matching, np.int64)


def pair_units(n: int, texts: Texts | None = None, parts: Sequence[int] | None = None) -> PairUnits:
    """The units of n pairs; every pair is a unit if texts are not known. Texts are compared stripped.

    `parts` (n,) are the datasets of a run whose pairs are drawn together, because they may share texts.

    >>> pair_units(3, (["a", "b", "c"], ["d", "d ", "e"])).unit
    array([0, 0, 1])

    Raises:
        ShapeError: not two texts per pair.
    """
    if texts is None or not n:
        return PairUnits(np.arange(n), np.arange(2 * n).reshape(2, n), by_texts=False, n_units=n)
    left, right = texts
    if not len(left) == len(right) == n:
        raise ShapeError(f"We need two texts for each of {n:,} pairs, not {len(left):,} and {len(right):,}.")
    numbers: dict[Hashable, int] = {}
    names = ([name.strip() if isinstance(name, str) else name for name in side] for side in (left, right))
    both = np.array([[numbers.setdefault(name, len(numbers)) for name in side] for side in names], np.int64)
    of_text = connected_components(_graph(both), directed=False)[1]
    unit = np.unique(of_text[both[0]], return_inverse=True)[1].astype(np.int64)
    where = np.zeros(n, np.int64) if parts is None else np.asarray(parts, np.int64)
    largest = max(np.bincount(unit[where == part]).max() / (where == part).sum() for part in np.unique(where))
    by_texts = bool(largest > _LARGEST)
    return PairUnits(unit, both, by_texts, len(numbers) if by_texts else int(unit.max(initial=-1)) + 1)


def item_units(names: Sequence[Hashable]) -> PairUnits:
    """The units of items that stand alone, such as queries: items of one name are copies, and drawn together."""
    return pair_units(len(names), (names, names))


def _graph(texts: IntVector) -> csr_array:
    """Texts as nodes, pairs as edges, in both directions."""
    left, right = np.concatenate([texts, texts[::-1]], axis=1)
    size = int(texts.max(initial=-1)) + 1
    return csr_array((np.ones(len(left), np.int8), (left, right)), shape=(size, size))


def _without_own(by_texts: NDArray[np.float64], by_pairs: NDArray[np.float64]) -> float:
    """The factor of deviations that removes a pair's own part from draws of texts once: from sqrt(1/2) to 1."""
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.ravel(np.var(by_pairs, axis=-1) / np.var(by_texts, axis=-1))
    share = share[np.isfinite(share)].clip(0.0, 1.0)
    return math.sqrt(float(np.maximum(share, 1 - share).mean())) if len(share) else 1.0
