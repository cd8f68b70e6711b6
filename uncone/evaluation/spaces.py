"""Vectors of distinct texts: each text goes through the model once, and every repair reuses its vectors."""

from __future__ import annotations

import os
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uncone.data.bags import bag_means
from uncone.data.batch import IntVector, Matrix, Vector
from uncone.data.cache import VectorCache
from uncone.data.source import BLOCK, Rows, Source
from uncone.data.texts.selection import Unit
from uncone.data.texts.texts import ListTexts, TextSource
from uncone.encoders.cached import CachedTexts
from uncone.encoders.encoder import Encoder, Passage
from uncone.encoders.open import Loading, open_encoder, pooled_encoder, sentence_source
from uncone.encoders.pooling import Pooling
from uncone.encoders.rows.rows import LEVELS, Laid
from uncone.encoders.rows.tokens import TokenSource, Weigh, token_names
from uncone.encoders.static import WordPassages
from uncone.encoders.text_vectors import EncodedTexts, ModelTexts, RepairedTexts, check_weighted
from uncone.errors import OptionError
from uncone.repairs.repair import Progress, Repair

__all__ = ["TOKEN_BYTES", "Sentences", "Settings", "Space", "Tokens", "open_spaces", "pooled_runs"]

TOKEN_BYTES = 1 << 30
"""Token vectors beyond this many bytes are stored in a temporary file; gathering them can take twice as much."""

_MAPPED = 1 << 16  # tokens that are repaired at once
_Change = Callable[[Matrix, IntVector], Matrix]
"""From the vectors of tokens, and their places in the table, to what is pooled."""


@dataclass(frozen=True)
class Settings:
    """Settings of an evaluation: how texts become vectors, what methods are fitted on, and the sampling.

    `layer` is a layer, "1,-1" for the mean of two, "all" for each of them by itself, or a list of such: each gives
    rows of its own. For `layer` and `pooling`, None means the model's own recipe. Inductive methods are fitted on
    `fit_on`: a corpus such as snli, a file, `train` (STS-B and SICK), or strings. `protocols` applies to methods that
    name none. `data` is the folder of named corpora. `gmm` includes the mixture of Gaussians in the standard methods.
    `seeds` repeats methods with a random start; `cache` keeps the vectors of texts. `partition` also measures the
    partition isotropy I(W) of the vectors that are repaired.
    """

    layer: str | int | Sequence[str | int] | None = None
    pooling: str | None = None
    level: str = "sentence"
    prompt: str = ""
    loading: Loading | None = None
    cache: VectorCache | None = None
    fit_on: str | os.PathLike[str] | Sequence[str] = "snli"
    protocols: Sequence[str] = ("inductive",)
    data: str | os.PathLike[str] | None = None
    gmm: bool = True
    partition: bool = False
    seeds: int = 1
    replicates: int = 1000
    seed: int = 0
    progress: Progress | None = None

    def __post_init__(self) -> None:
        if self.level not in LEVELS:
            raise OptionError(f"There is no level {self.level!r}; choose from {' and '.join(LEVELS)}.")
        if self.seeds < 1 or self.replicates < 1:
            raise OptionError(f"{self.seeds} seeds and {self.replicates} replicates: we need at least 1 of each.")
        if not 0 <= self.seed <= (1 << 32) - self.seeds:
            raise OptionError(f"A seed is 0 or more and under {1 << 32:,}, not {self.seed}.")

    def report(self, step: str, n: int, total: int | None) -> None:
        """Report that `n` more of `total` are done."""
        if self.progress is not None:
            self.progress(step, n, total)


class _TableRows(Source):
    """Rows of a table by index, with repeats; a row is copied only when it is read."""

    def __init__(self, table: NDArray[np.float32], places: IntVector, name: str) -> None:
        self.table, self.places = table, places
        self.name, self.kind, self.dtype = name, "array", "float32"
        self.dim, self.rows = table.shape[1], len(places)
        self.random_access = True

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Rows]:
        """The rows from start to stop."""
        stop = len(self.places) if stop is None else stop
        for first in range(start, stop, BLOCK):
            yield Rows(np.take(self.table, self.places[first : min(first + BLOCK, stop)], axis=0))


