"""Near-duplicates: told by their cosine where unrelated pairs do not reach it, else by their texts alone."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from itertools import combinations, islice
from typing import Any
from unicodedata import normalize

import numpy as np

from uncone.calibration.results import Background
from uncone.calibration.thresholds import rate_at
from uncone.data.batch import Vector
from uncone.likeness.results import Crowd, Pairs
from uncone.likeness.units import Units

__all__ = ["RARE", "crowd_at", "equal_pairs", "same_text"]

RARE = 1e-3
"""The share of unrelated pairs that may reach the bound of near-duplicates."""


def crowd_at(background: Background, bound: float, rows: int) -> Crowd | None:
    """The unrelated pairs that reach the bound of near-duplicates; None where they are few and stand apart.

    They are a crowd when more than one in a thousand does, a row has more than one of them on average, and as many lie
    as far below the bound as above it: then it cuts through the middle of the others, and a count says nothing about
    the texts. Many copies of a few templates are many pairs too, but there is a gap below them.
    """
    share = float(rate_at(background, bound))
    below = float(rate_at(background, 2 * bound - 1)) - share
    per_row = share * (rows - 1)
    return Crowd(bound, share, per_row) if share > RARE and per_row > 1 and below >= share else None


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
