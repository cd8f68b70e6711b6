"""The variance of a mean over words whose occurrences share texts: words and texts are both sampling units."""

from __future__ import annotations

import numpy as np

from uncone.analysis.layers.geometry import LayerGeometry
from uncone.data.batch import IntVector, Vector
from uncone.stats.samples.hashing import hash_keys

__all__ = ["clustered", "selfsim_influence", "two_way", "word_pairs"]


def two_way(layer: LayerGeometry, by_words: float, each: Vector, other: Vector | float = 0.0) -> float:
    """The variance of a mean over words, from its variance `by_words` and from what each sampled row adds to it.

    The spread over words holds what every word's own occurrences do by chance, as if those of two words were
    independent. But a text moves all of its words. So the part of occurrences is taken out (each word in each text on
    its own), and put back text by text. `other` is what the rows add to a number that is subtracted.
    """
    sample = layer.sample
    texts, pairs = layer.shared_draw(
        3, lambda _: (_codes(layer.sample_groups), _codes(word_pairs(layer.sample_groups, sample.words, sample.rows)))
    )
    own = _mean_variance(each, layer.n, pairs)
    return max(by_words - own, 0.0) + _mean_variance(np.asarray(each - other), layer.n, texts)


def _mean_variance(each: Vector, n: int, codes: IntVector) -> float:
    """As `mean_variance`, with groups that are numbered from 0 on: so they need not be sorted for every measure."""
    centred = each - each.mean()
    sums, square = np.bincount(codes, weights=centred), float(centred @ centred)
    return square / len(each) / n + max(float(sums @ sums) - square, 0.0) / len(each) ** 2


def _codes(groups: IntVector) -> IntVector:
    return np.unique(groups, return_inverse=True)[1].astype(np.int64)


def word_pairs(groups: IntVector, words: IntVector | None, rows: IntVector) -> IntVector:
    """The same number for the same word in the same text; a word that occurs once is one of its own."""
    if words is None:
        return rows
    mixed = hash_keys(groups, 1).astype(np.int64) + hash_keys(words, 2).astype(np.int64)
    return np.where(words == -1, hash_keys(rows, 3).astype(np.int64), mixed)


def clustered(each: Vector, groups: IntVector) -> float:
    """The sum of the squares of what the rows of a group add together.

    >>> clustered(np.array([1.0, 2.0, 3.0]), np.array([7, 7, 9]))
    18.0
    """
    _, place = np.unique(groups, return_inverse=True)
    sums = np.bincount(place, weights=each)
    return float(sums @ sums)


def selfsim_influence(layer: LayerGeometry, selfsim: Vector, chosen: IntVector) -> Vector:
    """What each sampled row adds to the mean self-similarity of the words `chosen`, times the number of rows.

    A row counts against those in other texts; the occurrences in one text are taken for copies.
    """
    words, sample = layer.words, layer.sample
    each = np.zeros(sample.n)
    if words is None or sample.words is None or not len(chosen):
        return each
    is_chosen = np.zeros(words.words, np.bool_)
    is_chosen[chosen] = True
    rows = np.flatnonzero((sample.words >= 0) & is_chosen[sample.words])
    word = sample.words[rows]
    counts = words.counts[word]
    own = counts / words.contexts[word]
    others = counts - own
    # Against the mean of all words: of a word with two occurrences nothing else is known.
    mean = float(selfsim[chosen].mean())
    towards = layer.towards_words[rows]
    each[rows] = 2 * layer.n / len(chosen) * (towards - own - others * mean) / (counts * others)
    return each
