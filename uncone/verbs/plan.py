"""`plan`: what a run would take, on this machine or on a cluster, from a rehearsal of seconds."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from uncone.data.open import open_source
from uncone.data.source import Options, Source
from uncone.data.vectors.memory import ArrayVectors
from uncone.data.writing.manifest import versions
from uncone.errors import OptionError
from uncone.report.documents.plan import Planned
from uncone.run.estimate import Estimate, Reading
from uncone.run.fold import CHUNK, SPAN, groups_of
from uncone.run.job import kernel
from uncone.run.rehearsal import Pass, Rehearsal, Repeated, cpu_seconds, peak_bytes, python_bytes
from uncone.run.threads import cores, one_blas_thread
from uncone.verbs.options.check import CheckOptions
from uncone.verbs.options.fix import FixOptions
from uncone.verbs.options.plan import PlanOptions, bytes_per_second
from uncone.verbs.spaces.verb import verb

if TYPE_CHECKING:
    from uncone.repairs.repair import Repair

__all__ = ["plan"]

_SAMPLE = 3 * SPAN
_NUMBERS = 1 << 27
"""A sample is never larger than so many numbers."""
_PRODUCTS = 3e10
"""A pass over a sample multiplies about so many numbers, which takes a second."""
_LEAST_SECONDS = 0.1
_TRAINED = 4096  # rows that the training of a flow is timed on
_HARDLY_TRAINED = {"epochs": 1, "batch": 8192}
"""A flow maps as fast, however long it was trained."""


@verb(PlanOptions)
def plan(source: Any = None, *, options: PlanOptions) -> Planned:  # noqa: ANN401 - vectors, or None
    """Estimate what `check`, or with `method` what `fix` and `apply`, would take on so many workers.

    `source` is what `check` takes; without one, name `rows` and `dim`. A sample of its vectors is read and measured, in
    seconds. Every figure says whether it was given, measured or computed.

    >>> planned = plan(rows=1e6, dim=16, engine="ray", workers=4)
    >>> planned["chunks"].value, planned["bytes_read"].value
    (1, 64000000)
    """
    options.check_source(source is not None)
    sampled = _synthetic(options) if source is None else _sampled(source, options)
    workers = options.workers or cores()
    rehearsal, own, modules = _rehearse(sampled.source, options)
    cluster = options.engine != "threads" and not sampled.alone
    # Threads read in parts what can be entered anywhere, and else only if there is a chunk for each.
    shared = cluster or sampled.random_access or (sampled.divisible and rehearsal.passes[0].chunks >= workers)
    estimate = Estimate(
        passes=tuple(rehearsal.passes),
        dim=sampled.source.dim,
        reading=sampled.reading,
        own_seconds=own,
        process_bytes=python_bytes(modules),
        workers=workers,
        bandwidth=None if options.bandwidth is None else bytes_per_second(options.bandwidth),
        cluster=cluster,
        divisible=shared,
        unit=CHUNK if cluster or (shared and not sampled.random_access) else SPAN,
    )
    return Planned(
        estimate=estimate,
        source=sampled.facts,
        verb="check" if options.method is None else f"fix --method {options.method}",
        engine=options.engine,
        cores=cores(),
        alone=sampled.alone,
        provenance={**versions(), "BLAS": kernel()["BLAS"], "cores": cores(), "seed": options.seed},
        given=tuple(name for name in ("rows", "workers") if options.is_given(name)),
    )


@dataclass(frozen=True)
class _Sampled:
    """A source that claims all vectors and has a sample of them, and how the vectors are read.

    `alone` says why no cluster can share the work, if none can.
    """

    source: Repeated
    facts: dict[str, Any]
    reading: Reading
    alone: str = ""
    divisible: bool = True
    random_access: bool = True


def _synthetic(options: PlanOptions) -> _Sampled:
    """Vectors around a mean, as those of a crowded space are."""
    rows, dim, dtype = int(options.rows or 0), int(options.dim or 0), np.dtype(options.dtype)
    n_sampled = min(rows, _sample_size(dim, options))
    vectors = np.random.default_rng(options.seed).standard_normal((n_sampled, dim), np.float32)
    vectors += 1
    if dtype.kind != "f":  # numbers that 8 bits can hold
        vectors = (16 * vectors).clip(0, 127)
    sample = ArrayVectors(vectors.astype(dtype))
    facts = {"name": "synthetic vectors", "kind": "synthetic", "rows": rows, "dimensions": dim, "dtype": dtype.name}
    claimed = Repeated(sample, rows, "synthetic vectors", "synthetic")
    return _Sampled(claimed, {**facts, "sampled": n_sampled}, Reading(float(dim * dtype.itemsize)))


def _sample_size(dim: int, options: PlanOptions) -> int:
    """Vectors that are rehearsed: as many as take seconds, but enough for a repair to be fitted as to all."""
    least = dim if options.method is None else 5 * dim
    return min(_SAMPLE, max(int(_PRODUCTS / dim**2), least), max(_NUMBERS // dim, 2))


def _sampled(source: Any, options: PlanOptions) -> _Sampled:  # noqa: ANN401 - vectors
    """The first vectors of a source, and how fast it was read.

    Raises:
        OptionError: nobody knows how many vectors there are.
    """
    opened = open_source(source, Options(options.column, options.tensor))
    if options.rows is None and opened.rows is None:
        raise OptionError(
            f"{opened.name} tells how many vectors it has only when it is read to the end. Name their number with "
            "--rows."
        )
    rows = int(options.rows or opened.rows or 0)
    n = min(rows, opened.rows or rows, _sample_size(opened.dim, options))
    vectors, seconds, wall = _read(opened, n)
    stored = opened.stored_bytes()
    row_bytes = vectors.dtype.itemsize * opened.dim if stored is None else stored / (opened.rows or rows)
    in_memory = opened.random_access and not opened.files_between()
    divisible = opened.random_access or opened.divisible
    alone = "" if divisible else f"{opened.name} can only be read from the beginning"
    alone = "Vectors in memory are measured where they are" if in_memory else alone
    facts = {"name": opened.name, "kind": opened.kind, "rows": rows, "dimensions": opened.dim, "dtype": opened.dtype}
    reading = Reading(row_bytes, seconds / len(vectors), None if in_memory else len(vectors) * row_bytes / wall)
    claimed = Repeated(ArrayVectors(vectors), rows, opened.name, opened.kind)
    facts |= {"sampled": len(vectors)}
    return _Sampled(claimed, facts, reading, alone, divisible, opened.random_access)


def _read(source: Source, rows: int) -> tuple[np.ndarray[Any, Any], float, float]:
    """The first rows, and the seconds that reading them took of the processor and of the clock."""
    if source.rereadable:
        next(iter(source.read(0, 1)), None)  # for the first time: opening and importing
    wall, begun, rounds = time.monotonic(), time.process_time(), 0
    parts: list[np.ndarray[Any, Any]] = []
    while rounds == 0 or (source.rereadable and time.monotonic() - wall < _LEAST_SECONDS):
        parts, have = [], 0
        for block in source.read(0, rows):
            parts.append(block.vectors[: rows - have].copy())
            have += len(parts[-1])
            if have >= rows:
                break
        rounds += 1
    cpu, clock = ((now - before) / rounds for now, before in ((time.process_time(), begun), (time.monotonic(), wall)))
    return np.concatenate(parts), cpu, max(clock, 1e-9)


def _rehearse(source: Repeated, options: PlanOptions) -> tuple[Rehearsal, float, list[str]]:
    """The passes over a source, the seconds of what isn't shared, and the modules that a worker imports."""
    from uncone.verbs.check import diagnose

    rehearsal = Rehearsal(source.n_sampled, options.progress)
    begun = time.process_time()
    if options.method is None:
        diagnose(source, CheckOptions(exact=options.exact, **_settings(options, rehearsal)))
        return rehearsal, time.process_time() - begun - rehearsal.seconds, []
    repair, extra = _fit(source, options, rehearsal)
    own = time.process_time() - begun - rehearsal.seconds + extra
    rehearsal.passes.append(_apply(source, repair))
    return rehearsal, own, [type(repair).__module__]


