"""One layer of a model, measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from uncone.analysis.intervals.intervals import Spread
from uncone.analysis.space.geometry import Collected, Geometry
from uncone.data.batch import IntVector, Vector
from uncone.data.lazy_property import once
from uncone.data.source import Source
from uncone.data.vectors.memory import ArrayVectors
from uncone.stats.occurrences import Occurrences
from uncone.stats.row_sample import RowSample, SampledRows
from uncone.stats.sentence_similarity import SentenceSimilarity
from uncone.stats.unit_vectors import GroupedUnitSum
from uncone.stats.word_sums import WordSums

__all__ = ["LayerGeometry"]

_PARTITION_ROWS = 2_048


@dataclass
class LayerGeometry(Geometry):
    """The rows of one layer: the words of sentences, or one vector per text (then without words and sentences).

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
    """What does not depend on the vectors, for all layers: which rows are drawn for what."""
    plain: int | None = None
    """Rows of the sample that the findings are taken from, where more are kept to look behind the cone."""
    distinct_share: float = 1.0
    """The share of the texts that repeat no other."""

    @property
    def distinct(self) -> int:
        """Rows of texts that repeat no other."""
        return round(self.n * self.distinct_share)

    @property
    def effective(self) -> float:
        """How many rows of texts without copies would know a mean as well."""
        return self.n * self.distinct_share

    @property
    def grouped(self) -> GroupedUnitSum:
        """The sums of unit vectors by sentence."""
        return self.units

    @once
    def sample(self) -> SampledRows:
        """A uniform sample of the rows."""
        sampled = self.rows.sampled
        return sampled if self.plain is None else sampled.at_most(self.plain)

    def _sampled(self) -> Source:
        """The rows that partition functions are taken over."""
        return ArrayVectors(self.sample.first(_PARTITION_ROWS).vectors, "sample")

    @property
    def sample_groups(self) -> IntVector:
        """The sampling unit of every sampled row: its sentence, or what identical sentences share."""
        groups = self.sample.groups
        return self.sample.rows if groups is None else groups

    def mean_spread(self, each: Vector, n: int | None = None) -> Spread:
        """The spread of a mean over rows; at least that of as many independent rows as there are without copies."""
        variance, units = super().mean_spread(each, n)
        return Spread(max(variance, float(each.var()) / ((n or self.n) * self.distinct_share)), units)

    @once
    def towards_words(self) -> Vector:
        """The product of each sampled row's unit vector with the sum of those of its word; 0 where that is not kept."""
        words, sample = self.words, self.sample
        if sample.words is None or not words.words:
            return np.zeros(sample.n)
        vectors = sample.vectors
        totals = words.totals.astype(vectors.dtype)[np.maximum(sample.words, 0)]
        return np.where(sample.words >= 0, np.vecdot(vectors, totals) / sample.norms, 0.0)

    @once
    def texts(self) -> int:
        """Different sentences that the sampled rows stand in."""
        return len(np.unique(self.sample_groups))

    def shared_draw(self, purpose: int, draw: Callable[[np.random.Generator], Any]) -> Any:  # noqa: ANN401 - what it draws
        """What `draw` draws: the same for every layer whose sample holds the same rows."""
        key = purpose, self.sample.rows.tobytes()
        if key not in self.shared:
            self.shared[key] = draw(self.random(purpose))
        return self.shared[key]

    def random(self, purpose: int) -> np.random.Generator:
        """A generator that depends on the seed and the purpose alone, so that every layer draws the same rows."""
        return np.random.default_rng([self.seed, purpose])
