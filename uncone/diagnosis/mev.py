"""Maximum explainable variance: how much of a word's occurrences one vector can stand for (Ethayarajh 2019)."""

from __future__ import annotations

import numpy as np

from uncone.data.batch import IntVector, Matrix, Vector
from uncone.diagnosis.context import Estimate
from uncone.diagnosis.finding import Finding
from uncone.diagnosis.layer_geometry import LayerGeometry
from uncone.diagnosis.words import percent

__all__ = ["explained_share", "mev_findings", "mev_of_words"]

_GRID = 12
_REPEATS, _ROWS = 4, 800
_SMALL, _STEPS = 24, 60


def explained_share(rows: Matrix, *, centered: bool = False) -> float:
    """sigma_1^2 / sum sigma_i^2 of the rows (n, d) as they are; `centered`: the share of the first principal component.

    >>> explained_share(np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])).__round__(4)
    0.6667
    """
    rows = rows.astype(np.float64)
    if centered:
        rows = rows - rows.mean(axis=0)
    total = float((rows * rows).sum())
    if total <= 0:
        return float("nan")
    if min(rows.shape) > _SMALL and (strongest := _by_power(rows)) is not None:
        return strongest / total
    gram = rows @ rows.T if len(rows) < rows.shape[1] else rows.T @ rows
    return float(np.linalg.eigvalsh(gram)[-1]) / total


def _by_power(rows: Matrix) -> float | None:
    """The largest eigenvalue of rows' rows by power iteration; None when it does not settle soon.

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
            return value
        before = value
    return None


def mev_of_words(layer: LayerGeometry) -> tuple[IntVector, Vector, IntVector]:
    """The words that occurrences were kept of, the MEV of each, and on how many occurrences it stands."""
    assert layer.occurrences is not None
    kept = {word: rows for word, rows in layer.occurrences.by_word().items() if len(rows) > 1}
    words = np.array(sorted(kept), np.int64)
    values = np.array([explained_share(kept[word]) for word in words.tolist()])
    return words, values, np.array([len(kept[word]) for word in words.tolist()], np.int64)


def mev_findings(layer: LayerGeometry, words: IntVector, values: Vector, sizes: IntVector) -> list[Finding]:
    """MEV over the words drawn at random, the same for as many rows of different words, and the difference."""
    chosen = np.isin(words, layer.drawn)
    values, sizes = values[chosen], sizes[chosen]
    n = len(values)
    if n == 0:
        return [Finding(name, None, 0, "No word was drawn.") for name in ("mev", "mev_matched", "mev_adjusted")]
    raw = Estimate.of_mean(values)
    found = [raw.finding("mev", n, f"One vector explains {percent(raw.value)} of a word's occurrences.", most=1.0)]
    grid = np.unique(np.quantile(sizes, np.linspace(0, 1, _GRID), method="nearest")).astype(np.int64)
    chance = _chance(layer, grid)
    if chance is None:
        why = "There are too few different words to compare with."
        return [*found, *(Finding(name, None, n, why) for name in ("mev_matched", "mev_adjusted"))]
    expected = np.interp(np.log(sizes), np.log(grid), chance[0])
    noise = float(np.interp(np.log(sizes), np.log(grid), chance[1]).mean())
    matched = Estimate(float(expected.mean()), noise, n)
    difference = Estimate.of_mean(values - expected)
    difference = Estimate(difference.value, difference.variance + noise, n)
    return [
        *found,
        matched.finding(
            "mev_matched", n, f"As many occurrences of different words: {percent(matched.value)}.", least=0.0, most=1.0
        ),
        difference.finding(
            "mev_adjusted",
            n,
            f"{percent(abs(difference.value))} {'more' if difference.value >= 0 else 'less'} than chance.",
        ),
    ]


def _chance(layer: LayerGeometry, sizes: IntVector) -> tuple[Vector, Vector] | None:
    """MEV of rows of all different words, for these numbers of rows: the mean of some draws, and its variance."""
    sample = layer.sample
    known = np.flatnonzero(sample.words >= -1) if sample.words is not None else np.arange(sample.n)
    words = sample.rows if sample.words is None else sample.words
    draws = layer.drawn_once(
        2, lambda random: [_one_of_each(words, random.permutation(known)) for _ in range(_REPEATS)]
    )
    if min(map(len, draws)) < 5:
        return None
    means, noise = [], []
    for size in sizes.tolist():
        some = draws[: max(2, _ROWS // size)]
        shares = np.array([explained_share(sample.vectors_at(rows[:size])) for rows in some])
        means.append(float(shares.mean()))
        noise.append(float(shares.var(ddof=1)) / len(shares))
    return np.array(means), np.array(noise)


def _one_of_each(words: IntVector, mixed: IntVector) -> IntVector:
    """The first row of each word in a random order of rows; words that occur once are all different."""
    kept = words[mixed] == -1
    _, first = np.unique(words[mixed], return_index=True)
    kept[first] = True
    return np.asarray(mixed[kept], np.int64)
