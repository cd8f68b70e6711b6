"""Bounds of a cosine as people write them (0.8, or p99 of the background), and the bound of near-duplicates."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from itertools import combinations, islice
from typing import Any
from unicodedata import normalize

import numpy as np

from uncone.analysis.calibration.results import Background
from uncone.analysis.calibration.thresholds import rate_at, score_at
from uncone.analysis.cosine.units import Units
from uncone.analysis.similarity.results import Crowd, Pairs
from uncone.data.batch import Vector
from uncone.errors import OptionError

__all__ = ["bounds", "crowd_at", "duplicate_bound", "equal_pairs", "parse_bound", "same_text"]


def parse_bound(text: str | float, background: Background | None = None, option: str = "--min") -> float:
    """The cosine meant by `0.8`, or by `p99` with a background.

    >>> parse_bound("0.8"), parse_bound(-1)
    (0.8, -1.0)

    Raises:
        OptionError: it is neither, or out of range, or the background does not reach that far.
    """
    bound = str(text).strip()
    is_percentile = bound[:1] in ("p", "P")
    try:
        value = float(bound[1:] if is_percentile else bound)
    except ValueError:
        value = math.nan
    if is_percentile:
        return _percentile_bound(value, bound, background, option)
    if math.isnan(value):
        raise OptionError(
            f"{option} takes a cosine from -1 to 1, or a percentile of the background such as p99; this is {bound!r}."
        )
    if not -1 <= value <= 1:
        hint = f" For the percentile write p{value:g}." if 1 < value < 100 else ""
        raise OptionError(f"{option} {bound}: a cosine lies between -1 and 1.{hint}")
    return value


def _percentile_bound(percent: float, bound: str, background: Background | None, option: str) -> float:
    """The cosine that `percent` % of the unrelated pairs lie below."""
    if not 0 <= percent <= 100:
        raise OptionError(f"{option} {bound}: a percentile is written p0 to p100, for instance p99 or p99.9.")
    if background is None:
        raise OptionError(
            f"{option} {bound} needs a background of unrelated pairs. Give a cosine from -1 to 1 instead."
        )
    tails, tail = np.asarray(background.tails, np.float64), 1 - percent / 100
    if tail > tails[0]:
        return -1.0
    if tail < tails[-1] * (1 - 1e-9):  # 1 - 0.99 is a little more than 0.01
        raise OptionError(
            f"{option} {bound}: the background of {background.rows:,} texts is known up to "
            f"p{100 * (1 - tails[-1]):.6g}. Ask for a lower percentile, or give a cosine."
        )
    return float(np.clip(score_at(background, tail), -1.0, 1.0))


def bounds(
    low: str | float | None, high: str | float | None, background: Background | None = None
) -> tuple[float | None, float | None]:
    """The cosines meant by --min and --max; None if one is not given.

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


DUPLICATE = 0.98
"""The cosine of near-duplicates in a space whose unrelated pairs score 0."""
_FAR = 3.0
"""Standard deviations above the mean of unrelated pairs beyond which a pair is not one of them."""


def duplicate_bound(background_mean: float) -> float:
    """The cosine from which on two texts are near-duplicates: 98 % of the way from the background to 1.

    In a space where unrelated texts score 0.9, a cosine of 0.98 is nothing special.

    >>> duplicate_bound(0.0), round(duplicate_bound(0.9), 4)
    (0.98, 0.998)
    """
    return background_mean + DUPLICATE * (1 - background_mean)


def crowd_at(background: Background, bound: float, rows: int) -> Crowd | None:
    """The unrelated pairs that reach the bound of near-duplicates if they are a crowd, else None.

    They are a crowd if the bound lies within three standard deviations of their mean, and as many lie as far below the
    bound as above it: then a count says nothing about the texts. Copies of a few templates also spread the cosines, but
    leave a gap below the bound.
    """
    share = float(rate_at(background, bound))
    below = float(rate_at(background, 2 * bound - 1)) - share
    if share == 0 or below < share or bound - background.mean >= _FAR * background.sd:
        return None
    return Crowd(bound, share, share * (rows - 1))


def same_text(text: str) -> str:
    """A text without differences of case, white space and Unicode form.

    >>> same_text(" Good  morning") == same_text("good morning")
    True
    """
    return " ".join(normalize("NFC", text).casefold().split())


def equal_pairs(
    keys: Sequence[Hashable], units: Units, *, most: int, percentile: Callable[[Vector], Any], reason: str
) -> Pairs:
    """The pairs of unit vectors (n, d) with equal keys: all counted, at most `most` listed, most similar first.

    >>> eye = np.eye(3, dtype=np.float32)
    >>> pairs = equal_pairs(["a", "b", "a"], eye, most=9, percentile=lambda cosines: cosines, reason="")
    >>> pairs.one.tolist(), pairs.other.tolist(), pairs.found
    ([0], [2], 1)
    """
    places: dict[Hashable, list[int]] = {}
    for row, key in enumerate(keys):
        places.setdefault(key, []).append(row)
    listed = list(islice((pair for rows in places.values() for pair in combinations(rows, 2)), most))
    first, second = np.array(listed, np.int64).reshape(-1, 2).T
    cosines = np.clip(np.vecdot(units[first], units[second]).astype(np.float64), -1.0, 1.0)
    order = np.argsort(-cosines, kind="stable")
    total = sum(len(rows) * (len(rows) - 1) // 2 for rows in places.values())
    values = cosines[order]
    return Pairs(first[order], second[order], values, np.asarray(percentile(values), np.float64), total, reason)
