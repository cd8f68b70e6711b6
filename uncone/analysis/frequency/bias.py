"""The bias of word frequency as the flow paper tables it (Li et al. 2020), with intervals, and what a repair changes.

Table 1 of the paper: mean norm, and mean distance and inner product to the 3, 5 and 7 nearest vectors, by frequency
rank up to 10,000. Beside it stand three numbers that no scale moves: how log-frequency goes with the norm, with the
distance to the nearest vectors, and with norm and principal components together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from uncone.analysis.frequency.frequency import NEAREST, directions, picture_words
from uncone.analysis.frequency.word_counts import Frequencies
from uncone.analysis.intervals.correlation import adjusted_r2, pearson, pearson_change, pearson_interval
from uncone.analysis.intervals.intervals import around, jackknife_variance, mean_spread
from uncone.analysis.neighbors.search import nearest
from uncone.data.batch import IntVector, Matrix, Vector
from uncone.errors import ShapeError
from uncone.stats.hashing import copy_groups, hash_keys, hash_sample, row_prints

__all__ = [
    "RANKS",
    "Association",
    "BiasBin",
    "FrequencyBias",
    "Outcome",
    "changes_of",
    "frequency_bias",
    "is_small",
    "outcome_of",
]

RANKS = ("(0, 100]", "(100, 500]", "(500, 5K]", "(5K, 10K]")
"""The bins of frequency rank in the paper's table."""

Outcome = Literal["removed", "reduced", "unchanged", "reversed", "grown", "absent", "unknown"]

_EDGES = np.array([100, 500, 5_000, 10_000])
_IN_BIN, _UNIFORM = 1_000, 2_000
"""Words of each bin, and of all bins together, whose neighbors are searched."""
_BUCKETS = 50
"""Buckets of words for the jackknife of the explained share."""
_SMALL = {"norm": 0.1, "distance": 0.1, "explained": 0.05}
"""The largest correlation, and share, that counts as no bias."""


@dataclass(frozen=True)
class Association:
    """A number with its 95 % interval; None where it is not known."""

    value: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class BiasBin:
    """The words of a range of ranks: mean norm, and mean distance and inner product to the k nearest, by k.

    `words` are those with a vector, `queries` those whose neighbors were searched.
    """

    name: str
    words: int
    queries: int
    norm: Association
    distance: Mapping[int, Association]
    dot: Mapping[int, Association]


@dataclass(frozen=True)
class FrequencyBias:
    """How vectors of `n` words (ranks up to 10,000, among `base` vectors) depend on the frequency of the words.

    `ties` are the correlations of log-frequency with the norm ("norm") and with the mean distance to the three nearest
    vectors ("distance"), and the share of its variance that norm and ten principal components explain ("explained").
    `points` (m, 2) are the `point_words` on the first two singular directions, `logs` their log10 frequency.
    """

    n: int
    base: int
    bins: Sequence[BiasBin]
    ties: Mapping[str, Association]
    points: Matrix
    point_words: Sequence[str]
    logs: Vector
    columns: _Columns | None = field(default=None, repr=False, compare=False)
    """What `changes_of` compares."""


@dataclass(frozen=True, eq=False)
class _Columns:
    """One row for each word: its log-frequency, norm, components and bucket; of some, the distance to the nearest."""

    logs: Vector
    norms: Vector
    some: IntVector
    distances: Vector
    replicates: Vector
    groups: IntVector | None


def frequency_bias(
    vectors: Matrix, words: Sequence[str], frequencies: Frequencies, *, norms: Vector | None = None, seed: int = 0
) -> FrequencyBias:
    """The bias of one vector per word (t, d); with `norms` (t,) the vectors are means of occurrences with these norms.

    Neighbors are searched among all vectors, also those of words with another rank or none.

    Raises:
        ShapeError: not one word, vector and norm each, or vectors that are not finite.
    """
    if len(words) != len(vectors) or (norms is not None and len(norms) != len(words)):
        raise ShapeError(
            f"There are {len(vectors):,} vectors for {len(words):,} words: each needs a vector and a norm."
        )
    bad = len(vectors) - int(np.isfinite(vectors).all(axis=1).sum())
    if bad:
        raise ShapeError(f"{bad:,} of {len(vectors):,} vectors are not finite.")
    rows = vectors.astype(np.float32, copy=False)
    lengths = (np.linalg.norm(rows, axis=1) if norms is None else norms).astype(np.float64)
    ranks = frequencies.ranks(words)
    places = np.flatnonzero((ranks >= 0) & (ranks < _EDGES[-1]))
    bins = np.searchsorted(_EDGES, ranks[places], side="right")
    logs = frequencies.log_at(ranks[places])
    members = [np.flatnonzero(bins == number) for number in range(len(RANKS))]
    samples = [own[hash_sample(places[own], _IN_BIN, seed)] for own in members]
    uniform = hash_sample(places, _UNIFORM, seed)
    queries = np.unique(np.concatenate([*samples, uniform]))
    distances, dots = _neighbors(rows, places[queries])
    filled = [
        _bin(name, lengths[places[own]], *(part[np.searchsorted(queries, sample)] for part in (distances, dots)))
        for name, own, sample in zip(RANKS, members, samples, strict=True)
    ]
    near = distances[np.searchsorted(queries, uniform)][:, : NEAREST[0]]
    near = near.mean(axis=1, dtype=np.float64) if near.shape[1] else np.full(len(uniform), np.nan)
    picture = picture_words(ranks[places], seed)
    components, points = directions(rows[places], picture)
    groups = copy_groups(row_prints([rows[places]]))
    buckets = hash_keys(places, seed).astype(np.int64) % _BUCKETS if groups is None else groups % _BUCKETS
    explained, replicates = _explained(logs, [lengths[places], *components], buckets)
    columns = _Columns(logs, lengths[places], uniform, near, replicates, groups)
    ties = {
        "norm": _correlation(lengths[places], logs, groups),
        "distance": _correlation(near, logs[uniform], _some(groups, uniform)),
        "explained": explained,
    }
    names, frequency = [words[i] for i in places[picture].tolist()], logs[picture] / np.log(10)
    return FrequencyBias(len(places), len(rows), filled, ties, points, names, frequency, columns)


