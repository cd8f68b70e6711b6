"""Pairs of rows with a score each: what a repair is judged by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uncone.data.batch import IntVector
from uncone.data.tasks.scored_pairs import FEWEST, PairTask
from uncone.errors import FormatError, ShapeError

__all__ = ["PairProblem", "pair_problem"]


@dataclass(frozen=True, eq=False)
class PairProblem:
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
        distinct = len({(min(one), max(one)) for one in zip(self.left.tolist(), self.right.tolist(), strict=True)})
        if distinct < FEWEST:
            raise ShapeError(f"{self.name} has {distinct} distinct pairs, and we need at least {FEWEST}. Add some.")
        if min(self.left.min(), self.right.min()) < 0:
            raise ShapeError(f"{self.name}: rows are counted from 0; one is negative.")
        if not np.isfinite(self.scores).all():
            raise FormatError(f"{self.name}: some scores are not finite. Leave those pairs out.")
        if (self.scores == self.scores[0]).all():
            both = " We need both 0 and 1." if self.labelled else " We need pairs that differ."
            raise FormatError(f"{self.name}: all {len(self):,} scores are {self.scores[0]:g}.{both}")

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def labelled(self) -> bool:
        """Whether the scores are labels: 0 and 1, and nothing between."""
        return bool(np.isin(self.scores, (0.0, 1.0)).all())

    @property
    def measure(self) -> str:
        """What the similarities are judged by."""
        return "ROC-AUC" if self.labelled else "Spearman"


def pair_problem(task: PairTask) -> tuple[list[str], PairProblem]:
    """The distinct texts of a task, each to be encoded once, and its pairs as rows of them.

    >>> ten = [f"text {i}" for i in range(10)]
    >>> texts, pairs = pair_problem(PairTask("ten", ten, [*ten[1:], "end"], np.arange(10.0), ["ten"] * 10))
    >>> len(texts), pairs.right[:3].tolist()
    (11, [1, 2, 3])
    """
    texts = list(dict.fromkeys([*task.left, *task.right]))
    row = {text: i for i, text in enumerate(texts)}
    left, right = (_rows(side, row) for side in (task.left, task.right))
    return texts, PairProblem(left, right, task.scores, name=task.name)


def _rows(side: Sequence[str], row: dict[str, int]) -> IntVector:
    return np.array([row[text] for text in side], np.int64)


def _column(values: Any, dtype: type[Any], what: str) -> NDArray[Any]:  # noqa: ANN401 - any column of numbers
    given = np.asarray(values)
    if given.ndim != 1 or (dtype is np.int64 and given.size and given.dtype.kind not in "iu"):
        need = "whole numbers" if dtype is np.int64 else "numbers"
        raise ShapeError(f"{what} has to be one column of {need}, not {given.dtype} of shape {given.shape}.")
    return given.astype(dtype)
