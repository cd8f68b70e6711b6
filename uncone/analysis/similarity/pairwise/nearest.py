"""The texts most similar to one text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from uncone.analysis.cosine.units import checked_units, unit_vector
from uncone.analysis.similarity.pairwise.top_k import CosineRange, range_words
from uncone.analysis.similarity.results import Pairs
from uncone.data.batch import Vector
from uncone.errors import OptionError, OtherSpaceError

__all__ = ["near"]


def near(
    units: ArrayLike,
    vector: ArrayLike,
    *,
    top: int = 10,
    low: float | None = None,
    high: float | None = None,
    percentile: Callable[[Vector], Any] = lambda cosines: np.full(len(cosines), np.nan),
) -> Pairs:
    """The `top` unit vectors (n, d) most similar to a vector (d,), among those with a cosine from `low` to `high`.

    Equal cosines are in the order of the table. `one` is -1, because the vector is not in the table.

    >>> found = near(np.eye(2, dtype=np.float32), [1.0, 2.0], top=1)
    >>> found.other.tolist(), found.cosines.round(3).tolist(), found.found
    ([1], [0.894], 2)

    Raises:
        OptionError: `top` is less than 1, or the range is empty.
        OtherSpaceError: the vector has another dimension.
        NoUsableRowsError: it has no direction.
    """
    if top < 1:
        raise OptionError(f"We need to list at least 1 text, not {top}.")
    limits = CosineRange.between(low, high)
    table, unit = checked_units(units), unit_vector(vector)
    if len(unit) != table.shape[1]:
        raise OtherSpaceError(
            f"The text has a vector of {len(unit)} dimensions and the table has {table.shape[1]}. "
            "Encode both with the same model and layer."
        )
    cosines = np.clip(table @ unit, -1.0, 1.0)
    rows = np.flatnonzero((cosines >= limits.low) & (cosines <= limits.high))
    listed = rows[np.argsort(-cosines[rows], kind="stable")[:top]]
    values = cosines[listed].astype(np.float64)
    why = "most similar to your text" if len(rows) or (low is None and high is None) else range_words(low, high)
    return Pairs(np.full(len(listed), -1), listed, values, np.asarray(percentile(values), np.float64), len(rows), why)
