"""A source into a folder of files, part by part: by this machine, or by the workers of an engine."""

from __future__ import annotations

import hashlib
import json
import os
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

from uncone.data.batch import Matrix
from uncone.data.source import Rows, Source
from uncone.data.storage.files import FileStamps, with_absolute_paths
from uncone.data.storage.path import path_of
from uncone.data.texts.texts import ListTexts, MemoryTexts, TextSource
from uncone.data.vectors.memory import ArrayVectors
from uncone.data.writing.folder import OutputFolder, Part, parts_to_write
from uncone.data.writing.rewrite import Rewritten, rewrite
from uncone.data.writing.side_columns import files_of, parts_of
from uncone.encoders.text_vectors import ModelTexts, check_count
from uncone.run.job import (
    Executor,
    Range,
    answer,
    check_answer,
    check_kernel,
    common_kernel,
    first_failure,
    header,
    kernel,
    packed,
)
from uncone.run.measure import StepProgress, step_progress
from uncone.run.models import SentModel
from uncone.run.threads import cores, in_order, one_torch_thread

__all__ = ["Folder", "write_folder"]

MapRows = Callable[[Matrix], Matrix]


@dataclass(frozen=True)
class _Writer:
    """A job that writes the files of a folder. A range is one of parts; what travels back is a record of each file."""

    parts: Sequence[Part]
    texts: Any
    """Texts through a model, of which the parts are made; None for vectors."""
    folder: OutputFolder
    map_rows: MapRows | None
    dim: int | None
    layers: Sequence[str]
    stamps: FileStamps
    model: SentModel | None
    kernel: Mapping[str, str]
    """That of the driver, which is the one that parts written before were made with."""
    any_kernel: bool

    @property
    def gpus(self) -> int:
        """GPUs that a worker needs."""
        return 0 if self.model is None else self.model.gpus

    def sent(self) -> _Writer:
        """The job as it goes to workers: with full paths, and without the model, which they load."""
        if self.model is None:
            return with_absolute_paths(self)
        return with_absolute_paths(replace(self, texts=self.texts.with_model(None), parts=self._through(None)))

    def _through(self, model: Any) -> list[Part]:  # noqa: ANN401 - an encoder or a pipeline
        """The parts through another copy of the model."""
        return [replace(part, source=part.source.with_model(model)) for part in self.parts]  # type: ignore[attr-defined]

    def fold(self, chunk: Range) -> bytes:
        """Write some parts, and give their records; of a part that another worker has written, the one it left."""

        def work() -> tuple[dict[str, Any], dict[str, Any]]:
            self.folder.check()
            parts, mine = self.parts, kernel()
            if self.model is not None:
                parts = self._through(self.model.opened(self.folder.identity, self.texts.prompted))
                mine = mine | self.model.kernel()
            check_kernel(self.kernel, mine, self.any_kernel)
            with one_torch_thread():
                return {}, {"kernel": kernel(), "files": [self.write(parts[at], map) for at in range(*chunk)]}

        return answer(self.parts[chunk[0]].source.name, work)

    def write(
        self,
        part: Part,
        each: Callable[..., Iterator[Any]],
        progress: Callable[[int], None] | None = None,
        stop: Event | None = None,
    ) -> dict[str, Any]:
        """The record of a part, which is written unless it was before; `stop` ends it early."""
        record = self.folder.record(part.name)
        if record is not None:
            return record
        path = self.folder.path / part.name
        output = rewrite(
            _Guarded(part.source, self.stamps, stop),
            path,
            self.map_rows,
            dim=self.dim,
            progress=progress,
            layers=self.layers,
            columns=part.columns,
            each=each,
        )
        record = {
            "name": part.name,
            "rows": output.rows,
            "bytes": path.stat().st_size,
            "dim": output.dim,
            "dtype": output.dtype,
            "unusable": output.unusable,
            "truncated": getattr(part.source, "n_truncated", 0),
            "dropped": output.dropped,
        }
        self.folder.note(part.name, record)
        return record

    def join(self, parts: Iterable[bytes]) -> bytes:
        """The records of several ranges; of errors, the first."""
        parts = list(parts)
        failure = first_failure(parts)
        if failure is not None:
            return failure
        files = [file for part in parts for file in header(part)["files"]]
        return packed({}, {"kernel": common_kernel([header(part)["kernel"] for part in parts]), "files": files})

    def received(self, state: bytes) -> list[dict[str, Any]]:
        """The records, as they came from a worker."""
        return list(check_answer(state, self.any_kernel)["files"])


class _Guarded(Source):
    """A source whose files have to stay as they were, and whose reading ends when `stop` is set."""

    def __init__(self, source: Source, stamps: FileStamps, stop: Event | None) -> None:
        self.source, self.stamps, self.stop = source, stamps, stop
        self.name, self.kind, self.dtype, self.note = source.name, source.kind, source.dtype, source.note
        self.dim, self.rows = source.dim, source.rows

    def with_columns(self) -> Source:
        """The columns of a database or a data frame go along."""
        return _Guarded(self.source.with_columns(), self.stamps, self.stop)

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Rows]:
        files = files_of(self.source)
        self.stamps.check(files)
        for rows in self.source.read(start, stop):
            yield rows
            if self.stop is not None and self.stop.is_set():
                raise KeyboardInterrupt
        self.stamps.check(files)


@dataclass(frozen=True)
class Folder:
    """What was written; of it, the texts that were truncated, and the rows that an earlier run had written."""

    written: Rewritten
    truncated: int
    resumed: int


