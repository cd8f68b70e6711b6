"""How far to trust a picture: whether neighbours on it are neighbours in the space, and the other way round."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from uncone.analysis.number_format import count, percent
from uncone.analysis.projections.results import Trust
from uncone.data.batch import IntVector, Matrix
from uncone.stats.samples.hashing import hash_keys

__all__ = ["Kept", "kept_neighbours", "trust_of"]

_K = 15
_MOST = 2_000
"""Points that are compared with each other."""
_AT_ONCE = 256
_WELL, _ROUGHLY, _HARDLY = 0.95, 0.85, 0.65
_SHARED = 0.25
"""The share of neighbours that a picture keeps, at least, where they can be read off one by one."""


class Kept(NamedTuple):
    """What a picture keeps: trustworthiness, continuity, and the share of the k nearest that stay among them."""

    trustworthiness: float
    continuity: float
    share: float


def trust_of(
    vectors: Matrix,
    points: Matrix,
    method: str,
    *,
    explained: float | None = None,
    numbers: IntVector | None = None,
    seed: int = 0,
) -> Trust:
    """The trust of a picture `points` (n, 2 or 3) of the rows `vectors` (n, d).

    It is taken from up to 2,000 of them, drawn by their `numbers`, with k = 15 neighbours among these; fewer rows have
    fewer neighbours, and of fewer than three, or of rows that are all equal, nothing can be said.
    """
    numbers = np.arange(len(points)) if numbers is None else numbers
    chosen = np.sort(np.argsort(hash_keys(numbers, seed), kind="stable")[:_MOST])
    k = min(_K, (len(chosen) - 1) // 2)
    if k < 1 or not np.ptp(points[chosen], axis=0).any():
        why = "all rows are equal" if k else "there are too few rows"
        return Trust(None, None, explained, max(k, 0), len(chosen), f"Nothing can be said about neighbours: {why}.")
    kept = kept_neighbours(vectors[chosen], points[chosen], k)
    sentence = _sentence(method, points.shape[1], explained, kept, k, len(chosen))
    return Trust(kept.trustworthiness, kept.continuity, explained, k, len(chosen), sentence)


def kept_neighbours(vectors: Matrix, points: Matrix, k: int) -> Kept:
    """Trustworthiness and continuity (Venna and Kaski 2001) of points (n, p) for the rows (n, d); k is under n / 2.

    T = 1 - 2 / (n k (2n - 3k - 1)) * sum of (rank in the space - k) over the k nearest on the picture of every point
    that are not among the k nearest in the space; continuity changes the roles of space and picture.

    >>> line = np.arange(12.0)[:, None]
    >>> kept_neighbours(line, 2 * line, 3)
    Kept(trustworthiness=1.0, continuity=1.0, share=1.0)
    """
    n = len(points)
    sides = [np.asarray(one - one.mean(axis=0, dtype=np.float64), np.float64) for one in (vectors, points)]
    torn = false = near = 0
    for start in range(0, n, _AT_ONCE):
        space, picture = (_apart(one, start) for one in sides)
        in_space, on_picture = (np.argpartition(one, k - 1, axis=1)[:, :k] for one in (space, picture))
        ranks, back = _ranks(space, on_picture), _ranks(picture, in_space)
        false += int(np.maximum(ranks - k, 0).sum())
        torn += int(np.maximum(back - k, 0).sum())
        near += int((ranks <= k).sum())
    scale = 2.0 / (n * k * (2 * n - 3 * k - 1))
    return Kept(1.0 - scale * false, 1.0 - scale * torn, near / (n * k))


def _apart(rows: Matrix, start: int) -> Matrix:
    """Squared distances of some rows, from `start` on, to all (b, n), infinite to itself."""
    block = rows[start : start + _AT_ONCE]
    distances = np.vecdot(block, block)[:, None] + np.vecdot(rows, rows) - 2 * (block @ rows.T)
    own = np.arange(len(block))
    distances[own, start + own] = np.inf
    return np.asarray(distances)


def _ranks(distances: Matrix, places: IntVector) -> IntVector:
    """One more than there are nearer to each row than the one at the place: 1 is the nearest (b, k)."""
    asked = np.take_along_axis(distances, places, axis=1)
    return np.stack([1 + np.count_nonzero(distances < column[:, None], axis=1) for column in asked.T], axis=1)


def _sentence(method: str, dims: int, explained: float | None, kept: Kept, k: int, n: int) -> str:
    of = "variance" if method == "pca" else "squared length"
    axes = "two" if dims == 2 else "three"
    first = f"The {axes} axes hold {percent(explained)} of the {of}. " if explained is not None else ""
    whose = f"Of the {k} points nearest to a point, {percent(kept.share)} are among its {k} nearest in the space"
    if k == 1:
        whose = f"For {percent(kept.share)} of the points, the one nearest to it is its nearest in the space"
    kept_so = f"trustworthiness {kept.trustworthiness:.2f}, continuity {kept.continuity:.2f}, on {count(n, 'point')}"
    return f"{first}{whose} ({kept_so}): {_advice(kept)}."


def _advice(kept: Kept) -> str:
    worse = min(kept.trustworthiness, kept.continuity)
    if worse >= _WELL and kept.share >= _SHARED:
        return "groups and neighbours can be read off"
    if worse >= _ROUGHLY:
        if kept.trustworthiness < kept.continuity:
            return "groups can be read off, but points that are near each other may be far apart in the space"
        return "groups can be read off, but some neighbours are torn apart"
    if worse >= _HARDLY:
        return "the overall shape can be read off, neighbours cannot"
    return "hardly better than a picture drawn at random"
