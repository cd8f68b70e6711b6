"""Near-duplicates: told by their cosine where unrelated pairs do not reach it, else by their texts alone."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from itertools import combinations, islice
from typing import Any
from unicodedata import normalize

import numpy as np

from uncone.analysis.calibration.results import Background
from uncone.analysis.calibration.thresholds import rate_at
from uncone.analysis.similarity.pairwise.unit_rows import Units
from uncone.analysis.similarity.results import Crowd, Pairs
from uncone.data.batch import Vector

__all__ = ["APART", "crowd_at", "equal_pairs", "same_text"]

APART = 3.0
"""Standard deviations of unrelated pairs: what lies so far above their mean is none of them."""


def crowd_at(background: Background, bound: float, rows: int) -> Crowd | None:
    """The unrelated pairs that reach the bound of near-duplicates, where they are a crowd; None where they are not.

    They are one when the bound lies within three standard deviations of their mean, and as many lie as far below the
    bound as above it. Then it cuts through the middle of them, and a count says nothing about the texts. Many copies of
    a few templates spread the cosines too, but leave a gap below the bound.
    """
    share = float(rate_at(background, bound))
    below = float(rate_at(background, 2 * bound - 1)) - share
    if share == 0 or below < share or bound - background.mean >= APART * background.sd:
        return None
    return Crowd(bound, share, share * (rows - 1))


def same_text(text: str) -> str:
    """What a text is but for case, white space and the way its characters are written.

    >>> same_text(" Good  morning") == same_text("good morning")
    True
    """
    return " ".join(normalize("NFC", text).casefold().split())


def equal_pairs(
    keys: Sequence[Hashable], units: Units, *, most: int, percentile: Callable[[Vector], Any], why: str
) -> Pairs:
    """The pairs of unit rows (n, d) whose keys are equal: all counted, at most so many listed, most alike first.

    >>> eye = np.eye(3, dtype=np.float32)
    >>> found = equal_pairs(["a", "b", "a"], eye, most=9, percentile=lambda cosines: cosines, why="")
    >>> found.one.tolist(), found.other.tolist(), found.found
    ([0], [2], 1)
    """
    places: dict[Hashable, list[int]] = {}
    for row, key in enumerate(keys):
        places.setdefault(key, []).append(row)
    equal = [rows for rows in places.values() if len(rows) > 1]
    listed = list(islice((pair for rows in equal for pair in combinations(rows, 2)), most))
    one, other = np.array(listed, np.int64).reshape(-1, 2).T
    cosines = np.clip(np.vecdot(units[one], units[other]).astype(np.float64), -1.0, 1.0)
    order = np.argsort(-cosines, kind="stable")
    found = sum(len(rows) * (len(rows) - 1) // 2 for rows in equal)
    values = cosines[order]
    return Pairs(one[order], other[order], values, np.asarray(percentile(values), np.float64), found, why)
