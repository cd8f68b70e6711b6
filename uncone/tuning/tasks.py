"""Classification tasks to fine-tune on: SST-2, RTE and WiC by name, or a table of texts (or pairs) with a label."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from uncone.data.batch import IntVector
from uncone.data.tables.fields import clipped, label_text, list_names
from uncone.data.tables.memory import MemoryTable
from uncone.data.tables.read import Table, check_columns, read_table, requested_columns
from uncone.data.tasks.labeled import open_labeled
from uncone.data.tasks.locate import check_rows, data_folder, first_file, hub_table, name_and_split
from uncone.data.texts.hub import HubPart
from uncone.errors import ColumnError, FormatError, MissingSourceError, ShapeError

__all__ = ["CLASS_TASKS", "ClassTask", "Items", "open_task", "stratified_draw"]

CLASS_TASKS: dict[str, Sequence[str]] = {"sst2": ("test", "dev", "dev+test"), "rte": ("dev",), "wic": ("dev",)}
"""The tasks by name, with the splits they can be tested on, the default first."""

_ROWS = {"rte": {"train": 2490, "dev": 277}, "wic": {"train": 5428, "dev": 638}}
_TEXTS = ("text", "sentence", "content", "body")
_PAIRS = (("sentence1", "sentence2"), ("premise", "hypothesis"), ("text1", "text2"), ("question", "answer"))
_LABELS = ("label", "class", "category", "target")
_HELD_OUT = 0.25


@dataclass(frozen=True, eq=False)
class Items:
    """Texts, or pairs of texts if there is a `right` side, with a label each, and further columns by name."""

    left: Sequence[str]
    right: Sequence[str] | None
    labels: Sequence[str]
    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.left)

    @property
    def keys(self) -> list[tuple[str, str]]:
        """What makes an item distinct: its texts."""
        right = [""] * len(self) if self.right is None else self.right
        return [(first.strip(), second.strip()) for first, second in zip(self.left, right, strict=True)]

    def select(self, rows: Sequence[int] | IntVector) -> Items:
        """The items in these rows, in this order."""
        rows = [int(row) for row in rows]

        def picked(values: Sequence[str]) -> list[str]:
            return [values[row] for row in rows]

        right = None if self.right is None else picked(self.right)
        return Items(picked(self.left), right, picked(self.labels), {k: picked(v) for k, v in self.columns.items()})

    def digest(self) -> str:
        """A short name for exactly these texts and labels."""
        content = json.dumps([list(self.left), list(self.right or ()), list(self.labels)]).encode()
        return hashlib.sha256(content).hexdigest()[:16]


@dataclass(frozen=True, eq=False)
class ClassTask:
    """Items to train on and items to test on; `split` says what the test is: "test", "dev" or "held out".

    Raises:
        FormatError: there is one class only, or a label occurs on one side only.
    """

    name: str
    train: Items
    test: Items
    split: str
    classes: tuple[str, ...]

    def __post_init__(self) -> None:
        learned, tested = set(self.train.labels), set(self.test.labels)
        if len(learned | tested) == 1:
            only = clipped(self.classes[0])
            raise FormatError(f"{self.name}: every label is {only!r}. We need two classes or more.")
        for missing, present, side in ((learned - tested, tested, "test"), (tested - learned, learned, "training")):
            if missing:
                raise FormatError(
                    f"{self.name}: the label {clipped(min(missing))!r} is not in the {side} set, which has "
                    f"{list_names(sorted(present))}. Add such items there, or leave the label out."
                )


def open_task(
    source: Any,  # noqa: ANN401 - a name, a file, or a table in memory
    data: str | os.PathLike[str] | None = None,
    *,
    text: str | None = None,
    label: str | None = None,
    n_train: int | None = None,
    n_test: int | None = None,
    seed: int = 0,
    columns: Sequence[str] = (),
) -> ClassTask:
    """A task by name (`sst2`, `sst2:dev`, `rte`, `wic`) or a table with a text, or two, and a label in each row.

    A quarter of the distinct texts of a table, drawn by class, is the test. No text stands on both sides: training
    items whose texts are in the test of a named task are left out. WiC is read as "word: sentence 1" and sentence 2.

    Args:
        source: the name, a .csv, .tsv, .jsonl or .parquet file, or a table in memory.
        data: the folder that holds named tasks; else $UNCONE_DATA, else the hub.
        text: the column of the texts of a table; "premise,hypothesis" for two of them.
        label: the column of its labels.
        n_train: the most items to train on, drawn by `seed` with each class in its share.
        n_test: the most items to test on, drawn likewise.
        seed: decides all draws.
        columns: further columns of a table to keep.

    Raises:
        SourceError: there is no such task or file, or it can't be used; the subclass and the message tell more.
        OptionError: the task has no such split.
    """
    rng = np.random.default_rng(seed)
    in_memory = MemoryTable.of(source) is not None
    if in_memory or _looks_like_file(source):
        name, split = "The table" if in_memory else Path(source).name, "held out"
        train, test = _split(name, _from_table(source, text, label, columns), rng)
    else:
        name, split, train, test = _open_named(os.fspath(source), data)
        check_columns(name, ["label"], [("skew-by", column) for column in columns])
        tested = set(test.keys)
        train = train.select([row for row, key in enumerate(train.keys) if key not in tested])
    classes = tuple(sorted({*train.labels, *test.labels}))
    task = ClassTask(name, train, test, split, classes)
    return replace(task, train=_at_most(train, n_train, rng), test=_at_most(test, n_test, rng))


def _at_most(items: Items, n: int | None, rng: np.random.Generator) -> Items:
    return items if n is None or n >= len(items) else items.select(stratified_draw(items.labels, n, rng))


def stratified_draw(labels: Sequence[str], n: int, rng: np.random.Generator) -> IntVector:
    """The rows of n items drawn without replacement, each class in its share (at least one item), in order.

    >>> rows = stratified_draw(["a"] * 80 + ["b"] * 20, 10, np.random.default_rng(0))
    >>> int((rows >= 80).sum())
    2
    """
    names, codes, counts = np.unique(np.asarray(labels, object).astype(str), return_inverse=True, return_counts=True)
    exact = counts * min(n, len(labels)) / len(labels)
    take = np.maximum(np.floor(exact).astype(np.int64), 1)
    for at in np.argsort(take - exact, kind="stable")[: max(min(n, len(labels)) - int(take.sum()), 0)]:
        take[at] += 1
    rows = [rng.permutation(np.flatnonzero(codes == at))[: take[at]] for at in range(len(names))]
    return np.sort(np.concatenate(rows))


def _looks_like_file(source: Any) -> bool:  # noqa: ANN401
    return Path(source).is_file() or (not isinstance(source, str)) or ("." in Path(source).name)


def _open_named(request: str, data: str | os.PathLike[str] | None) -> tuple[str, str, Items, Items]:
    default = CLASS_TASKS.get(request.partition(":")[0].lower(), ("",))[0]
    try:
        name, split = name_and_split(request, CLASS_TASKS, dict(CLASS_TASKS), default)
    except MissingSourceError as error:
        raise MissingSourceError(
            f"There is no task {request!r}, nor a file of that name. The tasks are {', '.join(CLASS_TASKS)}; "
            "or name a table with a text and a label in each row."
        ) from error
    if name == "sst2":
        parts = {part: open_labeled(f"sst2:{part}", data) for part in ("train", *split.split("+"))}
        sides = {part: Items([text.strip() for text in side.texts], None, side.labels) for part, side in parts.items()}
    else:
        sides = {part: _pairs(name, part, data) for part in ("train", split)}
    tests = [sides[part] for part in split.split("+")]
    test = (
        tests[0]
        if len(tests) == 1
        else Items(
            [text for side in tests for text in side.left], None, [label for side in tests for label in side.labels]
        )
    )
    return name, split, sides["train"], test


def _pairs(name: str, split: str, data: str | os.PathLike[str] | None) -> Items:
    """A split of RTE or WiC."""
    suffix = {"rte": "tsv", "wic": "jsonl"}[name]
    folder = data_folder(data)
    path = first_file(folder, f"{name}/{split}.{suffix}", f"{name}-{split}.{suffix}")
    names = ("sentence1", "sentence2", "label") if name == "rte" else ("word", "sentence1", "sentence2", "label")
    if path is None:
        hub, subset = ("nyu-mll/glue", "rte") if name == "rte" else ("aps/super_glue", "wic")
        part = HubPart(hub, {"train": "train", "dev": "validation"}[split], subset)
        where, table = hub_table(f"{name}:{split}", part, names, folder, [f"{name}/{split}.{suffix}"])
        values = {column: list(table[column]) for column in names}
    else:
        own = read_table(path)
        where, values = str(path), {column: [value for _, value in own.column(column)] for column in names}
    check_rows(len(values["label"]), _ROWS[name][split], where, f"{name} {split}")
    left = values["sentence1"]
    if name == "wic":
        left = [f"{word}: {sentence}" for word, sentence in zip(values["word"], left, strict=True)]
    return Items(left, values["sentence2"], [_label(value) for value in values["label"]])


def _label(value: Any) -> str:  # noqa: ANN401
    return str(int(value)) if isinstance(value, bool) else str(value).strip()


def _from_table(source: Any, text: str | None, label: str | None, columns: Sequence[str]) -> Items:  # noqa: ANN401
    table = read_table(source, (*(() if text is None else text.split(",")), label))
    target = table.pick(label, _LABELS, "label")
    sides = _text_columns(table, text, target)
    texts = [table.texts(name) for name in sides]
    for name, side in zip(sides, texts, strict=True):
        for (where, _), passage in zip(table.column(name), side, strict=True):
            if not passage.strip():
                raise FormatError(f"{where}: the text in {name!r} is blank. Leave the row out.")
    labels = []
    for where, value in table.column(target):
        class_name = None if isinstance(value, list | dict) else label_text(value)
        if class_name is None:
            raise FormatError(f"{where}: the label is {clipped(str(value))!r}; we need a word or a number.")
        labels.append(class_name)
    check_columns(table.path, table.names, [("skew-by", name) for name in columns])
    others = {name: [label_text(value) or "" for _, value in table.column(name)] for name in columns}
    return Items(texts[0], texts[1] if len(texts) == 2 else None, labels, others)


def _text_columns(table: Table, text: str | None, label: str) -> list[str]:
    """The column of the texts, or the two columns of the pairs."""
    if text is not None:
        names = requested_columns([text], table.names)
        check_columns(table.path, table.names, [("text", name) for name in names])
        if len(names) > 2:
            raise ColumnError(f"--text {text} names {len(names)} columns. A classifier reads one text, or a pair.")
        return names
    headers = {name.strip().lower(): name for name in table.names if name != label}
    pair = next((pair for pair in _PAIRS if all(name in headers for name in pair)), None)
    if pair is not None and not any(name in headers for name in _TEXTS):
        return [headers[name] for name in pair]
    return [table.pick(None, _TEXTS, "text")]


def _split(name: str, items: Items, rng: np.random.Generator) -> tuple[Items, Items]:
    """A quarter of the distinct texts of each class as the test; copies of a text stay together."""
    units: dict[tuple[str, str], list[int]] = {}
    for row, key in enumerate(items.keys):
        units.setdefault(key, []).append(row)
    groups = list(units.values())
    labels = [items.labels[rows[0]] for rows in groups]
    counts = Counter(labels)
    if len(counts) == 1:
        only = clipped(labels[0])
        raise FormatError(f"{name}: all {len(items):,} labels are {only!r}. We need two classes or more.")
    rare, count = min(counts.items(), key=lambda item: item[1])
    if count < 2:
        raise FormatError(
            f"{name}: the class {clipped(rare)!r} has a single distinct text, and we need one to train on and one to "
            "test on. Add some, or leave it out."
        )
    if len(groups) < 8:
        raise ShapeError(f"{name} has {len(groups)} distinct texts; we need at least 8. Add some.")
    of_test: set[int] = set()
    for label in counts:
        own = rng.permutation([at for at, value in enumerate(labels) if value == label])
        of_test.update(own[: max(1, round(_HELD_OUT * len(own)))].tolist())
    train, test = (
        sorted(row for at, rows in enumerate(groups) if (at in of_test) == tested for row in rows)
        for tested in (False, True)
    )
    return items.select(train), items.select(test)
