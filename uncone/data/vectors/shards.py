"""Sources made of other sources: shards that follow each other, slices, and rows named by lists of texts and labels."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from uncone.data.source import Rows, Source
from uncone.data.storage.path import ObjectPath, path_of
from uncone.data.tables.lines import numbered_lines
from uncone.errors import MissingSourceError, ShapeError

__all__ = ["NamedRows", "Shards", "Slice", "read_names"]

_AT_ONCE = 16


class Shards(Source):
    """Files that follow each other; all have the same dimensions."""

    def __init__(self, parts: Sequence[Source], name: str) -> None:
        first = parts[0]
        for part in parts:
            if part.dim != first.dim:
                raise ShapeError(
                    f"Shards differ: {part.name} has {part.dim} dimensions, {first.name} has {first.dim}. "
                    "Were they written with the same encoder?"
                )
        self.parts = parts
        self.name = f"{name} ({len(parts)} files)"
        self.kind, self.dtype, self.dim = first.kind, first.dtype, first.dim
        counts = [part.rows for part in parts if part.rows is not None]
        self.rows = sum(counts) if len(counts) == len(parts) else None
        self.random_access = all(part.random_access for part in parts)
        self.divisible = all(part.random_access or part.divisible for part in parts)

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Rows]:
        if not self.divisible:
            for part in self.parts:
                yield from part.read()
            return
        for part, first, last in self._parts_of(start, stop):
            yield from part.read(first, last)

    def files_between(self, start: int = 0, stop: int | None = None) -> list[Path]:
        return [path for part, first, last in self._parts_of(start, stop) for path in part.files_between(first, last)]

    def stored_bytes(self) -> int | None:
        with ThreadPoolExecutor(_AT_ONCE) as threads:  # each may be a request
            sizes = list(threads.map(lambda part: part.stored_bytes(), self.parts))
        return None if None in sizes else sum(size or 0 for size in sizes)

    def _parts_of(self, start: int, stop: int | None) -> Iterator[tuple[Source, int, int]]:
        """The parts that hold these rows, with the rows of each."""
        if self.rows is None:
            yield from ((part, 0, 0) for part in self.parts)
            return
        first, stop = 0, self.rows if stop is None else stop
        for part in self.parts:
            last = first + (part.rows or 0)
            if first < stop and start < last:
                yield part, max(start - first, 0), min(stop, last) - first
            first = last


class Slice(Source):
    """Some rows of a source that can be entered anywhere."""

    def __init__(self, source: Source, start: int, stop: int) -> None:
        self.source, self.start = source, start
        self.name, self.kind, self.dtype, self.note = source.name, source.kind, source.dtype, source.note
        self.dim, self.rows = source.dim, stop - start
        self.random_access, self.divisible = source.random_access, source.divisible

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Rows]:
        return self.source.read(self.start + start, self._last(stop))

    def files_between(self, start: int = 0, stop: int | None = None) -> list[Path]:
        return self.source.files_between(self.start + start, self._last(stop))

    def stored_bytes(self) -> int | None:
        whole = self.source.stored_bytes()
        return None if whole is None or not self.source.rows else whole * (self.rows or 0) // self.source.rows

    def _last(self, stop: int | None) -> int:
        return self.start + ((self.rows or 0) if stop is None else stop)


class NamedRows(Source):
    """A source whose rows get texts and labels from lists of the same length."""

    def __init__(self, source: Source, texts: Sequence[str] | None, labels: Sequence[str] | None) -> None:
        self.source = source
        self.texts = texts
        self.labels = labels
        self.name, self.kind, self.dtype = source.name, source.kind, source.dtype
        self.dim, self.rows = source.dim, source.rows
        self.random_access, self.divisible = source.random_access, source.divisible
        self.rereadable, self.note, self.unit_length = source.rereadable, source.note, source.unit_length

    @classmethod
    def of(cls, source: Source, texts: Sequence[str] | None, labels: Sequence[str] | None) -> Source:
        """The source with these names; unchanged when there are none.

        Raises:
            ShapeError: there is not one name per row.
        """
        for role, names in (("text", texts), ("label", labels)):
            if names is not None and source.rows is not None and len(names) != source.rows:
                raise ShapeError(
                    f"{source.name} has {source.rows:,} rows but there are {len(names):,} {role}s: give one per row."
                )
        return source if texts is None and labels is None else cls(source, texts, labels)

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Rows]:
        first = start
        for rows in self.source.read(start, stop):
            last = first + len(rows.vectors)
            texts = self._part("text", self.texts, first, last)
            labels = self._part("label", self.labels, first, last)
            yield Rows(rows.vectors, texts or rows.texts, labels or rows.labels, rows.beside)
            first = last
        for role, names in (("text", self.texts), ("label", self.labels)):
            if self.rows is None and names is not None and len(names) != first:
                raise ShapeError(
                    f"{self.name} has {first:,} rows but there are {len(names):,} {role}s: give one per row."
                )

    def with_columns(self) -> Source:
        return NamedRows(self.source.with_columns(), self.texts, self.labels)

    def _part(self, role: str, names: Sequence[str] | None, first: int, last: int) -> Sequence[str] | None:
        if names is not None and len(names) < last:
            raise ShapeError(f"{self.name} has more rows than there are {role}s ({len(names):,}): give one per row.")
        return None if names is None else names[first:last]


def read_names(path: str, role: str) -> list[str]:
    """A text file with one name a line, for `--text FILE` and `--label FILE`.

    Raises:
        MissingSourceError: there is no such file.
    """
    where = path_of(path)
    if not where.is_file():
        raise MissingSourceError(
            f"No file {path!r} for --{role}: a source without columns takes a text file with one {role} per line."
        )
    if not isinstance(where, ObjectPath) and not os.access(where, os.R_OK):
        raise MissingSourceError(f"{path}, for --{role}, cannot be read: permission denied. Check its permissions.")
    return [line for _, line in numbered_lines(where)]
