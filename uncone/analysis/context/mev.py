"""Maximum explainable variance: how much of a word's occurrences one vector can stand for (Ethayarajh 2019)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from uncone.analysis.context.context import Estimate, clustered, word_pairs
from uncone.analysis.measures.finding import Finding
from uncone.analysis.number_format import percent
from uncone.analysis.space.geometry import LayerGeometry
from uncone.data.batch import IntVector, Matrix, Vector
from uncone.stats.hashing import hash_keys
from uncone.stats.occurrences import Occurrence
from uncone.stats.row_sample import SampledRows

__all__ = ["WordMev", "explained_variance", "mev_findings", "mev_of_words"]

_GRID = 12
_REPEATS, _ROWS = 4, 800
"""Draws of different words that the value averages for each size, two at least; vectors of these together, about."""
_ORDERS, _ORDERED = 16, 400
"""The same for its spread, which a few draws would leave to chance."""
_SMALL, _STEPS = 24, 60


def explained_variance(rows: Matrix) -> tuple[float, Vector]:
    """sigma_1^2 / sum sigma_i^2 of the rows (n, d) as they are, and what each adds to it beyond its own share (n,).

    >>> explained_variance(np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))[0].__round__(4)
    0.6667
    """
    rows = rows.astype(np.float64)
    powers = np.vecdot(rows, rows)
    total = float(powers.sum())
    if total <= 0:
        return float("nan"), np.zeros(len(rows))
    along = _by_power(rows) if min(rows.shape) > _SMALL else None
    if along is None and len(rows) < rows.shape[1]:
        values, vectors = np.linalg.eigh(rows @ rows.T)
        along = vectors[:, -1] * np.sqrt(max(values[-1], 0.0))
    elif along is None:
        along = rows @ np.linalg.eigh(rows.T @ rows)[1][:, -1]
    share = float(along @ along) / total
    return share, (along**2 - share * powers) / total


def _by_power(rows: Matrix) -> Vector | None:
    """Rows on the strongest direction of rows' rows, by power iteration; None when it does not settle soon.

    A word's occurrences point one way, so that a dozen steps do where all eigenvalues would cost n^3.
    """
    vector, before = rows.sum(axis=0), 0.0
    for _ in range(_STEPS):
        vector = rows.T @ (rows @ vector)
        length = float(np.linalg.norm(vector))
        if length <= 0:
            return None
        vector /= length
        product = rows @ vector
        value = float(product @ product)
        # The error of the value is the square of that of the direction: the next step changes it less still.
        if abs(value - before) <= 1e-12 * value:
            return np.asarray(product)
        before = value
    return None


@dataclass(frozen=True)
class WordMev:
    """The words that occurrences were kept of, the MEV of each, and on how many different occurrences it stands.

    `influence` is what each kept occurrence adds to the MEV of its word, `units` its sampling unit.
    """

    words: IntVector
    values: Vector
    sizes: IntVector
    influence: Sequence[Vector]
    units: Sequence[IntVector]


def mev_of_words(layer: LayerGeometry) -> WordMev:
    """MEV of every word that occurrences were kept of, and that occurs twice or more."""
    repeated = {word: part for word, part in layer.occurrences.by_word().items() if len(part.units) > 1}
    words = sorted(repeated)
    shares = [_weighted_variance(repeated[word]) for word in words]
    sizes = np.array([len(repeated[word].units) for word in words], np.int64)
    values = np.array([share for share, _ in shares])
    units = [repeated[word].units for word in words]
    return WordMev(np.array(words, np.int64), values, sizes, [influence for _, influence in shares], units)


def _weighted_variance(occurrences: Occurrence) -> tuple[float, Vector]:
    """As `explained_variance`, where each occurrence stands for all of its copies."""
    copies, rows = occurrences.copies, occurrences.vectors
    same = (copies == copies[0]).all()
    return explained_variance(rows if same else rows * np.sqrt(copies / copies.mean())[:, None])


def mev_findings(layer: LayerGeometry) -> list[Finding]:
    """MEV over the words drawn at random, the same for as many rows of different words, and the difference."""
    word_mev = layer.derived(mev_of_words)
    places = np.flatnonzero(np.isin(word_mev.words, layer.mev_words))
    values, sizes = word_mev.values[places], word_mev.sizes[places]
    n = len(values)
    if n == 0:
        return [Finding(name, None, 0, "No word was drawn.") for name in ("mev", "mev_matched", "mev_adjusted")]
    raw = Estimate(float(values.mean()), _variance(word_mev, places), min(n, layer.texts))
    findings = [raw.finding("mev", n, f"One vector explains {percent(raw.value)} of a word's occurrences.", most=1.0)]
    grid = np.unique(np.quantile(sizes, np.linspace(0, 1, _GRID), method="nearest")).astype(np.int64)
    chance = _chance(layer, grid)
    if chance is None:
        reason = "There are too few different words to compare with."
        return [*findings, *(Finding(name, None, n, reason) for name in ("mev_matched", "mev_adjusted"))]
    weights = np.stack([np.interp(np.log(sizes), np.log(grid), basis).mean() for basis in np.eye(len(grid))])
    shares, each = chance
    matched = Estimate(float(weights @ shares), _chance_variance(layer, weights @ each), raw.units)
    difference = raw.minus(matched)
    return [
        *findings,
        matched.finding(
            "mev_matched", n, f"As many occurrences of different words: {percent(matched.value)}.", least=0.0, most=1.0
        ),
        difference.finding(
            "mev_adjusted",
            n,
            f"{percent(abs(difference.value))} {'more' if difference.value >= 0 else 'less'} than chance.",
        ),
    ]


def _variance(word_mev: WordMev, places: IntVector) -> float:
    """Words and texts are units: what the occurrences of a word do by chance is put back text by text."""
    n = len(places)
    each = np.concatenate([word_mev.influence[i] / n for i in places.tolist()])
    units = np.concatenate([word_mev.units[i] for i in places.tolist()])
    words = np.repeat(places, [len(word_mev.units[i]) for i in places.tolist()])
    by_words = Estimate.of_mean(word_mev.values[places]).variance
    return max(by_words - clustered(each, word_pairs(units, words, units)), 0.0) + clustered(each, units)


def _chance_variance(layer: LayerGeometry, each: Vector) -> float:
    """The rows of a text vary together, and so do those of a word."""
    sample, groups = layer.sample, layer.sample_groups
    if sample.words is None:
        return clustered(each, groups)
    words = np.where(sample.words == -1, -2 - sample.rows, sample.words)
    pairs = word_pairs(groups, sample.words, sample.rows)
    return max(clustered(each, groups) + clustered(each, words) - clustered(each, pairs), clustered(each, groups))


def _chance(layer: LayerGeometry, sizes: IntVector) -> tuple[Vector, Matrix] | None:
    """MEV of vectors of all different words, for these numbers of vectors: the mean of some draws.

    And what each sampled vector adds to each (sizes, sample).
    """
    sample = layer.sample
    eligible = np.flatnonzero(sample.words >= -1) if sample.words is not None else np.arange(sample.n)
    words = sample.rows if sample.words is None else sample.words
    origins = sample.rows if sample.origins is None else sample.origins

    def draw(random: np.random.Generator) -> tuple[list[IntVector], list[IntVector]]:
        valued = [_one_of_each(words, random.permutation(eligible)) for _ in range(_REPEATS)]
        # By what the vectors are, not by where they stand: the order of the texts leaves the spread as it is.
        orders = (np.argsort(hash_keys(origins[eligible], seed)) for seed in range(_ORDERS))
        return valued, [_one_of_each(words, eligible[order]) for order in orders]

    valued, ordered = layer.shared_draw(2, draw)
    if min(map(len, valued)) < 5:
        return None
    means, each = np.zeros(len(sizes)), np.zeros((len(sizes), sample.n))
    for place, size in enumerate(sizes.tolist()):
        # The first of a draw: further on there are only rare words, for the frequent ones have come already.
        means[place] = np.mean([share for _, share, _ in _explained(sample, valued[: max(2, _ROWS // size)], size)])
        some = ordered[: max(_ORDERED // size, 4)]
        for rows, _, added in _explained(sample, some, size):
            each[place, rows] += added / len(some)
    return means, each


def _explained(sample: SampledRows, draws: Sequence[IntVector], size: int) -> Iterator[tuple[IntVector, float, Vector]]:
    """The first vectors of each draw, their MEV, and what each adds to it."""
    sets = [draw[:size] for draw in draws]
    if size <= _SMALL:
        shares = _of_small_sets(sample, sets)
    else:
        shares = [explained_variance(sample.vectors_at(rows)) for rows in sets]
    for rows, (share, added) in zip(sets, shares, strict=True):
        yield rows, share, added


def _of_small_sets(sample: SampledRows, sets: Sequence[IntVector]) -> list[tuple[float, Vector]]:
    """As `explained_variance`, for many small sets of as many rows at once."""
    rows = sample.vectors_at(np.concatenate(sets)).astype(np.float64).reshape(len(sets), len(sets[0]), -1)
    grams = rows @ rows.transpose(0, 2, 1)
    values, vectors = np.linalg.eigh(grams)
    powers = np.diagonal(grams, axis1=1, axis2=2)
    totals = np.maximum(powers.sum(axis=1), np.finfo(np.float64).tiny)
    along = vectors[:, :, -1] ** 2 * values[:, -1:]
    shares = along.sum(axis=1) / totals
    return list(zip(shares.tolist(), (along - shares[:, None] * powers) / totals[:, None], strict=True))


def _one_of_each(words: IntVector, mixed: IntVector) -> IntVector:
    """The first row of each word in a random order of rows; words that occur once are all different."""
    is_first = words[mixed] == -1
    _, first = np.unique(words[mixed], return_index=True)
    is_first[first] = True
    return np.asarray(mixed[is_first], np.int64)
