"""Rogue dimensions: the few that carry most of every similarity (Timkey and van Schijndel 2021)."""

from __future__ import annotations

import numpy as np

from uncone.analysis.intervals.intervals import FEW, Interval, around
from uncone.analysis.measures.finding import Finding, Level
from uncone.analysis.number_format import percent
from uncone.analysis.space.geometry import Geometry
from uncone.data.batch import IntVector

__all__ = ["rogue"]

_LEAST_BASELINE = 0.05
_LEAST_SHARE = 0.05
_HEAVY = 0.5
_CHOICE = 1.15


def rogue(space: Geometry) -> list[Finding]:
    """The shares of the baseline that the top 1, 3 and 5 dimensions carry, and which stand out.

    A dimension stands out if it carries at least 5 % and three times the mean share, among the five largest. Below a
    baseline of 0.05 the shares are noise around zero and are not given.
    """
    contributions, baseline = space.units.contributions, space.units.baseline
    order = np.argsort(-contributions, kind="stable")
    if baseline < _LEAST_BASELINE:
        meaning = f"No shares: the baseline is below {_LEAST_BASELINE}."
        shares = [Finding(f"rogue_share_{k}", None, space.n, meaning) for k in (1, 3, 5)]
        return [*shares, Finding("rogue_dimensions", [], space.n, "No dimension dominates.", level=Level.HEALTHY)]
    each = contributions[order] / baseline
    least = max(_LEAST_SHARE, 3 / space.dim)
    out = [int(j) for j, share in zip(order[:5], each[:5], strict=True) if share >= least and space.dim > 3]
    return [*(_share(space, order[:k], k) for k in (1, 3, 5)), _dimensions(space, out, float(each[: len(out)].sum()))]


def _share(space: Geometry, dimensions: IntVector, k: int) -> Finding:
    share = float(space.units.contributions[dimensions].sum() / space.units.baseline)
    low, high = _interval(space, dimensions, share)
    heavy = share >= _HEAVY and space.dim > 2 * k
    subject = "The strongest dimension carries" if k == 1 else f"The {k} strongest dimensions carry"
    meaning = f"{subject} {percent(min(share, 1.0))} of the mean cosine."
    advice = "Every score depends on them. Only labeled pairs can show whether muting them helps." if heavy else ""
    level = Level.CROWDED if heavy else Level.HEALTHY
    return Finding(f"rogue_share_{k}", share, space.n, meaning, advice, low, high, _HEAVY, level)


def _interval(space: Geometry, dimensions: IntVector, share: float) -> Interval:
    """Infinitesimal jackknife of the ratio of two U-statistics, from what each sampled row adds to them.

    The reach is a little wider for the choice of the strongest. None with few rows: chance itself then decides which
    dimensions come out on top.
    """
    if space.distinct < FEW:
        return None, None
    sample, total = space.sample, space.units.total / space.n
    part = sample.columns(dimensions) @ total[dimensions] / sample.norms
    whole = sample.dot(total) / sample.norms
    each = 2 * (part - share * whole) / space.units.baseline
    return around(share, *space.mean_spread(each).times(_CHOICE**2))


def _dimensions(space: Geometry, out: list[int], share: float) -> Finding:
    if not out:
        return Finding("rogue_dimensions", [], space.n, "No dimension stands out.", level=Level.HEALTHY)
    subject, verb = ("Dimension", "carries") if len(out) == 1 else ("Dimensions", "carry")
    listed = f"{', '.join(map(str, out))} (counted from 0)"
    meaning = f"{subject} {listed} {verb} {percent(min(share, 1.0))} of the mean cosine."
    advice = "Look at these columns: a constant offset in them raises every cosine."
    level = Level.CROWDED if share >= _HEAVY else Level.NOTE
    return Finding("rogue_dimensions", out, space.n, meaning, advice, threshold=0, level=level)
