"""The linear algebra of a space: what follows from its moments, its unit vectors and a sample of its rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, Self, TypeVar, cast

import numpy as np

from uncone.analysis.intervals.intervals import Spread, mean_spread
from uncone.data.batch import Matrix, Vector
from uncone.data.lazy_property import once
from uncone.data.source import Source
from uncone.data.vectors.memory import ArrayVectors
from uncone.data.vectors.shards import Shards
from uncone.run.measure import Plan, measure
from uncone.stats.moments import Moments
from uncone.stats.norms import Norms
from uncone.stats.partition import PartitionSums
from uncone.stats.row_sample import SampledRows
from uncone.stats.statistic import Statistic
from uncone.stats.unit_vectors import GroupedUnitSum, UnitSum

__all__ = ["Collected", "Geometry"]

T = TypeVar("T")
S_co = TypeVar("S_co", covariant=True)


class Collected(Generic[S_co]):
    """An attribute of a space that is one of its statistics, of the same name."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, space: Geometry, owner: type) -> S_co:
        if self._name not in space.statistics:
            raise LookupError(f"{self._name} was not collected: a family names the statistics it uses in `needs`")
        return cast(S_co, space.statistics[self._name])


@dataclass
class Geometry(ABC):
    """The vectors of a source, or one layer of a model: everything that findings on its shape are computed from.

    `statistics` has what was collected, by name: what the families of measures need.
    """

    statistics: dict[str, Statistic]
    moments = Collected[Moments]()
    units = Collected[UnitSum | GroupedUnitSum]()
    norms = Collected[Norms]()
    _derived: dict[Callable[[Any], Any], Any] = field(default_factory=dict, init=False, repr=False)

    def derived(self, make: Callable[[Self], T]) -> T:
        """What `make` derives from the space: computed once, for all families that stand on it."""
        if make not in self._derived:
            self._derived[make] = make(self)
        return cast(T, self._derived[make])

    @property
    @abstractmethod
    def sample(self) -> SampledRows:
        """A uniform sample of the usable rows."""

    @property
    def n(self) -> int:
        """Usable rows."""
        return self.units.n

    @property
    def dim(self) -> int:
        """Dimensions."""
        return self.units.dim

    @property
    def resolution(self) -> float:
        """Eigenvalues below this share of the largest are rounding."""
        eps = 1e-7 if self.moments.dtype == np.float32 else 1e-15
        return eps * max(self.dim, 10)

    def mean_spread(self, each: Vector, n: int | None = None) -> Spread:
        """The spread of the mean over all rows, or n of them, of what each sampled row has; groups vary together."""
        return mean_spread(each, n or self.n, self.sample.groups)

    @property
    def copies(self) -> bool:
        """Whether the groups of the sample are identical rows."""
        return False

    @property
    def distinct(self) -> int:
        """Rows that differ from each other."""
        return self.n

    @property
    def effective(self) -> float:
        """How many rows without copies would know a mean as well: n^2 over the sum of the squared numbers of copies."""
        return float(self.n)

    @once
    def covariance(self) -> Matrix:
        """The sample covariance (d, d)."""
        return self.moments.covariance

    @once
    def gram(self) -> Matrix:
        """X'X / n (d, d)."""
        mean = self.moments.mean
        return self.covariance * ((self.n - 1) / self.n) + np.outer(mean, mean)

    @once
    def directions(self) -> tuple[Vector, Matrix]:
        """Variance along the principal directions, largest first (d,), and the directions as columns.

        With fewer rows than dimensions only those that hold variance are given: (d, n) at most.
        """
        if self._few:
            return _from_rows(self._rows - self.moments.mean, self.dim, self.n - 1)
        values, vectors = np.linalg.eigh(self.covariance)
        return values[::-1].clip(min=0.0), vectors[:, ::-1]

    @property
    def _few(self) -> bool:
        """Whether the rows are so few that all are in the sample and their n x n products are the smaller matrix."""
        return 2 * self.n < self.dim and self.n == self.sample.n

    @property
    def _rows(self) -> Matrix:
        return self.sample.vectors.astype(np.float64)

    @once
    def partition(self) -> PartitionSums:
        """Partition sums along the eigenvectors of X'X, at the scale of the data and at mean norm 1."""
        return measure(self._sampled(), self._partition_sums(), self._plan)

    @property
    def _plan(self) -> Plan:
        return Plan(dtype=self.moments.dtype)

    def _sampled(self) -> Source:
        return Shards([ArrayVectors(part) for part in self.sample.parts], "sample")

    def _partition_sums(self) -> PartitionSums:
        if self._few:
            _, directions = _from_rows(self._rows, self.dim, self.n)
            # Along every direction that no row has a part in, Z is the same: one of them stands for all.
            directions = np.column_stack([directions, np.zeros(self.dim)])
        else:
            _, directions = np.linalg.eigh(self.gram)
        return PartitionSums(directions.astype(self.moments.dtype), scales=(1.0, 1.0 / self.norms.mean))


def _from_rows(rows: Matrix, dim: int, divisor: int) -> tuple[Vector, Matrix]:
    """Eigenvalues (dim,) and eigenvectors (dim, r) of rows' rows / divisor, by way of the n x n matrix rows rows'."""
    values, turned = np.linalg.eigh(rows @ rows.T)
    kept = values > 1e-12 * values[-1]
    values, turned = values[kept][::-1], turned[:, kept][:, ::-1]
    padded = np.zeros(dim)
    padded[: len(values)] = values / divisor
    return padded, rows.T @ turned / np.sqrt(values)
