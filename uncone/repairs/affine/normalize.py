"""`normalize`: every row to length 1, as the last step."""

from __future__ import annotations

from typing import Self

import numpy as np

from uncone.data.batch import Matrix
from uncone.data.source import Source
from uncone.errors import DamagedRepairError
from uncone.repairs.repair import Arrays, Progress, Repair
from uncone.run.measure import Plan

__all__ = ["Normalize"]

_BLOCK = 1024


class Normalize(Repair):
    """x / |x|; a row of zeros stays zero. Nothing is learnt, and the lengths are lost: there is no inverse.

    >>> Normalize().fit_transform(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """

    kind = "normalize"

    def _learn(self, source: Source, plan: Plan, progress: Progress | None) -> None:
        self.n_features_in_ = self._n_features_out = source.dim

    def _map(self, rows: Matrix) -> Matrix:
        mapped = np.empty(rows.shape, rows.dtype)
        for start in range(0, len(rows), _BLOCK):
            block, out = rows[start : start + _BLOCK], mapped[start : start + _BLOCK]
            # By the largest number first: squares of very long or very short rows do not fit.
            largest = np.abs(block).max(axis=1, keepdims=True)
            np.divide(block, np.where(largest == 0, 1, largest), out=out)
            lengths = np.sqrt(np.vecdot(out, out))[:, None]
            out /= np.where(lengths == 0, 1, lengths)
        return mapped

    def arrays(self) -> Arrays:
        """Only the dimension."""
        return {"dim": np.array([self.n_features_in_], np.int64)}

    def restore(self, arrays: Arrays) -> Self:
        """Take the dimension.

        Raises:
            DamagedRepairError: it is not there.
        """
        if set(arrays) != {"dim"} or arrays["dim"].shape != (1,) or arrays["dim"][0] < 1:
            raise DamagedRepairError(f"normalize is saved as its dimension; we got {sorted(arrays)}.")
        self.n_features_in_ = self._n_features_out = int(arrays["dim"][0])
        return self
