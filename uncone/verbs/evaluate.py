"""Evaluation: `evaluate` makes the tables of the literature, `prescribe` recommends a repair or none."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, fields, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from uncone import __version__
from uncone.data.storage.path import path_of
from uncone.errors import OptionError, OutputError
from uncone.verbs.options.evaluate import EvaluateOptions
from uncone.verbs.options.fix import PrescribeOptions
from uncone.verbs.spaces.encoding import encoded, open_space, open_texts_of
from uncone.verbs.spaces.verb import verb

if TYPE_CHECKING:
    from uncone.data.batch import Matrix
    from uncone.data.tasks.sts import PairTask
    from uncone.evaluation.folds import PairProblem
    from uncone.evaluation.papers import PaperTable
    from uncone.evaluation.prescription import Prescription
    from uncone.evaluation.spaces import Settings
    from uncone.evaluation.table import EvaluationTable, Method, TaskRow
    from uncone.report.documents.evaluate import Evaluated

__all__ = ["evaluate", "prescribe", "reproduce"]


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
    from uncone.evaluation.papers import published_rows
    from uncone.evaluation.table import EvaluationTable as Table
    from uncone.evaluation.tasks.sts import evaluate_sts
    from uncone.report.documents.evaluate import Evaluated as Rendered

    sources = options.datasets or (() if options.tasks else STS)
    if datasets is not None:
        several = datasets.split(",") if isinstance(datasets, str) else datasets
        sources = several if isinstance(several, list | tuple) else [several]
    methods = methods if methods is not None else options.methods or None
    methods = methods if methods is None or isinstance(methods, str) else list(methods)
    name = os.fspath(model) if isinstance(model, str | os.PathLike) else model.name
    settings = _settings(options, methods)
    result: EvaluationTable = evaluate_sts(model, sources, methods, settings) if sources else Table(name, [], [])
    other = _other_tasks(model, options, methods, settings) if options.tasks else []
    published = published_rows(name) if options.published else []
    return Rendered(replace(result, tasks=other, published=published))


def _settings(options: EvaluateOptions, methods: str | Iterable[str | Method] | None) -> Settings:
    from uncone.data.cache import VectorCache
    from uncone.evaluation.methods import level_for
    from uncone.evaluation.spaces import Settings

    names = [field.name for field in fields(Settings) if field.name not in ("layer", "cache")]
    shared = {name: getattr(options, name) for name in names}
    shared["level"] = options.level or level_for(methods)
    return Settings(layer=options.layers, cache=VectorCache() if options.cache else None, **shared)


@verb(EvaluateOptions)
def reproduce(
    model: str | os.PathLike[str], folder: str | os.PathLike[str], *, options: EvaluateOptions
) -> Iterator[tuple[PaperTable, Evaluated | None]]:
    """Make all tables of the papers for one model, each written to `folder` when it is done.

    A table that is there already, of this model and with these settings, is not made again (None): so a run that was
    interrupted goes on. Vectors of texts come from the cache. Every table goes to `folder` as .html, .json, .tex and
    .csv.
    """
    from uncone.data.writing.atomic import write_all
    from uncone.encoders.open import model_folder, open_encoder
    from uncone.encoders.sentence_transformer import read_recipe
    from uncone.evaluation.papers import PAPERS

    target, loading = path_of(folder), options.loading
    sentence_model = read_recipe(model_folder(os.fspath(model), loading)) is not None
    content = open_encoder(model, loading).fingerprint()
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"The folder {target} cannot be created: {error.strerror}. Name another with --out."
        ) from error
    settings: dict[str, Any] = {"fit_on": options.fit_on, "dtype": loading.dtype}
    settings |= {"prompt": options.prompt, "replicates": options.replicates}
    if not isinstance(settings["fit_on"], str | os.PathLike):
        settings["fit_on"] = sha256("\n".join(settings["fit_on"]).encode(errors="replace")).hexdigest()
    for table in PAPERS:
        if table.layer is None and not sentence_model:
            continue
        made_as = {"model": content, "seed": options.seed, **settings, "table": asdict(table), "uncone": __version__}
        mark = json.loads(json.dumps(made_as, default=str))  # as it is read back
        json_file, *beside = (target / f"{table.name}.{ending}" for ending in ("json", "html", "tex", "csv"))
        if _is_done(json_file, mark) and all(path.is_file() for path in beside):
            yield table, None
            continue
        own = {name: getattr(table, name) for name in ("protocols", "layer", "pooling", "level", "seeds", "tasks")}
        result = evaluate(model, table.datasets, table.methods, options=options, published=True, **own)
        values = {**result.to_dict(), "made_as": mark}
        files = dict(zip(beside, (result.to_html(), result.to_latex(), result.to_csv()), strict=True))
        # The JSON comes last: if it is there, all other files are.
        write_all({**files, json_file: json.dumps(values, indent=2, ensure_ascii=False, allow_nan=False) + "\n"})
        yield table, result


def _is_done(path: Path, mark: dict[str, Any]) -> bool:
    """Whether the file holds a table made with the same settings."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(values, dict) and values.get("made_as") == mark


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
