"""Sentence similarity: methods by datasets, with what is gained over the raw vectors, and how sure that is."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uncone.analysis.cosine.units import unit_rows
from uncone.analysis.intervals.bootstrap import Replicates, bootstrap, differences
from uncone.analysis.intervals.correlation import Aggregated, Correlation, Kind, aggregate
from uncone.analysis.intervals.pair_units import PairUnits, pair_units
from uncone.analysis.intervals.resampling import REPLICATES, bounds
from uncone.data.batch import IntVector, Matrix
from uncone.data.cache.cache import VectorCache
from uncone.data.tasks.scored_pairs import STS, PairTask, open_pairs
from uncone.encoders.encoder import Encoder
from uncone.encoders.open import Loading
from uncone.errors import OptionError, RepairError
from uncone.evaluation.methods import RAW, Fits, fit_texts, parse_methods, standard_methods
from uncone.evaluation.table import Cell, EvaluationTable, Method, Row
from uncone.evaluation.vectors import Settings, open_spaces
from uncone.extras import versions
from uncone.repairs.repair import Progress

__all__ = ["evaluate_sts", "isotropy", "prepared", "with_raw"]


def evaluate_sts(
    model: str | os.PathLike[str] | Encoder,
    datasets: Sequence[str | os.PathLike[str] | PairTask] = STS,
    methods: str | Iterable[str | Method] | None = None,
    *,
    fit_on: str | os.PathLike[str] | Sequence[str] = "snli",
    protocols: Sequence[str] = ("inductive",),
    layer: str | int | Sequence[str | int] | None = None,
    pooling: str | None = None,
    level: str = "sentence",
    prompt: str = "",
    data: str | os.PathLike[str] | None = None,
    loading: Loading | None = None,
    seeds: int = 1,
    replicates: int = REPLICATES,
    seed: int = 0,
    gmm: bool = True,
    cache: VectorCache | None = None,
    progress: Progress | None = None,
) -> EvaluationTable:
    """The cosines of sentence pairs against human scores, for the raw vectors and after each method.

    Every distinct sentence is encoded once. A method that begins at random is tried under `seeds` seeds; a method that
    cannot be fitted has cells without figures, whose reason says why. The differences are to the raw vectors of the
    same layer and pooling, and are corrected (Holm) for the number of methods on a dataset, or on the average. Pairs
    that share texts are drawn together, over all datasets; a difference is proven on 30 independent pairs or more.

    Args:
        model: a folder, a name on the hub, a file of word vectors, or an encoder.
        datasets: names such as stsb or sickr:trial, files of pairs, or open tasks.
        methods: as for `parse_methods`; without it, the standard ones under all of `protocols`.
        fit_on: what inductive methods learn from: a corpus such as snli, a file, `train` (STS-B and SICK), or strings.
        protocols: inductive, transductive or both, for methods that do not say.
        layer: a layer, "1,-1" for the mean of two, "all" for a row per layer, or a list of these.
        pooling: mean, cls, max or last.
        level: sentence repairs pooled vectors; token repairs the vectors of subwords, then pools.
        prompt: put before every text.
        data: the folder with datasets and corpora.
        loading: revision, device, precision, and what a stranger's model may do.
        seeds: how many seeds.
        replicates: how often pairs are drawn for the intervals.
        seed: the first seed, and the one that pairs are drawn with.
        gmm: whether the standard methods have the mixture of Gaussians.
        cache: where vectors of texts are kept, for the next run.
        progress: called with the step, how many are done since the last call, and how many there are.

    Raises:
        SourceError: a dataset or the texts to fit on cannot be read.
        ModelError: the model cannot be used.
        OptionError: an option cannot be used.
    """
    settings = Settings(layer, pooling, level, prompt, loading, cache, seeds, replicates, seed, progress)
    tasks = [_Pairs(one if isinstance(one, PairTask) else open_pairs(one, data)) for one in datasets]
    if not tasks:
        raise OptionError(f"No dataset is named. There are {', '.join(STS)}, and files of pairs.")
    every = list(dict.fromkeys(text for task in tasks for text in task.texts))
    benches, chosen = prepared(model, every, methods, settings, fit_on, protocols, data, gmm)
    total = len(benches) * sum(len(benches[0].seeds(method)) for method in chosen)
    units = _joint_units(tasks)
    rows, notes = [], [units.note] if units.note else []
    for fits in benches:
        judged = [_tried(fits, method, tasks, every, total) for method in chosen]
        rows += _rows(fits, chosen, judged, tasks, units, settings)
        notes += [fits.space.note] if fits.space.note else []
        fits.forget()
    notes += [] if cache is None else cache.notes
    space = benches[0].space
    provenance = {
        "fingerprint": space.known.get("fingerprint"),
        "level": level,
        "prompt": space.known.get("prompt", prompt),
        "normalize": space.known.get("normalize", False),
        "fit_on": _named(fit_on) if benches[0].learns else None,
        "fit_texts": benches[0].learns,
        "distinct_sentences": len(every),
        "seeds": seeds,
        "seed": seed,
        "replicates": replicates,
        "correction": "holm",
        "independent_pairs": units.independent,
        **versions(),
    }
    name = model.name if isinstance(model, Encoder) else os.fspath(model)
    return EvaluationTable(name, [task.name for task in tasks], rows, notes=notes, provenance=provenance)


def prepared(
    model: str | os.PathLike[str] | Encoder,
    texts: Sequence[str],
    methods: str | Iterable[str | Method] | None,
    settings: Settings,
    fit_on: str | os.PathLike[str] | Sequence[str],
    protocols: Sequence[str] = ("inductive",),
    data: str | os.PathLike[str] | None = None,
    gmm: bool = True,
) -> tuple[list[Fits], list[Method]]:
    """The spaces of the texts, each with what fits repairs in it, and the methods, the raw vectors first."""
    asked = None if methods is None else with_raw(parse_methods(methods, protocols=protocols))
    inductive = "inductive" in ([one.protocol for one in asked] if asked is not None else protocols)
    learnt = fit_texts(fit_on, data) if inductive else []
    spaces = open_spaces(model, [*texts, *learnt], settings)
    if asked is None:
        dim, kind = spaces[0].dim, spaces[0].known.get("encoder")
        # A model that reads context should beat the mean of its own input embeddings.
        static = kind in ("transformer", "sentence-transformers")
        each = [
            standard_methods(dim, settings.level, gmm=gmm, static=static, protocol=protocol) for protocol in protocols
        ]
        asked = with_raw([method for some in each for method in some])
    benches = [Fits(space, model, settings) for space in spaces]
    for fits in benches:
        fits.learn_from(learnt, _named(fit_on))
    for method in asked:
        refused = [fits.refusal(method) for fits in benches]
        if refused[0] is not None and None not in refused:  # with several layers it may be for one of them
            raise refused[0]
    return benches, asked


def with_raw(methods: Sequence[Method]) -> list[Method]:
    """The methods with the raw vectors in front, once: every difference is to them."""
    return [RAW, *(method for method in methods if method.repair)]


def isotropy(rows: Matrix, units: NDArray[np.float64] | None = None) -> tuple[float | None, float | None]:
    """The IsoScore of rows (n, d), corrected for n, and the mean cosine of two of them; None where undefined.

    The correction is that of `analysis.spectrum.isoscore`: unbiased estimates of tr(Sigma^2) and (tr Sigma)^2. `units`
    are the rows at length 1, where they are known already.
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
    centred = rows[usable].astype(np.float64)
    centred -= centred.mean(axis=0)
    largest = float(np.abs(centred).max())
    if not largest > 0:
        return None, baseline
    centred /= largest
    squares, scatter = np.vecdot(centred, centred), centred.T @ centred / (n - 1)
    trace, frobenius, q = float(np.trace(scatter)), float((scatter**2).sum()), float(squares @ squares) / (n - 1)
    below = (n - 1) * (n - 2) * frobenius + trace**2 - n * q
    above = 2 * frobenius + (n**2 - 3 * n + 1) * trace**2 - n * q
    return (float(np.clip((above / below - 1) / (d - 1), 0.0, 1.0)) if below > 0 else None), baseline


