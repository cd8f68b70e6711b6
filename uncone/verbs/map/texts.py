"""Texts through a model as rows of a map: a vector for every text, word or token, of one layer or of all."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from uncone.analysis.layers.settings import kinds_of
from uncone.analysis.number_format import count
from uncone.analysis.projections.pictures import Space
from uncone.analysis.projections.results import Texts
from uncone.analysis.projections.word_list import OF_EACH, WordList, bare
from uncone.data.batch import IntVector, Matrix
from uncone.data.texts.selection import Selection, Unit
from uncone.data.texts.texts import ListTexts, TextSource
from uncone.encoders.batching import TOKENS
from uncone.encoders.encoder import Encoder, EncoderIdentity, Passage, States, Window
from uncone.encoders.open import open_encoder
from uncone.encoders.pooling import parse_layers
from uncone.encoders.rows.rows import IGNORED, RowRule
from uncone.encoders.survey import survey
from uncone.errors import NoUsableRowsError, OptionError, OtherSpaceError, ShapeError
from uncone.repairs.saving import Saved, load
from uncone.run.layers import LayerPass, LayerResult
from uncone.run.measure import step_progress
from uncone.run.memory import GIB, Room
from uncone.stats.hashing import hash_sample
from uncone.stats.occurrences import Occurrences
from uncone.stats.row_sample import RowSample, cutoff_for
from uncone.stats.statistic import Bundle, Statistic
from uncone.stats.unusable import Unusable
from uncone.verbs.map.rows import RAW, MapRows, added_note, repaired_space, whole_texts
from uncone.verbs.options.map import MapOptions
from uncone.verbs.spaces.encoding import Encoding, encoded, is_paragraphs, read_vectors
from uncone.verbs.spaces.repaired import check_fitted, space_like

__all__ = ["LayerMeans", "TextRows", "text_rows"]

_MOST_BYTES = 4 * GIB
"""Memory that the vectors of a map may take."""


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
        """Whether a point is a part of a text."""
        return self.options.rows in ("words", "tokens")

    @property
    def every_layer(self) -> bool:
        """Whether each layer is a picture of its own."""
        return self.encoding.layer == "all"

    @property
    def selection(self) -> Selection:
        """The texts to read: for words, as `layers` reads them; else every text that is not blank."""
        split = self.has_words and is_paragraphs(self.source) if self.options.split is None else self.options.split
        return Selection(
            self.source,
            limit=self.encoding.limit,
            sample=self.options.sample,
            seed=self.options.seed,
            keep_duplicates=not self.has_words,
            split=split,
        )


def text_rows(request: TextRows) -> MapRows:
    """The points of texts through a model.

    Raises:
        OptionError: a prompt or a repair that does not apply.
        OtherSpaceError: the repair was fitted for another model, layer or level.
        ShapeError: there are no texts, or too few.
    """
    if request.encoding.prompt and request.options.rows != "sentences":
        raise OptionError("--prompt is for --rows sentences. Words and tokens are encoded without a prompt.")
    if request.saved is not None:
        _check_repair(request, request.saved)
    if request.options.rows == "sentences" and not request.every_layer:
        return _text_vectors(request)
    return _layer_vectors(request)


def _text_vectors(request: TextRows) -> MapRows:
    """A vector per text, by the model's own recipe; only the texts of the sample go through the model."""
    sample, progress = _sampled_texts(request), request.options.progress
    texts = ListTexts([unit.text for unit in sample.units], request.source.name)
    encoding, saved = replace(request.encoding, limit=None), request.saved
    repaired: Matrix | None = None
    if saved is None:
        source = encoded(texts, encoding, least=1)
    else:
        space = space_like(texts, encoding, saved.provenance, request.folder)
        space.check_fits(saved.repair)
        source = space.before
    vectors = read_vectors(source, len(sample.units), "encoding", progress)
    usable = np.flatnonzero(np.isfinite(vectors).all(axis=1) & vectors.any(axis=1))
    missing = len(vectors) - len(usable)
    if not len(usable):
        name, n = request.source.name, count(len(vectors), "text")
        raise NoUsableRowsError(f"{name}: the model gives no vector for any of the {n}.")
    if saved is not None and saved.provenance.get("level") == "token":
        repaired = read_vectors(space.after(saved.repair), len(vectors), "repairing", progress)[usable]
    vectors, units = vectors[usable], [sample.units[i] for i in usable.tolist()]
    after, repair_notes = repaired_space(vectors, saved, repaired)
    notes = [*sample.notes, *([f"Not on the map, without a vector: {count(missing, 'text')}."] if missing else [])]
    # The source itself describes in full how a text becomes a vector: layer, pooling, prompt, truncation.
    notes += [source.note] if source.note and "truncated" in source.note else []
    shape = {"kind": source.kind, "rows": sample.total, "dimensions": source.dim, "dtype": source.dtype}
    return MapRows(
        {**request.described, **shape, "row": "sentences"},
        _numbers(request, units),
        [Space("texts" if saved is None else RAW, vectors, np.arange(len(units))), *after],
        sample.total,
        whole_texts([unit.text for unit in units]),
        _labels(units),
        words=sample.words,
        notes=[*notes, *repair_notes, *getattr(source, "notes", ())],
    )


