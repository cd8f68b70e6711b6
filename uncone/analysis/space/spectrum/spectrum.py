"""How many directions carry the variance, and how evenly: rank, shares, condition, IsoScore, partition isotropy."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from uncone.analysis.intervals.intervals import FEW, LEAST_UNITS, Interval, Spread, around
from uncone.analysis.measures.finding import Finding, Level
from uncone.analysis.number_format import count, percent, plain
from uncone.analysis.space.geometry import Geometry
from uncone.analysis.space.spectrum.eigenvalues import (
    Sampling,
    condition_number,
    condition_number_99,
    effective_rank,
    participation_ratio,
    rank_slope,
    ratio_slope,
    share_slope,
    top_share,
)
from uncone.analysis.space.spectrum.isotropy import ledoit_wolf_share
from uncone.data.batch import Vector

__all__ = ["corrected_ratio", "mean_over_rms", "partition", "spectrum"]

_FAR = 0.5
_UNSEEN = 0.5  # a sample of heavy tails seldom holds the longest vectors, so the share is rather too large
_FEW_CARRY = 3.0  # an effective sample of a third of the vectors


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
            effective_rank,
            rank_slope,
            lambda value: f"The variance spreads over about {plain(value)} of {d:,} directions.",
            "A narrow space can often be stored in fewer dimensions; it is not wrong by itself.",
            threshold=narrow,
            level=rank_level,
        ),
        _finding(
            sampling,
            "participation_ratio",
            participation_ratio,
            ratio_slope,
            lambda value: f"Weighted by variance, {plain(value)} of {d:,} directions are in use.",
        ),
        _finding(
            sampling,
            "top1_share",
            lambda v: top_share(v, 1),
            lambda v: share_slope(v, 1),
            lambda value: f"The strongest direction carries {percent(value)} of the variance.",
            "Look at what it encodes: length, frequency, language, source.",
            threshold=0.5,
            level=share_level,
            settled=sampling.apart(0, 1),
        ),
        _finding(
            sampling,
            "top10_share",
            lambda v: top_share(v, 10),
            lambda v: share_slope(v, 10),
            lambda value: f"The ten strongest directions carry {percent(value)} of the variance.",
            settled=d <= 10 or sampling.apart(9, 10),
        ),
        _condition(space, sampling, values),
        _condition_99(space, values),
        *_isoscores(sampling),
        _isoscore_star(sampling),
    ]


def _finding(
    sampling: Sampling,
    name: str,
    function: Callable[[Vector], float],
    slope: Callable[[Vector], Vector],
    describe: Callable[[float], str],
    advice: str = "",
    *,
    threshold: float | None = None,
    level: Level = Level.NOTE,
    settled: bool = True,
) -> Finding:
    """A function of the eigenvalues with its interval, unless chance may have chosen the directions."""
    space = sampling.space
    value = function(space.directions[0])
    meaning = describe(value)
    low, high = sampling.interval(function, slope) if settled else (None, None)
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
    settled = sampling.apart(0, 1) and sampling.apart(-2, -1)
    ends = sampling.interval(_log_condition, lambda v: log_slope) if settled else (None, None)
    low, high = (None if end is None else math.exp(end) for end in ends)
    meaning = f"The strongest direction has {plain(value)} times the variance of the weakest."
    advice = "Above a million, whitening amplifies rounding errors: use shrinkage or fewer dimensions."
    return Finding("condition_number", value, space.n, meaning, advice, low, high, 1e6)


def _log_condition(eigenvalues: Vector) -> float:
    return math.log(condition_number(eigenvalues)) if eigenvalues[-1] > 0 else math.inf


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
    zeros = ("effective_rank", "participation_ratio", "isoscore", "isoscore_corrected", "isoscore_star")
    nothing = ("top1_share", "top10_share", "condition_number", "condition_number_99")
    return [
        *(Finding(name, 0.0, space.n, meaning, level=Level.COLLAPSED) for name in zeros),
        *(Finding(name, None, space.n, meaning) for name in nothing),
    ]


def _isoscores(sampling: Sampling) -> list[Finding]:
    """(PR - 1)/(d - 1) with the participation ratio PR, and the same from unbiased estimates."""
    space = sampling.space
    d, n = space.dim, space.n
    if d == 1:
        undefined = "Not defined in one dimension."
        return [Finding(name, None, n, undefined) for name in ("isoscore", "isoscore_corrected")]
    plain_score = (participation_ratio(space.directions[0]) - 1) / (d - 1)
    biased = f"{plain(plain_score)} of 1; too low if there are few vectors per dimension ({plain(n / d)} here)."
    corrected = _corrected_participation(space)
    findings = [Finding("isoscore", plain_score, n, biased, "Compare isoscore_corrected, which does not depend on n.")]
    if corrected is None:
        return [*findings, Finding("isoscore_corrected", None, n, "Needs at least 4 distinct vectors.")]
    score = min(max((corrected - 1) / (d - 1), 0.0), 1.0)
    # The correction takes vectors for independent; where they come in groups, the interval makes up for it.
    shift = sampling.group_bias(participation_ratio) / (d - 1)
    low, high = around(score - shift, *_isoscore_spread(space, sampling, min(corrected, d)))
    low, high = (None, None) if low is None or high is None else (min(low, score), max(high, score))
    if low is not None and not 1 <= corrected <= d:
        low = min(low, plain_score)  # a few vectors carry the variance, and the estimate has left its range
    low, high = None if low is None else max(low, 0.0), None if high is None else min(high, 1.0)
    meaning = f"{plain(score)} of 1, where 1 is a ball and 0 a line: the share of the dimensions in even use."
    advice = "Low is normal for text; compare it between layers or models."
    return [*findings, Finding("isoscore_corrected", score, n, meaning, advice, low, high)]


def _isoscore_star(sampling: Sampling) -> Finding:
    """The IsoScore of the covariance as it is shrunk towards a ball; the interval takes the shrinkage as given."""
    space = sampling.space
    d, n, values = space.dim, space.n, space.directions[0]
    if d == 1:
        return Finding("isoscore_star", None, n, "Not defined in one dimension.")
    biased = values * ((n - 1) / n)
    sums = float(biased.sum()), float((biased**2).sum()), space.moments.fourth / n
    zeta = ledoit_wolf_share(space.effective, d, *sums)
    if math.isnan(zeta):
        return Finding("isoscore_star", None, n, "The fourth moment of the vectors is not known.")

    def score(eigenvalues: Vector) -> float:
        return (participation_ratio((1 - zeta) * eigenvalues + zeta * eigenvalues.mean()) - 1) / (d - 1)

    def slope(eigenvalues: Vector) -> Vector:
        inner = ratio_slope((1 - zeta) * eigenvalues + zeta * eigenvalues.mean())
        return np.asarray(((1 - zeta) * inner + zeta * inner.mean()) / (d - 1))

    value = score(values)
    low, high = sampling.interval(score, slope)
    low, high = None if low is None else max(low, 0.0), None if high is None else min(high, 1.0)
    meaning = f"{plain(value)} of 1, with the covariance shrunk by ζ = {plain(zeta)} towards a ball."
    advice = "Use it for few vectors; for many there is nothing to shrink, and it equals IsoScore."
    return Finding("isoscore_star", value, n, meaning, advice, low, high)


def _isoscore_spread(space: Geometry, sampling: Sampling, corrected: float) -> Spread:
    """Infinitesimal jackknife of the participation ratio, plus 4 PR^2/n^2, which is all there is in a ball."""
    values, _ = space.directions
    variance, units = sampling.spread(ratio_slope(values))
    return Spread(variance + 4 * corrected**2 / space.effective**2, units).times(1 / (space.dim - 1) ** 2)


def _corrected_participation(space: Geometry) -> float | None:
    """The participation ratio of a space, corrected for the number of its vectors; copies of a vector are one."""
    values, _ = space.directions
    n = space.effective
    scale = (space.n - 1) / space.n * n / (n - 1) if n > 1 else 1.0
    trace, squares = scale * float(values.sum()), scale**2 * float((values**2).sum())
    return corrected_ratio(n, trace, squares, space.moments.fourth * n / space.n)


def corrected_ratio(n: float, trace: float, squares: float, fourth: float) -> float | None:
    """The participation ratio from unbiased estimates of tr(Sigma^2) and (tr Sigma)^2, which hold for heavy tails.

    With S the sample covariance, Q = sum |x - mean|^4/(n-1) and c = (n-1)/(n(n-2)(n-3)):
    tr(Sigma^2) = c[(n-1)(n-2) tr S^2 + (tr S)^2 - nQ], (tr Sigma)^2 = c[2 tr S^2 + (n^2-3n+1)(tr S)^2 - nQ].
    Here `trace` is tr S, `squares` tr S^2 and `fourth` the sum of |x - mean|^4.
    """
    if n < 4:
        return None
    q = fourth / (n - 1)
    below = (n - 1) * (n - 2) * squares + trace**2 - n * q
    above = 2 * squares + (n**2 - 3 * n + 1) * trace**2 - n * q
    return above / below if below > 0 else None


def mean_over_rms(space: Geometry) -> Finding:
    """|mean| / rms norm: 0 if centered, 1 if all vectors are the same.

    The interval is that of |mean|^2 without its bias tr(C)/n, so it reaches 0 in a centered space; the value
    itself stays inside.
    """
    n, mean = space.n, space.moments.mean
    power = float(space.directions[0].sum()) * (n - 1) / n + float(mean @ mean)
    value = float(np.linalg.norm(mean)) / math.sqrt(power)
    low, high = _mean_interval(space, mean, power)
    if low is not None and high is not None:
        low, high = min(low, value), max(high, value)
    meaning = f"The mean vector is {percent(min(value, 1.0))} as long as a typical vector; 0 is a centered space."
    advice = "This common part raises every cosine, so thresholds have to allow for it." if value >= _FAR else ""
    level = Level.CROWDED if value >= _FAR else Level.HEALTHY
    return Finding("mean_over_rms", value, n, meaning, advice, low, high, _FAR, level)


def _mean_interval(space: Geometry, mean: np.ndarray, power: float) -> Interval:
    n = space.effective
    squared = float(mean @ mean)
    spread = power - squared  # the mean of |x - mean|^2
    unbiased = squared - spread / max(n - 1, 1)
    share = unbiased / power
    each = (2 * space.sample.dot(mean) - share * space.sample.norms.astype(np.float64) ** 2) / power
    # The second term is the variance of |mean|^2 in a centered space, where the first vanishes.
    second = float((space.directions[0] ** 2).sum()) * 2 / (n**2 * power**2)
    variance, units = space.mean_spread(each)
    low, high = around(share, variance + second, units)
    if low is None or high is None:
        return None, None
    low -= _UNSEEN * (share - low)
    return math.sqrt(max(low, 0.0)), math.sqrt(min(max(high, 0.0), 1.0))


def partition(space: Geometry) -> list[Finding]:
    """log10 I = log10(min Z/max Z) over the eigenvectors of X'X with both signs, as it is and at mean norm 1."""
    as_is = "at the scale of the data; it depends on the lengths of the vectors"
    at_one = "scaled to mean norm 1, so that models can be compared"
    names = {"partition_isotropy_log10": as_is, "partition_isotropy_unit_log10": at_one}
    return [_partition_finding(space, name, place, scale) for place, (name, scale) in enumerate(names.items())]


