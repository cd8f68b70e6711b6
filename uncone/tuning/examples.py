"""Training examples: what a source holds, read for the objective that fits it, and held-out pairs to judge it by."""

from __future__ import annotations

import os
import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from uncone.analysis.number_format import count
from uncone.data.tables.lines import tabbed_lines
from uncone.data.tables.memory import MemoryTable
from uncone.data.tables.read import Table, plain_suffix, read_table
from uncone.data.tasks.labeled import LABELED, LabeledTask, open_labeled
from uncone.data.tasks.locate import data_folder, first_file, hub_table, name_and_split
from uncone.data.tasks.sts import FEWEST, SETS, TEXT_PAIRS, PairTask, open_pairs, read_pairs
from uncone.data.texts.corpora import CORPORA, corpus_name
from uncone.data.texts.selection import Selection
from uncone.data.texts.texts import open_texts
from uncone.errors import ColumnError, FormatError, OptionError, ShapeError

__all__ = ["OBJECTIVES", "Columns", "Examples", "open_examples", "split_held_out"]

OBJECTIVES = ("contrastive", "nli", "scored", "pairs", "triplets", "labeled", "classify")
"""What a model can be trained for."""

_TRIPLETS = ("anchor", "positive", "negative")
_PAIRS = (("anchor", "positive"), *TEXT_PAIRS)
_NLI_LABELS = {
    **dict.fromkeys(("entailment", "entails", "e", "0"), "positive"),
    **dict.fromkeys(("contradiction", "contradicts", "c", "2"), "negative"),
    **dict.fromkeys(("neutral", "n", "1", "-", "-1"), ""),
}
_SHARE = 0.1
_MOST_HELD_OUT = 1000
_FEWEST_EXAMPLES = 100
"""With fewer examples none are held out: every one is needed."""


@dataclass(frozen=True)
class Columns:
    """The columns of a table that options name."""

    text: Sequence[str] = ()
    label: str | None = None
    score: str | None = None


@dataclass(frozen=True, eq=False)
class Examples:
    """Rows to train on: columns of texts by their role, and perhaps a score or a class for each row.

    A row of `contrastive` is one text; `nli` and `triplets` have an anchor, a positive and a negative, `pairs` the
    first two, `scored` two texts and a score, `labeled` and `classify` a text and a class.
    """

    name: str
    objective: str
    texts: tuple[Sequence[str], ...]
    scores: Sequence[float] = ()
    labels: Sequence[str] = ()
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.texts[0])

    def select(self, rows: Sequence[int]) -> Examples:
        """Some of the rows."""
        texts = tuple([column[row] for row in rows] for column in self.texts)
        scores, labels = ([column[row] for row in rows] if len(column) else () for column in (self.scores, self.labels))
        return replace(self, texts=texts, scores=scores, labels=labels)  # type: ignore[arg-type]

    @property
    def distinct_texts(self) -> list[str]:
        """Every text once, in order."""
        return list(dict.fromkeys(text for row in zip(*self.texts, strict=True) for text in row))

    def pairs(self, seed: int = 0) -> PairTask | None:
        """The rows as scored pairs, or as pairs that belong together (1) or not (0); None if they don't tell.

        A pair that doesn't belong together is the negative of a row, or the partner or a text of another class from
        another row, drawn by `seed`.
        """
        rows = self._labeled_pairs(seed)
        if rows is None or len({score for *_, score in rows}) < 2:
            return None
        left, right, scores = (list(column) for column in zip(*rows, strict=True))
        if len({frozenset(pair) for pair in zip(left, right, strict=True)}) < FEWEST:
            return None
        return PairTask(
            "held-out pairs", left, right, np.array(scores, np.float64), ["held-out pairs"] * len(scores), "all"
        )

    def _labeled_pairs(self, seed: int) -> list[tuple[str, str, float]] | None:
        rng, n = random.Random(seed), len(self)
        if self.objective == "scored":
            return list(zip(*self.texts, self.scores, strict=True))
        if self.objective in ("nli", "triplets"):
            return [pair for a, b, c in zip(*self.texts, strict=True) for pair in ((a, b, 1.0), (a, c, 0.0))]
        if self.objective == "pairs":
            partners = [(row + rng.randrange(1, n)) % n for row in range(n)] if n > 1 else []
            anchors, positives = self.texts
            return [*zip(anchors, positives, [1.0] * n, strict=True)] + [
                (anchors[row], positives[partner], 0.0) for row, partner in enumerate(partners)
            ]
        if self.objective in ("labeled", "classify"):
            return _class_pairs(self.texts[0], self.labels, rng)
        return None


