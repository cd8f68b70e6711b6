"""What is seen of a space when its rows are drawn against each other: a small heatmap, and the numbers of all pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from uncone.data.batch import IntVector, Matrix, Vector
from uncone.data.lazy_property import once

__all__ = ["Seen", "auc_of", "cosines_of"]


def cosines_of(rows: Matrix) -> Matrix:
    """The cosine of every two rows (n, n), in float64; NaN with a row that is zero.

    >>> cosines_of(np.array([[3.0, 0.0], [0.0, 2.0]])).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    units = _units(rows)
    cosines = np.asarray((units @ units.T).clip(-1.0, 1.0))
    cosines[np.diag_indices(len(cosines))] = np.where(np.isfinite(units[:, 0]), 1.0, np.nan)
    return cosines


def _units(rows: Matrix) -> Matrix:
    exact = np.asarray(rows, np.float64)
    norms = np.sqrt(np.vecdot(exact, exact))
    return np.asarray(exact / np.where(norms > 0, norms, np.nan)[:, None])


def auc_of(within: Vector, between: Vector) -> float | None:
    """The probability that a pair within a label is more alike than one between labels; equal ones count half.

    >>> auc_of(np.array([0.9, 0.5]), np.array([0.5, 0.1]))
    0.875
    """
    if not len(within) or not len(between):
        return None
    ordered = np.sort(between)
    wins = np.searchsorted(ordered, within, "left") + np.searchsorted(ordered, within, "right")
    return float(wins.sum(dtype=np.float64) / (2 * len(within) * len(between)))


@dataclass(frozen=True, eq=False)
class Seen:
    """The rows (n, d) of a space, the labels as numbers (n,), and which rows are looked at.

    `paired` are the rows whose every pair is taken, `drawn` those of the heatmap, in its order.
    """

    rows: Matrix
    codes: IntVector | None
    paired: IntVector
    drawn: IntVector

    def after(self, rows: Matrix) -> Seen:
        """The same look at the rows after a repair."""
        return Seen(rows, self.codes, self.paired, self.drawn)

    @property
    def heatmap(self) -> Matrix:
        """The cosines of the drawn rows."""
        return cosines_of(self.rows[self.drawn])

    @once
    def mean(self) -> float:
        """The mean cosine of two different rows, over all pairs: (|S|^2 - n)/(n^2 - n) with S the sum of the units."""
        units = _units(self.rows)
        units = units[np.isfinite(units[:, 0])]
        n, total = len(units), units.sum(axis=0)
        return float((total @ total - n) / (n * (n - 1))) if n > 1 else float("nan")

    @once
    def _pairs(self) -> tuple[Vector, IntVector, IntVector]:
        """The cosines of the pairs of the paired rows, and the places of both rows."""
        one, other = np.triu_indices(len(self.paired), 1)
        cosines = cosines_of(self.rows[self.paired])[one, other]
        known = np.isfinite(cosines)
        return cosines[known], one[known], other[known]

    @once
    def sd(self) -> float:
        """The standard deviation of the cosines of pairs."""
        return float(self._pairs[0].std()) if len(self._pairs[0]) else 0.0

    @once
    def numbers(self) -> dict[str, float | None]:
        """Mean, deviation, percentiles and, with labels, what pairs within and between them score."""
        cosines, one, other = self._pairs
        shares = np.quantile(cosines, [0.025, 0.5, 0.975]).tolist() if len(cosines) else [None] * 3
        found: dict[str, float | None] = {"mean": self.mean, "sd": self.sd}
        found |= dict(zip(("p2.5", "p50", "p97.5"), shares, strict=True))
        if self.codes is not None:
            codes = self.codes[self.paired]
            labelled = (codes[one] >= 0) & (codes[other] >= 0)
            same = codes[one] == codes[other]
            within, between = cosines[labelled & same], cosines[labelled & ~same]
            found |= {"within": _mean(within), "between": _mean(between), "auc": auc_of(within, between)}
        return found


def _mean(values: Vector) -> float | None:
    return float(values.mean()) if len(values) else None
