"""Pairs of texts that people scored: the seven sets of sentence similarity by name, and pairs of one's own."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from uncone.data.tables.fields import finite_number
from uncone.data.tables.read import Table, read_table
from uncone.data.tasks.locate import data_folder, name_and_split
from uncone.data.tasks.sts import SETS, read_sts
from uncone.errors import FormatError, ShapeError

__all__ = ["FEWEST", "STS", "PairTask", "open_pairs", "read_pairs"]

STS = ("sts12", "sts13", "sts14", "sts15", "sts16", "stsb", "sickr")
"""The sets of sentence similarity, in the order of the tables of the literature."""

FEWEST = 10
"""Under so many pairs a correlation says nothing."""

_USUAL = (
    ("sentence1", "sentence2"),
    ("text1", "text2"),
    ("sentence_a", "sentence_b"),
    ("text_a", "text_b"),
    ("question1", "question2"),
    ("premise", "hypothesis"),
    ("left", "right"),
    ("query", "document"),
    ("a", "b"),
)
_SCORES = ("score", "similarity", "label", "relatedness_score", "is_duplicate", "gold")
_WORDS = {"true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0}


@dataclass(frozen=True, eq=False)
class PairTask:
    """Pairs of texts with a score each, or with a label 0 or 1; checked on creation.

    STS12 to STS16 have subsets. Those of STS-B are its genres: papers report it over all pairs, whatever they do with
    the others. SICK-R, pairs of one's own and the hub's copies of STS12 to STS16 are one subset, called as the task.

    Raises:
        ShapeError: the columns are of different lengths, or there are fewer than 10 distinct pairs.
        FormatError: a score is not finite, or all are the same.
    """

    name: str
    left: Sequence[str]
    right: Sequence[str]
    scores: NDArray[np.float64]
    subsets: Sequence[str]
    split: str = "test"

    def __post_init__(self) -> None:
        lengths = {len(self.left), len(self.right), len(self.scores), len(self.subsets)}
        if len(lengths) > 1:
            raise ShapeError(f"{self.name}: texts, scores and subsets of different lengths: {sorted(lengths)}.")
        if len(self) < FEWEST:
            raise ShapeError(f"{self.name} has {len(self)} pairs, and we need at least {FEWEST}. Add some.")
        if not np.isfinite(self.scores).all():
            raise FormatError(f"{self.name}: some scores are not finite. Leave those pairs out.")
        if (self.scores == self.scores[0]).all():
            both = " We need both 0 and 1." if self.labelled else " We need pairs that differ."
            raise FormatError(f"{self.name}: all {len(self):,} scores are {self.scores[0]:g}.{both}")
        distinct = len({frozenset((a.strip(), b.strip())) for a, b in zip(self.left, self.right, strict=True)})
        if distinct < FEWEST:
            raise ShapeError(f"{self.name} has {distinct} distinct pairs, and we need at least {FEWEST}. Add some.")

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def labelled(self) -> bool:
        """Whether the scores are labels: 0 and 1, and nothing between."""
        return bool(np.isin(self.scores, (0.0, 1.0)).all())


def open_pairs(name: str | os.PathLike[str], data: str | os.PathLike[str] | None = None) -> PairTask:
    """A set by `name` or `name:split`: from the folder `data`, else $UNCONE_DATA, else the hub; or a file of one's own.

    Raises:
        MissingSourceError: there is no such set, or it is neither in the folder nor on the hub.
        SourceError: its file is damaged, not whole or not in range; the subclass and the message tell more.
        OptionError: it has no such split.
    """
    if Path(name).is_file():
        return read_pairs(name)
    splits: dict[str, Sequence[str]] = {known: tuple(one.rows) for known, one in SETS.items()}
    known, split = name_and_split(os.fspath(name), STS, splits, "test")
    pairs = read_sts(known, split, data_folder(data))
    return PairTask(known, pairs.left, pairs.right, np.array(pairs.scores), pairs.subsets, split)


def read_pairs(
    path: str | os.PathLike[str],
    left: str | None = None,
    right: str | None = None,
    score: str | None = None,
    *,
    scale: tuple[float, float] | None = None,
) -> PairTask:
    """Pairs of one's own: a .csv, .tsv, .jsonl or .parquet file with two columns of texts and one of scores or labels.

    Args:
        path: the file.
        left: the column of the first texts; 1, 2 and 3 are the columns of a table without a header.
        right: the column of the second texts.
        score: the column of scores; labels are 0 and 1, true and false, or yes and no.
        scale: the lowest and the highest score that can be right.

    Raises:
        SourceError: the file or one of the columns is not there, or a row is not right; the message tells its line.
    """
    table = read_table(Path(path), (left, right, score))
    named = {name.strip().lower() for name in table.names}
    usual = next((pair for pair in _USUAL if set(pair) <= named), ("sentence1", "sentence2"))
    first = table.pick(left, usual[:1], "first text")
    second = table.pick(right, usual[1:], "second text")
    gold = table.pick(score, _SCORES, "score")
    if len({first, second, gold}) < 3:
        raise FormatError(f"{path}: the two texts and the score need three columns, not {first}, {second} and {gold}.")
    scores = _scores(table, gold, *(scale or (-np.inf, np.inf)))
    name = Path(path).name
    return PairTask(name, table.texts(first), table.texts(second), scores, [name] * len(scores), "all")


def _scores(table: Table, column: str, low: float, high: float) -> NDArray[np.float64]:
    found = []
    for where, value in table.column(column):
        word = str(value).strip().lower()
        found.append(_WORDS[word] if word in _WORDS else finite_number(value, where, low, high))
    return np.array(found, np.float64)
