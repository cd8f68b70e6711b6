"""What two random rows score: the baseline, the distribution around it, and what a given score means."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from uncone.analysis.cosine.evidence import Evidence, evidence
from uncone.analysis.intervals.intervals import FEW, Interval, Spread, around, pair_mean_spread
from uncone.analysis.measures.finding import Finding, Level
from uncone.analysis.number_format import cosine, count, percent, plain
from uncone.analysis.space.space import Space

__all__ = ["QUANTILES", "ScoreMeaning", "baseline", "central_rows", "quantiles", "score_meaning", "uniformity"]

QUANTILES = (0.01, 0.025, 0.05, 0.25, 0.5, 0.75, 0.95, 0.975, 0.99)
CROWDED, COLLAPSED = 0.25, 0.9
_TIE = 1e-6  # the cosine of a row with its copy is 1 but for rounding


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


_FIND_OUT = "Labelled pairs can show whether a repair helps: uncone fix --method auto --pairs."
_ADVICE = {
    Level.HEALTHY: "Nothing to do: a score far above the background means something.",
    Level.CROWDED: "Read scores against the random pairs of this space: a threshold from elsewhere does not carry "
    "over. The crowding may come from the model or from a topic that all texts share; vectors alone cannot say which. "
    + _FIND_OUT,
    Level.COLLAPSED: "Cosines hardly tell these vectors apart. Look at how they are made (layer, pooling, prompt). "
    + _FIND_OUT,
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
        # Beyond the smallest and the largest cosine seen, only the bounds of a cosine are known.
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
    evidence: Evidence
    meaning: str

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return self.__dict__.copy()


def score_meaning(space: Space, score: float) -> ScoreMeaning:
    """The share of random pairs that reach or beat `score`."""
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
    least, most = (None if one is None else _unrelated(one, copies) for one in (low, high))
    worth = evidence(apart, least, most, space.distinct)
    meaning = _score_sentence(score, apart, most, worth, space)
    return ScoreMeaning(score, share, low, high, cosines.pairs, worth, meaning)


def _score_sentence(score: float, share: float, high: float | None, worth: Evidence, space: Space) -> str:
    pairs = "random pairs" if space.sample.groups is None else "random pairs of distinct vectors"
    compared = min(space.cosines.pairs, space.distinct * (space.distinct - 1) // 2)
    reach = f"{percent(share)} of {pairs} score" if share else f"None of {compared:,} {pairs} scores"
    reach += f" {score:g} or more"
    if worth is Evidence.UNKNOWN:
        most = "" if high is None else f", and it may be up to {percent(high)}"
        return f"{reach}{most}: with {count(space.distinct, 'distinct vector')}, we cannot say what {score:g} means."
    if worth is Evidence.NONE:
        return f"{reach}, so {score:g} is not evidence of similarity here."
    if worth is Evidence.WEAK:
        return f"{reach}: {score:g} is weak evidence of similarity."
    return f"{reach}: {score:g} is evidence of similarity for one pair. In a search, every vector is another chance."


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