class _TokenTable(_TableRows, TokenSource):
    """The tokens of some texts in a table, with what each is called and where it stands."""

    def __init__(self, space: Tokens, places: IntVector, name: str) -> None:
        tokens, self.sizes = space._tokens(places)
        super().__init__(space.matrix, tokens, name)
        self.space = space
        self.has_words = isinstance(space.encoder, WordPassages)

    def counts(self) -> Mapping[str, int]:
        counts = np.bincount(self.space.numbers[self.places], minlength=len(self.space.names))
        return {name: count for name, count in zip(self.space.names, counts.tolist(), strict=True) if count}

    def text_means(self, weigh: Weigh) -> Iterator[Matrix]:
        weights = self.space.weights(weigh)
        yield self.space.means(self.places, self.sizes, lambda rows, tokens: rows * weights[tokens][:, None])


class Space(ABC):
    """Distinct texts at one layer with one pooling; lookups ignore surrounding white space."""

    level: str

    def __init__(
        self, texts: Sequence[str], dim: int, identity: dict[str, Any], note: str, encoder: Encoder | None
    ) -> None:
        self.texts, self.dim, self.identity, self.note, self.encoder = texts, dim, identity, note, encoder
        self.layer, self.pooling = str(identity["layer"]), str(identity["pooling"])
        self._places = {text: place for place, text in enumerate(texts)}

    def places(self, texts: Iterable[str]) -> IntVector:
        """The indices of the texts among the distinct ones.

        Raises:
            OptionError: one of them was not encoded.
        """
        try:
            return np.array([self._places[text.strip()] for text in texts], np.int64)
        except KeyError as error:
            raise OptionError(f"The text {error.args[0][:60]!r} is not among those that were encoded.") from error

    @abstractmethod
    def rows(self, texts: Iterable[str], name: str) -> Source:
        """The vectors to fit a repair on: those of these texts, or of their tokens, in order."""

    @abstractmethod
    def vectors(self, texts: Iterable[str], repair: Repair | None = None) -> Matrix:
        """One vector per text, repaired; NaN for a text without any."""


class Sentences(Space):
    """One vector per text, (n, d) in all."""

    level = "sentence"

    def __init__(
        self, texts: Sequence[str], matrix: Matrix, identity: dict[str, Any], note: str, encoder: Encoder | None = None
    ) -> None:
        super().__init__(texts, matrix.shape[1], identity, note, encoder)
        self.matrix = matrix

    def rows(self, texts: Iterable[str], name: str) -> Source:
        """The vectors of these texts."""
        return _TableRows(self.matrix, self.places(texts), name)

    def vectors(self, texts: Iterable[str], repair: Repair | None = None) -> Matrix:
        """One vector per text, repaired."""
        vectors: Matrix = self.matrix[self.places(texts)]
        return vectors if repair is None else repair.map(vectors)


