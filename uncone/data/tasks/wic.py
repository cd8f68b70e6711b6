"""Words in context: does a word mean the same in two sentences? (Pilehvar and Camacho-Collados 2019)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uncone.data.tables.read import read_table
from uncone.data.tasks.locate import check_rows, data_folder, first_file, name_and_split, not_here
from uncone.data.texts.hub import HubPart, HubTexts
from uncone.errors import FormatError, ShapeError, SourceError

__all__ = ["WIC", "WicTask", "open_wic"]

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
            raise ShapeError(f"{self.name} has {len(self)} pairs, and we need at least {_FEWEST}. Add some.")
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
    if Path(source).is_file():
        return _from_file(Path(source), Path(source).name, "all")
    name, split = name_and_split(os.fspath(source), ("wic",), tuple(WIC), "dev")
    folder = data_folder(data)
    path = first_file(folder, f"wic/{split}.jsonl", f"wic-{split}.jsonl")
    if path is not None:
        task, where = _from_file(path, name, split), str(path)
    else:
        part = _HUB[split]
        try:
            table = HubTexts(name, [part], _COLUMNS).tables[0]
        except SourceError as error:
            raise not_here(f"{name}:{split}", folder, [f"wic/{split}.jsonl"], error) from error
        where = f"{part.path} on the Hugging Face hub"
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
                raise FormatError(f"{where}: a sentence is no text, or where its word stands no number.")
            if not 0 <= start < end <= len(text):
                raise FormatError(
                    f"{where}: the word stands at {start} to {end} of a sentence of {len(text)} characters."
                )
            texts[side].append(text)
            spans[side].append((start, end))
        if label not in (0, 1):
            raise FormatError(f"{where}: the label is {label!r}, where we need true or false.")
        labels.append(bool(label))
    return WicTask(name, words, *texts, *spans, np.array(labels, np.bool_), split)
