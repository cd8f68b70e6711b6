"""How many directions carry the variance: effective rank, participation ratio, shares, condition, IsoScore."""

from __future__ import annotations

import math

import numpy as np

from uncone.data.batch import Vector
from uncone.diagnosis.eigenvalues import (
    condition_number,
    condition_number_99,
    effective_rank,
    participation_ratio,
    rank_slope,
    ratio_slope,
    share_slope,
    top_share,
)
from uncone.diagnosis.finding import Finding, Level
from uncone.diagnosis.geometry import Geometry
from uncone.diagnosis.isoscore import isoscores
from uncone.diagnosis.sampling import Measure, Sampling
from uncone.diagnosis.words import percent, plain

__all__ = ["spectrum"]

_TOO_FEW = 10


def spectrum(space: Geometry) -> list[Finding]:
    """The findings about the eigenvalues of the covariance."""
    values, _ = space.directions
    if values[0] <= 0:
        return _no_spread(space)
    sampling = Sampling(space)
    d = space.dim
    rank, share, ratio = effective_rank(values), top_share(values, 1), participation_ratio(values)
    reachable = min(d, space.n - 1)
    narrow = max(0.05 * reachable, 2.0)
    rank_level = Level.HEALTHY if rank >= narrow or d < 4 else Level.NOTE if rank >= 2 else Level.COLLAPSED
    share_level = Level.CROWDED if share >= 0.5 and d >= 4 else Level.HEALTHY
    if space.n < _TOO_FEW:
        rank_level = share_level = Level.NOTE  # so few rows span few directions in any space
    return [
        _with_interval(
            space,
            sampling,
            Measure(effective_rank, rank_slope),
            "effective_rank",
            f"The variance spreads over about {plain(rank)} of {d:,} directions.",
            "A narrow space can often be stored in fewer dimensions; it is not wrong by itself.",
            threshold=narrow,
            level=rank_level,
        ),
        _with_interval(
            space,
            sampling,
            Measure(participation_ratio, ratio_slope),
            "participation_ratio",
            f"Weighted by variance, {plain(ratio)} of {d:,} directions are in use.",
        ),
        _with_interval(
            space,
            sampling,
            Measure(lambda v: top_share(v, 1), lambda v: share_slope(v, 1)),
            "top1_share",
            f"The strongest direction carries {percent(share)} of the variance.",
            "Look at what it encodes (length, frequency, language, source): it may be removed.",
            threshold=0.5,
            level=share_level,
            settled=sampling.apart(0, 1),
        ),
        _with_interval(
            space,
            sampling,
            Measure(lambda v: top_share(v, 10), lambda v: share_slope(v, 10)),
            "top10_share",
            f"The ten strongest directions carry {percent(top_share(values, 10))} of the variance.",
            settled=d <= 10 or sampling.apart(9, 10),
        ),
        _condition(space, sampling, values),
        _condition_99(space, values),
        *isoscores(space, sampling),
    ]


def _with_interval(
    space: Geometry,
    sampling: Sampling,
    measure: Measure,
    name: str,
    meaning: str,
    advice: str = "",
    *,
    threshold: float | None = None,
    level: Level = Level.NOTE,
    settled: bool = True,
) -> Finding:
    values, _ = space.directions
    low, high = sampling.interval(measure) if settled else (None, None)
    if not settled:
        meaning += " Several directions are about equally strong, so there is no interval."
    elif low is None:
        meaning += f" {space.n:,} rows are too few for {space.dim:,} dimensions to say how sure this is."
    if low is not None and high is not None:
        most = 1.0 if name.endswith("_share") else float(space.dim)
        low, high = min(max(low, 0.0), most), min(high, most)
    return Finding(name, measure.value(values), space.n, meaning, advice, low, high, threshold, level)


def _condition(space: Geometry, sampling: Sampling, values: Vector) -> Finding:
    value = condition_number(values, space.resolution)
    if not math.isfinite(value):
        why = "there are no more rows than dimensions" if space.n <= space.dim else "some directions hold no variance"
        meaning = f"Infinite: {why}."
        return Finding(
            "condition_number", None, space.n, meaning, "Whitening needs shrinkage or fewer dimensions here."
        )
    log_slope = np.zeros_like(values)
    log_slope[0], log_slope[-1] = 1 / values[0], -1 / values[-1] if len(values) > 1 else 0.0
    measure = Measure(lambda v: math.log(condition_number(v)) if v[-1] > 0 else math.inf, lambda v: log_slope)
    low, high = sampling.interval(measure) if sampling.apart(0, 1) and sampling.apart(-2, -1) else (None, None)
    return Finding(
        "condition_number",
        value,
        space.n,
        f"The strongest direction has {plain(value)} times the variance of the weakest.",
        "Over a million, whitening amplifies rounding: use shrinkage or fewer dimensions.",
        None if low is None else math.exp(low),
        None if high is None else math.exp(high),
        1e6,
    )


def _condition_99(space: Geometry, values: Vector) -> Finding:
    value = condition_number_99(values)
    meaning = f"Over the directions that hold 99 % of the variance, the strongest has {plain(value)} times the weakest."
    return Finding("condition_number_99", value, space.n, meaning)


def _no_spread(space: Geometry) -> list[Finding]:
    meaning = "All rows are the same: there is no variance to speak of."
    zeros = ("effective_rank", "participation_ratio", "isoscore", "isoscore_corrected")
    nothing = ("top1_share", "top10_share", "condition_number", "condition_number_99")
    return [
        *(Finding(name, 0.0, space.n, meaning, level=Level.COLLAPSED) for name in zeros),
        *(Finding(name, None, space.n, meaning) for name in nothing),
    ]
