"""A space as the walk-through shows it: a small heatmap, and numbers over all pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from uncone.data.batch import IntVector, Matrix, Vector
from uncone.data.lazy_property import once

__all__ = ["SpaceView", "auc_of", "cosine_matrix"]


def cosine_matrix(rows: Matrix) -> Matrix:
    """The cosine of every two vectors (n, n), in float64; NaN with a zero vector.

    >>> cosine_matrix(np.array([[3.0, 0.0], [0.0, 2.0]])).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    units = _units(rows)
    cosines = np.asarray((units @ units.T).clip(-1.0, 1.0))
    cosines[np.diag_indices(len(cosines))] = np.where(np.isfinite(units[:, 0]), 1.0, np.nan)
    return cosines


def _units(rows: Matrix) -> Matrix:
    wide = np.asarray(rows, np.float64)
    norms = np.sqrt(np.vecdot(wide, wide))
    return np.asarray(wide / np.where(norms > 0, norms, np.nan)[:, None])


def auc_of(within: Vector, between: Vector) -> float | None:
    """The probability that a pair within a label is more similar than one between labels; ties count half.

    >>> auc_of(np.array([0.9, 0.5]), np.array([0.5, 0.1]))
    0.875
    """
    if not len(within) or not len(between):
        return None
    ordered = np.sort(between)
    wins = np.searchsorted(ordered, within, "left") + np.searchsorted(ordered, within, "right")
    return float(wins.sum(dtype=np.float64) / (2 * len(within) * len(between)))


@dataclass(frozen=True, eq=False)
class SpaceView:
    """Vectors (n, d) and label codes (n,): all pairs of the rows `paired` are measured, `drawn` are in the heatmap."""

    rows: Matrix
    codes: IntVector | None
    paired: IntVector
    drawn: IntVector

    def after(self, rows: Matrix) -> SpaceView:
        """The same view of the vectors after a repair."""
        return SpaceView(rows, self.codes, self.paired, self.drawn)

    @property
    def heatmap(self) -> Matrix:
        """The cosines of the drawn rows."""
        return cosine_matrix(self.rows[self.drawn])

    @once
    def mean(self) -> float:
        """The mean cosine of all pairs: (|S|^2 - n)/(n^2 - n), with S the sum of the unit vectors."""
        units = _units(self.rows)
        units = units[np.isfinite(units[:, 0])]
        n, total = len(units), units.sum(axis=0)
        return float((total @ total - n) / (n * (n - 1))) if n > 1 else float("nan")

    @once
    def _pairs(self) -> tuple[Vector, IntVector, IntVector]:
        """The cosines of the pairs, and the places of both rows."""
        one, other = np.triu_indices(len(self.paired), 1)
        cosines = cosine_matrix(self.rows[self.paired])[one, other]
        known = np.isfinite(cosines)
        return cosines[known], one[known], other[known]

    @once
    def sd(self) -> float:
        """The standard deviation of the cosines of pairs."""
        return float(self._pairs[0].std()) if len(self._pairs[0]) else 0.0

    @once
    def numbers(self) -> dict[str, float | None]:
        """Mean, deviation and percentiles of the cosines and, with labels, their means within and between labels."""
        cosines, one, other = self._pairs
        quantiles = np.quantile(cosines, [0.025, 0.5, 0.975]).tolist() if len(cosines) else [None] * 3
        made: dict[str, float | None] = {"mean": self.mean, "sd": self.sd}
        made |= dict(zip(("p2.5", "p50", "p97.5"), quantiles, strict=True))
        if self.codes is not None:
            first, second = (self.codes[self.paired][side] for side in (one, other))
            labeled, same = (first >= 0) & (second >= 0), first == second
            kinds = {"within": cosines[labeled & same], "between": cosines[labeled & ~same]}
            made |= {name: float(values.mean()) if len(values) else None for name, values in kinds.items()}
            made["auc"] = auc_of(*kinds.values())
        return made
