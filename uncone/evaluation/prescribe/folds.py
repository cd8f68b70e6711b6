"""Folds of pairs: what is chosen or fitted on some shares no text with those it is judged on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from uncone.analysis.intervals.pair_units import PairUnits, pair_units
from uncone.data.batch import IntVector
from uncone.errors import FormatError, OptionError
from uncone.evaluation.prescribe.problem import PairProblem

__all__ = ["LEAST_FOLDS", "Folds", "split"]

LEAST_FOLDS = 3
"""One to test on, one to choose on, one to fit on."""

_COMFORT = 10  # distinct pairs per fold, if there are enough


@dataclass(frozen=True, eq=False)
class Folds:
    """The fold of each pair (n,), and the units that the pairs are drawn by.

    If no text stands in two folds, they are `apart`. Where one group of linked pairs is too large for a fold that
    cannot be; `clear` then tells which pairs of a fold share no text with another.
    """

    fold: IntVector
    units: PairUnits
    k: int

    def pairs(self, *folds: int) -> IntVector:
        """The pairs of some folds."""
        return np.flatnonzero(np.isin(self.fold, folds))

    def clear(self, fold: int, other: int) -> NDArray[np.bool_]:
        """Which pairs of a fold share no text with any of the other fold, in the order of `pairs(fold)`."""
        return self.units.clear_of(self.fold == other)[self.pairs(fold)]

    @property
    def apart(self) -> bool:
        """Whether no text stands in two folds."""
        return all((self.units.clear_of(self.fold == fold) == (self.fold != fold)).all() for fold in range(self.k))


def split(pairs: PairProblem, texts: IntVector, folds: int, seed: int) -> Folds:
    """Deal the pairs into folds of nearly one size, labels in nearly equal shares.

    `texts` (rows,) is the text of each row, as a number. There are fewer folds if they would have under 10 distinct
    pairs. Linked pairs stay together; a group that would fill over half a fold is cut, and so are all of them if the
    labels cannot be shared out otherwise.

    Raises:
        OptionError: fewer than three folds are asked for.
        FormatError: there are fewer than three distinct pairs of one label.
    """
    if folds < LEAST_FOLDS:
        raise OptionError(f"{folds} folds are too few: one to test, one to choose, one to fit on make {LEAST_FOLDS}.")
    units = pair_units(len(pairs), (texts[pairs.left].tolist(), texts[pairs.right].tolist()))
    kinds = pairs.scores.astype(np.int64) if pairs.labelled else np.zeros(len(pairs), np.int64)
    sizes = np.bincount(kinds)
    distinct = np.array([units.select(np.flatnonzero(kinds == kind)).distinct for kind in range(len(sizes))])
    if distinct.min() < LEAST_FOLDS:
        at = int(distinct.argmin())
        raise FormatError(
            f"{pairs.name}: {distinct[at]} of {units.distinct:,} distinct pairs are labeled {at}, and we need at least "
            f"{LEAST_FOLDS} of each. Label some more."
        )
    k = min(folds, max(LEAST_FOLDS, int(distinct.min()) // _COMFORT))
    rng = np.random.default_rng(seed)
    for piece, last in ((units.pieces(k), False), (units.pair, True)):
        counts = np.zeros((piece.max() + 1, len(sizes)))
        np.add.at(counts, (piece, kinds), 1)
        dealt = _dealt(counts, k, rng)[piece]
        shares = np.stack([np.bincount(dealt[kinds == kind], minlength=k) for kind in range(len(sizes))])
        if last or (shares >= 0.5 * sizes[:, None] / k).all():
            break
    return Folds(dealt, units, k)


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
