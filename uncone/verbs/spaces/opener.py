"""Sources as the user names them, opened for a saved repair: texts through its model, or vectors."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from uncone.analysis.number_format import count
from uncone.data.batch import Matrix
from uncone.data.lazy_property import once
from uncone.data.open import open_source, suffix_of
from uncone.data.source import Options, Source
from uncone.data.storage.path import ObjectPath, path_of
from uncone.data.texts.texts import ListTexts, TextSource, text_suffix
from uncone.errors import OptionError, SourceError
from uncone.repairs.saving import Saved, load
from uncone.verbs.options.shared import SpaceOptions
from uncone.verbs.spaces.encoding import Encoding, encoded, open_texts_of
from uncone.verbs.spaces.repaired import check_fitted, space_like, space_of

__all__ = ["SpaceOpener", "last_part"]

_WITH_COLUMNS = {".npz", ".parquet", ".jsonl", ".ndjson", ".csv", ".tsv"}


@dataclass(frozen=True)
class SpaceOpener:
    """Opens sources by their options, through a repair if there is one, and queries with their own prompt."""

    options: SpaceOptions
    repair: str | os.PathLike[str] | None = None
    query_prompt: str | None = None

    @once
    def saved(self) -> Saved | None:
        """The repair."""
        return None if self.repair is None else load(self.repair)

    @once
    def encoding(self) -> Encoding | None:
        """The model and how it is used; None for vectors."""
        return self.options.encoding

    def space(self, source: Any, *, query: bool = False, least: int = 2) -> tuple[Source, dict[str, Any]]:  # noqa: ANN401
        """The vectors of a source, repaired if there is a repair, and the identity of their encoder.

        Raises:
            OtherSpaceError: the repair was fitted for other vectors.
            SourceError: it cannot be read.
        """
        if self.encoding is None:
            space = space_of(open_source(source, self._options(source)))
        else:
            encoding, prompt = self.encoding, self.query_prompt if query else None
            if prompt is not None:
                encoding = replace(encoding, prompt=prompt)
            texts = self._texts(source)
            if self.saved is None or self.repair is None:
                space = space_of(texts, encoding) if least > 1 else space_of(encoded(texts, encoding, least=1))
            else:
                provenance = self.saved.provenance
                if prompt is not None:
                    provenance = {**provenance, "prompt": prompt}
                elif encoding.prompt:
                    check_fitted(provenance, prompt=encoding.prompt)
                space = space_like(texts, encoding, provenance, self.repair)
        if self.saved is None:
            return space.before, space.identity()
        space.check_fits(self.saved.repair)
        return space.after(self.saved.repair), space.identity()

    def names(self, source: Any, column: str | None, option: str = "--id") -> list[str] | None:  # noqa: ANN401
        """The value of a column (or the line of a file) for each row; None without a column.

        Raises:
            SourceError: there is none of that name; the message speaks of the `option` that it was named with.
        """
        if column is None:
            return None
        try:
            return self._names(source, column)
        except SourceError as error:  # read like labels
            raise type(error)(str(error).replace("for --label", f"for {option}")) from error

    def documents(self, source: Any, column: str | None) -> tuple[list[str] | None, list[str]]:  # noqa: ANN401
        """The document of each row, and a note on rows that name none, each of which counts as its own document.

        Raises:
            SourceError: there is no such column.
        """
        names = self.names(source, column, "--document")
        blank = [row for row, name in enumerate(names or ()) if not (name or "").strip()]
        if names is None or not blank:
            return names, []
        for row in blank:
            names[row] = f"\0row {row}"
        share = f"{len(blank):,} of {count(len(names), 'row')}"
        return names, [f"{share} in {column} name no document; each of these counts as one of its own."]

    def labeled(self, source: Any, column: str) -> Source:  # noqa: ANN401 - as for space
        """The vectors of a source with a name of each row as its label: a column, or a file with a line per row."""
        return open_source(source, replace(self._options(source), label=column))

    def _names(self, source: Any, column: str) -> list[str]:  # noqa: ANN401 - as for space
        if self.encoding is not None:
            limit = self.encoding.limit
            rows = self._texts(source, column).read()
            return [label or "" for number, _, label in rows if limit is None or number < limit]
        names: list[str] = []
        for part in self.labeled(source, column).read():
            if part.labels is None:
                raise OptionError(
                    f"{source} has no row names in {column!r}. Name a column, or a file with one name per line."
                )
            names += part.labels
        return names

    def vectors(self, texts: Sequence[str], *, query: bool = False) -> Matrix:
        """The vectors of texts in memory, in their order; each distinct one is encoded once."""
        assert self.encoding is not None
        distinct = {text: row for row, text in enumerate(dict.fromkeys(texts))}
        bare = replace(self, options=replace(self.options, text=(), limit=None))
        source, _ = bare.space(ListTexts(list(distinct)), query=query, least=1)
        vectors = np.concatenate([np.array(rows.vectors, np.float32) for rows in source.read()])
        return np.asarray(vectors[[distinct[text] for text in texts]])

    def _texts(self, source: Any, label: str | None = None) -> TextSource:  # noqa: ANN401 - as for space
        """The texts of a source; column names are ignored for a source without columns, such as lines or a corpus."""
        bare = isinstance(source, str | os.PathLike) and _bare(os.fspath(source))
        return open_texts_of(source, None if bare else self.options.text or None, label, self.options.data)

    def _options(self, source: Any) -> Options:  # noqa: ANN401 - as for space
        """The options that apply to this kind of file; a second file may be of another kind."""
        ending = suffix_of(_as_path(source))
        column = self.options.column if ending is None or ending in _WITH_COLUMNS else None
        return Options(column, self.options.tensor if ending in (None, ".safetensors") else None)


def last_part(name: str) -> str:
    """The last part of a path.

    >>> last_part("vectors/new.npy"), last_part("shards/")
    ('new.npy', 'shards')
    """
    return name.rstrip("/").rsplit("/", 1)[-1] or name


def _bare(path: str) -> bool:
    ending = text_suffix(_as_path(path))
    return ending == ".txt" or path == "-" or (ending is None and not _is_folder(path))


def _is_folder(path: str) -> bool:
    where = path_of(path)
    return where.is_dir() if isinstance(where, ObjectPath) else os.path.isdir(path)  # noqa: PTH112 - never raises


def _as_path(source: object) -> Path:
    """The path of a source; an empty one if it has none."""
    return path_of(source) if isinstance(source, str | os.PathLike) else Path()
