"""A static picture of more rows than a page holds: vectors on disk are streamed, and none of them is kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from uncone.analysis.number_format import count
from uncone.analysis.projections.density import Grid, Members, Raster, Through, density_of
from uncone.analysis.projections.pictures import Picture
from uncone.analysis.projections.projection import Axes
from uncone.analysis.projections.results import Coloring, Density
from uncone.data.batch import Batch, IntVector
from uncone.data.source import Source
from uncone.errors import OptionError
from uncone.repairs.repaired_source import Mapped
from uncone.run.measure import measure
from uncone.stats.row_sample import cutoff_for
from uncone.verbs.encoding import Progress
from uncone.verbs.map.colors import Colors, kind_of
from uncone.verbs.map.rows import Gathered

__all__ = ["check_streams", "static_densities"]


def static_densities(
    gathered: Gathered,
    pictures: Sequence[Picture],
    colours: Colors,
    first: Coloring | None,
    points: int,
    progress: Progress | None = None,
) -> tuple[list[Density], list[str]]:
    """All rows (up to `points`) on a grid for each picture, and a note of what lies beyond its edges.

    Where the rows can be read again they go through the axes of the pictures, which were found on the sample that the
    pictures show; else the rows of the pictures themselves are counted.

    Raises:
        OptionError: the vectors can be read only once.
    """
    made = []
    for picture in pictures:
        name = picture.panel.name
        if name not in gathered.streams:
            made.append(_held(gathered, picture, first))
            continue
        source, axes = _seen(gathered.streams[name], picture.axes, first)
        # Without a count the sample of so many rows is not known beforehand: then all are taken.
        cutoff = None if source.rows is None else cutoff_for(points, source.rows, colours.seed)
        raster = Raster(
            axes,
            Grid.around(picture.panel.points),
            cutoff=cutoff,
            seed=colours.seed,
            **_coloured(first, colours, name),
        )
        told = None if progress is None else lambda done: progress("drawing", done, gathered.total)
        names = tuple(first.names) if first is not None and first.values is None else ()
        made.append(measure(source, raster, progress=told).density(name, names))
    outside = max((one.outside for one in made), default=0)
    notes = [f"Beyond the edges of the picture: {count(outside, 'row')}."] if outside else []
    if gathered.streams:
        notes.append(f"Axes, clusters and the counts of colours are those of a sample of {count(gathered.n, 'row')}.")
    return made, notes


def check_streams(gathered: Gathered, name: str) -> None:
    """Refuse a static picture of vectors that can be read only once.

    Raises:
        OptionError: they can.
    """
    if not gathered.streams:
        raise OptionError(f"{name} can be read only once, and a static picture takes two passes: save it first.")


def _seen(source: Source, axes: Axes, first: Coloring | None) -> tuple[Source, Axes | Through]:
    """What is read for a picture, and how its rows get there: raw rows are asked for the cluster they are in."""
    if isinstance(source, Mapped) and first is not None and first.name == "cluster":
        return source.source, Through(source.repair.map, axes)
    return source, axes


def _held(gathered: Gathered, picture: Picture, first: Coloring | None) -> Density:
    panel = picture.panel
    if first is None:
        return density_of(panel.name, panel.points)
    if first.values is not None:
        values = first.values_by_panel.get(panel.name, first.values)
        return density_of(panel.name, panel.points, values=values[panel.places])
    members = first.by_panel.get(panel.name, first.members)
    assert members is not None
    return density_of(panel.name, panel.points, members=members[panel.places], names=tuple(first.names))


def _coloured(first: Coloring | None, colours: Colors, name: str) -> dict[str, Any]:
    """How a raster finds the category or the number of a row that was never seen before."""
    if first is None:
        return {}
    if first.name == "norm":
        return {"values": lambda batch: batch.norms.astype(np.float64)}
    if first.name == "frequency":
        return {"values": lambda batch: np.log10(batch.rows + 1.0)}
    return {"members": _members(first, colours, name), "names": len(first.names)}


def _members(first: Coloring, colours: Colors, name: str) -> Members:
    if first.name == "cluster":
        found = colours.grouping(name)
        return lambda batch: found.nearest(batch.vectors)
    if first.name == "words":
        return lambda batch: colours.words.firsts(batch.texts, batch.n)
    places = {one: place for place, one in enumerate(first.names)}

    def named(batch: Batch) -> IntVector:
        known = batch.labels if first.name == "label" else [kind_of(text) for text in batch.texts or ()]
        return np.array([places.get(one, -1) for one in known or [""] * batch.n], np.int64)

    return named
