"""Word frequency in a space: norms, neighborhoods and principal directions of rare and of frequent words."""

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

__all__ = ["NEAREST", "directions", "frequency_findings", "frequency_of", "picture_words", "word_means"]

NEAREST = (3, 5, 7)
"""Neighbors over which distance and dot product are averaged, as published."""

_COMPONENTS = 10
_QUERIES = 150
"""Words of each bin whose neighbors are searched."""
_IN_PICTURE, _ALWAYS = 3_000, 500
"""Words in the picture, and how many of them are the most frequent."""
_ROUNDING = 1e-6
"""A component that spreads less, relative to the largest number, is rounding."""
_TRACE, _APART = 0.1, 0.05
"""The smallest correlation, and share of a distance, that a sentence calls a difference."""


def word_means(vectors: Matrix, norms: Vector, words: Sequence[str]) -> tuple[list[str], Matrix, Vector]:
    """The distinct words of some vectors (n, d), each with the mean of its vectors (t, d) and of their norms (t,).

    The mean of few vectors keeps more of their differences than the mean of many, so rare words lie further apart for
    this reason alone. The mean of norms does not depend on it.

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

    Words of unknown frequency are left out and counted. A value that cannot be computed is None, and the sentence says
    why. The sentence calls words `unit`.

    Raises:
        ShapeError: not one word, vector and norm each.
    """
    if len(words) != len(vectors) or (norms is not None and len(norms) != len(words)):
        raise ShapeError(
            f"There are {len(vectors):,} vectors for {len(words):,} words: each needs a vector and a norm."
        )
    lengths = (np.linalg.norm(vectors, axis=1) if norms is None else norms).astype(np.float64)
    ranks = frequencies.ranks(words)
    unknown = int((ranks < 0).sum())
    places = np.flatnonzero((ranks >= 0) & np.isfinite(lengths) & np.isfinite(vectors).all(axis=1))
    usable = [words[i] for i in places.tolist()]
    rows, lengths, ranks = vectors[places].astype(np.float32, copy=False), lengths[places], ranks[places]
    logs = frequencies.log_at(ranks)
    copies = copy_groups(row_prints([rows]))
    r, (low, high) = _correlation(lengths, logs), pearson_interval(lengths, logs, copies)
    of_vectors, (vector_low, vector_high) = r, (low, high)
    if norms is not None:
        means = np.linalg.norm(rows, axis=1)
        of_vectors, (vector_low, vector_high) = _correlation(means, logs), pearson_interval(means, logs, copies)
    picture = picture_words(ranks, seed)
    columns, points = directions(rows, picture)
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
        n=len(usable),
        bins=bins,
        norm_r=r,
        norm_low=low,
        norm_high=high,
        norm_rho=spearman(lengths, logs).value if len(logs) > 2 else None,
        components_r=components,
        explained=explained,
        point_words=[usable[i] for i in picture.tolist()],
        points=points,
        logs=logs[picture] / np.log(10),
        sentence=sentence + _left_out(unknown, unit),
        unknown=unknown,
        unit=unit,
        vector_norm_r=of_vectors,
        vector_norm_low=vector_low,
        vector_norm_high=vector_high,
    )


def frequency_findings(frequency: Frequency) -> list[Finding]:
    """The findings that gates compare: correlations with both norms and the first component, and all together."""
    n, first = frequency.n, next(iter(frequency.components_r), None)
    r, explained = frequency.norm_r, frequency.explained
    over = f"over {count(n, frequency.unit)}, frequency from {frequency.source}"
    norm = mean = axis = whole = f"The effect of frequency could not be measured, {over}."
    if r is not None:
        norm = f"Log-frequency correlates with the mean norm of a {frequency.unit}'s vectors by {cosine(r)}, {over}."
    if frequency.vector_norm_r is not None:
        mean = (
            f"Log-frequency correlates with the norm of a {frequency.unit}'s mean vector by "
            f"{cosine(frequency.vector_norm_r)}, {over}. Means of more vectors are shorter anyway."
        )
    if first is not None:
        axis = f"Log-frequency correlates with the first principal component by {cosine(first)}, in absolute value."
    if explained is not None:
        whole = f"The norm and the first principal components explain {percent(max(explained, 0.0))} of log-frequency."
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


def directions(rows: Matrix, picture: IntVector) -> tuple[list[Vector], Matrix]:
    """The first principal components of vectors (n, d), and some vectors on the first two singular directions (m, 2).

    One product serves both: the products about zero are those about the mean plus n times the mean with itself.
    Components that are rounding are left out, and each singular direction points to where most vectors lie.
    """
    n = len(rows)
    scale = float(np.abs(rows).max(initial=0.0))
    if n < 2 or scale <= 0:
        return [], np.zeros((len(picture), 2))
    scaled = rows / np.float32(scale)  # so that no product overflows
    mean = scaled.mean(axis=0, dtype=np.float64)
    scaled -= mean.astype(np.float32)
    scatter = (scaled.T @ scaled).astype(np.float64)
    scores = (scaled @ _strongest(scatter, min(_COMPONENTS, n - 1)).astype(np.float32)).astype(np.float64)
    columns = [column for column in scores.T if column.std() > _ROUNDING]
    plane = _strongest(scatter + n * np.outer(mean, mean), 2)
    turned = plane * np.where(mean @ plane < 0, -1.0, 1.0)
    points = rows[picture].astype(np.float64) @ turned
    return columns, np.pad(points, ((0, 0), (0, 2 - points.shape[1])))


