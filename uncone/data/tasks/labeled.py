"""Texts with a label each: SST-2 by name, and any labeled table."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from uncone.data.storage.path import path_of
from uncone.data.tables.fields import clipped
from uncone.data.tables.lines import tabbed_lines
from uncone.data.tables.read import read_table
from uncone.data.tasks.locate import check_rows, data_folder, first_file, hub_table, name_and_split
from uncone.data.texts.hub import HubPart
from uncone.errors import FormatError, ShapeError

__all__ = ["LABELED", "LabeledTask", "open_labeled"]

LABELED = {"sst2": {"train": 67349, "dev": 872, "test": 1821}}
"""The sets by name, with the rows of each split."""

# The hub's stanfordnlp/sst2 keeps the labels of the test to itself.
_HUB = {
    "train": (HubPart("stanfordnlp/sst2", "train"), "sentence"),
    "dev": (HubPart("stanfordnlp/sst2", "validation"), "sentence"),
    "test": (HubPart("SetFit/sst2", "test"), "text"),
}
_TEXTS = ("text", "sentence", "content", "body")
_LABELS = ("label", "class", "category", "target")
_FEWEST = 10


@dataclass(frozen=True, eq=False)
class LabeledTask:
    """Texts with a label each; checked on creation.

    Raises:
        ShapeError: not one label per text, or fewer than 10 texts.
        FormatError: only one label occurs, or a text has none.
    """

    name: str
    texts: Sequence[str]
    labels: Sequence[str]
    split: str = "test"

    def __post_init__(self) -> None:
        if len(self.texts) != len(self.labels):
            raise ShapeError(f"{self.name} has {len(self.texts):,} texts but {len(self.labels):,} labels.")
        if len(self) < _FEWEST:
            raise ShapeError(f"{self.name} has {len(self)} texts; we need at least {_FEWEST}. Add some.")
        if len(self.classes) == 1:
            only = clipped(self.labels[0])
            raise FormatError(f"{self.name}: all {len(self):,} labels are {only!r}. We need two classes or more.")

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def classes(self) -> dict[str, int]:
        """The labels in order, with the number of their texts."""
        return dict(sorted(Counter(self.labels).items()))


def open_labeled(
    source: str | os.PathLike[str],
    data: str | os.PathLike[str] | None = None,
    *,
    text: str | None = None,
    label: str | None = None,
) -> LabeledTask:
    """SST-2 by `sst2:train`, `sst2:dev` or `sst2`, its test; or a .csv, .tsv, .jsonl or .parquet file.

    Args:
        source: the name, or the file.
        data: the folder that holds named sets; else $UNCONE_DATA, else the hub.
        text: the column of the texts of a file; 1 and 2 are the columns of a table without a header.
        label: the column of its labels.

    Raises:
        SourceError: there is nothing, or nothing readable, of that name; the subclass and the message tell more.
        OptionError: the set has no such split.
    """
    if path_of(source).is_file():
        return _from_file(path_of(source), text, label)
    splits: dict[str, Sequence[str]] = {name: tuple(rows) for name, rows in LABELED.items()}
    name, split = name_and_split(os.fspath(source), LABELED, splits, "test")
    folder = data_folder(data)
    path = first_file(folder, f"{name}/{split}.tsv", f"{name}-{split}.tsv")
    if path is None:
        part, column = _HUB[split]
        where, table = hub_table(f"{name}:{split}", part, (column, "label"), folder, [f"{name}/{split}.tsv"])
        texts, labels = [text or "" for text in table[column]], [str(label) for label in table["label"]]
    else:
        rows = [fields for _, fields in tabbed_lines(path, ("sentence", "label"))]
        where, texts, labels = str(path), [fields[0] for fields in rows], [fields[1].strip() for fields in rows]
    check_rows(len(texts), LABELED[name][split], where, f"{name} {split}")
    return LabeledTask(name, texts, labels, split)


def _from_file(path: Path, text: str | None, label: str | None) -> LabeledTask:
    table = read_table(path, (text, label))
    column = table.pick(text, _TEXTS, "text")
    texts = table.texts(column)
    for (where, _), passage in zip(table.column(column), texts, strict=True):
        if not passage.strip():
            raise FormatError(f"{where}: the text is blank, so it has no vector. Leave the row out.")
    labels = []
    for where, value in table.column(table.pick(label, _LABELS, "label")):
        if value is None or isinstance(value, list | dict) or not str(value).strip():
            raise FormatError(f"{where}: the label is {clipped(str(value))!r}; we need a word or a number.")
        labels.append(str(value).strip())
    return LabeledTask(path.name, texts, labels, "all")