def _settings(options: PlanOptions, rehearsal: Rehearsal) -> dict[str, Any]:
    """What `check` and `fix` share; other options of the same names mean something else there."""
    shared = {name: getattr(options, name) for name in ("seed", "sample", "float64")}
    return {**shared, "engine": rehearsal, "workers": 1, "progress": rehearsal.report}


def _fit(source: Repeated, options: PlanOptions, rehearsal: Rehearsal) -> tuple[Repair, float]:
    """The repair, and the seconds of training that the rehearsal has left out."""
    from uncone.repairs.registry import make
    from uncone.verbs.fix import fix

    method = str(options.method)
    make(method)
    trains = "flow" in [name.strip() for name in method.split(",")]
    others = _HARDLY_TRAINED if trains else None
    settings = FixOptions(skip_bad=True, others=others, **_settings(options, rehearsal))
    repair = fix(source, method, options=settings).repair
    return repair, _training_seconds(source) if trains else 0.0


def _training_seconds(source: Repeated) -> float:
    """Seconds of training a flow, by one epoch of a few rows: at most, because it may end early."""
    from uncone.repairs.flow import Flow

    rows = np.concatenate([part.vectors for part in source.read(0, min(source.n_sampled, _TRAINED))]).astype(np.float32)
    seconds = cpu_seconds(lambda: Flow(epochs=1).fit(rows)) / len(rows)
    whole = Flow()
    return seconds * whole.epochs * min(whole.sample, source.rows or 0)


def _apply(source: Repeated, repair: Repair) -> Pass:
    """The pass that maps every vector and writes it."""
    from uncone.repairs.repair import Mapped

    mapped, rows = Mapped(source, repair), source.rows or 0
    itemsize, groups = np.dtype(mapped.dtype).itemsize, groups_of(rows)

    def read(n: int) -> None:
        deque(mapped.read(0, n), maxlen=0)

    with one_blas_thread():
        read(min(source.n_sampled, SPAN))
        seconds = cpu_seconds(lambda: read(source.n_sampled)) / source.n_sampled
    return Pass(
        step="apply",
        rows=rows,
        chunks=sum(map(len, groups)),
        groups=len(groups),
        seconds_per_row=seconds,
        flops_per_row=mapped.flops_per_row,
        folding=peak_bytes(lambda: read(min(source.n_sampled, SPAN))),
        written=rows * mapped.dim * itemsize,
    )
