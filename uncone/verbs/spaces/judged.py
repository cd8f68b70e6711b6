"""Vectors with judgments: the sides of a search, or pairs of rows, opened by ids or row numbers and read as streams."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from uncone.analysis.cosine.units import unit_rows
from uncone.analysis.number_format import count
from uncone.data.lazy_property import once
from uncone.data.source import Source
from uncone.data.tables.fields import clipped
from uncone.data.tasks.pair_file import open_pair_file
from uncone.data.tasks.qrels import Judgments, open_judgments
from uncone.data.tasks.sts import PairTask
from uncone.errors import ColumnError, FormatError, NoUsableRowsError, OptionError, ShapeError, SourceError
from uncone.evaluation.vectors.search import SearchProblem
from uncone.verbs.options.evaluate import EvaluateOptions
from uncone.verbs.options.shared import SpaceOptions
from uncone.verbs.spaces.encoding import gather_rows, row_count
from uncone.verbs.spaces.opener import SpaceOpener

__all__ = ["JudgedPairs", "Side", "open_pairs_of_rows", "open_search", "open_side"]

_EXAMPLES = 3
"""Examples in a message."""


@dataclass(frozen=True)
class Side:
    """Vectors whose rows have names: ids of a column, of a file or in memory, or the row numbers from 0 on.

    `noun` is what a row stands for, `flag` the option that names the ids.
    """

    source: Any
    opener: SpaceOpener
    noun: str
    flag: str
    ids: Any = None
    text: Any = None

    @once
    def vectors(self) -> Source:
        """The vectors.

        Raises:
            OptionError: they can be read only once.
        """
        source, _ = self.opener.space(self.source, least=1)
        if not source.rereadable:
            raise OptionError(
                f"{source.name} can be read only once, but an evaluation reads it several times. Save it to a file "
                "first."
            )
        return source

    @once
    def rows(self) -> int:
        """How many there are."""
        return row_count(self.vectors)

    def places(self, names: Collection[str]) -> dict[str, int]:
        """The rows of those names that are there.

        Raises:
            FormatError: ids are repeated, or the names seem to count from 1 where rows count from 0.
        """
        if self.ids is None:
            return self._numbers(names)
        places: dict[str, int] = {}
        hashes, first = [], 0
        for block in self._blocks(self.ids):
            places |= {name: row for row, name in enumerate(block, first) if name in names}
            # Ids themselves would fill the memory; of two that share 64 bits, one is all but surely a copy.
            hashes.append(np.array([hash(name) for name in block], np.int64))
            first += len(block)
        distinct = len(np.unique(np.concatenate(hashes))) if hashes else 0
        if distinct < first:
            raise FormatError(
                f"Ids must be unique, but {first - distinct:,} of the {first:,} ids of {self.vectors.name} are "
                f"repeated. Name another column with {self.flag}."
            )
        return places

    def _numbers(self, names: Collection[str]) -> dict[str, int]:
        n = self.rows
        places = {name: int(name) for name in names if name.isdecimal() and len(name) < 19 and int(name) < n}
        if len(places) < len(names) and str(n) in names and "0" not in names and all(map(str.isdecimal, names)):
            raise FormatError(
                f"The {self.noun} ids run from 1 to {n:,}, but without ids the rows of {self.vectors.name} are counted "
                f"from 0. Name the ids with {self.flag}, or subtract 1."
            )
        return places

    def describe(self, rows: Sequence[int]) -> dict[int, tuple[str, str]]:
        """The id and the text of some rows; the number stands for an id, and nothing for a text, if there is none."""
        ids = self._some(self.ids, rows) if self.ids is not None else {row: str(row) for row in rows}
        texts = self._some(self.text, rows) if self.text is not None else {}
        return {row: (ids[row], texts.get(row, "")) for row in rows}

    def _some(self, names: Any, rows: Sequence[int]) -> dict[int, str]:  # noqa: ANN401 - as _blocks
        places, first = set(rows), 0
        texts_by_row: dict[int, str] = {}
        for block in self._blocks(names):
            texts_by_row |= {row: block[row - first] for row in places if first <= row < first + len(block)}
            first += len(block)
        return texts_by_row

    def _blocks(self, names: Any) -> Iterator[Sequence[str]]:  # noqa: ANN401 - a column, a file, or a list in memory
        """The ids or the texts of all rows, a block at a time."""
        if not isinstance(names, str | os.PathLike):
            listed = [str(name).strip() for name in names]
            if len(listed) != self.rows:
                raise ShapeError(
                    f"{self.vectors.name} has {self.rows:,} vectors but there are {len(listed):,} names: give one each."
                )
            yield listed
            return
        flag = "--text" if names is self.text else self.flag
        try:
            for part in self.opener.labeled(self.source, os.fspath(names)).read():
                if part.labels is None:
                    raise OptionError(
                        f"{self.vectors.name} has no {clipped(os.fspath(names))!r} for {flag}. Name a column, or a "
                        "file with a line per vector."
                    )
                yield [label or "" for label in part.labels]
        except SourceError as error:  # read like labels
            text = str(error).replace("for --label", f"for {flag}").replace("labels: give", f"names in {names}: give")
            raise type(error)(text) from error

    @property
    def numbering(self) -> str:
        """How the rows are named, for a message."""
        if self.ids is None:
            return f"rows are numbered from 0 to {self.rows - 1:,}"
        name = next((block[0] for block in self._blocks(self.ids) if block), "")
        return f"the ids begin with {clipped(name)!r}"


def open_side(source: Any, noun: str, options: EvaluateOptions, *, queries: bool = False) -> Side:  # noqa: ANN401
    """The vectors of one side, by the options of that side."""
    space = SpaceOptions(column=options.column, tensor=options.tensor)
    flag, ids = ("--query-id", options.query_ids) if queries else ("--id", options.ids)
    return Side(source, SpaceOpener(space), noun, flag, ids, None if queries else options.text)


def open_search(options: EvaluateOptions) -> tuple[SearchProblem, Side, Side, list[str]]:
    """The search, its documents and queries, and notes on what doesn't match.

    Raises:
        ShapeError: queries and documents have different dimensions.
        FormatError: no query has a relevant document among the vectors.
        SourceError: something cannot be read.
    """
    docs = open_side(options.vectors, "document", options)
    queries = open_side(options.queries, "query", options, queries=True)
    judgments = open_judgments(options.qrels, options.relevant)
    if queries.vectors.dim != docs.vectors.dim:
        raise ShapeError(
            f"Queries have {queries.vectors.dim} dimensions and documents {docs.vectors.dim}, so they can't be "
            "compared. Were they made by the same model?"
        )
    query_rows, doc_rows = queries.places(judgments.grades.keys()), docs.places(judgments.docs)
    notes = [
        *_missing(queries, judgments, judgments.grades.keys(), query_rows, ("was left out", "were left out")),
        *_missing(docs, judgments, judgments.docs, doc_rows, ("counts as not found", "count as not found")),
    ]
    # A document that is not there has a row of its own, which no search finds.
    rows = {doc: doc_rows.get(doc, -2 - at) for at, doc in enumerate(judgments.docs)}
    gains = {name: judgments.gains(name) for name in sorted(query_rows, key=query_rows.__getitem__)}
    answerable = {name: {rows[doc]: grade for doc, grade in own.items()} for name, own in gains.items() if own}
    _check_answers(judgments, answerable, docs)
    left_out = queries.rows - len(answerable)
    if left_out:
        least = "" if options.relevant == 1 else f" of grade {options.relevant} or more"
        verb = "has" if left_out == 1 else "have"
        share = f"{left_out:,} of {count(queries.rows, 'query')}".replace("querys", "queries")
        notes.append(f"{share} {verb} no relevant document{least} and {'was' if left_out == 1 else 'were'} left out.")
    matrix = gather_rows(queries.vectors, np.array([query_rows[name] for name in answerable], np.int64))
    problem = SearchProblem(
        judgments.name, matrix, tuple(answerable), tuple(answerable.values()), docs.vectors, docs.describe
    )
    return problem, docs, queries, notes


def _missing(
    side: Side, judgments: Judgments, names: Collection[str], places: Mapping[str, int], fates: tuple[str, str]
) -> list[str]:
    """A note on judged rows that are not among the vectors.

    Raises:
        FormatError: none is.
    """
    missing = [name for name in names if name not in places]
    examples = ", ".join(repr(clipped(name)) for name in missing[:_EXAMPLES])
    nouns = {"query": "queries"}.get(side.noun, f"{side.noun}s")
    if not places:
        raise FormatError(
            f"{judgments.name}: none of its {len(missing):,} {nouns} is among the {side.rows:,} vectors of "
            f"{side.vectors.name}: it has {examples}; {side.numbering}. Name the ids with {side.flag}."
        )
    if not missing:
        return []
    verb, fate = ("is", fates[0]) if len(missing) == 1 else ("are", fates[1])
    share = f"{len(missing):,} of the {len(names):,} judged {nouns}"
    return [f"{share} {verb} not among the vectors and {fate}, such as {examples}."]


def _check_answers(judgments: Judgments, answerable: Mapping[str, Mapping[int, int]], docs: Side) -> None:
    if any(row >= 0 for own in answerable.values() for row in own):
        return
    least = f"grade {judgments.relevant} or more"
    raise FormatError(
        f"{judgments.name}: no query has a relevant document ({least}) among the {docs.rows:,} vectors. Do the ids "
        "match, and is --relevant low enough?"
    )


@dataclass(frozen=True, eq=False)
class JudgedPairs:
    """Pairs of rows with scores or labels, the vectors that they name, and notes on what was left out."""

    task: PairTask
    names: Sequence[str]
    matrix: np.ndarray[Any, np.dtype[np.float32]]
    notes: Sequence[str]


def open_pairs_of_rows(side: Side, options: EvaluateOptions) -> JudgedPairs:
    """The pairs, and the vectors that they name. Those of a vector without a direction are left out.

    Raises:
        FormatError: a pair names a vector that is not there.
        SourceError: something cannot be read.
    """
    columns = None if options.left is None or options.right is None else (options.left, options.right)
    pairs = open_pair_file(options.pairs, ids=columns, label=options.score)
    # Columns that are called like texts may hold ids.
    ids = pairs.texts if pairs.ids is None and side.ids is not None else pairs.ids
    if ids is None:
        raise ColumnError(
            f"{pairs.name} has no row numbers in {', '.join(pairs.columns)}. Name the columns with --left and --right, "
            "or evaluate a model on pairs of texts with --dataset."
        )
    left, right = ([name.removesuffix(".0") if side.ids is None else name for name in own] for own in ids)
    names = list(dict.fromkeys([*left, *right]))
    places = side.places(names)
    unknown = [name for name in names if name not in places]
    if unknown:
        examples = ", ".join(repr(clipped(name)) for name in unknown[:_EXAMPLES])
        raise FormatError(
            f"{pairs.name}: {len(unknown):,} of the {len(names):,} rows that it names are not among the vectors of "
            f"{side.vectors.name}, such as {examples}; {side.numbering}. Name the ids with {side.flag}."
        )
    matrix = gather_rows(side.vectors, np.array([places[name] for name in names], np.int64))
    lost = {name for name, unit in zip(names, unit_rows(matrix)[:, 0], strict=True) if np.isnan(unit)}
    usable = [at for at in range(len(pairs)) if left[at] not in lost and right[at] not in lost]
    notes = list(pairs.notes)
    if len(usable) < len(pairs):
        reason = "a vector that is zero or holds NaN, infinity or huge numbers"
        if not usable:
            raise NoUsableRowsError(f"{pairs.name}: every pair has {reason}. Check how the vectors were made.")
        notes.append(f"{len(pairs) - len(usable):,} of {len(pairs):,} pairs have {reason}, and were left out.")
    left, right = ([own[at] for at in usable] for own in (left, right))
    task = PairTask(pairs.name, left, right, pairs.labels[usable], [pairs.name] * len(usable))
    rows = [at for at, name in enumerate(names) if name not in lost]
    return JudgedPairs(task, [names[at] for at in rows], matrix[rows], notes)
