"""What chance gives: sentences of the same lengths, made of unrelated words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from uncone.data.batch import IntVector, Vector
from uncone.diagnosis.layer_geometry import LayerGeometry

__all__ = ["Matched", "matched_intrasim"]

_BLOCKS = 20
_DRAWN = 400  # words drawn per block
_LENGTHS = 24  # different lengths that are tried; between them the curve is smooth
_TRIES = 20


@dataclass(frozen=True)
class Matched:
    """IntraSim of unrelated words: the mean over the lengths that the sentences have, and the curve over lengths.

    The variance comes from blocks of the sample that share no sentence.
    """

    value: float
    variance: float
    blocks: int
    drawn: int
    lengths: IntVector
    curve: Vector

    def at(self, lengths: IntVector) -> Vector:
        """The curve at any length, between those tried by their logarithm."""
        return np.interp(np.log(lengths), np.log(self.lengths), self.curve)


def matched_intrasim(layer: LayerGeometry) -> Matched | None:
    """IntraSim of sentences whose words come from as many different sentences, with the lengths of the real ones.

    The sampled rows are split into blocks by sentence; in every block words are drawn at random, so that the blocks
    are independent. None when there are too few sentences.
    """
    assert layer.sentences is not None
    lengths, weights = layer.sentences.lengths, layer.sentences.sentences
    draws = layer.drawn_once(1, lambda random: _drawn(layer.sample_groups, lengths, weights, random))
    if draws is None:
        return None
    tried, blocks, sets = draws
    curves = np.stack([_means(layer, rows, blocks) for rows in sets], axis=1)
    each = np.array([np.interp(np.log(lengths), np.log(tried), curve) @ weights for curve in curves]) / weights.sum()
    return Matched(
        float(each.mean()),
        float(each.var(ddof=1)) / blocks,
        blocks,
        layer.sample.n,
        tried,
        curves.mean(axis=0),
    )


def _drawn(
    groups: IntVector, lengths: IntVector, weights: IntVector, random: np.random.Generator
) -> tuple[IntVector, int, list[IntVector]] | None:
    """The lengths to try, the number of blocks, and for each length the rows of the sets: (blocks * m, length)."""
    names = np.unique(groups)
    # A block has to hold more sentences than a set takes; the curve is flat beyond the longest that can be tried.
    short = lengths[4 * lengths <= len(names)]
    if not len(short):
        return None
    blocks = max(min(_BLOCKS, len(names) // max(2 * int(short.max()), 10)), 2)
    tried = _chosen(short, weights[: len(short)])
    block_of = random.permutation(len(names)) % blocks
    member = block_of[np.searchsorted(names, groups)]
    rows = _Blocks(np.argsort(member, kind="stable"), np.bincount(member, minlength=blocks), groups)
    return tried, blocks, [rows.sets(int(n), max(_DRAWN // (len(tried) * int(n)), 2), random) for n in tried]


def _chosen(lengths: IntVector, weights: IntVector) -> IntVector:
    """The lengths to try: all, or some that split the sentences evenly, with both ends."""
    if len(lengths) <= _LENGTHS:
        return lengths
    places = np.linspace(0, weights.sum() - 1, _LENGTHS)
    return np.unique(np.concatenate([lengths[np.searchsorted(np.cumsum(weights) - 1, places)], lengths[[0, -1]]]))


@dataclass(frozen=True)
class _Blocks:
    """Rows in the order of their blocks, the sizes of the blocks, and the sentence of every row."""

    rows: IntVector
    sizes: IntVector
    groups: IntVector

    def draw(self, block: IntVector, random: np.random.Generator) -> IntVector:
        """A random row of each of these blocks."""
        first = np.cumsum(self.sizes) - self.sizes
        place = first[block] + (random.random(block.shape) * self.sizes[block]).astype(np.int64)
        return np.asarray(self.rows[place], np.int64)

    def sets(self, n: int, m: int, random: np.random.Generator) -> IntVector:
        """For each block m sets of n rows from n different sentences (blocks * m, n)."""
        block = np.repeat(np.arange(len(self.sizes)), m)[:, None] + np.zeros(n, np.int64)
        drawn = self.draw(block, random)
        for _ in range(_TRIES):
            named = self.groups[drawn]
            order = np.argsort(named, axis=1, kind="stable")
            named = np.take_along_axis(named, order, axis=1)
            twice = np.zeros(drawn.shape, np.bool_)
            np.put_along_axis(twice, order[:, 1:], named[:, 1:] == named[:, :-1], axis=1)
            if not twice.any():
                break
            drawn[twice] = self.draw(block[twice], random)
        return drawn


def _means(layer: LayerGeometry, drawn: IntVector, blocks: int) -> Vector:
    """Mean IntraSim, per block, of sets of rows."""
    picked = layer.sample.vectors_at(drawn.ravel()).reshape(*drawn.shape, -1)
    weights = (1 / layer.sample.norms[drawn]).astype(picked.dtype)
    sums, unit_sums = picked.sum(axis=1), np.matmul(weights[:, None, :], picked)[:, 0]
    reach = np.linalg.norm(sums, axis=1)
    values = np.vecdot(sums, unit_sums) / np.where(reach > 0, reach, 1.0) / drawn.shape[1]
    return np.asarray(values.reshape(blocks, -1).mean(axis=1), np.float64)
