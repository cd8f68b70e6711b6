"""The parts of the suite: what is measured for the tables of the papers, each part by itself."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from uncone.analysis.intervals.bootstrap import Difference
from uncone.analysis.space.spectrum.isotropy import PartitionIsotropy
from uncone.data.storage.path import path_of
from uncone.data.tasks.labeled import LabeledTask, open_labeled
from uncone.data.tasks.sts import STS, PairTask, open_pairs
from uncone.data.texts.corpora import corpus_name
from uncone.encoders.encoder import Encoder
from uncone.evaluation.methods import PROTOCOLS, RAW, STATIC, fit_texts
from uncone.evaluation.papers.layouts import ABLATION, CLUSTERS, LAST_LAYER, NLI, OWN_RECIPE, TARGET, TWO_LAYERS
from uncone.evaluation.spaces import Settings
from uncone.evaluation.table import Cell, Method, Row, TaskRow
from uncone.evaluation.tasks.sts import evaluate_sts
from uncone.evaluation.tasks.tasks import evaluate_labeled

__all__ = ["ABLATED", "Figure", "Part", "parts", "run"]

ABLATED = ("sts15", "stsb")
"""The datasets of the table with all six methods."""
_K, _P = 27, 12
_WIDE = 256
_SEEDS = 3
"""Of the clusters, which begin at random."""


@dataclass(frozen=True)
class Figure:
    """A method on a dataset: the cells that it fills in the tables of the papers.

    Correlations and accuracy are between -1 and 1, isotropies are log10 I(W). `reason` says why there is no score. The
    difference is that of `spearman` (or `accuracy`) to the raw vectors.
    """

    part: str
    row: str
    fit: str
    dataset: str
    values: Mapping[str, float | None]
    n: int
    difference: Difference | None = None
    spread: float | None = None
    reason: str = ""

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Figure:
        """A figure that was written as its fields.

        Raises:
            KeyError: a field is missing.
            TypeError: there is one too many.
        """
        difference = values["difference"]
        return cls(**{**values, "difference": None if difference is None else Difference(**difference)})


@dataclass(frozen=True)
class Part:
    """What is measured at once, and kept when it is complete: a kind of vectors on one dataset or on several."""

    name: str
    part: str
    datasets: Sequence[str]
    layer: str | None = "-1"
    pooling: str | None = "mean"
    level: str = "sentence"
    supervised: bool = False


def parts(*, supervised: bool) -> tuple[Part, ...]:
    """Every part of the suite, in the order of the tables; the last one needs a model trained on NLI."""
    tokens = [Part(f"tokens-{dataset}", "tokens", (dataset,), level="token") for dataset in STS]
    listed = [
        *tokens,
        Part("classes-sst2", "classes", ("sst2",), level="token"),
        Part("last-layer", "last-layer", STS),
        Part("two-layers", "sentences", STS, layer="1,-1"),
    ]
    if supervised:
        listed.append(Part("supervised", "supervised", STS, None, None, supervised=True))
    return tuple(listed)


def run(
    part: Part, model: str | os.PathLike[str] | Encoder, dim: int, settings: Settings, limit: int | None = None
) -> list[Figure]:
    """Measure a part: every method of its tables on its datasets; `limit` takes so many pairs of each, evenly spaced.

    Repairs of tokens are fitted on the sentences of the dataset itself, as in the paper; those of sentences on NLI and
    on the dataset.

    Raises:
        SourceError: a dataset cannot be read.
    """
    settings = replace(settings, layer=part.layer, pooling=part.pooling, level=part.level)
    methods = list(_methods(part, dim))
    if not hasattr(getattr(model, "model", None), "get_input_embeddings"):
        methods = [method for method in methods if method.repair != "static"]
    if part.level == "token":
        settings = replace(settings, partition=True, seeds=_SEEDS)
    fitted_on = {"transductive": TARGET}
    if any(method.protocol == "inductive" for method in methods):
        texts = fit_texts(settings.fit_on, settings.data)
        fitted_on["inductive"] = _corpus_label(settings.fit_on)
        settings = replace(settings, fit_on=[texts[at] for at in _spaced(len(texts), limit)])
    if part.part == "classes":
        train, test = (_limited(open_labeled(f"sst2:{split}", settings.data), limit) for split in ("train", "test"))
        rows = evaluate_labeled(model, test, methods, train=train, settings=replace(settings, seeds=1))
        return [_task_figure(row, fitted_on) for row in rows]
    tasks = [_fewer(open_pairs(name, settings.data), limit) for name in part.datasets]
    table = evaluate_sts(model, tasks, methods, settings)
    return [_figure(part, row, cell, fitted_on) for row in table.rows for cell in row.cells]


def _corpus_label(fit_on: str | os.PathLike[str] | Sequence[str]) -> str:
    if not isinstance(fit_on, str | os.PathLike):
        return "the given texts"
    name = os.fspath(fit_on)
    return NLI if corpus_name(name) == "snli" else path_of(name).name


def _methods(part: Part, dim: int) -> Iterator[Method]:
    """The rows of the tables as methods, the raw vectors first."""
    if part.part in ("tokens", "classes"):
        ablation = part.datasets[0] in ABLATED
        yield replace(RAW, name=ABLATION[0], level="token")
        # 12 directions of 768 dimensions; fewer of narrow vectors.
        p = min(_P, max(1, dim // 8))
        listed: list[tuple[str, dict[str, Any]]] = [
            ("center", {}),
            ("droptop", {"k": p}),
            ("clustered", {"k": _K, "p": 0}),
            ("clustered", {"k": _K, "p": p, "assign": "gmm"}),
            ("clustered", {"k": _K, "p": p}),
        ]
        for label, (repair, options) in zip(ABLATION[1:], listed, strict=True):
            if ablation or label in CLUSTERS:
                yield Method(label, repair, options, level="token", protocol="transductive")
        return
    yield RAW
    if part.part == "last-layer":
        return
    if part.part == "sentences":
        yield STATIC
    # 256 of 768 dimensions: a third, where the vectors are narrower.
    narrow = _WIDE if dim > _WIDE else max(2, dim // 3)
    for label, repair, options in (
        ("flow", "flow", {}),
        ("whiten", "whiten", {}),
        (f"whiten {narrow}", "whiten", {"dim": narrow}),
    ):
        for protocol in PROTOCOLS:
            yield Method(label, repair, options, protocol=protocol)


def _label(part: Part, row: Row) -> str:
    """The name of a row in the tables."""
    if row.method.repair == "static":
        return "mean of input embeddings"
    if row.method.repair or part.level == "token":
        return ABLATION[0] if not row.method.repair else row.method.name
    return {"sentences": TWO_LAYERS, "last-layer": LAST_LAYER}.get(part.part, OWN_RECIPE)


def _figure(part: Part, row: Row, cell: Cell, fitted_on: Mapping[str, str]) -> Figure:
    # The papers report STS-B over all pairs; its genres are no subsets to them.
    way = "all" if cell.dataset == "stsb" else "wmean"
    values = {
        "pearson": cell.pearson.all,
        "spearman": cell.spearman.all,
        "wmean": getattr(cell.spearman, way),
        **_isotropies(cell.partition),
    }
    fit, n = fitted_on.get(row.method.protocol, ""), cell.spearman.n
    label, reason = _label(part, row), cell.spearman.reason
    return Figure(part.part, label, fit, cell.dataset, values, n, cell.difference, cell.spread, reason)


def _task_figure(row: TaskRow, fitted_on: Mapping[str, str]) -> Figure:
    score = row.scores.get("accuracy")
    values = {"accuracy": None if score is None else score.value, **_isotropies(row.partition)}
    fit, label = fitted_on.get(row.method.protocol, ""), row.method.name if row.method.repair else ABLATION[0]
    reason = "" if values["accuracy"] is not None else row.note
    gain, n = row.differences.get("accuracy"), 0 if score is None else score.n
    return Figure("classes", label, fit, "sst2", values, n, gain, reason=reason)


def _isotropies(partition: PartitionIsotropy | None) -> dict[str, float | None]:
    return {} if partition is None else {name: float(value) for name, value in asdict(partition).items()}


def _spaced(n: int, limit: int | None) -> list[int]:
    """The numbers of `limit` of n rows, evenly spaced, so that every subset has its share."""
    if limit is None or limit >= n:
        return list(range(n))
    return [int(place) for place in np.linspace(0, n - 1, limit).round()]


def _fewer(task: PairTask, limit: int | None) -> PairTask:
    at = _spaced(len(task), limit)
    left, right, subsets = ([side[i] for i in at] for side in (task.left, task.right, task.subsets))
    return PairTask(task.name, left, right, task.scores[at], subsets, task.split)


def _limited(task: LabeledTask, limit: int | None) -> LabeledTask:
    at = _spaced(len(task), limit)
    return LabeledTask(task.name, [task.texts[i] for i in at], [task.labels[i] for i in at], task.split)
