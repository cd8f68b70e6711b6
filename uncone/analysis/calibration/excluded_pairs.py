"""Pairs that are not unrelated: vectors of one document and exact copies, with the sums of their cosines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from uncone.data.bags import run_starts
from uncone.data.batch import IntVector, Matrix
from uncone.data.source import Source, batches
from uncone.errors import OptionError, ShapeError
from uncone.stats.hashing import Fingerprints, Hashes, fingerprints
from uncone.stats.unit_vectors import CosineSums

__all__ = [
    "MANY_PRINTS",
    "copies_among",
    "distinct_among",
    "group_numbers",
    "overlap",
    "same_document",
]

MANY_PRINTS = 1 << 26
"""The number of vectors up to which every fingerprint is stored and copies are counted exactly."""

_TOGETHER = 8192
_SMALL = 32  # groups up to this size are multiplied pair by pair, all at once
_MOST_HELD = 1 << 27


def group_numbers(groups: ArrayLike, rows: int | None, name: str) -> IntVector:
    """The document of each row as a number.

    Raises:
        ShapeError: there are not as many as rows.
    """
    documents = np.asarray(groups)
    if documents.ndim != 1 or (rows is not None and len(documents) != rows):
        raise ShapeError(
            f"{name} has {'an unknown number of' if rows is None else f'{rows:,}'} rows, but documents for "
            f"{documents.shape[0] if documents.ndim else 1:,} of shape {documents.shape}. Name one per row."
        )
    return np.asarray(np.unique(documents, return_inverse=True)[1], np.int64)


def copies_among(prints: Fingerprints) -> int:
    """The number of pairs that are exact copies; an estimate beyond the limit of the fingerprints."""
    hashes = prints.state()["kept"]
    counts = np.diff(run_starts(hashes), append=len(hashes))
    return int((counts * (counts - 1)).sum()) // 2 << prints.level


def distinct_among(prints: Fingerprints) -> int:
    """The number of distinct vectors; an estimate beyond the limit of the fingerprints."""
    return len(run_starts(prints.state()["kept"])) << prints.level


class Overlap(NamedTuple):
    """The overlap of two sides: `pairs` of a vector and its exact copy, and the distinct vectors of each side and both.

    Beyond the limit of the fingerprints these are estimates.
    """

    pairs: int
    distinct: int
    distinct_others: int
    shared: int


def overlap(prints: Fingerprints, other_prints: Fingerprints) -> Overlap:
    """Compare the fingerprints of two sides."""
    level = max(prints.level, other_prints.level)
    sides = []
    for side in (prints, other_prints):
        hashes = side.state()["kept"]
        hashes = hashes[hashes >> np.uint64(64 - level) == 0] if level else hashes
        sides.append(np.unique(hashes, return_counts=True))
    (ours, times), (theirs, other_times) = sides
    _, mine, others = np.intersect1d(ours, theirs, assume_unique=True, return_indices=True)
    counts = (int((times[mine] * other_times[others]).sum()), len(ours), len(theirs), len(mine))
    return Overlap(*(number << level for number in counts))


def same_document(source: Source, groups: IntVector, dtype: DTypeLike) -> tuple[CosineSums, int]:
    """The pairs of rows of the same document, and how many of them are exact copies.

    The vectors are read once more. A document is processed when its last vector was read, so vectors that lie together
    cost no memory. They may lie anywhere as long as the unfinished documents fit into half a gigabyte.

    Raises:
        OptionError: the rows can be read only once, or too many wait.
    """
    if not source.rereadable:
        raise OptionError(f"{source.name} can be read only once, and its documents need a second look: save it first.")
    sums, copies = CosineSums(), 0
    for units, prints, documents in _whole_documents(source, groups, dtype):
        for first, other in _pairs(documents):
            cosines = _cosines(units, first, other)
            sums += CosineSums(cosines.size, float(cosines.sum()), float(np.vecdot(cosines, cosines)))
            copies += _equal(prints, first, other)
    return sums, copies


def _cosines(units: Matrix, first: IntVector | slice, other: IntVector | slice) -> Matrix:
    if not isinstance(first, slice):
        return np.asarray(np.vecdot(units[first], units[other]))
    table = units[first] @ units[other].T
    return np.asarray(table[np.triu_indices(len(table), 1)])


def _equal(prints: Hashes, first: IntVector | slice, other: IntVector | slice) -> int:
    if isinstance(first, slice):
        _, counts = np.unique(prints[first], return_counts=True)
        return int((counts * (counts - 1)).sum()) // 2
    return int((prints[first] == prints[other]).sum())


def _pairs(documents: IntVector) -> Iterator[tuple[IntVector, IntVector] | tuple[slice, slice]]:
    """The pairs within the runs of equal numbers: those of small runs by distance, a large run whole."""
    starts = run_starts(documents)
    sizes = np.diff(np.append(starts, len(documents)))
    for start, size in zip(starts[sizes > _SMALL].tolist(), sizes[sizes > _SMALL].tolist(), strict=True):
        yield slice(start, start + size), slice(start, start + size)
    small = np.repeat(sizes <= _SMALL, sizes)
    for distance in range(1, min(int(sizes.max(initial=0)), _SMALL)):
        first = np.flatnonzero((documents[:-distance] == documents[distance:]) & small[:-distance])
        if first.size:
            yield first, first + distance


def _whole_documents(source: Source, groups: IntVector, dtype: DTypeLike) -> Iterator[tuple[Matrix, Hashes, IntVector]]:
    """Unit rows in float64, their fingerprints and documents, sorted by document, every document whole."""
    to_come = np.bincount(groups)
    several = to_come > 1
    waiting: list[tuple[Matrix, IntVector]] = []
    waiting_rows = unfinished = 0
    for batch in batches(source.read(), dtype):
        documents_read = groups[np.concatenate([batch.rows, batch.bad, batch.zero])]
        to_come -= np.bincount(documents_read, minlength=len(to_come))
        in_group = several[groups[batch.rows]]
        waiting.append((batch.vectors[in_group], groups[batch.rows[in_group]]))
        waiting_rows += int(in_group.sum())
        if waiting_rows >= max(_TOGETHER, 2 * unfinished):  # what waits is looked through only as often as it doubles
            vectors, documents = _sorted(waiting)
            complete = to_come[documents] == 0
            yield _finished(vectors[complete], documents[complete])
            waiting = [(vectors[~complete], documents[~complete])]
            waiting_rows = unfinished = int((~complete).sum())
            if unfinished * source.dim > _MOST_HELD:
                raise OptionError(
                    f"{source.name}: {unfinished:,} vectors wait for the rest of their documents, too many for "
                    "memory. Sort the vectors by document."
                )
    if waiting:
        yield _finished(*_sorted(waiting))


def _sorted(waiting: list[tuple[Matrix, IntVector]]) -> tuple[Matrix, IntVector]:
    vectors, documents = (np.concatenate(part) for part in zip(*waiting, strict=True))
    order = np.argsort(documents, kind="stable")
    return vectors[order], documents[order]


def _finished(vectors: Matrix, documents: IntVector) -> tuple[Matrix, Hashes, IntVector]:
    units = vectors.astype(np.float64)
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    return units, fingerprints(vectors), documents
