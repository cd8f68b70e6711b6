"""Texts as a source of vectors: one per text, one per subword, or one pooled from repaired subwords."""

from __future__ import annotations

import copy
import itertools
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from uncone.data.bags import bag_means
from uncone.data.batch import IntVector, Matrix
from uncone.data.source import Rows, Source
from uncone.data.texts.selection import Unit
from uncone.data.texts.texts import TextSource
from uncone.encoders.batching import TOKENS, budgeted, pools
from uncone.encoders.encoder import Encoder, Passage, Window, model_files, unknown_share
from uncone.encoders.pooling import Pooling
from uncone.encoders.rows.rows import Laid, RowRule
from uncone.encoders.rows.tokens import TokenSource, TokenWeights, Weigh, token_names
from uncone.encoders.static import WordPassages
from uncone.errors import OptionError, ShapeError

__all__ = [
    "EncodedTexts",
    "ModelTexts",
    "RepairedTexts",
    "TokenRows",
    "Transform",
    "check_count",
    "check_weighted",
    "taken_texts",
]

_POOL = 1024
_LIMIT = 1 << 14  # tokens whose vectors are in memory at once; a single text may have more

Transform = Callable[[Matrix], Matrix]
Encode = Callable[[Sequence[str]], tuple[Matrix, NDArray[np.bool_]]]
"""From texts to their vectors (n, d), and which texts were truncated."""


class _TextVectors(Source):
    """One vector per text, in blocks. A text without a vector gives a row of NaN, which is counted as bad."""

    texts: TextSource
    limit: int | None
    least: int = 2
    """Texts that there have to be: a cosine takes two, a repair is applied to one."""
    n_truncated: int = 0
    """Texts that the last reading cut to what the model takes."""

    def over(self, texts: TextSource) -> Self:
        """The vectors of some of the texts, by the same model, which is prepared for all of them."""
        other = copy.copy(self)
        other.texts, other.limit, other.least = texts, None, 1
        return other

    def with_texts(self, texts: TextSource) -> Self:
        other = copy.copy(self)
        other.texts, other.limit, other.least, other.name = texts, None, 2, texts.name
        return other

    def unknown_share(self) -> float:
        """The share of the letters of the texts that the model has no token for."""
        return 0.0

    def prompted(self) -> Iterator[str]:
        """What a model has to be prepared for: the texts with their prompt, or nothing."""
        return iter(())

    def prepare(self) -> None:
        """Called before the first text is encoded."""

    @abstractmethod
    def with_model(self, model: Any) -> Self:  # noqa: ANN401 - an encoder or a pipeline
        """The same through another copy of the model; None, to be sent to a worker that has one."""

    @abstractmethod
    def describe(self, truncated: int) -> str:
        """The note, if this many texts were truncated."""

    def _rows(self, blocks: Iterable[tuple[Sequence[Unit], Matrix, int]]) -> Iterator[Rows]:
        truncated = read = 0
        for units, vectors, cut in blocks:
            truncated, read = truncated + cut, read + len(units)
            labels = None if units[0].label is None else [unit.label or "" for unit in units]
            yield Rows(vectors, [unit.text for unit in units], labels)
        self.n_truncated, self.note = truncated, self.describe(truncated)
        check_count(self.name, read, self.least)


class ModelTexts(_TextVectors):
    """Texts that a model encodes, pool by pool, so that a cache or a journal can stand in for it."""

    model: str
    """The model as the user named it."""
    files: Sequence[Path] = ()
    """The files that the model was read from."""
    map_pools: Callable[..., Iterator[Any]] = staticmethod(map)
    """Applies a function to pools and keeps their order: `map`, or one that does it in threads."""

    @abstractmethod
    def pools(self) -> Iterator[list[Unit]]:
        """The texts in their order, in pools that are encoded together."""

    @abstractmethod
    def encode(self, texts: Sequence[str]) -> tuple[Matrix, NDArray[np.bool_]]:
        """The vectors (n, d) of texts that are not blank, and which of these texts were truncated."""

    @abstractmethod
    def identity(self) -> dict[str, Any]:
        """What the vectors depend on beside text and files, as plain JSON; with `layer` and `pooling`."""

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Rows]:
        self.prepare()
        yield from self.rows_of(self.encode)

    def rows_of(self, encode: Encode) -> Iterator[Rows]:
        """The rows, with vectors from `encode`: our own, or one that knows a way around it."""
        return self._rows(self.map_pools(lambda pool: (pool, *self._vectors(pool, encode)), self.pools()))

    def _vectors(self, pool: Sequence[Unit], encode: Encode) -> tuple[Matrix, int]:
        vectors: Matrix = np.full((len(pool), self.dim), np.nan, np.float32)
        places = [i for i, unit in enumerate(pool) if unit.text.strip()]
        if not places:
            return vectors, 0
        vectors[places], cut = encode([pool[i].text.strip() for i in places])
        return vectors, int(cut.sum())


