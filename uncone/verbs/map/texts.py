"""Texts through a model as rows of a map: a vector for every text, word or token, of one layer or of all."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from uncone.analysis.number_format import count
from uncone.analysis.projections.pictures import Space
from uncone.analysis.projections.word_list import OF_EACH, WordList
from uncone.data.batch import IntVector, Matrix
from uncone.data.source import Source
from uncone.data.texts.selection import Selection, Unit
from uncone.data.texts.texts import ListTexts, TextSource
from uncone.encoders.encoder import Encoder, EncoderIdentity
from uncone.encoders.open import open_encoder
from uncone.encoders.text_vectors import parse_layers
from uncone.errors import NoUsableRowsError, OptionError, OtherSpaceError
from uncone.repairs.saving import Saved, load
from uncone.stats.hashing import hash_sample
from uncone.verbs.encoding import Encoding, Progress, encoded, is_paragraphs, read_vectors
from uncone.verbs.map.layers import Layered, layered_rows
from uncone.verbs.map.rows import RAW, Gathered, beside_note, both_sides, whole_texts
from uncone.verbs.options.map import MapOptions
from uncone.verbs.repaired_spaces import space_like

__all__ = ["TextRows", "text_rows"]


@dataclass(frozen=True)
class TextRows:
    """Texts and the options of their map, with the repair and the words to look for."""

    source: TextSource
    encoding: Encoding
    options: MapOptions
    words: WordList
    saved: Saved | None = None
    described: Mapping[str, Any] = field(default_factory=dict)

    @property
    def folder(self) -> str | os.PathLike[str]:
        """The folder of the repair."""
        return self.options.repair or ""

    @property
    def has_words(self) -> bool:
        """Whether a row is a part of a text."""
        return self.options.rows in ("words", "tokens")

    @property
    def every_layer(self) -> bool:
        """Whether all layers are asked for, each as a picture of its own."""
        return self.encoding.layer == "all"

    @property
    def selection(self) -> Selection:
        """The texts that are read: of words, as `layers` reads them; else every one that is not blank."""
        cut = self.has_words and is_paragraphs(self.source) if self.options.split is None else self.options.split
        return Selection(
            self.source,
            limit=self.encoding.limit,
            sample=self.options.sample,
            seed=self.options.seed,
            keep_duplicates=not self.has_words,
            split=cut,
        )


def text_rows(request: TextRows, progress: Progress | None = None) -> Gathered:
    """The rows of texts through a model.

    Raises:
        OptionError: a prompt or a repair where there can be none.
        OtherSpaceError: the repair was fitted for another model, layer or level.
        ShapeError: there are no texts, or too few.
    """
    if request.encoding.prompt and request.options.rows != "sentences":
        raise OptionError("--prompt is for --rows sentences: words and tokens stand in their texts as these are.")
    if request.saved is not None:
        _check_repair(request, request.saved)
    if request.options.rows == "sentences" and not request.every_layer:
        return _one_vector_each(request, progress)
    return _layered(request, progress)


def _one_vector_each(request: TextRows, progress: Progress | None) -> Gathered:
    """A vector per text, as the model's own recipe makes it; only the texts of the sample go through the model."""
    drawn = _drawn(request)
    units = drawn.units
    texts = ListTexts([unit.text for unit in units], request.source.name)
    encoding, saved = replace(request.encoding, limit=None), request.saved
    repaired: Matrix | None = None
    if saved is None:
        source = encoded(texts, encoding, least=1)
    else:
        space = space_like(texts, encoding, saved.provenance, request.folder)
        space.check_fits(saved.repair)
        source = space.before
    vectors = read_vectors(source, len(units), "encoding", progress)
    usable = _usable(vectors, request.source.name)
    if saved is not None and saved.provenance.get("level") == "token":
        repaired = read_vectors(space.after(saved.repair), len(units), "repairing", progress)[usable]
    vectors, units = vectors[usable], [units[i] for i in usable.tolist()]
    after, more = both_sides(vectors, saved, repaired)
    lost = len(texts.texts) - len(units)
    notes = [*drawn.notes, *([f"Not on the map, without a vector: {count(lost, 'text')}."] if lost else [])]
    # What a text becomes is said in full by the source itself: layer, pooling, prompt, truncation.
    notes += [source.note] if source.note and "truncated" in source.note else []
    return Gathered(
        {**request.described, **_shape(source, drawn.total), "row": "sentences"},
        _numbers(request, units),
        [Space(RAW if saved is not None else "texts", vectors, np.arange(len(units))), *after],
        drawn.total,
        whole_texts([unit.text for unit in units]),
        _labels(units),
        words=drawn.words,
        notes=[*notes, *more, *getattr(source, "notes", ())],
    )


