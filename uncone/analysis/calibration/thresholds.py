"""Thresholds that a given share of unrelated pairs reaches, or the refusal of one that the data cannot support."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uncone.analysis.calibration.quantiles import LEAST_BEYOND, MOST_PAIRS
from uncone.analysis.calibration.results import Background, Threshold, Translation
from uncone.analysis.number_format import count, percent
from uncone.errors import OptionError

__all__ = ["KNOWN_WITHIN", "one_hit", "rate_at", "score_at", "threshold", "translate"]

KNOWN_WITHIN = 2.0
"""The share of unrelated pairs that reach a threshold has to be known within this factor."""

_ENDS = (("lows", 1), ("highs", -1))
"""The ends of an interval of scores, and whether more pairs or fewer reach them."""
_ONE = 1 - 5e-7  # where the cosine is 1, it is found to be 1 within the rounding of single precision


def rate_at(background: Background, score: ArrayLike) -> NDArray[np.float64]:
    """The share of unrelated pairs at or above each score; 0 above all that were sampled."""
    tails, scores = np.asarray(background.tails, np.float64), np.asarray(background.scores, np.float64)
    asked = np.minimum(np.asarray(score, np.float64), _ONE)
    found = np.interp(asked, scores, tails, left=1.0, right=0.0)
    # Where many pairs share one score, all of them reach it: the first of equal scores has the share.
    first = np.searchsorted(scores, asked).clip(max=len(scores) - 1)
    return np.asarray(np.where(scores[first] == asked, tails[first], found), np.float64)


def score_at(background: Background, rate: float, *, bound: str = "scores") -> float:
    """The score that such a share of unrelated pairs reaches, or its bound: "lows" or "highs"."""
    return float(np.interp(-rate, -np.asarray(background.tails), np.asarray(getattr(background, bound))))


def threshold(background: Background, rate: float, corpus_size: int | None = None) -> Threshold:
    """The score that a share `rate` of unrelated pairs reaches.

    It is refused unless at least a hundred pairs of distinct rows lie beyond it, and the share of pairs that reach it
    is known within a factor of two: its 95 % interval over distinct rows does not exceed twice the rate. A few rows
    that are close to everything make many pairs and little knowledge, and fail the second.

    Raises:
        OptionError: the rate is not between 0 and 1, or the corpus has no rows.
    """
    if not 0 < rate < 1:
        raise OptionError(f"A false-positive rate lies between 0 and 1, such as 0.01; this is {rate:g}.")
    if corpus_size is not None and corpus_size < 1:
        raise OptionError(f"A corpus has at least 1 row, and this is to have {corpus_size:,}.")
    hits = None if corpus_size is None else rate * corpus_size
    reason, needed = _refusal(background, rate)
    if reason:
        return Threshold(rate, None, None, None, needed, reason, corpus_size, hits)
    value, low, high = (score_at(background, rate, bound=bound) for bound in ("scores", "lows", "highs"))
    return Threshold(rate, value, low, high, None, "", corpus_size, hits)


def one_hit(background: Background, corpus_size: int) -> Threshold:
    """The threshold that one unrelated row of such a corpus reaches on average: some queries have more, many none.

    Raises:
        OptionError: the corpus has no rows.
    """
    if corpus_size < 1:
        raise OptionError(f"A corpus has at least 1 row, and this is to have {corpus_size:,}.")
    if corpus_size == 1:  # one row is at most one hit, whatever the threshold
        return Threshold(1.0, -1.0, -1.0, -1.0, None, "", 1, 1.0)
    return threshold(background, 1 / corpus_size, corpus_size)


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
    if rate >= 1:
        return _untranslated(score, rate, old_name, f"all {old.pairs:,} sampled pairs of {old_name} reach it.")
    if rate <= 0:
        return _untranslated(score, rate, old_name, f"none of {old.pairs:,} sampled pairs of {old_name} reaches it.")
    for background, name in ((old, old_name), (new, new.name)):
        reason, _ = _refusal(background, rate)
        if reason:
            return _untranslated(score, rate, old_name, f"{name}: {reason}")
    odds = math.log(rate / (1 - rate))
    moved = (odds + math.hypot(_reach(old, rate, end), _reach(new, rate, end)) * sign for end, sign in _ENDS)
    low, high = (score_at(new, 1 / (1 + math.exp(-one))) for one in moved)
    value = score_at(new, rate)
    return Translation(score, rate, value, min(low, value), max(high, value), old_name)


def _untranslated(score: float, rate: float, old_name: str, reason: str) -> Translation:
    return Translation(score, rate, None, None, None, old_name, reason)


def _reach(background: Background, rate: float, bound: str) -> float:
    """How far the log odds of the rate may lie from those at its threshold, read off one end of its interval."""
    at = min(max(float(rate_at(background, score_at(background, rate, bound=bound))), 1e-12), 1 - 1e-12)
    return abs(math.log(at / rate * (1 - rate) / (1 - at)))


def _refusal(background: Background, rate: float) -> tuple[str, int | None]:
    """Why the rows cannot support a threshold at this rate, and how many distinct ones would; nothing if they can."""
    least = LEAST_BEYOND / min(rate, 1 - rate)
    if least > MOST_PAIRS:
        return f"more than {MOST_PAIRS:,} pairs would have to be compared for a rate of {rate:g}.", None
    rows, _, pairs = background.counts
    kind = "row" if rows == background.rows else "distinct row"
    named = count(rows, kind)
    if pairs < least:
        needed = _rows_for(background, least)
        return (
            f"{named} make {count(pairs, 'pair')}, of which {percent(min(rate, 1 - rate))} are fewer than "
            f"{LEAST_BEYOND}; about {count(needed, kind)} are needed.",
            needed,
        )
    if background.pairs < least:
        return f"only {background.pairs:,} pairs were compared; calibrate again with --fpr {rate:g}.", None
    if rate >= 0.5:
        return "", None
    value = score_at(background, rate)
    reached = float(rate_at(background, value))
    if reached > KNOWN_WITHIN * rate:
        return f"{percent(reached)} of unrelated pairs score {value:.4f} or more, and many exactly that.", None
    beyond = float(rate_at(background, score_at(background, rate, bound="lows")))
    if beyond <= KNOWN_WITHIN * rate:
        return "", None
    needed = math.ceil(rows * (math.log(beyond / rate) / math.log(KNOWN_WITHIN)) ** 2)
    return (
        f"with {named} the share of unrelated pairs beyond it may be up to {percent(beyond)}: a few rows make most of "
        f"these pairs. About {count(needed, kind)} are needed.",
        needed,
    )


def _rows_for(background: Background, pairs: float) -> int:
    """How many distinct rows make so many pairs; of two sides, when both grow alike: those of the first."""
    rows, documents, _ = background.counts
    if documents is None:
        return math.ceil((1 + math.sqrt(1 + 8 * pairs)) / 2)
    return math.ceil(rows * math.sqrt(pairs / (rows * documents)))
