"""Texts as a source of vectors, one per text: so every verb that takes vectors takes texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from uncone.data.batch import Matrix
from uncone.data.selection import Unit
from uncone.data.source import Rows, Source
from uncone.data.texts import TextSource
from uncone.encoders.batching import TOKENS, budgeted, pools
from uncone.encoders.encoder import Encoder, Window
from uncone.encoders.rows import POOLINGS, Laid, RowRule
from uncone.errors import OptionError, ShapeError

__all__ = ["EncodedTexts", "Pooling", "parse_layers"]

_POOL = 1024


@dataclass(frozen=True)
class Pooling:
    """How a text becomes one vector: the mean over `layers` of its tokens pooled as `kind`; perhaps at length one."""

    layers: tuple[int, ...] = (-1,)
    kind: str = "mean"
    normalize: bool = False
    prompt: str = ""

    def __post_init__(self) -> None:
        if self.kind not in POOLINGS:
            raise OptionError(f"There is no pooling {self.kind!r}; there are {', '.join(POOLINGS)}.")


def parse_layers(text: str | int, layers: int) -> tuple[int, ...]:
    """Layer numbers from "12", "-1" or "1,-1"; negative ones count from the end.

    >>> parse_layers("1,-1", 13)
    (1, 12)

    Raises:
        OptionError: not a layer of this model.
    """
    try:
        numbers = [int(part) for part in str(text).split(",")]
    except ValueError as error:
        raise OptionError(f"--layer takes numbers such as 12, -1 or 1,-1, not {text!r}.") from error
    for number in numbers:
        if not -layers <= number < layers:
            raise OptionError(f"There is no layer {number}: the model has layers 0 to {layers - 1} (-1 is the last).")
    return tuple(number % layers for number in numbers)


class EncodedTexts(Source):
    """The vectors of texts, made as they are read. A blank text gives a row of NaN, which is counted as bad."""

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
        self.kind = f"texts through {encoder.name}"
        self.dtype = "float32"
        self.dim = encoder.dim
        self.rows = None
        self.rule = RowRule(rows="sentences", pooling=pooling.kind)
        self.note = self._said(0)
        self._ready = False

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Rows]:
        if not self._ready:
            self.encoder.prepare(self.pooling.prompt + unit.text for unit in self._units())
            self._ready = True
        truncated = read = 0
        for pool in pools(self._units(), _POOL):
            vectors, cut = self._encoded(pool)
            truncated += cut
            read += len(pool)
            labels = None if pool[0].label is None else [unit.label or "" for unit in pool]
            yield Rows(vectors, [unit.text for unit in pool], labels)
        self.note = self._said(truncated)
        if read < 2:
            raise ShapeError(f"{self.name} has {read} text; cosines need at least 2. Add some.")

    def _units(self) -> Iterator[Unit]:
        for row in self.texts.read():
            if self.limit is not None and row.row >= self.limit:
                return
            yield Unit(row.row, row.row, row.text.strip(), row.label)

    def _encoded(self, pool: Sequence[Unit]) -> tuple[Matrix, int]:
        """The vectors of some texts in their order, and how many texts were truncated."""
        vectors: Matrix = np.full((len(pool), self.dim), np.nan, np.float32)
        places = [i for i, unit in enumerate(pool) if unit.text]
        prompted = [self.pooling.prompt + pool[i].text for i in places]
        passages = self.encoder.passages(prompted, Window(cut=True)) if prompted else []
        laid = [
            replace(next(self.rule.lay(one, self.encoder)), group=i) for i, one in zip(places, passages, strict=True)
        ]
        for one in (empty for empty in laid if empty.passage.length == 0):
            vectors[one.group] = 0.0  # no word of it is known
        for batch in budgeted([one for one in laid if one.passage.length], TOKENS, self.batch_size):
            vectors[[one.group for one in batch]] = self._pooled(batch)
        return vectors, sum(not one.passage.whole for one in laid)

    def _pooled(self, batch: Sequence[Laid]) -> Matrix:
        layout = self.rule.layout(batch, lambda name: 0)
        states = self.encoder.encode([laid.passage for laid in batch])
        pool = states.longest if self.pooling.kind == "max" else states.pooled
        found = [pool(layer, layout.tokens, layout.starts) for layer in self.pooling.layers]
        vectors = found[0] if len(found) == 1 else np.mean(found, axis=0, dtype=np.float32)
        if self.pooling.normalize:
            lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
            vectors = vectors / np.where(lengths > 0, lengths, 1)
        return np.asarray(vectors, np.float32)

    def _said(self, truncated: int) -> str:
        layers = ", ".join(map(str, self.pooling.layers))
        parts = [f"{self.encoder.name}, layer {layers}, {self.pooling.kind} pooling"]
        parts += ["normalised"] if self.pooling.normalize else []
        parts += [f"prompt {self.pooling.prompt!r}"] if self.pooling.prompt else []
        parts += [f"{truncated:,} texts truncated to {self.encoder.window} tokens"] if truncated else []
        return ", ".join(parts)
