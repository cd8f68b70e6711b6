"""Near-duplicates: by cosine if unrelated pairs do not reach the bound, else by equal texts."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from itertools import combinations, islice
from typing import Any
from unicodedata import normalize

import numpy as np

from uncone.analysis.calibration.results import Background
from uncone.analysis.calibration.thresholds import rate_at
from uncone.analysis.cosine.units import Units
from uncone.analysis.similarity.results import Crowd, Pairs
from uncone.data.batch import Vector

__all__ = ["DUPLICATE", "crowd_at", "duplicate_bound", "equal_pairs", "same_text"]

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
    keys: Sequence[Hashable], units: Units, *, most: int, percentile: Callable[[Vector], Any], why: str
) -> Pairs:
    """The pairs of unit vectors (n, d) with equal keys: all counted, at most `most` listed, most similar first.

    >>> eye = np.eye(3, dtype=np.float32)
    >>> pairs = equal_pairs(["a", "b", "a"], eye, most=9, percentile=lambda cosines: cosines, why="")
    >>> pairs.one.tolist(), pairs.other.tolist(), pairs.found
    ([0], [2], 1)
    """
    places: dict[Hashable, list[int]] = {}
    for row, key in enumerate(keys):
        places.setdefault(key, []).append(row)
    listed = list(islice((pair for rows in places.values() for pair in combinations(rows, 2)), most))
    one, other = np.array(listed, np.int64).reshape(-1, 2).T
    cosines = np.clip(np.vecdot(units[one], units[other]).astype(np.float64), -1.0, 1.0)
    order = np.argsort(-cosines, kind="stable")
    total = sum(len(rows) * (len(rows) - 1) // 2 for rows in places.values())
    values = cosines[order]
    return Pairs(one[order], other[order], values, np.asarray(percentile(values), np.float64), total, why)
