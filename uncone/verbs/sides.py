"""What a score is the cosine of: two rows of one space, or a query and a document; raw, or seen through a repair."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from uncone.analysis.number_format import count
from uncone.data.lazy_property import once
from uncone.data.open import open_source, suffix_of
from uncone.data.source import Options, Source
from uncone.data.texts.texts import ListTexts, TextSource, text_suffix
from uncone.errors import FormatError, OptionError, SourceError
from uncone.repairs.saving import Saved, load
from uncone.verbs.encoding import Encoding, Progress, encoded, open_texts_of
from uncone.verbs.options.source import SpaceOptions
from uncone.verbs.repaired_spaces import check_fitted, space_like, space_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from uncone.data.batch import IntVector, Matrix
    from uncone.data.tasks.pair_file import PairFile

__all__ = ["Opening", "Sides", "last_part"]

_WITH_COLUMNS = {".npz", ".parquet", ".jsonl", ".ndjson", ".csv", ".tsv"}


@dataclass(frozen=True)
class Opening:
    """How sources are opened: by their options, through a repair if there is one, queries with their own prompt."""

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
        """The vectors of a source, repaired where that is asked for, and what is known of how they were made.

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
                known = self.saved.provenance
                if prompt is not None:
                    known = {**known, "prompt": prompt}
                elif encoding.prompt:
                    check_fitted(known, prompt=encoding.prompt)
                space = space_like(texts, encoding, known, self.repair)
        if self.saved is None:
            return space.before, space.known()
        space.check_fits(self.saved.repair)
        return space.after(self.saved.repair), space.known()

    def names(self, source: Any, column: str | None, option: str = "--id") -> list[str] | None:  # noqa: ANN401
        """What a column (or a file of lines) says of each row; None when there is no such column to read.

        Raises:
            SourceError: there is none of that name; the message speaks of the `option` that it was named with.
        """
        if column is None:
            return None
        try:
            return self._names(source, column)
        except SourceError as error:  # they are read as labels are
            raise type(error)(str(error).replace("for --label", f"for {option}")) from error

    def documents(self, source: Any, column: str | None) -> tuple[list[str] | None, list[str]]:  # noqa: ANN401
        """The document of each row, and a note of the rows that name none: each of them is one of its own.

        Raises:
            SourceError: there is no such column.
        """
        found = self.names(source, column, "--document")
        blank = [row for row, name in enumerate(found or ()) if not (name or "").strip()]
        if found is None or not blank:
            return found, []
        for row in blank:
            found[row] = f"\0row {row}"
        told = f"{len(blank):,} of {count(len(found), 'row')}"
        return found, [f"{told} in {column} name no document; each of these counts as one of its own."]

    def _names(self, source: Any, column: str) -> list[str]:  # noqa: ANN401 - as for space
        if self.encoding is not None:
            limit = self.encoding.limit
            rows = self._texts(source, column).read()
            return [label or "" for number, _, label in rows if limit is None or number < limit]
        found: list[str] = []
        for part in open_source(source, replace(self._options(source), label=column)).read():
            if part.labels is None:
                raise OptionError(f"{source} has no names of rows in {column!r}. Name a column, or a file of lines.")
            found += part.labels
        return found

    def vectors(self, texts: Sequence[str], *, query: bool = False) -> Matrix:
        """The vectors of texts in memory, in their order; each distinct one is encoded once."""
        assert self.encoding is not None
        distinct = {text: row for row, text in enumerate(dict.fromkeys(texts))}
        bare = replace(self, options=replace(self.options, text=(), limit=None))
        source, _ = bare.space(ListTexts(list(distinct)), query=query, least=1)
        found = np.concatenate([np.array(rows.vectors, np.float32) for rows in source.read()])
        return np.asarray(found[[distinct[text] for text in texts]])

    def _texts(self, source: Any, label: str | None = None) -> TextSource:  # noqa: ANN401 - as for space
        """The texts of a source; one without columns, such as lines or a corpus, takes none of the names."""
        bare = isinstance(source, str | os.PathLike) and _bare(os.fspath(source))
        return open_texts_of(source, None if bare else self.options.text or None, label, self.options.data)

    def _options(self, source: Any) -> Options:  # noqa: ANN401 - as for space
        """A file beside the first may be of another kind: it takes the names that its kind has."""
        ending = suffix_of(_as_path(source))
        column = self.options.column if ending is None or ending in _WITH_COLUMNS else None
        return Options(column, self.options.tensor if ending in (None, ".safetensors") else None)


