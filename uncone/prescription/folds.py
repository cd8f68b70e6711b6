"""Folds of pairs that share no text, so that what is chosen or fitted on some says nothing of the others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from uncone.data.batch import IntVector
from uncone.errors import FormatError, OptionError
from uncone.prescription.problem import PairProblem

__all__ = ["LEAST_FOLDS", "Folds", "split"]

LEAST_FOLDS = 3
"""One to test on, one to choose on, one to fit on."""

_COMFORT = 10  # pairs per fold, where there are enough
_FEWEST_UNITS = 5  # in a fold: of fewer, draws with replacement tell too little


@dataclass(frozen=True, eq=False)
class Folds:
    """The fold of each pair (n,), and the unit it is drawn with in a bootstrap (n,): pairs that share texts are one.

    `apart` says that no text stands in two folds. Where nearly all pairs hang together that cannot be; a fit still
    leaves the texts of the held-out pairs out. With fewer than 5 units in a fold every pair is a unit of its own.
    """

    fold: IntVector
    unit: IntVector
    k: int
    apart: bool

    def pairs(self, *folds: int) -> IntVector:
        """The pairs of some folds."""
        return np.flatnonzero(np.isin(self.fold, folds))


def split(pairs: PairProblem, texts: IntVector, folds: int, seed: int) -> Folds:
    """Deal the pairs into folds of nearly one size, labels in nearly equal shares.

    `texts` (rows,) is the text of each row, as a number. There are fewer folds where they would have under 10 pairs.

    Raises:
        OptionError: fewer than three folds are asked for.
        FormatError: there are fewer than three pairs of one label.
    """
    if folds < LEAST_FOLDS:
        raise OptionError(f"{folds} folds are too few: one to test, one to choose, one to fit on make {LEAST_FOLDS}.")
    kinds = pairs.scores.astype(np.int64) if pairs.labelled else np.zeros(len(pairs), np.int64)
    sizes = np.bincount(kinds)
    if sizes.min() < LEAST_FOLDS:
        at = int(sizes.argmin())
        raise FormatError(
            f"{pairs.name}: {sizes[at]} of {len(pairs):,} labels are {at}, and we need at least {LEAST_FOLDS} of each."
        )
    k = min(folds, max(LEAST_FOLDS, int(sizes.min()) // _COMFORT))
    rng = np.random.default_rng(seed)
    for unit, apart in ((_connected(pairs, texts), True), (np.arange(len(pairs)), False)):
        counts = np.zeros((unit.max() + 1, len(sizes)))
        np.add.at(counts, (unit, kinds), 1)
        dealt = _dealt(counts, k, rng)[unit]
        shares = np.stack([np.bincount(dealt[kinds == kind], minlength=k) for kind in range(len(sizes))])
        if not apart or (shares >= 0.5 * sizes[:, None] / k).all():
            break
    few = min(len(np.unique(unit[dealt == fold])) for fold in range(k)) < _FEWEST_UNITS
    return Folds(dealt, np.arange(len(pairs)) if few else unit, k, apart)


def _connected(pairs: PairProblem, texts: IntVector) -> IntVector:
    """The component of each pair in the graph of texts."""
    left, right = texts[pairs.left], texts[pairs.right]
    size = int(texts.max()) + 1
    graph = coo_array((np.ones(len(left), np.int8), (left, right)), shape=(size, size))
    of_text = connected_components(graph, directed=False)[1]
    return np.unique(of_text[left], return_inverse=True)[1].astype(np.int64)


def _dealt(counts: np.ndarray[tuple[int, int], np.dtype[np.float64]], k: int, rng: np.random.Generator) -> IntVector:
    """The fold of each unit: the largest first, each to where it adds least to the squares of the loads."""
    shares = counts / counts.sum(axis=0)
    order = rng.permutation(len(counts))
    order = order[np.argsort(-shares[order].sum(axis=1), kind="stable")]
    load = np.zeros((k, counts.shape[1]))
    fold = np.empty(len(counts), np.int64)
    for unit in order:
        fold[unit] = int((load @ shares[unit]).argmin())
        load[fold[unit]] += shares[unit]
    return fold
