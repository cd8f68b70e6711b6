"""Word tasks: words in context (WiC), and pairs of words scored by people (wordsim353, simlex999)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uncone.data.storage.path import path_of
from uncone.data.tables.fields import finite_number, is_number, list_names
from uncone.data.tables.lines import numbered_lines
from uncone.data.tables.read import read_table
from uncone.data.tasks.locate import check_rows, data_folder, first_file, hub_table, name_and_split
from uncone.data.texts.hub import HubPart
from uncone.errors import ColumnError, FormatError, MissingSourceError, ShapeError

__all__ = ["WIC", "WORD_PAIRS", "WicTask", "WordPairs", "open_wic", "open_word_pairs"]

WIC = {"train": 5428, "dev": 638}
"""The splits, with their rows; the labels of the test are not public."""

_HUB = {
    "train": HubPart("aps/super_glue", "train", "wic", "refs/convert/parquet"),
    "dev": HubPart("aps/super_glue", "validation", "wic", "refs/convert/parquet"),
}
_COLUMNS = ("word", "sentence1", "sentence2", "start1", "end1", "start2", "end2", "label")
_FEWEST = 10

Span = tuple[int, int]


@dataclass(frozen=True, eq=False)
class WicTask:
    """A word, two sentences, where it stands in each (characters from, to), and whether it means the same.

    Raises:
        ShapeError: fewer than 10 pairs.
        FormatError: all labels are the same.
    """

    name: str
    words: Sequence[str]
    left: Sequence[str]
    right: Sequence[str]
    left_spans: Sequence[Span]
    right_spans: Sequence[Span]
    labels: NDArray[np.bool_]
    split: str = "dev"

    def __post_init__(self) -> None:
        if len(self) < _FEWEST:
            raise ShapeError(f"{self.name} has {len(self)} pairs; we need at least {_FEWEST}. Add some.")
        if self.labels.all() or not self.labels.any():
            raise FormatError(f"{self.name}: all {len(self):,} labels are {bool(self.labels[0])}. We need both.")

    def __len__(self) -> int:
        return len(self.words)


def open_wic(source: str | os.PathLike[str] = "wic", data: str | os.PathLike[str] | None = None) -> WicTask:
    """`wic:train` or `wic:dev` from the folder `data`, else $UNCONE_DATA, else the hub; or a .jsonl file of that form.

    Raises:
        SourceError: there is nothing, or nothing readable, of that name; the subclass and the message tell more.
        OptionError: there is no such split.
    """
    file = path_of(source)
    if file.is_file():
        return _from_file(file, file.name, "all")
    name, split = name_and_split(os.fspath(source), ("wic",), tuple(WIC), "dev")
    folder = data_folder(data)
    path = first_file(folder, f"wic/{split}.jsonl", f"wic-{split}.jsonl")
    if path is not None:
        task, where = _from_file(path, name, split), str(path)
    else:
        where, table = hub_table(f"{name}:{split}", _HUB[split], _COLUMNS, folder, [f"wic/{split}.jsonl"])
        rows = zip(*(table[column] for column in _COLUMNS), strict=True)
        task = _task(((f"{where}, row {at}", row) for at, row in enumerate(rows, start=1)), name, split)
    check_rows(len(task), WIC[split], where, f"WiC {split}")
    return task


def _from_file(path: Path, name: str, split: str) -> WicTask:
    table = read_table(path)
    columns = [list(table.column(table.pick(column, (), column))) for column in _COLUMNS]
    rows = zip(*columns, strict=True)
    return _task(((row[0][0], tuple(value for _, value in row)) for row in rows), name, split)


def _task(rows: Iterable[tuple[str, Sequence[Any]]], name: str, split: str) -> WicTask:
    words: list[str] = []
    texts: tuple[list[str], list[str]] = ([], [])
    spans: tuple[list[Span], list[Span]] = ([], [])
    labels = []
    for where, (word, left, right, start1, end1, start2, end2, label) in rows:
        words.append(str(word))
        for side, (text, start, end) in enumerate(((left, start1, end1), (right, start2, end2))):
            if not isinstance(text, str) or not isinstance(start, int) or not isinstance(end, int):
                raise FormatError(f"{where}: a sentence is not a text, or the position of its word is not a number.")
            if not 0 <= start < end <= len(text):
                raise FormatError(
                    f"{where}: the word is at {start} to {end}, but the sentence has {len(text)} characters."
                )
            texts[side].append(text)
            spans[side].append((start, end))
        if label not in (0, 1):
            raise FormatError(f"{where}: the label is {label!r}; we need true or false.")
        labels.append(bool(label))
    return WicTask(name, words, *texts, *spans, np.array(labels, np.bool_), split)


WORD_PAIRS = {
    "wordsim353": ("wordsim353.tsv", "wordsim353.csv", "wordsim353/combined.csv", "wordsim353/combined.tab"),
    "simlex999": ("simlex999.tsv", "simlex999.txt", "SimLex-999/SimLex-999.txt", "simlex999/SimLex-999.txt"),
}
"""The files by name, where they may lie in the data folder."""

_SCORES = ("score", "similarity", "human (mean)", "human", "mean", "simlex999", "gold")


@dataclass(frozen=True, eq=False)
class WordPairs:
    """Two words and a score a row.

    Raises:
        ShapeError: fewer than 10 pairs.
        FormatError: all scores are the same.
    """

    name: str
    left: Sequence[str]
    right: Sequence[str]
    scores: NDArray[np.float64]

    def __post_init__(self) -> None:
        if len(self) < _FEWEST:
            raise ShapeError(f"{self.name} has {len(self)} pairs; we need at least {_FEWEST}. Add some.")
        if (self.scores == self.scores[0]).all():
            raise FormatError(
                f"{self.name}: all {len(self):,} scores are {self.scores[0]:g}. We need pairs that differ."
            )

    def __len__(self) -> int:
        return len(self.scores)


def open_word_pairs(
    source: str | os.PathLike[str], data: str | os.PathLike[str] | None = None, *, score: str | None = None
) -> WordPairs:
    """A file of word pairs, or `wordsim353` or `simlex999` in the folder `data`, else in $UNCONE_DATA.

    Fields stand between tabs, commas, semicolons or spaces. The words are the first two columns; the score is the
    column that the header calls so, else the third. Lines that begin with # are comments.

    Raises:
        SourceError: there is nothing, or nothing readable, of that name; the subclass and the message tell more.
    """
    path, name = path_of(source), os.fspath(source).lower().replace("-", "")
    if not path.is_file():
        folder = data_folder(data)
        files = WORD_PAIRS.get(name)
        if files is None:
            choices = ", ".join(WORD_PAIRS)
            raise MissingSourceError(f"There is no file {path}, nor word pairs of that name; we know {choices}.")
        match = first_file(folder, *files)
        if match is None:
            reason = "no --data and no UNCONE_DATA was given" if folder is None else f"{folder} has none of them"
            raise MissingSourceError(f"{name} was not found ({reason}). Put it there as {' or '.join(files)}.")
        path = match
    else:
        name = path.name
    return _read(path, name, score)


def _read(path: Path, name: str, score: str | None) -> WordPairs:
    lines = [(line, text) for line, text in numbered_lines(path) if text.strip() and not text.startswith("#")]
    if not lines:
        raise FormatError(f"{path} is empty. Was it written to the end?")
    mark = next((mark for mark in ("\t", ",", ";") if mark in lines[0][1]), None)
    rows = [(line, [field.strip() for field in text.split(mark)]) for line, text in lines]
    first = rows[0][1]
    header = not any(is_number(field) for field in first)
    place = _score_column(path, first, score) if header else 2
    left, right, scores = [], [], []
    for line, fields in rows[header:]:
        if len(fields) != len(first) or len(fields) < 3:
            need = f"{len(first)} as in the first line" if len(first) > 2 else "two words and a score"
            raise ShapeError(f"{path}, line {line}: {len(fields)} columns; we need {need}.")
        left.append(fields[0])
        right.append(fields[1])
        scores.append(finite_number(fields[place], f"{path}, line {line}"))
    return WordPairs(name, left, right, np.array(scores, np.float64))


def _score_column(path: Path, names: list[str], requested: str | None) -> int:
    lower = [name.lower() for name in names]
    candidates = _SCORES if requested is None else (requested.lower(),)
    place = next((lower.index(name) for name in candidates if name in lower), None)
    if place is None and (requested is not None or len(names) != 3):
        column = "of scores" if requested is None else repr(requested)
        raise ColumnError(f"{path} has no column {column}; it has {list_names(names)}. Name the right one.")
    return 2 if place is None else place
