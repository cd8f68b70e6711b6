"""What a score is worth as evidence, from the share of unrelated pairs that reach it: the one rule of all verbs."""

from __future__ import annotations

from enum import StrEnum

from uncone.analysis.intervals.intervals import LEAST_UNITS

__all__ = ["RARE", "WEAK", "Evidence", "evidence"]

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
