"""Labeled pairs in a table: two texts or the ids of two vectors, and whether they are similar."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uncone.data.batch import IntVector
from uncone.data.storage.path import path_of
from uncone.data.tables.fields import clipped, finite_number, list_names
from uncone.data.tables.memory import is_path
from uncone.data.tables.read import Table, read_table
from uncone.data.tasks.sts import LABEL_WORDS, TEXT_PAIRS, open_pairs
from uncone.errors import ColumnError, FormatError, OptionError

__all__ = ["Columns", "PairFile", "open_pair_file"]

Columns = str | Sequence[str]
"""Two columns: their names, or both in one string with a comma between."""

_IDS = (
    ("id1", "id2"),
    ("id_1", "id_2"),
    ("id_a", "id_b"),
    ("qid1", "qid2"),
    ("row1", "row2"),
    ("row_1", "row_2"),
    ("left_id", "right_id"),
    ("query_id", "document_id"),
    ("query_id", "doc_id"),
    ("query-id", "corpus-id"),
    ("i", "j"),
)
_JUDGMENTS = (("query_id", "document_id"), ("query_id", "doc_id"), ("query-id", "corpus-id"))
"""Those of relevance judgments (qrels)."""
_LABELS = (
    "label",
    "score",
    "similar",
    "is_duplicate",
    "duplicate",
    "similarity",
    "alike",
    "match",
    "relevance",
    "relatedness_score",
    "gold",
    "gold_label",
)
_EXAMPLES = 3  # examples in a message


@dataclass(frozen=True, eq=False)
class PairFile:
    """Pairs with a label each (n,): 1 alike and 0 unlike, or a grade.

    `texts` are the first and the second texts, `ids` the names of the first and the second rows; a file may have both.
    `columns` are those that were read, the label last; `notes` say what was left out.
    """

    name: str
    labels: NDArray[np.float64]
    texts: tuple[list[str], list[str]] | None
    ids: tuple[list[str], list[str]] | None
    columns: tuple[str, ...]
    notes: Sequence[str] = ()

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def has_judgments(self) -> bool:
        """Whether these are judgments of documents for queries (qrels), by the names of the columns."""
        return self.ids is not None and tuple(_lower(self.columns[:2])) in _JUDGMENTS

    def rows(self, n: int, ids: Sequence[str] | None = None) -> tuple[IntVector, IntVector]:
        """The rows of the pairs among n vectors: by the `ids` of these, or by numbers that count from 0.

        Raises:
            ColumnError: the file names no rows.
            FormatError: there are no such rows, or two of one name.
        """
        if self.ids is None:
            have = ", ".join(self.columns)
            raise ColumnError(
                f"{self.name} has no ids or row numbers in {have}. Name two columns of ids or row numbers."
            )
        rows_by_id = {str(row): row for row in range(n)} if ids is None else self._places(ids)
        # 7.0 is what a table makes of the number 7 where another cell of its column is blank.
        sides = [[name.removesuffix(".0") if ids is None else name for name in side] for side in self.ids]
        unknown = list(dict.fromkeys(name for side in sides for name in side if name not in rows_by_id))
        if unknown:
            examples = ", ".join(repr(clipped(name)) for name in unknown[:_EXAMPLES])
            first, last = ("0", f"{n - 1:,}") if ids is None else (repr(clipped(ids[0])), repr(clipped(ids[-1])))
            numbering = "rows are numbered" if ids is None else "ids go"
            raise FormatError(
                f"{self.name} has {len(unknown):,} unknown {'id' if len(unknown) == 1 else 'ids'}, such as {examples}; "
                f"the {numbering} from {first} to {last}. Do the pairs belong to these vectors?"
            )
        left, right = (np.array([rows_by_id[name] for name in side], np.int64) for side in sides)
        return left, right

    def _places(self, ids: Sequence[str]) -> dict[str, int]:
        rows_by_id = {str(name): row for row, name in enumerate(ids)}
        if len(rows_by_id) < len(ids):
            twice = next(str(name) for row, name in enumerate(ids) if rows_by_id[str(name)] != row)
            n = len(ids) - len(rows_by_id)
            raise FormatError(
                f"Ids must be unique, but {n:,} are repeated, such as {clipped(twice)!r}: name another column."
            )
        return rows_by_id


def open_pair_file(
    path: Any,  # noqa: ANN401 - a path, or a table in memory
    *,
    text: Columns | None = None,
    ids: Columns | None = None,
    label: str | None = None,
    data: str | os.PathLike[str] | None = None,
) -> PairFile:
    """Pairs of a .csv, .tsv, .jsonl or .parquet file, or of a set of sentence similarity by name, such as `stsb:dev`.

    Columns that are not named are guessed by the usual names: sentence1 and sentence2, id1 and id2, label, and so on;
    a label is also the only column beside the pair.
    Columns that are guessed to be texts, but hold whole numbers only, name rows.

    Args:
        path: the file, the name of a set, or a table in memory.
        text: the two columns of texts; 1, 2 and 3 are the columns of a table without a header.
        ids: the two columns that name rows, by number from 0 or by id.
        label: the column of labels: numbers, or words such as yes and no.
        data: the folder of the sets, else $UNCONE_DATA.

    Raises:
        SourceError: the file or a column is not there, or a row is not right; the message tells its line.
        OptionError: one column is named where we need two.
    """
    if is_path(path) and not path_of(path).suffix and not path_of(path).is_file():
        task = open_pairs(path, data)
        columns = ("sentence1", "sentence2", "score")
        return PairFile(f"{task.name}:{task.split}", task.scores, (list(task.left), list(task.right)), None, columns)
    text_pair, id_pair = _two(text, "texts"), _two(ids, "ids")
    table = read_table(path, (*text_pair, *id_pair, label))
    texts, rows = _pair_columns(table, text_pair, id_pair)
    pair_columns = (*texts, *rows, _label_column(table, label, (*texts, *rows)))
    if len(set(pair_columns)) < len(pair_columns):
        raise FormatError(f"{table.path}: a pair and its label need three columns, not {', '.join(pair_columns)}.")
    labels = np.array([_label(value, where) for where, value in table.column(pair_columns[-1])], np.float64)
    sides = (table.texts(texts[0]), table.texts(texts[1])) if texts else None
    names = (_names(table, rows[0]), _names(table, rows[1])) if rows else None
    return _without_empty(PairFile(table.path.name, labels, sides, names, pair_columns))


def _two(columns: Columns | None, content: str) -> tuple[str, ...]:
    if columns is None:
        return ()
    names = tuple(part.strip() for part in columns.split(",")) if isinstance(columns, str) else tuple(columns)
    if len(names) != 2 or names[0] == names[1]:
        text = ", ".join(names)
        raise OptionError(f"Pairs need two columns of {content}, not {text!r}. Name both, with a comma between.")
    return names


def _pair_columns(
    table: Table, texts: tuple[str, ...], ids: tuple[str, ...]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The columns of texts and those of ids; only what was asked for, where something was."""
    if texts or ids:
        places = ("first", "second")
        texts = tuple(table.pick(name, (), f"{place} text") for name, place in zip(texts, places, strict=False))
        ids = tuple(table.pick(name, (), f"{place} row") for name, place in zip(ids, places, strict=False))
        return texts, ids
    texts, ids = _usual(table, TEXT_PAIRS), _usual(table, _IDS)
    if texts and not ids and all(_whole(value) for name in texts for _, value in table.column(name)):
        texts, ids = (), texts
    if not texts and not ids:
        raise ColumnError(
            f"{table.path} has no columns that are clearly the pairs, such as sentence1 and sentence2 or id1 and id2; "
            f"it has {list_names(table.names)}. Name the columns, or number them 1, 2, 3 if there is no header."
        )
    return texts, ids


