"""What the geometry of a space means for an index that stores its vectors in fewer bits."""

from __future__ import annotations

from math import erf

import numpy as np

from uncone.data.batch import Vector
from uncone.diagnosis.eigenvalues import effective_rank
from uncone.diagnosis.words import cosine, plain
from uncone.stats.unit_scatter import UnitScatter

__all__ = ["hints", "hints_of", "informative_bits"]

_CROWDED = 0.25
_WASTED = 0.75  # of the signs: under this share binary codes lose much
_GAINED = 0.1  # what centring has to win back to be worth a word
_RANGE = 8.0
_NARROW = 0.25


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
    'Binary quantisation: the signs of 8 of 8 dimensions tell rows apart, and centring would gain nothing.'
    """
    found = [_binary(mean_cosine, mean, deviations), _bytes(mean, deviations)]
    if not deviations.any():
        return ["All rows point the same way: no index of any kind can tell them apart."]
    if effective < _NARROW * reachable:
        found.append(
            f"Length: the rows spread over about {plain(effective)} of {len(mean):,} directions, so that many bits of "
            "a quantised vector repeat each other. Fewer dimensions (uncone fix --method whiten or droptop, or PCA) "
            "before quantising may lose little: prove it on labelled pairs."
        )
    return [hint for hint in found if hint]


def informative_bits(mean: Vector, deviations: Vector) -> float:
    """How many signs of d really tell rows apart: the entropy in bits of the sign of each dimension, summed.

    A dimension is taken as normal with this mean and deviation; one whose mean is three deviations from zero has
    the same sign in nearly every row.

    >>> round(informative_bits(np.array([0.0, 3.0]), np.array([1.0, 1.0])), 2)
    1.01
    """
    spread = deviations > 0
    share = _normal_share(mean[spread] / deviations[spread]).clip(1e-12, 1 - 1e-12)
    return float(-(share * np.log2(share) + (1 - share) * np.log2(1 - share)).sum())


def _normal_share(z: Vector) -> Vector:
    return np.array([0.5 * (1 + erf(value / 2**0.5)) for value in z])


def _binary(mean_cosine: float, mean: Vector, deviations: Vector) -> str:
    d, raw = len(mean), informative_bits(mean, deviations)
    centred = float((deviations > 0).sum())
    told = f"Binary quantisation: the signs of {raw:.0f} of {d:,} dimensions tell rows apart"
    if centred - raw < _GAINED * d:
        return f"{told}, and centring would gain nothing."
    crowded = f" (unrelated rows have a cosine of {cosine(mean_cosine)})" if mean_cosine >= _CROWDED else ""
    strongly = "wants" if raw < _WASTED * d else "would gain from"
    return (
        f"{told}{crowded}; the others have nearly the same sign in every row. It {strongly} centred vectors: subtract "
        f"the mean before taking signs, of queries too (uncone fix --method center), and about {centred:.0f} do."
    )


def _bytes(mean: Vector, deviations: Vector) -> str:
    """One scale for all dimensions is set by the widest; the steps of the others become coarse."""
    if not deviations.any():
        return ""
    reach = np.abs(mean) + 3 * deviations
    typical = 6 * float(np.median(deviations))
    widest = int(reach.argmax())
    ratio = 2 * float(reach[widest]) / typical if typical > 0 else np.inf
    if ratio < _RANGE:
        return ""
    levels = 255 / ratio
    return (
        f"8-bit quantisation: dimension {widest} (counted from 0) needs a range {plain(ratio)} times that of a typical "
        f"one. With one scale for all, a typical dimension has about {levels:.0f} of 255 levels left: give each "
        "dimension its own range, after centring."
    )
