"""All pairs of rows, n(n-1)/2 of them, looked at tile by tile: histogram, the most alike, those in a range.

Nothing of the matrix is kept but the counts and some short lists; `write_matrix` puts it into a file, strip by strip.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uncone.analysis.similarity.label_codes import coded
from uncone.analysis.similarity.pairwise.blockwise import Strips
from uncone.analysis.similarity.pairwise.matrix import NpyMatrix, ParquetMatrix, matrix_strip
from uncone.analysis.similarity.pairwise.tiles import TILE, starts
from uncone.analysis.similarity.pairwise.top_k import Kept, Range
from uncone.analysis.similarity.pairwise.unit_rows import checked_units
from uncone.analysis.similarity.results import Pairs
from uncone.data.batch import IntVector, Vector
from uncone.data.writing.atomic import check_output, replacing, writing
from uncone.errors import OptionError, OutputError, ShapeError
from uncone.run.blas_threads import in_order

__all__ = [
    "ALIKE",
    "BINS",
    "LISTED",
    "MATRIX_BYTES",
    "WHOLE",
    "Survey",
    "coarser",
    "range_words",
    "survey",
    "write_matrix",
]

ALIKE = 0.98
"""Rows at least so alike are near-duplicates, where the background is near 0: see `filters.duplicate_bound`."""

BINS = 2048
"""Bins of the histogram between -1 and 1: each 1/1024 wide."""

LISTED = 1000
"""Pairs of a range, and near-duplicates, that are listed; all are counted."""

WHOLE = 100_000
"""Rows whose pairs are all looked at, 5 billion of them; of more rows so many are drawn."""

MATRIX_BYTES = 2 * 2**30
"""The largest matrix that is written unasked: that of 23,170 rows."""

_MOST_BINS = 65_536
_STRIP_BYTES = 512 * 2**20
"""Of strips that are waiting to be written."""

Percentile = Callable[[Vector], Any]


@dataclass(frozen=True, eq=False)
class Survey:
    """What all pairs of some rows look like.

    `histogram` has `edges` (b + 1,) and `counts` (b,); with labels also `within` and `between`, the counts of pairs
    of one label and of two. `within_range` are the pairs between two cosines, where they were asked for. `rows` are
    those whose pairs were looked at, all `pairs` of them but `left_out`, which are of one group; when they are not
    all rows, `note` says so.
    """

    histogram: Mapping[str, Sequence[float]]
    top: Pairs
    within_range: Pairs | None
    duplicates: Pairs
    rows: IntVector
    pairs: int
    left_out: int
    note: str


def survey(
    units: ArrayLike,
    *,
    top: int = 100,
    low: float | None = None,
    high: float | None = None,
    most: int = LISTED,
    alike: float = ALIKE,
    bins: int = BINS,
    labels: Sequence[Hashable] | None = None,
    groups: Sequence[Hashable] | None = None,
    percentile: Percentile | None = None,
    whole: int = WHOLE,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> Survey:
    """Look at all pairs of unit rows (n, d), on all cores, with a few tiles in memory.

    Args:
        units: rows of length 1, as `units_of` makes them.
        top: how many of the most alike pairs are listed.
        low: pairs whose cosine is at least this are counted and listed.
        high: and at most this.
        most: how many of those, and of the near-duplicates, are listed: the most alike of them.
        alike: the cosine from which on two rows are near-duplicates.
        bins: of the histogram, a power of two: so each cosine is in the bin that its float32 number says.
        labels: of the rows; pairs of one label and of two are then counted apart. None is no label.
        groups: the document of every row; pairs of one document are left out. None is a document of its own.
        percentile: what share of the background, in percent, lies below each of some cosines.
        whole: of more rows than this, so many are drawn, and only their pairs are looked at.
        seed: of that draw.
        progress: is told how many more pairs are done.

    Raises:
        OptionError: bins that are no power of two, negative counts, or a range with nothing in it.
        ShapeError: not one label or group per row.
    """
    if not 2 <= bins <= _MOST_BINS or bins & (bins - 1):
        raise OptionError(f"{bins} bins: we need a power of two from 2 to {_MOST_BINS:,}, for instance {BINS:,}.")
    if top < 0 or most < 0 or whole < 2:
        raise OptionError(f"We need counts of at least 0, and 2 rows: not top={top}, most={most}, whole={whole}.")
    n = len(np.asarray(units))
    rows = _drawn(n, whole, seed)
    table = checked_units(units if len(rows) == n else np.asarray(units)[rows])
    scale = np.float32(bins // 2)
    ranges = [Range.of(None, None), Range.of(alike, None), Range.of(low, high)]
    work = Strips(
        table,
        bins,
        _codes("label", labels, rows, n, alone=False),
        _codes("group", groups, rows, n, alone=True),
        [Kept(one, size, scale) for one, size in zip(ranges, (top, most, most), strict=True)],
    )
    if low is None and high is None:
        del work.kept[2]
    for counts, kept, pairs in in_order(work.strip, starts(len(table))):
        work.counts += counts
        for ours, theirs in zip(work.kept, kept, strict=True):
            ours.absorb(theirs)
        if progress is not None:
            progress(pairs)
    first = f"the {top:,} most alike" if work.kept[0].found > top else "all, most alike first"
    reasons = [first, f"near-duplicates: cosine at least {alike:.4g}", range_words(low, high)]
    lists = [_pairs(one, rows, percentile, why) for one, why in zip(work.kept, reasons, strict=False)]
    pairs = int(work.counts.sum())
    return Survey(
        work.histogram(),
        lists[0],
        lists[2] if len(lists) > 2 else None,
        lists[1],
        rows,
        pairs,
        len(rows) * (len(rows) - 1) // 2 - pairs,
        _note(n, len(rows), seed),
    )


def coarser(histogram: Mapping[str, Sequence[float]], most: int = 100) -> dict[str, list[float]]:
    """The same counts in at most `most` bins: empty ends are cut off, then neighbours are joined two by two.

    >>> coarser({"edges": [-1, -0.5, 0, 0.5, 1], "counts": [0, 0, 3, 4]}, 1)
    {'edges': [0.0, 1.0], 'counts': [7.0]}
    """
    edges = np.asarray(histogram["edges"], np.float64)
    columns = {name: np.asarray(values, np.float64) for name, values in histogram.items() if name != "edges"}
    step = 1
    while True:
        filled = np.flatnonzero(np.add.reduceat(columns["counts"], np.arange(0, len(edges) - 1, step)))
        first, last = (int(filled[0]), int(filled[-1]) + 1) if len(filled) else (0, 1)
        if last - first <= most or step >= len(edges) - 1:
            break
        step *= 2
    cuts = np.arange(0, len(edges) - 1, step)
    found = {"edges": [*edges[cuts][first:last].tolist(), float(edges[min(last * step, len(edges) - 1)])]}
    return found | {name: np.add.reduceat(one, cuts)[first:last].tolist() for name, one in columns.items()}


def write_matrix(
    units: ArrayLike,
    path: Path,
    *,
    most: int | None = MATRIX_BYTES,
    progress: Callable[[int], None] | None = None,
) -> int:
    """Write the cosines of all rows with all rows (n, n) in float32, strip by strip; returns the bytes of the file.

    A .npy holds the matrix; a .parquet one row per text, with the columns `row` and `cosines`, a list of n numbers.
    The matrix is symmetric to the last digit, its diagonal is 1, and its numbers are those of `survey`. The file
    appears whole or not at all. `progress` is told how many more rows are done.

    Raises:
        OptionError: another kind of file, or a matrix of more than `most` bytes; None is as many as it takes.
        OutputError: the file cannot be written, or the disk has no room for it.
    """
    path = Path(path)
    kind = path.suffix.lower()
    if kind not in (".npy", ".parquet"):
        raise OptionError(f"A matrix is written as .npy or .parquet, not as {kind or 'a file without an ending'}.")
    table = checked_units(units)
    n = len(table)
    size = 4 * n * n
    if most is not None and size > most:
        raise OptionError(
            f"The matrix of {n:,} rows takes {_giga(size)}, more than the {_giga(most)} that are written unasked. "
            "Raise the limit, or list pairs instead: they need no matrix."
        )
    check_output(path, [])
    free = shutil.disk_usage(path.resolve().parent).free
    if size > free:
        raise OutputError(f"The matrix of {n:,} rows takes {_giga(size)}, and the disk has {_giga(free)} left.")
    with replacing(path) as temporary, writing(path):
        sink = NpyMatrix(temporary, n) if kind == ".npy" else ParquetMatrix(temporary, n)
        try:
            for strip in in_order(lambda i: matrix_strip(table, i), starts(n), _STRIP_BYTES // (4 * TILE * n)):
                sink.write(strip)
                if progress is not None:
                    progress(len(strip))
            sink.close()
        except BaseException:
            sink.abandon()
            raise
    return path.stat().st_size


def _giga(size: int) -> str:
    return f"{size / 1e9:,.1f} GB" if size >= 1e8 else f"{size / 1e6:,.1f} MB"


def _drawn(n: int, whole: int, seed: int) -> IntVector:
    if n <= whole:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, whole, replace=False))


def _note(n: int, drawn: int, seed: int) -> str:
    if drawn == n:
        return ""
    every, seen = n * (n - 1) // 2, drawn * (drawn - 1) // 2
    return (
        f"{n:,} rows make {every:,} pairs; looked at are the {seen:,} pairs of {drawn:,} rows drawn with seed {seed}. "
        f"The other pairs, {1 - seen / every:.1%} of all, are in no count and in no list."
    )


def _codes(
    what: str, values: Sequence[Hashable] | None, rows: IntVector, n: int, *, alone: bool
) -> NDArray[np.int64] | None:
    """The labels or groups as numbers; what has none is -1, or a number of its own when it is `alone`."""
    if values is None:
        return None
    if len(values) != n:
        raise ShapeError(f"We need one {what} per row: there are {len(values):,} for {n:,} rows.")
    codes = coded(values)[0][rows]
    if alone:
        missing = codes < 0
        codes[missing] = codes.max(initial=0) + 1 + np.arange(int(missing.sum()))
    return codes


def range_words(low: float | None, high: float | None) -> str:
    """A range of cosines in words; one of the two is given."""
    if low is not None and high is not None:
        return f"cosine from {low:.4g} to {high:.4g}"
    return f"cosine at least {low:.4g}" if low is not None else f"cosine at most {high or 0.0:.4g}"


def _pairs(kept: Kept, rows: IntVector, percentile: Percentile | None, why: str) -> Pairs:
    kept.finish()
    cosines = (kept.values / kept.scale).astype(np.float64)
    percentiles = np.full(len(cosines), np.nan) if percentile is None else np.asarray(percentile(cosines), np.float64)
    return Pairs(rows[kept.one], rows[kept.other], cosines, percentiles, kept.found, why)