def _layered(request: TextRows, progress: Progress | None) -> Gathered:
    """Rows of some layers or of all, out of one pass over the texts."""
    encoder = open_encoder(request.encoding.model, request.encoding.loading)
    saved = request.saved
    if saved is not None:
        known = EncoderIdentity(encoder.name, encoder.fingerprint())
        load(request.folder, dim=encoder.dim, encoder=known if saved.provenance.get("encoder") else None)
    layers = _layers(request, encoder)
    drawn, selection = None, request.selection
    if not request.has_words:
        drawn = _drawn(request)
        texts = [request.encoding.prompt + unit.text for unit in drawn.units]
        selection = Selection(ListTexts(texts, request.source.name), keep_duplicates=True)
    how = Layered(
        request.options.rows,
        request.encoding.pooling or "mean",
        request.options.most_points if drawn is None else len(drawn.units),
        request.options.seed,
        request.words if request.has_words else WordList(),
        request.encoding.batch_size,
    )
    found = layered_rows(encoder, layers, selection, how, progress)
    first = found.spaces[0]
    after, more = both_sides(first.vectors, saved)
    after = [replace(one, places=first.places[one.places]) for one in after]
    told = {**request.described, "kind": f"texts through {encoder.name}", "dimensions": encoder.dim, "dtype": "float32"}
    whole = replace(
        found,
        told={**told, "row": request.options.rows, "rows": found.total if drawn is None else drawn.total},
        spaces=[replace(first, name=RAW), *after] if saved is not None else found.spaces,
        notes=[*found.notes, *more, *([encoder.note] if encoder.note else [])],
    )
    if drawn is None:
        return whole
    own = [drawn.units[i] for i in found.rows.tolist()]
    return replace(
        whole,
        rows=_numbers(request, own),
        total=drawn.total,
        texts=whole_texts([unit.text for unit in own]),
        labels=_labels(own),
        words=drawn.words,
        notes=[*drawn.notes, *whole.notes],
    )


def _layers(request: TextRows, encoder: Encoder) -> list[tuple[int, ...]]:
    wanted = request.encoding.layer
    if request.every_layer:
        return [(layer,) for layer in range(encoder.layers)]
    if wanted is None and request.saved is not None and request.saved.provenance.get("encoder"):
        wanted = request.saved.provenance["layer"]
    return [parse_layers(-1 if wanted is None else wanted, encoder.layers)]


def _check_repair(request: TextRows, saved: Saved) -> None:
    """Refuse a repair that was not fitted on what the rows are."""
    from uncone.verbs.repaired_spaces import check_fitted

    if request.every_layer:
        raise OptionError("--repair is for the layer it was fitted on, and --layer all shows others: leave one out.")
    known = saved.provenance
    check_fitted(known, layer=request.encoding.layer, pooling=request.encoding.pooling)
    if not known.get("encoder") or request.options.rows == "sentences":
        return  # fitted on vectors: the user knows of what
    if known.get("level") != "token" or request.options.rows != "tokens":
        wanted = "tokens" if known.get("level") == "token" else "sentences"
        raise OtherSpaceError(
            f"{os.fspath(request.folder)} was fitted at {known.get('level')} level, and --rows {request.options.rows} "
            f"shows another space. Try --rows {wanted}."
        )


@dataclass(frozen=True)
class _Drawn:
    """The texts that are shown, in their order, of `total`; the words of the list that stand in any; what to say."""

    units: list[Unit]
    total: int
    words: WordList
    notes: list[str]


def _drawn(request: TextRows) -> _Drawn:
    """The texts with the smallest hashes of their numbers, and those that hold words of the list."""
    held: list[Unit] = []
    listed: list[list[Unit]] = [[] for _ in range(len(request.words))]
    selection = request.selection
    for unit in selection.read():
        _keep(held, unit, request.options.most_points, request.options.seed)
        for place in request.words.contained(unit.text) if listed else ():
            _keep(listed[place], unit, OF_EACH, request.options.seed)
    sample = _smallest(held, request.options.most_points, request.options.seed)
    there = {word for word, place in request.words.places.items() if listed[place]}
    words, notes = request.words.known(there, request.source.name)
    more = [unit for some in listed for unit in _smallest(some, OF_EACH, request.options.seed)]
    shown = {unit.number: unit for unit in [*sample, *more]}
    notes = [*notes, *beside_note(len(sample), len(shown))]
    return _Drawn([shown[number] for number in sorted(shown)], selection.tally.taken, words, notes)


def _keep(held: list[Unit], unit: Unit, most: int, seed: int) -> None:
    held.append(unit)
    if len(held) >= 2 * most + 1024:
        held[:] = _smallest(held, most, seed)


def _smallest(units: list[Unit], points: int, seed: int) -> list[Unit]:
    numbers = np.array([unit.number for unit in units], np.int64)
    return [units[i] for i in hash_sample(numbers, points, seed).tolist()]


def _numbers(request: TextRows, units: Sequence[Unit]) -> IntVector:
    """The rows that the texts come from; where these are cut into sentences, the numbers of those."""
    return np.array([unit.number if request.options.split else unit.row for unit in units], np.int64)


def _labels(units: Sequence[Unit]) -> list[str] | None:
    if all(unit.label is None for unit in units):
        return None
    return [unit.label or "" for unit in units]


def _shape(source: Source, rows: int) -> dict[str, Any]:
    return {"kind": source.kind, "rows": rows, "dimensions": source.dim, "dtype": source.dtype}


def _usable(vectors: Matrix, name: str) -> IntVector:
    usable = np.flatnonzero(np.isfinite(vectors).all(axis=1) & vectors.any(axis=1))
    if not len(usable):
        raise NoUsableRowsError(f"{name}: the model gives none of the {count(len(vectors), 'text')} a vector.")
    return usable
