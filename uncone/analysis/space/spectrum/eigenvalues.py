"""Functions of the eigenvalues of the covariance, their slopes, and how they vary with the vectors."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from uncone.analysis.intervals.intervals import FEW, Interval, Spread, around, mean_spread
from uncone.analysis.space.geometry import Geometry
from uncone.data.batch import IntVector, Matrix, Vector
from uncone.data.lazy_property import once
from uncone.stats.hashing import hash_keys
from uncone.stats.row_sample import SampledRows

__all__ = [
    "Sampling",
    "condition_number",
    "condition_number_99",
    "effective_rank",
    "participation_ratio",
    "rank_slope",
    "ratio_slope",
    "share_slope",
    "top_share",
]

_ROWS = 4096
"""Vectors of the sample that give the variance to one per cent."""
_ROWS_OF_GROUPS = 2048
"""The same for grouped vectors: there are many layers, and the bias of each has to be estimated."""


def effective_rank(eigenvalues: Vector) -> float:
    """The exponential of the entropy of the variance shares.

    >>> effective_rank(np.array([1.0, 1.0, 0.0]))
    2.0
    """
    shares = _shares(eigenvalues)
    shares = shares[shares > 0]
    return float(np.exp(-(shares * np.log(shares)).sum())) if shares.size else 0.0


def participation_ratio(eigenvalues: Vector) -> float:
    """How many directions really carry the variance: (sum l)^2 / sum l^2.

    >>> participation_ratio(np.array([1.0, 1.0, 0.0, 0.0]))
    2.0
    """
    squares = float((eigenvalues**2).sum())
    return float(eigenvalues.sum() ** 2 / squares) if squares else 0.0


def top_share(eigenvalues: Vector, k: int) -> float:
    """The share of the variance along the first k directions.

    >>> top_share(np.array([3.0, 1.0]), 1)
    0.75
    """
    return min(float(_shares(eigenvalues)[:k].sum()), 1.0)


def condition_number(eigenvalues: Vector, resolution: float = 0.0) -> float:
    """Largest over smallest eigenvalue; infinite when the smallest is rounding."""
    smallest = float(eigenvalues[-1])
    return float(eigenvalues[0]) / smallest if smallest > resolution * float(eigenvalues[0]) else math.inf


def condition_number_99(eigenvalues: Vector) -> float:
    """Largest eigenvalue over the one at which 99 % of the variance is reached."""
    reached = int(np.searchsorted(np.cumsum(_shares(eigenvalues)), 0.99))
    return float(eigenvalues[0] / eigenvalues[min(reached, len(eigenvalues) - 1)])


def _shares(eigenvalues: Vector) -> Vector:
    total = eigenvalues.sum()
    return eigenvalues / total if total > 0 else eigenvalues


def rank_slope(eigenvalues: Vector) -> Vector:
    """The slope of the effective rank."""
    total, shares = eigenvalues.sum(), _shares(eigenvalues)
    logs = np.log(np.where(shares > 0, shares, 1.0))
    entropy = -(shares * logs).sum()
    return np.asarray(np.exp(entropy) * -(logs + entropy) / total)


def ratio_slope(eigenvalues: Vector) -> Vector:
    """The slope of the participation ratio."""
    total, squares = eigenvalues.sum(), (eigenvalues**2).sum()
    return np.asarray(2 * total / squares - 2 * total**2 * eigenvalues / squares**2)


def share_slope(eigenvalues: Vector, k: int) -> Vector:
    """The slope of the share of the first k directions."""
    total = eigenvalues.sum()
    inside = (np.arange(len(eigenvalues)) < k).astype(np.float64)
    return np.asarray((inside - top_share(eigenvalues, k)) / total)


@dataclass
class Sampling:
    """How the eigenvalues vary with the vectors, from a part of the sample."""

    space: Geometry

    @once
    def _rows(self) -> SampledRows:
        sample = self.space.sample
        if self.space.copies:
            return sample.take(self._groups[0])
        return sample.first(_ROWS if sample.groups is None else _ROWS_OF_GROUPS)

    @once
    def _groups(self) -> tuple[IntVector, IntVector]:
        """The places of some distinct vectors of the sample, and how often each stands there."""
        sample = self.space.sample
        if sample.groups is None:
            return sample.order[:_ROWS], np.ones(min(_ROWS, sample.n), np.int64)
        # By the first vector of each, so that copies further down do not change which are taken.
        _, first, counts = np.unique(sample.groups, return_index=True, return_counts=True)
        order = np.lexsort((first, sample.hashes[first]))[:_ROWS]
        return first[order], counts[order]

    @once
    def contributions(self) -> Matrix:
        """(projection on direction k)^2 - eigenvalue k, for each vector of a small sample: (m, r)."""
        values, directions = self.space.directions
        rows = self._rows.vectors
        centered = rows - self.space.moments.mean.astype(rows.dtype)
        eigenvalues = values[: directions.shape[1]].astype(rows.dtype)
        return np.asarray((centered @ directions.astype(rows.dtype)) ** 2 - eigenvalues)

    def spread(self, slope: Vector) -> Spread:
        """The spread of a measure with this slope, from what each vector adds to it."""
        each = self.contributions @ slope[: self.contributions.shape[1]].astype(self.contributions.dtype)
        if not self.space.copies:
            rows = self._rows
            return mean_spread(each, self.space.effective - 1, rows.groups, weights=rows.weights)
        counts = self._groups[1]
        groups = np.repeat(np.arange(len(counts)), counts)
        return mean_spread(np.repeat(each, counts), self.space.n - 1, groups, self.space.sample.n)

    @once
    def halved(self) -> tuple[int, Vector]:
        """The eigenvalues of a sample of at most half of the units: they show how a measure drifts with n."""
        units = min(self.space.distinct // 2, _ROWS)
        places, counts = (column[:units] for column in self._groups)
        rows = self.space.sample.vectors_at(np.repeat(places, counts))
        return units, _eigenvalues(_Scatter.of(_centered(rows)))[0]

    def apart(self, first: int, second: int) -> bool:
        """Whether two neighboring eigenvalues differ by more than chance: else which is larger is chance itself.

        With few vectors it always is.
        """
        values, _ = self.space.directions
        if self.space.distinct < FEW:
            return False
        if len(values) < 2:
            return True
        return bool(values[first] - values[second] > 3 * math.sqrt(2 / self.space.distinct) * values[first])

    def interval(self, function: Callable[[Vector], float], slope: Callable[[Vector], Vector]) -> Interval:
        """The interval of a function of the eigenvalues, with this slope, on endless vectors, and of its value here.

        The standard error is the infinitesimal jackknife. The bias is taken out; the measured value stays inside. None
        with fewer than two vectors per dimension, where the bias follows no simple rule.
        """
        values, _ = self.space.directions
        value = function(values)
        if self.space.distinct < max(2 * self.space.dim, 8):
            return None, None
        bias, extra = self._bias(function, value)
        if not math.isfinite(bias):
            return None, None
        low, high = around(value - bias, *self.spread(slope(values)).times(extra))
        return (None, None) if low is None or high is None else (min(low, value), max(high, value))

    def _bias(self, measure: Callable[[Vector], float], value: float) -> tuple[float, float]:
        """The bias of a measure on n vectors, and by how much estimating it inflates the variance."""
        if self._rows.groups is not None and not self.space.copies:
            whole, by_row, by_group = (np.mean([measure(spectrum) for spectrum in part]) for part in self._halves)
            return float(by_row - whole) * self._rows.n / self.space.effective + float(by_group - by_row), 1.0
        # It falls with 1/n, so it can be read off fewer vectors; copies of a vector come and go together.
        n, (m, fewer) = self.space.distinct, self.halved
        return ((measure(fewer) - value) * m / (n - m), n / (n - m)) if m >= self.space.dim else (math.nan, 1.0)

    def group_bias(self, measure: Callable[[Vector], float]) -> float:
        """The bias of a measure from groups of similar vectors, which carry less information than n vectors would."""
        if self._rows.groups is None or self.space.copies:
            return 0.0
        _, by_row, by_group = (np.mean([measure(spectrum) for spectrum in part]) for part in self._halves)
        return float(by_group - by_row)

    @once
    def _halves(self) -> tuple[list[Vector], list[Vector], list[Vector]]:
        """Eigenvalues of the vectors of the small sample, of its two halves by vector, and of its two halves by group.

        The bias has a part that falls with the vectors and one that falls with the groups. Both halves together hold
        what the whole holds, so that in the differences only the bias is left, and no noise of first order.
        """
        rows, groups = self._rows.vectors, self._rows.groups
        assert groups is not None
        odd = (np.arange(len(rows)) % 2).astype(np.bool_)
        apart = (hash_keys(groups, 11) % np.uint64(2)).astype(np.bool_)
        rows = _centered(rows)
        whole = _Scatter.of(rows)
        first, second, third, fourth, fifth = _eigenvalues(whole, *whole.halves(rows, odd), *whole.halves(rows, apart))
        return [first], [second, third], [fourth, fifth]


@dataclass(frozen=True)
class _Scatter:
    """Sums of y and y y' over n vectors."""

    n: int
    first: Vector
    second: Matrix

    @classmethod
    def of(cls, rows: Matrix) -> _Scatter:
        return cls(len(rows), rows.sum(axis=0, dtype=np.float64), (rows.T @ rows).astype(np.float64))

    def halves(self, rows: Matrix, half: NDArray[np.bool_]) -> tuple[_Scatter, _Scatter]:
        """Half of the vectors, and the rest: its sums are what the half leaves of the whole."""
        part = _Scatter.of(rows[half])
        return part, _Scatter(self.n - part.n, self.first - part.first, self.second - part.second)

    @property
    def covariance(self) -> Matrix:
        scatter = self.second - np.outer(self.first, self.first) / max(self.n, 1)
        return np.asarray(scatter / max(self.n - 1, 1))


def _centered(rows: Matrix) -> Matrix:
    return np.asarray(rows - rows.mean(axis=0, dtype=np.float64).astype(rows.dtype))


def _eigenvalues(*parts: _Scatter) -> Matrix:
    """Variances along the principal directions of each part, largest first (parts, d).

    In one call, because numpy lets other threads run while it works on a stack, and not while on one matrix.
    """
    return np.asarray(np.linalg.eigvalsh(np.stack([part.covariance for part in parts]))[:, ::-1].clip(min=0.0))
