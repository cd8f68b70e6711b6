"""Signs of curvature: fewer dimensions around a vector than in a flat cloud, and a path by position that turns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from uncone.analysis.neighbors.dimension import distinct_rows, lid
from uncone.analysis.neighbors.search import Near, nearest
from uncone.data.batch import IntVector, Matrix, Vector

__all__ = ["LEAST", "Local", "Path", "Sheet", "base_rows", "path_of", "sheet_of"]

LEAST = 400
"""Vectors without which local and global dimension cannot be told apart."""
_BASE = 3000
_ENOUGH_WORDS = 1000
_QUERIES = 256
_PATCHES = 40
"""Vectors to look among, vectors whose dimension is taken, and vectors whose neighborhood is looked at as a whole."""
_SHARE = 40
"""A neighborhood is at most so small a part of the vectors."""
_QUARTER = 4
_CROSSING = 0.02
"""Clusters touch when of the nearest vectors of one, as many as a quarter of it, this share lies in the other."""
_MILLIONTH = 1e-6
_FEWEST, _MOST = 10, 50
"""Vectors that a mean of the path is made of, at least: the 200th part of all vectors, within these bounds."""
_LEAST = 5
"""Means without which there is no path."""
_PERMUTED = 39
"""So one permutation that does as well is a chance of one in twenty."""
_STRAIGHT = 1e-6


class Local(NamedTuple):
    """Around a vector: local dimension `lid`; directions that its k, and its 2k, nearest vectors spread over.

    These are participation ratios of their covariance, the median over several vectors. `uneven` is the range of the
    local dimension without the tenth at each end, over its median. `jump` is what nine in ten vectors stay under: the
    largest over the mean of the steps i log(r_i+1/r_i) between the distances r of the nearest. In an even space of any
    dimension these are exponential; where neighbors end with a cluster, one of them is very large.
    """

    lid: float
    spread: float
    wide: float
    uneven: float
    jump: float


class Sheet(NamedTuple):
    """The vectors and the flat cloud, by their k nearest of n vectors; the cloud is made of `clouds` Gaussians."""

    rows: Local
    flat: Local
    k: int
    n: int
    clouds: int


def base_rows(vectors: Matrix, places: IntVector, words: IntVector | None, seed: int) -> IntVector:
    """Which of the vectors at these places to look at: distinct ones, at most 3,000, and of each word only one.

    The occurrences of a word lie close together, so a neighborhood of them says what a word is, not what the space
    is. Where there are fewer than 1,000 words, all vectors count; a negative number is a word that occurs once.
    """
    order = np.random.default_rng([seed, 0]).permutation(len(places)).astype(np.int64)
    if words is not None:
        own = words[places]
        types = np.where(own < 0, own.max(initial=0) + 1 + np.arange(len(own)), own)[order]
        first = np.sort(np.unique(types, return_index=True)[1])
        order = order[first] if len(first) >= _ENOUGH_WORDS else order
    order = np.sort(order[:_BASE])
    return order[distinct_rows(vectors[places[order]])]


def sheet_of(rows: Matrix, labels: IntVector | None, k: int, seed: int) -> Sheet | None:
    """The vectors (n, d) against as many of a flat cloud: Gaussian vectors with their mean and covariance.

    Both are measured at the same n and k, so that the bias of the local dimension is the same in both. Clusters
    (`labels`) that stand apart get a Gaussian each; those that touch share one, because k-means also cuts a sheet into
    pieces, and each piece alone is nearly flat. None with fewer than 400 vectors, or where a dimension cannot be known.
    """
    n = len(rows)
    k = min(k, n // _SHARE)
    if n < LEAST or k < 2:
        return None
    rng = np.random.default_rng([seed, 1])
    queries = np.sort(rng.permutation(n)[:_QUERIES]).astype(np.int64)
    near = _near(rows, queries, k)
    apart = np.zeros(n, np.int64) if labels is None else _apart(labels, queries, near.places[:, :k])
    cloud = _cloud(rows, apart, rng)
    local = _local(rows, queries, near, k)
    flat = _local(cloud, queries, _near(cloud, queries, k), k)
    if not np.isfinite([*local, *flat]).all():
        return None
    return Sheet(local, flat, k, n, len(np.unique(apart)))


def _near(rows: Matrix, queries: IntVector, k: int) -> Near:
    return nearest(rows, rows[queries], 2 * k, metrics=("euclidean",), own=queries, distinct=True)["euclidean"]


def _local(rows: Matrix, queries: IntVector, near: Near, k: int) -> Local:
    each = lid(near.distances[:, :k])
    each = each[np.isfinite(each)]
    if not each.size or not np.isfinite(near.distances).all():
        return Local(*[np.nan] * 5)  # vectors that are all equally far, or nearly all the same
    # A patch per so many queries: they are in order, and may be of one kind at the beginning.
    patches = np.linspace(0, len(queries) - 1, min(_PATCHES, len(queries))).astype(np.int64)
    spreads = [_spreads(rows[near.places[i]] - rows[queries[i]], k) for i in patches.tolist()]
    spread, wide = np.median(spreads, axis=0)
    low, middle, high = np.percentile(each, [10, 50, 90])
    steps = np.diff(np.log(near.distances[:, :k]), axis=1) * np.arange(1, k)
    apart = steps.mean(axis=1) > 0
    jump = np.percentile(steps[apart].max(axis=1) / steps[apart].mean(axis=1), 90)
    return Local(float(each.mean()), float(spread), float(wide), float((high - low) / middle), float(jump))


def _spreads(patch: Matrix, k: int) -> tuple[float, float]:
    """How many directions the k nearest, and all, of a patch (2k, d) spread over: tr(C)²/|C|² of their covariance."""
    products = patch @ patch.T
    return _ratio(products[:k, :k]), _ratio(products)


def _ratio(products: Matrix) -> float:
    """The same from the inner products (m, m) of vectors that are not centered."""
    means = products.mean(axis=0, dtype=np.float64)
    m, mean = len(products), float(means.mean())
    trace = float(np.trace(products, dtype=np.float64)) - m * mean
    squares = float(np.square(products).sum(dtype=np.float64)) - 2 * m * float(means @ means) + (m * mean) ** 2
    return trace**2 / squares if squares > 0 else np.nan


def _apart(labels: IntVector, queries: IntVector, places: IntVector) -> IntVector:
    """For each vector the first of the clusters that hang together with its own."""
    names, members = np.unique(labels, return_inverse=True)
    k = len(names)
    # No more than a quarter of its cluster: a vector of a small one would meet others wherever they are.
    looked = (np.bincount(members)[members[queries]] // _QUARTER).clip(min=1)
    of, at = np.nonzero(np.arange(places.shape[1]) < looked[:, None])
    pairs = members[queries[of]] * k + members[places[of, at]]
    met = np.bincount(pairs, minlength=k * k).reshape(k, k)
    touching = met > _CROSSING * met.sum(axis=1, keepdims=True).clip(min=1)
    touching |= touching.T | np.eye(k, dtype=np.bool_)
    first = np.arange(k)
    while True:
        lower = np.where(touching, first, k).min(axis=1)
        if (lower == first).all():
            return np.asarray(first[members], np.int64)
        first = lower


def _cloud(rows: Matrix, apart: IntVector, rng: np.random.Generator) -> Matrix:
    """As many Gaussian vectors, with the mean and covariance of each part."""
    cloud = np.empty_like(rows)
    for part in np.unique(apart):
        members = np.flatnonzero(apart == part)
        mean = rows[members].mean(axis=0)
        cloud[members] = mean + _gaussian(rows[members] - mean, rng)
    return cloud


def _gaussian(centered: Matrix, rng: np.random.Generator) -> Matrix:
    """Gaussian vectors with the covariance of these (m, d)."""
    m, d = centered.shape
    if m <= d:
        # Sums of the vectors with random weights: their covariance has no root of its own here.
        return (rng.standard_normal((m, m), np.float32) @ centered / np.float32(m**0.5)).astype(centered.dtype)
    covariance = (centered.T @ centered).astype(np.float64) / m
    # So that rounding leaves a root if some directions have no variance; it adds d millionths of it in all.
    covariance[np.diag_indices(d)] += _MILLIONTH * np.trace(covariance)
    root = np.linalg.cholesky(covariance).T.astype(np.float32)
    return (rng.standard_normal((m, d), np.float32) @ root).astype(centered.dtype)


class Path(NamedTuple):
    """The mean vectors by position (p, 3); `share` of the variance that position explains beyond what chance does.

    `without` is that share without the mean that has most of it, and its vectors; `first` whether that is the first of
    the path. `angle_r` is the rank correlation of position with the angle along the path, `turns` how far that goes
    round; `chance` is the share of permuted positions that have as large a correlation, or explain as much.
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
    most, and unwrapped; from the mean of the path (as of a spiral) or from the center of the circle that fits it best
    (as of an arc; a straight path makes no turn), whichever orders positions better. Noise makes such an angle walk at
    random, and a random walk correlates with time: so the same is done with permuted positions. What differs between
    long and short texts shows in the path too, because only long ones have late positions.
    """
    valid = np.flatnonzero(positions >= 0)
    rng = np.random.default_rng([seed, 2])
    order = valid[np.argsort(positions[valid], kind="stable")]
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
    shares = [walk.share(path, rows) for path in permuted]
    sizes = [abs(walk.turned(path)[0]) for path in permuted]
    as_well = max(sum(value >= share for value in shares), sum(size >= abs(angle_r) for size in sizes))
    back = points[order].astype(np.float64).mean(axis=0)
    chance = (1 + as_well) / (1 + _PERMUTED)
    return Path(means + back, max(share, 0.0), without, first, angle_r, turns, chance)


def _starts(positions: IntVector) -> IntVector:
    """Where each mean of the path begins, in vectors in the order of their positions."""
    least = min(max(len(positions) // 200, _FEWEST), _MOST)
    starts: list[int] = []
    for start in np.flatnonzero(np.diff(positions, prepend=-1)).tolist():
        if not starts or start - starts[-1] >= least:
            starts.append(start)
    if len(starts) > 1 and len(positions) - starts[-1] < least:
        starts.pop()
    return np.array(starts, np.int64)


class _Walk:
    """How vectors in the order of their positions fall into the means of a path."""

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
        """Rank correlation of position and angle, weighted by vectors, and turns from the first mean to the last."""
        turns = [
            (_rank_correlation(self.places, angles, self.weights), abs(float(angles[-1] - angles[0])) / (2 * np.pi))
            for angles in _angles(means, self.weights)
        ]
        return max(turns, key=lambda turn: abs(turn[0]))


def _angles(means: Matrix, weights: Vector) -> list[Vector]:
    """The unwrapped angle of each mean, from each center; of a straight path, where it stands, next to no angle."""
    centered = means - weights @ means
    _, sizes, axes = np.linalg.svd(centered * np.sqrt(weights)[:, None], full_matrices=False)
    flat = centered @ axes[:2].T / max(float(sizes[0]), np.finfo(np.float64).tiny)
    center = _center(flat, weights) if sizes[1] > _STRAIGHT * sizes[0] else None
    if center is None:
        return [np.asarray(_STRAIGHT * flat[:, 0])]
    return [np.unwrap(np.arctan2(*(flat - origin).T[::-1])) for origin in (center, np.zeros(2))]


def _center(points: Matrix, weights: Vector) -> Vector | None:
    """The center of the circle that fits points (p, 2) best (Pratt 1987); None of a straight line.

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
