"""Proof: `evaluate` makes the tables of the literature, `prescribe` chooses a repair or advises to leave it alone."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from uncone._version import __version__
from uncone.data.open import open_source
from uncone.data.source import Options
from uncone.errors import OptionError, OutputError
from uncone.verbs.encoding import Encoding, Progress, encoded, open_texts_of

if TYPE_CHECKING:
    from uncone.data.batch import Matrix
    from uncone.data.tasks.scored_pairs import PairTask
    from uncone.encoders.open import Loading
    from uncone.evaluation.prescribe.problem import PairProblem
    from uncone.evaluation.prescribe.verdict import Prescription
    from uncone.evaluation.suite import PaperTable
    from uncone.evaluation.table import EvaluationTable, Method, TaskRow
    from uncone.report.results.evaluate import Evaluated

__all__ = ["evaluate", "prescribe", "reproduce"]

_MARKED = ("fit_on", "prompt", "replicates")  # settings that change the figures of a table


def evaluate(
    model: Any,  # noqa: ANN401 - a name, a path or an encoder
    datasets: Sequence[Any] | None = None,
    methods: str | Iterable[str | Method] | None = None,
    *,
    fit_on: Any = "snli",  # noqa: ANN401 - a corpus, a file or strings
    protocols: Sequence[str] = ("inductive",),
    layer: str | int | Sequence[str | int] | None = None,
    pooling: str | None = None,
    level: str = "sentence",
    prompt: str = "",
    data: str | os.PathLike[str] | None = None,
    tasks: Sequence[str] = (),
    separate: bool = False,
    published: bool = False,
    loading: Loading | None = None,
    seeds: int = 1,
    seed: int = 0,
    replicates: int = 1000,
    gmm: bool = True,
    cache: bool = True,
    progress: Progress | None = None,
) -> Evaluated:
    """Judge a model by human scores, raw and after each method: Spearman, Pearson and isotropy, with intervals.

    Args:
        model: a folder, a name on the hub, a file of word vectors, or an encoder.
        datasets: some of sts12 to sts16, stsb, sickr, with a split such as stsb:dev, or files of pairs; all seven by
            default, none with `tasks`.
        methods: such as "raw,center,droptop:k=15,clustered:k=27;p=0,droptop+whiten,my/repair/"; the usual ones else.
        fit_on: what inductive methods learn from: a corpus, a file, `train` (of STS-B and SICK), or strings.
        protocols: inductive (fitted on other texts), transductive (on those that are judged), or both.
        layer: a layer, "1,-1" for the mean of two, "all" for each, or a list.
        pooling: mean, cls, max or last.
        level: sentence repairs pooled vectors; token repairs the vectors of subwords, then pools.
        prompt: put before every text, for models that want one.
        data: the folder with datasets and corpora; $UNCONE_DATA by default, then the hub.
        tasks: other tasks: sst2, wic, a folder of retrieval in BEIR's form, a labelled table or pairs.
        separate: in retrieval, queries get a repair of their own, fitted on them.
        published: put the figures of the literature beside ours, for a model that has some.
        loading: revision, device, precision, and what a stranger's model may do.
        seeds: how often methods that begin at random are tried.
        seed: the first of them.
        replicates: how often pairs are drawn for the intervals.
        gmm: whether the usual methods have the mixture of Gaussians, which takes longest.
        cache: keep the vectors of texts on disk, and take those that are there.
        progress: called with the step, what is done since the last call, and what there is.
    """
    from uncone.data.cache.cache import VectorCache
    from uncone.data.tasks.scored_pairs import STS
    from uncone.evaluation.published import published_rows
    from uncone.evaluation.table import EvaluationTable as Table
    from uncone.evaluation.tasks.sts import evaluate_sts
    from uncone.report.results.evaluate import Evaluated as Rendered

    options: dict[str, Any] = {
        "fit_on": fit_on,
        "protocols": protocols,
        "layer": layer,
        "pooling": pooling,
        "level": level,
        "prompt": prompt,
        "data": data,
        "loading": loading,
        "seeds": seeds,
        "replicates": replicates,
        "seed": seed,
        "gmm": gmm,
        "cache": VectorCache() if cache else None,
        "progress": progress,
    }
    chosen = (() if tasks else STS) if datasets is None else datasets
    name = os.fspath(model) if isinstance(model, str | os.PathLike) else model.name
    found: EvaluationTable = evaluate_sts(model, chosen, methods, **options) if chosen else Table(name, [], [])
    other = _other_tasks(model, tasks, methods, options, separate) if tasks else []
    beside = published_rows(name) if published else []
    return Rendered(replace(found, tasks=other, published=beside))


def reproduce(
    model: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    *,
    seed: int = 0,
    progress: Progress | None = None,
    **options: Any,  # noqa: ANN401 - data, loading, prompt, replicates, fit_on, cache, gmm
) -> Iterator[tuple[PaperTable, Evaluated | None]]:
    """Make all tables of the papers for one model, each written to the folder when it is done.

    A table that is there already, of this model and with these settings, is not made again (None): so a run that was
    interrupted goes on. Vectors of texts come from the cache.

    Args:
        model: a folder, or a name on the hub.
        folder: where every table goes, as .html, .json, .tex and .csv.
        seed: the first seed.
        progress: called with the step, what is done since the last call, and what there is.
        **options: as for `evaluate`.
    """
    from uncone.data.writing.atomic import write_all
    from uncone.encoders.open import Loading as HowToLoad
    from uncone.encoders.open import model_folder, open_encoder
    from uncone.encoders.transformer.recipe import read_recipe
    from uncone.evaluation.suite import PAPERS

    place, loading = Path(folder), options.get("loading") or HowToLoad()
    sentence_model = read_recipe(model_folder(os.fspath(model), loading)) is not None
    content = open_encoder(model, loading).fingerprint()
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"The folder {place} cannot be made: {error.strerror}. Name another with --out.") from error
    settings = {"fit_on": "snli", "dtype": loading.dtype} | {name: options[name] for name in _MARKED if name in options}
    if not isinstance(settings["fit_on"], str | os.PathLike):
        settings["fit_on"] = sha256("\n".join(settings["fit_on"]).encode(errors="replace")).hexdigest()
    for table in PAPERS:
        if table.layer is None and not sentence_model:
            continue
        made_as = {"model": content, "seed": seed, **settings, "table": asdict(table), "uncone": __version__}
        mark = json.loads(json.dumps(made_as, default=str))  # as it is read back
        done, *beside = (place / f"{table.name}.{ending}" for ending in ("json", "html", "tex", "csv"))
        if _is_done(done, mark) and all(path.is_file() for path in beside):
            yield table, None
            continue
        asked = {name: getattr(table, name) for name in ("protocols", "layer", "pooling", "level", "seeds", "tasks")}
        found = evaluate(
            model, table.datasets, table.methods, published=True, seed=seed, progress=progress, **asked, **options
        )
        said = {**found.to_dict(), "made_as": mark}
        made = dict(zip(beside, (found.to_html(), found.to_latex(), found.to_csv()), strict=True))
        # The JSON comes last: what it says is done has all its files.
        write_all({**made, done: json.dumps(said, indent=2, ensure_ascii=False, allow_nan=False) + "\n"})
        yield table, found


def _is_done(path: Path, mark: dict[str, Any]) -> bool:
    """Whether a table lies there that was made in just this way."""
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(said, dict) and said.get("made_as") == mark


def _other_tasks(
    model: Any,  # noqa: ANN401 - as for evaluate
    tasks: Sequence[str],
    methods: Any,  # noqa: ANN401 - as for evaluate
    options: dict[str, Any],
    separate: bool,
) -> list[TaskRow]:
    """The rows of every other task: known by its name, or by what stands before a colon."""
    from uncone.data.tasks.labeled import LABELED
    from uncone.data.tasks.wordsim import WORD_PAIRS
    from uncone.evaluation.tasks import tasks as other
    from uncone.evaluation.vectors import Settings

    made = {name: options[name] for name in ("layer", "pooling", "level", "prompt", "loading", "cache", "seeds")}
    made |= {name: options[name] for name in ("replicates", "seed", "progress")}
    common: dict[str, Any] = {name: options[name] for name in ("fit_on", "protocols", "data")}
    common["settings"] = Settings(**made)
    rows: list[TaskRow] = []
    for task in tasks:
        kind, _, what = task.partition(":")
        if kind in LABELED:
            if what == "train":
                raise OptionError(f"The task {task} would be judged on what it learns from. Take {kind}:dev or {kind}.")
            rows += other.evaluate_labelled(model, task, f"{kind}:train", methods, **common)
        elif kind == "labels":
            rows += other.evaluate_labelled(model, what, None, methods, **common)
        elif kind == "wic":
            if what not in ("", "dev"):
                raise OptionError(f"The task {task} cannot be judged: wic is learnt on train and judged on dev.")
            rows += other.evaluate_wic(model, methods=methods, **common)
        elif kind == "pairs":
            rows += other.evaluate_pairs(model, what, methods, **common)
        elif kind in WORD_PAIRS or kind == "words":
            words = {"data": common["data"], "settings": common["settings"]}
            rows += other.evaluate_words(model, what or kind, methods, **words)
        elif kind == "retrieval" or os.path.isdir(task):  # noqa: PTH112 - unlike pathlib's, it does not raise
            folder = what if kind == "retrieval" else task
            rows += other.evaluate_retrieval(model, folder, methods, separate=separate, **common)
        else:
            known = [*LABELED, "wic", *WORD_PAIRS, "labels:FILE", "pairs:FILE", "words:FILE", "retrieval:FOLDER"]
            raise OptionError(f"There is no task {task!r}; there are {', '.join(known)}.")
    return rows


def prescribe(
    source: Any = None,  # noqa: ANN401 - as for fix
    *,
    pairs: str | os.PathLike[str] | PairTask | None = None,
    pair_columns: tuple[str | None, str | None, str | None] = (None, None, None),
    column: str | None = None,
    tensor: str | None = None,
    text: str | Sequence[str] | None = None,
    model: Any = None,  # noqa: ANN401 - a name, a path or an encoder
    layer: str | int | None = None,
    pooling: str | None = None,
    prompt: str = "",
    batch_size: int | None = None,
    limit: int | None = None,
    data: str | os.PathLike[str] | None = None,
    loading: Loading | None = None,
    cache: bool = True,
    folds: int = 5,
    seed: int = 0,
    progress: Progress | None = None,
    **options: Any,  # noqa: ANN401 - candidates, replicates, level, least_gain
) -> Prescription:
    """Choose a repair by held-out labelled pairs, or advise to leave the space alone.

    A repair is recommended only if its gain is proven, on at least 30 independent pairs.

    Args:
        source: texts, with `model`; or vectors, whose rows the pairs name. Optional when pairs of texts are given.
        pairs: a table of two texts (or two row numbers, for vectors) and a score or a label 0/1, or a task such as
            stsb:dev. Without labelled pairs nothing can be chosen.
        pair_columns: the names of its columns, where they are not plain.
        column: the column, field or array that holds the vectors.
        tensor: the tensor of a .safetensors file.
        text: the column or columns with texts.
        model: the model that makes vectors of texts.
        layer: the layer of the model; "1,-1" averages two.
        pooling: mean, cls, max or last.
        prompt: put before every text.
        batch_size: texts encoded at once, at most.
        limit: take the first texts only.
        data: the folder with datasets and corpora.
        loading: revision, device, precision, and what a stranger's model may do.
        cache: keep the vectors of texts on disk, and take those that are there.
        folds: parts that the pairs are dealt into.
        seed: deals them, and begins repairs that draw.
        progress: called with the step, the fits done since the last call, and the fits there are.
        **options: candidates, replicates, level, least_gain: as `uncone.evaluation.prescribe.prescribe` takes them.
    """
    from uncone.evaluation.prescribe.prescribe import prescribe as choose

    if pairs is None:
        raise OptionError(
            "There are no labeled pairs, and a repair is chosen by pairs that people scored or labeled: name them with "
            "--pairs, or name one repair, such as --method droptop, and judge it on your own task."
        )
    task = _pair_task(pairs, pair_columns, data)
    if model is None:
        if source is None:
            raise OptionError("Pairs of row numbers need vectors, and pairs of texts a model: name one with --model.")
        vectors = _rows_of(open_source(source, Options(column, tensor)))
        return choose(vectors, _by_number(task, len(vectors)), folds=folds, seed=seed, progress=progress, **options)
    corpus = [] if source is None else _corpus(open_texts_of(source, text, None, data), limit)
    texts, problem = _problem(task, corpus)
    asked = Encoding(model, layer, pooling, prompt, batch_size, None, loading, cache)
    rows = _rows_of(encoded(open_texts_of(texts), asked))
    return choose(rows, problem, folds=folds, seed=seed, progress=progress, **options)


def _pair_task(
    pairs: Any,  # noqa: ANN401 - a name, a path or a task
    columns: tuple[str | None, str | None, str | None],
    data: Any,  # noqa: ANN401 - a folder
) -> PairTask:
    from uncone.data.tasks.scored_pairs import PairTask, open_pairs, read_pairs

    if isinstance(pairs, PairTask):
        return pairs
    if any(columns) or os.path.isfile(pairs):  # noqa: PTH113 - unlike pathlib's, it does not raise for a name that cannot be
        left, right, score = columns
        return read_pairs(pairs, left, right, score)
    return open_pairs(pairs, data)


def _corpus(texts: Any, limit: int | None) -> list[str]:  # noqa: ANN401 - a source of texts
    from uncone.encoders.source import taken_texts

    return [unit.text for unit in taken_texts(texts, limit) if unit.text]


def _problem(task: PairTask, corpus: Sequence[str]) -> tuple[list[str], PairProblem]:
    """The texts to encode, those of pairs first, and the pairs as rows of them."""
    from uncone.evaluation.prescribe.problem import pair_problem

    texts, problem = pair_problem(task)
    known = set(texts)
    return [*texts, *(one for one in dict.fromkeys(corpus) if one not in known)], problem


def _by_number(task: PairTask, rows: int) -> PairProblem:
    """Pairs that name rows of a table of vectors by their numbers, from 0 on."""
    from uncone.evaluation.prescribe.problem import PairProblem

    columns = []
    for side in (task.left, task.right):
        wrong = next((one for one in side if not _is_row(one.strip(), rows)), None)
        if wrong is not None:
            raise OptionError(
                f"{task.name}: {wrong[:40]!r} is not the number of a row (0 to {rows - 1:,}). Pairs of vectors name "
                "rows; for pairs of texts, name a model with --model."
            )
        columns.append(np.array([int(one) for one in side], np.int64))
    return PairProblem(columns[0], columns[1], np.asarray(task.scores, np.float64), name=task.name)


def _is_row(text: str, rows: int) -> bool:
    return text.isdecimal() and len(text.lstrip("0")) <= len(str(rows)) and int(text) < rows


def _rows_of(source: Any) -> Matrix:  # noqa: ANN401 - any source
    return np.concatenate([np.array(rows.vectors, np.float32) for rows in source.read()])
