"""Scored pairs of vectors in folds, and how well similarities agree with the scores over the folds.

Folds used to fit or choose share no text with the folds used to test. The cosines of two folds come from two
fits, so they are never ranked with each other: each fold has a score of its own, and the mean over the folds, weighted
with their pairs, is the score. Pairs that share texts are drawn together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uncone.analysis.intervals.bootstrap import Auc, Replicates, Spearman, centered
from uncone.analysis.intervals.pair_units import PairUnits, pair_units
from uncone.analysis.intervals.resampling import Weights
from uncone.data.batch import IntVector
from uncone.data.tasks.sts import FEWEST, PairTask, ScoredPairs
from uncone.errors import FormatError, OptionError, ShapeError

__all__ = ["LEAST_FOLDS", "Folds", "Judge", "PairProblem", "pair_problem", "split"]

_Floats = NDArray[np.float64]

LEAST_FOLDS = 3
"""One fold to test, one to choose, one to fit."""

_COMFORT = 10  # distinct pairs per fold, if there are enough


@dataclass(frozen=True, eq=False)
class PairProblem(ScoredPairs):
    """Pairs of rows of a table of vectors, with a score each, or with a label 0 or 1; checked on creation.

    Raises:
        ShapeError: the columns are of different lengths, there are fewer than 10 distinct pairs, or a row is negative.
        FormatError: a score is not finite, or all are the same.
    """

    left: IntVector
    right: IntVector
    scores: NDArray[np.float64]
    name: str = "pairs"

    def __post_init__(self) -> None:
        for column, dtype in (("left", np.int64), ("right", np.int64), ("scores", np.float64)):
            object.__setattr__(self, column, _column(getattr(self, column), dtype, f"{self.name}: {column}"))
        lengths = {len(self.left), len(self.right), len(self.scores)}
        if len(lengths) > 1:
            raise ShapeError(f"{self.name}: rows and scores of different lengths: {sorted(lengths)}.")
        distinct = len({(min(pair), max(pair)) for pair in zip(self.left.tolist(), self.right.tolist(), strict=True)})
        if distinct < FEWEST:
            raise ShapeError(f"{self.name} has {distinct} distinct pairs; we need at least {FEWEST}. Add some.")
        if min(self.left.min(), self.right.min()) < 0:
            raise ShapeError(f"{self.name}: rows are counted from 0; one is negative.")
        self._check_scores()

    @property
    def measure(self) -> str:
        """The measure of agreement between similarities and scores."""
        return "ROC-AUC" if self.labeled else "Spearman"


def pair_problem(task: PairTask) -> tuple[list[str], PairProblem]:
    """The distinct texts of a task, each to be encoded once, and its pairs as rows of them.

    >>> ten = [f"text {i}" for i in range(10)]
    >>> texts, pairs = pair_problem(PairTask("ten", ten, [*ten[1:], "end"], np.arange(10.0), ["ten"] * 10))
    >>> len(texts), pairs.right[:3].tolist()
    (11, [1, 2, 3])
    """
    texts = list(dict.fromkeys([*task.left, *task.right]))
    row = {text: i for i, text in enumerate(texts)}
    left, right = (np.array([row[text] for text in side], np.int64) for side in (task.left, task.right))
    return texts, PairProblem(left, right, task.scores, name=task.name)


def _column(values: Any, dtype: type[Any], label: str) -> NDArray[Any]:  # noqa: ANN401 - any column of numbers
    column = np.asarray(values)
    if column.ndim != 1 or (dtype is np.int64 and column.size and column.dtype.kind not in "iu"):
        need = "whole numbers" if dtype is np.int64 else "numbers"
        raise ShapeError(f"{label} has to be one column of {need}, not {column.dtype} of shape {column.shape}.")
    return column.astype(dtype)


@dataclass(frozen=True, eq=False)
class Folds:
    """The fold of each pair (n,), and the units that the pairs are drawn by.

    The folds are `apart` if no text is in two of them. A group of linked pairs that is too large for one fold
    prevents that; `clear` then selects the pairs of a fold that share no text with another.
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
        """Whether no text is in two folds."""
        return all((self.units.clear_of(self.fold == fold) == (self.fold != fold)).all() for fold in range(self.k))


