"""How alike the occurrences of one type are, and those of different types (Cai et al. 2021)."""

from __future__ import annotations

import math

import numpy as np

from uncone.diagnosis.context import Estimate
from uncone.diagnosis.finding import Finding
from uncone.diagnosis.layer_geometry import LayerGeometry
from uncone.diagnosis.words import cosine

__all__ = ["types"]


def types(layer: LayerGeometry) -> list[Finding]:
    """S_intra over the types that stand in two sentences or more, S_inter over all pairs of types; types are units."""
    assert layer.words is not None
    values = layer.words.selfsim()
    within = Estimate.of_mean(values[np.isfinite(values)])
    between = _between(layer)
    return [
        within.finding(
            "s_intra", within.units, f"Within a type: {_said(within)}, over {within.units:,} types.", most=1.0
        ),
        between.finding("s_inter", between.units, f"Between types: {_said(between)}, over {between.units:,} types."),
    ]


def _between(layer: LayerGeometry) -> Estimate:
    """(|sum m|^2 - sum |m|^2)/(T^2 - T); its variance from the mean cosine of each type with all others.

    Types that occur once are only there as a sum, so their part in the variance is read off those in the sample.
    """
    words = layer.words
    assert words is not None
    counts = np.maximum(words.counts, 1)  # a word that was not met has a sum of zero, and so a mean of zero
    met = int(np.count_nonzero(words.counts))
    total = (1 / counts) @ words.totals + words.single_total
    t = met + words.singles
    if t < 3:
        return Estimate(math.nan, math.nan, t)
    squares = np.vecdot(words.totals, words.totals) / counts**2
    value = (float(total @ total) - float(squares.sum()) - words.singles) / (t * (t - 1))
    each = [((words.totals @ total / counts - squares) / (t - 1))[words.counts > 0]]
    shares = [met / t]
    sample = layer.sample
    alone = np.flatnonzero(sample.words == -1) if sample.words is not None else np.empty(0, np.int64)
    if len(alone) > 1:
        units = sample.vectors_at(alone) / sample.norms[alone, None]
        each.append((units @ total - 1) / (t - 1))
        shares.append(words.singles / t)
    mean = sum(share * float(one.mean()) for share, one in zip(shares, each, strict=True) if len(one))
    square = sum(share * float((one**2).mean()) for share, one in zip(shares, each, strict=True) if len(one))
    return Estimate(value, 4 * max(square - mean**2, 0.0) / t, t)


def _said(estimate: Estimate) -> str:
    return "unknown" if not math.isfinite(estimate.value) else cosine(estimate.value)