def changes_of(before: FrequencyBias, after: FrequencyBias) -> dict[str, Association]:
    """How much each tie grows, in absolute value, from one space to another of the same words, with its interval."""
    a, b = before.columns, after.columns
    if a is None or b is None:
        return {}
    explained = Association()
    values = [bias.ties["explained"].value for bias in (before, after)]
    if values[0] is not None and values[1] is not None:
        difference = values[1] - values[0]
        explained = Association(
            difference, *around(difference, jackknife_variance(b.replicates - a.replicates), _BUCKETS)
        )
    logs, groups = a.logs[a.some], _some(a.groups, a.some)
    return {
        "norm": Association(*pearson_change(a.norms, b.norms, a.logs, a.groups)),
        "distance": Association(*pearson_change(a.distances, b.distances, logs, groups)),
        "explained": explained,
    }


def outcome_of(name: str, before: Association, after: Association, change: Association) -> Outcome:
    """What a repair does to a tie: removed if its whole interval is small, reduced or grown if the change is proven.

    >>> small = Association(0.02, -0.03, 0.07)
    >>> outcome_of("norm", Association(-0.6, -0.7, -0.5), small, Association(-0.58, -0.6, -0.5))
    'removed'
    """
    if before.value is None or after.value is None or after.low is None or after.high is None:
        return "unknown"
    if is_small(name, before):
        return "absent" if is_small(name, after) else "grown" if (change.low or 0.0) > 0 else "unchanged"
    if is_small(name, after):
        return "removed"
    if name != "explained" and before.value * after.value < 0 and not after.low <= 0 <= after.high:
        return "reversed"
    if change.high is not None and change.high < 0:
        return "reduced"
    return "grown" if change.low is not None and change.low > 0 else "unchanged"


def is_small(name: str, tie: Association) -> bool:
    """Whether the whole interval of a tie counts as no bias."""
    if tie.low is None or tie.high is None:
        return False
    return tie.high <= _SMALL[name] and (name == "explained" or tie.low >= -_SMALL[name])


def _neighbors(rows: Matrix, queries: IntVector) -> tuple[Matrix, Matrix]:
    """Distances and inner products (m, k) of vectors to the nearest others, k as far as there are others."""
    most = min(max(NEAREST), len(rows) - 1)
    if most < 1 or not len(queries):
        return np.empty((len(queries), 0)), np.empty((len(queries), 0))
    near = nearest(rows, rows[queries], most, metrics=("euclidean", "dot"), own=queries)
    return near["euclidean"].distances, near["dot"].distances


def _bin(name: str, lengths: Vector, distances: Matrix, dots: Matrix) -> BiasBin:
    by_k = [
        {k: _mean(part[:, :k].mean(axis=1)) if part.shape[1] >= k else Association() for k in NEAREST}
        for part in (distances, dots)
    ]
    return BiasBin(name, len(lengths), len(distances), _mean(lengths), *by_k)


def _mean(values: Vector) -> Association:
    """A mean over words; without an interval for fewer than three."""
    n = len(values)
    if not n:
        return Association()
    spread = mean_spread(values, n) if n > 2 else None
    value = float(values.mean(dtype=np.float64))
    return Association(value, *(around(value, *spread) if spread is not None else (None, None)))


def _correlation(x: Vector, y: Vector, groups: IntVector | None) -> Association:
    finite = len(x) > 2 and bool(np.isfinite(x).all())
    return Association(pearson(x, y).value, *pearson_interval(x, y, groups)) if finite else Association()


def _explained(logs: Vector, columns: list[Vector], buckets: IntVector) -> tuple[Association, Vector]:
    """R², adjusted, with the values without each bucket of words in turn."""
    value = adjusted_r2(logs, columns)
    replicates = np.full(_BUCKETS, np.nan)
    if value is None:
        return Association(), replicates
    for bucket in range(_BUCKETS):
        rest = buckets != bucket
        left = adjusted_r2(logs[rest], [column[rest] for column in columns]) if rest.any() else None
        replicates[bucket] = np.nan if left is None else left
    return Association(value, *around(value, jackknife_variance(replicates), _BUCKETS)), replicates


def _some(groups: IntVector | None, places: IntVector) -> IntVector | None:
    return None if groups is None else np.unique(groups[places], return_inverse=True)[1].astype(np.int64)
