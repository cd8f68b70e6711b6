"""How alike the occurrences of one type are, and those of different types (Cai et al. 2021)."""

from __future__ import annotations

import math

import numpy as np

from uncone.analysis.context.context import Estimate, word_mean
from uncone.analysis.context.word_variance import two_way
from uncone.analysis.layers.geometry import LayerGeometry
from uncone.analysis.measures.finding import Finding
from uncone.analysis.number_format import cosine
from uncone.data.batch import Vector

__all__ = ["types"]

_SENTENCES = 2
"""Different sentences that a type stands in for S_intra."""


def types(layer: LayerGeometry) -> list[Finding]:
    """S_intra over the types in two sentences or more, S_inter over all pairs; types and sentences are units."""
    assert layer.words is not None
    within, _, _, n = word_mean(layer, _SENTENCES)
    between, t = _between(layer)
    return [
        within.finding("s_intra", n, f"Within a type: {_said(within)}, over {n:,} types.", most=1.0),
        between.finding("s_inter", t, f"Between types: {_said(between)}, over {t:,} types."),
    ]


def _between(layer: LayerGeometry) -> tuple[Estimate, int]:
    """(|sum m|^2 - sum |m|^2)/(T^2 - T) and T; its variance from the mean cosine of each type with all others.

    Types that occur once are only there as a sum, so their part in the variance is read off those in the sample.
    """
    words = layer.words
    assert words is not None
    counts = np.maximum(words.counts, 1)  # a word that was not met has a sum of zero, and so a mean of zero
    met = int(np.count_nonzero(words.counts))
    total = (1 / counts) @ words.totals + words.single_total
    t = met + words.singles
    if t < 3:
        return Estimate(math.nan, math.nan, t), t
    squares = np.vecdot(words.totals, words.totals) / counts**2
    value = (float(total @ total) - float(squares.sum()) - words.singles) / (t * (t - 1))
    each = [((words.totals @ total / counts - squares) / (t - 1))[words.counts > 0]]
    shares = [met / t]
    sample = layer.sample
    alone = np.flatnonzero(sample.words == -1) if sample.words is not None else np.empty(0, np.int64)
    if len(alone) > 1:
        units = sample.vectors_at(alone) / sample.norms[alone, None]
        each.append((units @ total - 1) / (t - 1))
        shares.append(words.singles / t)
    mean = sum(share * float(one.mean()) for share, one in zip(shares, each, strict=True) if len(one))
    square = sum(share * float((one**2).mean()) for share, one in zip(shares, each, strict=True) if len(one))
    by_types = 4 * max(square - mean**2, 0.0) / t
    return Estimate(
        value, two_way(layer, by_types, _influence(layer, total, squares, value, t)), min(t, layer.texts)
    ), t


def _influence(layer: LayerGeometry, total: Vector, squares: Vector, value: float, t: int) -> Vector:
    """What each sampled row adds to S_inter, times the number of rows.

    A row whose type stands in one text alone adds its type, any other its context.
    """
    words, sample = layer.words, layer.sample
    each = np.zeros(sample.n)
    if words is None or sample.words is None:
        return each
    towards = sample.dot(total) / sample.norms
    single, rows = np.flatnonzero(sample.words == -1), np.flatnonzero(sample.words >= 0)
    each[single] = 2 * layer.n / t * ((towards[single] - 1) / (t - 1) - value)
    word = sample.words[rows]
    counts, contexts = words.counts[word], words.contexts[word]
    means = (words.totals @ total)[word] / counts
    by_type = (means - squares[word]) / (t - 1) - value
    # The mean of few contexts lies too close to each of them.
    by_context = (towards[rows] - means) / (t - 1) * np.sqrt(contexts / np.maximum(contexts - 1, 1))
    each[rows] = 2 * layer.n / t * np.where(contexts > 1, by_context, by_type) / counts
    return each


def _said(estimate: Estimate) -> str:
    return "unknown" if not math.isfinite(estimate.value) else cosine(estimate.value)
