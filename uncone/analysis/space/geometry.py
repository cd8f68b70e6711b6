"""The geometry of a space or of a layer: what follows from its statistics by linear algebra."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, cast

import numpy as np

from uncone.analysis.intervals.intervals import Spread, mean_spread
from uncone.data.batch import Batch, IntVector, Keys, Matrix, Vector
from uncone.data.lazy_property import once
from uncone.data.source import Source
from uncone.data.vectors.memory import ArrayVectors
from uncone.data.vectors.shards import Shards
from uncone.run.measure import Plan, measure
from uncone.stats.moments import Moments
from uncone.stats.norms import Norms
from uncone.stats.occurrences import Occurrences
from uncone.stats.partition import PartitionSums
from uncone.stats.row_sample import RowSample, SampledRows
from uncone.stats.sentence_similarity import SentenceSimilarity
from uncone.stats.statistic import Statistic
from uncone.stats.unit_vectors import GroupedUnitSum, UnitSum
from uncone.stats.word_sums import WordSums

if TYPE_CHECKING:
    from uncone.analysis.advice.topic import DiverseBaseline

__all__ = ["Collected", "Geometry", "LayerGeometry"]

T = TypeVar("T")
S_co = TypeVar("S_co", covariant=True)
_PARTITION_ROWS = 2_048


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
        """A uniform sample of the usable vectors."""

    @property
    def n(self) -> int:
        """Usable vectors."""
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
        """The spread of a mean over all vectors, or n of them, from its values in the sample; groups vary together."""
        return mean_spread(each, n or self.n, self.sample.groups)

    @property
    def copies(self) -> bool:
        """Whether the groups of the sample are identical vectors."""
        return False

    @property
    def distinct(self) -> int:
        """Vectors that differ from each other."""
        return self.n

    @property
    def effective(self) -> float:
        """Effective sample size: n^2 over the sum of the squared numbers of copies."""
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

        With fewer vectors than dimensions only those that hold variance are given: (d, n) at most.
        """
        if self._few:
            return _from_rows(self._rows - self.moments.mean, self.dim, self.n - 1)
        values, vectors = np.linalg.eigh(self.covariance)
        return values[::-1].clip(min=0.0), vectors[:, ::-1]

    @property
    def _few(self) -> bool:
        """Whether the vectors are so few that all are in the sample and their n x n products are the smaller matrix."""
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
            # Along every direction that no vector has a part in, Z is the same: one of them stands for all.
            directions = np.column_stack([directions, np.zeros(self.dim)])
        else:
            _, directions = np.linalg.eigh(self.gram)
        return PartitionSums(directions.astype(self.moments.dtype), scales=(1.0, 1.0 / self.norms.mean))


def _from_rows(rows: Matrix, dim: int, divisor: int) -> tuple[Vector, Matrix]:
    """Eigenvalues (dim,) and eigenvectors (dim, r) of rows' rows / divisor, from the n x n matrix rows rows'."""
    values, turned = np.linalg.eigh(rows @ rows.T)
    positive = values > 1e-12 * values[-1]
    values, turned = values[positive][::-1], turned[:, positive][:, ::-1]
    padded = np.zeros(dim)
    padded[: len(values)] = values / divisor
    return padded, rows.T @ turned / np.sqrt(values)


@dataclass
class LayerGeometry(Geometry):
    """The vectors of one layer: the words of sentences, or one vector per text (then without words and sentences).

    `mev_words` are the numbers of the words that were drawn at random for MEV; `least` is the number of sentences in
    which a word has to stand to count for self-similarity.
    """

    number: int
    units = Collected[GroupedUnitSum]()
    rows = Collected[RowSample]()
    words = Collected[WordSums]()
    sentences = Collected[SentenceSimilarity]()
    occurrences = Collected[Occurrences]()
    mev_words: tuple[int, ...] = ()
    least: int = 5
    seed: int = 0
    left_out: int = 0
    shared: dict[Any, Any] = field(default_factory=dict)
    """What does not depend on the vectors, for all layers: which vectors are drawn for what."""
    plain: int | None = None
    """Vectors of the sample that the findings are taken from, where more are kept to look behind the cone."""
    distinct_share: float = 1.0
    """The share of the texts that repeat no other."""
    diverse: DiverseBaseline | None = None
    """The baseline of this layer on texts on many subjects."""

    @property
    def distinct(self) -> int:
        """Vectors of texts that repeat no other."""
        return round(self.n * self.distinct_share)

    @property
    def effective(self) -> float:
        """Effective sample size: vectors of texts that repeat no other."""
        return self.n * self.distinct_share

    @once
    def sample(self) -> SampledRows:
        """A uniform sample of the vectors."""
        sampled = self.rows.sampled
        return sampled if self.plain is None else sampled.at_most(self.plain)

    def _sampled(self) -> Source:
        """The vectors that partition functions are taken over."""
        return ArrayVectors(self.sample.first(_PARTITION_ROWS).vectors, "sample")

    @once
    def partition(self) -> PartitionSums:
        """As for any space, with the weights of the sample."""
        if self.sample.weights is None:
            return super().partition
        sums, sample = self._partition_sums(), self.sample.first(_PARTITION_ROWS)
        sums.update(Batch.of(sample.vectors, keys=Keys(copies=sample.copies)))
        return sums

    @property
    def sample_groups(self) -> IntVector:
        """The sampling unit of every sampled vector: its sentence, or what identical sentences share."""
        groups = self.sample.groups
        return self.sample.rows if groups is None else groups

    def mean_spread(self, each: Vector, n: int | None = None) -> Spread:
        """The spread of a mean over vectors; at least that of the distinct ones if they were independent."""
        distinct = n or self.effective
        variance, units = mean_spread(each, distinct, self.sample.groups, weights=self.sample.weights)
        return Spread(max(variance, float(each.var()) / distinct), units)

    @once
    def towards_words(self) -> Vector:
        """The product of each sampled unit vector with the sum of those of its word; 0 if that was not collected."""
        words, sample = self.words, self.sample
        if sample.words is None or not words.words:
            return np.zeros(sample.n)
        vectors = sample.vectors
        totals = words.totals.astype(vectors.dtype)[np.maximum(sample.words, 0)]
        return np.where(sample.words >= 0, np.vecdot(vectors, totals) / sample.norms, 0.0)

    @once
    def texts(self) -> int:
        """Different sentences that the sampled vectors stand in."""
        return len(np.unique(self.sample_groups))

    def shared_draw(self, purpose: int, draw: Callable[[np.random.Generator], Any]) -> Any:  # noqa: ANN401 - what it draws
        """What `draw` draws: the same for every layer whose sample holds the same vectors."""
        key = purpose, self.sample.rows.tobytes()
        if key not in self.shared:
            self.shared[key] = draw(self.random(purpose))
        return self.shared[key]

    def random(self, purpose: int) -> np.random.Generator:
        """A generator that depends on the seed and the purpose alone, so that every layer draws the same vectors."""
        return np.random.default_rng([self.seed, purpose])
