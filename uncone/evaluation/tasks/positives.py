"""Alignment of positive pairs, and uniformity, of the sentences of a dataset (Wang and Isola 2020)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from uncone.analysis.cosine.alignment import exact_uniformity
from uncone.analysis.intervals.pair_units import PairUnits
from uncone.analysis.intervals.resampling import Score, Weights, score
from uncone.data.batch import Matrix

__all__ = ["alignments", "positive_pairs", "sampled_uniformity"]

_UPPER = 0.8  # of the highest score: 4 of 5
_ROWS = 1024
"""Sentences of a seeded sample that give the uniformity."""


def positive_pairs(scores: NDArray[np.float64]) -> NDArray[np.bool_]:
    """The pairs that mean the same: with 80 % of the highest score or more, which is 4 of 5.

    >>> positive_pairs(np.array([5.0, 4.0, 3.9, 0.0])).tolist()
    [True, True, False, False]
    """
    top = float(scores.max(initial=0.0))
    return np.asarray(scores >= _UPPER * top) if top > 0 else np.zeros(len(scores), np.bool_)


def alignments(
    scores: NDArray[np.float64], cosines: Sequence[NDArray[np.float64]], units: PairUnits, replicates: int, seed: int
) -> list[Score]:
    """The mean of |u - v|^2 over positive pairs for each set of cosines (n,), with intervals over units of pairs."""
    positive = positive_pairs(scores)
    n = int(positive.sum())
    if not n or not cosines:
        return [Score(None, None, None, n)] * len(cosines)
    own = units.select(np.flatnonzero(positive))
    distances = 2 - 2 * np.stack([each[positive] for each in cosines])

    def means(weights: Weights) -> NDArray[np.float64]:
        totals = weights.sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(distances @ weights.T / totals)

    draws = own.replicate(means, replicates, seed)
    values = means(np.ones((1, n), np.int64))[:, 0].tolist()
    return [score(value, sample, n) for value, sample in zip(values, draws, strict=True)]


def sampled_uniformity(units: Matrix, seed: int) -> float | None:
    """The uniformity of unit vectors (n, d); of many, that of a seeded sample."""
    if len(units) > _ROWS:
        units = units[np.sort(np.random.default_rng(seed).choice(len(units), _ROWS, replace=False))]
    return exact_uniformity(units)
