"""How many directions carry the variance: effective rank, participation ratio, shares, condition, IsoScore."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from uncone.data.batch import Matrix, Vector
from uncone.diagnosis.finding import Finding, Level
from uncone.diagnosis.intervals import Interval, around
from uncone.diagnosis.space import Space
from uncone.diagnosis.words import percent, plain

__all__ = ["corrected_participation", "effective_rank", "participation_ratio", "spectrum", "top_share"]

_ROWS_FOR_INTERVALS = 4096
_TOO_FEW = 10


def effective_rank(eigenvalues: Vector) -> float:
    """The exponential of the entropy of the variance shares.

    >>> effective_rank(np.array([1.0, 1.0, 0.0]))
    2.0
    """
    shares = _shares(eigenvalues)
    shares = shares[shares > 0]
    return float(np.exp(-(shares * np.log(shares)).sum())) if shares.size else 0.0


def participation_ratio(eigenvalues: Vector) -> float:
    """How many directions really carry the variance: (sum l)^2 / sum l^2.

    >>> participation_ratio(np.array([1.0, 1.0, 0.0, 0.0]))
    2.0
    """
    squares = float((eigenvalues**2).sum())
    return float(eigenvalues.sum() ** 2 / squares) if squares else 0.0


def top_share(eigenvalues: Vector, k: int) -> float:
    """The share of the variance along the first k directions.

    >>> top_share(np.array([3.0, 1.0]), 1)
    0.75
    """
    return float(_shares(eigenvalues)[:k].sum())


def condition_number(eigenvalues: Vector, resolution: float = 0.0) -> float:
    """Largest over smallest eigenvalue; infinite when the smallest is rounding."""
    smallest = float(eigenvalues[-1])
    return float(eigenvalues[0]) / smallest if smallest > resolution * float(eigenvalues[0]) else math.inf


def condition_number_99(eigenvalues: Vector) -> float:
    """Largest eigenvalue over the one at which 99 % of the variance is reached."""
    reached = int(np.searchsorted(np.cumsum(_shares(eigenvalues)), 0.99))
    return float(eigenvalues[0] / eigenvalues[min(reached, len(eigenvalues) - 1)])


def corrected_participation(space: Space) -> float | None:
    """The participation ratio from unbiased estimates of tr(Sigma^2) and (tr Sigma)^2, which hold for heavy tails.

    With S the sample covariance, Q = sum |x - mean|^4/(n-1) and c = (n-1)/(n(n-2)(n-3)):
    tr(Sigma^2) = c[(n-1)(n-2) tr S^2 + (tr S)^2 - nQ], (tr Sigma)^2 = c[2 tr S^2 + (n^2-3n+1)(tr S)^2 - nQ].
    """
    n, centred = space.n, space.moments.centred
    if n < 4:
        return None
    trace = float(np.trace(centred.second)) / (n - 1)
    squares = float((centred.second**2).sum()) / (n - 1) ** 2
    q = centred.fourth / (n - 1)
    below = (n - 1) * (n - 2) * squares + trace**2 - n * q
    above = 2 * squares + (n**2 - 3 * n + 1) * trace**2 - n * q
    return above / below if below > 0 else None


@dataclass(frozen=True)
class Measure:
    """A function of the eigenvalues, with its slope: what a row contributes follows from it."""

    value: Callable[[Vector], float]
    slope: Callable[[Vector], Vector]


@dataclass
class _Sampling:
    """How the eigenvalues vary with the rows, from a part of the row sample."""

    space: Space

    @cached_property
    def contributions(self) -> Matrix:
        """(projection on direction k)^2 - eigenvalue k, for each row of a small sample: (m, r)."""
        values, directions = self.space.directions
        rows = self.space.sample.first(_ROWS_FOR_INTERVALS).vectors
        centred = rows - self.space.moments.mean.astype(rows.dtype)
        held = values[: directions.shape[1]].astype(rows.dtype)
        return np.asarray((centred @ directions.astype(rows.dtype)) ** 2 - held)

    def spread(self, slope: Vector) -> float:
        """The variance over the rows of what each adds to a measure with this slope."""
        each = self.contributions @ slope[: self.contributions.shape[1]].astype(self.contributions.dtype)
        return float(each.var(dtype=np.float64))

    @cached_property
    def halved(self) -> tuple[int, Vector]:
        """The eigenvalues of a sample of at most half of the rows: they show how a measure drifts with n."""
        m = min(self.space.n // 2, _ROWS_FOR_INTERVALS)
        rows = self.space.sample.first(m).vectors
        rows = rows - rows.mean(axis=0, dtype=np.float64).astype(rows.dtype)
        values = np.linalg.eigvalsh((rows.T @ rows).astype(np.float64) / (m - 1))
        return m, values[::-1].clip(min=0.0)

    def apart(self, first: int, second: int) -> bool:
        """Whether two neighbouring eigenvalues differ by more than chance: else which is larger is chance itself."""
        values, _ = self.space.directions
        if len(values) < 2:
            return True
        return bool(values[first] - values[second] > 3 * math.sqrt(2 / self.space.n) * values[first])

    def interval(self, measure: Measure) -> Interval:
        """The interval of what the measure would be on endless rows, and of what it is.

        The standard error is the infinitesimal jackknife. A bias that falls with 1/n is read off fewer rows m and taken
        out, which multiplies the variance by n/(n - m); the measured value stays inside. None with fewer than two
        rows per dimension, where the bias follows no such rule.
        """
        values, _ = self.space.directions
        n, value = self.space.n, measure.value(values)
        if n < max(2 * self.space.dim, 8):
            return None, None
        m, fewer = self.halved
        unbiased = value - (measure.value(fewer) - value) * m / (n - m)
        variance = self.spread(measure.slope(values)) / (n - 1) * n / (n - m)
        low, high = around(unbiased, variance, n)
        return (None, None) if low is None or high is None else (min(low, value), max(high, value))


def spectrum(space: Space) -> list[Finding]:
    """The findings about the eigenvalues of the covariance."""
    values, _ = space.directions
    if values[0] <= 0:
        return _no_spread(space)
    sampling = _Sampling(space)
    d = space.dim
    rank, share, ratio = effective_rank(values), top_share(values, 1), participation_ratio(values)
    reachable = min(d, space.n - 1)
    narrow = max(0.05 * reachable, 2.0)
    rank_level = Level.HEALTHY if rank >= narrow or d < 4 else Level.CROWDED if rank >= 2 else Level.COLLAPSED
    share_level = Level.CROWDED if share >= 0.5 and d >= 4 else Level.HEALTHY
    if space.n < _TOO_FEW:
        rank_level = share_level = Level.NOTE  # so few rows span few directions in any space
    return [
        _with_interval(
            space,
            sampling,
            Measure(effective_rank, _rank_slope),
            "effective_rank",
            f"The variance spreads over about {plain(rank)} of {d:,} directions.",
            "A narrow space can often be stored in fewer dimensions; it is not wrong by itself.",
            threshold=narrow,
            level=rank_level,
        ),
        _with_interval(
            space,
            sampling,
            Measure(participation_ratio, _ratio_slope),
            "participation_ratio",
            f"Weighted by variance, {plain(ratio)} of {d:,} directions are in use.",
        ),
        _with_interval(
            space,
            sampling,
            Measure(lambda v: top_share(v, 1), lambda v: _share_slope(v, 1)),
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
            Measure(lambda v: top_share(v, 10), lambda v: _share_slope(v, 10)),
            "top10_share",
            f"The ten strongest directions carry {percent(top_share(values, 10))} of the variance.",
        ),
        _condition(space, sampling, values),
        _condition_99(space, values),
        *_isoscores(space, sampling, ratio),
    ]


def _with_interval(
    space: Space,
    sampling: _Sampling,
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
    if low is not None and high is not None and name.endswith("_share"):
        low, high = max(low, 0.0), min(high, 1.0)
    return Finding(name, measure.value(values), space.n, meaning, advice, low, high, threshold, level)


def _condition(space: Space, sampling: _Sampling, values: Vector) -> Finding:
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


def _condition_99(space: Space, values: Vector) -> Finding:
    value = condition_number_99(values)
    meaning = f"Over the directions that hold 99 % of the variance, the strongest has {plain(value)} times the weakest."
    return Finding("condition_number_99", value, space.n, meaning)


def _isoscores(space: Space, sampling: _Sampling, ratio: float) -> list[Finding]:
    d, n = space.dim, space.n
    if d == 1:
        undefined = "Not defined in one dimension."
        return [Finding(name, None, n, undefined) for name in ("isoscore", "isoscore_corrected")]
    plain_score = (ratio - 1) / (d - 1)
    biased = f"{plain(plain_score)} of 1; it reads too low when there are few rows per dimension ({plain(n / d)} here)."
    corrected = corrected_participation(space)
    found = [Finding("isoscore", plain_score, n, biased, "Compare isoscore_corrected, which does not depend on n.")]
    if corrected is None:
        return [*found, Finding("isoscore_corrected", None, n, "Needs at least 4 rows that differ.")]
    score = min(max((corrected - 1) / (d - 1), 0.0), 1.0)
    low, high = around(score, _isoscore_variance(space, sampling, min(corrected, d)), n)
    if low is not None and not 1 <= corrected <= d:
        low = min(low, plain_score)  # a few rows carry the variance, and the estimate has left its range
    found.append(
        Finding(
            "isoscore_corrected",
            score,
            n,
            f"{plain(score)} of 1, where 1 is a ball and 0 a line: the share of the dimensions in even use.",
            "Low is normal for text; compare it between layers or models.",
            None if low is None else max(low, 0.0),
            None if high is None else min(high, 1.0),
        )
    )
    return found


def _isoscore_variance(space: Space, sampling: _Sampling, corrected: float) -> float:
    """Infinitesimal jackknife of the participation ratio, plus 4 PR^2/n^2, which is all there is in a ball."""
    n, d = space.n, space.dim
    values, _ = space.directions
    variance = sampling.spread(_ratio_slope(values)) / (n - 1) + 4 * corrected**2 / n**2
    return variance / (d - 1) ** 2


def _no_spread(space: Space) -> list[Finding]:
    meaning = "All rows are the same: there is no variance to speak of."
    zeros = ("effective_rank", "participation_ratio", "isoscore", "isoscore_corrected")
    nothing = ("top1_share", "top10_share", "condition_number", "condition_number_99")
    return [
        *(Finding(name, 0.0, space.n, meaning, level=Level.COLLAPSED) for name in zeros),
        *(Finding(name, None, space.n, meaning) for name in nothing),
    ]


def _shares(eigenvalues: Vector) -> Vector:
    total = eigenvalues.sum()
    return eigenvalues / total if total > 0 else eigenvalues


def _rank_slope(eigenvalues: Vector) -> Vector:
    total, shares = eigenvalues.sum(), _shares(eigenvalues)
    logs = np.log(np.where(shares > 0, shares, 1.0))
    entropy = -(shares * logs).sum()
    return np.asarray(np.exp(entropy) * -(logs + entropy) / total)


def _ratio_slope(eigenvalues: Vector) -> Vector:
    total, squares = eigenvalues.sum(), (eigenvalues**2).sum()
    return np.asarray(2 * total / squares - 2 * total**2 * eigenvalues / squares**2)


def _share_slope(eigenvalues: Vector, k: int) -> Vector:
    total = eigenvalues.sum()
    inside = (np.arange(len(eigenvalues)) < k).astype(np.float64)
    return np.asarray((inside - top_share(eigenvalues, k)) / total)
