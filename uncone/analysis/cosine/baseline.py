"""Cosines of unrelated pairs: the baseline, the distribution around it, and what a given score means."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from uncone.analysis.intervals.intervals import FEW, LEAST_UNITS, Interval, Spread, around, pair_mean_spread
from uncone.analysis.measures.finding import Finding, Level
from uncone.analysis.number_format import cosine, count, percent, plain
from uncone.analysis.space.space import Space

__all__ = [
    "QUANTILES",
    "WEAK",
    "Evidence",
    "ScoreMeaning",
    "baseline",
    "central_rows",
    "evidence",
    "quantiles",
    "score_meaning",
    "uniformity",
]

RARE = 0.01
"""A score that at most 1 % of unrelated pairs reach is evidence of similarity."""

WEAK = 0.05
"""A score that more than 5 % of unrelated pairs reach is none."""


class Evidence(StrEnum):
    """How much a score says about one pair."""

    STRONG = "strong"
    WEAK = "weak"
    NONE = "none"
    UNKNOWN = "unknown"


def evidence(share: float, low: float | None, high: float | None, units: int) -> Evidence:
    """Grade a score by the share of unrelated pairs that reach it, with the 95 % interval of that share.

    It is unknown with fewer than 30 distinct vectors, without an interval, or when the interval reaches from strong
    evidence to none.

    >>> evidence(0.0, 0.0, 0.6, units=45), evidence(0.27, 0.26, 0.28, units=1000)
    (<Evidence.UNKNOWN: 'unknown'>, <Evidence.NONE: 'none'>)
    """
    if units < LEAST_UNITS or low is None or high is None:
        return Evidence.UNKNOWN
    if low <= RARE and high > WEAK:
        return Evidence.UNKNOWN
    return Evidence.STRONG if share <= RARE else Evidence.WEAK if share <= WEAK else Evidence.NONE


QUANTILES = (0.01, 0.025, 0.05, 0.25, 0.5, 0.75, 0.95, 0.975, 0.99)
CROWDED, COLLAPSED = 0.25, 0.9
_TIE = 1e-6  # the cosine of a row with its copy is 1 but for rounding
_CENTRAL = 5


def baseline(space: Space) -> Finding:
    """Mean cosine over all pairs, exact; its interval by the jackknife over distinct rows.

    Leaving out row i changes the mean by its cosine with the sum of the unit vectors, so the jackknife variance is
    4 Var(S.u)/((n-1)(n-2)^2); the variance is taken over the row sample, which is every row up to its size. Copies of a
    row are left out together.
    """
    value = min(space.units.baseline, 1.0)
    low, high = around(value, *_jackknife_spread(space))
    # Copies raise the mean, but crowd nothing.
    apart = _unrelated(value, space.copy_pairs)
    level = Level.COLLAPSED if apart >= COLLAPSED else Level.CROWDED if apart >= CROWDED else Level.HEALTHY
    low = None if low is None else min(max(low, -1.0), value)
    high = None if high is None else max(min(high, 1.0), value)
    meaning = (
        f"Unrelated vectors have a cosine of {cosine(value)} on average. With all directions in use, it is near 0."
    )
    return Finding("baseline", value, space.n, meaning, _ADVICE[level], low, high, CROWDED, level)


_ADVICE = {
    Level.HEALTHY: "Nothing to do: a score far above the background means something.",
    Level.CROWDED: "Compare scores with the unrelated pairs of this space, and don't reuse a threshold from another "
    "one.",
    Level.COLLAPSED: "Cosines hardly separate these vectors. Look at how they are made (layer, pooling, prompt).",
}


def _jackknife_spread(space: Space) -> Spread:
    n, units = space.n, space.distinct
    if units < 3:
        return Spread(math.nan, units)
    return space.mean_spread(2 * _towards_sum(space) / n).times((units / (units - 2)) ** 2)


def _unrelated(mean: float, copies: float) -> float:
    """The mean over the pairs that are no copies of what is 1 for copies, which are a share of all pairs."""
    rest = (mean - copies) / (1 - copies) if copies < 1 else mean
    return 0.0 if abs(rest) < _TIE else rest


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
        # Beyond the smallest and the largest sampled cosine, only the bounds of a cosine are known.
        low[place] = _at(space, np.array([below]))[0] if below > 0 else -1.0
        high[place] = _at(space, np.array([above]))[0] if above < 1 else 1.0
    return _quantile_finding(space, values, low, high)


def _share_interval(space: Space, share: float, kernel: np.ndarray) -> Interval:
    """The interval of a share of the pairs; with few distinct rows no narrower than that of pairs that share none."""
    variance, units = pair_mean_spread(space.cosines, kernel)
    if space.distinct < FEW:
        copies = space.cosines.copies
        other = _unrelated(share, copies)
        variance = max(variance, (1 - copies) ** 2 * other * (1 - other) / _apart(space))
    return around(share, variance, units)


def _apart(space: Space) -> int:
    """How many pairs of distinct rows share none."""
    return max(min(space.distinct, space.cosines.m) // 2, 1)


def _quantile_finding(space: Space, values: np.ndarray, low: np.ndarray | None, high: np.ndarray | None) -> Finding:
    def by_quantile(numbers: np.ndarray) -> dict[str, float]:
        return {str(p): float(number) for p, number in zip(QUANTILES, numbers, strict=True)}

    middle = f"Unrelated pairs score {cosine(values[1])} to {cosine(values[-2])} (95 %)"
    meaning = f"{middle}, by {space.cosines.pairs:,} pairs of {space.cosines.m:,} vectors."
    advice = "A score that unrelated pairs reach says little."
    least, most = (None if end is None else by_quantile(end) for end in (low, high))
    return Finding("pair_cosine_quantiles", by_quantile(values), space.cosines.m, meaning, advice, least, most)


def _at(space: Space, p: np.ndarray) -> np.ndarray:
    ordered = space.sorted_cosines
    return np.asarray(np.interp(p * (len(ordered) - 1), np.arange(len(ordered)), ordered))


@dataclass(frozen=True)
class ScoreMeaning:
    """The share of unrelated pairs that score as high, and what that makes the score worth."""

    score: float
    beaten_by: float
    low: float | None
    high: float | None
    pairs: int
    evidence: Evidence
    meaning: str

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return self.__dict__.copy()


def score_meaning(space: Space, score: float) -> ScoreMeaning:
    """What `score` is worth as evidence, by the share of unrelated pairs that reach it."""
    cosines = space.cosines
    over = (cosines.values >= score - _TIE).astype(np.float64)
    share = float(over.mean())
    copies = cosines.copies
    # A copy is no evidence against a score: what counts is the share among the other pairs.
    apart = _unrelated(share, copies)
    if 0 < apart < 1:
        low, high = _clipped(_share_interval(space, share, over), copies)
    else:
        # None (or all) of the pairs that share no row: the rule of three.
        rule = min(3 / _apart(space), 1.0) * (1 - copies)
        low, high = (share, share + rule) if apart == 0 else (1 - rule, 1.0)
    least, most = (None if bound is None else _unrelated(bound, copies) for bound in (low, high))
    worth = evidence(apart, least, most, space.distinct)
    meaning = _score_sentence(score, apart, most, worth, space)
    return ScoreMeaning(score, share, low, high, cosines.pairs, worth, meaning)


def _score_sentence(score: float, share: float, high: float | None, worth: Evidence, space: Space) -> str:
    pairs = "unrelated pairs" if space.sample.groups is None else "unrelated pairs of distinct vectors"
    compared = min(space.cosines.pairs, space.distinct * (space.distinct - 1) // 2)
    reach = f"{percent(share)} of {pairs} score" if share else f"None of {compared:,} {pairs} scores"
    reach += f" {score:g} or more"
    if worth is Evidence.UNKNOWN:
        most = "" if high is None else f", and it may be up to {percent(high)}"
        return f"{reach}{most}: {count(space.distinct, 'distinct vector')} are too few to say what {score:g} means."
    grade = {Evidence.NONE: "not evidence", Evidence.WEAK: "weak evidence", Evidence.STRONG: "evidence"}[worth]
    search = " In a large corpus, some texts still reach it by chance." if worth is Evidence.STRONG else ""
    return f"{reach}, so {score:g} is {grade} of similarity here.{search}"


def _clipped(interval: Interval, least: float) -> Interval:
    low, high = interval
    return (None, None) if low is None or high is None else (max(low, least), min(high, 1.0))


def uniformity(space: Space) -> Finding:
    """Log E exp(-2 |u - v|^2) over random pairs (Wang and Isola 2020)."""
    kernel = np.exp(-4 * (1 - space.cosines.values.astype(np.float64)))
    mean = float(kernel.mean())
    value = math.log(mean)
    # Pairs of copies are known to be 1: only the rest of the mean is uncertain, and by its own measure.
    rest = mean - space.cosines.copies if space.distinct > 1 else mean
    low, high = around(value, *pair_mean_spread(space.cosines, kernel).times(1 / rest**2))
    meaning = f"{plain(value)}, where 0 is a single point and -4 about the best there is: an even spread on the sphere."
    advice = "Compare it between models on the same texts; lower is more spread out."
    return Finding("uniformity", value, space.cosines.m, meaning, advice, low, None if high is None else min(high, 0.0))


def central_rows(space: Space) -> Finding:
    """The sampled vectors with the highest mean cosine to all others: the first suspects for hubs."""
    means, sample = (_towards_sum(space) - 1) / (space.n - 1), space.sample
    order = np.argsort(-means, kind="stable")[:_CENTRAL]
    texts = [None if sample.texts is None else sample.texts[i] for i in order]
    rows = [
        {"row": int(sample.rows[i]), "text": text, "value": float(means[i])}
        for i, text in zip(order, texts, strict=True)
    ]
    meaning = f"The most central vector has a mean cosine of {cosine(means[order[0]])} with all others."
    advice = "Such vectors turn up in answers to any query (hubs): look at what they have in common."
    return Finding("central_rows", float(means[order[0]]), sample.n, meaning, advice, rows=rows)
