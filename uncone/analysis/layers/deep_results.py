"""What `layers --deep` finds behind the cone: neighborhoods, clusters, word frequency, manifolds.

docs/deep.md says what each field is. What could not be measured has the default value.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from uncone.data.batch import IntVector, Matrix, Vector

if TYPE_CHECKING:  # `check` has dimensions and hubs, and no words to find
    from uncone.analysis.frequency.word_counts import Frequencies
    from uncone.encoders.rows.row_facts import RowFacts

__all__ = [
    "Bin",
    "Cluster",
    "Clusters",
    "Deep",
    "DeepLayer",
    "Dimension",
    "Frequency",
    "HeadFrequency",
    "Hub",
    "Hubness",
    "Manifold",
    "TableDeep",
    "TypeCosines",
    "WordSpace",
]


def _no_rows() -> IntVector:
    return np.zeros(0, np.int64)


def _no_points() -> Matrix:
    return np.zeros((0, 3))


@dataclass(frozen=True)
class Dimension:
    """Local intrinsic dimension: the mean over `queries` vectors, from the `k` nearest of `base` distinct vectors.

    `two_nn` is the estimate from the two nearest alone (Facco et al. 2017), `duplicates` the share of vectors that
    repeat another and were left out, `recall` the share of true neighbors that an approximate search found.
    """

    metric: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    two_nn: float | None = None
    k: int = 0
    queries: int = 0
    base: int = 0
    duplicates: float = 0.0
    recall: float | None = None

    @property
    def paper(self) -> float | None:
        """On squared distances, as published."""
        return None if self.value is None else self.value / 2


@dataclass(frozen=True)
class Hub:
    """A vector that is among the nearest of `count` others."""

    row: int
    count: int
    text: str = ""


@dataclass(frozen=True)
class Hubness:
    """How unevenly vectors are neighbors of others: `skew` of the k-occurrence over `n` vectors, by cosine.

    `antihubs` is the share of vectors that are nobody's neighbor; `top_share` is the share of all places in neighbor
    lists that the worst hundredth of the vectors takes.
    """

    skew: float | None = None
    low: float | None = None
    high: float | None = None
    antihubs: float | None = None
    top_share: float | None = None
    hubs: Sequence[Hub] = ()
    k: int = 0
    n: int = 0


@dataclass(frozen=True)
class TypeCosines:
    """Mean cosine of different types (S_inter) and of one type's occurrences (S_intra); None where there is none."""

    inter: float | None = None
    intra: float | None = None


@dataclass(frozen=True)
class Cluster:
    """One cluster: its vectors, what it holds, and its shape.

    `words` are the most over-represented ones; `first` is the share of vectors with no vector before them in what the
    model saw at once; `silhouette` is the mean over its vectors that were judged.
    """

    size: int
    share: float
    words: Sequence[str] = ()
    kinds: Mapping[str, float] = field(default_factory=dict)
    first: float = math.nan
    position: float = math.nan
    """Median position of its vectors."""
    bins: Mapping[str, float] = field(default_factory=dict)
    silhouette: float | None = None
    isoscore: float | None = None
    examples: Sequence[str] = ()
    raw: TypeCosines = TypeCosines()
    centred: TypeCosines = TypeCosines()


@dataclass(frozen=True)
class Clusters:
    """The clusters of a layer: k by the Euclidean silhouette, and what subtracting their means does to cosines.

    `tried` maps each k to its silhouette; `labels` (n,) number the clusters, the largest first. Cosines of types: as
    they are, after subtracting the mean of all, and inside clusters without and with subtracting their means, both
    weighted by size and as plain means over clusters, as published. `isoscore` is that inside clusters.
    """

    k: int = 1
    silhouette: float | None = None
    silhouette_cosine: float | None = None
    tried: Mapping[int, float] = field(default_factory=dict)
    asked: bool = False
    n: int = 0
    clusters: Sequence[Cluster] = ()
    labels: IntVector = field(default_factory=_no_rows)
    raw: TypeCosines = TypeCosines()
    global_: TypeCosines = TypeCosines()
    within_raw: TypeCosines = TypeCosines()
    within: TypeCosines = TypeCosines()
    within_raw_plain: TypeCosines = TypeCosines()
    within_plain: TypeCosines = TypeCosines()
    isoscore: float | None = None
    isoscore_all: float | None = None
    sentence: str = "Clusters could not be measured."
    chance: float | None = None
    """Silhouette of as many clusters of Gaussian vectors with the same covariance: what slices of one cloud have."""
    judged: int = 0
    """Vectors that the silhouettes are taken over."""
    across: float | None = None
    """Mean cosine of two types in different clusters, as they are: what all clusters share."""


@dataclass(frozen=True)
class Bin:
    """The words of a range of frequency ranks: mean norm; mean distance and dot product to the k nearest, by k."""

    name: str
    words: int
    norm: float | None
    distance: Mapping[int, float | None]
    dot: Mapping[int, float | None]
    queries: int = 0


