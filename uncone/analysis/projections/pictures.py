"""From rows of one or several spaces to pictures side by side, whose axes run alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from uncone.analysis.projections.axes import Axes, fit_axes, signs_like
from uncone.analysis.projections.projection import FLAT, Method, check_rows, project
from uncone.analysis.projections.results import Panel
from uncone.analysis.projections.trust import trust_of
from uncone.data.batch import IntVector, Matrix, Vector

__all__ = ["Picture", "Space", "pictures_of"]


@dataclass(frozen=True, eq=False)
class Space:
    """Rows (m, d) of a layer or of a repair, which stand at these `places` of the map."""

    name: str
    vectors: Matrix
    places: IntVector
    layer: int | None = None

    @property
    def norms(self) -> Vector:
        """|x| of every row."""
        return np.asarray(np.sqrt(np.vecdot(self.vectors, self.vectors).astype(np.float64)))


@dataclass(frozen=True, eq=False)
class Picture:
    """A panel, and the axes of PCA or SVD that it is drawn on or was begun at."""

    panel: Panel
    axes: Axes


def pictures_of(
    spaces: Sequence[Space],
    rows: IntVector,
    method: Method,
    dims: int,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> list[Picture]:
    """A picture of every space; `rows` are the numbers of the map's rows.

    Every space has its own axes: a layer is not measured along those of another. But each axis of PCA runs in the
    direction in which that of the picture before does on the rows of both, and t-SNE and UMAP begin there.

    Raises:
        ShapeError: too few rows, or rows that are not finite.
    """
    made: list[Picture] = []
    before: tuple[IntVector, Matrix] | None = None
    for space in spaces:
        vectors = check_rows(space.vectors, method)
        axes = fit_axes(vectors, dims, centred=method != "svd")
        points = axes.points(vectors)
        if before is not None:
            _, mine, theirs = np.intersect1d(space.places, before[0], assume_unique=True, return_indices=True)
            signs = signs_like(points[mine], before[1][theirs])
            axes, points = axes.turned(signs), points * signs
        before = space.places, points
        if method not in FLAT:
            points = project(vectors, method, dims, seed, progress, axes)
        explained = axes.explained if method in FLAT else None
        trust = trust_of(vectors, points, method, explained=explained, numbers=rows[space.places], seed=seed)
        made.append(Picture(Panel(space.name, points, space.places, trust, space.layer), axes))
    return made