class _EncoderTexts(_TextVectors):
    """Texts through an encoder; of several layers the mean is taken, long texts are cut to what the model takes."""

    _kind = "texts through {}"

    def __init__(
        self,
        texts: TextSource,
        encoder: Encoder,
        pooling: Pooling,
        batch_size: int | None = None,
        limit: int | None = None,
    ) -> None:
        self.texts, self.encoder, self.pooling = texts, encoder, pooling
        self.batch_size, self.limit = batch_size, limit
        self.name, self.kind, self.dtype = texts.name, self._kind.format(encoder.name), "float32"
        self.dim, self.rows = encoder.dim, None
        self.note = self.describe(0)
        self._prepared = False

    def over(self, texts: TextSource) -> Self:
        other = super().over(texts)
        other._prepared = True
        return other

    def with_model(self, model: Any) -> Self:  # noqa: ANN401
        other = copy.copy(self)
        other.encoder = model
        return other

    def with_texts(self, texts: TextSource) -> Self:
        other = super().with_texts(texts)
        # What one is prepared for, the other doesn't know.
        other.encoder, other._prepared = copy.copy(self.encoder), False
        return other

    def unknown_share(self) -> float:
        self.prepare()
        texts = [unit.text for unit in taken_texts(self.texts, self.limit)]
        passages = self.encoder.passages(texts, Window(cut=True))
        return unknown_share([cut[0] for cut in passages if cut], self.encoder.unknown_token)

    def prompted(self) -> Iterator[str]:
        return (self.pooling.prompt + unit.text for unit in taken_texts(self.texts, self.limit))

    def prepare(self) -> None:
        if not self._prepared:
            self.encoder.prepare(self.prompted())
            self._prepared = True

    def pools(self) -> Iterator[list[Unit]]:
        return pools(taken_texts(self.texts, self.limit), _POOL)

    def describe(self, truncated: int) -> str:
        return self.pooling.describe(self.encoder, truncated)


class EncodedTexts(_EncoderTexts, ModelTexts):
    """The vectors of texts, made as they are read; `separate` layers stand side by side instead of being averaged."""

    def __init__(
        self,
        texts: TextSource,
        encoder: Encoder,
        pooling: Pooling,
        batch_size: int | None = None,
        limit: int | None = None,
        *,
        separate: bool = False,
    ) -> None:
        super().__init__(texts, encoder, pooling, batch_size, limit)
        self.model, self.files, self.separate = encoder.name, model_files(encoder), separate
        self.dim *= len(pooling.layers) if separate else 1
        self.rule = RowRule(rows="sentences", pooling=pooling.kind)

    def encode(self, texts: Sequence[str]) -> tuple[Matrix, NDArray[np.bool_]]:
        vectors: Matrix = np.zeros((len(texts), self.dim), np.float32)
        passages = self.encoder.passages([self.pooling.prompt + text for text in texts], Window(cut=True))
        laid = [replace(next(self.rule.lay(windows, self.encoder)), group=i) for i, windows in enumerate(passages)]
        # A passage without tokens stays zero: no word of it is known.
        for batch in budgeted([entry for entry in laid if entry.passage.length], TOKENS, self.batch_size):
            vectors[[entry.group for entry in batch]] = self._pool(batch)
        return vectors, np.array([not entry.passage.whole for entry in laid], np.bool_)

    def _pool(self, batch: Sequence[Laid]) -> Matrix:
        layout = self.rule.layout(batch, lambda name: 0)
        states = self.encoder.encode([laid.passage for laid in batch])
        pool = states.longest if self.pooling.kind == "max" else states.pooled
        layers = [pool(layer, layout.tokens, layout.starts) for layer in self.pooling.layers]
        parts = layers if self.separate else [self.pooling.average(layers)]
        return np.hstack([np.asarray(self.pooling.finished(vectors), np.float32) for vectors in parts])

    def identity(self) -> dict[str, Any]:
        return {
            "level": "sentence",
            **self.pooling.values,
            "window": self.encoder.window,
            "special": self.rule.keeps_special,
            "encoder": self.encoder.kind,
            "dtype": str(getattr(getattr(self.encoder, "model", None), "dtype", "float32")),
            "fingerprint": self.encoder.fingerprint(),
            **({"separate": True} if self.separate else {}),
        }


