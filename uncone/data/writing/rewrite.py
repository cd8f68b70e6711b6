"""The rows of a source through a function and into a new file, as a stream, with everything that stood beside them.

Numbers keep the precision of the input where that is float32 or float64; float16, bfloat16, int8 and text become
float32. Row i stays row i. A row that is not all numbers, which no repair can use, is written as NaN.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uncone.data.batch import Matrix
from uncone.data.open import open_source
from uncone.data.source import BLOCK, Options, Rows, Source, regrid
from uncone.data.storage.path import opened, path_of
from uncone.data.vectors.databases.url import is_database
from uncone.data.vectors.matrices import Npz, safetensors_header
from uncone.data.writing.atomic import check_output, replacing, writing
from uncone.data.writing.databases.target import Target, open_target
from uncone.data.writing.side_columns import VECTOR, SideColumns, columns_beside, files_of, parts_of, unique_name
from uncone.data.writing.sinks import (
    JsonSink,
    NpySink,
    NpzSink,
    ParquetSink,
    Plan,
    SafetensorsSink,
    Sink,
    TableSink,
    WordSink,
)
from uncone.errors import OptionError, ShapeError

__all__ = ["FOLDER", "OUTPUTS", "MapRows", "Output", "Rewritten", "open_output", "output_suffix", "rewrite"]

OUTPUTS: dict[str, type[Sink]] = {
    ".npy": NpySink,
    ".npz": NpzSink,
    ".parquet": ParquetSink,
    ".csv": TableSink,
    ".tsv": TableSink,
    ".jsonl": JsonSink,
    ".ndjson": JsonSink,
    ".safetensors": SafetensorsSink,
    ".vec": WordSink,
    ".txt": WordSink,
}
"""What writes which kind of file."""

FOLDER = ""
"""The ending of a folder of files."""

_DATABASE = "://"

_LAYERS = (".parquet", ".safetensors", FOLDER)  # what holds several columns or tensors of vectors

MapRows = Callable[[Matrix], Matrix]

_BYTES = 1 << 25  # of a block from which it is only half as many rows


@dataclass(frozen=True)
class Rewritten:
    """What was written: rows, dimensions and precision; `unusable` rows are NaN; `dropped` columns found no place.

    `note` says what a database changes.
    """

    path: Path
    rows: int
    dim: int
    dtype: str
    unusable: int
    dropped: tuple[str, ...] = ()
    note: str = ""


def output_suffix(out: str | os.PathLike[str], *, folder: bool = False, layers: bool = False) -> str:
    """The ending that tells the kind of file to write; none is a `folder` of files, and :// a database.

    >>> output_suffix("fixed.NPY")
    '.npy'

    Raises:
        OptionError: we do not write that, or not with several `layers` in it.
    """
    if is_database(os.fspath(out)):
        return _DATABASE
    suffix = Path(out).suffix.lower()
    if suffix not in OUTPUTS and not (folder and suffix == FOLDER):
        others = ", or a folder: a name without an ending" if folder else ""
        raise OptionError(
            f"-o {os.fspath(out)} has an unknown ending {suffix!r}; we write {', '.join(OUTPUTS)}{others}."
        )
    if layers and suffix not in _LAYERS:
        raise OptionError(f"A {suffix} file cannot store several layers. Write .parquet, .safetensors or a folder.")
    return suffix


class Output:
    """A file that is being written: `rows` gives the rows as they are written, and `finish` writes what remains."""

    def __init__(self, sink: Sink, plan: Plan, result: Rewritten, blocks: Iterator[tuple[Rows, Matrix, int]]) -> None:
        self.sink, self.plan, self.result = sink, plan, result
        self.rows = self._rows(blocks)

    def _rows(self, blocks: Iterator[tuple[Rows, Matrix, int]]) -> Iterator[Rows]:
        for rows, vectors, bad in blocks:
            values, result = self.plan.carried.take(rows), self.result
            with writing(result.path):
                self.sink.write(vectors, values)
            self.result = replace(result, rows=result.rows + len(vectors), unusable=result.unusable + bad)
            yield Rows(vectors, rows.texts, rows.labels)

    def finish(self, progress: Callable[[int], None] | None = None) -> None:
        """Write the rows that nobody has taken, and the end of the file; `progress` is told of them."""
        for rows in self.rows:
            if progress is not None:
                progress(len(rows.vectors))
        with writing(self.result.path):
            self.sink.close(self.result.rows)


def rewrite(
    source: Any,  # noqa: ANN401 - a path or whatever holds vectors
    out: str | os.PathLike[str],
    map_rows: MapRows | None = None,
    *,
    progress: Callable[[int], None] | None = None,
    **settings: Any,  # noqa: ANN401 - as for `open_output`
) -> Rewritten:
    """Write `map_rows` of all rows of a source to a file, as `open_output` does.

    Args:
        source: as for `open_output`.
        out: as for `open_output`.
        map_rows: as for `open_output`.
        progress: called with the rows written since the last call.
        settings: as for `open_output`.
    """
    with open_output(source, out, map_rows, **settings) as output:
        output.finish(progress)
    return output.result


@contextmanager
def open_output(
    source: Any,  # noqa: ANN401 - a path or whatever holds vectors
    out: str | os.PathLike[str],
    map_rows: MapRows | None = None,
    *,
    dim: int | None = None,
    options: Options | None = None,
    layers: Sequence[str] = (),
    columns: SideColumns | None = None,
    each: Callable[..., Iterator[Any]] = map,
) -> Iterator[Output]:
    """Begin to write `map_rows` of all rows of a source to a file whose ending tells its kind.

    Args:
        source: as for `open_source`; a source of texts through a model gives the columns of the table of texts.
        out: the file; it appears whole at the end, or not at all.
        map_rows: (m, d) finite numbers, float32 or float64, to (m, `dim`); any number of rows at a time. Without it
            rows stay as they are.
        dim: the dimensions that come out; those of the source by default.
        options: which column holds the vectors.
        layers: names of equal parts of a vector, written as columns or tensors of their own.
        columns: what stands beside the vectors, if it is not to be seen from the source.
        each: applies a function to blocks and keeps their order: `map`, or one that does it on all cores.

    Raises:
        OptionError: an ending that we do not write, or a file that is also the input.
        OutputError: the file cannot be written.
        ShapeError: `map_rows` gives something else than it should.
        SourceError: the source cannot be read.
    """
    suffix, target = output_suffix(out, layers=bool(layers)), open_target(out)
    path = path_of(out) if target is None else Path(target.name)
    rows_in = open_source(source, options).with_columns()
    if target is not None:
        target.check()
    else:
        check_output(path, files_of(rows_in))
    dtype = np.dtype("<f8" if rows_in.dtype in ("float64", "double", "longdouble", "float128") else "<f4")
    width = rows_in.dim if dim is None else dim
    # Never cut where a table in memory is not: what a product makes of a row may depend on its place.
    block = BLOCK if BLOCK * dtype.itemsize * max(rows_in.dim, width) <= _BYTES else BLOCK // 2
    stream = regrid(rows_in.read(), block)
    first = next(stream, None)
    if first is None:
        raise ShapeError(f"{rows_in.name} has no rows. We need at least one.")
    plan, dropped = _plan(rows_in, columns or columns_beside(rows_in, first), width, dtype, suffix)
    plan = replace(plan, layers=tuple(unique_name(name, plan.carried.names) for name in layers))
    result = Rewritten(path, 0, width, dtype.name, 0, dropped)
    with _open_target(target, plan, path) if target else _open_file(suffix, plan, path) as sink:
        blocks = (_own(rows, plan) for rows in chain([first], stream))
        output = Output(sink, plan, result, each(lambda rows: (rows, *_map_block(rows, map_rows, plan)), blocks))
        yield output
    if target is not None:
        output.result = replace(output.result, note=target.note)


def _plan(
    source: Source, carried: SideColumns, dim: int, dtype: np.dtype[Any], suffix: str
) -> tuple[Plan, tuple[str, ...]]:
    """What is to be written, and the names of what finds no place."""
    inner = parts_of(source)
    name, others = _arrays(inner[0]) if len(inner) == 1 else (VECTOR, [])
    archived = None
    if suffix == ".npz" and isinstance(inner[0], Npz):
        archived = (inner[0].path, tuple(f"{other}.npy" for other in others))
        dropped: list[str] = []  # texts and labels are among the arrays
    elif suffix == _DATABASE or OUTPUTS[suffix].holds_columns:
        dropped = [other for other in others if not carried.names]
    else:
        word_names = ("word", "text") if OUTPUTS[suffix] is WordSink else ()
        dropped = [*(name for name in carried.names if name not in word_names), *others]
    return Plan(dim, dtype, source.rows, carried, suffix, name, archived), tuple(dropped)


def _arrays(source: Any) -> tuple[str, list[str]]:  # noqa: ANN401 - any source
    """What the array of a source is called, and the others in its file."""
    if isinstance(source, Npz):
        import zipfile

        with opened(source.path) as file, zipfile.ZipFile(file) as archive:
            names = [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
        return source.member, [name for name in names if name != source.member]
    if source.kind == "safetensors":
        mine = source.name.removeprefix(f"{source.path}[").removesuffix("]")
        return mine, [name for name in safetensors_header(source.path)[0] if name != mine]
    return VECTOR, []


@contextmanager
def _open_file(suffix: str, plan: Plan, out: Path) -> Iterator[Sink]:
    """A file that takes its place when it is whole."""
    with replacing(out) as temporary:
        with writing(out):
            sink = OUTPUTS[suffix](temporary, plan)
        with _abandoned(sink):
            yield sink


@contextmanager
def _open_target(target: Target, plan: Plan, out: Path) -> Iterator[Sink]:
    """A table of a database, there when it is whole."""
    with contextlib.ExitStack() as stack:
        with writing(out):
            sink = stack.enter_context(target.open(plan))
        with _abandoned(sink):
            yield sink


@contextmanager
def _abandoned(sink: Sink) -> Iterator[None]:
    """Around whatever writes: a sink lets go of its file after an error."""
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError, ValueError):  # the file goes anyway, and the first error is the one to tell
            sink.abandon()
        raise


def _own(rows: Rows, plan: Plan) -> Rows:
    """The rows in memory of their own, in the precision they are written in: a reader uses its buffer again."""
    own = None if rows.vectors.flags.owndata else True  # blocks that were put together are nobody else's
    with np.errstate(over="ignore"):
        return replace(rows, vectors=np.array(rows.vectors, plan.dtype, order="C", copy=own))


def _map_block(rows: Rows, map_rows: MapRows | None, plan: Plan) -> tuple[Matrix, int]:
    """The rows as they are written, and how many of them could not be used."""
    block: Matrix = np.asarray(rows.vectors, plan.dtype)
    usable = _finite(block)
    whole = bool(usable.all())
    n = len(block) if whole else int(usable.sum())
    result: Matrix = np.full((len(block), plan.dim), np.nan, plan.dtype)
    if n:
        finite = block if whole else block[usable]
        mapped = finite if map_rows is None else np.asarray(map_rows(finite))
        if mapped.shape != (n, plan.dim):
            raise ShapeError(f"{(n, block.shape[1])} rows became {mapped.shape}; we need {(n, plan.dim)}.")
        lost = ~_finite(mapped)
        if lost.any():  # numbers so large that the result has no place in their precision
            mapped, n = np.where(lost[:, None], np.nan, mapped), n - int(lost.sum())
        if whole:
            return np.ascontiguousarray(mapped, plan.dtype), len(block) - n
        result[usable] = mapped
    return result, len(block) - n


def _finite(rows: Matrix) -> NDArray[np.bool_]:
    """Which rows have only finite numbers: all whose squared length is finite, and those that are only too long."""
    with np.errstate(over="ignore", invalid="ignore"):
        finite = np.isfinite(np.vecdot(rows, rows))
    if not finite.all():
        finite[~finite] = np.isfinite(rows[~finite]).all(axis=1)
    return np.asarray(finite)
