"""What two random rows score: the baseline, the distribution around it, and what a given score means."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from uncone.diagnosis.finding import Finding, Level
from uncone.diagnosis.intervals import FEW, Interval, around, pair_mean_variance
from uncone.diagnosis.space import Space
from uncone.diagnosis.words import cosine, percent, plain

__all__ = ["QUANTILES", "ScoreMeaning", "baseline", "central_rows", "quantiles", "score_meaning", "uniformity"]

QUANTILES = (0.01, 0.025, 0.05, 0.25, 0.5, 0.75, 0.95, 0.975, 0.99)
CROWDED, COLLAPSED = 0.25, 0.9
_TIE = 1e-6  # the cosine of a row with its copy is 1 but for rounding


def baseline(space: Space) -> Finding:
    """Mean cosine over all pairs, exact; its interval by the delete-one jackknife.

    Leaving out row i changes the mean by its cosine with the sum of the unit vectors, so the jackknife variance is
    4 Var(S.u)/((n-1)(n-2)^2); the variance is taken over the row sample, which is every row up to its size.
    """
    value = min(space.units.baseline, 1.0)
    low, high = around(value, _jackknife_variance(space), space.n)
    level = Level.COLLAPSED if value >= COLLAPSED else Level.CROWDED if value >= CROWDED else Level.HEALTHY
    return Finding(
        "baseline",
        value,
        space.n,
        f"Two random rows have a cosine of {cosine(value)} on average; where all directions are in use it is near 0.",
        _ADVICE[level],
        None if low is None else min(max(low, -1.0), value),
        None if high is None else max(min(high, 1.0), value),
        CROWDED,
        level,
    )


_ADVICE = {
    Level.HEALTHY: "Nothing to do: a score far above the background means something.",
    Level.CROWDED: "Do not reuse a threshold from elsewhere; read scores against the random pairs of this space. "
    "Subtracting the mean vector before taking cosines often helps: prove it on labelled pairs.",
    Level.COLLAPSED: "Cosines cannot tell these rows apart as they are. Look at how the vectors are made (layer, "
    "pooling, prompt), then subtract the mean vector or use another model.",
}


def _jackknife_variance(space: Space) -> float:
    n = space.n
    if n < 3:
        return math.nan
    spread = float(_towards_sum(space).var())
    return 4 * spread / ((n - 1) * (n - 2) ** 2)


def _towards_sum(space: Space) -> np.ndarray:
    """S.u for every sampled row: n times its mean cosine with all rows."""
    return space.sample.dot(space.units.total) / space.sample.norms


def quantiles(space: Space) -> Finding:
    """Quantiles of the cosine of random pairs; intervals by turning those of the shares."""
    values = _at(space, np.array(QUANTILES))
    low, high = values.copy(), values.copy()
    for place, (p, value) in enumerate(zip(QUANTILES, values, strict=True)):
        below, above = _share_interval(space, p, (space.cosines.values <= value).astype(np.float64))
        if below is None or above is None:
            return _quantile_finding(space, values, None, None)
        # Beyond the smallest and the largest cosine seen, only the bounds of a cosine are known.
        low[place] = _at(space, np.array([below]))[0] if below > 0 else -1.0
        high[place] = _at(space, np.array([above]))[0] if above < 1 else 1.0
    return _quantile_finding(space, values, low, high)


def _share_interval(space: Space, share: float, kernel: np.ndarray) -> Interval:
    """The interval of a share of the pairs; with few rows no narrower than that of m/2 pairs that share no row."""
    cosines = space.cosines
    variance = pair_mean_variance(cosines, kernel)
    if cosines.m < FEW:
        variance = max(variance, share * (1 - share) / max(cosines.m // 2, 1))
    return around(share, variance, cosines.m)


def _quantile_finding(space: Space, values: np.ndarray, low: np.ndarray | None, high: np.ndarray | None) -> Finding:
    def named(numbers: np.ndarray) -> dict[str, float]:
        return {str(p): float(number) for p, number in zip(QUANTILES, numbers, strict=True)}

    middle = f"95 % of random pairs lie between {cosine(values[1])} and {cosine(values[-2])}."
    return Finding(
        "pair_cosine_quantiles",
        named(values),
        space.cosines.m,
        f"{middle} Taken from {space.cosines.pairs:,} pairs of {space.cosines.m:,} rows.",
        "Read a score against these: one that random pairs reach says little.",
        None if low is None else named(low),
        None if high is None else named(high),
    )


def _at(space: Space, p: np.ndarray) -> np.ndarray:
    ordered = space.sorted_cosines
    return np.asarray(np.interp(p * (len(ordered) - 1), np.arange(len(ordered)), ordered))


@dataclass(frozen=True)
class ScoreMeaning:
    """How many random pairs beat a score."""

    score: float
    beaten_by: float
    low: float | None
    high: float | None
    pairs: int
    meaning: str

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return self.__dict__.copy()


def score_meaning(space: Space, score: float) -> ScoreMeaning:
    """The share of random pairs that reach or beat `score`."""
    cosines = space.cosines
    over = (cosines.values >= score - _TIE).astype(np.float64)
    share = float(over.mean())
    if over.any() and not over.all():
        low, high = _clipped(_share_interval(space, share, over))
    else:
        # None (or all) of m/2 pairs that share no row: the rule of three.
        rule = min(3 / max(cosines.m // 2, 1), 1.0)
        low, high = (0.0, rule) if share == 0 else (1 - rule, 1.0)
    return ScoreMeaning(score, share, low, high, cosines.pairs, _score_sentence(score, share, cosines.pairs))


def _score_sentence(score: float, share: float, pairs: int) -> str:
    shown = f"A cosine of {score:g}"
    if share == 0:
        return f"{shown} is beaten by none of {pairs:,} random pairs: it means something here."
    beaten = f"{shown} is beaten by {percent(share)} of random pairs"
    if share > 0.05:
        return f"{beaten}, so it means nothing here."
    if share > 0.01:
        return f"{beaten}: weak evidence of a relation."
    return f"{beaten}: rare by chance, so it means something for one pair; in a search every row is a chance."


def _clipped(interval: Interval) -> Interval:
    low, high = interval
    return (None, None) if low is None or high is None else (max(low, 0.0), min(high, 1.0))


def uniformity(space: Space) -> Finding:
    """Log E exp(-2 |u - v|^2) over random pairs (Wang and Isola 2020)."""
    kernel = np.exp(-4 * (1 - space.cosines.values.astype(np.float64)))
    mean = float(kernel.mean())
    value = math.log(mean)
    low, high = around(value, pair_mean_variance(space.cosines, kernel) / mean**2, space.cosines.m)
    return Finding(
        "uniformity",
        value,
        space.cosines.m,
        f"{plain(value)}, where 0 is a single point and -4 about the best there is: rows spread over the sphere.",
        "Compare it between models on the same texts; lower is more spread out.",
        low,
        None if high is None else min(high, 0.0),
    )


def central_rows(space: Space, keep: int = 5) -> Finding:
    """The sampled rows with the highest mean cosine to all others: the first suspects for hubs."""
    means = (_towards_sum(space) - 1) / (space.n - 1)
    order = np.argsort(-means, kind="stable")[:keep]
    sample = space.sample
    rows = [
        {
            "row": int(sample.rows[i]),
            "text": None if sample.texts is None else sample.texts[i],
            "value": float(means[i]),
        }
        for i in order
    ]
    return Finding(
        "central_rows",
        float(means[order[0]]),
        sample.n,
        f"The row that is closest to everything has a mean cosine of {cosine(means[order[0]])} with all others.",
        "Such rows turn up in answers to any query (hubs): look at what they have in common.",
        rows=rows,
    )