def _layer_vectors(request: TextRows) -> MapRows:
    """The points of some layers or of all, from one pass over the texts."""
    encoder, saved = open_encoder(request.encoding.model, request.encoding.loading), request.saved
    if saved is not None:
        identity = EncoderIdentity(encoder.name, encoder.fingerprint())
        load(request.folder, dim=encoder.dim, encoder=identity if saved.provenance.get("encoder") else None)
    sample = None if request.has_words else _sampled_texts(request)
    rows = _read_layers(request, encoder, sample)
    first = rows.spaces[0]
    after, repair_notes = repaired_space(first.vectors, saved)
    after = [replace(space, places=first.places[space.places]) for space in after]
    shape = {"kind": f"texts through {encoder.name}", "dimensions": encoder.dim, "dtype": "float32"}
    total = rows.total if sample is None else sample.total
    rows = replace(
        rows,
        described={**request.described, **shape, "row": request.options.rows, "rows": total},
        spaces=rows.spaces if saved is None else [replace(first, name=RAW), *after],
        notes=[*rows.notes, *repair_notes, *([encoder.note] if encoder.note else [])],
    )
    if sample is None:
        return rows
    units = [sample.units[i] for i in rows.rows.tolist()]
    return replace(
        rows,
        rows=_numbers(request, units),
        total=sample.total,
        texts=whole_texts([unit.text for unit in units]),
        labels=_labels(units),
        words=sample.words,
        notes=[*sample.notes, *rows.notes],
    )


def _layers(request: TextRows, encoder: Encoder) -> list[tuple[int, ...]]:
    """The layers of each picture, which are averaged."""
    layer = request.encoding.layer
    if request.every_layer:
        return [(number,) for number in range(encoder.layers)]
    if layer is None and request.saved is not None and request.saved.provenance.get("encoder"):
        layer = request.saved.provenance["layer"]
    return [parse_layers(-1 if layer is None else layer, encoder.layers)]


def _check_repair(request: TextRows, saved: Saved) -> None:
    """Refuse a repair that was fitted on another kind of vectors."""
    if request.every_layer:
        raise OptionError("--repair is for the layer it was fitted on, but --layer all shows others: leave one out.")
    provenance, rows = saved.provenance, request.options.rows
    check_fitted(provenance, layer=request.encoding.layer, pooling=request.encoding.pooling)
    if saved.repair.has_weights and rows != "sentences":
        raise OtherSpaceError(
            f"{os.fspath(request.folder)} weighs tokens before they are pooled, so it has a map of texts alone. Try "
            "--rows sentences."
        )
    if not provenance.get("encoder") or rows == "sentences":
        return  # fitted on vectors of unknown origin
    if provenance.get("level") != "token" or rows != "tokens":
        fitting = "tokens" if provenance.get("level") == "token" else "sentences"
        raise OtherSpaceError(
            f"{os.fspath(request.folder)} was fitted at {provenance.get('level')} level, but --rows {rows} shows "
            f"another space. Try --rows {fitting}."
        )


@dataclass(frozen=True)
class _TextSample:
    """Some of `total` texts, in their order, and the words of the list that they contain."""

    units: list[Unit]
    total: int
    words: WordList
    notes: list[str]


