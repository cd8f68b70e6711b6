"""Spearman and ROC-AUC of weighted pairs, for many methods and many draws at once.

A pair drawn twice is a tie, so ranks have to be made again in each draw; with the values sorted once, they follow from
cumulative weights, exactly and without sorting again. Weights need not be whole, and their sum may vary.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from uncone.analysis.intervals.resampling import Weights

__all__ = ["Auc", "Spearman"]

_Floats = NDArray[np.float64]


class _Groups:
    """A column sorted once: the rows in order, and where each group of equal values begins."""

    def __init__(self, values: _Floats) -> None:
        self.order = np.argsort(values, kind="stable")
        new = np.diff(values[self.order], prepend=np.nan) != 0  # the first differs from NaN
        self.starts = np.flatnonzero(new)
        self.group = np.empty(len(values), np.int64)
        self.group[self.order] = np.cumsum(new) - 1
        self.tied = len(self.starts) < len(values)

    def sums(self, columns: _Floats) -> _Floats:
        """The rows (n, r) summed within the groups, in order: (groups, r)."""
        ordered = columns[self.order]
        return np.add.reduceat(ordered, self.starts, axis=0) if self.tied else ordered

    def mid_ranks(self, weights: _Floats, total: _Floats) -> tuple[_Floats, _Floats]:
        """The mid-rank of each group less their mean, (groups, r), and their sum of squares over all rows, (r,).

        With weight w in a group and c up to its end, its ranks run from c - w to c.
        """
        own = self.sums(weights)
        return np.cumsum(own, axis=0) - own / 2 - total / 2, _squares(own, total)


class Spearman:
    """The rank correlations (M, r) of M methods with the scores, as a function of the weights of the pairs (r, n)."""

    def __init__(self, gold: _Floats, predicted: _Floats) -> None:
        self.usable = bool(np.isfinite(gold).all())
        self.gold = _Groups(gold)
        self.methods = [_Groups(row) if np.isfinite(row).all() else None for row in predicted]

    def __call__(self, drawn: Weights) -> _Floats:
        """The correlations in each draw; NaN where one is undefined."""
        # One column per replicate: rows then are taken, and summed, as whole lines of memory.
        weights = np.ascontiguousarray(drawn.T, np.float64)
        found = np.full((len(self.methods), len(drawn)), np.nan)
        if not self.usable:
            return found
        total = drawn.sum(axis=1).astype(np.float64)
        ranks, of_gold = self.gold.mid_ranks(weights, total)
        weighted = weights * ranks[self.gold.group]
        # Without ties the ranks are c - w/2 but for a constant, which counts for nothing as `weighted` sums to zero;
        # what w/2 adds is the same in any order, and so is the sum of squares.
        half = np.einsum("nr,nr->r", weights, weighted) / 2
        alike = _squares(weights, total)
        for at, method in enumerate(self.methods):
            if method is None:
                continue
            if method.tied:
                own, squares = method.mid_ranks(weights, total)
                covariance = np.einsum("gr,gr->r", own, method.sums(weighted))
            else:
                ordered = method.sums(weights)
                np.cumsum(ordered, axis=0, out=ordered)
                covariance, squares = np.einsum("nr,nr->r", ordered, method.sums(weighted)) - half, alike
            found[at] = _quotient(covariance, squares, of_gold)
        return found


class Auc:
    """The ROC-AUC (M, r) of M methods for labels 0 and 1, as a function of the weights of the pairs (r, n)."""

    def __init__(self, labels: _Floats, predicted: _Floats) -> None:
        self.labels = labels
        self.methods = [_Groups(row) if np.isfinite(row).all() else None for row in predicted]

    def __call__(self, drawn: Weights) -> _Floats:
        """The areas in each draw; NaN where one is undefined."""
        weights = np.ascontiguousarray(drawn.T, np.float64)
        total, alike = drawn.sum(axis=1).astype(np.float64), self.labels @ weights
        positive = weights * self.labels[:, None]
        found = np.full((len(self.methods), len(drawn)), np.nan)
        for at, method in enumerate(self.methods):
            if method is not None:
                ranks = method.mid_ranks(weights, total)[0]
                # The rank sum of the similar pairs, less what they have over each other.
                over = np.einsum("gr,gr->r", ranks, method.sums(positive)) + alike * (total - alike) / 2
                with np.errstate(invalid="ignore", divide="ignore"):
                    found[at] = over / (alike * (total - alike))
        return found


def _squares(own: _Floats, total: _Floats) -> _Floats:
    """The sum of squares of centred mid-ranks of which those of a group, (groups, r), are the same."""
    return np.asarray((total**3 - np.einsum("gr,gr,gr->r", own, own, own)) / 12)


def _quotient(covariance: _Floats, one: _Floats, other: _Floats) -> _Floats:
    """The correlation; NaN where one side is constant among the drawn pairs."""
    with np.errstate(invalid="ignore", divide="ignore"):
        product = one * other
        return np.where(product > 0, covariance / np.sqrt(product), np.nan)
