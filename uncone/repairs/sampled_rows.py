"""A seeded sample of a source's rows, for what cannot be learnt in one pass over all of them."""

from __future__ import annotations

from collections.abc import Iterator

from uncone.data.batch import Batch, Matrix
from uncone.data.source import BLOCK, Source
from uncone.data.vectors.memory import ArrayVectors
from uncone.errors import FitError, NoUsableRowsError
from uncone.repairs.repair import Progress
from uncone.run.measure import Plan, measure
from uncone.stats.row_sample import RowSample, cutoff_for

__all__ = ["drawn_rows"]


def drawn_rows(source: Source, plan: Plan, most: int, seed: int, step: str, progress: Progress | None) -> Matrix:
    """All usable rows, up to `most`; of more, a uniform sample, in the order of the source.

    Raises:
        NoUsableRowsError: every row is NaN, infinite or zero.
        FitError: there is one row, or all are equal: nothing can be learnt from them.
    """
    report = None if progress is None else lambda done: progress(step, done, source.rows)
    rows = _as_it_is(source, plan) if (source.rows or 0) <= most else None
    if rows is None:
        cutoff = None if source.rows is None else cutoff_for(most, source.rows, seed)
        sample = RowSample(source.dim, most, seed=seed, cutoff=cutoff, named=False)
        rows = measure(source, sample, plan, report).sampled.vectors
    elif report is not None:
        report(len(rows))
    if len(rows) == 0:
        raise NoUsableRowsError(f"{source.name}: every row is NaN, infinite or zero. Look at how it was made.")
    if not any((block != rows[0]).any() for block in _blocks(rows)):
        raise FitError(
            f"{source.name}: its {len(rows):,} usable rows (n_samples={len(rows)}) are all equal, "
            "so there is nothing to learn from them. Give rows that differ."
        )
    return rows


def _as_it_is(source: Source, plan: Plan) -> Matrix | None:
    """A table in memory whose rows can all be used, so that no copy is needed."""
    if not isinstance(source, ArrayVectors) or source.array.dtype != plan.dtype:
        return None
    rows: Matrix = source.array  # type: ignore[assignment] # floating, like the plan
    return rows if all(Batch.of(block).n == len(block) for block in _blocks(rows)) else None


def _blocks(rows: Matrix) -> Iterator[Matrix]:
    return (rows[start : start + BLOCK] for start in range(0, len(rows), BLOCK))