class _Pairs:
    """A task, its distinct sentences, and where the two of each pair stand among them."""

    def __init__(self, task: PairTask) -> None:
        self.task, self.name = task, task.name if task.split in ("test", "all") else f"{task.name}:{task.split}"
        self.texts = list(dict.fromkeys(text.strip() for side in (task.left, task.right) for text in side))
        places = {text: place for place, text in enumerate(self.texts)}
        self.left, self.right = (self._places(places, side) for side in (task.left, task.right))

    @property
    def as_they_stand(self) -> list[str]:
        """All sentences, one that is in several pairs as often: what is published was fitted on these."""
        return [self.texts[place] for side in (self.left, self.right) for place in side.tolist()]

    @staticmethod
    def _places(places: Mapping[str, int], side: Sequence[str]) -> IntVector:
        return np.array([places[text.strip()] for text in side], np.int64)


@dataclass(frozen=True, eq=False)
class _Judged:
    """What one method with one seed gives on one dataset; without cosines, the reason."""

    cosines: NDArray[np.float64] | None
    isoscore: float | None = None
    baseline: float | None = None
    reason: str = ""
    note: str = ""


def _judge(pairs: _Pairs, rows: Matrix, note: str) -> _Judged:
    units = unit_rows(rows)
    cosines = np.vecdot(units[pairs.left], units[pairs.right]).clip(-1.0, 1.0)
    # A sentence with itself is 1 exactly: what rounding leaves would break ties, and move the ranks.
    cosines[(pairs.left == pairs.right) & np.isfinite(cosines)] = 1.0
    return _Judged(np.asarray(cosines), *isotropy(rows, units), note=note)


