"""Tasks beside sentence similarity, for the raw vectors and after each method: classes, retrieval, pairs, words."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from uncone.analysis.cosine.units import pair_cosines
from uncone.analysis.intervals.bootstrap import Difference, Replicates, differences
from uncone.analysis.intervals.labeled_pairs import score_pairs
from uncone.analysis.intervals.pair_units import item_units, pair_units
from uncone.analysis.intervals.resampling import Score, log_odds_score, score, share_score
from uncone.analysis.space.spectrum.isotropy import PartitionIsotropy
from uncone.data.batch import Matrix
from uncone.data.open import open_source
from uncone.data.tasks.labeled import LabeledTask, open_labeled
from uncone.data.tasks.retrieval import RetrievalTask, open_retrieval
from uncone.data.tasks.sts import PairTask, open_pairs
from uncone.data.tasks.words import WicTask, WordPairs, open_wic, open_word_pairs
from uncone.encoders.encoder import Encoder
from uncone.errors import FormatError, OptionError, RepairError
from uncone.evaluation.methods import Fits, parse_methods, prepare, standard_methods, with_raw, with_sides
from uncone.evaluation.spaces import Sentences, Settings, Tokens
from uncone.evaluation.table import Method, TaskRow, TaskScores
from uncone.evaluation.tasks.classify import classify, cross_classify
from uncone.evaluation.tasks.retrieve import retrieve
from uncone.evaluation.tasks.sts import isotropy, mean_partition
from uncone.evaluation.tasks.words import Senses, same_sense, word_similarity

__all__ = [
    "APART",
    "LINEAR",
    "TaskResult",
    "evaluate_labeled",
    "evaluate_pairs",
    "evaluate_retrieval",
    "evaluate_wic",
    "evaluate_words",
    "pair_judge",
    "task_rows",
]

LINEAR = (
    "A linear classifier can undo an invertible linear repair by its weights: differences come from regularization."
)

APART = "Queries have their own repair. A repair that rotates the space misaligns queries and documents."

_Model = str | os.PathLike[str] | Encoder
_Methods = str | Iterable[str | Method] | None


class TaskResult(NamedTuple):
    """A method with one seed: its figures, the IsoScore of the vectors, and a note for the reader."""

    figures: TaskScores
    isoscore: float | None
    note: str
    partition: PartitionIsotropy | None = None


def evaluate_labeled(
    model: _Model,
    test: str | os.PathLike[str] | LabeledTask = "sst2",
    methods: _Methods = None,
    *,
    train: str | os.PathLike[str] | LabeledTask | None = None,
    settings: Settings | None = None,
) -> list[TaskRow]:
    """Accuracy and macro-F1 of logistic regression on frozen vectors; without `train`, by folds of the test.

    A transductive method is fitted on the texts of the train and the test, without their labels.
    """
    settings = settings or Settings()
    task = test if isinstance(test, LabeledTask) else open_labeled(test, settings.data)
    learned = open_labeled(train, settings.data) if isinstance(train, str | os.PathLike) else train
    train_texts = [] if learned is None else [text.strip() for text in learned.texts]
    texts = [text.strip() for text in task.texts]
    every = list(dict.fromkeys([*train_texts, *texts]))
    units = item_units(texts)
    sampling: dict[str, Any] = {"replicates": settings.replicates, "seed": settings.seed, "units": units}

    def judge(fits: Fits, method: Method, seed: int) -> TaskResult:
        vectors, repair = fits.vectors_and_repair(method, seed, every, task.name)
        note = "" if repair is None else repair.note_
        own = _rows_of(texts, every, vectors)
        if learned is None:
            figures = cross_classify(own, task.labels, **sampling)
        else:
            figures = classify(_rows_of(train_texts, every, vectors), learned.labels, own, task.labels, **sampling)
        notes = [LINEAR, note, "" if figures.converged else "The regression did not converge."]
        partition = fits.partition(method, repair, texts)
        return TaskResult(figures, isotropy(own)[0], " ".join(filter(None, notes)), partition)

    return _evaluate(task.name, model, every, methods, settings, judge)


def evaluate_retrieval(
    model: _Model,
    folder: str | os.PathLike[str] | RetrievalTask,
    methods: _Methods = None,
    *,
    sides: Sequence[str] = ("together",),
    relevant: int = 1,
    settings: Settings | None = None,
) -> list[TaskRow]:
    """nDCG@10, recall@10, recall@100 and MRR@10 of exact search by cosine.

    A transductive method is fitted on the documents, which a search has anyway, and used on the queries too; with the
    `sides` separate, queries have a repair of their own, fitted on them. By default methods are transductive. A
    document is relevant from the grade `relevant` on.
    """
    settings = settings or Settings(fit_on=(), protocols=("transductive",))
    task = folder if isinstance(folder, RetrievalTask) else open_retrieval(folder, settings.data, relevant)
    docs, queries = (list(dict.fromkeys(side)) for side in (task.docs, task.queries))

    def judge(fits: Fits, method: Method, seed: int) -> TaskResult:
        note = ""
        if method.repair == "static":
            doc_vectors, query_vectors = (fits.vectors(method, seed, x, "")[0] for x in (task.docs, task.queries))
        else:
            repair = fits.repair(method, seed, docs, "the documents")
            own = method.sides == "separate"
            other = fits.repair(method, seed, queries, "the queries") if own else repair
            doc_vectors, query_vectors = fits.space.vectors(task.docs, repair), fits.space.vectors(task.queries, other)
            note = "" if repair is None else f"{repair.note_} {APART if own else ''}".strip()
        figures = retrieve(task, query_vectors, doc_vectors, replicates=settings.replicates, seed=settings.seed)
        lost = (
            (figures.lost_docs, "documents without a vector."),
            (figures.lost_queries, "queries without a vector."),
            (task.unknown, "judgments on documents or queries that are not there."),
        )
        notes = [note, *(f"{count:,} {problem}" for count, problem in lost if count)]
        return TaskResult(figures, isotropy(doc_vectors)[0], " ".join(notes).strip())

    return _evaluate(task.name, model, [*task.docs, *task.queries], methods, settings, judge, sides)


def evaluate_pairs(
    model: _Model,
    pairs: str | os.PathLike[str] | PairTask,
    methods: _Methods = None,
    *,
    settings: Settings | None = None,
) -> list[TaskRow]:
    """ROC-AUC, average precision and best F1 of the cosines of pairs that are labeled 0 or 1.

    Raises:
        FormatError: they have scores, for which there is `evaluate_sts`.
    """
    settings = settings or Settings()
    task = pairs if isinstance(pairs, PairTask) else open_pairs(pairs, settings.data)
    if not task.labeled:
        raise FormatError(f"{task.name} has scores, not labels 0 and 1. Give it with --dataset, for correlations.")
    every = list(dict.fromkeys(text.strip() for side in (task.left, task.right) for text in side))
    return _evaluate(task.name, model, every, methods, settings, pair_judge(task, every))


def pair_judge(task: PairTask, every: Sequence[str]) -> Callable[[Fits, Method, int], TaskResult]:
    """What judges a method by labeled pairs of the texts `every`."""
    units = pair_units(len(task), (task.left, task.right))

    def judge(fits: Fits, method: Method, seed: int) -> TaskResult:
        settings = fits.settings
        vectors, note = fits.vectors(method, seed, every, task.name)
        left, right = (_rows_of(side, every, vectors) for side in (task.left, task.right))
        cosines = pair_cosines(left, right)
        labeled = score_pairs(task.scores, cosines, replicates=settings.replicates, seed=settings.seed, units=units)
        scores = {name: getattr(labeled, name) for name in ("roc_auc", "average_precision", "best_f1")}
        figures = TaskScores(scores, labeled.replicates, {}, units.independent)
        return TaskResult(figures, isotropy(vectors)[0], labeled.reason or note)

    return judge


def evaluate_wic(
    model: _Model,
    test: str | os.PathLike[str] | WicTask = "wic:dev",
    train: str | os.PathLike[str] | WicTask = "wic:train",
    methods: _Methods = None,
    *,
    settings: Settings | None = None,
) -> list[TaskRow]:
    """The accuracy of a threshold on the cosine of a word's two vectors, chosen on the train.

    A word is the mean of its subword tokens, which are repaired first: the level is always token.
    """
    settings = replace(settings or Settings(), level="token")
    sides = [task if isinstance(task, WicTask) else open_wic(task, settings.data) for task in (train, test)]
    every = list(dict.fromkeys(text.strip() for task in sides for side in (task.left, task.right) for text in side))
    test_task = sides[1]
    # A word with each of its sentences: items that share a word or a sentence are drawn together.
    sentences = (*test_task.left, *test_task.right)
    linked = pair_units(len(sentences), ((*test_task.words, *test_task.words), sentences))
    units = linked.select(np.arange(len(test_task)))

    def judge(fits: Fits, method: Method, seed: int) -> TaskResult:
        space = fits.space
        assert isinstance(space, Tokens)
        if method.repair == "static":
            raise OptionError("Words in context need vectors that know the context: leave static out.")
        repair = fits.repair(method, seed, every, test_task.name)
        train_words, test_words = (
            Senses(
                space.words(task.left, task.left_spans, repair),
                space.words(task.right, task.right_spans, repair),
                task.labels,
            )
            for task in sides
        )
        figures = same_sense(train_words, test_words, replicates=settings.replicates, seed=settings.seed, units=units)
        words = np.concatenate([np.asarray(test_words.left), np.asarray(test_words.right)])
        lost = f" {figures.lost} words without a vector." if figures.lost else ""
        note = f"{'' if repair is None else repair.note_}{lost}".strip()
        return TaskResult(figures, isotropy(words)[0], note)

    return _evaluate(test_task.name, model, every, methods, settings, judge)


def evaluate_words(
    vectors: str | os.PathLike[str],
    pairs: str | os.PathLike[str] | WordPairs,
    methods: _Methods = None,
    *,
    most: int | None = 100_000,
    settings: Settings | None = None,
) -> list[TaskRow]:
    """Spearman of the cosines of static word vectors with people's scores.

    Every method is fitted on the vectors of the file itself, which is the protocol of Mu and Viswanath 2018: on the
    first `most`, the most frequent ones in files such as GloVe's.
    """
    settings = settings or Settings()
    if not isinstance(vectors, str | os.PathLike) or os.path.isdir(vectors):  # noqa: PTH112 - it never raises
        raise OptionError("Pairs of words are for static vectors: name a file of word vectors, not a model.")
    task = pairs if isinstance(pairs, WordPairs) else open_word_pairs(pairs, settings.data)
    words, table = _static_rows(vectors, most)
    identity = {"layer": "0", "pooling": "none", "fingerprint": ""}
    space = Sentences(words, table, identity, "")
    listed = standard_methods(space.dim, gmm=False) if methods is None else parse_methods(methods)
    candidates = with_raw([replace(method, protocol="inductive") for method in listed])
    fits = Fits(space, os.fspath(vectors), replace(settings, fit_on=vectors), words)

    def judge(fits: Fits, method: Method, seed: int) -> TaskResult:
        rows, note = fits.vectors(method, seed, words, "the words")
        figures = word_similarity(task, words, rows, replicates=settings.replicates, seed=settings.seed)
        out = f" {figures.left_out} pairs left out." if figures.left_out else ""
        return TaskResult(figures, isotropy(rows)[0], figures.reason or f"{note}{out}".strip())

    return task_rows(task.name, fits, candidates, judge)


def _static_rows(path: str | os.PathLike[str], most: int | None) -> tuple[list[str], Matrix]:
    words: dict[str, int] = {}
    vectors: list[NDArray[Any]] = []
    for rows in open_source(path).read():
        if rows.texts is None:
            raise FormatError(f"{path} holds numbers without words; we need a word on every line.")
        for word, vector in zip(rows.texts, rows.vectors, strict=True):
            if word.strip() and word.strip() not in words and (most is None or len(words) < most):
                words[word.strip()] = len(vectors)
                vectors.append(np.array(vector, np.float32))
        if most is not None and len(words) >= most:
            break
    return list(words), np.stack(vectors)


def _evaluate(
    task: str,
    model: _Model,
    texts: Sequence[str],
    methods: _Methods,
    settings: Settings,
    judge: Callable[[Fits, Method, int], TaskResult],
    sides: Sequence[str] = (),
) -> list[TaskRow]:
    benches, candidates = prepare(model, texts, methods, settings)
    candidates = with_sides(candidates, sides) if sides else candidates
    return [row for fits in benches for row in task_rows(task, fits, candidates, judge)]


def task_rows(
    task: str, fits: Fits, methods: Sequence[Method], judge: Callable[[Fits, Method, int], TaskResult]
) -> list[TaskRow]:
    """Every method under its seeds, with its differences from the raw vectors, which come first."""
    results: list[list[TaskResult]] = []
    failed: dict[int, str] = {}
    for at, method in enumerate(methods):
        try:
            results.append([judge(fits, method, seed) for seed in fits.seeds(method)])
        except RepairError as error:
            failed[at] = str(error)
            results.append([])
        fits.settings.report("methods", 1, len(methods))
    figures = [[result.figures for result in own] for own in results]
    scores: list[dict[str, Score]] = [{} for _ in methods]
    gains: list[dict[str, Difference]] = [{} for _ in methods]
    for name, raw in figures[0][0].scores.items():
        values, samples = _seed_means(figures, name, fits.settings.replicates)
        sizes = [[seed_scores.sizes[name] for seed_scores in own if name in seed_scores.sizes] for own in figures]
        smallest = min((size for own in sizes for size in own), default=None)
        differ = differences(Replicates(values, samples, raw.n, figures[0][0].units, smallest))
        for at, gain in enumerate(differ):
            scores[at][name] = _score(name, float(values[at]), samples[at], raw.n, sizes[at])
            if at:
                gains[at][name] = gain
    rows = []
    for at, method in enumerate(methods):
        isoscores = [result.isoscore for result in results[at] if result.isoscore is not None]
        note = failed.get(at) or (results[at][0].note if results[at] else "")
        isoscore = float(np.mean(isoscores)) if isoscores else None
        partition = mean_partition([result.partition for result in results[at]])
        rows.append(TaskRow(task, fits.in_space(method), scores[at], gains[at], isoscore, note, partition))
    return rows


def _rows_of(texts: Sequence[str], every: Sequence[str], vectors: Matrix) -> Matrix:
    """The vectors of some of the distinct texts."""
    places = {text: place for place, text in enumerate(every)}
    return vectors[[places[text.strip()] for text in texts]]


def _score(name: str, value: float, replicates: NDArray[np.float64], n: int, sizes: Sequence[float]) -> Score:
    """A figure with the interval that fits its kind; `sizes` are those of its seeds, if it is a share."""
    if name in ("average_precision", "best_f1"):
        return log_odds_score(value, replicates, n, flattered=name == "best_f1")
    return share_score(value, replicates, n, min(sizes)) if sizes else score(value, replicates, n)


def _seed_means(
    figures: Sequence[Sequence[TaskScores]], name: str, replicates: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Value and replicates of each method, averaged over its seeds; NaN if one is undefined."""
    values, samples = np.full(len(figures), np.nan), np.full((len(figures), replicates), np.nan)
    for at, own in enumerate(figures):
        per_seed = [value for seed_scores in own if (value := seed_scores.scores[name].value) is not None]
        if per_seed and len(per_seed) == len(own):
            values[at] = np.mean(per_seed)
            samples[at] = np.mean([seed_scores.replicates[name] for seed_scores in own], axis=0)
    return values, samples