def _sampled_texts(request: TextRows) -> _TextSample:
    """The texts with the smallest hashes of their numbers, and those that contain words of the list."""
    limit, seed = request.options.most_points, request.options.seed
    sample: list[Unit] = []
    by_word: list[list[Unit]] = [[] for _ in range(len(request.words))]
    selection = request.selection
    for unit in selection.read():
        _add(sample, unit, limit, seed)
        for place in request.words.contained(unit.text) if by_word else ():
            _add(by_word[place], unit, OF_EACH, seed)
    sample = _smallest(sample, limit, seed)
    present = {word for word, place in request.words.places.items() if by_word[place]}
    words, notes = request.words.restrict(present, request.source.name)
    listed = [unit for units in by_word for unit in _smallest(units, OF_EACH, seed)]
    by_number = {unit.number: unit for unit in [*sample, *listed]}
    notes = [*notes, *added_note(len(sample), len(by_number))]
    return _TextSample([by_number[number] for number in sorted(by_number)], selection.tally.n_texts, words, notes)


def _add(units: list[Unit], unit: Unit, limit: int, seed: int) -> None:
    units.append(unit)
    if len(units) >= 2 * limit + 1024:
        units[:] = _smallest(units, limit, seed)


def _smallest(units: list[Unit], limit: int, seed: int) -> list[Unit]:
    numbers = np.array([unit.number for unit in units], np.int64)
    return [units[i] for i in hash_sample(numbers, limit, seed).tolist()]


def _numbers(request: TextRows, units: Sequence[Unit]) -> IntVector:
    """The rows that the texts come from; if these are split into sentences, the numbers of the sentences."""
    return np.array([unit.number if request.options.split else unit.row for unit in units], np.int64)


def _labels(units: Sequence[Unit]) -> list[str] | None:
    if all(unit.label is None for unit in units):
        return None
    return [unit.label or "" for unit in units]


def _read_layers(request: TextRows, encoder: Encoder, sample: _TextSample | None) -> MapRows:
    """Words or tokens of the texts, or the sampled texts, at every layer of the map: the same rows at each.

    Raises:
        OptionError: no text contains a word of the list, or so many points need too much memory.
        ShapeError: the texts have no rows.
    """
    options, encoding, layers = request.options, request.encoding, _layers(request, encoder)
    points, words, selection = options.most_points, request.words, request.selection
    if sample is not None:
        texts = [encoding.prompt + unit.text for unit in sample.units]
        selection = Selection(ListTexts(texts, request.source.name), keep_duplicates=True)
        points, words = len(texts), WordList()
    size = 4 * points * len(layers) * encoder.dim
    if size > _MOST_BYTES:
        raise OptionError(
            f"{points:,} points of {count(len(layers), 'layer')} with {encoder.dim} dimensions take "
            f"{size / GIB:.0f} GiB. Use fewer --points, or one --layer."
        )
    rule = RowRule(rows=options.rows, pooling=encoding.pooling or "mean")
    if options.kinds is not None:
        rule = replace(rule, kinds=kinds_of(options.kinds, options.rows))
    window = Window(cut=not rule.has_words)
    view = LayerMeans(encoder, layers)
    view.prepare(unit.text for unit in selection.read())
    reading = step_progress(options.progress, "reading")
    corpus = survey(selection, rule, view, window, reading)
    words, notes = words.restrict({bare(name) for name in corpus.counts}, selection.source.name)
    run = LayerPass(
        view,
        selection,
        rule,
        window,
        Room(TOKENS, points, 0, 0, 0, 0),
        lambda name: words.places.get(bare(name), IGNORED),
        encoding.batch_size,
        edges=corpus.edges,
    )
    # Rows are numbered before words without a token are dropped, so there may be a few less than counted.
    rows = corpus.rows if rule.has_words else corpus.tally.n_texts
    cutoff = cutoff_for(points, rows, options.seed)
    sample_rows = RowSample(view.dim, points, seed=options.seed, cutoff=cutoff, keep_texts=False)
    statistics: dict[str, Statistic] = {"rows": sample_rows, "unusable": Unusable()}
    if n := len(words):
        statistics["occurrences"] = Occurrences(view.dim, followed=range(n), most=OF_EACH, seed=options.seed)
    result = run.run(Bundle(**statistics), progress=step_progress(options.progress, "encoding", corpus.tally.n_texts))
    return _layer_rows(run, result, layers, corpus.counts, words, notes)