def _partition_finding(space: Geometry, name: str, place: int, scale: str) -> Finding:
    sums = space.partition
    logs = sums.log_sums[place]
    value = float(logs.min() - logs.max()) / math.log(10)
    low, high = _partition_interval(space, place, value)
    text = plain(10**value) if value > -4 else f"1e{value:.1f}"
    every = "all vectors" if sums.n == space.n else f"a sample of {sums.n:,} vectors"
    meaning = f"I = {text}, where 1 is isotropic and 0 a cone: {scale}. Over {every}."
    advice = "Compare it before and after a repair, on the same vectors."
    return Finding(name, value, sums.n, meaning, advice, low, None if high is None else min(high, 0.0))


def _partition_interval(space: Geometry, place: int, value: float) -> Interval:
    """Infinitesimal jackknife of log Z(low) - log Z(high) with the directions held fixed, from the sample.

    The reach is a quarter wider, for the choice between the two ends of a direction. None where that is not enough:
    when more than two directions compete for an extreme, a few vectors carry the sum, or there are few vectors at all.
    """
    if space.distinct < FEW:
        return None, None
    sums = space.partition
    logs = sums.log_sums[place]
    each = np.zeros(space.sample.n)
    for sign, where in ((1.0, logs.argmin()), (-1.0, logs.argmax())):
        flip, column = divmod(int(where), logs.shape[1])
        products = space.sample.dot(sums.directions[:, column]) * (sums.scales[place] * (-1.0 if flip else 1.0))
        weights = np.exp(products - products.max())
        weights *= len(weights) / weights.sum()
        reach = 2 * math.sqrt(float(weights.var()) / sums.n)
        rivals = int((np.abs(logs - logs.flat[where]) < reach).sum())
        if rivals > 2 or float((weights**2).mean()) > _FEW_CARRY:
            return None, None
        each += sign * weights
    return around(value, *space.mean_spread(each, sums.n).times((1.25 / math.log(10)) ** 2))
