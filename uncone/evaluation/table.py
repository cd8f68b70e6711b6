"""Evaluation results: a table of methods by datasets, each figure with the number of pairs behind it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uncone.analysis.intervals.bootstrap import Difference
from uncone.analysis.intervals.correlation import Aggregated
from uncone.analysis.intervals.resampling import Score
from uncone.analysis.space.spectrum.isotropy import PartitionIsotropy

__all__ = [
    "Cell",
    "EvaluationTable",
    "HubDocument",
    "Hubs",
    "Method",
    "MethodHubs",
    "Row",
    "TaskRow",
    "TaskScores",
]


@dataclass(frozen=True)
class Method:
    """A method under evaluation: `repair` is a method of `uncone fix` with its options, empty for raw vectors.

    `protocol` is "raw" when nothing was fitted, "inductive" when it was fitted on another corpus (`fitted_on`), and
    "transductive" when it was fitted on the texts that it is judged on. `level` is sentence or token, or vector where
    the vectors are given. `sides` says whether queries and documents share a repair (together) or have one each
    (separate); it is empty where there are no two sides.
    """

    name: str
    repair: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    layer: str = "-1"
    pooling: str = "mean"
    level: str = "sentence"
    protocol: str = "raw"
    fitted_on: str = ""
    sides: str = ""

    @property
    def space(self) -> tuple[str, str]:
        """The layer and the pooling: methods that share them start from the same vectors."""
        return self.layer, self.pooling


@dataclass(frozen=True)
class Cell:
    """One method on one set of sentence pairs; correlations are between -1 and 1, and are shown x 100.

    `isoscore` and `baseline` are those of the distinct sentences of the set, in the space that is judged. `difference`
    is that of `spearman.all` to the raw vectors of the same layer and pooling, None for these themselves. With several
    seeds the figures are their means, and `spread` is the standard deviation of `spearman.all` over them.
    """

    dataset: str
    spearman: Aggregated
    pearson: Aggregated
    isoscore: float | None
    baseline: float | None
    difference: Difference | None = None
    spread: float | None = None
    alignment: Score | None = None
    """The mean squared distance of positive pairs at length 1: those with 80 % of the highest score or more."""
    uniformity: float | None = None
    """The logarithm of E exp(-2|u - v|^2) over the distinct sentences, or a sample of them."""
    partition: PartitionIsotropy | None = None
    """I(W) of the vectors that are repaired, if it was measured."""


@dataclass(frozen=True)
class Row:
    """A method on all sets, in the order of the table; `average` is the plain mean of `spearman.all` over them.

    `low` and `high` are its 95 % interval: that of the mean itself, over draws that all sets share. `difference` is
    that of the average to the raw vectors of the same layer and pooling, None for these and for published rows.
    """

    method: Method
    cells: Sequence[Cell]
    average: float | None
    seeds: int = 1
    note: str = ""
    low: float | None = None
    high: float | None = None
    difference: Difference | None = None

    @property
    def is_raw(self) -> bool:
        """Whether these are raw vectors, to which others are compared."""
        is_compared = any(cell.difference is not None for cell in self.cells)
        return self.method.protocol == "raw" and not self.method.repair and not is_compared

    @property
    def isoscore(self) -> float | None:
        """The mean IsoScore over the datasets that have one."""
        values = [cell.isoscore for cell in self.cells if cell.isoscore is not None and math.isfinite(cell.isoscore)]
        return fmean(values) if values else None

    def cell(self, dataset: str) -> Cell | None:
        """The cell of a dataset, if there is one."""
        return next((cell for cell in self.cells if cell.dataset == dataset), None)


@dataclass(frozen=True, eq=False)
class TaskScores:
    """The figures of a task by name, with their intervals and replicates, and the number of independent items.

    The replicates of two results on the same items with the same seed are paired. `sizes` is for shares: the number of
    items that each rests on (`share_score`).
    """

    scores: Mapping[str, Score]
    replicates: Mapping[str, NDArray[np.float64]]
    sizes: Mapping[str, float]
    units: int


@dataclass(frozen=True)
class TaskRow:
    """A method on another task (classification, retrieval, labeled pairs): figures by name, with intervals."""

    task: str
    method: Method
    scores: Mapping[str, Score]
    differences: Mapping[str, Difference]
    isoscore: float | None = None
    note: str = ""
    partition: PartitionIsotropy | None = None


@dataclass(frozen=True)
class HubDocument:
    """A document that stands among the first of many queries.

    `queries` is the number of those queries, and `hits` of how many of them it is relevant to; `relevant` is the number
    of all queries that it is relevant to. `row` is its number, from 0; `text` is empty if it is not known.
    """

    row: int
    id: str
    text: str
    queries: int
    hits: int
    relevant: int


@dataclass(frozen=True)
class MethodHubs:
    """The hubs of a method: how many there are, their share of the places, and the queries of the largest."""

    method: Method
    hubs: int
    share: float
    largest: int


@dataclass(frozen=True)
class Hubs:
    """The documents that stand in the top `depth` of `least` queries or more.

    `documents` are those of the raw vectors with the most queries, `methods` what every method makes of it.
    """

    task: str
    depth: int
    least: int
    queries: int
    docs: int
    documents: Sequence[HubDocument]
    methods: Sequence[MethodHubs]


@dataclass(frozen=True)
class EvaluationTable:
    """All results of one model."""

    model: str
    datasets: Sequence[str]
    rows: Sequence[Row]
    tasks: Sequence[TaskRow] = ()
    published: Sequence[Row] = ()
    """Rows of the literature for this model, beside ours; their cells have no interval."""
    notes: Sequence[str] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)
    hubs: Hubs | None = None
    """The documents that answer many queries, of a search among given vectors."""
