"""Scores of an evaluation: names, averages, and gains over raw vectors with what is proven of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from uncone.analysis.intervals.bootstrap import Aggregation, Difference
from uncone.analysis.intervals.correlation import Kind
from uncone.analysis.intervals.intervals import LEAST_UNITS
from uncone.analysis.number_format import cosine, count
from uncone.evaluation.table import Cell, EvaluationTable, Method, Row

__all__ = [
    "AGGREGATIONS",
    "MEASURES",
    "Gain",
    "aggregations",
    "average",
    "cell_of",
    "certainty",
    "correlation",
    "gain",
    "grouped_rows",
    "independent_pairs",
    "interval",
    "is_reference",
    "labels",
    "mean_isoscore",
    "pairs",
    "points",
    "protocol",
    "repaired_rows",
    "same_space",
    "signed",
    "trend",
]

AGGREGATIONS: dict[Aggregation, str] = {
    "all": "the pairs of all subsets together",
    "mean": "the mean over the subsets",
    "wmean": "the mean over the subsets, weighted by their pairs",
}
"""The ways to combine the subsets of a dataset, in words."""

MEASURES = {
    "macro_f1": "macro F1",
    "ndcg@10": "nDCG@10",
    "mrr@10": "MRR@10",
    "roc_auc": "ROC AUC",
    "best_f1": "best F1",
}
"""Titles of the measures of other tasks, if they are not their names with spaces."""


@dataclass(frozen=True)
class Gain:
    """What a method gains over raw vectors on average over the datasets, and on how many of them that is proven.

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


def points(value: float | None, digits: int = 1) -> str:
    """A score x 100; a dash if it is undefined.

    >>> points(0.5737), points(-0.0001), points(None)
    ('57.4', '0.0', '–')
    """
    return "–" if value is None or not math.isfinite(value) else cosine(100 * value, digits)


def signed(value: float | None, digits: int = 1) -> str:
    """A difference x 100 with its sign.

    >>> signed(0.253), signed(-0.012), signed(0.0)
    ('+25.3', '−1.2', '0.0')
    """
    text = points(value, digits)
    return f"+{text}" if text[0] not in "-–" and text.strip("0.") else text.replace("-", "−")


def interval(low: float | None, high: float | None, digits: int = 1) -> str:
    """The interval of a difference; nothing if it is unknown."""
    return "" if low is None or high is None else f"{signed(low, digits)} to {signed(high, digits)}"


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


def is_reference(row: Row) -> bool:
    """Whether these are raw vectors, to which others are compared."""
    return row.method.protocol == "raw" and not row.method.repair and all(cell.difference is None for cell in row.cells)


def repaired_rows(table: EvaluationTable) -> list[Row]:
    """The rows that are compared to raw vectors."""
    return [row for row in table.rows if not is_reference(row)]


def same_space(method: Method, other: Method) -> bool:
    """Whether two methods start from the same vectors."""
    return (method.layer, method.pooling) == (other.layer, other.pooling)


def cell_of(row: Row, dataset: str) -> Cell | None:
    """The cell of a dataset, if there is one."""
    return next((cell for cell in row.cells if cell.dataset == dataset), None)


def correlation(cell: Cell | None, kind: Kind = "spearman", aggregation: Aggregation = "all") -> float | None:
    """A correlation, None if it is undefined."""
    if cell is None:
        return None
    value: float | None = getattr(cell.spearman if kind == "spearman" else cell.pearson, aggregation)
    return value if value is not None and math.isfinite(value) else None


def average(
    table: EvaluationTable, row: Row, kind: Kind = "spearman", aggregation: Aggregation = "all"
) -> float | None:
    """The plain mean over all datasets; None if one is undefined."""
    if kind == "spearman" and aggregation == "all" and row.average is not None:
        return row.average if math.isfinite(row.average) else None
    values = [correlation(cell_of(row, dataset), kind, aggregation) for dataset in table.datasets]
    finite = [value for value in values if value is not None]
    return fmean(finite) if finite and len(finite) == len(values) else None


def mean_isoscore(row: Row) -> float | None:
    """The mean IsoScore over the datasets that have one."""
    values = [cell.isoscore for cell in row.cells if cell.isoscore is not None and math.isfinite(cell.isoscore)]
    return fmean(values) if values else None


