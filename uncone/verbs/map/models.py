"""The same words in several models: a picture for each, of the same points."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from uncone.analysis.number_format import count
from uncone.analysis.projections.pictures import Picture, Space
from uncone.analysis.projections.word_list import WordList
from uncone.data.batch import Matrix
from uncone.data.texts.texts import TextSource
from uncone.errors import OptionError
from uncone.report.text import last_name
from uncone.verbs.map.rows import MapRows
from uncone.verbs.map.texts import TextRows, text_rows
from uncone.verbs.options.map import MapOptions

__all__ = ["model_rows", "names_of", "scaled_pictures"]


def names_of(models: Sequence[Any]) -> list[str]:
    """The models by the last part of their names; with a letter if several have the same.

    >>> names_of(["a/bert", "b/bert"])
    ['A bert', 'B bert']
    """
    names = [last_name(model if isinstance(model, str | os.PathLike) else model.name) for model in models]
    if len(set(names)) == len(names):
        return names
    return [f"{chr(ord('A') + place % 26)} {name}" for place, name in enumerate(names)]


def model_rows(
    models: Sequence[Any], texts: TextSource, options: MapOptions, words: WordList, described: Mapping[str, Any]
) -> MapRows:
    """The points of the first model, in every model: rows that another lacks are missing in its picture.

    Raises:
        OptionError: tokens, which every model cuts in its own way.
    """
    if options.rows == "tokens" and len(models) > 1:
        raise OptionError("Models cut texts into different tokens. To compare models, use --rows words.")
    parts = []
    for model in models:
        own = replace(options, model=model, corpus=None)
        assert own.encoding is not None
        parts.append(text_rows(TextRows(texts, own.encoding, own, words, None, described)))
    names, first = names_of(models), parts[0]
    spaces, notes = [], list(first.notes)
    for name, part in zip(names, parts, strict=True):
        for space in part.spaces:
            label = name if len(part.spaces) == 1 else f"{name}, {space.name}"
            spaces.append(_shared(space, label, part, first))
        if missing := len(first.rows) - len(spaces[-1].places):
            notes.append(f"{name} has no vector for {count(missing, 'point')}, or cuts long texts at other places.")
        notes += [note for note in part.notes if note not in notes]
    dimensions = {part.described.get("dimensions") for part in parts}
    model_names = [os.fspath(model) if isinstance(model, str | os.PathLike) else str(model.name) for model in models]
    source = {**described, **first.described, "model": None, "models": model_names}
    source["kind"] = f"texts through {count(len(models), 'model')}"
    source["dimensions"] = dimensions.pop() if len(dimensions) == 1 else None
    return replace(first, described=source, spaces=spaces, notes=notes, total=max(part.total for part in parts))


def _key(rows: MapRows, place: int) -> tuple[str, str, int]:
    assert rows.facts is not None
    facts = rows.facts
    return facts.words[place], facts.sentences[int(facts.sentence[place])], int(facts.starts[place])


def _shared(space: Space, label: str, part: MapRows, first: MapRows) -> Space:
    """The vectors of a model for the points of the first model: the same words at the same places of the same texts."""
    numbers = part.rows[space.places]
    inside = np.flatnonzero(np.isin(numbers, first.rows))
    places = np.searchsorted(first.rows, numbers[inside]).astype(np.int64)
    if part is not first and first.facts is not None and part.facts is not None:
        pairs = zip(places.tolist(), space.places[inside].tolist(), strict=True)
        same = np.array([_key(first, i) == _key(part, j) for i, j in pairs], bool)
        inside, places = inside[same], places[same]
    return Space(label, space.vectors[inside], places, None)


def scaled_pictures(pictures: Sequence[Picture], spaces: Sequence[Space], *, centered: bool) -> list[Picture]:
    """Points in units of the root mean square distance from the middle, or from zero: models differ in scale."""
    scaled = []
    for picture, space in zip(pictures, spaces, strict=True):
        points: Matrix = picture.panel.points / _scale(space.vectors, centered)
        scaled.append(replace(picture, panel=replace(picture.panel, points=points)))
    return scaled


def _scale(vectors: Matrix, centered: bool) -> float:
    rows = vectors.astype(np.float64)
    rows -= rows.mean(axis=0) if centered else 0.0
    return float(np.sqrt(np.vecdot(rows, rows).mean())) or 1.0
