"""Health of the data: unusable vectors, copies, lengths, constant dimensions, the shape."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from uncone.analysis.intervals.intervals import around
from uncone.analysis.measures.finding import Finding, Level, Value
from uncone.analysis.number_format import clipped, count, percent, plain
from uncone.analysis.space.geometry import Geometry, LayerGeometry
from uncone.analysis.space.space import Space
from uncone.stats.norms import SINK, NamedNorm

__all__ = ["health", "norms", "sinks"]

# Dimensions that encoders have; a matrix with this many rows and another number of columns may be transposed.
_USUAL = {25, 50, 100, 200, 300, 312, 1152, 3584, 5120, *(64 * k for k in (1, 2, 4, 5, 6, 8, 10, 12, 14, 16))}
_USUAL |= {1280, 1536, 1792, 2048, 2304, 2560, 3072, 4096, 8192}
_MANY_COPIES = 0.01


def health(space: Space) -> list[Finding]:
    """The findings about the data, not the space."""
    return [*_unusable(space), *_shape(space)]


def _unusable(space: Space) -> list[Finding]:
    """Vectors that cannot be used, and copies."""
    total, unusable = space.unusable.n_read, space.unusable
    precision = "double precision" if space.moments.dtype == np.float64 else "single precision"
    share, compared = space.prints.duplicate_share, space.prints.n_compared
    estimated = "" if compared == space.n else f", estimated on {compared:,} vectors"
    return [
        _finding(
            "bad_rows",
            unusable.bad,
            total,
            f"{count(unusable.bad, 'vector')} of {total:,} with NaN, infinity or numbers beyond {precision}"
            f"{_listed('row ', unusable.bad_rows, unusable.bad)}; left out everywhere.",
            "Find out what produced them: an empty text, an overflow in half precision. Huge numbers need --float64.",
            bool(unusable.bad),
        ),
        _finding(
            "zero_vectors",
            unusable.zero,
            total,
            f"{count(unusable.zero, 'zero vector')} of {total:,}{_listed('row ', unusable.zero_rows, unusable.zero)}; "
            "they have no direction and are left out everywhere.",
            "Empty texts and unknown words often produce them: drop them before searching.",
            bool(unusable.zero),
        ),
        _finding(
            "duplicate_share",
            share,
            compared,
            f"{percent(share)} of the vectors repeat an earlier one exactly, in {precision}{estimated}.",
            "Copies raise the baseline and crowd the first answers of a search: deduplicate.",
            share > _MANY_COPIES,
            _MANY_COPIES,
        ),
    ]


def _shape(space: Space) -> list[Finding]:
    """Constant dimensions, and the number of vectors beside that of dimensions."""
    n, d, total = space.n, space.dim, space.unusable.n_read
    constant = np.flatnonzero(np.diag(space.moments.sums.second) == 0).tolist()
    few = space.distinct <= d
    empty = " There are no more distinct vectors than dimensions, so some directions are empty." if few else ""
    transposed = total < d and total in _USUAL and d not in _USUAL
    question = f": is it the transpose of {d:,} vectors of {total:,} dimensions?" if transposed else "."
    return [
        _finding(
            "constant_dimensions",
            constant,
            n,
            f"{count(len(constant), 'dimension')} of {d:,} with the same number in every vector"
            f"{_listed('', constant[:5], len(constant))}.",
            "They carry no information and, if not zero, raise every cosine: drop them.",
            bool(constant),
        ),
        _finding(
            "rows_per_dimension",
            n / d,
            n,
            f"{plain(n / d)} vectors per dimension ({n:,} x {d:,}).{empty}",
            "Measure more vectors before you trust the spectrum.",
            few,
            1.0,
        ),
        _finding(
            "looks_transposed",
            int(transposed),
            total,
            f"{total:,} vectors of {d:,} dimensions{question}",
            "If so, save the transpose (np.save(path, X.T)) and check that.",
            transposed,
            0 if transposed else None,
        ),
    ]


def _finding(
    name: str, value: Value, n: int, meaning: str, advice: str, flagged: bool, threshold: float | None = 0
) -> Finding:
    level = Level.NOTE if flagged else Level.HEALTHY
    return Finding(name, value, n, meaning, advice if flagged else "", threshold=threshold, level=level)


def _listed(noun: str, numbers: Sequence[int] | np.ndarray, total: int) -> str:
    """The first of some numbers in parentheses; empty without any."""
    if not total:
        return ""
    return f" ({noun}{', '.join(f'{number:,}' for number in numbers)}{' …' if total > len(numbers) else ''})"


def norms(space: Geometry) -> list[Finding]:
    """The mean norm, and the vectors that are ten times longer or shorter than the median."""
    lengths = space.norms
    variance, units = space.mean_spread(space.sample.norms)
    low, high = around(lengths.mean, max(lengths.spread**2 / lengths.n, variance), units)
    same = lengths.spread < 1e-3 * lengths.mean
    shape = "all equal, so the dot product is the cosine" if same else f"standard deviation {plain(lengths.spread)}"
    meaning = f"The vectors are {plain(lengths.mean)} long on average ({shape})."
    advice = "" if same else "Dot product and Euclidean distance depend on the lengths too; the cosine does not."
    return [Finding("norm_mean", lengths.mean, lengths.n, meaning, advice, low, high), _norm_outliers(space)]


def sinks(layer: LayerGeometry) -> Finding:
    """Vectors over ten times the median norm, which can carry a whole layer."""
    left_out = f" {count(layer.left_out, 'sink')} left out." if layer.left_out else ""
    median, n, rows = _far_norms(layer, shorter=False)
    limit = f"{SINK:g} times the median norm ({plain(median)})"
    if not n:
        return _outliers("sinks", layer, rows, n, f"No vector exceeds {limit}.{left_out}")
    examples = "; ".join(f"{clipped(row.text or f'row {row.row:,}', 60)}: {plain(row.norm)}" for row in rows[:2])
    advice = "They can carry a whole layer's geometry: measure again with --no-sinks."
    return _outliers("sinks", layer, rows, n, f"{count(n, 'vector')} over {limit}: {examples}.{left_out}", advice)


def _norm_outliers(space: Geometry) -> Finding:
    median, n, rows = _far_norms(space, shorter=True)
    limit = f"{SINK:g} times longer or shorter than the median ({plain(median)})"
    if not n:
        return _outliers("norm_outliers", space, rows, n, f"No vector is {limit}.")
    meaning = f"{count(n, 'vector')} {'is' if n == 1 else 'are'} {limit}, such as {', '.join(map(_name, rows[:3]))}."
    advice = "A few long vectors can carry the whole variance: look at them, and check again without them."
    return _outliers("norm_outliers", space, rows, n, meaning, advice)


def _far_norms(space: Geometry, *, shorter: bool) -> tuple[float, int, list[NamedNorm]]:
    """The median norm, and how many vectors are ten times longer (or `shorter`), the extreme ones by name."""
    norms, median = space.norms, space.norms.quantile(0.5)
    rows = [row for row in norms.longest if row.norm > SINK * median]
    n = norms.count_over(SINK * median)
    if shorter:
        rows += [row for row in norms.shortest if row.norm < median / SINK]
        n += norms.n - norms.count_over(median / SINK)
    # The histogram is a little coarse; the vectors listed by name are not.
    return median, max(n, len(rows)) if rows else 0, rows


def _outliers(name: str, space: Geometry, rows: list[NamedNorm], n: int, meaning: str, advice: str = "") -> Finding:
    table = [{"row": row.row, "text": row.text, "value": row.norm if math.isfinite(row.norm) else None} for row in rows]
    level = Level.NOTE if n else Level.HEALTHY
    return Finding(name, n, space.norms.n, meaning, advice, threshold=0, level=level, rows=table)


def _name(row: NamedNorm) -> str:
    name = f"row {row.row:,}" if row.text is None else f"{clipped(row.text, 30)!r} (row {row.row:,})"
    return f"{name} with {plain(row.norm)}"
