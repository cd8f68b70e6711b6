"""The numbers of a similarity, as all renderings show them."""

from __future__ import annotations

import math

import numpy as np

from uncone.diagnosis.words import cosine, percent
from uncone.likeness.results import Estimate

__all__ = ["above", "bounds", "exact", "fine", "mean_of", "middle_cut", "number", "percentile_text", "signed"]


def percentile_text(percentile: float) -> str:
    """A percentile with more digits where they matter: near 100.

    >>> [percentile_text(one) for one in (41.3, 96.44, 99.46, 99.9987, 100.0)]
    ['41 %', '96.4 %', '99.46 %', '99.9987 %', '100 %']
    """
    left = 100 - percentile
    if left >= 10 or percentile >= 100:
        return percent(min(max(percentile, 0.0), 100.0) / 100)
    digits = 1 if left >= 1 else min(1 - math.floor(math.log10(left)), 6)
    return f"{percentile:.{digits}f} %"


def number(value: float | None, digits: int = 3) -> str:
    """A cosine, or a dash where there is none."""
    return "–" if value is None or not np.isfinite(value) else cosine(value, digits)


def exact(value: float) -> str:
    """The cosine of a pair: three digits, or more where three would say that two texts are the same.

    >>> exact(0.98765), exact(0.99962), exact(1.0)
    ('0.988', '0.99962', '1.000')
    """
    shown = number(value)
    return shown if shown != "1.000" or value > 1 - 5e-6 else f"{value:.5f}"


def fine(value: float) -> str:
    """A cosine in two digits, or three where it is near 1 and two would say that it is."""
    return cosine(value, 3 if value >= 0.985 else 2)


def signed(value: float | None, digits: int = 3) -> str:
    """A difference, with its sign.

    >>> signed(0.0412), signed(-0.0004), signed(None)
    ('+0.041', '0.000', '–')
    """
    shown = number(value, digits)
    return f"+{shown}" if value is not None and shown != "–" and float(shown) > 0 else shown


def mean_of(estimate: Estimate) -> str:
    """The mean, short."""
    return number(estimate.mean)


def bounds(estimate: Estimate, *, difference: bool = False) -> str:
    """The 95 % interval; empty where there is none."""
    if estimate.low is None or estimate.high is None:
        return ""
    shown = signed if difference else number
    return f"{shown(estimate.low)} to {shown(estimate.high)}"


def above(estimate: Estimate) -> str:
    """The mean above the background, with its sign."""
    return signed(estimate.mean)


def middle_cut(name: str, most: int) -> str:
    """A label that fits: of a long one the beginning and the end, where labels differ.

    >>> middle_cut("label number 07", 10), middle_cut("short", 10)
    ('label …r 07', 'short')
    """
    tail = 2 * most // 5
    return name if len(name) <= most else f"{name[: most - tail]}…{name[len(name) - tail :]}"
