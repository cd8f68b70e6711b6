"""How long the rows are, and which are out of line."""

from __future__ import annotations

import math
from typing import Any

from uncone.analysis.intervals.intervals import Spread, around
from uncone.analysis.layers.geometry import LayerGeometry
from uncone.analysis.measures.finding import Finding, Level
from uncone.analysis.number_format import clipped, count, plain
from uncone.analysis.space.geometry import Geometry
from uncone.stats.sums.norms import SINK, NamedNorm

__all__ = ["norms", "sinks"]


def norms(space: Geometry) -> list[Finding]:
    """Mean norm, and the rows that are ten times longer or shorter than the median."""
    measured = space.norms
    low, high = around(measured.mean, *_mean_norm_spread(space))
    same = measured.spread < 1e-3 * measured.mean
    shape = "all alike, so the dot product is the cosine" if same else f"spread {plain(measured.spread)}"
    mean = Finding(
        "norm_mean",
        measured.mean,
        measured.n,
        f"Rows are {plain(measured.mean)} long on average ({shape}).",
        "" if same else "The dot product and Euclidean distance also see the lengths; the cosine does not.",
        low,
        high,
    )
    return [mean, _outliers(space)]


def _mean_norm_spread(space: Geometry) -> Spread:
    alone, sampled = space.norms.spread**2 / space.norms.n, space.mean_spread(space.sample.norms)
    return Spread(max(alone, sampled.variance), sampled.units)


def sinks(geometry: LayerGeometry) -> Finding:
    """Rows over ten times the median norm, which can carry a whole layer."""
    measured = geometry.norms
    median = measured.quantile(0.5)
    named = [one for one in measured.longest if one.norm > SINK * median]
    # The histogram is a little coarse; the rows kept by name are not.
    found = max(measured.count_over(SINK * median), len(named)) if named else 0
    out = f" {count(geometry.left_out, 'sink')} left out." if geometry.left_out else ""
    if not found:
        meaning = f"No row is over {SINK:g} times the median norm ({plain(median)}).{out}"
        return Finding("sinks", 0, measured.n, meaning, threshold=0, level=Level.HEALTHY)
    examples = "; ".join(f"{clipped(one.text or f'row {one.row:,}', 60)}: {plain(one.norm)}" for one in named[:2])
    return Finding(
        "sinks",
        found,
        measured.n,
        f"{count(found, 'row')} over {SINK:g} times the median norm ({plain(median)}): {examples}.{out}",
        "They can carry a whole layer's geometry: measure again with --no-sinks.",
        threshold=0,
        rows=[_outlier_row(one) for one in named],
    )


def _outliers(space: Geometry) -> Finding:
    measured = space.norms
    median = measured.quantile(0.5)
    over, under = measured.count_over(SINK * median), measured.n - measured.count_over(median / SINK)
    named = [one for one in measured.longest if one.norm > SINK * median]
    named += [one for one in measured.shortest if one.norm < median / SINK]
    # The histogram is a little coarse; the rows kept by name are not.
    found = max(over + under, len(named)) if named else 0
    if not found:
        meaning = f"No row is {SINK:g} times longer or shorter than the median ({plain(median)})."
        return Finding("norm_outliers", 0, measured.n, meaning, threshold=0, level=Level.HEALTHY)
    examples = ", ".join(_named(one) for one in named[:3])
    return Finding(
        "norm_outliers",
        found,
        measured.n,
        f"{count(found, 'row')} {'is' if found == 1 else 'are'} {SINK:g} times longer or shorter than the median "
        f"({plain(median)}), such as {examples}.",
        "A few long rows can carry the whole variance: look at them, and check again without them.",
        threshold=0,
        level=Level.NOTE,
        rows=[_outlier_row(one) for one in named],
    )


def _named(one: NamedNorm) -> str:
    name = f"row {one.row:,}" if one.text is None else f"{clipped(one.text, 30)!r} (row {one.row:,})"
    return f"{name} with {plain(one.norm)}"


def _outlier_row(one: NamedNorm) -> dict[str, Any]:
    """A row with its norm, as a finding lists it."""
    return {"row": one.row, "text": one.text, "value": one.norm if math.isfinite(one.norm) else None}
