"""Lengths of the vectors, and outliers among them."""

from __future__ import annotations

import math

from uncone.analysis.intervals.intervals import around
from uncone.analysis.layers.geometry import LayerGeometry
from uncone.analysis.measures.finding import Finding, Level
from uncone.analysis.number_format import clipped, count, plain
from uncone.analysis.space.geometry import Geometry
from uncone.stats.norms import SINK, NamedNorm

__all__ = ["norms", "sinks"]


def norms(space: Geometry) -> list[Finding]:
    """The mean norm, and the vectors that are ten times longer or shorter than the median."""
    measured = space.norms
    variance, units = space.mean_spread(space.sample.norms)
    low, high = around(measured.mean, max(measured.spread**2 / measured.n, variance), units)
    same = measured.spread < 1e-3 * measured.mean
    shape = "all equal, so the dot product is the cosine" if same else f"standard deviation {plain(measured.spread)}"
    meaning = f"The vectors are {plain(measured.mean)} long on average ({shape})."
    advice = "" if same else "Dot product and Euclidean distance depend on the lengths too; the cosine does not."
    return [Finding("norm_mean", measured.mean, measured.n, meaning, advice, low, high), _outliers(space)]


def sinks(geometry: LayerGeometry) -> Finding:
    """Vectors over ten times the median norm, which can carry a whole layer."""
    measured = geometry.norms
    median = measured.quantile(0.5)
    named = [one for one in measured.longest if one.norm > SINK * median]
    total = _total(measured.count_over(SINK * median), named)
    left_out = f" {count(geometry.left_out, 'sink')} left out." if geometry.left_out else ""
    limit = f"{SINK:g} times the median norm ({plain(median)})"
    if not total:
        return Finding(
            "sinks", 0, measured.n, f"No vector exceeds {limit}.{left_out}", threshold=0, level=Level.HEALTHY
        )
    examples = "; ".join(f"{clipped(one.text or f'row {one.row:,}', 60)}: {plain(one.norm)}" for one in named[:2])
    meaning = f"{count(total, 'vector')} over {limit}: {examples}.{left_out}"
    advice = "They can carry a whole layer's geometry: measure again with --no-sinks."
    return Finding("sinks", total, measured.n, meaning, advice, threshold=0, rows=_rows(named))


def _outliers(space: Geometry) -> Finding:
    measured = space.norms
    median = measured.quantile(0.5)
    named = [one for one in measured.longest if one.norm > SINK * median]
    named += [one for one in measured.shortest if one.norm < median / SINK]
    over, under = measured.count_over(SINK * median), measured.n - measured.count_over(median / SINK)
    total = _total(over + under, named)
    limit = f"{SINK:g} times longer or shorter than the median ({plain(median)})"
    if not total:
        return Finding("norm_outliers", 0, measured.n, f"No vector is {limit}.", threshold=0, level=Level.HEALTHY)
    examples = ", ".join(_name(one) for one in named[:3])
    meaning = f"{count(total, 'vector')} {'is' if total == 1 else 'are'} {limit}, such as {examples}."
    advice = "A few long vectors can carry the whole variance: look at them, and check again without them."
    return Finding("norm_outliers", total, measured.n, meaning, advice, threshold=0, rows=_rows(named))


def _total(counted: int, named: list[NamedNorm]) -> int:
    """The histogram is a little coarse; the vectors listed by name are not."""
    return max(counted, len(named)) if named else 0


def _name(one: NamedNorm) -> str:
    name = f"row {one.row:,}" if one.text is None else f"{clipped(one.text, 30)!r} (row {one.row:,})"
    return f"{name} with {plain(one.norm)}"


def _rows(named: list[NamedNorm]) -> list[dict[str, object]]:
    return [{"row": one.row, "text": one.text, "value": one.norm if math.isfinite(one.norm) else None} for one in named]
