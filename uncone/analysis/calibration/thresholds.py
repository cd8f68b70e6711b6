"""Thresholds that a given share of unrelated pairs reaches, or the refusal of one that the data cannot support."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uncone.analysis.calibration.quantiles import LEAST_BEYOND, MOST_PAIRS
from uncone.analysis.calibration.results import Background, HitSpread, Threshold, Translation
from uncone.analysis.calibration.sampled_pairs import Side
from uncone.analysis.number_format import count, percent
from uncone.errors import OptionError
from uncone.run.threads import in_order

__all__ = ["KNOWN_WITHIN", "hit_spread", "one_hit", "percentile_at", "rate_at", "score_at", "threshold", "translate"]

KNOWN_WITHIN = 2.0
"""The share of unrelated pairs that reach a threshold has to be known within this factor."""

_ENDS = (("lows", 1), ("highs", -1))
"""The ends of an interval of scores, and whether more or fewer pairs reach them."""
_LARGEST = 1 - 5e-7  # a cosine of 1 is measured as 1 within the rounding of single precision
_HIT_PAIRS, _FEWEST_QUERIES, _BLOCK = 1_000_000, 256, 2048


def rate_at(background: Background, score: ArrayLike) -> NDArray[np.float64]:
    """The share of unrelated pairs at or above each score; 0 above all that were sampled."""
    tails, scores = np.asarray(background.tails, np.float64), np.asarray(background.scores, np.float64)
    at = np.minimum(np.asarray(score, np.float64), _LARGEST)
    # If many pairs share one score, all of them reach it: the first of equal scores has the share.
    first = np.searchsorted(scores, at).clip(max=len(scores) - 1)
    between = np.interp(at, scores, tails, left=1.0, right=0.0)
    return np.asarray(np.where(scores[first] == at, tails[first], between), np.float64)


def percentile_at(background: Background, score: ArrayLike) -> NDArray[np.float64]:
    """The share of unrelated pairs below each score, in percent."""
    return np.asarray(100 * (1 - rate_at(background, score)))


def score_at(background: Background, rate: float, *, bound: str = "scores") -> float:
    """The score that this share of unrelated pairs reaches, or its bound: "lows" or "highs"."""
    return float(np.interp(-rate, -np.asarray(background.tails), np.asarray(getattr(background, bound))))


def threshold(background: Background, rate: float, corpus_size: int | None = None) -> Threshold:
    """The score that a share `rate` of unrelated pairs reaches.

    It is refused unless at least a hundred pairs of distinct rows lie beyond it, and the share of pairs that reach it
    is known within a factor of two: its 95 % interval over distinct rows does not exceed twice the rate. A few rows
    that are close to everything make many pairs and little knowledge, and fail the second.

    Raises:
        OptionError: the rate is not between 0 and 1, or the corpus is empty.
    """
    if not 0 < rate < 1:
        raise OptionError(f"A false-positive rate lies between 0 and 1, such as 0.01, not {rate:g}.")
    _check_size(corpus_size)
    hits = None if corpus_size is None else rate * corpus_size
    reason, n_rows = _refusal(background, rate)
    if reason:
        return Threshold(rate, None, None, None, n_rows, reason, corpus_size, hits)
    value, low, high = (score_at(background, rate, bound=bound) for bound in ("scores", "lows", "highs"))
    return Threshold(rate, value, low, high, None, "", corpus_size, hits)


def one_hit(background: Background, corpus_size: int) -> Threshold:
    """The threshold that one unrelated vector of the corpus reaches on average: some queries have more, many none.

    Raises:
        OptionError: the corpus is empty.
    """
    _check_size(corpus_size)
    if corpus_size == 1:  # one vector is at most one hit, whatever the threshold
        return Threshold(1.0, -1.0, -1.0, -1.0, None, "", 1, 1.0)
    return threshold(background, 1 / corpus_size, corpus_size)


def _check_size(corpus_size: int | None) -> None:
    if corpus_size is not None and corpus_size < 1:
        raise OptionError(f"A corpus holds at least 1 vector, not {corpus_size:,}.")


def hit_spread(background: Background, sides: tuple[Side, Side | None], base: float, corpus_size: int) -> HitSpread:
    """The unrelated hits of sampled queries in a corpus of sampled vectors, at its threshold of one on average.

    Hubs give some queries many hits, and most none. A corpus larger than the sample is counted at the size of the
    sample.
    """
    side, other = sides[0], sides[1] or sides[0]
    size = min(corpus_size, other.n)
    queries = slice(side.n - min(side.n, max(_HIT_PAIRS // size, _FEWEST_QUERIES)), side.n)
    limit = score_at(background, 1 / size) - base

    def count_hits(part: slice) -> NDArray[np.int64]:
        reached = side.units[queries] @ other.right(part).T >= limit
        for ours, theirs in zip(side.marks, other.marks, strict=False):
            reached &= ours[queries, None] != theirs[None, part]
        return np.asarray(reached.sum(axis=1))

    blocks = [slice(start, min(start + _BLOCK, size)) for start in range(0, size, _BLOCK)]
    hits = np.sum(list(in_order(count_hits, blocks)), axis=0)
    return HitSpread(size, len(hits), float((hits > 1).mean()), int(hits.max()))


def translate(score: float, old: Background, new: Background, old_name: str) -> Translation:
    """The threshold of the new space that as many unrelated pairs reach as reach `score` in the old one.

    The bounds are those of the new space at the rate of the old one, and of the old rate itself: the translation is as
    uncertain as both together.

    Raises:
        OptionError: the score is not a cosine.
    """
    if not -1 <= score <= 1:
        raise OptionError(f"A cosine lies between -1 and 1; {score:g} cannot be translated.")
    rate = float(rate_at(old, score))
    reason = ""
    if rate >= 1:
        reason = f"all {old.pairs:,} sampled pairs of {old_name} reach it."
    elif rate <= 0:
        reason = f"none of {old.pairs:,} sampled pairs of {old_name} reaches it."
    else:
        refused = ((name, _refusal(space, rate)[0]) for space, name in ((old, old_name), (new, new.name)))
        reason = next((f"{name}: {refusal}" for name, refusal in refused if refusal), "")
    if reason:
        return Translation(score, rate, None, None, None, old_name, reason)
    odds = math.log(rate / (1 - rate))
    moved = (odds + math.hypot(_reach(old, rate, end), _reach(new, rate, end)) * sign for end, sign in _ENDS)
    low, high = (score_at(new, 1 / (1 + math.exp(-log_odds))) for log_odds in moved)
    value = score_at(new, rate)
    return Translation(score, rate, value, min(low, value), max(high, value), old_name)


def _reach(background: Background, rate: float, bound: str) -> float:
    """The distance between the log odds of the rate and those at one end of the interval of its threshold."""
    at = min(max(float(rate_at(background, score_at(background, rate, bound=bound))), 1e-12), 1 - 1e-12)
    return abs(math.log(at / rate * (1 - rate) / (1 - at)))


def _refusal(background: Background, rate: float) -> tuple[str, int | None]:
    """Why there are too few vectors for a threshold at this rate, and how many are enough; "" if there are enough."""
    least = LEAST_BEYOND / min(rate, 1 - rate)
    if least > MOST_PAIRS:
        return f"a rate of {rate:g} would take more than {MOST_PAIRS:,} pairs.", None
    rows, _, pairs = background.counts
    kind = "vector" if rows == background.rows else "distinct vector"
    if pairs < least:
        n_rows = _rows_for(background, least)
        reason = (
            f"{percent(min(rate, 1 - rate))} of {count(pairs, 'pair')} is fewer than {LEAST_BEYOND}. You need about "
            f"{count(n_rows, kind)} and have {rows:,}."
        )
        return reason, n_rows
    if background.pairs < least:
        return f"only {background.pairs:,} pairs were sampled. Calibrate again with --fpr {rate:g}.", None
    if rate >= 0.5:
        return "", None
    value = score_at(background, rate)
    reached = float(rate_at(background, value))
    if reached > KNOWN_WITHIN * rate:
        return f"{percent(reached)} of unrelated pairs score {value:.4f} or more, and many exactly that.", None
    beyond = float(rate_at(background, score_at(background, rate, bound="lows")))
    if beyond <= KNOWN_WITHIN * rate:
        return "", None
    n_rows = math.ceil(rows * (math.log(beyond / rate) / math.log(KNOWN_WITHIN)) ** 2)
    reason = (
        f"a few vectors make up most of the pairs beyond it, so up to {percent(beyond)} of unrelated pairs may reach "
        f"it. You need about {count(n_rows, kind)} and have {rows:,}."
    )
    return reason, n_rows


def _rows_for(background: Background, pairs: float) -> int:
    """The number of distinct vectors that make `pairs` pairs; of two sides that grow together, those of the first."""
    rows, documents, _ = background.counts
    if documents is None:
        return math.ceil((1 + math.sqrt(1 + 8 * pairs)) / 2)
    return math.ceil(rows * math.sqrt(pairs / (rows * documents)))