class Tokens(Space):
    """The vectors of all subwords (m, d), special tokens left out; those of text i are starts[i] to starts[i + 1].

    They are repaired one by one, and pooled afterwards. `spans` (m, 2) tells where each stands in its text, `numbers`
    (m,) which of the `names` it has.
    """

    level = "token"

    def __init__(
        self,
        texts: Sequence[str],
        matrix: Matrix,
        sizes: Sequence[int],
        spans: NDArray[np.int64],
        pooling: Pooling,
        encoder: Encoder,
        note: str = "",
        names: tuple[Sequence[str], IntVector] = ((), np.empty(0, np.int64)),
    ) -> None:
        identity = {**pooling.values, "fingerprint": encoder.fingerprint()}
        super().__init__(texts, matrix.shape[1], identity, note, encoder)
        self.recipe, self.matrix, self.spans = pooling, matrix, spans
        self.names, self.numbers = names
        self.starts = np.concatenate([[0], np.cumsum(np.asarray(sizes, np.int64))]).astype(np.int64)

    def rows(self, texts: Iterable[str], name: str) -> Source:
        """The vectors of the tokens of these texts."""
        return _TokenTable(self, self.places(texts), name)

    def weights(self, weigh: Weigh) -> Vector:
        """The weight of every token (m,)."""
        return np.array([weigh(name) for name in self.names], np.float32)[self.numbers]

    def vectors(self, texts: Iterable[str], repair: Repair | None = None) -> Matrix:
        """One vector per text, pooled from repaired tokens."""
        places = self.places(texts)
        tokens, sizes = self._tokens(places)
        return self._pooled(tokens, sizes, repair)

    def words(self, texts: Sequence[str], spans: Sequence[tuple[int, int]], repair: Repair | None = None) -> Matrix:
        """The mean of the tokens that overlap each span of characters; NaN where there are none."""
        tokens = []
        for text, place, (start, end) in zip(texts, self.places(texts).tolist(), spans, strict=True):
            lead = len(text) - len(text.lstrip())
            first, last = self.starts[place : place + 2].tolist()
            own = self.spans[first:last]
            tokens.append(first + np.flatnonzero((own[:, 0] < end - lead) & (own[:, 1] > start - lead)))
        sizes = np.array([len(places) for places in tokens], np.int64)
        return self._pooled(np.concatenate(tokens), sizes, repair)

    def _tokens(self, places: IntVector) -> tuple[IntVector, IntVector]:
        """The tokens of the texts at these places, text by text, and how many each has."""
        sizes = self.starts[places + 1] - self.starts[places]
        before = np.cumsum(sizes) - sizes
        return np.repeat(self.starts[places] - before, sizes) + np.arange(int(sizes.sum())), sizes

    def _pooled(self, tokens: IntVector, sizes: IntVector, repair: Repair | None) -> Matrix:
        if repair is None:
            return self.recipe.finished(self.means(tokens, sizes, lambda rows, _: rows, kind=self.recipe.kind))
        repaired = repair.map
        if not repair.has_weights:
            change: _Change = lambda rows, _: repaired(rows)  # noqa: E731 - two short ones
        else:
            check_weighted(self.recipe)
            weights = self.weights(repair.token_weight)
            change = lambda rows, places: repaired(rows * weights[places][:, None])  # noqa: E731
        kind, dim = self.recipe.kind, repair._n_features_out
        return self.recipe.finished(self.means(tokens, sizes, change, dim, kind))

    def means(
        self, tokens: IntVector, sizes: IntVector, change: _Change, dim: int | None = None, kind: str = "mean"
    ) -> Matrix:
        """Runs of `sizes` tokens, changed and pooled; NaN for a run of none."""
        vectors: Matrix = np.full((len(sizes), self.dim if dim is None else dim), np.nan, np.float32)
        ends = np.cumsum(sizes)
        first = 0
        while first < len(sizes):
            # As many texts as fit into a block, at least one.
            begin = int(ends[first] - sizes[first])
            last = max(int(np.searchsorted(ends, begin + _MAPPED, side="right")), first + 1)
            places = tokens[begin : int(ends[last - 1])]
            rows: Matrix = np.take(self.matrix, places, axis=0)
            filled = first + np.flatnonzero(sizes[first:last])
            if len(filled):
                vectors[filled] = pooled_runs(change(rows, places), sizes[filled], kind)
            first = last
        return vectors


def pooled_runs(tokens: NDArray[Any], sizes: IntVector, pooling: str, table: Matrix | None = None) -> Matrix:
    """One row per run of `sizes` tokens: of vectors, or of places in a table (mean only)."""
    ends = np.cumsum(sizes)
    if pooling == "last":
        return np.asarray(tokens[ends - 1])
    if pooling == "max":
        return np.asarray(np.maximum.reduceat(tokens, ends - sizes, axis=0))
    if table is not None:
        return bag_means(table, tokens, ends - sizes)
    return bag_means(tokens, np.arange(len(tokens)), ends - sizes)


