"""Hints on quantized indexes: what the geometry of a space means if vectors are stored in fewer bits."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from uncone.analysis.number_format import cosine, plain
from uncone.analysis.space.spectrum.eigenvalues import effective_rank
from uncone.data.batch import Vector
from uncone.stats.unit_vectors import UnitScatter

__all__ = ["hints", "hints_of", "informative_bits"]

_CROWDED = 0.25
_GAINED = 0.1  # share of signs that centering must add to be mentioned
_RANGE = 8.0
_NARROW = 0.25
_FIND_OUT = "Find out with labeled pairs: uncone fix SOURCE --method auto --pairs pairs.csv."


def hints(units: UnitScatter) -> list[str]:
    """Plain sentences on binary, 8-bit and shortened indexes, from the mean and the scatter of the unit vectors."""
    n, d = units.n, units.dim
    if n < 2:
        return []
    scatter, mean = units.scatter, units.mean
    deviations = np.sqrt(np.diagonal(scatter).clip(min=0.0) / n)
    values = np.linalg.eigvalsh(scatter)[::-1].clip(min=0.0)
    return hints_of(units.among().mean, effective_rank(values), mean, deviations, min(d, n - 1))


def hints_of(mean_cosine: float, effective: float, mean: Vector, deviations: Vector, reachable: int) -> list[str]:
    """The same from the numbers themselves: `mean` and `deviations` (d,) are those of the unit vectors per dimension.

    `effective` is the effective rank of their covariance, of at most `reachable` directions.

    >>> hints_of(0.0, 8.0, np.zeros(8), np.full(8, 0.35), 8)[0]
    'Binary quantization: the signs of 8 of 8 dimensions differ between vectors.'
    """
    if not deviations.any():
        return ["All vectors point the same way: no index of any kind can tell them apart."]
    sentences = [_binary(mean_cosine, mean, deviations), _bytes(mean, deviations)]
    if effective < _NARROW * reachable:
        sentences.append(
            f"Length: the vectors spread over about {plain(effective)} of {len(mean):,} directions, so many bits of a "
            f"quantized vector repeat each other. Whether fewer dimensions would do depends on your task. {_FIND_OUT}"
        )
    return [sentence for sentence in sentences if sentence]


def informative_bits(mean: Vector, deviations: Vector) -> float:
    """The number of informative signs: the entropy in bits of the sign of each dimension, summed.

    A dimension is modeled as normal with this mean and deviation. If its mean is three deviations from zero, it has
    the same sign in nearly every vector.

    >>> round(informative_bits(np.array([0.0, 3.0]), np.array([1.0, 1.0])), 2)
    1.01
    """
    spread = deviations > 0
    share = ndtr(mean[spread] / deviations[spread]).clip(1e-12, 1 - 1e-12)
    return float(-(share * np.log2(share) + (1 - share) * np.log2(1 - share)).sum())


def _binary(mean_cosine: float, mean: Vector, deviations: Vector) -> str:
    d, raw = len(mean), informative_bits(mean, deviations)
    centered = float((deviations > 0).sum())
    if centered - raw < _GAINED * d:
        return f"Binary quantization: the signs of {raw:.0f} of {d:,} dimensions differ between vectors."
    crowded = f" (unrelated vectors have a cosine of {cosine(mean_cosine)})" if mean_cosine >= _CROWDED else ""
    return (
        f"Binary quantization: the signs of {raw:.0f} of {d:,} dimensions differ between vectors{crowded}; the others "
        f"have nearly the same sign in every vector, and say nothing. With the mean subtracted about {centered:.0f} "
        f"differ, but ranks change too, for better or worse. {_FIND_OUT}"
    )


def _bytes(mean: Vector, deviations: Vector) -> str:
    """A sentence if one scale for all dimensions, set by the widest, makes the steps of the others coarse."""
    reach = np.abs(mean) + 3 * deviations
    typical = 6 * float(np.median(deviations))
    widest = int(reach.argmax())
    ratio = 2 * float(reach[widest]) / typical if typical > 0 else np.inf
    if ratio < _RANGE:
        return ""
    levels = 255 / ratio
    return (
        f"8-bit quantization: dimension {widest} (counted from 0) needs a range {plain(ratio)} times that of a typical "
        f"one. With one scale for all, a typical dimension has about {levels:.0f} of 255 levels left: give each "
        "dimension its own range."
    )