def write_folder(
    source: Source,
    out: str | os.PathLike[str],
    map_rows: MapRows | None = None,
    *,
    dim: int | None = None,
    layers: Sequence[str] = (),
    model: SentModel | None = None,
    identity: Mapping[str, Any],
    engine: Executor | None = None,
    any_kernel: bool = False,
    progress: tuple[str, StepProgress | None] = ("rows", None),
) -> Folder:
    """Write `map_rows` of the rows of a source to a folder, a file for every file of the source.

    A file appears whole or not at all. An interrupted run continues where it stopped when it is started again, and
    writes the same bytes, whoever does the work.

    Args:
        source: vectors, or texts through the `model`; a cache around it is not used.
        out: the folder; a new one, or that of an interrupted run.
        map_rows: as for `rewrite`.
        dim: the dimensions that come out of it.
        layers: as for `rewrite`.
        model: how workers open the model.
        identity: what the rows depend on beside the source: a repair, or a model and its settings.
        engine: who does the work; this machine by default, and for vectors in memory.
        any_kernel: whether workers with other versions or another BLAS kernel may take part.
        progress: a step, and a function that is told of it.

    Raises:
        OutputError: the folder holds something else, or cannot be written.
        UnconeError: what a worker met.
    """
    parts = parts_to_write(source)
    if not parts:
        check_count(source.name, 0, 1)
    stamps = FileStamps.of(files_of(source))
    own = kernel() if model is None else kernel() | model.kernel()
    described = {
        "identity": identity,
        "layers": list(layers),
        "content": _content(source, stamps),
        "parts": [_description(part) for part in parts],
        "kernel": None if any_kernel else own,
    }
    digest = hashlib.sha256(json.dumps(described, sort_keys=True, default=str).encode()).hexdigest()
    folder = OutputFolder(path_of(out).absolute(), digest[:32])
    manifest = folder.begin()
    if manifest is not None:
        return _folder(path_of(out), manifest["files"], manifest["rows"])
    resumed = sum(record["rows"] for part in parts if (record := folder.record(part.name)) is not None)
    encoded: Any = getattr(source, "source", source)
    texts = encoded if isinstance(getattr(encoded, "texts", None), TextSource) else None
    job = _Writer(parts, texts, folder, map_rows, dim, layers, stamps, model, own, any_kernel)
    report = step_progress(progress[1], progress[0], _total(parts))
    if engine is not None and _can_be_sent(source):
        records = []
        for group in engine.groups(job.sent(), [[(at, at + 1)] for at in range(len(parts))], None):
            records += group
            if report is not None:
                report(sum(record["rows"] for record in group))
    else:
        records = list(_local(job, report))
    result = _folder(path_of(out), records, resumed)
    folder.finish({"rows": result.written.rows, "dim": result.written.dim, "dtype": result.written.dtype}, records)
    return result


def _local(job: _Writer, progress: Callable[[int], None] | None) -> Iterator[dict[str, Any]]:
    """The records of all parts. Threads share the blocks of vectors, the pools of texts, or the parts of tokens."""
    if job.texts is not None:
        job.texts.prepare()
    if job.model is None:
        yield from (job.write(part, in_order, progress) for part in job.parts)
        return
    threads, stop = cores() if job.model.shared else 1, Event()
    if all(isinstance(part.source, ModelTexts) for part in job.parts):
        for part in job.parts:
            part.source.map_pools = partial(_each_on_one_thread, threads=threads)  # type: ignore[attr-defined]
            yield job.write(part, map, progress)
        return

    def write(part: Part) -> dict[str, Any]:
        with one_torch_thread():
            return job.write(part, map, progress, stop)

    yield from in_order(write, job.parts, threads=threads, stop=stop)


def _each_on_one_thread(work: Callable[[Any], Any], tasks: Iterable[Any], threads: int) -> Iterator[Any]:
    """What `work` makes of each task, in order: side by side, and every product of torch on one thread."""

    def alone(task: Any) -> Any:  # noqa: ANN401 - a pool
        with one_torch_thread():
            return work(task)

    return in_order(alone, tasks, threads=threads)


def _can_be_sent(source: Source) -> bool:
    """Whether workers can read the source: it is in files, or a list of texts."""
    texts = [getattr(part, "texts", None) for part in parts_of(source)]
    return bool(files_of(source)) or any(isinstance(part, ListTexts | MemoryTexts) for part in texts)


def _content(source: Source, stamps: FileStamps) -> Any:  # noqa: ANN401 - plain values
    """What tells the rows of a source from others: its files, or what is in memory. Every stream is another."""
    if stamps.stamps:
        return {str(path): stamp for path, stamp in stamps.stamps.items()}
    digest = hashlib.sha256()
    for part in parts_of(source):
        texts = getattr(part, "texts", None)
        if isinstance(texts, TextSource):
            for _, text, label in texts.read():
                digest.update(json.dumps([text, label]).encode())
        elif isinstance(part, ArrayVectors):
            for rows in part.read():
                digest.update(rows.vectors.tobytes())
        else:
            return uuid.uuid4().hex
    return digest.hexdigest()


def _description(part: Part) -> list[Any]:
    """Which rows go into a file."""
    texts = getattr(part.source, "texts", None)
    columns = getattr(getattr(texts, "source", None), "columns", None)
    return [part.name, part.source.name, part.rows, getattr(texts, "start", 0), columns]


def _total(parts: Sequence[Part]) -> int | None:
    counts = [part.rows for part in parts]
    return None if None in counts else sum(count or 0 for count in counts)


def _folder(out: Path, records: Sequence[Mapping[str, Any]], resumed: int) -> Folder:
    n_rows, unusable, truncated = (
        sum(record[name] for record in records) for name in ("rows", "unusable", "truncated")
    )
    dropped = tuple(dict.fromkeys(name for record in records for name in record["dropped"]))
    first = records[0]
    return Folder(Rewritten(out, n_rows, first["dim"], first["dtype"], unusable, dropped), truncated, resumed)
