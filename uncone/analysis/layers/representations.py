"""What two trainings leave in a layer: linear CKA of two models, and what a linear probe finds in one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from uncone.analysis.cosine.alignment import alignment
from uncone.data.batch import Matrix
from uncone.errors import ShapeError

__all__ = ["TrainedVectors", "linear_cka", "linear_probe"]

_MOST_ITERATIONS = 1000


@dataclass(frozen=True, eq=False)
class TrainedVectors:
    """Vectors that the measures of training need: those of texts, and what they are compared with.

    `others` are the vectors of the same texts by another model, or of texts that belong to them. `labels` are the
    classes of the rows, and `test` with `test_labels` other rows of the same space.
    """

    vectors: Matrix
    others: Matrix | None = None
    labels: Sequence[str] = ()
    test: Matrix | None = None
    test_labels: Sequence[str] = ()

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.vectors)

    def alignment(self) -> float | None:
        """The mean squared distance of unit vectors that belong together."""
        return None if self.others is None else alignment(self.vectors, self.others)

    def cka(self) -> float | None:
        """Linear CKA with the other vectors."""
        return None if self.others is None else linear_cka(self.vectors, self.others)

    def probe(self) -> float | None:
        """The accuracy of a linear probe on the test rows."""
        return None if self.test is None else linear_probe(self.vectors, self.labels, self.test, self.test_labels)


def linear_cka(first: ArrayLike, second: ArrayLike) -> float | None:
    """|YᵀX|²/(|XᵀX| |YᵀY|) of centered rows: 1 if a rotation and a scale turn one space into the other.

    >>> rows = np.random.default_rng(0).normal(size=(20, 3))
    >>> round(linear_cka(rows, 5 * rows @ np.linalg.qr(np.ones((3, 3)) + np.eye(3))[0]), 6)
    1.0

    Raises:
        ShapeError: not the same number of rows.
    """
    x, y = (np.asarray(rows, np.float64) for rows in (first, second))
    if len(x) != len(y):
        raise ShapeError(f"CKA compares the same texts in two spaces, not {len(x):,} and {len(y):,} of them.")
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    below = np.linalg.norm(x.T @ x) * np.linalg.norm(y.T @ y)
    return float(np.linalg.norm(y.T @ x) ** 2 / below) if below > 0 else None


def linear_probe(rows: ArrayLike, labels: Sequence[str], test: ArrayLike, test_labels: Sequence[str]) -> float:
    """The accuracy of logistic regression on standardized vectors, learned on `rows` and judged on `test`."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    probe = make_pipeline(StandardScaler(), LogisticRegression(max_iter=_MOST_ITERATIONS))
    probe.fit(np.asarray(rows, np.float64), list(labels))
    return float(probe.score(np.asarray(test, np.float64), list(test_labels)))
