"""Whether a source of `similarity` holds texts or vectors, where nobody said so."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from uncone.data.open import open_source, suffix_of
from uncone.data.source import Options, Source
from uncone.data.texts.texts import TextSource, text_suffix
from uncone.errors import SourceError

__all__ = ["holds_vectors"]


def holds_vectors(source: Any, text: str | None, label: str | None) -> bool:  # noqa: ANN401 - as for similarity
    """Whether a source that nobody said more about holds vectors: a list column, or a file of nothing else.

    Columns of single numbers beside a text are no vector: they are lengths, scores and years.
    """
    if isinstance(source, str | os.PathLike):
        return _file_holds_vectors(Path(source), text, label)
    if isinstance(source, Source):
        return True
    if isinstance(source, TextSource | Mapping) or hasattr(source, "columns"):
        return False
    # Looking into an iterator would take its first block away.
    first = next(iter(source), None) if isinstance(source, Iterable) and not isinstance(source, Iterator) else None
    return not isinstance(first, str)


def _file_holds_vectors(path: Path, text: str | None, label: str | None) -> bool:
    if path.is_dir():
        return not any(map(text_suffix, path.iterdir()))
    if text_suffix(path) is None or text_suffix(path) == ".txt" or not path.is_file():
        return text_suffix(path) is None and suffix_of(path) is not None
    try:
        found = open_source(path, Options(None, None, text, label))
    except SourceError:
        return False  # whoever reads it as texts says what is wrong
    return found.kind != "table" or (found.note or "").startswith("vectors from column")
