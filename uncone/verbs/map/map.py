"""Vectors as points of a picture: `map`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from uncone.analysis.number_format import count
from uncone.analysis.projections.density import Grid, Members, Raster, Through, density_of
from uncone.analysis.projections.pictures import Picture, pictures_of
from uncone.analysis.projections.projection import FLAT, Axes, check_method
from uncone.analysis.projections.results import Coloring, Density
from uncone.analysis.projections.word_list import WordList
from uncone.data.batch import Batch, IntVector
from uncone.data.source import Source
from uncone.data.vectors.databases.url import without_secrets
from uncone.data.writing.manifest import versions
from uncone.errors import OptionError
from uncone.repairs.repair import Mapped
from uncone.repairs.saving import Saved, load
from uncone.report.documents.map import Map
from uncone.run.measure import measure, step_progress
from uncone.stats.row_sample import cutoff_for
from uncone.verbs.map.colors import Colors, kind_of
from uncone.verbs.map.models import model_rows, scaled_pictures
from uncone.verbs.map.rows import MapRows, vector_rows
from uncone.verbs.map.texts import TextRows, text_rows
from uncone.verbs.options.map import MOST_POINTS, MapOptions
from uncone.verbs.spaces.encoding import open_space, open_texts_of
from uncone.verbs.spaces.verb import verb

__all__ = ["map"]

_FIT_ROWS = 50_000
"""Vectors that the axes of a static picture are learned from."""


@verb(MapOptions)
def map(source: Any, *, options: MapOptions) -> Map:  # noqa: ANN401 - vectors or texts
    """Show vectors as points, with what is known of them and how far the picture can be trusted.

    `source` holds vectors, or texts with `model`; with `corpus`, it is a model or a list of them, and each has a
    picture. Of more rows than points, a sample is shown, the same for every layer, every model and both sides of a
    repair.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> result = map(rng.normal(size=(60, 8)) * np.arange(8, 0, -1), labels=["a", "b"] * 30)
    >>> result.panels[0].points.shape, result.colorings[0].names, round(result.panels[0].trust.explained, 1)
    ((60, 2), ('a', 'b'), 0.5)
    """
    check_method(options.method, options.dims)
    options.check_points()
    words, saved = WordList(options.words), None if options.repair is None else load(options.repair)
    described = _description(source, options)
    models: list[Any] = []
    if options.corpus is not None:
        models = list(source) if isinstance(source, list | tuple) else [source]
        options = options if options.is_given("rows") else replace(options, rows="words")
        texts = open_texts_of(options.corpus, options.text, options.label, options.data)
        path = _path(options.corpus)
        described |= {"name": described["name"] or texts.name, "path": path, "in_memory": None if path else True}
        rows = model_rows(models, texts, options, words, described)
    elif options.encoding is None:
        rows = _vector_rows(open_space(source, options), options, words, saved, described)
    else:
        texts = open_texts_of(source, options.text, options.label, options.data)
        described["name"] = described["name"] or texts.name
        rows = text_rows(TextRows(texts, options.encoding, options, words, saved, described))
    colors = Colors(rows, options.k, options.seed)
    colorings = colors.all(options.color)
    progress, method = options.progress, options.method
    report = None if progress is None else lambda step: progress(step, 0, None)
    pictures = pictures_of(rows.spaces, rows.rows, method, options.dims, options.seed, report)  # type: ignore[arg-type]
    same_axes = len(models) > 1 and method in FLAT
    if same_axes:
        pictures = scaled_pictures(pictures, rows.spaces, centered=method != "svd")
    static = bool(rows.streams) or rows.n > MOST_POINTS
    densities = _densities(rows, pictures, colors, next(iter(colorings), None), options) if static else None
    return Map(
        source={key: value for key, value in rows.described.items() if value is not None},
        method=method,
        dims=options.dims,
        panels=[picture.panel for picture in pictures],
        places=rows.rows,
        texts=rows.texts,
        colorings=colorings,
        total=rows.total,
        seed=options.seed,
        notes=[*rows.notes, *_density_notes(rows, densities or ())],
        provenance={
            **versions(*{"tsne": ["openTSNE"], "umap": ["umap-learn"]}.get(method, [])),
            "seed": options.seed,
            "points": rows.n,
            "rows_drawn": "all" if rows.n >= rows.total else "by the hash of their numbers",
            "distance": "Euclidean",
            **({"axes": "in units of the root mean square distance, the same for all models"} if same_axes else {}),
        },
        static=static,
        highlight=rows.words.words,
        density=densities,
        same_axes=same_axes,
    )


def _description(source: object, options: MapOptions) -> dict[str, Any]:
    """The source and how it was read, for the report."""
    path, model = _path(source), getattr(options.model, "name", None)
    return {
        "name": options.name,
        "path": path,
        "in_memory": True if path is None else None,
        "model": _path(options.model) or (model if isinstance(model, str) else None),
        **{
            name: getattr(options, name)
            for name in ("column", "tensor", "label", "layer", "pooling", "limit", "sample")
        },
        "text": ",".join(options.text) or None,
        "prompt": options.prompt or None,
        "repair": _path(options.repair),
    }


def _path(source: object) -> str | None:
    return without_secrets(os.fspath(source)) if isinstance(source, str | os.PathLike) else None


def _vector_rows(
    source: Source, options: MapOptions, words: WordList, saved: Saved | None, described: Mapping[str, Any]
) -> MapRows:
    """The points of a source of vectors; for a static picture only as many as its axes are learned from."""
    points = options.most_points
    streamed = points > MOST_POINTS and options.method in FLAT and (source.rows is None or source.rows > MOST_POINTS)
    if streamed:
        points = _FIT_ROWS if source.rows is not None else MOST_POINTS
    rows = vector_rows(source, points, options.seed, words, saved, options.progress)
    rows = replace(rows, described={**described, **rows.described, "name": described["name"] or source.name})
    if not streamed or rows.total <= MOST_POINTS:
        return replace(rows, streams={})
    if not rows.streams:
        raise OptionError(
            f"{source.name} can be read only once, but a static image takes two passes. Save it to a file first."
        )
    return rows


def _densities(
    rows: MapRows, pictures: Sequence[Picture], colors: Colors, coloring: Coloring | None, options: MapOptions
) -> list[Density]:
    """All vectors, up to --points, on a grid for each picture.

    Vectors that can be read again are projected onto the axes of the picture, which were fitted on the sample that it
    shows. Otherwise the points of the picture itself are counted.
    """
    densities = []
    for picture in pictures:
        name = picture.panel.name
        if name not in rows.streams:
            densities.append(_point_density(picture, coloring))
            continue
        source: Source = rows.streams[name]
        axes: Axes | Through = picture.axes
        if isinstance(source, Mapped) and coloring is not None and coloring.name == "cluster":
            # Clusters are those of the raw vectors.
            axes, source = Through(source.repair.map, picture.axes), source.source
        # Without a count the sample is not known beforehand: then all vectors are drawn.
        cutoff = None if source.rows is None else cutoff_for(options.most_points, source.rows, options.seed)
        keywords = _raster_colors(coloring, colors, name)
        raster = Raster(axes, Grid.around(picture.panel.points), cutoff=cutoff, seed=options.seed, **keywords)
        names = tuple(coloring.names) if coloring is not None and coloring.values is None else ()
        result = measure(source, raster, progress=step_progress(options.progress, "drawing", rows.total))
        densities.append(result.density(name, names))
    return densities


def _density_notes(rows: MapRows, densities: Sequence[Density]) -> list[str]:
    outside = max((density.outside for density in densities), default=0)
    notes = [f"Beyond the edges of the picture: {count(outside, 'row')}."] if outside else []
    if rows.streams:
        notes.append(f"Axes, clusters and the counts of colors are those of a sample of {count(rows.n, 'row')}.")
    return notes


def _point_density(picture: Picture, coloring: Coloring | None) -> Density:
    panel = picture.panel
    if coloring is None:
        return density_of(panel.name, panel.points)
    if coloring.values is not None:
        values = coloring.values_by_panel.get(panel.name, coloring.values)
        return density_of(panel.name, panel.points, values=values[panel.places])
    members = coloring.by_panel.get(panel.name, coloring.members)
    assert members is not None
    return density_of(panel.name, panel.points, members=members[panel.places], names=tuple(coloring.names))


def _raster_colors(coloring: Coloring | None, colors: Colors, name: str) -> dict[str, Any]:
    """How a raster computes the category or the number of a vector that is not in the sample."""
    if coloring is None:
        return {}
    if coloring.name == "norm":
        return {"values": lambda batch: batch.norms.astype(np.float64)}
    if coloring.name == "frequency":
        return {"values": lambda batch: np.log10(batch.rows + 1.0)}
    return {"members": _members(coloring, colors, name), "names": len(coloring.names)}


def _members(coloring: Coloring, colors: Colors, name: str) -> Members:
    if coloring.name == "cluster":
        grouping = colors.grouping(name)
        return lambda batch: grouping.nearest(batch.vectors)
    if coloring.name == "words":
        return lambda batch: colors.rows.words.firsts(batch.texts, batch.n)
    codes = {category: code for code, category in enumerate(coloring.names)}

    def members(batch: Batch) -> IntVector:
        categories = batch.labels if coloring.name == "label" else [kind_of(text) for text in batch.texts or ()]
        return np.array([codes.get(category, -1) for category in categories or [""] * batch.n], np.int64)

    return members
