"""The numbers behind the charts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from uncone.analysis.number_format import clipped
from uncone.analysis.space.space import Space

__all__ = ["STATISTICS", "Pictures", "Points", "draw"]

STATISTICS = ("moments", "units", "norms", "pairs")
"""Statistics that the charts are drawn from."""

_BINS = 80
_POINTS = 5_000
_LABELS = 7


@dataclass(frozen=True)
class Points:
    """Sampled vectors on the two strongest directions, with text and label where known."""

    x: list[float]
    y: list[float]
    rows: list[int]
    texts: list[str] | None
    labels: list[str] | None


@dataclass(frozen=True)
class Pictures:
    """Histogram of pair cosines, eigenvalues, contributions per dimension, histogram of norms, map."""

    cosine_edges: list[float]
    cosine_density: list[float]
    eigenvalues: list[float]
    contributions: list[float]
    norm_edges: list[float]
    norm_counts: list[int]
    points: Points

    def to_dict(self) -> dict[str, Any]:
        """All but the points, as plain JSON values."""
        return {name: value for name, value in self.__dict__.items() if name != "points"}


def draw(space: Space) -> Pictures:
    """The series of every chart."""
    edges, density = _cosines(space)
    norm_edges, norm_counts = _norms(space)
    try:
        eigenvalues, points = _rounded(space.directions[0]), _points(space)
    except np.linalg.LinAlgError:  # the findings say that there are none; the other charts do without
        eigenvalues, points = [], Points([], [], [], None, None)
    return Pictures(
        edges,
        density,
        eigenvalues,
        _rounded(space.units.contributions),
        norm_edges,
        norm_counts,
        points,
    )


def _cosines(space: Space) -> tuple[list[float], list[float]]:
    ordered = space.sorted_cosines
    low, high = float(np.floor(ordered[0] * 50) / 50), float(np.ceil(ordered[-1] * 50) / 50)
    edges = np.linspace(low, max(high, low + 0.02), _BINS + 1)
    counts = np.diff(np.searchsorted(ordered, edges[1:-1]), prepend=0, append=len(ordered))
    return _rounded(edges), _rounded(counts / len(ordered))


def _norms(space: Space) -> tuple[list[float], list[int]]:
    """The log histogram over the vectors' range, with bins joined until at most about 60 are left."""
    counts, edges = space.norms.counts, space.norms.edges
    filled = np.flatnonzero(counts)
    first, last = int(filled[0]), int(filled[-1]) + 1
    width = max(-(-(last - first) // 60), 1)
    last = first + -(-(last - first) // width) * width
    if last > len(counts):
        first -= last - len(counts)
        last = len(counts)
    joined = counts[first:last].reshape(-1, width).sum(axis=1)
    return _rounded(edges[first : last + 1 : width]), [int(number) for number in joined]


def _points(space: Space) -> Points:
    sample = space.sample.first(_POINTS)
    _, directions = space.directions
    top = directions[:, :2]
    # An eigenvector has no sign of its own: the largest entry is made positive, so that the map does not flip.
    top = top * np.sign(top[np.abs(top).argmax(axis=0), np.arange(top.shape[1])])
    vectors = sample.vectors
    placed = (vectors - space.moments.mean.astype(vectors.dtype)) @ top.astype(vectors.dtype)
    y = placed[:, 1] if placed.shape[1] > 1 else np.zeros(len(placed))
    return Points(
        _rounded(placed[:, 0]),
        _rounded(y),
        [int(row) for row in sample.rows],
        None if sample.texts is None else [clipped(text, 100) for text in sample.texts],
        None if sample.labels is None else _few(list(sample.labels)),
    )


def _few(labels: list[str]) -> list[str]:
    """The most frequent labels; the rest as "other"."""
    names, counts = np.unique(labels, return_counts=True)
    if len(names) <= _LABELS:
        return labels
    frequent = {str(name) for name in names[np.argsort(-counts, kind="stable")[: _LABELS - 1]]}
    return [label if label in frequent else "other" for label in labels]


def _rounded(values: np.ndarray) -> list[float]:
    return [float(f"{value:.6g}") for value in values]
