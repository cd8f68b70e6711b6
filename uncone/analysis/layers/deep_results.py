"""What `layers --deep` finds behind the cone: neighborhoods, clusters, word frequency, manifolds.

Every field has a default: what could not be measured is unknown, and the rest of the report stands.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from uncone.data.batch import IntVector, Matrix, Vector

if TYPE_CHECKING:  # `check` has dimensions and hubs, and no words to find
    from uncone.encoders.rows.facts import RowFacts

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
]


def _no_rows() -> IntVector:
    return np.zeros(0, np.int64)


def _no_points() -> Matrix:
    return np.zeros((0, 3))


@dataclass(frozen=True)
class Dimension:
    """Local intrinsic dimension by maximum likelihood on the distances to the `k` nearest of `base` distinct rows.

    `value` is the mean over `queries` rows; `paper` is the published convention, on squared distances: half of it.
    None where it cannot be known. `duplicates` is the share of the rows that repeat another and were left out;
    `two_nn` is the estimate from the two nearest alone (Facco et al. 2017); `recall` says, for an approximate search,
    which share of the true neighbors it found.
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
    """A row that is among the nearest of `count` others."""

    row: int
    count: int
    text: str = ""


@dataclass(frozen=True)
class Hubness:
    """How unevenly rows are the neighbors of others: `skew` of the k-occurrence over `n` rows, by cosine.

    `antihubs` is the share of rows that are nobody's neighbor, `hubs` the worst, most first; `top_share` is the share
    of all neighbor lists' places that the worst hundredth of the rows takes.
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
    """One cluster: its rows, what it holds, and its shape.

    `words` are the words most over-represented against all rows, `kinds` the share of each kind, `first` the share of
    rows before which no row stands in what the model saw at once, `bins` the share of each bin of frequency rank,
    `silhouette` the mean over those of its rows that were judged.
    """

    size: int
    share: float
    words: Sequence[str] = ()
    kinds: Mapping[str, float] = field(default_factory=dict)
    first: float = math.nan
    position: float = math.nan
    """Median position of its rows."""
    bins: Mapping[str, float] = field(default_factory=dict)
    silhouette: float | None = None
    isoscore: float | None = None
    examples: Sequence[str] = ()
    raw: TypeCosines = TypeCosines()
    centred: TypeCosines = TypeCosines()


@dataclass(frozen=True)
class Clusters:
    """The clusters of a layer: k by the Euclidean silhouette, and what subtracting their means does to cosines.

    `tried` maps each k to its silhouette. `labels` (n,) are the cluster of every row of the sample, largest cluster
    first. `raw` are S_inter and S_intra as they are; `global_` after subtracting the mean of all (k = 1); `within_raw`
    inside clusters without centering, `within` inside clusters after subtracting their means, both weighted by size;
    `within_raw_plain` and `within_plain` the same as plain means over clusters, as published. `sentence` says what
    clusters explain, from these differences. `isoscore` is that inside clusters, weighted by size, and
    `isoscore_all` that of all rows together.
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
    """Silhouette of as many clusters of Gaussian rows with the same covariance: what slices of one cloud have."""
    judged: int = 0
    """Rows that the silhouettes are taken over."""
    across: float | None = None
    """Mean cosine of two types in different clusters, as they are: what all clusters share."""


@dataclass(frozen=True)
class Bin:
    """The words of a range of frequency ranks: mean norm; mean distance and dot product to the k nearest, by k.

    The neighbors are looked for among all words, those of `queries` words of the range.
    """

    name: str
    words: int
    norm: float | None
    distance: Mapping[int, float | None]
    dot: Mapping[int, float | None]
    queries: int = 0


@dataclass(frozen=True)
class Frequency:
    """How the vectors of words depend on how often these occur, over `n` words with a known frequency.

    `norm_r` is the correlation (Pearson) of log-frequency with the mean norm of a word's occurrences, `norm_rho` the
    rank correlation; `vector_norm_r` that with the norm of the word's vector, which is the mean of its occurrences.
    `components_r` are those with each of the first principal components, turned so that none is negative. `points`
    (m, 2) are the words of `shown` on the two first singular directions (uncentered), `logs` their log10 frequency.
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
    shown: Sequence[str]
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

    `r2` is the share of the variance of the mean logit that log-frequency explains over `tokens` tokens; `slope` its
    slope; `pmi_r` the correlation of the rest of the logit with the PMI of token and context, over `pairs` pairs that
    stand together at least `least` times; `pmi_rho` by rank.
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
    """Whether the `n` rows lie on a curved sheet of few dimensions.

    `lid` is the local dimension by the `k` nearest of `base` rows (distinct, and one of each word where words are
    known), `flat` that of as many Gaussian rows with the same mean and covariance (of each cluster that stands apart):
    rows that are curved lie well below, and so do rows in small clusters. `spread` and `spread_flat` are the directions
    that these neighbors spread over, which tells the two apart. `pca` is the number of directions that hold 95 % of
    the variance. Where rows have a position, `angle_r` is the rank correlation of position with the angle along the
    curve of the mean rows by position, `angle_chance` the share of permuted positions that do as well, `turns` how far
    that curve goes round, `position_share` the share of the variance on the three first components that position
    explains, and `position_share_without` that share without the mean that has most of it; `spread_wide` are the
    directions that twice as many neighbors spread over, `uneven` and `jump` how far the rows are from an even sheet
    (see `manifold_local.Local`); `without_sinks` is the same without rows over ten times the median norm, None when
    there are none.
    `points` (m, 3) are rows on the principal components 1 to 3, `points_positions` and `points_rows` their positions
    (-1 unknown) and places in the sample, `path` (p, 3) the mean rows by position.
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
    """What was found behind one layer, on a sample of `n` rows."""

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
class Deep:
    """All that `--deep` adds to a study; `facts` are what is known of the rows that every layer's sample is drawn from.

    `rows` (by layer) are the row numbers of each layer's sample, in its order.
    """

    layers: Sequence[DeepLayer]
    rows: Sequence[IntVector]
    facts: RowFacts | None
    table: TableDeep | None
    head: HeadFrequency | None
    frequency_source: str
    story: Sequence[str]
    notes: Sequence[str]
