"""Word frequency in a space: norms, neighbourhoods and principal directions of rare and of frequent words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from uncone.analysis.frequency.word_counts import BINS, Frequencies, bin_places
from uncone.analysis.intervals.correlation import adjusted_r2, pearson, pearson_interval, spearman
from uncone.analysis.layers.deep_results import Bin, Frequency
from uncone.analysis.measures.finding import Finding
from uncone.analysis.neighbors.search import nearest
from uncone.analysis.number_format import cosine, count, percent, plain
from uncone.data.bags import Bags
from uncone.data.batch import IntVector, Matrix, Vector
from uncone.errors import ShapeError
from uncone.stats.hashing import copy_groups, hash_sample, row_prints

__all__ = ["NEAREST", "frequency_findings", "frequency_of", "word_means"]

NEAREST = (3, 5, 7)
"""Neighbours over which distance and dot product are averaged, as published."""

_COMPONENTS = 10
_QUERIES = 150
"""Words of each bin whose neighbours are looked for."""
_SHOWN, _ALWAYS = 3_000, 500
"""Words of the picture, and how many of them are the most frequent."""
_ROUNDING = 1e-6
"""A component that spreads less, beside the largest number, holds rounding."""
_TRACE, _APART = 0.1, 0.05
"""From which correlation, and which share of a distance, a sentence speaks of a difference."""


def word_means(vectors: Matrix, norms: Vector, words: Sequence[str]) -> tuple[list[str], Matrix, Vector]:
    """The different words of some rows (n, d), each with the mean of its rows (t, d) and of their norms (t,).

    The mean of few rows keeps more of their own differences than that of many, so that rare words lie further apart
    for this reason alone; norms, taken row by row, do not depend on it.

    >>> rows = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]])
    >>> names, means, lengths = word_means(rows, np.array([1.0, 2.0, 3.0]), ["a", "b", "a"])
    >>> names, means.tolist(), lengths.tolist()
    (['a', 'b'], [[2.0, 0.0], [0.0, 2.0]], [2.0, 2.0])
    """
    numbers: dict[str, int] = {}
    of = np.array([numbers.setdefault(word, len(numbers)) for word in words], np.int64)
    sizes = np.bincount(of, minlength=len(numbers))
    if not numbers:
        return [], vectors[:0], norms[:0]
    bags = Bags(np.argsort(of, kind="stable"), np.cumsum(sizes) - sizes)
    means = bags.sums(vectors) / sizes[:, None].astype(vectors.dtype)
    return list(numbers), np.asarray(means), np.bincount(of, weights=norms) / sizes


def frequency_of(
    vectors: Matrix,
    words: Sequence[str],
    frequencies: Frequencies,
    *,
    norms: Vector | None = None,
    unit: str = "word",
    seed: int = 0,
) -> Frequency:
    """How one vector per word (t, d) depends on frequency; with `norms` (t,) the vectors are means of occurrences.

    Words of unknown frequency are left out and counted. What cannot be known is None, and the sentence says why, where
    words are called `unit`.

    Raises:
        ShapeError: not one word, vector and norm each.
    """
    if len(words) != len(vectors) or (norms is not None and len(norms) != len(words)):
        raise ShapeError(f"There are {len(vectors):,} vectors for {len(words):,} words: give a vector and a norm each.")
    lengths = (np.linalg.norm(vectors, axis=1) if norms is None else norms).astype(np.float64)
    ranks = frequencies.ranks(words)
    unknown = int((ranks < 0).sum())
    places = np.flatnonzero((ranks >= 0) & np.isfinite(lengths) & np.isfinite(vectors).all(axis=1))
    kept = [words[i] for i in places.tolist()]
    rows, lengths, ranks = vectors[places].astype(np.float32, copy=False), lengths[places], ranks[places]
    logs = frequencies.log_at(ranks)
    copies = copy_groups(row_prints([rows]))
    r, (low, high) = _correlation(lengths, logs), pearson_interval(lengths, logs, copies)
    of_vectors, (vector_low, vector_high) = r, (low, high)
    if norms is not None:
        means = np.linalg.norm(rows, axis=1)
        of_vectors, (vector_low, vector_high) = _correlation(means, logs), pearson_interval(means, logs, copies)
    shown = _shown(ranks, seed)
    columns, points = _directions(rows, shown)
    components = [
        None if (r_component := _correlation(column, logs)) is None else abs(r_component) for column in columns
    ]
    explained = adjusted_r2(logs, [lengths, *columns])
    bins = _bins(rows, lengths, bin_places(ranks), seed)
    sentence = _sentence(frequencies.name, logs, (r, low, high), explained, len(columns), unit)
    if norms is not None and of_vectors is not None and vector_low is not None and vector_high is not None:
        sentence += (
            f" With the norm of the {unit}'s mean vector r = {cosine(of_vectors)} ({cosine(vector_low)} to "
            f"{cosine(vector_high)}); means of more occurrences are shorter anyway."
        )
    if r is not None or explained is not None:
        sentence += _spread(bins, unit, means=norms is not None)
    return Frequency(
        source=frequencies.name,
        n=len(kept),
        bins=bins,
        norm_r=r,
        norm_low=low,
        norm_high=high,
        norm_rho=spearman(lengths, logs).value if len(logs) > 2 else None,
        components_r=components,
        explained=explained,
        shown=[kept[i] for i in shown.tolist()],
        points=points,
        logs=logs[shown] / np.log(10),
        sentence=sentence + _left_out(unknown, unit),
        unknown=unknown,
        unit=unit,
        vector_norm_r=of_vectors,
        vector_norm_low=vector_low,
        vector_norm_high=vector_high,
    )


def frequency_findings(frequency: Frequency) -> list[Finding]:
    """What a gate can compare: the correlation with both norms and the first component, and all together."""
    n, first = frequency.n, next(iter(frequency.components_r), None)
    r, explained = frequency.norm_r, frequency.explained
    over = f"over {count(n, frequency.unit)}, frequency from {frequency.source}"
    norm = mean = axis = whole = f"Nothing can be said of frequency {over}."
    if r is not None:
        norm = f"Log-frequency correlates with the mean norm of a {frequency.unit}'s rows by {cosine(r)}, {over}."
    if frequency.vector_norm_r is not None:
        mean = (
            f"Log-frequency correlates with the norm of a {frequency.unit}'s mean vector by "
            f"{cosine(frequency.vector_norm_r)}, {over}; means of more rows are shorter anyway."
        )
    if first is not None:
        axis = (
            f"Log-frequency correlates with the first principal component by {cosine(first)}, leaving its sign aside."
        )
    if explained is not None:
        whole = f"The norm and the first principal components tell {percent(max(explained, 0.0))} of log-frequency."
    return [
        Finding("frequency_norm_r", r, n, norm, low=frequency.norm_low, high=frequency.norm_high),
        Finding(
            "frequency_vector_norm_r",
            frequency.vector_norm_r,
            n,
            mean,
            low=frequency.vector_norm_low,
            high=frequency.vector_norm_high,
        ),
        Finding("frequency_pc1_r", first, n, axis),
        Finding("frequency_explained", explained, n, whole),
    ]


def _correlation(x: Vector, y: Vector) -> float | None:
    """The correlation of at least three pairs, if it is defined."""
    return pearson(x, y).value if len(x) > 2 else None


def _directions(rows: Matrix, shown: IntVector) -> tuple[list[Vector], Matrix]:
    """The first principal components of the rows (n, d), and some rows on the two first singular directions (m, 2).

    One product serves both: rows' rows about zero is that about the mean plus n times the mean with itself. Components
    that hold rounding are left out; each singular direction points to where most rows lie.
    """
    n = len(rows)
    scale = float(np.abs(rows).max(initial=0.0))
    if n < 2 or scale <= 0:
        return [], np.zeros((len(shown), 2))
    scaled = rows / np.float32(scale)  # so that no product overflows
    mean = scaled.mean(axis=0, dtype=np.float64)
    scaled -= mean.astype(np.float32)
    scatter = (scaled.T @ scaled).astype(np.float64)
    scores = (scaled @ _strongest(scatter, min(_COMPONENTS, n - 1)).astype(np.float32)).astype(np.float64)
    columns = [column for column in scores.T if column.std() > _ROUNDING]
    plane = _strongest(scatter + n * np.outer(mean, mean), 2)
    turned = plane * np.where(mean @ plane < 0, -1.0, 1.0)
    points = rows[shown].astype(np.float64) @ turned
    return columns, np.pad(points, ((0, 0), (0, 2 - points.shape[1])))


def _strongest(scatter: Matrix, k: int) -> Matrix:
    """The k eigenvectors (d, k) with the largest eigenvalues, largest first; all when there are fewer."""
    from scipy.linalg import eigh  # takes a while to load

    d = len(scatter)
    _, vectors = eigh(scatter, subset_by_index=(max(d - k, 0), d - 1))
    return np.asarray(vectors[:, ::-1])


def _bins(rows: Matrix, lengths: Vector, of: IntVector, seed: int) -> list[Bin]:
    """The words by frequency rank; neighbours are looked for among all of them, for a seeded part of every bin."""
    members = [np.flatnonzero(of == place) for place in range(len(BINS))]
    asked = [one[hash_sample(one, _QUERIES, seed)] for one in members]
    queries = np.concatenate(asked)
    most = min(max(NEAREST), len(rows) - 1)
    distances: Matrix = np.empty((len(queries), 0))
    dots = distances
    if most > 0 and len(queries):
        near = nearest(rows, rows[queries], most, metrics=("euclidean", "dot"), own=queries)
        distances, dots = near["euclidean"].distances, near["dot"].distances
    found, start = [], 0
    for name, own, some in zip(BINS, members, asked, strict=True):
        part = slice(start, start + len(some))
        norm = float(lengths[own].mean()) if len(own) else None
        found.append(Bin(name, len(own), norm, _by_k(distances[part]), _by_k(dots[part]), len(some)))
        start += len(some)
    return found


def _by_k(values: Matrix) -> dict[int, float | None]:
    """The mean over the first k columns, for every k that there are as many of."""
    return {k: float(values[:, :k].mean()) if len(values) and values.shape[1] >= k else None for k in NEAREST}


def _shown(ranks: IntVector, seed: int) -> IntVector:
    """The places of the words of the picture: the most frequent, and a seeded part of the rest; frequent first."""
    order = np.argsort(ranks, kind="stable")
    rest = order[_ALWAYS:]
    return np.concatenate([order[:_ALWAYS], rest[hash_sample(rest, _SHOWN - _ALWAYS, seed)]])


def _sentence(
    source: str,
    logs: Vector,
    norm: tuple[float | None, float | None, float | None],
    explained: float | None,
    components: int,
    unit: str,
) -> str:
    n, (r, low, high) = len(logs), norm
    if n == 0:
        return f"No {unit} has a known frequency in {source}, so nothing can be said of it."
    if n < 4:
        return f"Only {count(n, unit)} with a known frequency: too few to say anything of it."
    if logs.max() - logs.min() < 1e-12:
        return f"All {n:,} {unit}s are equally frequent in {source}, so nothing can be said of frequency."
    if r is None or low is None or high is None:
        said = f"All {n:,} {unit}s have the same norm, so it tells nothing of their frequency"
    elif abs(r) < _TRACE:
        said = f"Frequent and rare {unit}s have rows of similar norms (r = {cosine(r)}, {n:,} {unit}s)"
    elif low <= 0 <= high:
        reach = f"r = {cosine(r)} ({cosine(low)} to {cosine(high)})"
        said = f"{n:,} {unit}s are too few to tell whether norms go with frequency: {reach}"
    else:
        longer = "longer" if r > 0 else "shorter"
        said = (
            f"Frequent {unit}s have {longer} vectors: r = {cosine(r)} ({cosine(low)} to {cosine(high)}) between norm "
            f"and log-frequency, {n:,} {unit}s"
        )
    if explained is not None:
        share = percent(max(explained, 0.0)) if explained >= 0.005 else "nothing"
        said += f"; norm and {components} principal components together tell {share} of it"
    return f"{said}."


def _spread(bins: Sequence[Bin], unit: str, *, means: bool) -> str:
    """Whether rare words lie further from each other than frequent ones, and why that need not mean much."""
    k = NEAREST[0]
    filled = [(one, far) for one in bins if one.queries >= 10 and (far := one.distance[k]) is not None]
    if len(filled) < 2:
        return ""
    (first, near), (last, far) = filled[0], filled[-1]
    numbers = f"{plain(far)} to the {k} nearest {unit}s at rank {last.name}, {plain(near)} at {first.name}"
    if abs(far - near) <= _APART * max(far, near):
        return f" Rare {unit}s lie as close to their neighbours as frequent ones: {numbers}."
    if far < near:
        return f" Rare {unit}s lie closer together: {numbers}."
    reason = "; means of fewer occurrences do so anyway" if means else ""
    return f" Rare {unit}s lie further apart: {numbers}{reason}."


def _left_out(unknown: int, unit: str) -> str:
    if not unknown:
        return ""
    return f" {count(unknown, unit)} of unknown frequency {'was' if unknown == 1 else 'were'} left out."