@dataclass(frozen=True)
class Frequency:
    """How the vectors of words depend on how often these occur, over `n` words with a known frequency.

    `norm_r` and `norm_rho` are correlations of log-frequency with the mean norm of a word's occurrences,
    `vector_norm_r` that with the norm of their mean, `components_r` those with the first principal components, turned
    so that none is negative. `points` (m, 2) are the `point_words` on the two first singular directions
    (uncentered), `logs` their log10 frequency.
    """

    source: str
    n: int
    bins: Sequence[Bin]
    norm_r: float | None
    norm_low: float | None
    norm_high: float | None
    norm_rho: float | None
    components_r: Sequence[float | None]
    explained: float | None
    """R^2 of log-frequency on the norm and the first ten principal components together."""
    point_words: Sequence[str]
    points: Matrix
    logs: Vector
    sentence: str
    unknown: int = 0
    """Words left out because their frequency is not known."""
    unit: str = "word"
    """What each is: a word, or a token."""
    vector_norm_r: float | None = None
    vector_norm_low: float | None = None
    vector_norm_high: float | None = None


@dataclass(frozen=True)
class HeadFrequency:
    """The logits of a language-model head: mean logit of a token on its log-frequency, and what is left on PMI.

    `pmi_r` and `pmi_rho` are over `pairs` pairs of token and context that stand together at least `least` times.
    """

    r2: float | None
    low: float | None
    high: float | None
    slope: float | None
    tokens: int
    pmi_r: float | None
    pmi_rho: float | None
    pairs: int
    least: int
    read: int
    """Tokens of the corpus that were read for it."""
    sentence: str


@dataclass(frozen=True)
class Manifold:
    """Whether the `n` vectors lie on a curved sheet of few dimensions.

    `lid` is the local dimension by the `k` nearest of `base` vectors, `flat` that of as many Gaussian vectors with the
    same mean and covariance; `spread` and `spread_flat` are the directions that these neighbors spread over, `pca`
    those that hold 95 % of the variance. `angle_r` is the rank correlation of position with the angle along the curve
    of the mean vectors by position, `angle_chance` the share of permuted positions that do as well, `turns` how far
    that curve goes round. `without_sinks` is the same without vectors over ten times the median norm, None when there
    are none. `points` (m, 3) are vectors on the principal components 1 to 3, `points_positions` and `points_rows` their
    positions (-1 unknown) and places in the sample, `path` (p, 3) the mean vectors by position.
    """

    visible: bool = False
    lid: float | None = None
    flat: float | None = None
    pca: int = 0
    ratio: float | None = None
    angle_r: float | None = None
    turns: float | None = None
    position_share: float | None = None
    points: Matrix = field(default_factory=_no_points)
    points_rows: IntVector = field(default_factory=_no_rows)
    points_positions: IntVector = field(default_factory=_no_rows)
    path: Matrix = field(default_factory=_no_points)
    sinks: int = 0
    sentence: str = "Whether the vectors lie on a curved sheet could not be measured."
    without_sinks: Manifold | None = None
    angle_chance: float | None = None
    spread: float | None = None
    spread_flat: float | None = None
    n: int = 0
    base: int = 0
    k: int = 0
    picture_share: float | None = None
    """Share of the variance on the principal components 1 to 3."""
    position_share_without: float | None = None
    spread_wide: float | None = None
    uneven: float | None = None
    jump: float | None = None


@dataclass(frozen=True)
class DeepLayer:
    """What was found behind one layer, on a sample of `n` vectors."""

    number: int
    n: int
    dimensions: Mapping[str, Dimension]
    hubness: Hubness
    clusters: Clusters
    frequency: Frequency | None
    manifold: Manifold


@dataclass(frozen=True)
class TableDeep:
    """The same for a table of static vectors: the input embeddings of a model, or a file of word vectors."""

    name: str
    n: int
    dim: int
    dimensions: Mapping[str, Dimension]
    hubness: Hubness
    frequency: Frequency | None
    note: str = ""
    """What was left out of the table, when that has to be known."""


@dataclass(frozen=True)
class WordSpace:
    """Vectors (n, d) with the word that each stands for, and the frequencies of these words."""

    name: str
    vectors: Matrix
    words: Sequence[str]
    frequencies: Frequencies
    unit: str = "word"
    """What each is: a word, or a token."""


@dataclass(frozen=True)
class Deep:
    """All that `--deep` adds to a study; `facts` describe the vectors that the samples of all layers are drawn from.

    `rows` (by layer) are the vector numbers of each layer's sample, in its order.
    """

    layers: Sequence[DeepLayer]
    rows: Sequence[IntVector]
    facts: RowFacts | None
    table: TableDeep | None
    head: HeadFrequency | None
    frequency_source: str
    story: Sequence[str]
    notes: Sequence[str]
    spaces: Sequence[WordSpace] = ()
    """With `keep_vectors`, the input embeddings and the words of the last layer, for repairs to be tried on."""
