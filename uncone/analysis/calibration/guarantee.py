"""Thresholds with a promise on new pairs, from labeled ones: conformal risk control (Angelopoulos et al. 2022).

A promise of one kind rests on the labeled pairs of one kind: on similar pairs that the threshold misses, or on
dissimilar ones that it lets through. With n exchangeable units of a mean loss R at a threshold, the expected loss of a
new unit is at most (n R + 1)/(n + 1), because a loss is at most 1 and moves one way with the threshold. The threshold
is the last at which that is at most the promised rate.

Pairs that share texts are not exchangeable one by one. Pairs linked through shared texts are therefore one unit, whose
loss is the share of its pairs on the wrong side; if one such group holds over a fifth of the pairs, the units are pairs
that share no text. The rate of all pairs may still be higher, if large groups are harder than others: so the threshold
is never laxer than the one for which every distinct pair is a unit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from uncone.analysis.calibration.calibration import LabeledScores, labeled_shares
from uncone.analysis.calibration.results import Background, Guarantee
from uncone.analysis.calibration.thresholds import rate_at
from uncone.analysis.intervals.intervals import LEAST_UNITS
from uncone.analysis.intervals.pair_units import PairUnits
from uncone.analysis.intervals.resampling import LEVEL
from uncone.analysis.number_format import count, percent
from uncone.data.batch import IntVector
from uncone.errors import OptionError, ShapeError

__all__ = [
    "PAIRS",
    "Promised",
    "check_units",
    "guarantees",
    "promised_threshold",
    "risk_threshold",
    "units_needed",
]

Kind = Literal["miss", "false"]
PAIRS = {"miss": "similar", "false": "dissimilar"}
"""The pairs that a promise of each kind is about."""

_ROUNDING = 1e-9  # what sums of shares are off by
_LARGEST = 1.0  # cosine


def units_needed(rate: float) -> int:
    """The independent pairs of its kind that a promise needs: (n + 1) rate is 1 or more, and n at least 30.

    >>> units_needed(0.1), units_needed(0.01)
    (30, 99)
    """
    return max(LEAST_UNITS, math.ceil(1 / rate - _ROUNDING) - 1)


def check_units(units: PairUnits, name: str) -> None:
    """Refuse a guarantee on too few labeled pairs.

    Raises:
        ShapeError: fewer than 30 independent pairs.
    """
    if units.independent < LEAST_UNITS:
        pairs = len(units.unit)
        linked = "" if units.independent == pairs else f", of which {units.independent:,} share no text"
        raise ShapeError(
            f"{name} has {count(pairs, 'labeled pair')}{linked}, and a guarantee needs at least {LEAST_UNITS}. "
            "Label more."
        )


class Promised(NamedTuple):
    """A threshold, the expected loss of a new unit there, and the number of units that it rests on."""

    value: float | None
    expected: float | None
    units: int


def promised_threshold(
    scores: NDArray[np.float64], units: PairUnits, rate: float, kind: Kind, seed: int = 0
) -> Promised:
    """The threshold that keeps a promise on pairs of one kind, with these scores (n,); none with too few units.

    Raises:
        OptionError: the rate is not between 0 and 1.
    """
    rows, unit = np.arange(len(scores)), units.unit
    if units.by_texts and len(rows):
        rows = units.disjoint(seed)
        unit = np.arange(len(units.unit))
    n = len(np.unique(unit[rows]))
    value = risk_threshold(scores[rows], unit[rows], rate, kind)
    if value is None:
        return Promised(None, None, n)
    by_pair = risk_threshold(scores, units.pair, rate, kind)
    assert by_pair is not None  # there are at least as many pairs
    value = min(value, by_pair) if kind == "miss" else max(value, by_pair)
    return Promised(value, (_lost(scores[rows], unit[rows], value, kind) + 1) / (n + 1), n)


def risk_threshold(scores: NDArray[np.float64], units: IntVector, rate: float, kind: Kind) -> float | None:
    """The outermost threshold at which the expected loss of a new unit is at most `rate`; None with too few units.

    `scores` (n,) are those of pairs of one kind, `units` (n,) say which of them belong together. A miss is a score
    below the threshold, which is as high as it can be; a false hit is one at or above it, and it is as low as it can
    be.

    >>> risk_threshold(np.arange(1.0, 20.0) / 20, np.arange(19), 0.1, "miss")
    0.1

    Raises:
        OptionError: the rate is not between 0 and 1.
    """
    if not 0 < rate < 1:
        raise OptionError(f"A guaranteed rate lies between 0 and 1, such as 0.1, not {rate:g}.")
    _, place, sizes = np.unique(units, return_inverse=True, return_counts=True)
    budget = rate * (len(sizes) + 1) - 1
    if budget < -_ROUNDING:
        return None
    order = np.argsort(scores if kind == "miss" else -scores, kind="stable")
    lost = np.cumsum(1 / sizes[place[order]])
    # The first pair that must not be lost: a threshold on its right side loses those before it, but for its equals.
    first = float(scores[order[int((lost > budget + _ROUNDING).argmax())]])
    return first if kind == "miss" else float(np.nextafter(first, np.inf))


def _lost(scores: NDArray[np.float64], units: IntVector, at: float, kind: Kind) -> float:
    """The losses of all units at a threshold."""
    _, place, sizes = np.unique(units, return_inverse=True, return_counts=True)
    wrong = scores < at if kind == "miss" else scores >= at
    return float((wrong / sizes[place]).sum())


def guarantees(
    labeled: LabeledScores, rates: Mapping[Kind, float], background: Background | None = None
) -> list[Guarantee]:
    """A threshold for each promised rate, or the number of pairs that it needs."""
    return [_guarantee(labeled, kind, rate, background) for kind, rate in rates.items()]


def _guarantee(labeled: LabeledScores, kind: Kind, rate: float, background: Background | None) -> Guarantee:
    rows = np.flatnonzero(labeled.similar == (kind == "miss"))
    own, scores, least = labeled.units.select(rows), labeled.cosines[rows], units_needed(rate)
    value, expected, n = promised_threshold(scores, own, rate, kind, labeled.seed)
    empty = Guarantee(kind, rate, None, n, len(rows), "disjoint" if own.by_texts else "linked")
    if n < least or value is None or expected is None:
        reason = (
            f"it needs {least:,} independent {PAIRS[kind]} pairs, and there are {n:,}. Pairs that share a text count "
            "as one."
        )
        return replace(empty, units_needed=least, reason=reason)
    if value > _LARGEST:
        return replace(empty, reason=f"{percent(float((scores >= _LARGEST).mean()))} of dissimilar pairs score 1.")
    # The rate of a threshold at the k-th of n independent scores is a beta variable of k and n + 1 - k (Vovk 2012).
    lost = expected * (n + 1)
    low, high = (float(betaincinv(lost, n + 1 - lost, end)) for end in ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    shares = labeled_shares(labeled, [value])[0]
    return replace(
        empty,
        value=value,
        expected=expected,
        low=low,
        high=high,
        found=shares["found"],
        let_through=shares["let_through"],
        background_rate=None if background is None else float(rate_at(background, value)),
    )
