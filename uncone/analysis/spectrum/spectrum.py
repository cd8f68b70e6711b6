"""How many directions carry the variance: effective rank, participation ratio, shares, condition, IsoScore."""

from __future__ import annotations

import math

import numpy as np

from uncone.analysis.intervals.intervals import LEAST_UNITS
from uncone.analysis.measures.finding import Finding, Level
from uncone.analysis.number_format import count, percent, plain
from uncone.analysis.space.geometry import Geometry
from uncone.analysis.spectrum.eigenvalues import (
    condition_number,
    condition_number_99,
    effective_rank,
    participation_ratio,
    rank_slope,
    ratio_slope,
    share_slope,
    top_share,
)
from uncone.analysis.spectrum.isoscore import isoscores
from uncone.analysis.spectrum.sampling import Measure, Sampling
from uncone.data.batch import Vector

__all__ = ["spectrum"]


def spectrum(space: Geometry) -> list[Finding]:
    """The findings about the eigenvalues of the covariance."""
    values, _ = space.directions
    if values[0] <= 0:
        return _no_spread(space)
    sampling = Sampling(space)
    d = space.dim
    rank, share, ratio = effective_rank(values), top_share(values, 1), participation_ratio(values)
    reachable = min(d, space.distinct - 1)
    narrow = max(0.05 * reachable, 2.0)
    rank_level = Level.HEALTHY if rank >= narrow or d < 4 else Level.NOTE if rank >= 2 else Level.COLLAPSED
    share_level = Level.CROWDED if share >= 0.5 and d >= 4 else Level.HEALTHY
    if space.distinct < LEAST_UNITS:
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
            "Look at what it encodes: length, frequency, language, source.",
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
        meaning += " Chance may have chosen the strongest directions, so there is no interval."
    elif low is None:
        meaning += (
            f" {space.distinct:,} distinct rows are too few for {space.dim:,} dimensions to say how sure this is."
        )
    if low is not None and high is not None:
        most = 1.0 if name.endswith("_share") else float(space.dim)
        low, high = min(max(low, 0.0), most), min(high, most)
    return Finding(name, measure.value(values), space.n, meaning, advice, low, high, threshold, level)


def _condition(space: Geometry, sampling: Sampling, values: Vector) -> Finding:
    value = condition_number(values, space.resolution)
    if not math.isfinite(value):
        return _unbounded(space)
    log_slope = np.zeros_like(values)
    log_slope[0], log_slope[-1] = 1 / values[0], -1 / values[-1] if len(values) > 1 else 0.0
    measure = Measure(lambda v: math.log(condition_number(v)) if v[-1] > 0 else math.inf, lambda v: log_slope)
    settled = sampling.apart(0, 1) and sampling.apart(-2, -1)
    low, high = sampling.interval(measure) if settled else (None, None)
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


def _unbounded(space: Geometry) -> Finding:
    """No condition number: infinite by the number of rows or a constant dimension, else lost in rounding."""
    constant = int((np.diag(space.moments.sums.second) == 0).sum())
    bound = None
    if space.distinct <= space.dim:
        meaning = f"Infinite: there are no more distinct rows ({space.distinct:,}) than dimensions ({space.dim:,})."
    elif constant:
        meaning = f"Infinite: {count(constant, 'dimension')} {'is' if constant == 1 else 'are'} constant."
    else:
        bound = 1 / space.resolution
        single = space.moments.dtype == np.float32
        meaning = (
            f"At least {plain(bound)}: the weakest direction is lost in the rounding of "
            f"{'single precision; --float64 sees further' if single else 'double precision'}."
        )
    advice = "Whitening needs shrinkage or fewer dimensions here."
    return Finding("condition_number", None, space.n, meaning, advice, low=bound)


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
