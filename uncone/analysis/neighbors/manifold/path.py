"""The path that rows take by their position: how far it goes round, and whether that is more than chance."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from uncone.data.batch import IntVector, Matrix, Vector

__all__ = ["Path", "path_of"]

_FEWEST, _MOST = 10, 50
"""Rows that a mean of the path is made of, at least: the 200th part of all rows, within these bounds."""
_LEAST = 5
"""Means without which there is no path."""
_PERMUTED = 39
"""So one permutation that does as well is a chance of one in twenty."""
_STRAIGHT = 1e-6


class Path(NamedTuple):
    """The mean rows by position (p, 3); `share` of the variance that position explains beyond what chance does.

    `without` is that share without the mean that has most of it, and its rows; `first` whether that is the first of the
    path. `angle_r` is the rank correlation of position with the angle along the path, `turns` how far that goes round;
    `chance` is the share of permuted positions that have as large a correlation, or explain as much.
    """

    means: Matrix
    share: float | None = None
    without: float | None = None
    first: bool = False
    angle_r: float | None = None
    turns: float | None = None
    chance: float | None = None


def path_of(points: Matrix, positions: IntVector, seed: int = 0) -> Path:
    """The path of points (n, 3) by position; a negative position is unknown.

    Rare positions are taken together with those that follow. The angle is taken in the plane where the path spreads
    most, and unwrapped; from the mean of the path (as of a spiral) or from the centre of the circle that fits it best
    (as of an arc; a straight path makes no turn), whichever orders positions better. Noise makes such an angle walk at
    random, and a random walk correlates with time: so the same is done with permuted positions. What differs between
    long and short texts shows in the path too, because only long ones have late positions.
    """
    known = np.flatnonzero(positions >= 0)
    rng = np.random.default_rng([seed, 2])
    order = known[np.argsort(positions[known], kind="stable")]
    places, rows = positions[order].astype(np.float64), points[order].astype(np.float64)
    starts = _starts(positions[order])
    if len(starts) < _LEAST or not rows.var(axis=0).sum() > 0:
        return Path(np.empty((0, 3)))
    walk = _Walk(starts, np.diff(np.append(starts, len(rows))), places)
    rows = rows - rows.mean(axis=0)
    means = walk.means(rows)
    share, (angle_r, turns) = walk.share(means, rows), walk.turned(means)
    without, first = walk.without_strongest(means, rows)
    permuted = [walk.means(rows[rng.permutation(len(rows))]) for _ in range(_PERMUTED)]
    shares = [walk.share(one, rows) for one in permuted]
    sizes = [abs(walk.turned(one)[0]) for one in permuted]
    as_well = max(sum(one >= share for one in shares), sum(size >= abs(angle_r) for size in sizes))
    back = points[order].astype(np.float64).mean(axis=0)
    chance = (1 + as_well) / (1 + _PERMUTED)
    return Path(means + back, max(share, 0.0), without, first, angle_r, turns, chance)


def _starts(positions: IntVector) -> IntVector:
    """Where each mean of the path begins, in rows in the order of their positions."""
    least = min(max(len(positions) // 200, _FEWEST), _MOST)
    starts: list[int] = []
    for start in np.flatnonzero(np.diff(positions, prepend=-1)).tolist():
        if not starts or start - starts[-1] >= least:
            starts.append(start)
    if len(starts) > 1 and len(positions) - starts[-1] < least:
        starts.pop()
    return np.array(starts, np.int64)


class _Walk:
    """How rows in the order of their positions fall into the means of a path."""

    def __init__(self, starts: IntVector, counts: IntVector, places: Vector) -> None:
        self.starts = starts
        self.counts = counts
        self.places = np.add.reduceat(places, starts) / counts
        self.weights = counts / counts.sum()

    def means(self, rows: Matrix) -> Matrix:
        return np.asarray(np.add.reduceat(rows, self.starts, axis=0) / self.counts[:, None])

    def share(self, means: Matrix, rows: Matrix) -> float:
        """Variance between the means over all variance, less what chance explains (epsilon squared)."""
        n, p = len(rows), len(means)
        total = float((rows * rows).sum())
        between = float((self.counts[:, None] * means * means).sum())
        within = (total - between) / max(n - p, 1)
        return (between - (p - 1) * within) / total

    def without_strongest(self, means: Matrix, rows: Matrix) -> tuple[float, bool]:
        """The share without the mean that has most of the variance between means, and whether that is the first."""
        strongest = int((self.counts * (means * means).sum(axis=1)).argmax())
        start, count = int(self.starts[strongest]), int(self.counts[strongest])
        rest = np.delete(rows, np.s_[start : start + count], axis=0)
        starts = np.delete(self.starts, strongest)
        starts[strongest:] -= count
        walk = _Walk(starts, np.delete(self.counts, strongest), np.zeros(len(rest)))
        rest = rest - rest.mean(axis=0)
        return max(walk.share(walk.means(rest), rest), 0.0), strongest == 0

    def turned(self, means: Matrix) -> tuple[float, float]:
        """Rank correlation of position and angle, weighted by rows, and turns from the first mean to the last."""
        found = [
            (_rank_correlation(self.places, angles, self.weights), abs(float(angles[-1] - angles[0])) / (2 * np.pi))
            for angles in _angles(means, self.weights)
        ]
        return max(found, key=lambda one: abs(one[0]))


def _angles(means: Matrix, weights: Vector) -> list[Vector]:
    """The unwrapped angle of each mean, from each centre; of a straight path, where it stands, next to no angle."""
    centred = means - weights @ means
    _, sizes, axes = np.linalg.svd(centred * np.sqrt(weights)[:, None], full_matrices=False)
    flat = centred @ axes[:2].T / max(float(sizes[0]), np.finfo(np.float64).tiny)
    centre = _centre(flat, weights) if sizes[1] > _STRAIGHT * sizes[0] else None
    if centre is None:
        return [np.asarray(_STRAIGHT * flat[:, 0])]
    return [np.unwrap(np.arctan2(*(flat - one).T[::-1])) for one in (centre, np.zeros(2))]


def _centre(points: Matrix, weights: Vector) -> Vector | None:
    """The centre of the circle that fits points (p, 2) best (Pratt 1987); None of a straight line.

    a|x|² + b·x + c = 0 with the least squares under |b|² - 4ac = 1, which leaves noisy lines nearly straight.
    """
    columns = np.column_stack([(points * points).sum(axis=1), points, np.ones(len(points))])
    squares = columns.T @ (weights[:, None] * columns)
    inverse = np.array([[0, 0, 0, -0.5], [0, 1, 0, 0], [0, 0, 1, 0], [-0.5, 0, 0, 0]])
    values, vectors = np.linalg.eig(inverse @ squares)
    # One value is negative, and belongs to no circle.
    usable = np.where(values.real > -_STRAIGHT * abs(values).max(), values.real, np.inf)
    a, *b, _ = vectors[:, int(usable.argmin())].real
    return None if abs(a) <= _STRAIGHT * np.hypot(*b) else np.array(b) / (-2 * a)


def _rank_correlation(x: Vector, y: Vector, weights: Vector) -> float:
    """By ranks, each value counted by its weight: so it does not matter whether position or its logarithm is meant."""
    x, y = _ranks(x, weights), _ranks(y, weights)
    size = float(np.sqrt((weights @ (x * x)) * (weights @ (y * y))))
    return float(weights @ (x * y)) / size if size > 0 else 0.0


def _ranks(values: Vector, weights: Vector) -> Vector:
    order = np.argsort(values, kind="stable")
    ranks = np.empty(len(values))
    ranks[order] = np.cumsum(weights[order]) - weights[order] / 2
    return np.asarray(ranks - weights @ ranks)
