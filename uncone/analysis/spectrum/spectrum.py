"""How many directions carry the variance: effective rank, participation ratio, shares, condition, IsoScore."""

from __future__ import annotations

import math
from collections.abc import Callable

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
    sampling, d = Sampling(space), space.dim
    rank, share = effective_rank(values), top_share(values, 1)
    narrow = max(0.05 * min(d, space.distinct - 1), 2.0)
    rank_level = Level.HEALTHY if rank >= narrow or d < 4 else Level.NOTE if rank >= 2 else Level.COLLAPSED
    share_level = Level.CROWDED if share >= 0.5 and d >= 4 else Level.HEALTHY
    if space.distinct < LEAST_UNITS:
        rank_level = share_level = Level.NOTE  # so few vectors span few directions in any space
    return [
        _finding(
            sampling,
            "effective_rank",
            Measure(effective_rank, rank_slope),
            lambda value: f"The variance spreads over about {plain(value)} of {d:,} directions.",
            "A narrow space can often be stored in fewer dimensions; it is not wrong by itself.",
            threshold=narrow,
            level=rank_level,
        ),
        _finding(
            sampling,
            "participation_ratio",
            Measure(participation_ratio, ratio_slope),
            lambda value: f"Weighted by variance, {plain(value)} of {d:,} directions are in use.",
        ),
        _finding(
            sampling,
            "top1_share",
            Measure(lambda v: top_share(v, 1), lambda v: share_slope(v, 1)),
            lambda value: f"The strongest direction carries {percent(value)} of the variance.",
            "Look at what it encodes: length, frequency, language, source.",
            threshold=0.5,
            level=share_level,
            settled=sampling.apart(0, 1),
        ),
        _finding(
            sampling,
            "top10_share",
            Measure(lambda v: top_share(v, 10), lambda v: share_slope(v, 10)),
            lambda value: f"The ten strongest directions carry {percent(value)} of the variance.",
            settled=d <= 10 or sampling.apart(9, 10),
        ),
        _condition(space, sampling, values),
        _condition_99(space, values),
        *isoscores(space, sampling),
    ]


def _finding(
    sampling: Sampling,
    name: str,
    measure: Measure,
    describe: Callable[[float], str],
    advice: str = "",
    *,
    threshold: float | None = None,
    level: Level = Level.NOTE,
    settled: bool = True,
) -> Finding:
    """A function of the eigenvalues with its interval, unless chance may have chosen the directions."""
    space = sampling.space
    value = measure.value(space.directions[0])
    meaning = describe(value)
    low, high = sampling.interval(measure) if settled else (None, None)
    if not settled:
        meaning += " Chance may have chosen the strongest directions, so there is no interval."
    elif low is None:
        meaning += f" {space.distinct:,} distinct vectors are too few for an interval in {space.dim:,} dimensions."
    if low is not None and high is not None:
        most = 1.0 if name.endswith("_share") else float(space.dim)
        low, high = min(max(low, 0.0), most), min(high, most)
    return Finding(name, value, space.n, meaning, advice, low, high, threshold, level)


def _condition(space: Geometry, sampling: Sampling, values: Vector) -> Finding:
    value = condition_number(values, space.resolution)
    if not math.isfinite(value):
        return _unbounded(space)
    log_slope = np.zeros_like(values)
    log_slope[0], log_slope[-1] = 1 / values[0], -1 / values[-1] if len(values) > 1 else 0.0
    measure = Measure(lambda v: math.log(condition_number(v)) if v[-1] > 0 else math.inf, lambda v: log_slope)
    settled = sampling.apart(0, 1) and sampling.apart(-2, -1)
    ends = sampling.interval(measure) if settled else (None, None)
    low, high = (None if end is None else math.exp(end) for end in ends)
    meaning = f"The strongest direction has {plain(value)} times the variance of the weakest."
    advice = "Above a million, whitening amplifies rounding errors: use shrinkage or fewer dimensions."
    return Finding("condition_number", value, space.n, meaning, advice, low, high, 1e6)


def _unbounded(space: Geometry) -> Finding:
    """No condition number: infinite by the number of vectors or a constant dimension, else lost in rounding."""
    constant = int((np.diag(space.moments.sums.second) == 0).sum())
    bound = None
    if space.distinct <= space.dim:
        meaning = f"Infinite: there are no more distinct vectors ({space.distinct:,}) than dimensions ({space.dim:,})."
    elif constant:
        meaning = f"Infinite: {count(constant, 'dimension')} {'is' if constant == 1 else 'are'} constant."
    else:
        bound = 1 / space.resolution
        single = space.moments.dtype == np.float32
        precision = "single precision; --float64 sees further" if single else "double precision"
        meaning = f"At least {plain(bound)}: the weakest direction is lost in the rounding of {precision}."
    advice = "Whitening needs shrinkage or fewer dimensions here."
    return Finding("condition_number", None, space.n, meaning, advice, low=bound)


def _condition_99(space: Geometry, values: Vector) -> Finding:
    value = condition_number_99(values)
    meaning = f"Among the directions with 99 % of the variance, the strongest has {plain(value)} times the weakest."
    return Finding("condition_number_99", value, space.n, meaning)


def _no_spread(space: Geometry) -> list[Finding]:
    meaning = "All vectors are the same, so there is no variance."
    zeros = ("effective_rank", "participation_ratio", "isoscore", "isoscore_corrected")
    nothing = ("top1_share", "top10_share", "condition_number", "condition_number_99")
    return [
        *(Finding(name, 0.0, space.n, meaning, level=Level.COLLAPSED) for name in zeros),
        *(Finding(name, None, space.n, meaning) for name in nothing),
    ]
