"""Evaluation: `evaluate` makes the tables of the literature, `prescribe` recommends a repair or none."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from uncone.data.storage.path import path_of
from uncone.errors import OptionError
from uncone.verbs.options.evaluate import EvaluateOptions
from uncone.verbs.options.fix import PrescribeOptions
from uncone.verbs.spaces.encoding import encoded, open_space, open_texts_of
from uncone.verbs.spaces.verb import verb

if TYPE_CHECKING:
    from uncone.data.batch import Matrix
    from uncone.data.tasks.sts import PairTask
    from uncone.evaluation.folds import PairProblem
    from uncone.evaluation.prescription import Prescription
    from uncone.evaluation.spaces import Settings
    from uncone.evaluation.table import EvaluationTable, Method, TaskRow
    from uncone.report.documents.evaluate import Evaluated
    from uncone.report.documents.evaluate.papers import PaperTables

__all__ = ["evaluate", "prescribe", "reproduce"]

_LEAST = 30
"""Pairs of a dataset that a trial of the suite needs."""


@verb(EvaluateOptions)
def evaluate(
    model: Any,  # noqa: ANN401 - a name, a path or an encoder
    datasets: Sequence[Any] | None = None,
    methods: str | Iterable[str | Method] | None = None,
    *,
    options: EvaluateOptions,
) -> Evaluated:
    """Evaluate a model on human scores, raw and after each method: Spearman, Pearson and isotropy, with intervals.

    `model` is a folder, a name on the hub, a file of word vectors, or an encoder. `datasets` and `methods` may be given
    by position; all seven STS sets by default, none with `tasks`.
    """
    from uncone.data.tasks.sts import STS
    from uncone.evaluation.papers.published import published_rows
    from uncone.evaluation.table import EvaluationTable as Table
    from uncone.evaluation.tasks.sts import evaluate_sts
    from uncone.report.documents.evaluate import Evaluated as Rendered

    sources = options.datasets or (() if options.tasks else STS)
    if datasets is not None:
        several = datasets.split(",") if isinstance(datasets, str) else datasets
        sources = several if isinstance(several, list | tuple) else [several]
    methods = methods if methods is not None else options.methods or None
    name = os.fspath(model) if isinstance(model, str | os.PathLike) else model.name
    settings = _settings(options)
    result: EvaluationTable = evaluate_sts(model, sources, methods, settings) if sources else Table(name, [], [])
    other = _other_tasks(model, options, methods, settings) if options.tasks else []
    published = published_rows(name) if options.published else []
    return Rendered(replace(result, tasks=other, published=published))


def _settings(options: EvaluateOptions) -> Settings:
    from uncone.data.cache import VectorCache
    from uncone.evaluation.spaces import Settings

    names = [field.name for field in fields(Settings) if field.name not in ("layer", "cache", "partition")]
    shared = {name: getattr(options, name) for name in names}
    return Settings(layer=options.layers, cache=VectorCache() if options.cache else None, **shared)


@verb(EvaluateOptions)
def reproduce(
    model: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    supervised: str | os.PathLike[str] | None = None,
    limit: int | None = None,
    *,
    options: EvaluateOptions,
) -> PaperTables:
    """Make all tables of the cluster-based, flow and whitening papers for one model, and write them to `folder`.

    The tables with NLI supervision are those of `supervised`, a sentence model trained on NLI; or of the model itself,
    if it is a sentence model. `limit` takes only so many pairs of each dataset, for a trial. Each part is kept in
    `folder`/parts when it is complete, and not measured again with the same model and settings: so a run that
    was interrupted goes on. The tables are written as papers.html, .md, .tex, .csv and .json.
    """
    from uncone.data.writing.atomic import write_all
    from uncone.evaluation.papers.resumable import measure_parts
    from uncone.report.documents.evaluate.papers import PaperTables as Tables

    if limit is not None and limit < _LEAST:
        raise OptionError(f"A limit of {limit} is too small: we need at least {_LEAST} pairs of each dataset.")
    target = path_of(folder)
    suite = measure_parts(model, supervised, target, _settings(options), limit)
    own = suite.figures, limit, suite.provenance, suite.resumed
    tables = Tables(os.fspath(model), suite.supervised, *own)
    forms = {"html": tables.to_html, "md": tables.to_markdown, "tex": tables.to_latex, "csv": tables.to_csv}
    write_all({target / f"papers.{ending}": render() for ending, render in {**forms, "json": tables.to_json}.items()})
    return tables


def _other_tasks(
    model: Any,  # noqa: ANN401 - as for evaluate
    options: EvaluateOptions,
    methods: str | Iterable[str | Method] | None,
    settings: Settings,
) -> list[TaskRow]:
    """The rows of every other task, by its name or by the prefix before a colon."""
    from uncone.data.tasks.labeled import LABELED
    from uncone.data.tasks.words import WORD_PAIRS
    from uncone.evaluation.tasks import tasks as other

    rows: list[TaskRow] = []
    for task in options.tasks:
        kind, _, argument = task.partition(":")
        if kind in LABELED:
            if argument == "train":
                raise OptionError(
                    f"The task {task} would be tested on its own training data. Use {kind}:dev or {kind}."
                )
            rows += other.evaluate_labeled(model, task, methods, train=f"{kind}:train", settings=settings)
        elif kind == "labels":
            rows += other.evaluate_labeled(model, argument, methods, settings=settings)
        elif kind == "wic":
            if argument not in ("", "dev"):
                raise OptionError(f"The task {task} cannot be evaluated: wic is trained on train and tested on dev.")
            rows += other.evaluate_wic(model, methods=methods, settings=settings)
        elif kind == "pairs":
            rows += other.evaluate_pairs(model, argument, methods, settings=settings)
        elif kind in WORD_PAIRS or kind == "words":
            rows += other.evaluate_words(model, argument or kind, methods, settings=settings)
        elif kind == "retrieval" or os.path.isdir(task):  # noqa: PTH112 - unlike pathlib's, it does not raise
            folder = argument if kind == "retrieval" else task
            rows += other.evaluate_retrieval(model, folder, methods, separate=options.separate, settings=settings)
        else:
            names = [*LABELED, "wic", *WORD_PAIRS, "labels:FILE", "pairs:FILE", "words:FILE", "retrieval:FOLDER"]
            raise OptionError(f"There is no task {task!r}; choose from {', '.join(names)}.")
    return rows


@verb(PrescribeOptions)
def prescribe(source: Any = None, *, options: PrescribeOptions) -> Prescription:  # noqa: ANN401 - as for fix
    """Choose a repair by held-out labeled pairs, or advise to leave the space alone.

    A repair is recommended only if its gain is proven, on at least 30 independent pairs. `source` holds texts, with
    `model`; or vectors, whose rows the pairs name. It is optional when pairs of texts are given.
    """
    from uncone.evaluation.prescribe import prescribe as choose

    if options.pairs is None:
        raise OptionError(
            "--method auto needs labeled pairs to choose a repair: name them with --pairs. Or name a repair, such as "
            "--method droptop, and judge it on your own task."
        )
    task = _pair_task(options)
    names = ("candidates", "folds", "seed", "replicates", "least_gain", "progress")
    settings = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    if options.encoding is None:
        if source is None:
            raise OptionError(
                "Pairs of row numbers need vectors, and pairs of texts need a model: name one with --model."
            )
        vectors = _rows_of(open_space(source, options.cast(PrescribeOptions, text=(), label=None)))
        return choose(vectors, _by_number(task, len(vectors)), **settings)
    texts_of = None if source is None else open_texts_of(source, options.text, None, options.data)
    texts, problem = _problem(task, [] if texts_of is None else _corpus(texts_of, options.limit))
    rows = _rows_of(encoded(open_texts_of(texts), replace(options.encoding, limit=None)))
    return choose(rows, problem, **settings)


def _pair_task(options: PrescribeOptions) -> PairTask:
    from uncone.data.tasks.sts import PairTask, open_pairs, read_pairs

    pairs, columns = options.pairs, (options.left, options.right, options.score)
    if isinstance(pairs, PairTask):
        return pairs
    if any(columns):
        return read_pairs(pairs, *columns)
    return open_pairs(pairs, options.data)


def _corpus(texts: Any, limit: int | None) -> list[str]:  # noqa: ANN401 - a source of texts
    from uncone.encoders.text_vectors import taken_texts

    return [unit.text for unit in taken_texts(texts, limit) if unit.text]


def _problem(task: PairTask, corpus: Sequence[str]) -> tuple[list[str], PairProblem]:
    """The texts to encode, those of pairs first, and the pairs as rows of them."""
    from uncone.evaluation.folds import pair_problem

    texts, problem = pair_problem(task)
    pair_texts = set(texts)
    return [*texts, *(text for text in dict.fromkeys(corpus) if text not in pair_texts)], problem


def _by_number(task: PairTask, rows: int) -> PairProblem:
    """Pairs that name rows of a table of vectors by their numbers, from 0 on."""
    from uncone.evaluation.folds import PairProblem

    columns = []
    for side in (task.left, task.right):
        wrong = next((cell for cell in side if not _is_row(cell.strip(), rows)), None)
        if wrong is not None:
            raise OptionError(
                f"{task.name}: {wrong[:40]!r} is not a row number (0 to {rows - 1:,}). Pairs of vectors name "
                "rows; for pairs of texts, name a model with --model."
            )
        columns.append(np.array([int(cell) for cell in side], np.int64))
    return PairProblem(columns[0], columns[1], np.asarray(task.scores, np.float64), name=task.name)


def _is_row(text: str, rows: int) -> bool:
    return text.isdecimal() and len(text.lstrip("0")) <= len(str(rows)) and int(text) < rows


def _rows_of(source: Any) -> Matrix:  # noqa: ANN401 - any source
    return np.concatenate([np.array(rows.vectors, np.float32) for rows in source.read()])