@dataclass
class Sides:
    """The two sides of a score. `queries` is None where both are rows of `documents`.

    `known` is what is known of the encoder; `origins` are what the user named, first that of the queries.
    """

    opening: Opening
    documents: Source
    queries: Source | None = None
    known: Mapping[str, Any] = field(default_factory=dict)
    origins: tuple[Any, Any] = (None, None)

    @property
    def name(self) -> str:
        """The names of both sides."""
        if self.queries is None:
            return self.documents.name
        return " with ".join(last_part(one.name) for one in (self.queries, self.documents))

    def cosines(
        self, pairs: PairFile, ids: str | None = None, by_rows: bool = False, progress: Progress | None = None
    ) -> NDArray[np.float64]:
        """The score of each labeled pair; NaN where a vector has no direction.

        Raises:
            OptionError: pairs of texts, and no model to encode them.
            FormatError: the pairs name rows that are not there.
        """
        from uncone.analysis.cosine.units import pair_cosines

        if self.opening.encoding is not None and pairs.texts is not None and not by_rows:
            left, right = pairs.texts
            if self.queries is not None:
                return pair_cosines(self.opening.vectors(left, query=True), self.opening.vectors(right))
            both = self.opening.vectors([*left, *right])
            return pair_cosines(both[: len(left)], both[len(left) :])
        if pairs.ids is None:
            raise OptionError(
                f"{pairs.name} holds pairs of texts, and vectors have none: name a model with --model, or two columns "
                "of row numbers with --left and --right."
            )
        if self.queries is None:
            rows = pairs.rows(_length(self.documents), self.opening.names(self.origins[1], ids))
            wanted = _gathered(self.documents, np.concatenate(rows), progress)
            return pair_cosines(wanted[: len(pairs)], wanted[len(pairs) :])
        found = []
        for place, source in enumerate((self.queries, self.documents)):
            side = replace(pairs, ids=(pairs.ids[place], pairs.ids[place]))
            one = side.rows(_length(source), self.opening.names(self.origins[place], ids))[0]
            found.append(_gathered(source, one, progress))
        return pair_cosines(*found)


def last_part(name: str) -> str:
    """The last part of a path.

    >>> last_part("vectors/new.npy"), last_part("shards/")
    ('new.npy', 'shards')
    """
    return name.rstrip("/").rsplit("/", 1)[-1] or name


def _bare(path: str) -> bool:
    ending = text_suffix(_as_path(path))
    return ending == ".txt" or path == "-" or (ending is None and not os.path.isdir(path))  # noqa: PTH112 - never raises


def _as_path(source: object) -> Any:  # noqa: ANN401 - a path, or one that has no ending
    from pathlib import Path

    return Path(os.fspath(source)) if isinstance(source, str | os.PathLike) else Path()


def _length(source: Source) -> int:
    return source.rows if source.rows is not None else sum(len(part.vectors) for part in source.read())


def _gathered(source: Source, rows: IntVector, progress: Progress | None = None) -> Matrix:
    """Some rows of a stream, each as often as it is named, in that order."""
    wanted, places = np.unique(rows, return_inverse=True)
    found: Matrix = np.full((len(wanted), source.dim), np.nan, np.float32)
    first = 0
    for part in source.read():
        inside = slice(*np.searchsorted(wanted, [first, first + len(part.vectors)]).tolist())
        found[inside] = np.asarray(part.vectors)[wanted[inside] - first]
        first += len(part.vectors)
        if progress is not None:
            progress("labeled pairs", len(part.vectors), source.rows)
    if first <= (wanted[-1] if len(wanted) else -1):
        raise FormatError(f"{source.name} has {first:,} rows, and a pair names row {wanted[-1]:,}.")
    return np.asarray(found[places])
