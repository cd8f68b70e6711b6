"""Millions of vectors as one picture: each is projected as it is read and counted in its cell; none is stored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from uncone.analysis.projections.projection import Axes
from uncone.analysis.projections.results import Density
from uncone.data.batch import Batch, IntVector, Matrix, Vector
from uncone.stats.hashing import hash_keys
from uncone.stats.statistic import State, Statistic

__all__ = ["Grid", "Members", "Raster", "Through", "Values", "density_of"]

Members = Callable[[Batch], IntVector]
"""The category of every vector of a batch, -1 if it has none."""
Values = Callable[[Batch], Vector]
"""The number of every vector of a batch, NaN if it has none."""

_CELLS = 1_000
"""Cells along the longer side of a picture."""
_EDGE = 1e-4
"""The share of vectors that may lie beyond each edge: else one outlier would shrink all others to a dot."""
_MARGIN = 0.04


@dataclass(frozen=True, eq=False)
class Grid:
    """Square cells between edges (w + 1) along the first axis and (h + 1) along the second."""

    edges_x: Vector
    edges_y: Vector

    @classmethod
    def around(cls, points: Matrix, cells: int | None = None) -> Grid:
        """A grid around nearly all of the points (n, 2)."""
        ordered, spare = np.sort(points, axis=0), int(_EDGE * len(points))
        low, high = ordered[spare], ordered[-1 - spare]
        side = float((high - low).max()) or 1.0
        low, high = low - _MARGIN * side, high + _MARGIN * side
        size = float((high - low).max()) / (cells or _CELLS)
        w, h = np.maximum(np.ceil((high - low) / size - 1e-9), 1).astype(int).tolist()
        return cls(low[0] + size * np.arange(w + 1), low[1] + size * np.arange(h + 1))

    @property
    def shape(self) -> tuple[int, int]:
        """Cells of the second axis and of the first: (h, w)."""
        return len(self.edges_y) - 1, len(self.edges_x) - 1

    def cells(self, points: Matrix) -> IntVector:
        """The cell of every point, numbered row by row from the low end of the second axis; -1 beyond the edges."""
        h, w = self.shape
        x, y = (
            np.nan_to_num(np.clip(np.floor((points[:, i] - edges[0]) / (edges[1] - edges[0])), -1, len(edges)), nan=-1)
            for i, edges in enumerate((self.edges_x, self.edges_y))
        )
        inside = (x >= 0) & (x < w) & (y >= 0) & (y < h)
        return np.where(inside, y * w + x, -1).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Through:
    """The axes of a picture of repaired vectors, for vectors before the repair."""

    change: Callable[[Matrix], Matrix]
    axes: Axes

    def points_here(self, rows: Matrix) -> Matrix:
        """The points (n, dims) of vectors (n, d), in this thread."""
        return self.axes.points_here(self.change(rows))


class Raster(Statistic):
    """The number of vectors in each cell, their most frequent category, and the mean of their numbers.

    With a `cutoff`, only vectors whose row numbers have a hash up to it are counted.
    """

    def __init__(
        self,
        axes: Axes | Through,
        grid: Grid,
        *,
        members: Members | None = None,
        names: int = 0,
        values: Values | None = None,
        cutoff: int | None = None,
        seed: int = 0,
    ) -> None:
        self.axes, self.grid = axes, grid
        self.members, self.names, self.values = members, names, values
        self.cutoff, self.seed = cutoff, seed
        self.outside = 0
        self._pending: list[tuple[IntVector, IntVector | None, Vector | None]] = []
        self._totals: State = {}

    @property
    def settings(self) -> dict[str, Any]:
        """What two rasters must share to be merged."""
        names = ("axes", "grid", "members", "names", "values", "cutoff", "seed")
        return {name: getattr(self, name) for name in names}

    def update(self, batch: Batch) -> None:
        """Count the vectors of a batch."""
        if self.cutoff is not None:
            batch = batch.where(hash_keys(batch.rows, self.seed) <= np.uint64(self.cutoff))
        if batch.n:
            cells = self.grid.cells(self.axes.points_here(batch.vectors))
            members = None if self.members is None else self.members(batch)
            self._pending.append((cells, members, None if self.values is None else self.values(batch)))

    def absorb(self, other: Raster) -> None:
        """Add the counts of another raster."""
        totals = self._counts()
        for cells, members, values in other._pending:
            self.outside += int((cells < 0).sum())
            self._add(totals, cells, members, values)
        for name, values in other._totals.items():
            totals[name] += values
        self.outside += other.outside

    def _counts(self) -> State:
        if not self._totals:
            cells = int(np.prod(self.grid.shape))
            self._totals = {"counts": np.zeros(cells, np.int64)}
            if self.members is not None:
                self._totals["members"] = np.zeros((self.names, cells), np.int32)
            if self.values is not None:
                self._totals |= {"sums": np.zeros(cells), "known": np.zeros(cells, np.int64)}
        return self._totals

    @staticmethod
    def _add(totals: State, cells: IntVector, members: IntVector | None, values: Vector | None) -> None:
        inside = cells >= 0
        np.add.at(totals["counts"], cells[inside], 1)
        if members is not None:
            in_category = inside & (members >= 0)
            np.add.at(totals["members"], (members[in_category], cells[in_category]), 1)
        if values is not None:
            finite = inside & np.isfinite(values)
            np.add.at(totals["sums"], cells[finite], values[finite])
            np.add.at(totals["known"], cells[finite], 1)

    def state(self) -> State:
        """All counts."""
        whole = self.empty()
        whole.absorb(self)
        return {**whole._counts(), "outside": np.array([whole.outside], np.int64)}

    def _restore(self, state: State) -> None:
        self.outside = int(state["outside"][0])
        self._totals = {name: values for name, values in state.items() if name != "outside"}

    def density(self, name: str, names: tuple[str, ...] = ()) -> Density:
        """The counts as a picture."""
        state, shape = self.state(), self.grid.shape
        members = values = None
        if "members" in state:
            most = state["members"].argmax(axis=0).astype(np.int64)
            members = np.where(state["members"].any(axis=0), most, -1).reshape(shape)
        if "sums" in state:
            values = np.where(state["known"] > 0, state["sums"] / np.maximum(state["known"], 1), np.nan).reshape(shape)
        counts, outside = state["counts"].reshape(shape), int(state["outside"][0])
        return Density(name, self.grid.edges_x, self.grid.edges_y, counts, members, names, values, outside)


def density_of(
    name: str,
    points: Matrix,
    *,
    members: IntVector | None = None,
    names: tuple[str, ...] = (),
    values: Vector | None = None,
) -> Density:
    """The density of points (n, 2), with their categories or numbers."""
    flat = Axes(np.zeros(2), np.eye(2), np.zeros(2), 1.0, 1.0)
    raster = Raster(
        flat,
        Grid.around(points),
        members=None if members is None else lambda batch: members[batch.rows],
        names=len(names),
        values=None if values is None else lambda batch: values[batch.rows],
    )
    rows = np.arange(len(points), dtype=np.int64)
    raster.update(Batch(points, np.ones(len(points)), rows))
    return raster.density(name, names)
