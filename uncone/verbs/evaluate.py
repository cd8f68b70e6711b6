"""Evaluation: `evaluate` makes the tables of the literature, `prescribe` recommends a repair or none."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from uncone.data.storage.path import path_of
from uncone.errors import FitError, OptionError
from uncone.verbs.options.evaluate import EvaluateOptions
from uncone.verbs.options.fix import PrescribeOptions
from uncone.verbs.spaces.encoding import encoded, open_space, open_texts_of
from uncone.verbs.spaces.verb import verb

if TYPE_CHECKING:
    from uncone.data.batch import Matrix
    from uncone.data.source import Source
    from uncone.data.tasks.sts import PairTask
    from uncone.evaluation.advised import Advised
    from uncone.evaluation.folds import PairProblem
    from uncone.evaluation.prescription import Prescription
    from uncone.evaluation.spaces import Settings
    from uncone.evaluation.table import EvaluationTable, Method, TaskRow
    from uncone.evaluation.vectors.fits import VectorFits
    from uncone.report.documents.evaluate import Evaluated
    from uncone.report.documents.evaluate.papers import PaperTables
    from uncone.verbs.spaces.judged import JudgedPairs

__all__ = ["evaluate", "prescribe", "reproduce"]

_LEAST = 30
"""Pairs of a dataset that a trial of the suite needs."""


@verb(EvaluateOptions)
def evaluate(
    model: Any = None,  # noqa: ANN401 - a name, a path or an encoder
    datasets: Sequence[Any] | None = None,
    methods: str | Iterable[str | Method] | None = None,
    *,
    options: EvaluateOptions,
) -> Evaluated:
    """Evaluate a model on human scores, raw and after each method: Spearman, Pearson and isotropy, with intervals.

    `model` is a folder, a name on the hub, a file of word vectors, or an encoder. `datasets` and `methods` may be given
    by position; all seven STS sets by default, none with `tasks`. Without a model, `vectors` are evaluated: by a search
    of `queries` with the judgments `qrels`, or by `pairs` of rows.

    >>> rng = np.random.default_rng(0)
    >>> docs, noise = rng.normal(size=(50, 8)), rng.normal(size=(30, 8))
    >>> qrels = {str(row): {str(row): 1} for row in range(30)}
    >>> result = evaluate(vectors=docs, queries=docs[:30] + noise / 9, qrels=qrels, methods="raw")
    >>> result.table.tasks[0].scores["ndcg@10"].value
    1.0
    """
    options.check_model(model)
    if options.vectors is not None:
        return _evaluate_vectors(options, methods if methods is not None else options.methods or None)
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
    methods = methods if methods is None or isinstance(methods, str) else list(methods)
    name = os.fspath(model) if isinstance(model, str | os.PathLike) else model.name
    settings = _settings(options, methods)
    result: EvaluationTable = evaluate_sts(model, sources, methods, settings) if sources else Table(name, [], [])
    other = _other_tasks(model, options, methods, settings) if options.tasks else []
    published = published_rows(name) if options.published else []
    return Rendered(replace(result, tasks=other, published=published))


def _evaluate_vectors(options: EvaluateOptions, methods: str | Iterable[str | Method] | None) -> Evaluated:
    """Vectors with judgments or pairs of rows, raw and after each method."""
    from uncone.evaluation.methods import with_sides
    from uncone.evaluation.table import EvaluationTable as Table
    from uncone.evaluation.vectors.fits import VectorFits, vector_methods
    from uncone.evaluation.vectors.search import evaluate_search
    from uncone.report.documents.evaluate import Evaluated as Rendered
    from uncone.verbs.spaces.judged import open_pairs_of_rows, open_search, open_side

    settings = replace(_settings(options, methods), cache=None, fit_on=())
    fit_on = open_side(options.fit_on, "vector", options).vectors if options.is_given("fit_on") else None
    listed = vector_methods(methods, fit_on)
    if options.pairs is not None:
        side = open_side(options.vectors, "vector", options)
        pairs = open_pairs_of_rows(side, options)
        fits = VectorFits(side.vectors, settings, fit_on=fit_on, rows=(pairs.names, pairs.matrix))
        fits.check(listed)
        return Rendered(_pair_table(fits, listed, pairs, _vector_facts(options, side.vectors, fits)))
    problem, docs, queries, notes = open_search(options)
    fits = VectorFits(docs.vectors, settings, fit_on=fit_on, queries=queries.vectors)
    fits.check(listed)
    rows, hubs = evaluate_search(problem, fits, with_sides(listed, options.both_sides))
    facts = _vector_facts(options, docs.vectors, fits)
    facts |= {"queries": queries.vectors.name, "qrels": problem.name, "relevant": options.relevant}
    facts |= {"sides": options.sides, "ties": "by row"}
    return Rendered(Table(docs.vectors.name, [], [], tasks=rows, notes=notes, provenance=facts, hubs=hubs))


def _pair_table(
    fits: VectorFits, methods: Sequence[Method], pairs: JudgedPairs, provenance: dict[str, Any]
) -> EvaluationTable:
    """Pairs with scores by correlations, pairs with labels by how well cosines tell them apart."""
    from uncone.evaluation.table import EvaluationTable as Table
    from uncone.evaluation.tasks.sts import score_methods
    from uncone.evaluation.tasks.tasks import pair_judge, task_rows

    name, task, notes = fits.source.name, pairs.task, [*pairs.notes]
    provenance = {**provenance, "pairs": task.name, "vectors_in_pairs": len(pairs.names)}
    if task.labeled:
        rows = task_rows(task.name, fits, methods, pair_judge(task, pairs.names))
        return Table(name, [], [], tasks=rows, notes=notes, provenance=provenance)
    table = score_methods(name, task, fits, methods)
    provenance["independent_pairs"] = table.provenance["independent_pairs"]
    return replace(table, notes=[*notes, *table.notes], provenance=provenance)


def _vector_facts(options: EvaluateOptions, source: Source, fits: VectorFits) -> dict[str, Any]:
    """What was read, to evaluate it again."""
    from uncone.data.writing.manifest import versions

    names = {"ids": options.ids, "query_ids": options.query_ids}
    columns = {name: os.fspath(value) for name, value in names.items() if isinstance(value, str | os.PathLike)}
    return {
        "rows": source.rows,
        "dim": source.dim,
        **columns,
        "fit_on": None if fits.fit_on is None else fits.fit_on.name,
        "seeds": options.seeds,
        "seed": options.seed,
        "replicates": options.replicates,
        "correction": "holm",
        **versions(),
    }


def _settings(options: EvaluateOptions, methods: str | Iterable[str | Method] | None) -> Settings:
    from uncone.data.cache import VectorCache
    from uncone.evaluation.methods import level_for
    from uncone.evaluation.spaces import Settings

    names = [field.name for field in fields(Settings) if field.name not in ("layer", "cache", "partition")]
    shared = {name: getattr(options, name) for name in names}
    shared["level"] = options.level or level_for(methods)
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
    suite = measure_parts(model, supervised, target, _settings(options, None), limit)
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
            sides, relevant = options.both_sides, options.relevant
            rows += other.evaluate_retrieval(model, folder, methods, sides=sides, relevant=relevant, settings=settings)
        else:
            names = [*LABELED, "wic", *WORD_PAIRS, "labels:FILE", "pairs:FILE", "words:FILE", "retrieval:FOLDER"]
            raise OptionError(f"There is no task {task!r}; choose from {', '.join(names)}.")
    return rows


@verb(PrescribeOptions)
def prescribe(source: Any = None, *, options: PrescribeOptions) -> Prescription | Advised:  # noqa: ANN401 - as for fix
    """Choose a repair by held-out labeled pairs, or advise to leave the space alone.

    With pairs, a repair is recommended only if its gain is proven, on at least 30 independent pairs. Without pairs, the
    rule that speaks recommends one or none, with its record: that is an estimate. `source` holds texts, with `model`;
    or vectors, whose rows the pairs name. It is optional when pairs of texts are given.
    """
    from uncone.evaluation.prescribe import prescribe as choose

    if options.pairs is None:
        return _by_rule(source, options)
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


def _by_rule(source: Any, options: PrescribeOptions) -> Advised:  # noqa: ANN401 - as for fix
    """What a rule recommends without labeled pairs, and what that repair does to the agreement with words."""
    from uncone.analysis.advice.words import WordSample, word_sample
    from uncone.evaluation.advised import Advised as Named
    from uncone.evaluation.table import Method as Candidate
    from uncone.repairs.registry import make_seeded
    from uncone.verbs.check import diagnosis_of, measure_source
    from uncone.verbs.options.check import CheckOptions

    if source is None:
        raise OptionError("Name vectors, texts with --model, or labeled pairs with --pairs.")
    checking = options.cast(CheckOptions)
    vectors = open_space(source, options)
    if not vectors.rereadable:
        raise FitError(f"{vectors.name} can be read only once, but a repair needs several passes. Save it to a file.")
    space = measure_source(vectors, checking)
    diagnosis = diagnosis_of(space, checking)
    advice, names = diagnosis.advice, ("baseline", "diverse_baseline", "topic_share", "word_agreement")
    assert advice is not None
    findings = {name: diagnosis[name] for name in names if name in diagnosis.findings}
    result = Named(None, None, advice, None, findings, diagnosis.source["name"], space.dim)
    if advice.repair is None:
        return result
    keywords, words = advice.repair.options(space.dim), space.derived(word_sample)
    repair = make_seeded(advice.repair.method, keywords, options.seed)
    repair.fit_source(vectors, checking.plan, options.progress)
    change = words.pairs.change(words.vectors, repair.map(words.vectors)) if isinstance(words, WordSample) else None
    title = " ".join([advice.repair.method, *map(str, keywords.values())])
    method = Candidate(title, advice.repair.method, keywords, protocol="transductive")
    return replace(result, recommended=method, repair=repair, change=change)


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