def _class_pairs(texts: Sequence[str], labels: Sequence[str], rng: random.Random) -> list[tuple[str, str, float]]:
    """Every text with one of its own class and one of another, where there is one."""
    rows = defaultdict(list)
    for row, label in enumerate(labels):
        rows[label].append(row)
    pairs = []
    for row, label in enumerate(labels):
        same = [other for other in rows[label] if other != row]
        different = [other for name in rows if name != label for other in rows[name]]
        pairs += [
            (texts[row], texts[rng.choice(some)], score) for some, score in ((same, 1.0), (different, 0.0)) if some
        ]
    return pairs


def open_examples(
    sources: Sequence[Any],
    objective: str | None = None,
    columns: Columns | None = None,
    data: str | os.PathLike[str] | None = None,
    limit: int | None = None,
) -> Examples:
    """Training examples from files, named datasets, tables in memory or texts; several are joined.

    Without an objective, the sources decide: premises and hypotheses with labels are `nli`, two texts with a score
    `scored`, two texts `pairs`, three `triplets`, a text with a class `labeled`, and texts alone `contrastive`.

    Raises:
        SourceError: a source cannot be read, or does not hold what the objective needs.
        OptionError: the sources hold different things.
    """
    columns = columns or Columns()
    parts = [_open(source, objective, columns, data) for source in sources]
    kinds = list(dict.fromkeys(part.objective for part in parts))
    if len(kinds) > 1:
        names = " and ".join(f"{part.name} ({part.objective})" for part in parts[:2])
        raise OptionError(f"The sources hold different examples: {names}. Name the objective with --objective.")
    texts = tuple([text for part in parts for text in part.texts[place]] for place in range(len(parts[0].texts)))
    joined = replace(
        parts[0],
        name=", ".join(part.name for part in parts),
        texts=texts,
        scores=[score for part in parts for score in part.scores],
        labels=[label for part in parts for label in part.labels],
        notes=tuple(note for part in parts for note in part.notes),
    )
    usable = _without_blanks_and_copies(joined)
    return usable if limit is None else usable.select(range(min(limit, len(usable))))


def _without_blanks_and_copies(examples: Examples) -> Examples:
    """Rows with a blank text are left out, and repeated rows: a copy in a batch would be its own negative."""
    others = (examples.scores or examples.labels) or [None] * len(examples)
    distinct: dict[Any, int] = {}
    blank = 0
    for row, (*texts, other) in enumerate(zip(*examples.texts, others, strict=True)):
        if all(text.strip() for text in texts):
            distinct.setdefault((*texts, other), row)
        else:
            blank += 1
    if not distinct:
        raise ShapeError(f"{examples.name} has no text to train on. Name a source that has some.")
    copies = len(examples) - blank - len(distinct)
    notes = [f"Left out: {count(blank, 'example')} with a blank text."] if blank else []
    notes += [f"Left out: {count(copies, 'repeated example')}."] if copies else []
    result = examples.select(list(distinct.values()))
    if len(result.distinct_texts) < 2:
        raise ShapeError(
            f"{examples.name} has only one distinct text, so there is nothing to tell apart. Name a source with more."
        )
    return replace(result, notes=(*examples.notes, *notes))


def _open(source: Any, objective: str | None, columns: Columns, data: str | os.PathLike[str] | None) -> Examples:  # noqa: ANN401
    is_name = isinstance(source, str | os.PathLike) and not os.path.exists(source)  # noqa: PTH110 - it never raises
    name = corpus_name(os.fspath(source)) if is_name else ""
    if name in SETS:
        return _from_pairs(open_pairs(source, data), objective)
    if name in LABELED:
        return _from_labeled(open_labeled(source, data), objective)
    if name in CORPORA and CORPORA[name].labeled and objective in (None, "nli"):
        return _nli(os.fspath(source), _nli_rows(os.fspath(source), data))
    if MemoryTable.of(source) is not None or (not is_name and plain_suffix(_path(source))):
        return _from_table(source, objective, columns)
    if objective not in (None, "contrastive"):
        raise FormatError(f"{source} holds texts alone, and {objective} needs {_NEEDS[objective]}.")
    return _contrastive(source, (), data)


def _path(source: Any) -> Any:  # noqa: ANN401 - a path or strings
    from pathlib import Path

    return Path(source) if isinstance(source, str | os.PathLike) else Path()