def _tried(
    fits: Fits, method: Method, tasks: Sequence[_Pairs], every: Sequence[str], total: int
) -> list[list[_Judged]]:
    """A method on each dataset, under each of its seeds."""
    found: list[list[_Judged]] = [[] for _ in tasks]
    for seed in fits.seeds(method):
        if method.protocol == "transductive":
            for own, task in zip(found, tasks, strict=True):
                rows, said = _attempted(fits, method, seed, task.texts, task.name, task.as_they_stand)
                own.append(_Judged(None, reason=said) if rows is None else _judge(task, rows, said))
        else:
            rows, said = _attempted(fits, method, seed, every, "all sentences")
            places = {text: place for place, text in enumerate(every)}
            for own, task in zip(found, tasks, strict=True):
                mine = None if rows is None else rows[[places[text] for text in task.texts]]
                own.append(_Judged(None, reason=said) if mine is None else _judge(task, mine, said))
        fits.settings.tell("methods", 1, total)
    return found


def _attempted(
    fits: Fits, method: Method, seed: int, texts: Sequence[str], what: str, own: Sequence[str] | None = None
) -> tuple[Matrix | None, str]:
    """The vectors and the note of the repair; none and the reason where it cannot be fitted."""
    try:
        return fits.vectors(method, seed, texts, what, own)
    except RepairError as error:
        return None, str(error)


def _rows(
    fits: Fits,
    methods: Sequence[Method],
    judged: Sequence[Sequence[Sequence[_Judged]]],
    tasks: Sequence[_Pairs],
    units: PairUnits,
    settings: Settings,
) -> list[Row]:
    columns, drawn, start = [], [], 0
    for at, task in enumerate(tasks):
        own = units.select(np.arange(start, start + len(task.task)))
        start += len(task.task)
        cells, replicates = _column(task, [one[at] for one in judged], own, settings)
        columns.append(cells)
        drawn.append(replicates)
        settings.tell("intervals", 1, len(tasks))
    # The units were drawn over all datasets, so the mean of a draw's scores is a draw of the mean.
    scores, values = (np.mean([getattr(one, name) for one in drawn], axis=0) for name in ("scores", "values"))
    gains = differences(Replicates(scores, values, start, units.independent))
    rows = []
    for at, method in enumerate(methods):
        cells = [column[at] for column in columns]
        known = [cell.spearman.all for cell in cells if cell.spearman.all is not None]
        average = float(np.mean(known)) if len(known) == len(cells) else None
        low, high = (None, None) if average is None else bounds(values[at])
        note = next((one.note for own in judged[at] for one in own if one.note), "")
        gain, seeds = gains[at] if at else None, len(fits.seeds(method))
        rows.append(Row(fits.shown(method), cells, average, seeds, note, low, high, gain))
    return rows


