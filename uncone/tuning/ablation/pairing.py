"""Accuracies over several seeds, and their differences from the first variant, paired by seed and by test item."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uncone.analysis.intervals.bootstrap import Difference, Replicates, differences
from uncone.analysis.intervals.pair_units import item_units
from uncone.analysis.intervals.resampling import REPLICATES, Score, Weights, mean_size, share_score

__all__ = ["PairedAccuracy", "paired_accuracies"]


@dataclass(frozen=True)
class PairedAccuracy:
    """The accuracy of a variant over all seeds, and its difference from the first variant, None for that one.

    `units` is the number of distinct test items.
    """

    accuracy: Score
    difference: Difference | None
    units: int


def paired_accuracies(
    hits: Mapping[str, ArrayLike], items: Sequence[tuple[str, str]], seed: int = 0
) -> dict[str, PairedAccuracy]:
    """Accuracies of variants, with intervals over test items and seeds.

    A replicate draws distinct test items, and the seeds of the training, with replacement and the same for all
    variants. Few seeds vary too little among their draws, so their deviations are stretched by sqrt(s/(s - 1)). The
    differences are corrected (Holm) for their number.

    Args:
        hits: for each variant, whether each item was right under each seed (seeds, items); the reference first.
        items: what makes an item distinct.
        seed: draws the replicates.
    """
    table = np.array([np.atleast_2d(np.asarray(own, np.float64)) for own in hits.values()])
    variants, seeds, n = table.shape
    units = item_units(items)

    def accuracies(weights: Weights) -> NDArray[np.float64]:
        return np.asarray(table.reshape(-1, n) @ weights.T / weights.sum(axis=1))

    by_seed = units.replicate(accuracies, REPLICATES, seed).reshape(variants, seeds, -1)
    draws = np.einsum("vsr,sr->vr", by_seed, _seed_shares(seeds, by_seed.shape[2], seed))
    means = table.mean(axis=1)
    scores, sizes = means.mean(axis=1), [mean_size(own, units.effective_items) for own in means]
    gains = differences(Replicates(scores, draws, n, units.independent, min(sizes)))
    return {
        name: PairedAccuracy(
            share_score(float(scores[at]), draws[at], n, sizes[at]), gains[at] if at else None, units.independent
        )
        for at, name in enumerate(hits)
    }


def _seed_shares(seeds: int, replicates: int, seed: int) -> NDArray[np.float64]:
    """The share of each seed in each replicate (seeds, replicates)."""
    if seeds == 1:
        return np.ones((1, replicates))
    counts = np.random.default_rng([seed, seeds]).multinomial(seeds, np.full(seeds, 1 / seeds), size=replicates).T
    return np.asarray(1 / seeds + np.sqrt(seeds / (seeds - 1)) * (counts - 1) / seeds)