class _Tokens(NamedTuple):
    """Some texts that follow each other, the number of tokens of each, the vectors of all, and how many were cut."""

    units: Sequence[Unit]
    sizes: IntVector
    vectors: Matrix
    truncated: int
    passages: Sequence[Passage | None]


class _TokenTexts(_EncoderTexts):
    """Texts whose tokens are encoded: without those that the tokenizer adds, with those of a prompt, as in pooling."""

    def _runs(self) -> Iterator[_Tokens]:
        """All texts, in runs under a budget of tokens."""
        self.prepare()
        for pool in self.pools():
            passages = self._passages(pool)
            start = total = 0
            for stop, passage in enumerate(passages):
                length = 0 if passage is None else passage.length
                if stop > start and total + length > _LIMIT:
                    yield self._run(pool[start:stop], passages[start:stop])
                    start, total = stop, 0
                total += length
            yield self._run(pool[start:], passages[start:])

    def _passages(self, pool: Sequence[Unit]) -> list[Passage | None]:
        """What the model reads of each text; None if that is nothing."""
        prompted = [self.pooling.prompt + unit.text for unit in pool if unit.text]
        cut = iter(self.encoder.passages(prompted, Window(cut=True)) if prompted else [])
        firsts = [next(cut)[0] if unit.text else None for unit in pool]
        return [passage if passage is not None and passage.length else None for passage in firsts]

    def _run(self, units: Sequence[Unit], passages: Sequence[Passage | None]) -> _Tokens:
        sizes = np.array([0 if passage is None else int((~passage.special).sum()) for passage in passages], np.int64)
        vectors: Matrix = np.empty((int(sizes.sum()), self.encoder.dim), np.float32)
        first = np.cumsum(sizes) - sizes
        nothing = np.empty(0, np.int64)
        laid = [
            Laid(passage, nothing, nothing, [], tokens=np.flatnonzero(~passage.special), group=i)
            for i, passage in enumerate(passages)
            if passage is not None and sizes[i]
        ]
        for batch in budgeted(laid, TOKENS, self.batch_size):
            states, start = self._states(batch), 0
            for entry in batch:
                place, size = int(first[entry.group]), len(entry.tokens)
                vectors[place : place + size] = states[start : start + size]
                start += size
        cut = sum(passage is not None and not passage.whole for passage in passages)
        return _Tokens(units, sizes, vectors, cut, passages)

    def _states(self, batch: Sequence[Laid]) -> Matrix:
        """The vectors of the tokens of a batch, passage by passage, averaged over the layers."""
        lengths = np.array([entry.passage.length for entry in batch])
        bases = np.cumsum(lengths) - lengths
        tokens = np.concatenate([entry.tokens + base for entry, base in zip(batch, bases, strict=True)])
        states = self.encoder.encode([entry.passage for entry in batch])
        each = np.arange(len(tokens))
        return self.pooling.average([states.pooled(layer, tokens, each) for layer in self.pooling.layers])


class TokenRows(_TokenTexts, TokenSource):
    """Every subword of the texts as a row, in reading order; of `pooling` only layers and prompt count.

    A text without tokens gives no row. Nothing is cached: there are too many, and they are read once or twice.
    """

    _kind = "tokens through {}"

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Rows]:
        truncated = read = 0
        for run in self._runs():
            truncated, read = truncated + run.truncated, read + len(run.vectors)
            if len(run.vectors):
                yield Rows(run.vectors)
        self.note, self.rows = self.describe(truncated), read
        if read < 2:
            raise ShapeError(f"{self.name} has {read} tokens; we need at least 2. Add texts.")

    @property
    def has_words(self) -> bool:  # type: ignore[override]
        return isinstance(self.encoder, WordPassages)

    def counts(self) -> Counter[str]:
        self.prepare()
        numbers: dict[str, int] = {}
        counts: Counter[int] = Counter()
        for pool in self.pools():
            counts.update(token_names(self.encoder, self._passages(pool), numbers))
        return Counter({name: counts[number] for name, number in numbers.items()})

    def text_means(self, weigh: Weigh) -> Iterator[Matrix]:
        plain = replace(self.pooling, kind="mean", normalize=False)
        sizes = (self.batch_size, self.limit, 1)
        source = RepairedTexts(self.texts, self.encoder, plain, None, None, *sizes, weigh=weigh)
        yield from (np.asarray(rows.vectors) for rows in source.read())

    def describe(self, truncated: int) -> str:
        note = super().describe(truncated)
        return note.replace(f"{self.pooling.kind} pooling", "every subword token", 1).replace(", normalized", "", 1)


