"""Pairs of words that people scored, for static vectors: files such as wordsim353 and simlex999."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from uncone.data.tables.fields import clipped, finite_number, is_number
from uncone.data.tables.lines import numbered_lines
from uncone.data.tasks.locate import data_folder, first_file
from uncone.errors import ColumnError, FormatError, MissingSourceError, ShapeError

__all__ = ["WORD_PAIRS", "WordPairs", "open_word_pairs"]

WORD_PAIRS = {
    "wordsim353": ("wordsim353.tsv", "wordsim353.csv", "wordsim353/combined.csv", "wordsim353/combined.tab"),
    "simlex999": ("simlex999.tsv", "simlex999.txt", "SimLex-999/SimLex-999.txt", "simlex999/SimLex-999.txt"),
}
"""The files by name, where they may lie in the data folder."""

_SCORES = ("score", "similarity", "human (mean)", "human", "mean", "simlex999", "gold")
_FEWEST = 10


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
            raise ShapeError(f"{self.name} has {len(self)} pairs, and we need at least {_FEWEST}. Add some.")
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
    path, name = Path(source), os.fspath(source).lower().replace("-", "")
    if not path.is_file():
        folder = data_folder(data)
        files = WORD_PAIRS.get(name)
        if files is None:
            known = ", ".join(WORD_PAIRS)
            raise MissingSourceError(f"There is no file {path}, nor word pairs of that name; we know {known}.")
        found = first_file(folder, *files)
        if found is None:
            looked = "no --data and no UNCONE_DATA was given" if folder is None else f"{folder} has none of them"
            raise MissingSourceError(f"{name} is not here ({looked}). Put it there as {' or '.join(files)}.")
        path = found
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
            raise ShapeError(f"{path}, line {line}: {len(fields)} columns, where we need {need}.")
        left.append(fields[0])
        right.append(fields[1])
        scores.append(finite_number(fields[place], f"{path}, line {line}"))
    return WordPairs(name, left, right, np.array(scores, np.float64))


def _score_column(path: Path, names: list[str], asked: str | None) -> int:
    lower = [name.lower() for name in names]
    wanted = _SCORES if asked is None else (asked.lower(),)
    found = next((lower.index(name) for name in wanted if name in lower), None)
    if found is None and (asked is not None or len(names) != 3):
        has = clipped(", ".join(names), 200)
        raise ColumnError(f"{path} has no column {asked or 'of scores'!r}; it has {has}. Name the right one.")
    return 2 if found is None else found
