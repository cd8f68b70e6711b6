"""Rows of a space as points of a picture: `map`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from uncone.data.source import Source
from uncone.extras import versions
from uncone.verbs.encoding import open_space, open_texts_of
from uncone.verbs.options.map import MOST_POINTS, MapOptions
from uncone.verbs.verb import verb

if TYPE_CHECKING:
    from uncone.analysis.projections.word_list import WordList
    from uncone.repairs.saving import Saved
    from uncone.report.results.map import Map
    from uncone.verbs.map.rows import Gathered

__all__ = ["map"]

_FITTED = 50_000
"""Rows that the axes of a static picture are learnt from."""


@verb(MapOptions)
def map(source: Any, *, options: MapOptions) -> Map:  # noqa: ANN401 - vectors or texts
    """Show vectors as points, say what they are, and how far the picture can be trusted.

    `source` holds vectors, or texts with `model`. Of more rows than points, a sample is shown, the same for every layer
    and for both sides of a repair.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> result = map(rng.normal(size=(60, 8)) * np.arange(8, 0, -1), labels=["a", "b"] * 30)
    >>> result.panels[0].points.shape, result.colorings[0].names, round(result.panels[0].trust.explained, 1)
    ((60, 2), ('a', 'b'), 0.5)
    """
    from uncone.analysis.projections.projection import check_method
    from uncone.analysis.projections.word_list import WordList
    from uncone.verbs.map.texts import TextRows, text_rows

    check_method(options.method, options.dims)
    options.check_points()
    words, saved = WordList(options.words), _loaded(options.repair)
    described = _described(source, options)
    if options.encoding is None:
        gathered = _vectors(open_space(source, options), options, words, saved, described)
    else:
        texts = open_texts_of(source, options.text, options.label, options.data)
        described["name"] = described["name"] or texts.name
        gathered = text_rows(TextRows(texts, options.encoding, options, words, saved, described), options.progress)
    return _map(gathered, options)


def _described(source: object, options: MapOptions) -> dict[str, Any]:
    """The source and how it was read, for the report."""
    named = ("column", "tensor", "label", "layer", "pooling", "limit", "sample")
    path = _path(source)
    return {
        "name": options.name,
        "path": path,
        "in_memory": True if path is None else None,
        "model": _path(options.model) or _name(options.model),
        **{name: getattr(options, name) for name in named},
        "text": ",".join(options.text) or None,
        "prompt": options.prompt or None,
        "repair": _path(options.repair),
    }


def _vectors(
    source: Source, options: MapOptions, words: WordList, saved: Saved | None, described: Mapping[str, Any]
) -> Gathered:
    """The rows of a source of vectors; for a static picture only as many as its axes are learnt from."""
    from uncone.analysis.projections.projection import FLAT
    from uncone.verbs.map.rows import vector_rows
    from uncone.verbs.map.static import check_streams

    points = options.most_points
    streamed = points > MOST_POINTS and options.method in FLAT and (source.rows is None or source.rows > MOST_POINTS)
    if streamed:
        points = _FITTED if source.rows is not None else MOST_POINTS
    gathered = vector_rows(source, points, options.seed, words, saved, options.progress)
    gathered = replace(gathered, told={**described, **gathered.told, "name": described["name"] or source.name})
    if streamed and gathered.total > MOST_POINTS:
        check_streams(gathered, source.name)
        return gathered
    return replace(gathered, streams={})


def _map(gathered: Gathered, options: MapOptions) -> Map:
    """The pictures of gathered rows, coloured."""
    from uncone.analysis.projections.pictures import pictures_of
    from uncone.report.results.map import Map
    from uncone.verbs.map.colors import Colors
    from uncone.verbs.map.static import static_densities

    colours = Colors(gathered, gathered.words, options.k, options.seed)
    made = colours.all(options.color)
    method: Any = options.method
    progress = options.progress
    report = None if progress is None else lambda sentence: progress(sentence, 0, None)
    pictures = pictures_of(gathered.spaces, gathered.rows, method, options.dims, options.seed, report)
    is_static = bool(gathered.streams) or gathered.n > MOST_POINTS
    density, notes = None, [*gathered.notes]
    if is_static:
        first = made[0] if made else None
        density, more = static_densities(gathered, pictures, colours, first, options.most_points, progress)
        notes += more
    return Map(
        source={key: value for key, value in gathered.told.items() if value is not None},
        method=options.method,
        dims=options.dims,
        panels=[picture.panel for picture in pictures],
        places=gathered.rows,
        texts=gathered.texts,
        colorings=made,
        total=gathered.total,
        seed=options.seed,
        notes=notes,
        provenance=_provenance(gathered, options),
        static=is_static,
        highlight=gathered.words.words,
        density=density,
    )


def _provenance(gathered: Gathered, options: MapOptions) -> dict[str, Any]:
    packages = {"tsne": ["openTSNE"], "umap": ["umap-learn"]}.get(options.method, [])
    drawn = "all" if gathered.n >= gathered.total else "by the hash of their numbers"
    return {
        **versions(*packages),
        "seed": options.seed,
        "points": gathered.n,
        "rows_drawn": drawn,
        "distance": "Euclidean",
    }


def _loaded(repair: str | os.PathLike[str] | None) -> Saved | None:
    if repair is None:
        return None
    from uncone.repairs.saving import load

    return load(repair)


def _name(value: object) -> str | None:
    name = getattr(value, "name", None)
    return name if isinstance(name, str) else None


def _path(source: object) -> str | None:
    return os.fspath(source) if isinstance(source, str | os.PathLike) else None
