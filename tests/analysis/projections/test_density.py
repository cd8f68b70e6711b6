"""Rows on a grid: against numpy's histogram and naive counts, whatever the stream is cut into."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from uncone.analysis.projections.density import Grid, Raster, density_of
from uncone.analysis.projections.projection import fit_axes
from uncone.data.batch import Batch
from uncone.data.vectors.memory import ArrayVectors
from uncone.run.measure import measure
from uncone.stats.hashing import hash_keys
from uncone.stats.row_sample import cutoff_for


def plane(n=4_000, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 2)) * [3.0, 1.0] + [10.0, -2.0]


def test_a_grid_has_square_cells_around_nearly_all_points():
    points = np.vstack([plane(20_000), [[1e6, 1e6]]])
    grid = Grid.around(points, cells=100)
    sizes = np.concatenate([np.diff(grid.edges_x), np.diff(grid.edges_y)])
    np.testing.assert_allclose(sizes, sizes[0])
    assert max(grid.shape) == 100 and grid.shape[0] < grid.shape[1]
    cells = grid.cells(points)
    assert cells[-1] == -1 and 0 <= (cells[:-1] < 0).sum() <= 4, "one row far away is left out, not all others shrunk"
    assert grid.cells(np.array([[np.nan, 0.0], [np.inf, 0.0], [0.0, -1e300]])).tolist() == [-1, -1, -1]
    one = Grid.around(np.ones((5, 2)))
    assert (one.cells(np.ones((5, 2))) >= 0).all()


def test_counts_are_those_of_a_histogram():
    points = plane()
    found = density_of("picture", points)
    expected, _, _ = np.histogram2d(points[:, 1], points[:, 0], bins=(found.edges_y, found.edges_x))
    assert found.counts.shape == expected.shape and np.abs(found.counts - expected).sum() <= 2  # rounding at an edge
    assert found.counts.sum() + found.outside == len(points) and found.members is None and found.values is None


def test_categories_and_numbers_of_a_cell_by_a_naive_count(monkeypatch):
    monkeypatch.setattr("uncone.analysis.projections.density._CELLS", 12)
    points, rng = plane(600), np.random.default_rng(1)
    members = rng.integers(-1, 3, 600)
    values = np.where(rng.random(600) < 0.2, np.nan, rng.normal(size=600))
    named = density_of("a", points, members=members, names=("x", "y", "z"))
    numbers = density_of("a", points, values=values)
    cells = Grid(named.edges_x, named.edges_y).cells(points)
    assert named.names == ("x", "y", "z")
    for cell in range(named.counts.size):
        inside = np.flatnonzero(cells == cell)
        counts = Counter(members[inside][members[inside] >= 0].tolist())
        best = min(counts, key=lambda one: (-counts[one], one)) if counts else -1
        assert named.members.ravel()[cell] == best and named.counts.ravel()[cell] == len(inside)
        known = values[inside][np.isfinite(values[inside])]
        mean = numbers.values.ravel()[cell]
        assert mean == pytest.approx(known.mean()) if len(known) else np.isnan(mean)


def test_a_stream_gives_the_same_however_it_is_cut():
    rows = np.random.default_rng(0).normal(size=(40_000, 5)).astype(np.float32) * np.arange(5, 0, -1) + 3
    axes = fit_axes(rows[::7], 2)
    grid = Grid.around(axes.points(rows))
    cutoff = cutoff_for(9_000, len(rows))

    def kind(batch):
        return batch.rows % 3

    raster = Raster(axes, grid, members=kind, names=3, values=lambda batch: batch.norms.astype(float), cutoff=cutoff)
    found = measure(ArrayVectors(rows), raster).density("a", ("p", "q", "r"))
    chosen = np.flatnonzero(hash_keys(np.arange(len(rows))) <= np.uint64(cutoff))
    norms = np.linalg.norm(rows.astype(float), axis=1)
    whole = density_of("a", axes.points(rows[chosen]), members=chosen % 3, names=("p", "q", "r"))
    assert found.counts.sum() + found.outside == len(chosen) == 9_000 == whole.counts.sum() + whole.outside
    cells = grid.cells(axes.points(rows))[chosen]
    expected = np.bincount(cells[cells >= 0], minlength=found.counts.size)
    assert np.abs(found.counts.ravel() - expected).sum() <= 4  # products of other blocks round otherwise
    mean = np.nansum(found.values * found.counts) / found.counts.sum()
    assert mean == pytest.approx(norms[chosen][cells >= 0].mean(), rel=1e-5)
    halves = [raster.empty(), raster.empty()]
    for half, part in zip(halves, (slice(0, 15_000), slice(15_000, None)), strict=True):
        half.update(Batch.of(rows[part], first_row=part.start))
    merged = halves[1].merge(halves[0])
    again = Raster.from_state(merged.state(), **merged.settings)
    for other in (merged.density("a"), again.density("a")):
        assert np.abs(other.counts - found.counts).sum() <= 4 and other.outside == found.outside
