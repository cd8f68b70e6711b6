"""Threads of this machine: one span for each at a time, or one chunk if the source is read in parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

from uncone.data.source import BLOCK, Rows, Source, regrid
from uncone.run.fold import SPAN, Fold, cut
from uncone.run.job import Job, Progress, Range
from uncone.run.threads import cores, in_order
from uncone.stats.statistic import Statistic

__all__ = ["Threads"]

A = TypeVar("A")
B = TypeVar("B")
R = TypeVar("R")
S = TypeVar("S", bound=Statistic)


@dataclass(frozen=True)
class Threads:
    """So many threads, one BLAS thread each; 0 is one for every core."""

    workers: int = 0

    def groups(self, job: Job[R], groups: Sequence[Sequence[Range]], progress: Progress | None = None) -> Iterator[R]:
        """The result of each group, in order; a range is the work of one thread."""
        every = [chunk for group in groups for chunk in group]
        parts = self._each(lambda chunk: (job.fold(chunk), chunk[1] - chunk[0]), every, progress)
        for group in groups:
            yield job.received(job.join(islice(parts, len(group))))

    def fold(self, job: Fold[S], groups: Sequence[Sequence[Range]], progress: Progress | None = None) -> Iterator[S]:
        """The statistic of each group, in order, with spans as the work of a thread and no bytes between them."""
        every = [chunk for group in groups for chunk in group]
        if self.reads_whole_chunks(job.source, len(every)):
            chunks = self._each(lambda part: (job.chunk(*part), part[1] - part[0]), every, progress)
        else:
            spans = [span for chunk in every for span in cut(*chunk, SPAN)]
            parts = self._each(lambda part: (job.span(*part), part[1] - part[0]), spans, progress)
            chunks = (job.merged(islice(parts, len(cut(*chunk, SPAN)))) for chunk in every)
        for group in groups:
            yield job.merged(islice(chunks, len(group)))

    def reads_whole_chunks(self, source: Source, n_chunks: int) -> bool:
        """Whether each thread reads chunks of its own: of a source that is slow to enter, if there are enough."""
        return not source.random_access and n_chunks >= (self.workers or cores())

    def stream(self, job: Fold[S], progress: Progress | None = None) -> Iterator[S]:
        """The statistic of each span of a source that is read from the beginning, by this thread."""
        return self._each(lambda span: (job.span_of(span[1], span[0]), _n_rows(span[1])), _spans(job.source), progress)

    def _each(self, work: Callable[[A], tuple[B, int]], tasks: Iterable[A], progress: Progress | None) -> Iterator[B]:
        """What `work` makes of each task, in order; it also tells of how many rows."""
        threads = self.workers or cores()
        for part, rows in in_order(work, tasks, threads + 1, threads):
            if progress is not None:
                progress(rows)
            yield part


def _spans(source: Source) -> Iterator[tuple[int, tuple[Rows, ...]]]:
    blocks = (Rows(block.vectors.copy(), block.texts, block.labels) for block in regrid(source.read(), BLOCK))
    start = 0
    while span := tuple(islice(blocks, SPAN // BLOCK)):
        yield start, span
        start += _n_rows(span)


def _n_rows(span: Sequence[Rows]) -> int:
    return sum(len(block.vectors) for block in span)