def _joint_units(tasks: Sequence[_Pairs]) -> PairUnits:
    """The units of the pairs of all datasets, one after another: STS-B, for one, is drawn from STS12 to STS16."""
    left = [text for task in tasks for text in task.task.left]
    right = [text for task in tasks for text in task.task.right]
    parts = [at for at, task in enumerate(tasks) for _ in range(len(task.task))]
    return pair_units(len(parts), (left, right), parts)


def _column(
    task: _Pairs, judged: Sequence[Sequence[_Judged]], units: PairUnits, settings: Settings
) -> tuple[list[Cell], Replicates]:
    """The cells of one dataset, the raw vectors first, and their replicates."""
    gold = task.task.scores
    flat = [one.cosines for own in judged for one in own if one.cosines is not None]
    scores, values = np.full(len(judged), np.nan), np.full((len(judged), settings.replicates), np.nan)
    if flat:
        found = bootstrap(gold, np.stack(flat), replicates=settings.replicates, seed=settings.seed, units=units)
        first = 0
        for at, own in enumerate(judged):
            if all(one.cosines is not None for one in own):
                scores[at] = found.scores[first : first + len(own)].mean()
                values[at] = found.values[first : first + len(own)].mean(axis=0)
            first += sum(one.cosines is not None for one in own)
    replicates = Replicates(scores, values, len(gold), units.independent)
    gains = differences(replicates)
    cells = []
    for at, own in enumerate(judged):
        spearman, spread = _correlated(task.task, own, "spearman")
        pearson, _ = _correlated(task.task, own, "pearson")
        isoscores = [one.isoscore for one in own if one.isoscore is not None]
        baselines = [one.baseline for one in own if one.baseline is not None]
        isoscore, baseline = (float(np.mean(some)) if some else None for some in (isoscores, baselines))
        difference = None if at == 0 else gains[at]
        cells.append(Cell(task.name, spearman, pearson, isoscore, baseline, difference, spread))
    return cells, replicates


def _correlated(task: PairTask, judged: Sequence[_Judged], kind: Kind) -> tuple[Aggregated, float | None]:
    """The mean over the seeds, and the spread of `all` where there are several."""
    missing = next((one.reason for one in judged if one.cosines is None), None)
    if missing is not None:
        return Aggregated(None, None, None, len(task), missing), None
    each = [aggregate(task.scores, one.cosines, task.subsets, kind) for one in judged if one.cosines is not None]
    if len(each) == 1:
        return each[0], None

    def mean(values: Sequence[float | None]) -> float | None:
        known = [value for value in values if value is not None]
        return float(np.mean(known)) if len(known) == len(values) else None

    subsets = {
        name: Correlation(mean([one.subsets[name].value for one in each]), each[0].subsets[name].n)
        for name in each[0].subsets
    }
    whole, plain, weighted = (mean([getattr(one, name) for one in each]) for name in ("all", "mean", "wmean"))
    reason = next((one.reason for one in each if one.reason), "")
    alls = [one.all for one in each if one.all is not None]
    spread = float(np.std(alls, ddof=1)) if len(alls) == len(each) else None
    return Aggregated(whole, plain, weighted, len(task), reason, subsets), spread


def _named(fit_on: Any) -> str:  # noqa: ANN401 - a name, a path or strings
    return os.fspath(fit_on) if isinstance(fit_on, str | os.PathLike) else f"{len(fit_on):,} texts"