_NEEDS = {
    "nli": "a table with premise, hypothesis and label (entailment, neutral, contradiction), or snli",
    "scored": "a table with two texts and a score, or a dataset such as stsb:train",
    "pairs": "a table with two columns of texts that belong together, such as anchor and positive",
    "triplets": "a table with the columns anchor, positive and negative",
    "labeled": "a table with a text and a label, or sst2:train",
    "classify": "a table with a text and a label, or sst2:train",
}


def _contrastive(source: Any, text: Sequence[str], data: str | os.PathLike[str] | None) -> Examples:  # noqa: ANN401
    from uncone.data.texts.texts import LineTexts

    opened = open_texts(source, text=text or (), data=data)
    split = isinstance(opened, LineTexts) or corpus_name(opened.name).startswith("wikitext2")
    return Examples(opened.name, "contrastive", ([unit.text for unit in Selection(opened, split=split).read()],))


def _from_pairs(task: PairTask, objective: str | None) -> Examples:
    if objective == "contrastive":
        return Examples(task.name, "contrastive", ([*dict.fromkeys([*task.left, *task.right])],))
    if objective == "pairs":
        rows = [row for row, score in enumerate(task.scores) if score >= _positive_score(task)]
        note = f"Of {len(task):,} scored pairs, the {len(rows):,} most similar serve as positive pairs."
        sides = tuple([side[row] for row in rows] for side in (task.left, task.right))
        return Examples(task.name, "pairs", sides, notes=(note,))
    _check_objective(task.name, objective, "scored", "two texts and a score")
    return Examples(task.name, "scored", (list(task.left), list(task.right)), scores=task.scores.tolist())


def _positive_score(task: PairTask) -> float:
    """Four fifths of the scale, or 1 for labels."""
    low, high = float(task.scores.min()), float(task.scores.max())
    return low + 0.8 * (high - low)


def _from_labeled(task: LabeledTask, objective: str | None) -> Examples:
    if objective == "contrastive":
        return Examples(task.name, "contrastive", (list(task.texts),))
    if objective not in (None, "labeled", "classify"):
        _check_objective(task.name, objective, "labeled", "a text and a class")
    return Examples(task.name, objective or "labeled", (list(task.texts),), labels=list(task.labels))


def _check_objective(name: str, objective: str | None, own: str, content: str) -> None:
    if objective not in (None, own):
        raise FormatError(f"{name} holds {content}, and {objective} needs {_NEEDS[objective]}.")


def _from_table(source: Any, objective: str | None, columns: Columns) -> Examples:  # noqa: ANN401 - a path or a table
    table = read_table(source, (*columns.text, columns.label, columns.score))
    name, kind = str(table.path.name), objective or _guess(table, columns)
    if kind == "contrastive":
        return _contrastive(source, columns.text, None)
    if kind in ("labeled", "classify"):
        labeled = _labeled(table, columns)
        return Examples(name, kind, (list(labeled.texts),), labels=list(labeled.labels))
    if kind == "scored":
        left, right = _pick(table, columns, 2)
        pairs = read_pairs(source, left, right, columns.score)
        return _from_pairs(pairs, "scored")
    if kind == "nli":
        left, right = _pick(table, columns, 2)
        label = table.pick(columns.label, ("label", "gold_label", "labels"), "label")
        values = [(where, str(value).strip().lower()) for where, value in table.column(label)]
        return _nli(name, list(zip(values, table.texts(left), table.texts(right), strict=True)))
    count = 3 if kind == "triplets" else 2
    return Examples(name, kind, tuple(table.texts(column) for column in _pick(table, columns, count)))


def _labeled(table: Table, columns: Columns) -> LabeledTask:
    text = table.pick(next(iter(columns.text), None), ("text", "sentence", "content", "body"), "text")
    label = table.pick(columns.label, ("label", "class", "category", "target"), "label")
    labels = ["" if value is None else str(value).strip() for _, value in table.column(label)]
    return LabeledTask(table.path.name, table.texts(text), labels, "all")


def _guess(table: Table, columns: Columns) -> str:
    """The objective that the columns of a table fit."""
    names = {header.strip().lower() for header in table.names}
    if set(_TRIPLETS) <= names or len(columns.text) == 3:
        return "triplets"
    has_pair = len(columns.text) == 2 or any(set(pair) <= names for pair in _PAIRS)
    has_label = columns.label is not None or bool(names & {"label", "gold_label"})
    if has_pair and has_label and columns.score is None and _holds_nli_labels(table, columns):
        return "nli"
    if has_pair:
        return "scored" if columns.score or names & {"score", "similarity", "relatedness_score"} else "pairs"
    return "labeled" if columns.label is not None or "label" in names else "contrastive"