class RepairedTexts(_TokenTexts):
    """One vector per text: its tokens go through `transform`, (m, d) to (m, `dim`), and are pooled afterwards.

    Without a transform it is the raw row over the same tokens: what a repair at token level is compared with. With
    `weigh`, each token is multiplied by its weight first.

    Raises:
        OptionError: pooling by CLS, which is a special token; or weights with pooling other than the mean.
    """

    _kind = "texts through {}, token by token"

    def __init__(
        self,
        texts: TextSource,
        encoder: Encoder,
        pooling: Pooling,
        transform: Transform | None = None,
        dim: int | None = None,
        batch_size: int | None = None,
        limit: int | None = None,
        least: int = 2,
        *,
        weigh: Weigh | None = None,
    ) -> None:
        if pooling.kind == "cls":
            raise OptionError(
                "At token level special tokens are left out, so there is no CLS vector. "
                "Try --pooling mean, or --level sentence."
            )
        if weigh is not None:
            check_weighted(pooling)
        super().__init__(texts, encoder, pooling, batch_size, limit)
        self.transform, self.least, self.weigh = transform, least, weigh
        self.dim = encoder.dim if dim is None else dim

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Rows]:
        weights = None if self.weigh is None else TokenWeights(self.encoder, self.weigh)
        return self._rows((run.units, self._pool(run, weights), run.truncated) for run in self._runs())

    def _pool(self, run: _Tokens, weights: TokenWeights | None) -> Matrix:
        vectors: Matrix = np.full((len(run.units), self.dim), np.nan, np.float32)
        filled = np.flatnonzero(run.sizes)
        if len(filled):
            tokens = run.vectors
            if weights is not None:
                tokens *= weights.of(run.passages)[:, None]
            tokens = self._transform(tokens)
            vectors[filled] = self.pooling.finished(_bags(tokens, run.sizes[filled], self.pooling.kind))
        return vectors

    def _transform(self, vectors: Matrix) -> Matrix:
        result = vectors if self.transform is None else np.asarray(self.transform(vectors))
        if result.shape != (len(vectors), self.dim):
            raise ShapeError(
                f"The repair made {result.shape} of {vectors.shape} tokens; we need {(len(vectors), self.dim)}. "
                "Was it fitted on this model and layer?"
            )
        return result

    def describe(self, truncated: int) -> str:
        return f"{super().describe(truncated)} of subword tokens without the special ones"


def check_weighted(pooling: Pooling) -> None:
    """Refuse weights of tokens with a pooling other than the mean.

    Raises:
        OptionError: it is another.
    """
    if pooling.kind != "mean":
        raise OptionError(
            f"sif is a weighted mean of tokens, and --pooling {pooling.kind} takes no mean. Use --pooling mean."
        )


def check_count(name: str, texts: int, least: int) -> None:
    """Say that there are too few texts.

    Raises:
        ShapeError: there are.
    """
    if texts < least:
        count = f"{texts} text" if texts == 1 else f"{texts or 'no'} texts"
        raise ShapeError(f"{name} has {count}; we need at least {least}. Add some.")


def taken_texts(texts: TextSource, limit: int | None) -> Iterator[Unit]:
    """The first `limit` texts, or all, without the space around them."""
    for number, text, label in itertools.islice(texts.read(), limit):
        yield Unit(number, number, text.strip(), label)


def _bags(tokens: NDArray[Any], sizes: IntVector, pooling: str) -> Matrix:
    ends = np.cumsum(sizes)
    starts = ends - sizes
    if pooling == "last":
        return np.asarray(tokens[ends - 1])
    if pooling == "max":
        return np.asarray(np.maximum.reduceat(tokens, starts, axis=0))
    return bag_means(tokens, np.arange(len(tokens)), starts)