def _label_column(table: Table, label: str | None, taken_columns: Sequence[str]) -> str:
    """The column that was asked for, one of a usual name, or the only one that is left."""
    free = [name for name in table.names if name not in taken_columns and name.strip()]
    if label is None and len(free) == 1:
        return free[0]
    return table.pick(label, [name for name in _LABELS if name not in _lower(taken_columns)], "label")


def _usual(table: Table, pairs: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    names = _lower(table.names)
    match = next((pair for pair in pairs if set(pair) <= set(names)), None)
    return () if match is None else tuple(table.pick(None, (name,), "pair") for name in match)


def _lower(names: Sequence[str]) -> list[str]:
    return [name.strip().lower() for name in names]


def _whole(value: object) -> bool:
    return not isinstance(value, bool) and str(value).strip().isdecimal()


def _names(table: Table, column: str) -> list[str]:
    names = []
    for where, value in table.column(column):
        name = "" if value is None else str(value).strip()
        if not name or isinstance(value, list | dict):
            raise FormatError(f"{where}: {column!r} is {clipped(str(value))!r}; we need the name of a row.")
        names.append(name)
    return names


def _label(value: object, where: str) -> float:
    word = "" if value is None else " ".join(str(value).lower().split())
    if word in LABEL_WORDS:
        return LABEL_WORDS[word]
    if not word:
        raise FormatError(f"{where}: no label. Leave the pair out, or label it.")
    try:
        return finite_number(word, where)
    except FormatError as error:
        text = clipped(str(value))
        raise FormatError(
            f"{where}: {text!r} is not a label. Use 1 and 0, yes and no, true and false, or a finite grade."
        ) from error


def _without_empty(pairs: PairFile) -> PairFile:
    """Without the pairs of which a text is blank: it says nothing, and would be alike to the other blank ones."""
    if pairs.texts is None:
        return pairs
    left, right = pairs.texts
    rows = [row for row in range(len(pairs)) if left[row].strip() and right[row].strip()]
    if len(rows) == len(pairs):
        return pairs
    if not rows:
        raise FormatError(f"{pairs.name}: a text of every pair is blank. Are {', '.join(pairs.columns[:2])} the texts?")
    note = f"{len(pairs) - len(rows):,} of {len(pairs):,} pairs have a blank text and were left out."
    sides = [left[row] for row in rows], [right[row] for row in rows]
    names = None if pairs.ids is None else ([pairs.ids[0][row] for row in rows], [pairs.ids[1][row] for row in rows])
    return PairFile(pairs.name, pairs.labels[rows], sides, names, pairs.columns, (note,))
