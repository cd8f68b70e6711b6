"""Scores of an evaluation: names, averages, and gains over raw vectors with what is proven of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

from uncone.analysis.intervals.bootstrap import Aggregation, Difference
from uncone.analysis.intervals.correlation import Kind
from uncone.analysis.intervals.intervals import LEAST_UNITS
from uncone.analysis.number_format import cosine, count
from uncone.evaluation.table import Cell, EvaluationTable, Method, Row
from uncone.report.text import between, number_text, signed

__all__ = [
    "AGGREGATIONS", "MARKS", "Gain", "Scores", "certainty", "correlation", "difference_text", "interval", "labels",
    "points", "protocol", "signed_points", "trend",
]  # fmt: skip

AGGREGATIONS: dict[Aggregation, str] = {
    "all": "the pairs of all subsets together",
    "mean": "the mean over the subsets",
    "wmean": "the mean over the subsets, weighted by their pairs",
}
"""The ways to combine the subsets of a dataset, in words."""
MARKS = {1: "*", -1: "↓*", 0: ""}
"""The mark of a proven gain, of a proven loss, and of neither."""


@dataclass(frozen=True)
class Gain:
    """The gain of a method over raw vectors on average over the datasets, and on how many of them it is proven.

    The interval is that of the mean itself, over draws that all datasets share, and `proven` is corrected for the
    number of methods. `units` are the independent pairs of all datasets.
    """

    value: float
    low: float | None
    high: float | None
    proven: bool
    sets: int
    gains: int
    losses: int
    units: int = 0


class Scores:
    """The table of an evaluation with what tables, charts and sentences compute from it."""

    def __init__(self, table: EvaluationTable) -> None:
        self.table = table
        self.labels = labels([row.method for row in table.rows])
        self.raw = [row for row in table.rows if row.is_raw]
        self.repaired = [row for row in table.rows if not row.is_raw]
        """The rows that are compared with raw vectors."""
        names = dict.fromkeys(row.task for row in table.tasks)
        by_task = {name: [row for row in table.tasks if row.task == name] for name in names}
        self.tasks = {
            name: dict(zip(labels([row.method for row in rows]), rows, strict=True)) for name, rows in by_task.items()
        }
        """The rows of each other task, by their distinct names."""

    def label(self, row: Row) -> str:
        """The distinct name of a row."""
        return next(label for label, other in zip(self.labels, self.table.rows, strict=True) if other is row)

    def average(self, row: Row, kind: Kind = "spearman", aggregation: Aggregation = "all") -> float | None:
        """The plain mean over all datasets; None if one is undefined."""
        if kind == "spearman" and aggregation == "all" and row.average is not None:
            return row.average if math.isfinite(row.average) else None
        values = [correlation(row.cell(dataset), kind, aggregation) for dataset in self.table.datasets]
        scores = [value for value in values if value is not None]
        return fmean(scores) if scores and len(scores) == len(values) else None

    def best(self, rows: Sequence[Row]) -> Row | None:
        """The row with the highest average; of equals the first one, and raw vectors before repairs."""
        averages = [self.average(row) for row in rows]
        keys = [(-value, not rows[at].is_raw, at) for at, value in enumerate(averages) if value is not None]
        return rows[min(keys)[2]] if keys else None

    def gap(self, row: Row, other: Row) -> float:
        """The average of a row minus that of another; 0 if it is unknown."""
        average, base = self.average(row), self.average(other)
        return 0.0 if average is None or base is None else average - base

    def gain(self, row: Row) -> Gain | None:
        """The gain over the raw vectors of the same layer and pooling; None for raw vectors, or if it is unknown."""
        if row.is_raw:
            return None
        differences = [cell.difference for cell in row.cells if cell.difference and cell.difference.value is not None]
        trends = [trend(difference) for difference in differences]
        counts = len(differences), trends.count(1), trends.count(-1)
        mean = row.difference
        if differences and mean is not None and mean.value is not None:
            return Gain(mean.value, mean.low, mean.high, bool(trend(mean)), *counts, mean.units)
        if differences:  # some datasets have no score, so there is no mean over all of them
            value = fmean(difference.value for difference in differences if difference.value is not None)
            return Gain(value, None, None, False, *counts)
        raw = next((other for other in self.raw if other.method.space == row.method.space), None)
        if raw is None or self.average(raw) is None or self.average(row) is None:
            return None
        return Gain(self.gap(row, raw), None, None, False, *counts)

    @cached_property
    def gains(self) -> list[tuple[Row, Gain]]:
        """The repaired rows whose gain is known, with it."""
        return [(row, gain) for row in self.repaired if (gain := self.gain(row)) is not None]

    def _cells(self, dataset: str) -> list[Cell]:
        return [cell for row in self.table.rows for cell in row.cells if cell.dataset == dataset]

    def pairs(self, dataset: str) -> int:
        """The number of pairs of a dataset; 0 if nothing was measured on it."""
        return max((cell.spearman.n for cell in self._cells(dataset)), default=0)

    def independent_pairs(self, dataset: str) -> int:
        """The number of independent pairs behind the differences on a dataset; 0 if there are none."""
        return max((cell.difference.units for cell in self._cells(dataset) if cell.difference is not None), default=0)

    @cached_property
    def aggregations(self) -> list[Aggregation]:
        """The aggregations that differ: one is enough if no dataset has subsets."""
        for row in (*self.table.rows, *self.table.published):
            for cell in row.cells:
                for scores in (cell.spearman, cell.pearson):
                    if any(points(value, 6) != points(scores.all, 6) for value in (scores.mean, scores.wmean)):
                        return list(AGGREGATIONS)
        return ["all"]

    def groups(self) -> list[tuple[str, list[Row]]]:
        """Rows under titles: by layer and pooling, then by protocol, each in the order in which they come first."""
        methods = [row.method for row in self.table.rows]
        several = {
            name for name in ("layer", "pooling", "level") if len({getattr(method, name) for method in methods}) > 1
        }
        spaces = list(dict.fromkeys(method.space for method in methods))
        groups: dict[tuple[object, ...], list[Row]] = {}
        for row in sorted(self.table.rows, key=lambda row: spaces.index(row.method.space)):
            method = row.method
            level = method.level if "level" in several else ""
            groups.setdefault((method.space, method.protocol, method.fitted_on, level), []).append(row)
        return [(_group_title(rows[0].method, several), rows) for rows in groups.values()]


def _group_title(method: Method, several: set[str]) -> str:
    words = [f"layer {method.layer}"] if "layer" in several else []
    words += [f"{method.pooling} pooling"] if "pooling" in several else []
    words += [f"{method.level} level"] if "level" in several and method.protocol != "raw" else []
    return " · ".join([*words, protocol(method)])


def protocol(method: Method) -> str:
    """The protocol under which a method was fitted, in words."""
    if method.protocol == "raw":
        return "nothing fitted"
    if method.protocol == "transductive":
        corpus = method.fitted_on if method.level == "vector" else "the evaluated texts"
        return f"transductive: fitted on {corpus}"
    return f"{method.protocol}: fitted on {method.fitted_on}" if method.fitted_on else method.protocol


def points(value: float | None, digits: int = 1) -> str:
    """A score x 100; a dash if it is undefined.

    >>> points(0.5737), points(-0.0001), points(None)
    ('57.4', '0.0', '–')
    """
    return number_text(value, lambda share: cosine(100 * share, digits))


def signed_points(value: float | None, digits: int = 1) -> str:
    """A difference x 100 with its sign.

    >>> signed_points(0.253), signed_points(-0.012), signed_points(0.0)
    ('+25.3', '−1.2', '0.0')
    """
    return signed(points(value, digits)).replace("-", "−")


def interval(low: float | None, high: float | None) -> str:
    """The interval of a difference; nothing if it is unknown."""
    return between(low, high, signed_points)


def trend(difference: Difference | Gain | None) -> int:
    """1 if a gain is proven, -1 if a loss is, else 0."""
    proven = difference.proven if isinstance(difference, Gain) else difference is not None and difference.significant
    if difference is None or not proven or not difference.value:
        return 0
    return 1 if difference.value > 0 else -1


def certainty(proven: bool, units: int, noun: str = "pair") -> str:
    """Whether a difference is proven, and on how much.

    >>> certainty(True, 1204), certainty(False, 1204), certainty(False, 20)
    ('proven on 1,204 independent pairs', 'not proven', 'not proven: 20 independent pairs, and a proof needs 30')
    """
    amount = count(units, f"independent {noun}")
    if proven:
        return f"proven on {amount}"
    return f"not proven: {amount}, and a proof needs {LEAST_UNITS}" if 0 < units < LEAST_UNITS else "not proven"


def difference_text(difference: Difference | Gain | None) -> str:
    """A difference from raw vectors with its interval, and whether it is proven; nothing if it is unknown."""
    if difference is None or difference.value is None:
        return ""
    between = interval(difference.low, difference.high)
    between = f" (95 % interval {between})" if between else ""
    return f"{signed_points(difference.value)} vs. raw{between}, {certainty(bool(trend(difference)), difference.units)}"


def correlation(cell: Cell | None, kind: Kind = "spearman", aggregation: Aggregation = "all") -> float | None:
    """A correlation, None if it is undefined."""
    if cell is None:
        return None
    value: float | None = getattr(cell.spearman if kind == "spearman" else cell.pearson, aggregation)
    return value if value is not None and math.isfinite(value) else None


def labels(methods: Sequence[Method]) -> list[str]:
    """A distinct name for each method: with layer, pooling, protocol and level if these are needed.

    >>> labels([Method("raw"), Method("whiten", protocol="inductive"), Method("whiten", protocol="transductive")])
    ['raw', 'whiten (inductive)', 'whiten (transductive)']
    """
    forms = {
        "layer": "layer {}",
        "pooling": "{} pooling",
        "sides": "{}",
        "protocol": "{}",
        "fitted_on": "on {}",
        "level": "{} level",
    }
    parts = [[method.name] for method in methods]
    for name, form in forms.items():
        values = [str(getattr(method, name)) for method in methods]
        # Layer and pooling are named as soon as any two methods differ in them.
        keys = [() if name in ("layer", "pooling") else tuple(words) for words in parts]
        for words, key, value in zip(parts, keys, values, strict=True):
            if value and len({other for same, other in zip(keys, values, strict=True) if same == key}) > 1:
                words.append(form.format(value))
    names = [f"{name} ({', '.join(rest)})" if rest else name for name, *rest in parts]
    return [
        f"{name} #{names[: at + 1].count(name)}" if names.count(name) > 1 else name for at, name in enumerate(names)
    ]
