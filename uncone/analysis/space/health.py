"""Whether the data are what they should be: bad rows, copies, constant dimensions, the shape."""

from __future__ import annotations

import numpy as np

from uncone.analysis.measures.finding import Finding, Level
from uncone.analysis.number_format import count, percent, plain
from uncone.analysis.space.space import Space

__all__ = ["health"]

# Dimensions that encoders have; a matrix with so many rows and another number of columns may lie on its side.
_USUAL = {25, 50, 100, 200, 300, 312, 1152, 3584, 5120, *(64 * k for k in (1, 2, 4, 5, 6, 8, 10, 12, 14, 16))}
_USUAL |= {1280, 1536, 1792, 2048, 2304, 2560, 3072, 4096, 8192}
_MANY_COPIES = 0.01


def health(space: Space) -> list[Finding]:
    """The findings about the rows themselves."""
    return [_bad(space), _zero(space), _copies(space), _constant(space), _rows_per_dimension(space), _transposed(space)]


def _bad(space: Space) -> Finding:
    bad, seen = space.unusable.bad, space.unusable.seen
    rows = _first(space.unusable.bad_rows, bad)
    return Finding(
        "bad_rows",
        bad,
        seen,
        f"{count(bad, 'row')} of {seen:,} with NaN, infinity or numbers beyond {_precision(space)}{rows}; "
        "left out everywhere.",
        "Find out what produced them: an empty text, an overflow in half precision. Huge numbers take --float64."
        if bad
        else "",
        threshold=0,
        level=Level.NOTE if bad else Level.HEALTHY,
    )


def _zero(space: Space) -> Finding:
    zero, seen = space.unusable.zero, space.unusable.seen
    rows = _first(space.unusable.zero_rows, zero)
    return Finding(
        "zero_vectors",
        zero,
        seen,
        f"{count(zero, 'zero vector')} of {seen:,} rows{rows}; they have no direction and are left out everywhere.",
        "An empty text or an unknown word often gives one: drop them before searching." if zero else "",
        threshold=0,
        level=Level.NOTE if zero else Level.HEALTHY,
    )


def _copies(space: Space) -> Finding:
    share, kept = space.prints.duplicate_share, space.prints.kept
    compared = "" if kept == space.n else f", estimated on {kept:,} rows"
    return Finding(
        "duplicate_share",
        share,
        kept,
        f"{percent(share)} of the rows repeat an earlier row exactly, in {_precision(space)}{compared}.",
        "Copies raise the baseline and fill the first answers of a search: deduplicate."
        if share > _MANY_COPIES
        else "",
        threshold=_MANY_COPIES,
        level=Level.NOTE if share > _MANY_COPIES else Level.HEALTHY,
    )


def _constant(space: Space) -> Finding:
    constant = [int(j) for j in np.flatnonzero(np.diag(space.moments.sums.second) == 0)]
    examples = f": {', '.join(map(str, constant[:5]))}{' …' if len(constant) > 5 else ''}" if constant else ""
    return Finding(
        "constant_dimensions",
        constant,
        space.n,
        f"{count(len(constant), 'dimension')} of {space.dim:,} with the same number in every row{examples}.",
        "They carry nothing and, if not zero, raise every cosine: drop them." if constant else "",
        threshold=0,
        level=Level.NOTE if constant else Level.HEALTHY,
    )


def _rows_per_dimension(space: Space) -> Finding:
    ratio = space.n / space.dim
    few = space.distinct <= space.dim
    meaning = f"{plain(ratio)} rows per dimension ({space.n:,} x {space.dim:,})."
    if few:
        meaning += " With no more distinct rows than dimensions, some directions are empty for want of rows."
    return Finding(
        "rows_per_dimension",
        ratio,
        space.n,
        meaning,
        "Measure on more rows before trusting the spectrum." if few else "",
        threshold=1.0,
        level=Level.NOTE if few else Level.HEALTHY,
    )


def _transposed(space: Space) -> Finding:
    seen, d = space.unusable.seen, space.dim
    suspect = seen < d and seen in _USUAL and d not in _USUAL
    if not suspect:
        return Finding("looks_transposed", 0, seen, f"{seen:,} rows of {d:,} dimensions.", level=Level.HEALTHY)
    return Finding(
        "looks_transposed",
        1,
        seen,
        f"{seen:,} rows of {d:,} dimensions: is this {d:,} vectors of {seen:,} dimensions, lying on its side?",
        "If so, save its transpose (np.save(path, X.T)) and check that.",
        threshold=0,
        level=Level.NOTE,
    )


def _precision(space: Space) -> str:
    return "double precision" if space.moments.dtype == np.float64 else "single precision"


def _first(rows: np.ndarray, total: int) -> str:
    if not total:
        return ""
    return f" (row {', '.join(f'{row:,}' for row in rows)}{' …' if total > len(rows) else ''})"