def split(pairs: PairProblem, texts: IntVector, folds: int, seed: int) -> Folds:
    """Split the pairs into folds of nearly equal size, stratified by label.

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
    kinds = pairs.scores.astype(np.int64) if pairs.labeled else np.zeros(len(pairs), np.int64)
    sizes = np.bincount(kinds)
    distinct = np.array([units.select(np.flatnonzero(kinds == kind)).distinct for kind in range(len(sizes))])
    if distinct.min() < LEAST_FOLDS:
        at = int(distinct.argmin())
        raise FormatError(
            f"{pairs.name}: {distinct[at]} of {units.distinct:,} distinct pairs are labeled {at}; we need at least "
            f"{LEAST_FOLDS} of each. Label some more."
        )
    k = min(folds, max(LEAST_FOLDS, int(distinct.min()) // _COMFORT))
    rng = np.random.default_rng(seed)
    for piece, last in ((units.pieces(k), False), (units.pair, True)):
        counts = np.zeros((piece.max() + 1, len(sizes)))
        np.add.at(counts, (piece, kinds), 1)
        dealt = _deal(counts, k, rng)[piece]
        shares = np.stack([np.bincount(dealt[kinds == kind], minlength=k) for kind in range(len(sizes))])
        if last or (shares >= 0.5 * sizes[:, None] / k).all():
            break
    return Folds(dealt, units, k)


def _deal(counts: _Floats, k: int, rng: np.random.Generator) -> IntVector:
    """Assign units to folds, largest first, each to the fold where it adds least to the squared loads."""
    shares = counts / counts.sum(axis=0)
    order = rng.permutation(len(counts))
    order = order[np.argsort(-shares[order].sum(axis=1), kind="stable")]
    load = np.zeros((k, counts.shape[1]))
    fold = np.empty(len(counts), np.int64)
    for unit in order:
        fold[unit] = int((load @ shares[unit]).argmin())
        load[fold[unit]] += shares[unit]
    return fold


class Judge:
    """Spearman, or ROC-AUC for labels, of the similarities of M methods (M, n) over the folds."""

    def __init__(self, pairs: PairProblem, folds: Folds) -> None:
        self.places = [folds.pairs(fold) for fold in range(folds.k)]
        self.weights = np.array([len(place) for place in self.places], np.float64) / len(pairs)
        self._pairs, self._units = pairs, folds.units

    def on(self, places: IntVector, similarities: _Floats) -> _Floats:
        """The scores (M,) of the similarities (M, pairs) of some pairs; NaN without pairs."""
        if not len(places):
            return np.full(len(similarities), np.nan)
        return self._score(places, similarities)(np.ones((1, len(places)), np.int64))[:, 0]

    def over_folds(self, similarities: _Floats, replicates: int, seed: int) -> Replicates:
        """The scores of similarities (M, n), and their replicates on the same bootstrap draws of the pairs."""
        each = [self._score(place, similarities[:, place]) for place in self.places]

        def statistic(weights: Weights) -> _Floats:
            by_fold = [score(weights[:, place]) for score, place in zip(each, self.places, strict=True)]
            return np.asarray(np.einsum("f,fmr->mr", self.weights, np.stack(by_fold)))

        scores = statistic(np.ones((1, similarities.shape[1]), np.int64))[:, 0]
        values = self._units.replicate(statistic, replicates, seed, centers=len(self.places))
        return centered(scores, values, similarities.shape[1], self._units.independent)

    def _score(self, places: IntVector, similarities: _Floats) -> Auc | Spearman:
        return (Auc if self._pairs.labeled else Spearman)(self._pairs.scores[places], similarities)
