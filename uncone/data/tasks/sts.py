"""Pairs of texts with a similarity score: the seven STS datasets by name, in every layout they come in, and tables."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from uncone.data.storage.path import path_of
from uncone.data.tables.fields import finite_number
from uncone.data.tables.lines import numbered_lines, tabbed_lines
from uncone.data.tables.memory import is_path
from uncone.data.tables.read import Table, read_table
from uncone.data.tasks.locate import check_rows, data_folder, first_file, hub_table, name_and_split
from uncone.data.texts.hub import HubPart
from uncone.errors import FormatError, MissingSourceError, ShapeError

__all__ = [
    "FEWEST",
    "LABEL_WORDS",
    "SETS",
    "STS",
    "TEXT_PAIRS",
    "PairTask",
    "Pairs",
    "ScoredPairs",
    "StsSet",
    "local_pairs",
    "open_pairs",
    "read_pairs",
    "read_sts",
]


class Pairs(NamedTuple):
    """Rows as they were read."""

    left: list[str]
    right: list[str]
    scores: list[float]
    subsets: list[str]


@dataclass(frozen=True)
class StsSet:
    """What a set is: how many pairs each split has, how they are scored, and where the hub keeps them.

    The hub's copies of STS12 to STS16 do not tell the subsets; the whole set is then one subset.
    """

    title: str
    rows: dict[str, int]
    hub: dict[str, HubPart]
    columns: tuple[str, str, str] = ("sentence1", "sentence2", "score")
    low: float = 0.0
    subsets: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()

    high = 5.0


def _year(year: int, rows: int, subsets: str, released: str) -> StsSet:
    hub = {"test": HubPart(f"mteb/sts{year}-sts", "test")}
    return StsSet(
        f"STS{year}", {"test": rows}, hub, subsets=tuple(subsets.split()), folders=(f"STS{year}-en-test", released)
    )


_REVISION = "refs/convert/parquet"  # the dataset is a script, which `datasets` no longer runs; this is its copy
_HUB_SPLITS = {"train": "train", "dev": "validation", "trial": "validation", "test": "test"}

SETS = {
    "sts12": _year(12, 3108, "MSRpar MSRvid SMTeuroparl surprise.OnWN surprise.SMTnews", "test-gold"),
    "sts13": _year(13, 1500, "FNWN OnWN headlines", "test-gs"),
    "sts14": _year(14, 3750, "OnWN deft-forum deft-news headlines images tweet-news", "sts-en-test-gs-2014"),
    "sts15": _year(15, 3000, "answers-forums answers-students belief headlines images", "test_evaluation_task2a"),
    "sts16": _year(
        16,
        1186,
        "answer-answer headlines plagiarism postediting question-question",
        "sts2016-english-with-gs-v1.0",
    ),
    "stsb": StsSet(
        "STS-B",
        {"train": 5749, "dev": 1500, "test": 1379},
        {split: HubPart("mteb/stsbenchmark-sts", _HUB_SPLITS[split]) for split in ("train", "dev", "test")},
    ),
    # mteb/sickr-sts is all of SICK, 9,927 pairs, and RobZamp/sick a later selection: neither is the test of the papers.
    "sickr": StsSet(
        "SICK-R",
        {"train": 4500, "trial": 500, "test": 4927},
        {
            split: HubPart("SemEvalWorkshop/sem_eval_2014_task_1", _HUB_SPLITS[split], revision=_REVISION)
            for split in ("train", "trial", "test")
        },
        columns=("premise", "hypothesis", "relatedness_score"),
        low=1.0,
    ),
}
"""The sets by name; STS13 is without SMT, which cannot be had."""

_INSIDE = ("", "sts/", "STS/", "downstream/STS/", "senteval/STS/", "SentEval/data/downstream/STS/")
_BENCHMARK = ("stsbenchmark/", "STSBenchmark/", *(f"{inside}STSBenchmark/" for inside in _INSIDE), *_INSIDE)
_SICK = ("SICK/", "sick/", "downstream/SICK/", "senteval/SICK/", "SentEval/data/downstream/SICK/", *_INSIDE)
_SICK_FILES = {"train": "SICK_train.txt", "trial": "SICK_trial.txt", "test": "SICK_test_annotated.txt"}


class _Layout(NamedTuple):
    """The tab-separated columns of a file: the score, the first of two sentences, and a template of the subset."""

    names: tuple[str, ...]
    score: int
    left: int
    subset: str
    more: bool = False
    header: int = 0


_TSV = ("score", "sentence1", "sentence2", "subset")
_LAYOUTS = {
    "tsv": _Layout(_TSV, 0, 1, "{3}"),
    "tsv of SICK": _Layout(_TSV, 0, 1, "sickr"),  # its fourth column is a label
    # Some rows name a source and a license after these columns.
    "STS-B": _Layout(("genre", "file", "year", "number", *_TSV[:3]), 4, 5, "{0}/{1}", more=True),
    "SICK": _Layout(
        ("pair_ID", "sentence_A", "sentence_B", "relatedness_score", "entailment_judgment"), 3, 1, "sickr", header=1
    ),
}


def read_sts(name: str, split: str, folder: Path | None) -> Pairs:
    """The pairs of a split: from the folder in any of the forms, else from the hub; the rows are counted.

    Raises:
        MissingSourceError: they are neither here nor there.
        SourceError: a file is damaged; the subclass and the message tell more.
    """
    dataset = SETS[name]
    where, pairs = _local(name, split, folder) or _hub(name, split, folder)
    check_rows(len(pairs.scores), dataset.rows[split], where, f"{dataset.title} {split}")
    return pairs


def _local(name: str, split: str, folder: Path | None) -> tuple[str, Pairs] | None:
    dataset = SETS[name]
    file = f"{name}.tsv" if dataset.subsets else f"{name}-{split}.tsv"
    path = first_file(folder, f"sts/{file}", file)
    if path is not None:
        return str(path), _from_lines(path, dataset, _LAYOUTS["tsv of SICK" if name == "sickr" else "tsv"])
    if folder is None:
        return None
    if dataset.subsets:
        places = (folder / f"{inside}{inner}" for inside in _INSIDE for inner in dataset.folders)
        match = next((place for place in places if (place / _official(dataset, "input", 0, place)).is_file()), None)
        return None if match is None else (str(match), _from_folder(match, dataset))
    if name == "stsb":
        path = first_file(folder, *(f"{inside}sts-{split}.csv" for inside in _BENCHMARK))
        return None if path is None else (str(path), _from_lines(path, dataset, _LAYOUTS["STS-B"]))
    path = first_file(folder, *(f"{inside}{_SICK_FILES[split]}" for inside in _SICK))
    return None if path is None else (str(path), _from_lines(path, dataset, _LAYOUTS["SICK"]))


def _from_lines(path: Path, dataset: StsSet, layout: _Layout) -> Pairs:
    rows = list(tabbed_lines(path, layout.names, more=layout.more))[layout.header :]
    return Pairs(
        [fields[layout.left] for _, fields in rows],
        [fields[layout.left + 1] for _, fields in rows],
        [
            finite_number(fields[layout.score], f"{path}, line {line}", dataset.low, dataset.high)
            for line, fields in rows
        ],
        [layout.subset.format(*fields) for _, fields in rows],
    )


def _official(dataset: StsSet, part: str, at: int, folder: Path) -> str:
    """The name of a file of SemEval: STS.input.headlines.txt, in 2016 also STS2016.input.headlines.txt."""
    new = (folder / f"STS2016.input.{dataset.subsets[0]}.txt").is_file()
    return f"{'STS2016' if new else 'STS'}.{part}.{dataset.subsets[at]}.txt"


def _from_folder(folder: Path, dataset: StsSet) -> Pairs:
    """Two files a subset: sentences with a tab between them, and scores; a pair with a blank score has none."""
    pairs = Pairs([], [], [], [])
    for at, subset in enumerate(dataset.subsets):
        texts, gold = (folder / _official(dataset, part, at, folder) for part in ("input", "gs"))
        for path in (texts, gold):
            if not path.is_file():
                raise MissingSourceError(f"{folder} has no {path.name}, which {dataset.title} needs. Copy it again.")
        # Two more columns, in files of 2016, tell where the sentences are from.
        sentences = [(line, text.split("\t")) for line, text in numbered_lines(texts)]
        scores = list(numbered_lines(gold))
        # Blank lines at the end are no pairs; but a pair may have a blank score.
        while sentences and sentences[-1][1] == [""]:
            sentences.pop()
        while len(scores) > len(sentences) and not scores[-1][1].strip():
            scores.pop()
        if len(scores) != len(sentences):
            raise ShapeError(f"{texts} has {len(sentences):,} lines, but {gold.name} {len(scores):,}. Copy them again.")
        for (line, fields), (_, score) in zip(sentences, scores, strict=True):
            if len(fields) not in (2, 4):
                raise ShapeError(f"{texts}, line {line}: {len(fields)} columns; we need 2, with a tab between.")
            if score.strip():
                pairs.left.append(fields[0])
                pairs.right.append(fields[1])
                pairs.scores.append(finite_number(score, f"{gold}, line {line}", dataset.low, dataset.high))
                pairs.subsets.append(subset.removeprefix("surprise."))
    return pairs


def _hub(name: str, split: str, folder: Path | None) -> tuple[str, Pairs]:
    dataset, part = SETS[name], SETS[name].hub[split]
    layouts = [f"sts/{name}.tsv" if dataset.subsets else f"sts/{name}-{split}.tsv"]
    if dataset.subsets:
        layouts.append(f"{dataset.folders[0]}/{_official(dataset, 'input', 0, Path())}")
    else:
        layouts.append(f"sts-{split}.csv" if name == "stsb" else _SICK_FILES[split])
    request = name if split == "test" else f"{name}:{split}"
    where, table = hub_table(request, part, dataset.columns, folder, layouts)
    left, right, scores = (list(table[column]) for column in dataset.columns)
    subsets = [name] * len(scores)
    if {"genre", "dataset"} <= set(table.column_names):
        subsets = [f"{genre}/{file}" for genre, file in zip(table["genre"], table["dataset"], strict=True)]
    numbers = [
        finite_number(score, f"{where}, row {row}", dataset.low, dataset.high)
        for row, score in enumerate(scores, start=1)
    ]
    return where, Pairs([text or "" for text in left], [text or "" for text in right], numbers, subsets)


STS = ("sts12", "sts13", "sts14", "sts15", "sts16", "stsb", "sickr")
"""The sets of sentence similarity, in the order of the tables of the literature."""

FEWEST = 10
"""Under so many pairs a correlation says nothing."""

TEXT_PAIRS = (
    ("sentence1", "sentence2"),
    ("sentence_1", "sentence_2"),
    ("sentence_a", "sentence_b"),
    ("text1", "text2"),
    ("text_1", "text_2"),
    ("text_a", "text_b"),
    ("question1", "question2"),
    ("premise", "hypothesis"),
    ("query", "document"),
    ("query", "passage"),
    ("query", "text"),
    ("question", "answer"),
    ("left", "right"),
    ("a", "b"),
)
"""Usual names of two columns of texts."""

_SCORES = ("score", "similarity", "label", "relatedness_score", "is_duplicate", "gold")
_SIMILAR = ("true", "yes", "y", "t", "alike", "similar", "same", "duplicate", "match", "relevant")
_DIFFERENT = ("false", "no", "n", "f", "unlike", "dissimilar", "different", "not_duplicate", "no_match", "irrelevant")
LABEL_WORDS = dict.fromkeys(_SIMILAR, 1.0) | dict.fromkeys(_DIFFERENT, 0.0)
"""Words that label a pair as similar or different."""


class ScoredPairs:
    """Pairs with a score each, or with a label 0 or 1."""

    name: str
    scores: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def labeled(self) -> bool:
        """Whether the scores are labels: 0 and 1, and nothing between."""
        return bool(np.isin(self.scores, (0.0, 1.0)).all())

    def _check_scores(self) -> None:
        if not np.isfinite(self.scores).all():
            raise FormatError(f"{self.name}: some scores are not finite. Leave those pairs out.")
        if (self.scores == self.scores[0]).all():
            both = " We need both 0 and 1." if self.labeled else " We need pairs that differ."
            raise FormatError(f"{self.name}: all {len(self):,} scores are {self.scores[0]:g}.{both}")


@dataclass(frozen=True, eq=False)
class PairTask(ScoredPairs):
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
            raise ShapeError(f"{self.name} has {len(self)} pairs; we need at least {FEWEST}. Add some.")
        self._check_scores()
        distinct = len({frozenset((a.strip(), b.strip())) for a, b in zip(self.left, self.right, strict=True)})
        if distinct < FEWEST:
            raise ShapeError(f"{self.name} has {distinct} distinct pairs; we need at least {FEWEST}. Add some.")


def open_pairs(name: Any, data: str | os.PathLike[str] | None = None) -> PairTask:  # noqa: ANN401 - or a table in memory
    """A set by `name` or `name:split`: from the folder `data`, else $UNCONE_DATA, else the hub; or your own table.

    Raises:
        MissingSourceError: there is no such set, or it is neither in the folder nor on the hub.
        SourceError: its file is damaged, not whole or not in range; the subclass and the message tell more.
        OptionError: it has no such split.
    """
    if not is_path(name) or path_of(name).is_file():
        return read_pairs(name)
    splits: dict[str, Sequence[str]] = {dataset: tuple(entry.rows) for dataset, entry in SETS.items()}
    dataset_name, split = name_and_split(os.fspath(name), STS, splits, "test")
    pairs = read_sts(dataset_name, split, data_folder(data))
    return PairTask(dataset_name, pairs.left, pairs.right, np.array(pairs.scores), pairs.subsets, split)


def local_pairs(name: str, split: str, data: str | os.PathLike[str] | None = None) -> PairTask | None:
    """A set that lies in the folder `data`, or in $UNCONE_DATA; None if it would have to be fetched."""
    match = _local(name, split, data_folder(data))
    if match is None:
        return None
    check_rows(len(match[1].scores), SETS[name].rows[split], match[0], f"{SETS[name].title} {split}")
    return PairTask(name, match[1].left, match[1].right, np.array(match[1].scores), match[1].subsets, split)


def read_pairs(
    path: Any,  # noqa: ANN401 - a path, or a table in memory
    left: str | None = None,
    right: str | None = None,
    score: str | None = None,
    *,
    scale: tuple[float, float] | None = None,
) -> PairTask:
    """Your own pairs: a .csv, .tsv, .jsonl or .parquet file with two columns of texts and one of scores or labels.

    Args:
        path: the file, or a table in memory.
        left: the column of the first texts; 1, 2 and 3 are the columns of a table without a header.
        right: the column of the second texts.
        score: the column of scores; labels are 0 and 1, true and false, or yes and no.
        scale: the lowest and the highest score that can be right.

    Raises:
        SourceError: the file or one of the columns is not there, or a row is not right; the message tells its line.
    """
    table = read_table(path, (left, right, score))
    names = {name.strip().lower() for name in table.names}
    usual = next((pair for pair in TEXT_PAIRS if set(pair) <= names), ("sentence1", "sentence2"))
    first = table.pick(left, usual[:1], "first text")
    second = table.pick(right, usual[1:], "second text")
    gold = table.pick(score, _SCORES, "score")
    if len({first, second, gold}) < 3:
        raise FormatError(
            f"{table.path}: the two texts and the score need three columns, not {first}, {second} and {gold}."
        )
    scores = _scores(table, gold, *(scale or (-np.inf, np.inf)))
    name = table.path.name
    return PairTask(name, table.texts(first), table.texts(second), scores, [name] * len(scores), "all")


def _scores(table: Table, column: str, low: float, high: float) -> NDArray[np.float64]:
    scores = []
    for where, value in table.column(column):
        word = str(value).strip().lower()
        scores.append(LABEL_WORDS[word] if word in LABEL_WORDS else finite_number(value, where, low, high))
    return np.array(scores, np.float64)