def open_spaces(model: str | os.PathLike[str] | Encoder, texts: Iterable[str], settings: Settings) -> list[Space]:
    """The vectors of the distinct texts at each requested layer; several layers come from one pass.

    Raises:
        ModelError: the model cannot be used.
        OptionError: there is no such layer or pooling.
    """
    distinct = list(dict.fromkeys(text.strip() for text in texts))
    requested = settings.layer
    layers = [requested] if requested is None or isinstance(requested, str | int) else list(requested)
    if settings.level == "token" or "all" in layers or len(layers) > 1:
        model = open_encoder(model, settings.loading) if layers != [None] else model
    if "all" in layers:
        assert isinstance(model, Encoder)
        layers = [layer for choice in layers for layer in (range(model.layers) if choice == "all" else [choice])]
    if settings.level == "token":
        return [_tokens(model, distinct, settings, layer) for layer in layers]
    if len(layers) == 1:
        return [_sentences(model, distinct, settings, layers[0])]
    assert isinstance(model, Encoder)
    return _by_layer(model, distinct, settings, [layer for layer in layers if layer is not None])


def _sentences(
    model: str | os.PathLike[str] | Encoder, texts: Sequence[str], settings: Settings, layer: str | int | None
) -> Space:
    source = sentence_source(
        ListTexts(texts),
        model,
        layer=layer,
        pooling=settings.pooling,
        prompt=settings.prompt,
        loading=settings.loading,
        cache=settings.cache,
        least=1,
    )
    model_texts = source.source if isinstance(source, CachedTexts) else source
    assert isinstance(model_texts, ModelTexts)
    matrix: Matrix = np.empty((len(texts), source.dim), np.float32)
    start = 0
    for rows in source.read():
        matrix[start : start + len(rows.vectors)] = rows.vectors
        start += len(rows.vectors)
        settings.report("encoding", len(rows.vectors), len(texts))
    return Sentences(texts, matrix, model_texts.identity(), source.note or "", getattr(model_texts, "encoder", None))


class _ManyLayers(EncodedTexts):
    """The vectors of several layers side by side, from one pass."""

    def __init__(self, texts: TextSource, encoder: Encoder, poolings: Sequence[Pooling]) -> None:
        super().__init__(texts, encoder, poolings[0])
        self.each = poolings
        self.dim = encoder.dim * len(poolings)

    def _pool(self, batch: Sequence[Laid]) -> Matrix:
        layout = self.rule.layout(batch, lambda name: 0)
        states = self.encoder.encode([laid.passage for laid in batch])
        pool = states.longest if self.pooling.kind == "max" else states.pooled
        numbers = sorted({layer for pooling in self.each for layer in pooling.layers})
        rows = {layer: pool(layer, layout.tokens, layout.starts) for layer in numbers}
        means = [np.mean([rows[layer] for layer in pooling.layers], axis=0, dtype=np.float32) for pooling in self.each]
        parts = [pooling.finished(np.asarray(mean)) for pooling, mean in zip(self.each, means, strict=True)]
        return np.asarray(np.concatenate(parts, axis=1), np.float32)