def pairs(table: EvaluationTable, dataset: str) -> int:
    """How many pairs a dataset has; 0 if nothing was measured on it."""
    return max((cell.spearman.n for row in table.rows for cell in row.cells if cell.dataset == dataset), default=0)


def independent_pairs(table: EvaluationTable, dataset: str) -> int:
    """How many independent pairs the differences on a dataset rest on; 0 if there are none."""
    cells = [cell for row in table.rows if (cell := cell_of(row, dataset)) is not None]
    return max((cell.difference.units for cell in cells if cell.difference is not None), default=0)


def gain(table: EvaluationTable, row: Row) -> Gain | None:
    """What a method gains over the raw vectors of its layer and pooling; None for these, and if nothing is known."""
    if is_reference(row):
        return None
    known = [cell.difference for cell in row.cells if cell.difference is not None and cell.difference.value is not None]
    trends = [trend(difference) for difference in known]
    wins, losses = trends.count(1), trends.count(-1)
    if not known:
        raw = next(
            (other for other in table.rows if is_reference(other) and same_space(other.method, row.method)), None
        )
        own, reference = average(table, row), None if raw is None else average(table, raw)
        if own is None or reference is None:
            return None
        return Gain(own - reference, None, None, False, 0, 0, 0)
    mean = row.difference
    if mean is None or mean.value is None:  # some datasets have no score, so there is no mean over all of them
        value = fmean(difference.value for difference in known if difference.value is not None)
        return Gain(value, None, None, False, len(known), wins, losses)
    return Gain(mean.value, mean.low, mean.high, bool(trend(mean)), len(known), wins, losses, mean.units)


def aggregations(table: EvaluationTable) -> list[Aggregation]:
    """The aggregations that differ: one is enough if no dataset has subsets."""
    for row in (*table.rows, *table.published):
        for cell in row.cells:
            for scores in (cell.spearman, cell.pearson):
                if any(points(value, 6) != points(scores.all, 6) for value in (scores.mean, scores.wmean)):
                    return list(AGGREGATIONS)
    return ["all"]


def grouped_rows(table: EvaluationTable) -> list[tuple[str, list[Row]]]:
    """Rows under titles: by layer and pooling, then by protocol, each in the order in which they come first."""
    methods = [row.method for row in table.rows]
    several = {name for name in ("layer", "pooling", "level") if len({getattr(one, name) for one in methods}) > 1}
    spaces = list(dict.fromkeys((one.layer, one.pooling) for one in methods))
    groups: dict[tuple[object, ...], list[Row]] = {}
    for row in sorted(table.rows, key=lambda row: spaces.index((row.method.layer, row.method.pooling))):
        one = row.method
        level = one.level if "level" in several else ""
        groups.setdefault((one.layer, one.pooling, one.protocol, one.fitted_on, level), []).append(row)
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
        return "transductive: fitted on the evaluated texts"
    return f"{method.protocol}: fitted on {method.fitted_on}" if method.fitted_on else method.protocol


def labels(methods: Sequence[Method]) -> list[str]:
    """A distinct name for each method: with layer, pooling, protocol and level if these are needed.

    >>> labels([Method("raw"), Method("whiten", protocol="inductive"), Method("whiten", protocol="transductive")])
    ['raw', 'whiten (inductive)', 'whiten (transductive)']
    """
    forms = {"layer": "layer {}", "pooling": "{} pooling", "protocol": "{}", "fitted_on": "on {}", "level": "{} level"}
    always = [name for name in ("layer", "pooling") if len({getattr(one, name) for one in methods}) > 1]
    parts = [[one.name, *(forms[name].format(getattr(one, name)) for name in always)] for one in methods]
    for name in ("protocol", "fitted_on", "level"):
        values = [str(getattr(one, name)) for one in methods]
        same_name: dict[tuple[str, ...], set[str]] = {}
        for words, value in zip(parts, values, strict=True):
            same_name.setdefault(tuple(words), set()).add(value)
        parts = [
            [*words, forms[name].format(value)] if value and len(same_name[tuple(words)]) > 1 else words
            for words, value in zip(parts, values, strict=True)
        ]
    names = [f"{name} ({', '.join(rest)})" if rest else name for name, *rest in parts]
    return [f"{one} #{names[: at + 1].count(one)}" if names.count(one) > 1 else one for at, one in enumerate(names)]
