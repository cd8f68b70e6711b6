"""Texts at token level: a vector for every subword, or one per text pooled from tokens that were repaired first."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uncone.data.arrays.bags import bag_means
from uncone.data.batch import IntVector, Matrix
from uncone.data.source import Rows, Source
from uncone.data.texts.selection import Unit
from uncone.data.texts.texts import TextSource
from uncone.encoders.batching import TOKENS, budgeted, pools
from uncone.encoders.encoder import Encoder, Passage, Window
from uncone.encoders.rows.rows import Laid
from uncone.encoders.source import Pooling, check_count, taken_texts
from uncone.errors import OptionError, ShapeError

__all__ = ["RepairedTexts", "TokenRows", "Transform"]

Transform = Callable[[Matrix], Matrix]

_POOL = 1024
_MOST = 1 << 14  # tokens whose vectors are in memory at once; a single text may have more


@dataclass(frozen=True)
class _Run:
    """Some texts that follow each other, how many tokens each has, and the vectors of all of them, in their order."""

    units: Sequence[Unit]
    sizes: IntVector
    vectors: Matrix
    truncated: int


class _TokenTexts(Source):
    """Texts whose tokens are encoded: those of the tokenizer are left out, those of a prompt are in, as in pooling.

    Several layers are averaged. A long text is cut to what the model takes, as it is for one vector per text.
    """

    kind_of: str

    def __init__(
        self,
        texts: TextSource,
        encoder: Encoder,
        pooling: Pooling,
        batch_size: int | None = None,
        limit: int | None = None,
    ) -> None:
        self.texts = texts
        self.encoder = encoder
        self.pooling = pooling
        self.batch_size = batch_size
        self.limit = limit
        self.name = texts.name
        self.kind = self.kind_of.format(encoder.name)
        self.dtype = "float32"
        self.dim = encoder.dim
        self.rows = None
        self.note = self._said(0)
        self._ready = False

    @abstractmethod
    def _said(self, truncated: int) -> str:
        """The note, when so many texts were truncated."""

    def _runs(self) -> Iterator[_Run]:
        """All texts, in runs under a budget of tokens."""
        if not self._ready:
            units = taken_texts(self.texts, self.limit)
            self.encoder.prepare(self.pooling.prompt + unit.text for unit in units)
            self._ready = True
        for pool in pools(taken_texts(self.texts, self.limit), _POOL):
            passages = self._passages(pool)
            start = total = 0
            for stop, passage in enumerate(passages):
                length = 0 if passage is None else passage.length
                if stop > start and total + length > _MOST:
                    yield self._run(pool[start:stop], passages[start:stop])
                    start, total = stop, 0
                total += length
            yield self._run(pool[start:], passages[start:])

    def _passages(self, pool: Sequence[Unit]) -> list[Passage | None]:
        """What the model sees of each text; None where that is nothing."""
        places = [i for i, unit in enumerate(pool) if unit.text]
        prompted = [self.pooling.prompt + pool[i].text for i in places]
        found: list[Passage | None] = [None] * len(pool)
        seen = self.encoder.passages(prompted, Window(cut=True)) if prompted else []
        for place, passages in zip(places, seen, strict=True):
            found[place] = passages[0] if passages[0].length else None
        return found

    def _run(self, units: Sequence[Unit], passages: Sequence[Passage | None]) -> _Run:
        sizes = np.array([0 if one is None else int((~one.special).sum()) for one in passages], np.int64)
        vectors: Matrix = np.empty((int(sizes.sum()), self.encoder.dim), np.float32)
        first = np.cumsum(sizes) - sizes
        nothing = np.empty(0, np.int64)
        laid = [
            Laid(passage, nothing, nothing, [], tokens=np.flatnonzero(~passage.special), group=i)
            for i, passage in enumerate(passages)
            if passage is not None and sizes[i]
        ]
        for batch in budgeted(laid, TOKENS, self.batch_size):
            found, start = self._states(batch), 0
            for one in batch:
                place, size = int(first[one.group]), len(one.tokens)
                vectors[place : place + size] = found[start : start + size]
                start += size
        return _Run(units, sizes, vectors, sum(one is not None and not one.whole for one in passages))

    def _states(self, batch: Sequence[Laid]) -> Matrix:
        """The vectors of the tokens of a batch, passage by passage, averaged over the layers."""
        lengths = np.array([one.passage.length for one in batch])
        bases = np.cumsum(lengths) - lengths
        tokens = np.concatenate([one.tokens + base for one, base in zip(batch, bases, strict=True)])
        states = self.encoder.encode([one.passage for one in batch])
        found = [states.pooled(layer, tokens, np.arange(len(tokens))) for layer in self.pooling.layers]
        return found[0] if len(found) == 1 else np.asarray(np.mean(found, axis=0, dtype=np.float32))


class TokenRows(_TokenTexts):
    """Every subword of the texts as a row, in reading order; of `pooling` only layers and prompt count.

    A text without tokens gives no row. Nothing is cached: there are too many, and they are read once or twice.
    """

    kind_of = "tokens through {}"

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Rows]:
        truncated = read = 0
        for run in self._runs():
            truncated += run.truncated
            read += len(run.vectors)
            if len(run.vectors):
                yield Rows(run.vectors)
        self.note = self._said(truncated)
        self.rows = read
        if read < 2:
            raise ShapeError(f"{self.name} has {read} tokens; we need at least 2. Add texts.")

    def _said(self, truncated: int) -> str:
        said = self.pooling.said(self.encoder, truncated)
        return said.replace(f"{self.pooling.kind} pooling", "every subword token", 1).replace(", normalized", "", 1)


class RepairedTexts(_TokenTexts):
    """One vector per text: its tokens go through `transform`, (m, d) to (m, `dim`), and are pooled afterwards.

    Without a transform it is the raw row over the same tokens: what a repair at token level is compared with. A blank
    text, and one without tokens, gives a row of NaN.

    Raises:
        OptionError: pooling by CLS, which is a special token.
    """

    kind_of = "texts through {}, token by token"

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
    ) -> None:
        if pooling.kind == "cls":
            raise OptionError(
                "At token level special tokens are left out, so there is no CLS vector. "
                "Try --pooling mean, or --level sentence."
            )
        super().__init__(texts, encoder, pooling, batch_size, limit)
        self.transform = transform
        self.least = least
        self.dim = encoder.dim if dim is None else dim

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Rows]:
        truncated = read = 0
        for run in self._runs():
            truncated += run.truncated
            read += len(run.units)
            labels = None if run.units[0].label is None else [unit.label or "" for unit in run.units]
            yield Rows(self._pooled(run), [unit.text for unit in run.units], labels)
        self.note = self._said(truncated)
        check_count(self.name, read, self.least)

    def _pooled(self, run: _Run) -> Matrix:
        vectors: Matrix = np.full((len(run.units), self.dim), np.nan, np.float32)
        filled = np.flatnonzero(run.sizes)
        if len(filled):
            tokens = self._transformed(run.vectors)
            vectors[filled] = self.pooling.finished(_bags(tokens, run.sizes[filled], self.pooling.kind))
        return vectors

    def _transformed(self, vectors: Matrix) -> Matrix:
        found = vectors if self.transform is None else np.asarray(self.transform(vectors))
        if found.shape != (len(vectors), self.dim):
            raise ShapeError(
                f"The repair made {found.shape} of {vectors.shape} tokens, where we need {(len(vectors), self.dim)}. "
                "Was it fitted on this model and layer?"
            )
        return found

    def _said(self, truncated: int) -> str:
        return f"{self.pooling.said(self.encoder, truncated)} of subword tokens without the special ones"


def _bags(tokens: NDArray[Any], sizes: IntVector, pooling: str) -> Matrix:
    ends = np.cumsum(sizes)
    starts = ends - sizes
    if pooling == "last":
        return np.asarray(tokens[ends - 1])
    if pooling == "max":
        return np.asarray(np.maximum.reduceat(tokens, starts, axis=0))
    return bag_means(tokens, np.arange(len(tokens)), starts)
