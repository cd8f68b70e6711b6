"""IsoScore, plain and corrected for the number of rows (Rudman et al. 2022)."""

from __future__ import annotations

from uncone.analysis.intervals.intervals import Spread, around
from uncone.analysis.measures.finding import Finding
from uncone.analysis.number_format import plain
from uncone.analysis.space.geometry import Geometry
from uncone.analysis.spectrum.eigenvalues import participation_ratio, ratio_slope
from uncone.analysis.spectrum.sampling import Sampling

__all__ = ["corrected_participation", "corrected_ratio", "isoscores"]


def isoscores(space: Geometry, sampling: Sampling) -> list[Finding]:
    """(PR - 1)/(d - 1) with the participation ratio PR, and the same from unbiased estimates."""
    d, n = space.dim, space.n
    if d == 1:
        undefined = "Not defined in one dimension."
        return [Finding(name, None, n, undefined) for name in ("isoscore", "isoscore_corrected")]
    plain_score = (participation_ratio(space.directions[0]) - 1) / (d - 1)
    biased = f"{plain(plain_score)} of 1; too low if there are few vectors per dimension ({plain(n / d)} here)."
    corrected = corrected_participation(space)
    found = [Finding("isoscore", plain_score, n, biased, "Compare isoscore_corrected, which does not depend on n.")]
    if corrected is None:
        return [*found, Finding("isoscore_corrected", None, n, "Needs at least 4 distinct vectors.")]
    score = min(max((corrected - 1) / (d - 1), 0.0), 1.0)
    # The correction takes rows for independent; where they come in groups, the interval makes up for it.
    shift = sampling.group_bias(participation_ratio) / (d - 1)
    low, high = around(score - shift, *_isoscore_spread(space, sampling, min(corrected, d)))
    low, high = (None, None) if low is None or high is None else (min(low, score), max(high, score))
    if low is not None and not 1 <= corrected <= d:
        low = min(low, plain_score)  # a few rows carry the variance, and the estimate has left its range
    low, high = None if low is None else max(low, 0.0), None if high is None else min(high, 1.0)
    meaning = f"{plain(score)} of 1, where 1 is a ball and 0 a line: the share of the dimensions in even use."
    advice = "Low is normal for text; compare it between layers or models."
    return [*found, Finding("isoscore_corrected", score, n, meaning, advice, low, high)]


def _isoscore_spread(space: Geometry, sampling: Sampling, corrected: float) -> Spread:
    """Infinitesimal jackknife of the participation ratio, plus 4 PR^2/n^2, which is all there is in a ball."""
    values, _ = space.directions
    variance, units = sampling.spread(ratio_slope(values))
    return Spread(variance + 4 * corrected**2 / space.effective**2, units).times(1 / (space.dim - 1) ** 2)


def corrected_participation(space: Geometry) -> float | None:
    """The participation ratio of a space, corrected for the number of its rows; copies of a row are one."""
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
