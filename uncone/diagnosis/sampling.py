"""How a function of the eigenvalues varies with the rows: intervals for everything that is read off a spectrum."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from uncone.data.batch import Matrix, Vector
from uncone.diagnosis.geometry import Geometry
from uncone.diagnosis.intervals import Interval, around, mean_variance
from uncone.stats.row_sample import SampledRows

__all__ = ["Measure", "Sampling"]

_ROWS = 4096
"""Rows of the sample that tell the variance to one per cent."""


@dataclass(frozen=True)
class Measure:
    """A function of the eigenvalues, with its slope: what a row contributes follows from it."""

    value: Callable[[Vector], float]
    slope: Callable[[Vector], Vector]


@dataclass
class Sampling:
    """How the eigenvalues vary with the rows, from a part of the row sample."""

    space: Geometry

    @cached_property
    def _rows(self) -> SampledRows:
        return self.space.sample.first(_ROWS)

    @cached_property
    def contributions(self) -> Matrix:
        """(projection on direction k)^2 - eigenvalue k, for each row of a small sample: (m, r)."""
        values, directions = self.space.directions
        rows = self._rows.vectors
        centred = rows - self.space.moments.mean.astype(rows.dtype)
        held = values[: directions.shape[1]].astype(rows.dtype)
        return np.asarray((centred @ directions.astype(rows.dtype)) ** 2 - held)

    def variance(self, slope: Vector) -> float:
        """The variance of a measure with this slope, from what each row adds to it."""
        each = self.contributions @ slope[: self.contributions.shape[1]].astype(self.contributions.dtype)
        return mean_variance(each, self.space.n - 1, self._rows.groups)

    @cached_property
    def halved(self) -> tuple[int, Vector]:
        """The eigenvalues of a sample of at most half of the rows: they show how a measure drifts with n."""
        rows = self.space.sample.first(min(self.space.n // 2, _ROWS)).vectors
        m = len(rows)
        rows = rows - rows.mean(axis=0, dtype=np.float64).astype(rows.dtype)
        values = np.linalg.eigvalsh((rows.T @ rows).astype(np.float64) / (m - 1))
        return m, values[::-1].clip(min=0.0)

    def apart(self, first: int, second: int) -> bool:
        """Whether two neighbouring eigenvalues differ by more than chance: else which is larger is chance itself."""
        values, _ = self.space.directions
        if len(values) < 2:
            return True
        return bool(values[first] - values[second] > 3 * math.sqrt(2 / self.space.n) * values[first])

    def interval(self, measure: Measure) -> Interval:
        """The interval of what the measure would be on endless rows, and of what it is.

        The standard error is the infinitesimal jackknife. A bias that falls with 1/n is read off fewer rows m and taken
        out, which multiplies the variance by n/(n - m); the measured value stays inside. None with fewer than two
        rows per dimension, where the bias follows no such rule.
        """
        values, _ = self.space.directions
        n, value = self.space.n, measure.value(values)
        if n < max(2 * self.space.dim, 8):
            return None, None
        m, fewer = self.halved
        if m < self.space.dim:
            return None, None
        unbiased = value - (measure.value(fewer) - value) * m / (n - m)
        variance = self.variance(measure.slope(values)) * n / (n - m)
        low, high = around(unbiased, variance, n)
        return (None, None) if low is None or high is None else (min(low, value), max(high, value))
