"""A seeded sample of a source's rows, for what cannot be learnt in one pass over all of them."""

from __future__ import annotations

import numpy as np

from uncone.backends.measure import Plan, measure
from uncone.data.batch import Matrix
from uncone.data.source import Source
from uncone.errors import FitError, NoUsableRowsError
from uncone.repairs.repair import Progress
from uncone.stats.row_sample import RowSample, cutoff_for

__all__ = ["drawn_rows"]


def drawn_rows(source: Source, plan: Plan, most: int, seed: int, step: str, progress: Progress | None) -> Matrix:
    """All usable rows, up to `most`; of more, a uniform sample, in the order of the source.

    Raises:
        NoUsableRowsError: every row is NaN, infinite or zero.
        FitError: there is one row, or all are equal: nothing can be learnt from them.
    """
    cutoff = None if source.rows is None else cutoff_for(most, source.rows, seed)
    sample = RowSample(source.dim, most, seed=seed, cutoff=cutoff, named=False)
    report = None if progress is None else lambda rows: progress(step, rows, source.rows)
    rows = measure(source, sample, plan, report).sampled.vectors
    if len(rows) == 0:
        raise NoUsableRowsError(f"{source.name}: every row is NaN, infinite or zero. Look at how it was made.")
    if np.array_equal(rows.min(axis=0), rows.max(axis=0)):
        raise FitError(
            f"{source.name}: its {len(rows):,} usable rows (n_samples={len(rows)}) are all equal, "
            "so there is nothing to learn from them. Give rows that differ."
        )
    return rows
