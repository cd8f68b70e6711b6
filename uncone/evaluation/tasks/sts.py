"""Sentence similarity: methods by datasets, with the gain over the raw vectors and its interval."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, replace

import numpy as np
from numpy.typing import NDArray

from uncone.analysis.cosine.units import unit_rows
from uncone.analysis.intervals.bootstrap import Replicates, bootstrap, differences
from uncone.analysis.intervals.correlation import Aggregated, Correlation, Kind, aggregate
from uncone.analysis.intervals.pair_units import PairUnits, pair_units
from uncone.analysis.intervals.resampling import bounds
from uncone.analysis.space.spectrum.isotropy import PartitionIsotropy
from uncone.data.batch import IntVector, Matrix
from uncone.data.tasks.sts import STS, PairTask, open_pairs
from uncone.data.writing.manifest import versions
from uncone.encoders.encoder import Encoder
from uncone.errors import OptionError, RepairError
from uncone.evaluation.methods import Fits, prepare
from uncone.evaluation.spaces import Settings
from uncone.evaluation.table import Cell, EvaluationTable, Method, Row
from uncone.evaluation.tasks.positives import alignments, sampled_uniformity
from uncone.repairs.repair import Repair

__all__ = ["Contender", "compare_contenders", "evaluate_sts", "isotropy", "mean_partition", "score_methods"]


def evaluate_sts(
    model: str | os.PathLike[str] | Encoder,
    datasets: Sequence[str | os.PathLike[str] | PairTask] = STS,
    methods: str | Iterable[str | Method] | None = None,
    settings: Settings | None = None,
) -> EvaluationTable:
    """The cosines of sentence pairs against human scores, for the raw vectors and after each method.

    Every distinct sentence is encoded once. A method that begins at random is tried under several seeds; a method that
    cannot be fitted has cells without figures, whose reason says why. The differences are to the raw vectors of the
    same layer and pooling, and are corrected (Holm) for the number of methods on a dataset, or on the average. Pairs
    that share texts are drawn together, over all datasets; a difference is proven on 30 independent pairs or more.

    Args:
        model: a folder, a name on the hub, a file of word vectors, or an encoder.
        datasets: names such as stsb or sickr:trial, files of pairs, or open tasks.
        methods: as for `parse_methods`; without it, the standard ones under all protocols.
        settings: how texts become vectors, and what methods are fitted on.

    Raises:
        SourceError: a dataset or the texts to fit on cannot be read.
        ModelError: the model cannot be used.
        OptionError: an option cannot be used.
    """
    settings = settings or Settings()
    tasks = [_Pairs(data if isinstance(data, PairTask) else open_pairs(data, settings.data)) for data in datasets]
    if not tasks:
        raise OptionError(f"No dataset is named. There are {', '.join(STS)}, and files of pairs.")
    every = list(dict.fromkeys(text for task in tasks for text in task.texts))
    benches, candidates = prepare(model, every, methods, settings)
    name = model.name if isinstance(model, Encoder) else os.fspath(model)
    return _table(name, tasks, benches, candidates)


def score_methods(name: str, task: PairTask, fits: Fits, methods: Sequence[Method]) -> EvaluationTable:
    """The table of methods, the raw vectors first, on one set of pairs of a space that is open already."""
    return _table(name, [_Pairs(task)], [fits], methods)


def _table(
    name: str, tasks: Sequence[_Pairs], benches: Sequence[Fits], candidates: Sequence[Method]
) -> EvaluationTable:
    settings = benches[0].settings
    every = list(dict.fromkeys(text for task in tasks for text in task.texts))
    total = len(benches) * sum(len(benches[0].seeds(method)) for method in candidates)
    units = _joint_units(tasks)
    rows, notes = [], [units.note] if units.note else []
    for fits in benches:
        results = [_judge_method(fits, method, tasks, every, total) for method in candidates]
        rows += _rows([(fits, method) for method in candidates], results, tasks, units)
        notes += [fits.space.note] if fits.space.note else []
        fits.forget()
    notes += [] if settings.cache is None else settings.cache.notes
    first = benches[0]
    provenance = {
        "fingerprint": first.space.identity.get("fingerprint"),
        "level": settings.level,
        "prompt": first.space.identity.get("prompt", settings.prompt),
        "normalize": first.space.identity.get("normalize", False),
        "fit_on": first.corpus if first.texts else None,
        "fit_texts": len(first.texts),
        "distinct_sentences": len(every),
        "seeds": settings.seeds,
        "seed": settings.seed,
        "replicates": settings.replicates,
        "correction": "holm",
        "independent_pairs": units.independent,
        **versions(),
    }
    return EvaluationTable(name, [task.name for task in tasks], rows, notes=notes, provenance=provenance)


@dataclass(frozen=True, eq=False)
class Contender:
    """A model with a method, under a name of its own; `settings` say how its texts become vectors."""

    name: str
    model: str | os.PathLike[str]
    method: Method
    settings: Settings

    @property
    def space(self) -> tuple[str, str]:
        """The model and the level: contenders that share them start from the same vectors."""
        return os.fspath(self.model), self.settings.level


def compare_contenders(
    contenders: Sequence[Contender], datasets: Sequence[str | os.PathLike[str] | PairTask]
) -> tuple[list[Row], list[Row]]:
    """Models and repairs on the same pairs: a row each, with its difference from the first; and from the second.

    Each model encodes every distinct sentence once.
    """
    first = contenders[0].settings
    tasks = [_Pairs(data if isinstance(data, PairTask) else open_pairs(data, first.data)) for data in datasets]
    every = list(dict.fromkeys(text for task in tasks for text in task.texts))
    entries: list[tuple[Fits, Method]] = []
    benches: dict[tuple[str, str], Fits] = {}
    for contender in contenders:
        key = contender.space
        if key not in benches:
            own = [other.method for other in contenders if other.space == key]
            benches[key] = prepare(contender.model, every, own, contender.settings)[0][0]
        entries.append((benches[key], contender.method))
    results = [_judge_method(fits, method, tasks, every, len(entries)) for fits, method in entries]
    units = _joint_units(tasks)
    names = [contender.name for contender in contenders]

    def named_rows(places: Sequence[int]) -> list[Row]:
        rows = _rows([entries[at] for at in places], [results[at] for at in places], tasks, units)
        return [replace(row, method=replace(row.method, name=names[at])) for row, at in zip(rows, places, strict=True)]

    return named_rows(range(len(names))), named_rows([1, 0, *range(2, len(names))]) if len(names) > 1 else []


def mean_partition(seeds: Sequence[PartitionIsotropy | None]) -> PartitionIsotropy | None:
    """The mean of log10 I(W) over seeds; None where one has none."""
    values = [each for each in seeds if each is not None]
    if not values or len(values) < len(seeds):
        return None
    return PartitionIsotropy(*np.mean([astuple(each) for each in values], axis=0).tolist())


def isotropy(rows: Matrix, units: NDArray[np.float64] | None = None) -> tuple[float | None, float | None]:
    """The IsoScore of rows (n, d), corrected for n, and the mean cosine of two of them; None where undefined.

    The correction is that of `analysis.space.spectrum.isoscore`: unbiased estimates of tr(Sigma^2) and (tr Sigma)^2.
    `units` are the rows at length 1, where they are known already.
    """
    units = unit_rows(rows) if units is None else units
    usable = np.isfinite(units[:, 0])
    units = units[usable]
    n, d = units.shape
    if n < 2:
        return None, None
    total = units.sum(axis=0)
    baseline = float(np.clip((total @ total - n) / (n * (n - 1)), -1.0, 1.0))
    if n < 4 or d < 2:
        return None, baseline
    centered = rows[usable].astype(np.float64)
    centered -= centered.mean(axis=0)
    largest = float(np.abs(centered).max())
    if not largest > 0:
        return None, baseline
    centered /= largest
    squares, scatter = np.vecdot(centered, centered), centered.T @ centered / (n - 1)
    trace, frobenius, q = float(np.trace(scatter)), float((scatter**2).sum()), float(squares @ squares) / (n - 1)
    below = (n - 1) * (n - 2) * frobenius + trace**2 - n * q
    above = 2 * frobenius + (n**2 - 3 * n + 1) * trace**2 - n * q
    return (float(np.clip((above / below - 1) / (d - 1), 0.0, 1.0)) if below > 0 else None), baseline


class _Pairs:
    """A task, its distinct sentences, and the indices of each pair among them."""

    def __init__(self, task: PairTask) -> None:
        self.task, self.name = task, task.name if task.split in ("test", "all") else f"{task.name}:{task.split}"
        self.texts = list(dict.fromkeys(text.strip() for side in (task.left, task.right) for text in side))
        places = {text: place for place, text in enumerate(self.texts)}
        self.left, self.right = (self._places(places, side) for side in (task.left, task.right))

    @property
    def occurrences(self) -> list[str]:
        """All sentences, repeated as often as they occur in pairs, as published repairs were fitted."""
        return [self.texts[place] for side in (self.left, self.right) for place in side.tolist()]

    @staticmethod
    def _places(places: Mapping[str, int], side: Sequence[str]) -> IntVector:
        return np.array([places[text.strip()] for text in side], np.int64)


@dataclass(frozen=True, eq=False)
class _Result:
    """One method with one seed on one dataset; without cosines, the reason."""

    cosines: NDArray[np.float64] | None
    isoscore: float | None = None
    baseline: float | None = None
    uniformity: float | None = None
    reason: str = ""
    note: str = ""
    partition: PartitionIsotropy | None = None


def _judge(pairs: _Pairs, rows: Matrix, note: str, seed: int) -> _Result:
    units = unit_rows(rows)
    cosines = np.vecdot(units[pairs.left], units[pairs.right]).clip(-1.0, 1.0)
    # A sentence with itself is exactly 1: rounding errors would break ties and change the ranks.
    cosines[(pairs.left == pairs.right) & np.isfinite(cosines)] = 1.0
    return _Result(np.asarray(cosines), *isotropy(rows, units), sampled_uniformity(units, seed), note=note)


def _judge_method(
    fits: Fits, method: Method, tasks: Sequence[_Pairs], every: Sequence[str], total: int
) -> list[list[_Result]]:
    """A method on each dataset, under each of its seeds."""
    results: list[list[_Result]] = [[] for _ in tasks]
    places = {text: place for place, text in enumerate(every)}
    for seed in fits.seeds(method):
        shared = None if method.protocol == "transductive" else _repaired(fits, method, seed, every, "all sentences")
        for own, task in zip(results, tasks, strict=True):
            if shared is None:
                rows, repair, note = _repaired(fits, method, seed, task.texts, task.name, task.occurrences)
            else:
                vectors, repair, note = shared
                rows = None if vectors is None else vectors[[places[text] for text in task.texts]]
            if rows is None:
                own.append(_Result(None, reason=note))
                continue
            result = _judge(task, rows, note, fits.settings.seed)
            own.append(replace(result, partition=fits.partition(method, repair, task.occurrences)))
        fits.settings.report("methods", 1, total)
    return results


def _repaired(
    fits: Fits, method: Method, seed: int, texts: Sequence[str], name: str, fit_on: Sequence[str] | None = None
) -> tuple[Matrix | None, Repair | None, str]:
    """The vectors, the repair and its note; no vectors and the reason if it cannot be fitted."""
    try:
        vectors, repair = fits.vectors_and_repair(method, seed, texts, name, fit_on)
    except RepairError as error:
        return None, None, str(error)
    return vectors, repair, "" if repair is None else repair.note_


def _rows(
    entries: Sequence[tuple[Fits, Method]],
    results: Sequence[Sequence[Sequence[_Result]]],
    tasks: Sequence[_Pairs],
    units: PairUnits,
) -> list[Row]:
    """A row per entry, with its difference from the first."""
    columns, sampled, start, settings = [], [], 0, entries[0][0].settings
    for at, task in enumerate(tasks):
        own = units.select(np.arange(start, start + len(task.task)))
        start += len(task.task)
        cells, replicates = _column(task, [by_task[at] for by_task in results], own, settings)
        columns.append(cells)
        sampled.append(replicates)
        settings.report("intervals", 1, len(tasks))
    # The units were drawn over all datasets, so the mean of a draw's scores is a draw of the mean.
    scores, values = (np.mean([getattr(sample, name) for sample in sampled], axis=0) for name in ("scores", "values"))
    gains = differences(Replicates(scores, values, start, units.independent))
    rows = []
    for at, (fits, method) in enumerate(entries):
        cells = [column[at] for column in columns]
        correlations = [cell.spearman.all for cell in cells if cell.spearman.all is not None]
        average = float(np.mean(correlations)) if len(correlations) == len(cells) else None
        low, high = (None, None) if average is None else bounds(values[at])
        note = next((result.note for own in results[at] for result in own if result.note), "")
        gain, seeds = gains[at] if at else None, len(fits.seeds(method))
        rows.append(Row(fits.in_space(method), cells, average, seeds, note, low, high, gain))
    return rows


def _joint_units(tasks: Sequence[_Pairs]) -> PairUnits:
    """The units of the pairs of all datasets, one after another: STS-B, for one, is drawn from STS12 to STS16."""
    left = [text for task in tasks for text in task.task.left]
    right = [text for task in tasks for text in task.task.right]
    parts = [at for at, task in enumerate(tasks) for _ in range(len(task.task))]
    return pair_units(len(parts), (left, right), parts)


def _column(
    task: _Pairs, results: Sequence[Sequence[_Result]], units: PairUnits, settings: Settings
) -> tuple[list[Cell], Replicates]:
    """The cells of one dataset, the raw vectors first, and their replicates."""
    gold = task.task.scores
    flat = [result.cosines for own in results for result in own if result.cosines is not None]
    scores, values = np.full(len(results), np.nan), np.full((len(results), settings.replicates), np.nan)
    if flat:
        draws = bootstrap(gold, np.stack(flat), replicates=settings.replicates, seed=settings.seed, units=units)
        first = 0
        for at, own in enumerate(results):
            if all(result.cosines is not None for result in own):
                scores[at] = draws.scores[first : first + len(own)].mean()
                values[at] = draws.values[first : first + len(own)].mean(axis=0)
            first += sum(result.cosines is not None for result in own)
    aligned = iter(alignments(gold, flat, units, settings.replicates, settings.seed))
    replicates = Replicates(scores, values, len(gold), units.independent)
    gains = differences(replicates)
    cells = []
    for at, own in enumerate(results):
        spearman, spread = _correlation(task.task, own, "spearman")
        pearson, _ = _correlation(task.task, own, "pearson")
        isoscores = [result.isoscore for result in own if result.isoscore is not None]
        baselines = [result.baseline for result in own if result.baseline is not None]
        uniform = [result.uniformity for result in own if result.uniformity is not None]
        isoscore, baseline, uniformity = (
            float(np.mean(some)) if some else None for some in (isoscores, baselines, uniform)
        )
        seeds = [next(aligned) for result in own if result.cosines is not None]
        alignment = seeds[0] if seeds else None  # of several random starts, the first
        difference = None if at == 0 else gains[at]
        partition = mean_partition([result.partition for result in own])
        figures = isoscore, baseline, difference, spread, alignment, uniformity, partition
        cells.append(Cell(task.name, spearman, pearson, *figures))
    return cells, replicates


def _correlation(task: PairTask, results: Sequence[_Result], kind: Kind) -> tuple[Aggregated, float | None]:
    """The mean over the seeds, and the spread of `all` where there are several."""
    missing = next((result.reason for result in results if result.cosines is None), None)
    if missing is not None:
        return Aggregated(None, None, None, len(task), missing), None
    each = [
        aggregate(task.scores, result.cosines, task.subsets, kind) for result in results if result.cosines is not None
    ]
    if len(each) == 1:
        return each[0], None

    def mean(values: Sequence[float | None]) -> float | None:
        present = [value for value in values if value is not None]
        return float(np.mean(present)) if len(present) == len(values) else None

    subsets = {
        name: Correlation(mean([figure.subsets[name].value for figure in each]), each[0].subsets[name].n)
        for name in each[0].subsets
    }
    whole, plain, weighted = (mean([getattr(figure, name) for figure in each]) for name in ("all", "mean", "wmean"))
    reason = next((figure.reason for figure in each if figure.reason), "")
    alls = [figure.all for figure in each if figure.all is not None]
    spread = float(np.std(alls, ddof=1)) if len(alls) == len(each) else None
    return Aggregated(whole, plain, weighted, len(task), reason, subsets), spread
