"""Opening of vectors: a path, a glob, a folder, `-`, or something in memory becomes a source."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from uncone.data.source import Options, Source
from uncone.data.storage.files import check_readable, find_files
from uncone.data.storage.path import ObjectPath, path_of
from uncone.data.tables.memory import MemoryTable
from uncone.data.tables.read import plain_suffix
from uncone.data.vectors.databases.url import SCHEMES, DatabaseUrl, is_database
from uncone.data.vectors.frames.open import is_frame, open_frame
from uncone.data.vectors.matrices import NpyStream
from uncone.data.vectors.memory import in_memory
from uncone.data.vectors.shards import NamedRows, Shards, read_names
from uncone.errors import ColumnError, FormatError, MissingSourceError

__all__ = ["SUFFIXES", "open_source"]

# Which module opens which file: modules are imported when their kind is met, so that a .npy never waits for pyarrow.
SUFFIXES = {
    ".npy": ("matrices", "open_npy"),
    ".npz": ("matrices", "open_npz"),
    ".parquet": ("parquet", "open_parquet"),
    ".safetensors": ("matrices", "open_safetensors"),
    ".jsonl": ("tables", "open_jsonl"),
    ".ndjson": ("tables", "open_jsonl"),
    ".csv": ("tables", "open_vector_table"),
    ".tsv": ("tables", "open_vector_table"),
    ".vec": ("word_vectors", "open_words"),
    ".txt": ("word_vectors", "open_words"),
    ".bin": ("word_vectors", "open_binary_words"),
    ".faiss": ("faiss_index", "open_faiss"),
    ".index": ("faiss_index", "open_faiss"),
}
_OPENED = 16
"""Files that are opened at a time: on a network, each waits for its answer."""
_ZIPPED = {".jsonl", ".ndjson", ".csv", ".tsv", ".vec", ".txt"}
_COLUMNS = {".npz", ".parquet", ".jsonl", ".ndjson", ".csv", ".tsv"}


def open_source(
    source: Any,  # noqa: ANN401 - a path or whatever holds vectors
    options: Options | None = None,
    *,
    texts: Sequence[str] | None = None,
    labels: Sequence[str] | None = None,
) -> Source:
    """The source that a path, an array, a table or column in memory, or an iterator of blocks stands for."""
    options = options or Options()
    if isinstance(source, Source):
        opened = source
    elif isinstance(source, str) and is_database(source):
        opened = _open_database(source, options)
    elif isinstance(source, str | os.PathLike):
        try:
            opened = _open_path(source if isinstance(source, str) else str(path_of(source)), options)
        except OSError as error:
            reason = error.strerror or str(error)
            raise MissingSourceError(
                f"{source} cannot be read: {reason}. Check the path and its permissions."
            ) from error
    elif is_frame(source):
        opened = open_frame(source, options)
    elif (table := MemoryTable.of(source)) is not None:
        opened = in_memory(table.vectors(options.column))
        texts = texts if options.text is None else table.strings(options.text)
        labels = labels if options.label is None else table.labels(options.label)
    else:
        opened = in_memory(source)
    return NamedRows.of(opened, texts, labels)


def _open_database(source: str, options: Options) -> Source:
    if options.tensor is not None:
        raise ColumnError("--tensor is for .safetensors; a database has columns: use --column.")
    url = DatabaseUrl.parse(source)
    module, opener = SCHEMES[url.scheme]
    opened: Source = getattr(importlib.import_module(f"uncone.data.vectors.databases.{module}"), opener)(url, options)
    return opened


def _open_path(path: str, options: Options) -> Source:
    if path == "-":
        if sys.stdin is None:
            raise MissingSourceError("Standard input is closed. Pipe a .npy into it, or name a file.")
        return _with_names(NpyStream(sys.stdin.buffer, "standard input"), options)
    where = path_of(path)
    if where.is_fifo():
        return _with_names(NpyStream(where.open("rb"), path, close=True), options)
    files = find_files(path, suffix_of, "vectors", SUFFIXES)
    return _open_file(where, options) if files is None else _open_many(files, path, options)


def _open_file(path: Path, options: Options) -> Source:
    if isinstance(path, ObjectPath):
        path.stat()
    elif not path.exists():
        raise MissingSourceError(f"There is no file or folder {path}. Check the path; `-` reads a .npy from a pipe.")
    suffix = suffix_of(path)
    if suffix is None:
        raise FormatError(f"{path} has an unknown ending {path.suffix!r}; we read {', '.join(SUFFIXES)}.")
    check_readable(path, "at least 2 rows of numbers")
    for name, value, takers in (("column", options.column, _COLUMNS), ("tensor", options.tensor, {".safetensors"})):
        if value is not None and suffix not in takers:
            raise ColumnError(f"{path}: --{name} is for {', '.join(sorted(takers))}; a {suffix} file has none.")
    module, opener = SUFFIXES[suffix]
    opened: Source = getattr(importlib.import_module(f"uncone.data.vectors.{module}"), opener)(path, options)
    return opened if suffix in _COLUMNS else _with_names(opened, options)


def _with_names(source: Source, options: Options) -> Source:
    texts = read_names(options.text, "text") if options.text else None
    return NamedRows.of(source, texts, read_names(options.label, "label") if options.label else None)


def _open_many(paths: Sequence[Path], name: str, options: Options) -> Source:
    names_inside = suffix_of(paths[0]) in _COLUMNS
    inner = options if names_inside else Options(column=options.column, tensor=options.tensor)
    first = _open_file(paths[0], inner)
    # Others need not be looked into for their dimensions: a row of another length is an error when it is read.
    others = replace(inner, dim=first.dim)
    with ThreadPoolExecutor(_OPENED) as threads:
        shards = Shards([first, *threads.map(lambda path: _open_file(path, others), paths[1:])], name)
    return shards if names_inside else _with_names(shards, options)


def suffix_of(path: Path) -> str | None:
    """The ending that tells the kind of a file, without .gz or .zst.

    >>> suffix_of(Path("a.jsonl.gz")), suffix_of(Path("b.md"))
    ('.jsonl', None)
    """
    return plain_suffix(path, list(SUFFIXES), [suffix for suffix in SUFFIXES if suffix not in _ZIPPED]) or None