def _by_layer(encoder: Encoder, texts: Sequence[str], settings: Settings, layers: Sequence[str | int]) -> list[Space]:
    poolings = [
        pooled_encoder(encoder, layer=layer, pooling=settings.pooling, prompt=settings.prompt)[1] for layer in layers
    ]
    sources = [EncodedTexts(ListTexts(texts), encoder, pooling) for pooling in poolings]
    caches = [] if settings.cache is None else [CachedTexts(source, settings.cache).space for source in sources]
    joint = _ManyLayers(ListTexts(texts), encoder, poolings)
    joint.prepare()
    matrices: list[Matrix] = [np.full((len(texts), encoder.dim), np.nan, np.float32) for _ in layers]
    first = cut_texts = 0
    for pool in joint.pools():
        places = np.array([first + i for i, unit in enumerate(pool) if unit.text], np.int64)
        names = [texts[place] for place in places.tolist()]
        # A row holds one number more: whether the text was truncated.
        parts: list[Matrix] = [np.full((len(names), encoder.dim + 1), np.nan, np.float32) for _ in layers]
        is_cached = np.zeros(len(names), np.bool_)
        if caches and names:
            cached = [space.find(names) for space in caches]
            is_cached = np.logical_and.reduce([hits for hits, _ in cached])
            parts = [np.array(vectors) for _, vectors in cached]
        new = [name for name, old in zip(names, is_cached, strict=True) if not old]
        if new:
            vectors, cut = joint.encode(new)
            for at, split in enumerate(np.split(vectors, len(layers), axis=1)):
                parts[at][~is_cached] = np.column_stack([split, cut])
                if caches:
                    caches[at].put(new, parts[at][~is_cached])
        for matrix, part in zip(matrices, parts, strict=True):
            matrix[places] = part[:, :-1]
        cut_texts += int((parts[0][:, -1] > 0).sum())
        first += len(pool)
        settings.report("encoding", len(pool), len(texts))
    return [
        Sentences(texts, matrix, source.identity(), source.describe(cut_texts), encoder)
        for source, matrix in zip(sources, matrices, strict=True)
    ]


class _TokenReader(RepairedTexts):
    """The tokens of texts run by run, with their number per text and their spans."""

    def __init__(self, texts: TextSource, encoder: Encoder, pooling: Pooling) -> None:
        super().__init__(texts, encoder, pooling, least=1)
        self.sizes: list[int] = []
        self.spans: list[NDArray[np.int64]] = []
        self.names: dict[str, int] = {}
        self.numbers: list[NDArray[np.int64]] = []

    def blocks(self) -> Iterator[tuple[int, Matrix]]:
        """How many texts, and the vectors of their tokens."""
        truncated = 0
        for run in self._runs():
            self.sizes += run.sizes.tolist()
            truncated += run.truncated
            yield len(run.units), run.vectors
        self.note = self.describe(truncated)

    def _passages(self, pool: Sequence[Unit]) -> list[Passage | None]:
        passages = super()._passages(pool)
        self.numbers.append(np.array(token_names(self.encoder, passages, self.names), np.int64))
        for passage in passages:
            if passage is not None:
                own = np.column_stack([passage.starts, passage.ends])[~passage.special]
                self.spans.append(own - len(self.pooling.prompt))
        return passages


def _tokens(
    model: str | os.PathLike[str] | Encoder, texts: Sequence[str], settings: Settings, layer: str | int | None
) -> Space:
    encoder, pooling = pooled_encoder(
        model, layer=layer, pooling=settings.pooling, prompt=settings.prompt, loading=settings.loading
    )
    reader = _TokenReader(ListTexts(texts), encoder, pooling)
    blocks: list[Matrix] = []
    total = 0
    with tempfile.TemporaryFile(suffix=".f32") as file:
        for count, vectors in reader.blocks():
            total += len(vectors)
            blocks.append(vectors)
            if total * encoder.dim * 4 > TOKEN_BYTES:
                file.writelines(block.tobytes() for block in blocks)
                blocks = []
            settings.report("encoding", count, len(texts))
        file.flush()
        if file.tell():
            file.writelines(block.tobytes() for block in blocks)
            file.flush()
            matrix: Matrix = np.memmap(file, np.float32, "r", shape=(total, encoder.dim))  # it outlives the file
        else:
            matrix = np.concatenate([np.empty((0, encoder.dim), np.float32), *blocks])
    spans = np.concatenate([np.empty((0, 2), np.int64), *reader.spans])
    names = list(reader.names), np.concatenate([np.empty(0, np.int64), *reader.numbers])
    return Tokens(texts, matrix, reader.sizes, spans, pooling, encoder, reader.note or "", names)