def _layer_rows(
    run: LayerPass,
    result: LayerResult,
    layers: Sequence[tuple[int, ...]],
    counts: Mapping[str, int],
    words: WordList,
    notes: Sequence[str],
) -> MapRows:
    by_layer = [_rows_of(bundle) for bundle in result.layers]
    rows = np.unique(np.concatenate([numbers for numbers, _ in by_layer]))
    if not len(rows):
        raise ShapeError(f"{run.selection.source.name} gave no vectors. Add texts.")
    spaces = [
        Space(_space_name(group), vectors, np.searchsorted(rows, numbers), group[0] if len(group) == 1 else None)
        for group, (numbers, vectors) in zip(layers, by_layer, strict=True)
    ]
    unusable, truncated = result.layers[0]["unusable"], result.tally.truncated
    total = unusable.n_read - unusable.bad - unusable.zero
    notes = [*notes, *added_note(result.layers[0]["rows"].sampled.n, len(by_layer[0][0]))]
    if truncated:
        were = "was" if truncated == 1 else "were"
        notes.append(f"{count(truncated, 'text')} {were} cut to the {run.encoder.window} tokens the model takes.")
    if not run.rule.has_words:
        # A text is a row, numbered by its unit.
        return MapRows({}, rows, spaces, total, notes=notes)
    facts = run.facts(rows)
    texts = Texts(facts.sentences, facts.sentence, facts.starts, facts.ends)
    by_text: dict[str, str] = {}
    for unit in run.selection.read():
        if unit.label is not None:
            by_text.setdefault(unit.text, unit.label)
    labels = [by_text.get(facts.sentences[i], "") for i in facts.sentence.tolist()] if by_text else None
    return MapRows({}, rows, spaces, total, texts, labels, facts, counts, words=words, notes=notes)


def _rows_of(bundle: Bundle) -> tuple[IntVector, Matrix]:
    """The numbers and vectors of the sample and of the words beside it, in the order of the rows, each once."""
    sampled, occurrences = bundle["rows"].sampled, bundle.get("occurrences")
    if occurrences is None:
        return sampled.rows, sampled.vectors
    state = occurrences.state()
    new = ~np.isin(state["rows"], sampled.rows)
    rows = np.concatenate([sampled.rows, state["rows"][new]])
    order = np.argsort(rows, kind="stable")
    return rows[order], np.concatenate([sampled.vectors, state["vectors"][new]])[order]


def _space_name(layers: tuple[int, ...]) -> str:
    return f"layer {layers[0]}" if len(layers) == 1 else f"mean of layers {', '.join(map(str, layers))}"


class LayerMeans(Encoder):
    """An encoder whose layer i is the mean of the layers `groups[i]` of another."""

    def __init__(self, encoder: Encoder, groups: Sequence[tuple[int, ...]]) -> None:
        self.inner = encoder
        self.groups = tuple(groups)
        self.name, self.kind, self.dim, self.window = encoder.name, encoder.kind, encoder.dim, encoder.window
        self.note = encoder.note
        self.layers = len(self.groups)
        self.model_bytes, self.bytes_per_token = encoder.model_bytes, encoder.bytes_per_token

    def passages(self, texts: Sequence[str], window: Window) -> list[list[Passage]]:
        """The passages of the encoder."""
        return self.inner.passages(texts, window)

    def encode(self, batch: Sequence[Passage]) -> States:
        """The states of a batch."""
        return _MeanStates(self.inner.encode(batch), self.groups)

    def fingerprint(self) -> str:
        """The fingerprint of the encoder, whatever its layers."""
        return self.inner.fingerprint()

    def prepare(self, texts: Iterable[str]) -> None:
        """Prepare the encoder."""
        self.inner.prepare(texts)

    def token_name(self, token: Any) -> str:  # noqa: ANN401 - an id or a word
        """The name of a token in the encoder."""
        return self.inner.token_name(token)


class _MeanStates(States):
    def __init__(self, inner: States, groups: Sequence[tuple[int, ...]]) -> None:
        self.inner, self.groups = inner, groups

    def pooled(self, layer: int, tokens: IntVector, starts: IntVector) -> Matrix:
        return self._mean(self.inner.pooled, layer, tokens, starts)

    def longest(self, layer: int, tokens: IntVector, starts: IntVector) -> Matrix:
        return self._mean(self.inner.longest, layer, tokens, starts)

    def _mean(
        self, pool: Callable[[int, IntVector, IntVector], Matrix], layer: int, tokens: IntVector, starts: IntVector
    ) -> Matrix:
        states = [pool(number, tokens, starts) for number in self.groups[layer]]
        return states[0] if len(states) == 1 else np.asarray(np.mean(states, axis=0, dtype=np.float32))
