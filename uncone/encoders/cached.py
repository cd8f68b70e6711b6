"""Texts of which only those that were never seen go through the model; the others come from the cache."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uncone.data.batch import Matrix
from uncone.data.cache.cache import VectorCache
from uncone.data.source import Rows, Source
from uncone.encoders.source import ModelTexts

__all__ = ["CachedTexts", "space_identity"]


class CachedTexts(Source):
    """The rows of `source`, each distinct text encoded once in its life, in the same order and with the same names.

    A text's vector is the one of the batch in which it was first encoded. Batches pad differently, so with and without
    the cache the digits agree to the rounding of float32 (about 1e-6 of the length), not to the bit. Whether a text was
    truncated is kept with it, so that the note says the same.

    `encoded` and `known` count the texts of the last reading; `notes` tells what went wrong with the cache.
    """

    def __init__(self, source: ModelTexts, cache: VectorCache) -> None:
        self.source = source
        self.cache = cache
        self.name, self.kind, self.dtype = source.name, source.kind, source.dtype
        self.dim, self.rows, self.note = source.dim, source.rows, source.note
        self.encoded = self.known = 0
        # One number more in each row: whether the text was truncated.
        self.space = cache.space(space_identity(source), source.dim + 1)

    @property
    def notes(self) -> list[str]:
        """What went wrong with the cache."""
        return self.cache.notes

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Rows]:
        self.encoded = self.known = 0
        yield from self.source.rows_of(self.vectors_of)
        self.note = self.source.note

    def vectors_of(self, texts: Sequence[str]) -> tuple[Matrix, NDArray[np.bool_]]:
        """The vectors of texts that are not blank, and which of these were truncated."""
        distinct = {text: i for i, text in enumerate(dict.fromkeys(texts))}
        names = list(distinct)
        known, rows = self.space.find(names)
        missing = np.flatnonzero(~known)
        if len(missing):
            self.source.prepare()
            new = [names[i] for i in missing.tolist()]
            vectors, cut = self.source.encode(new)
            rows[missing] = np.column_stack([vectors, cut])
            self.space.put(new, rows[missing])
        self.encoded += len(missing)
        self.known += len(names) - len(missing)
        whole = rows[[distinct[text] for text in texts]]
        return whole[:, :-1], whole[:, -1] > 0


def space_identity(source: ModelTexts) -> dict[str, Any]:
    """Everything that the vectors of a source depend on beside the texts, as plain JSON."""
    name = source.model
    path = str(Path(name).resolve()) if os.path.exists(name) else None  # noqa: PTH110 - never raises
    return {"model": name, "path": path, "dim": source.dim, **source.identity(), "content": _content(source.files)}


def _content(files: Iterable[Path]) -> str:
    """A hash over every byte of a model: a fine-tuned head alone must give another space."""
    digest = hashlib.sha256()
    for path in sorted(files, key=lambda path: path.name):
        found = path.stat()
        digest.update(f"{path.name} {_file_content(str(path), found.st_size, found.st_mtime_ns)}\n".encode())
    return digest.hexdigest()[:32]


@lru_cache(maxsize=1024)
def _file_content(path: str, size: int, changed: int) -> str:
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
