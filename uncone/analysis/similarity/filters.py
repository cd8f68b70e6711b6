"""Bounds of a cosine as people write them: 0.8, or p99, the 99th percentile of the background."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from uncone.analysis.calibration.results import Background
from uncone.analysis.calibration.thresholds import rate_at, score_at
from uncone.analysis.similarity.pairwise.blocks import ALIKE
from uncone.data.batch import Vector
from uncone.errors import OptionError

__all__ = ["bounds", "cosine_at", "duplicate_bound", "parse_bound", "percentile_by"]


def parse_bound(text: str | float, background: Background | None = None, option: str = "--min") -> float:
    """The cosine that is meant by `0.8`, or by `p99` with a background.

    >>> parse_bound("0.8"), parse_bound(-1)
    (0.8, -1.0)

    Raises:
        OptionError: it is neither, or out of range, or the background does not reach that far.
    """
    shown = str(text).strip()
    if shown[:1] in ("p", "P"):
        return _percentile_bound(shown, background, option)
    try:
        value = float(shown)
    except ValueError:
        value = math.nan
    if math.isnan(value):
        raise OptionError(
            f"{option} takes a cosine from -1 to 1, or a percentile of the background such as p99; this is {shown!r}."
        )
    if not -1 <= value <= 1:
        meant = f" For the percentile write p{value:g}." if 1 < value < 100 else ""
        raise OptionError(f"{option} {shown}: a cosine lies between -1 and 1.{meant}")
    return value


def _percentile_bound(shown: str, background: Background | None, option: str) -> float:
    try:
        percent = float(shown[1:])
    except ValueError:
        percent = math.nan
    if not 0 <= percent <= 100:
        raise OptionError(f"{option} {shown}: a percentile is written p0 to p100, for instance p99 or p99.9.")
    if background is None:
        raise OptionError(
            f"{option} {shown} needs a background of unrelated pairs. Give a cosine from -1 to 1 instead."
        )
    return cosine_at(background, percent, f"{option} {shown}")


def cosine_at(background: Background, percent: float, what: str = "The percentile") -> float:
    """The cosine that `percent` % of the unrelated pairs lie below.

    Raises:
        OptionError: so few pairs lie above it that the background does not know it.
    """
    tails = np.asarray(background.tails, np.float64)
    tail = 1 - percent / 100
    if tail > tails[0]:
        return -1.0
    # 1 - 0.99 is a little more than 0.01: what is meant is the last percentile that is known.
    if tail < tails[-1] * (1 - 1e-9):
        raise OptionError(
            f"{what}: the background of {background.rows:,} rows is known up to p{100 * (1 - tails[-1]):.6g}. "
            "Ask for a lower percentile, or give a cosine."
        )
    return float(np.clip(score_at(background, tail), -1.0, 1.0))


def bounds(
    low: str | float | None, high: str | float | None, background: Background | None = None
) -> tuple[float | None, float | None]:
    """The cosines that --min and --max mean; None where one is not given.

    Raises:
        OptionError: one cannot be read, or no cosine lies between them.
    """
    least = None if low is None else parse_bound(low, background, "--min")
    most = None if high is None else parse_bound(high, background, "--max")
    if least is not None and most is not None and least > most:
        raise OptionError(
            f"--min {low} is a cosine of {least:.4g} and --max {high} one of {most:.4g}: nothing lies between. "
            "Swap the two, or leave one out."
        )
    return least, most


def percentile_by(background: Background) -> Callable[[ArrayLike], Vector]:
    """What share of the background, in percent, lies below each of some cosines."""

    def percentile(cosines: ArrayLike) -> Vector:
        return np.asarray(100 * (1 - rate_at(background, cosines)))

    return percentile


def duplicate_bound(background_mean: float) -> float:
    """The cosine from which on two rows are near-duplicates: 98 % of the way from the background to 1.

    In a space where unrelated texts score 0.9 a cosine of 0.98 is nothing special.

    >>> duplicate_bound(0.0), round(duplicate_bound(0.9), 4)
    (0.98, 0.998)
    """
    return background_mean + ALIKE * (1 - background_mean)
