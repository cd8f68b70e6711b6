"""Every layer of a model in one pass: texts are encoded in batches, statistics updated, vectors dropped."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from uncone.data.batch import Batch, IntVector, Matrix, Vector
from uncone.data.texts.selection import Selection, Unit, text_key
from uncone.encoders.batching import FIRST, budgeted, pools, text_parts
from uncone.encoders.encoder import Encoder, States, Window
from uncone.encoders.row_facts import RowFacts, facts_of, joined_facts
from uncone.encoders.rows import IGNORED, Laid, Layout, RowRule
from uncone.errors import ModelError
from uncone.run.checkpoint import Checkpoint, Saved
from uncone.run.memory import Room, return_freed
from uncone.run.threads import Steps, Turns, one_blas_thread
from uncone.stats.norms import SINK
from uncone.stats.statistic import Bundle, State

__all__ = ["LayerPass", "LayerResult", "PassTally"]

_PILOT_ROWS = 2_000

Progress = Callable[[int], None]


@dataclass
class PassTally:
    """What was met on the way: texts and rows; texts cut into windows or truncated; words cut in two or not read."""

    texts: int = 0
    rows: int = 0
    windowed: int = 0
    truncated: int = 0
    cut_words: int = 0
    unread_words: int = 0
    empty: int = 0
    distinct_rows: int = 0
    """Rows of texts that are not copies of one before."""


@dataclass(frozen=True)
class LayerResult:
    """The statistics of every layer, what was met, the number of every text that has rows.

    `sinks` were left out of every layer, `uncovered` words have no token and so no vector.
    """

    layers: Sequence[Bundle]
    tally: PassTally
    units: IntVector
    sinks: IntVector
    uncovered: int

    @property
    def rows(self) -> int:
        """Rows that have a vector: those of layer 0, and the sinks left out of it."""
        return int(self.layers[0]["units"].n) + int(self.sinks[0])


@dataclass
class LayerPass:
    """How to go through the texts.

    They are read in pools, each sorted by length and cut into batches. The same texts give the same batches, and no
    statistic leaves anything waiting between two of them: so a run that was interrupted goes on at the batch where it
    stood, and ends with the same digits.
    """

    encoder: Encoder
    selection: Selection
    rule: RowRule
    window: Window
    room: Room
    numbers: Callable[[str], int]
    batch_size: int | None = None
    no_sinks: bool = False
    copies: Mapping[int, int] | None = None
    """How many identical texts there are, by `text_key`, where texts repeat."""

    def run(
        self,
        statistic: Bundle,
        checkpoint: Checkpoint | None = None,
        saved: Saved | None = None,
        progress: Progress | None = None,
    ) -> LayerResult:
        """Measure every layer with a copy of `statistic`, from the beginning or from what was saved."""
        state = _Running.begin(statistic, self.encoder.layers) if saved is None else _Running.go_on(statistic, saved)
        if self.no_sinks and state.bounds is None:
            state.bounds = self._pilot()
        first_pool, first_batch = state.pool, state.batch
        with one_blas_thread(), Turns(self.encoder.layers) as turns:
            # What is planned, without the batches under way: there has to be room for them.
            most = self.room.planned - (turns.threads + 1) * self.room.tokens * self.encoder.bytes_per_token
            for number, pool in enumerate(pools(self.selection.read(), first=FIRST)):
                if number < first_pool:
                    state.texts.update(self._keys(pool))
                    _report(progress, len(pool))
                    continue
                if number > first_pool:
                    return_freed()
                laid = self._lay(pool, state)
                reported = encoded = 0
                for place, (batch, going_on, ends) in enumerate(self._batches(laid)):
                    if number > first_pool or place >= first_batch:
                        self._measure(batch, state, turns, going_on=going_on)
                        return_freed(above=most)
                        state.pool, state.batch = number, place + 1
                        if going_on and ends:
                            turns.give(lambda: [bundle.close for bundle in state.layers])
                        if ends:  # what is open is not saved
                            _save_when_due(checkpoint, state, turns)
                    encoded += len(batch)
                    _report(progress, len(pool) * encoded // len(laid) - reported)
                    reported = len(pool) * encoded // len(laid)
                _report(progress, len(pool) - reported)
            turns.finish()
        return_freed()
        if checkpoint is not None and checkpoint.saved:
            checkpoint.save(*state.saved())  # so that a report that cannot be written costs nothing
        uncovered = state.uncovered + state.tally.unread_words
        return LayerResult(state.layers, state.tally, np.array(state.units, np.int64), state.sinks, uncovered)

    def facts(self, rows: IntVector) -> RowFacts:
        """What is known of some rows, by their numbers, in order: the texts are laid out again, and not encoded."""
        scratch, parts = _Running.begin(Bundle(), 0), []
        for pool in pools(self.selection.read(), first=FIRST):
            laid = self._lay(pool, scratch)
            if laid:
                parts.append(facts_of(laid, self.rule.layout(laid, lambda _: IGNORED), rows))
        return joined_facts(parts)

    def _lay(self, pool: Sequence[Unit], state: _Running) -> list[Laid]:
        """The passages of a pool that have rows, numbered in the order of the texts."""
        state.at_pool = replace(state.tally)
        tally, rows = state.tally, []
        for unit, passages in zip(pool, self.encoder.passages([unit.text for unit in pool], self.window), strict=True):
            tally.windowed += len(passages) > 1
            tally.truncated += self.window.cut and not passages[-1].whole
            before = tally.rows
            key = text_key(unit.text)
            is_copy, distinct = key in state.texts, tally.distinct_rows
            state.texts.update(self._keys([unit]))
            for laid in self.rule.lay(passages, self.encoder):
                tally.cut_words += laid.cut
                if laid.n == 0 or laid.passage.length == 0:
                    tally.empty += 1
                    tally.unread_words += laid.n if self.rule.has_words else 0
                    continue
                laid.group, laid.first_row, laid.offset = tally.texts, tally.rows, tally.rows - before
                laid.unit = key
                if self.copies is not None:
                    laid.copies, laid.distinct = self.copies[key], -1 if is_copy else distinct
                tally.rows += laid.n
                rows.append(laid)
            tally.distinct_rows += 0 if is_copy else tally.rows - before
            if tally.rows > before:
                state.units.append(unit.number)
                tally.texts += 1
        return rows

    def _keys(self, units: Sequence[Unit]) -> Iterator[int]:
        """What identical texts share, for those that repeat."""
        if self.copies is not None:
            keys = (text_key(unit.text) for unit in units)
            yield from (key for key in keys if self.copies[key] > 1)

    def _batches(self, laid: Sequence[Laid]) -> Iterator[tuple[list[Laid], bool, bool]]:
        """Batches; whether the texts of each may go on in the next; and whether none does."""
        for part, several in text_parts(laid, self.room.tokens, self.batch_size):
            batches = budgeted(part, self.room.tokens, self.batch_size)
            for place, batch in enumerate(batches):
                yield batch, several, not several or place == len(batches) - 1

    def _measure(self, batch: Sequence[Laid], state: _Running, turns: Turns, *, going_on: bool = False) -> None:
        layout = self.rule.layout(batch, self.numbers, going_on=going_on)
        state.uncovered += sum(laid.n for laid in batch) - layout.n
        if layout.n == 0:
            return
        layout.keys.group_bags, layout.keys.word_bags  # noqa: B018 - made here, once, for all layers
        passages = [laid.passage for laid in batch]

        def job() -> Steps:
            states = self.encoder.encode(passages)
            return [partial(self._add, states, layout, state, layer) for layer in range(len(state.layers))]

        turns.give(job)

    def _add(self, states: States, layout: Layout, state: _Running, layer: int) -> None:
        """Add a batch to the statistics of a layer."""
        bound = np.inf if state.bounds is None else float(state.bounds[layer])
        dropped, bad = _update(state.layers[layer], self._batch(states, layer, layout), bound)
        state.sinks[layer] += dropped
        if bad:
            raise ModelError(
                f"{self.encoder.name} returns NaN or infinity at layer {layer}, for {bad:,} of {layout.n:,} "
                "rows. Try --dtype float32, or look at how the model was saved."
            )

    def _batch(self, states: States, layer: int, layout: Layout) -> Batch:
        return Batch.of(self._rows(states, layer, layout), rows=layout.rows, texts=layout.names, keys=layout.keys)

    def _rows(self, states: States, layer: int, layout: Layout) -> Matrix:
        if not self.rule.has_words and self.rule.pooled_as == "max":
            return states.longest(layer, layout.tokens, layout.starts)
        return states.pooled(layer, layout.tokens, layout.starts)

    def _pilot(self) -> Vector:
        """Ten times the median norm of every layer, from the first rows of the texts."""
        norms: list[list[Vector]] = [[] for _ in range(self.encoder.layers)]
        rows, scratch = 0, _Running.begin(Bundle(), self.encoder.layers)
        for batch in self._first_batches(scratch):
            layout = self.rule.layout(batch, self.numbers)
            if layout.n == 0:
                continue
            states = self.encoder.encode([laid.passage for laid in batch])
            for layer, norms_of_layer in enumerate(norms):
                norms_of_layer.append(Batch.of(self._rows(states, layer, layout)).norms)
            rows += layout.n
            if rows >= _PILOT_ROWS:
                break
        return np.array(
            [
                SINK * float(np.median(np.concatenate(norms_of_layer))) if norms_of_layer else np.inf
                for norms_of_layer in norms
            ]
        )

    def _first_batches(self, scratch: _Running) -> Iterator[list[Laid]]:
        for pool in pools(self.selection.read()):
            yield from budgeted(self._lay(pool, scratch), self.room.tokens, self.batch_size)


@dataclass
class _Running:
    """Where a pass stands."""

    layers: list[Bundle]
    tally: PassTally
    units: list[int]
    sinks: IntVector
    bounds: Vector | None = None
    at_pool: PassTally = field(default_factory=PassTally)
    pool: int = 0
    batch: int = 0
    uncovered: int = 0
    texts: set[int] = field(default_factory=set)
    """The keys of the texts so far, where texts repeat."""

    @classmethod
    def begin(cls, statistic: Bundle, layers: int) -> _Running:
        return cls([statistic.empty() for _ in range(layers)], PassTally(), [], np.zeros(layers, np.int64))

    @classmethod
    def go_on(cls, statistic: Bundle, saved: Saved) -> _Running:
        position, arrays = saved.position, saved.arrays
        layers = [statistic.empty() for _ in arrays["sinks"]]
        for number, bundle in enumerate(layers):
            prefix = f"layer{number}."
            bundle.resume({key.removeprefix(prefix): array for key, array in arrays.items() if key.startswith(prefix)})
        bounds = arrays["bounds"] if arrays["bounds"].size else None
        tally, units = PassTally(**position["tally"]), arrays["units"].tolist()
        places = {key: position[key] for key in ("pool", "batch", "uncovered")}
        return cls(layers, tally, units, arrays["sinks"], bounds, **places)

    def saved(self) -> tuple[dict[str, Any], State]:
        """The place and the arrays to go on from: the counts are those before the pool, which is laid out again."""
        arrays: State = {
            f"layer{number}.{key}": value
            for number, bundle in enumerate(self.layers)
            for key, value in bundle.snapshot().items()
        }
        arrays["units"] = np.array(self.units[: self.at_pool.texts], np.int64)
        arrays["sinks"] = self.sinks
        arrays["bounds"] = np.empty(0) if self.bounds is None else self.bounds
        position = {"pool": self.pool, "batch": self.batch, "uncovered": self.uncovered, "tally": asdict(self.at_pool)}
        return position, arrays


def _update(bundle: Bundle, batch: Batch, bound: float) -> tuple[int, int]:
    """Add the rows of one layer; returns how many were left out as sinks, and how many are not numbers."""
    sinks = batch.norms > bound
    bundle.update(batch.where(~sinks) if sinks.any() else batch)
    bundle.finish()
    return int(sinks.sum()), len(batch.bad)


def _save_when_due(checkpoint: Checkpoint | None, state: _Running, turns: Turns) -> None:
    if checkpoint is not None and checkpoint.due:
        turns.finish()
        checkpoint.save(*state.saved())


def _report(progress: Progress | None, texts: int) -> None:
    if progress is not None and texts:
        progress(texts)
