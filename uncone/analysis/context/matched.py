"""What chance gives: sentences of the same lengths, made of unrelated words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from uncone.analysis.space.geometry import LayerGeometry
from uncone.data.bags import Bags, run_starts
from uncone.data.batch import IntVector, Matrix, Vector
from uncone.stats.hashing import hash_keys

__all__ = ["Matched", "matched_intrasim"]

_TRIED = (2, 3, 4, 6, 8, 12, 16, 24, 32)
"""Lengths of which sets of words are drawn: beyond them what they correct is small, and follows a law."""
_SET_WORDS = 500
_FEWEST = 24
"""Words drawn for each length, and sets of them at least."""
_TRIES = 20


@dataclass(frozen=True)
class Matched:
    """IntraSim of unrelated words: the mean over the lengths that the sentences have, and the curve over lengths.

    `replicates` is the value without each bucket of sentences in turn, NaN for an empty one; `n` words are its source.
    """

    value: float
    replicates: NDArray[np.float64]
    n: int
    lengths: IntVector
    curve: Vector

    def at(self, lengths: IntVector) -> Vector:
        """The curve at any length, between those of the sentences by their logarithm."""
        return np.interp(np.log(lengths), np.log(self.lengths), self.curve)


def matched_intrasim(layer: LayerGeometry) -> Matched | None:
    """IntraSim of n words from n different sentences, for every length n that the sentences have.

    With S the sum of the words and U that of their unit vectors, IntraSim is S.U/(n|S|). E(S.U) and E|S|² follow
    exactly, for every n, from the lengths of the words and from products of words of different sentences. How far the
    mean of the ratio lies from the ratio of means is measured on sets of words that are drawn, of up to 32; it is
    proportional to the relative variance of |S|², and so goes on beyond them by that. None with fewer than eight
    different sentences.
    """
    similarity = layer.sentences
    lengths, sentences = similarity.lengths
    draws = layer.shared_draw(1, lambda random: _draw(layer.sample_groups, layer.sample.weights, random))
    if draws is None or not len(lengths):
        return None
    bags, sets = draws
    bucket = (hash_keys(bags[1], similarity.seed) % np.uint64(similarity.buckets)).astype(np.int64)
    products = _products(layer, bags[0], bucket, similarity.buckets)
    curves = np.minimum(_ratio(products, lengths) * _correction(layer, sets, products[-1], lengths), 1.0)
    weights = np.append(sentences.sum(axis=1, keepdims=True) - sentences, sentences.sum(axis=1)[:, None], axis=1).T
    counts = weights.sum(axis=1)
    values = (curves * weights).sum(axis=1) / np.maximum(counts, 1)
    usable = (sentences.sum(axis=0) > 0) & (counts[:-1] > 0)
    replicates = np.where(usable, values[:-1], np.nan).astype(np.float64)
    return Matched(float(values[-1]), replicates, layer.sample.n, lengths, curves[-1])


Draws = tuple[tuple[Bags, IntVector], dict[int, IntVector]]


def _draw(groups: IntVector, weights: Vector | None, random: np.random.Generator) -> Draws | None:
    """The sampled rows of each sentence and its name; for each length tried the rows of sets (sets, length)."""
    order = np.argsort(groups, kind="stable")
    starts = run_starts(groups[order])
    # A set must find its words among several times as many sentences.
    tried = [n for n in _TRIED if 4 * n <= len(starts)]
    if not tried:
        return None
    bounds = None if weights is None else np.cumsum(weights)

    def draw(*size: int) -> IntVector:
        if bounds is None:
            return np.asarray(random.integers(len(groups), size=size), np.int64)
        places = np.searchsorted(bounds, random.random(size) * bounds[-1], side="right")
        return np.asarray(np.minimum(places, len(groups) - 1), np.int64)

    sets = {n: _sets(groups, n, max(_SET_WORDS // n, _FEWEST), draw) for n in tried}
    return (Bags(order, starts), groups[order][starts]), sets


def _sets(groups: IntVector, n: int, m: int, draw: Callable[..., IntVector]) -> IntVector:
    """M sets of n rows from n different sentences (m, n)."""
    rows = draw(m, n)
    for _ in range(_TRIES):
        sentences = groups[rows]
        order = np.argsort(sentences, axis=1, kind="stable")
        sentences = np.take_along_axis(sentences, order, axis=1)
        twice = np.zeros(rows.shape, np.bool_)
        np.put_along_axis(twice, order[:, 1:], sentences[:, 1:] == sentences[:, :-1], axis=1)
        if not twice.any():
            break
        rows[twice] = draw(int(twice.sum()))
    return rows


def _products(layer: LayerGeometry, bags: Bags, bucket: IntVector, buckets: int) -> Matrix:
    """Means of |x|, |x|², x.u' and x.x' over words, and words of different sentences: without each bucket, and of all.

    (buckets + 1, 4)
    """
    norms = layer.sample.norms.astype(np.float64)
    rows = layer.sample.vectors
    sums, units = (matrix.astype(np.float64) for matrix in bags.both_sums(rows, (1 / norms).astype(rows.dtype)))
    lengths = bags.sums(np.stack([norms, norms**2, np.ones(len(norms))], axis=1))
    weights = layer.sample.weights
    if weights is not None:  # a sentence stands for its copies: the products within it are those among them, too
        copies = bags.sums(weights[:, None]) / bags.sizes[:, None]
        sums, units, lengths = sums * copies, units * copies, lengths * copies
    each = np.stack([np.vecdot(sums, units), np.vecdot(sums, sums), lengths[:, 2] ** 2], axis=1)
    alone = np.concatenate([lengths, each, sums, units], axis=1)
    order = np.argsort(bucket, kind="stable")
    starts = run_starts(bucket[order])
    without = np.repeat(alone.sum(axis=0)[None], buckets + 1, axis=0)
    without[bucket[order][starts]] -= Bags(order, starts).sums(alone)
    first, second, n, *within = without[:, :6].T
    total, unit_total = np.split(without[:, 6:], 2, axis=1)
    pairs = np.maximum(n**2 - within[2], 1.0)
    between = [np.vecdot(total, unit_total) - within[0], np.vecdot(total, total) - within[1]]
    n = np.maximum(n, 1.0)
    return np.stack([first / n, second / n, between[0] / pairs, np.maximum(between[1] / pairs, 0.0)], axis=1)


def _ratio(products: Matrix, lengths: IntVector) -> Matrix:
    """E(S.U)/(n √E|S|²) for every row of products and every length n."""
    norm, square, crossed, between = products.T[:, :, None]
    more = lengths - 1.0
    power = lengths * (square + more * between)
    return np.asarray((norm + more * crossed) / np.sqrt(np.where(power > 0, power, 1.0)))


def _correction(layer: LayerGeometry, sets: dict[int, IntVector], products: Vector, lengths: IntVector) -> Vector:
    """The mean of S.U/(n|S|) over the ratio of the means, for every length (l,)."""
    tried = np.array(list(sets))
    ratios = np.array([_mean_of_ratio(layer, rows) for rows in sets.values()])
    variance = _relative_variance(layer, sets[2], products)
    share = (ratios - 1) / np.maximum(variance(tried), np.finfo(np.float64).tiny)
    return np.asarray(1 + np.interp(np.log(lengths), np.log(tried), share) * variance(lengths))


def _mean_of_ratio(layer: LayerGeometry, rows: IntVector) -> float:
    """The mean of S.U/|S| over the ratio of the means, of the same sets of rows: so their noise cancels."""
    picked = layer.sample.vectors_at(rows.ravel()).reshape(*rows.shape, -1)
    weights = (1 / layer.sample.norms[rows]).astype(picked.dtype)
    sums, unit_sums = picked.sum(axis=1), np.matmul(weights[:, None, :], picked)[:, 0]
    products, squares = (np.vecdot(sums, factor).astype(np.float64) for factor in (unit_sums, sums))
    ratio = products / np.sqrt(np.where(squares > 0, squares, 1.0))
    expected = products.mean() / np.sqrt(squares.mean()) if squares.any() else 0.0
    return float(ratio.mean() / expected) if expected > 0 else 1.0


def _relative_variance(layer: LayerGeometry, pairs: IntVector, products: Vector) -> Callable[[IntVector], Vector]:
    """Var|S|²/(E|S|²)² as a function of the number n of words.

    (4n μ'Σμ + 2 tr Σ²)/(n|μ|² + tr Σ)² if words were Gaussian, with mean μ and covariance Σ.
    """
    _, square, _, between = products
    mean = layer.moments.mean
    along = float(np.cov(layer.sample.dot(mean), aweights=layer.sample.weights, ddof=0))
    first, second = (layer.sample.vectors_at(column) - mean for column in pairs.T)
    traced = float((np.vecdot(first, second) ** 2).mean())
    return lambda n: (4 * n * along + 2 * traced) / np.maximum(n * between + square - between, 1e-30) ** 2
