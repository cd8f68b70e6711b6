"""Every layer of a model in one pass: texts are encoded in batches, statistics updated, vectors dropped."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from uncone.data.batch import Batch, IntVector, Matrix, Vector
from uncone.data.texts.selection import Selection, Unit, text_key
from uncone.encoders.batching import FIRST, budgeted, pools, text_parts
from uncone.encoders.encoder import Encoder, States, Window
from uncone.encoders.rows.row_facts import RowFacts, facts_of, joined_facts
from uncone.encoders.rows.rows import IGNORED, Laid, Layout, RowRule
from uncone.encoders.survey import Edge
from uncone.errors import ModelError
from uncone.run.checkpoint import Checkpoint, Saved
from uncone.run.fold import cut
from uncone.run.job import Progress, Range
from uncone.run.layer_sums import LayerSums, PassTally, of_prefix
from uncone.run.memory import Room, return_freed
from uncone.run.threads import Steps, Turns, cores, one_blas_thread, one_torch_thread
from uncone.stats.norms import SINK
from uncone.stats.statistic import Bundle, State

if TYPE_CHECKING:
    from uncone.run.parts import Cluster

__all__ = ["LayerPass", "LayerResult", "Reader"]

_PILOT_ROWS = 2_000
_PARTS = 64
"""Parts of the texts, at most: each has a state of its own, and all of them go to the driver."""
_ALL = 1 << 62
"""More pools than there are."""


@dataclass(frozen=True)
class LayerResult:
    """The statistics of every layer, and what was met.

    `sinks` were left out of every layer, `uncovered` words have no token and so no vector.
    """

    layers: Sequence[Bundle]
    tally: PassTally
    sinks: IntVector
    uncovered: int

    @property
    def rows(self) -> int:
        """Rows that have a vector: those of layer 0, and the sinks left out of it."""
        return int(self.layers[0]["units"].n) + int(self.sinks[0])


@dataclass
class LayerPass:
    """How to go through the texts.

    They are read in pools, each sorted by length and cut into batches. Some pools are a part; every part is measured
    from nothing, and parts are merged in their order. So it does not matter which machine measures which part. The same
    texts give the same batches, and no statistic leaves anything waiting between two of them: so a run that was
    interrupted goes on at the batch where it stood, and ends with the same digits.

    `edges` are those that a survey has found; without them all texts are one part. Batches are encoded in so many
    `threads`, one core in each; 0 is one for every core, as far as there is memory.
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
    """How many identical texts there are, by `text_key`, for those that repeat; None when all differ."""
    edges: Sequence[Edge] = ()
    threads: int = 0

    def run(
        self,
        statistic: Bundle,
        checkpoint: Checkpoint | None = None,
        saved: Saved | None = None,
        progress: Progress | None = None,
        cluster: Cluster | None = None,
    ) -> LayerResult:
        """Measure every layer with a copy of `statistic`, from the beginning or from what was saved."""
        state = _Running.begin(statistic, self.encoder.layers) if saved is None else _Running.go_on(statistic, saved)
        if self.no_sinks and state.bounds is None:
            state.bounds = self.bounds() if cluster is None else cluster.bounds(self)
        parts = [part for part in self.parts if part[1] > state.pool]
        if cluster is not None:
            state.drop_part(parts)
        _report(progress, self.edges[state.pool].texts if state.pool else 0)
        if cluster is None:
            self._run_here(parts, state, checkpoint, progress)
        else:
            sums_of_parts = cluster.parts(self, statistic, state.bounds, parts, progress)
            for (_, stop), sums in zip(parts, sums_of_parts, strict=True):
                state.add_part(sums, stop)
                if checkpoint is not None and checkpoint.due:
                    checkpoint.save(*state.saved())
        if checkpoint is not None and checkpoint.saved:
            checkpoint.save(*state.saved())  # so that a report that cannot be written costs nothing
        total = state.total
        return LayerResult(total.layers, total.tally, total.sinks, total.uncovered + total.tally.unread_words)

    @property
    def parts(self) -> list[Range]:
        """The pools of each part: as many parts as there are pools, and never more than `_PARTS`."""
        n_pools = len(self.edges) - 1
        return cut(0, n_pools, -(-n_pools // _PARTS)) if n_pools > 0 else [(0, _ALL)]

    def _run_here(
        self, parts: Sequence[Range], state: _Running, checkpoint: Checkpoint | None, progress: Progress | None
    ) -> None:
        reader = Reader(self)
        with self._turns() as turns:
            for start, stop in parts:
                first = max(start, state.pool)
                part = state.part = state.part or LayerSums.of_nothing(state.statistic, self.encoder.layers)
                for number, pool in enumerate(reader.pools(first, stop), first):
                    state.begin_pool(number)
                    laid = self._lay(pool, reader, part.tally)
                    reported = 0
                    for batch, share, ends in self._measure(laid, part, state.bounds, turns, state.batch):
                        if ends:  # what is open is not saved
                            state.batch = batch
                            if checkpoint is not None and checkpoint.due:
                                turns.finish()
                                checkpoint.save(*state.saved())
                        _report(progress, int(len(pool) * share) - reported)
                        reported = int(len(pool) * share)
                    _report(progress, len(pool) - reported)
                turns.finish()
                state.add_part(part, stop)

    def sums(self, statistic: Bundle, reader: Reader, part: Range, bounds: Vector | None) -> LayerSums:
        """The sums of a part."""
        sums = LayerSums.of_nothing(statistic, self.encoder.layers)
        with self._turns() as turns:
            for pool in reader.pools(*part):
                for _ in self._measure(self._lay(pool, reader, sums.tally), sums, bounds, turns):
                    pass
            turns.finish()
        return sums

    @contextmanager
    def _turns(self) -> Iterator[Turns]:
        """Threads for as many batches at once as there is memory for."""
        room = self.room.planned // 4 // max(self.room.tokens * self.encoder.bytes_per_token, 1)
        with one_blas_thread(), Turns(self.encoder.layers, min(self.threads or cores(), max(room, 2))) as turns:
            yield turns
            return_freed()

    def _measure(
        self, laid: Sequence[Laid], sums: LayerSums, bounds: Vector | None, turns: Turns, after: int = 0
    ) -> Iterator[tuple[int, float, bool]]:
        """Measure the batches of a pool from one on.

        Gives the number of batches so far, the share of the pool in them, and whether no text goes on in the next.
        """
        return_freed()
        # What is planned, without the batches under way: there has to be room for them.
        most = self.room.planned - (turns.threads + 1) * self.room.tokens * self.encoder.bytes_per_token
        encoded = 0
        for place, (batch, going_on, ends) in enumerate(self._batches(laid), 1):
            encoded += len(batch)
            if place <= after:
                continue
            self._give(batch, sums, bounds, turns, going_on=going_on)
            return_freed(above=most)
            if going_on and ends:
                turns.give(lambda: [bundle.close for bundle in sums.layers])
            yield place, encoded / len(laid), ends

    def facts(self, rows: IntVector) -> RowFacts:
        """What is known of some rows, by their numbers, in order: the texts are laid out again, and not encoded."""
        reader, parts = Reader(self), []
        for pool in reader.pools():
            laid = self._lay(pool, reader, PassTally())
            if laid:
                parts.append(facts_of(laid, self.rule.layout(laid, lambda _: IGNORED), rows))
        return joined_facts(parts)

    def _lay(self, pool: Sequence[Unit], reader: Reader, tally: PassTally) -> list[Laid]:
        """The passages of a pool that have rows, numbered in the order of the texts."""
        rows = []
        for unit, passages in zip(pool, self.encoder.passages([unit.text for unit in pool], self.window), strict=True):
            tally.windowed += len(passages) > 1
            tally.truncated += self.window.cut and not passages[-1].whole
            key = text_key(unit.text)
            is_copy = key in reader.earlier
            reader.pass_over([unit])
            offset = n_counted = 0
            for laid in self.rule.lay(passages, self.encoder):
                tally.cut_words += laid.cut
                n_counted += laid.n + laid.cut
                if laid.n == 0 or laid.passage.length == 0:
                    tally.empty += 1
                    tally.unread_words += laid.n if self.rule.has_words else 0
                    continue
                laid.group, laid.unit, laid.offset, laid.first_row = unit.number, key, offset, reader.rows + offset
                if self.copies is not None:
                    laid.copies, laid.distinct = self.copies.get(key, 1), -1 if is_copy else reader.distinct_rows
                offset += laid.n
                rows.append(laid)
            # Rows are numbered as a survey counts them, so that the numbers before a part are known.
            reader.rows += n_counted
            reader.distinct_rows += 0 if is_copy else n_counted
        return rows

    def _batches(self, laid: Sequence[Laid]) -> Iterator[tuple[list[Laid], bool, bool]]:
        """Batches; whether the texts of each may go on in the next; and whether none does."""
        for part, several in text_parts(laid, self.room.tokens, self.batch_size):
            batches = budgeted(part, self.room.tokens, self.batch_size)
            for place, batch in enumerate(batches):
                yield batch, several, not several or place == len(batches) - 1

    def _give(
        self, batch: Sequence[Laid], sums: LayerSums, bounds: Vector | None, turns: Turns, *, going_on: bool
    ) -> None:
        """Let a thread encode a batch and add it to the sums."""
        layout = self.rule.layout(batch, self.numbers, going_on=going_on)
        sums.uncovered += sum(laid.n for laid in batch) - layout.n
        if layout.n == 0:
            return
        layout.keys.group_bags, layout.keys.word_bags  # noqa: B018 - made here, once, for all layers
        passages = [laid.passage for laid in batch]

        def job() -> Steps:
            states = self.encoder.encode(passages)
            return [partial(self._add, states, layout, sums, bounds, layer) for layer in range(len(sums.layers))]

        turns.give(job)

    def _add(self, states: States, layout: Layout, sums: LayerSums, bounds: Vector | None, layer: int) -> None:
        """Add a batch to the statistics of a layer."""
        bound = np.inf if bounds is None else float(bounds[layer])
        dropped, bad = _update(sums.layers[layer], self._batch(states, layer, layout), bound)
        sums.sinks[layer] += dropped
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

    def bounds(self) -> Vector:
        """Ten times the median norm of every layer, from the first rows of the texts: beyond, a vector is a sink."""
        norms: list[list[Vector]] = [[] for _ in range(self.encoder.layers)]
        rows, reader = 0, Reader(self)
        batches = (
            batch
            for pool in reader.pools()
            for batch in budgeted(self._lay(pool, reader, PassTally()), self.room.tokens, self.batch_size)
        )
        with one_blas_thread(), one_torch_thread():
            for batch in batches:
                layout = self.rule.layout(batch, self.numbers)
                if layout.n == 0:
                    continue
                states = self.encoder.encode([laid.passage for laid in batch])
                for layer, norms_of_layer in enumerate(norms):
                    norms_of_layer.append(Batch.of(self._rows(states, layer, layout)).norms)
                rows += layout.n
                if rows >= _PILOT_ROWS:
                    break
        medians = [float(np.median(np.concatenate(part))) if part else np.inf for part in norms]
        return SINK * np.array(medians)


class Reader:
    """The pools of the texts from any one on; it goes on where it stands if it can, else it begins again.

    It knows what stands before a pool: `rows`, `distinct_rows`, and of the texts that repeat those met `earlier`.
    """

    def __init__(self, run: LayerPass) -> None:
        self.run = run
        self._begin()

    def _begin(self) -> None:
        self._stream = pools(self.run.selection.read(), first=FIRST)
        self._next = self.rows = self.distinct_rows = 0
        self.earlier: set[int] = set()

    def pools(self, start: int = 0, stop: int = _ALL) -> Iterator[list[Unit]]:
        """Pools by their numbers."""
        if start < self._next:
            self._begin()
        while self._next < stop and (pool := next(self._stream, None)) is not None:
            if self.run.edges:
                _, self.rows, self.distinct_rows = self.run.edges[self._next]
            self._next += 1
            if self._next > start:
                yield pool
            else:
                self.pass_over(pool)

    def pass_over(self, units: Sequence[Unit]) -> None:
        """Remember those of these texts that repeat."""
        if self.run.copies is not None:
            keys = (text_key(unit.text) for unit in units)
            self.earlier.update(key for key in keys if key in self.run.copies)


@dataclass
class _Running:
    """Where a pass stands: parts before this `pool` are in the total, and so many batches of it are in the part."""

    statistic: Bundle
    total: LayerSums
    part: LayerSums | None = None
    bounds: Vector | None = None
    pool: int = 0
    batch: int = 0
    at_pool: PassTally = field(default_factory=PassTally)
    """What was met in the part before the pool, which is laid out again after an interruption."""

    @classmethod
    def begin(cls, statistic: Bundle, layers: int) -> _Running:
        return cls(statistic, LayerSums.of_nothing(statistic, layers))

    @classmethod
    def go_on(cls, statistic: Bundle, saved: Saved) -> _Running:
        total, part = (of_prefix(saved.arrays, f"{name}.") for name in ("total", "part"))
        return cls(
            statistic,
            LayerSums.resumed(statistic, total),
            LayerSums.resumed(statistic, part) if part else None,
            saved.arrays.get("bounds"),
            **saved.position,
        )

    def begin_pool(self, number: int) -> None:
        """Go on to a pool; to the one where the pass stands already, after the batches that are in the part."""
        assert self.part is not None
        if number != self.pool:
            self.pool, self.batch = number, 0
        self.at_pool = replace(self.part.tally)

    def drop_part(self, parts: Sequence[Range]) -> None:
        """Go back to the beginning of the part: other machines measure whole ones."""
        if self.part is not None:
            self.part, self.pool, self.batch = None, parts[0][0], 0

    def add_part(self, part: LayerSums, stop: int) -> None:
        """Add a part that is complete: the next begins at the pool `stop`."""
        self.total.absorb(part)
        self.part, self.pool, self.batch = None, stop, 0

    def saved(self) -> tuple[dict[str, Any], State]:
        """The place and the arrays to go on from."""
        sums = {"total": self.total.snapshot()}
        if self.part is not None:
            sums["part"] = replace(self.part, tally=self.at_pool).snapshot()
        arrays: State = {f"{name}.{key}": value for name, state in sums.items() for key, value in state.items()}
        if self.bounds is not None:
            arrays["bounds"] = self.bounds
        return {"pool": self.pool, "batch": self.batch}, arrays


def _update(bundle: Bundle, batch: Batch, bound: float) -> tuple[int, int]:
    """Add the rows of one layer; returns how many were left out as sinks, and how many are not numbers."""
    sinks = batch.norms > bound
    bundle.update(batch.where(~sinks) if sinks.any() else batch)
    bundle.finish()
    return int(sinks.sum()), len(batch.bad)


def _report(progress: Progress | None, texts: int) -> None:
    if progress is not None and texts:
        progress(texts)