def _holds_nli_labels(table: Table, columns: Columns) -> bool:
    label = table.pick(columns.label, ("label", "gold_label"), "label")
    words = {str(value).strip().lower() for _, value in table.column(label)}
    return words <= set(_NLI_LABELS) and bool(words & {"entailment", "contradiction", "entails", "contradicts", "2"})


def _pick(table: Table, columns: Columns, count: int) -> list[str]:
    """The columns of texts: those named, or those of the usual names."""
    if columns.text and len(columns.text) != count:
        raise ColumnError(f"This objective needs {count} columns of texts, not {len(columns.text)}: name them all.")
    if columns.text:
        return [table.pick(name, (), "text") for name in columns.text]
    names = {header.strip().lower() for header in table.names}
    usual = _TRIPLETS if count == 3 else next((pair for pair in _PAIRS if set(pair) <= names), ("anchor", "positive"))
    return [table.pick(None, (name,), name) for name in usual]


def _nli_rows(request: str, data: str | os.PathLike[str] | None) -> list[tuple[tuple[str, str], str, str]]:
    """Labels with their places, premises and hypotheses of a named corpus."""
    corpus = CORPORA[corpus_name(request)]
    name, split = name_and_split(request, CORPORA, {corpus_name(request): corpus.splits}, corpus.default)
    folder = data_folder(data)
    path = first_file(folder, f"{name}/{split}.tsv", f"{name}-{split}.tsv")
    if path is not None:
        rows = tabbed_lines(path, ("label", "premise", "hypothesis"))
        return [((f"{path}, line {line}", label.strip().lower()), a, b) for line, (label, a, b) in rows]
    fields = ("label", "premise", "hypothesis")
    where, table = hub_table(request, corpus.hub[split][0], fields, folder, [f"{name}/{split}.tsv"])
    columns = (list(table[field]) for field in fields)
    return [((where, str(label)), a or "", b or "") for label, a, b in zip(*columns, strict=True)]


def _nli(name: str, rows: Iterable[tuple[tuple[str, str], str, str]]) -> Examples:
    """Triplets: a premise, a hypothesis that follows from it, and one that contradicts it."""
    by_premise: Mapping[str, dict[str, list[str]]] = defaultdict(lambda: {"positive": [], "negative": []})
    n = 0
    for (where, label), premise, hypothesis in rows:
        if label not in _NLI_LABELS:
            raise FormatError(f"{where}: the label {label[:40]!r} is not entailment, neutral or contradiction.")
        n += 1
        if _NLI_LABELS[label]:
            by_premise[premise][_NLI_LABELS[label]].append(hypothesis)
    triplets = [
        (premise, positive, own["negative"][place % len(own["negative"])])
        for premise, own in by_premise.items()
        if own["negative"]
        for place, positive in enumerate(own["positive"])
    ]
    if not triplets:
        raise FormatError(f"{name} has no premise with both an entailment and a contradiction, and nli needs some.")
    note = f"{n:,} labeled pairs give {len(triplets):,} triplets of a premise, an entailment and a contradiction."
    return Examples(name, "nli", tuple(list(column) for column in zip(*triplets, strict=True)), notes=(note,))


def split_held_out(examples: Examples, seed: int = 0) -> tuple[Examples, Examples | None, Examples | None]:
    """Rows to train on, and two held-out parts, to choose by and to judge by; no text is on two sides.

    A tenth of the rows is held out, at most 1,000; none if there are fewer than 100.
    """
    n = len(examples)
    if n < _FEWEST_EXAMPLES:
        return examples, None, None
    rows = random.Random(seed).sample(range(n), n)
    size = min(int(n * _SHARE), _MOST_HELD_OUT)
    dev, test = sorted(rows[: size // 2]), sorted(rows[size // 2 : size])
    dev_texts = set(examples.select(dev).distinct_texts)
    texts = [set(row) for row in zip(*examples.texts, strict=True)]
    test = [row for row in test if not texts[row] & dev_texts]
    outside = dev_texts.union(*(texts[row] for row in test))
    train = [row for row in sorted(rows[size:]) if not texts[row] & outside]
    if len(train) < n / 2:  # texts are shared by nearly all rows
        note = "No examples are held out, because most of them share texts."
        return replace(examples, notes=(*examples.notes, note)), None, None
    return examples.select(train), examples.select(dev), examples.select(test)
