"""Pictures of one or several spaces, side by side, with axes in the same direction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from uncone.analysis.projections.axes import Axes, fit_axes, signs_like
from uncone.analysis.projections.projection import FLAT, Method, Progress, check_rows, project
from uncone.analysis.projections.results import Panel
from uncone.analysis.projections.trust import trust_of
from uncone.data.batch import IntVector, Matrix, Vector

__all__ = ["Picture", "Space", "pictures_of"]


@dataclass(frozen=True, eq=False)
class Space:
    """Vectors (m, d) of a layer or a repair, at these `places` of the map."""

    name: str
    vectors: Matrix
    places: IntVector
    layer: int | None = None

    @property
    def norms(self) -> Vector:
        """The length of every vector."""
        return np.asarray(np.sqrt(np.vecdot(self.vectors, self.vectors).astype(np.float64)))


@dataclass(frozen=True, eq=False)
class Picture:
    """A panel, and the axes of PCA or SVD that it is drawn on or started from."""

    panel: Panel
    axes: Axes


def pictures_of(
    spaces: Sequence[Space],
    rows: IntVector,
    method: Method,
    dims: int,
    seed: int = 0,
    progress: Progress | None = None,
) -> list[Picture]:
    """A picture of every space; `rows` are the row numbers of the map's points.

    Every space has its own axes, but each axis of PCA points in the same direction as in the previous picture, by the
    rows of both, and t-SNE and UMAP start there.

    Raises:
        ShapeError: too few vectors, or vectors that are not finite.
    """
    made: list[Picture] = []
    before: tuple[IntVector, Matrix] | None = None
    for space in spaces:
        vectors = check_rows(space.vectors, method)
        axes = fit_axes(vectors, dims, centered=method != "svd")
        points = axes.points(vectors)
        if before is not None:
            _, mine, theirs = np.intersect1d(space.places, before[0], assume_unique=True, return_indices=True)
            signs = signs_like(points[mine], before[1][theirs])
            axes, points = axes.flipped(signs), points * signs
        before = space.places, points
        if method not in FLAT:
            points = project(vectors, method, dims, seed, progress, axes)
        explained = axes.explained if method in FLAT else None
        trust = trust_of(vectors, points, method, explained=explained, numbers=rows[space.places], seed=seed)
        made.append(Picture(Panel(space.name, points, space.places, trust, space.layer), axes))
    return made