def _strongest(scatter: Matrix, k: int) -> Matrix:
    """The k eigenvectors (d, k) with the largest eigenvalues, largest first; fewer of a smaller matrix."""
    from scipy.linalg import eigh  # slow to import

    d = len(scatter)
    _, vectors = eigh(scatter, subset_by_index=(max(d - k, 0), d - 1))
    return np.asarray(vectors[:, ::-1])


def _bins(rows: Matrix, lengths: Vector, bins: IntVector, seed: int) -> list[Bin]:
    """The words by frequency rank, and the neighbors of a seeded sample of each bin among all words."""
    members = [np.flatnonzero(bins == place) for place in range(len(BINS))]
    samples = [words[hash_sample(words, _QUERIES, seed)] for words in members]
    queries = np.concatenate(samples)
    most = min(max(NEAREST), len(rows) - 1)
    distances: Matrix = np.empty((len(queries), 0))
    dots = distances
    if most > 0 and len(queries):
        near = nearest(rows, rows[queries], most, metrics=("euclidean", "dot"), own=queries)
        distances, dots = near["euclidean"].distances, near["dot"].distances
    filled, start = [], 0
    for name, words, sample in zip(BINS, members, samples, strict=True):
        part = slice(start, start + len(sample))
        norm = float(lengths[words].mean()) if len(words) else None
        filled.append(Bin(name, len(words), norm, _by_k(distances[part]), _by_k(dots[part]), len(sample)))
        start += len(sample)
    return filled


def _by_k(values: Matrix) -> dict[int, float | None]:
    """The mean over the first k columns, for each k; None if there are fewer."""
    return {k: float(values[:, :k].mean()) if len(values) and values.shape[1] >= k else None for k in NEAREST}


def picture_words(ranks: IntVector, seed: int) -> IntVector:
    """The places of the words in the picture: the most frequent, then a seeded sample of the rest."""
    order = np.argsort(ranks, kind="stable")
    rest = order[_ALWAYS:]
    return np.concatenate([order[:_ALWAYS], rest[hash_sample(rest, _IN_PICTURE - _ALWAYS, seed)]])


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
        return f"No {unit} has a known frequency in {source}."
    if n < 4:
        return f"Only {count(n, unit)} with a known frequency: too few to measure its effect."
    if logs.max() - logs.min() < 1e-12:
        return f"All {n:,} {unit}s are equally frequent in {source}, so the effect of frequency cannot be measured."
    if r is None or low is None or high is None:
        sentence = f"All {n:,} {unit}s have the same norm, so it doesn't depend on frequency"
    elif abs(r) < _TRACE:
        sentence = f"Frequent and rare {unit}s have vectors of similar norms (r = {cosine(r)}, {n:,} {unit}s)"
    elif low <= 0 <= high:
        reach = f"r = {cosine(r)} ({cosine(low)} to {cosine(high)})"
        sentence = f"{n:,} {unit}s are too few to say whether norms depend on frequency: {reach}"
    else:
        longer = "longer" if r > 0 else "shorter"
        sentence = (
            f"Frequent {unit}s have {longer} vectors: r = {cosine(r)} ({cosine(low)} to {cosine(high)}) between norm "
            f"and log-frequency, {n:,} {unit}s"
        )
    if explained is not None:
        share = percent(max(explained, 0.0)) if explained >= 0.005 else "nothing"
        sentence += f"; norm and {components} principal components together explain {share} of it"
    return f"{sentence}."


def _spread(bins: Sequence[Bin], unit: str, *, means: bool) -> str:
    """A sentence on whether rare words lie further apart than frequent ones."""
    k = NEAREST[0]
    filled = [(part, far) for part in bins if part.queries >= 10 and (far := part.distance[k]) is not None]
    if len(filled) < 2:
        return ""
    (first, near), (last, far) = filled[0], filled[-1]
    numbers = f"{plain(far)} to the {k} nearest {unit}s at rank {last.name}, {plain(near)} at {first.name}"
    if abs(far - near) <= _APART * max(far, near):
        return f" Rare {unit}s lie as close to their neighbors as frequent ones: {numbers}."
    if far < near:
        return f" Rare {unit}s lie closer together: {numbers}."
    reason = "; means of fewer occurrences do so anyway" if means else ""
    return f" Rare {unit}s lie further apart: {numbers}{reason}."


def _left_out(unknown: int, unit: str) -> str:
    if not unknown:
        return ""
    return f" {count(unknown, unit)} of unknown frequency {'was' if unknown == 1 else 'were'} left out."
