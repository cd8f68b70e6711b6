"""An evaluation arranged for reading: rows named and grouped, the best marked, gains over raw vectors summed up."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from uncone.diagnosis.intervals import LEAST_UNITS
from uncone.diagnosis.words import cosine, count
from uncone.evaluation.bootstrap import Aggregation, Difference
from uncone.evaluation.correlation import Kind
from uncone.evaluation.table import Cell, EvaluationTable, Method, Row

__all__ = [
    "AGGREGATIONS",
    "Gain",
    "Grid",
    "Group",
    "Line",
    "Shown",
    "aggregations",
    "average",
    "cell_of",
    "certainty",
    "compared",
    "gain",
    "grid",
    "independent",
    "is_reference",
    "known",
    "labels",
    "mean_isoscore",
    "pairs",
    "points",
    "protocol",
    "same_space",
    "signed",
    "trend",
    "undefined",
]

AGGREGATIONS: dict[Aggregation, str] = {
    "all": "the pairs of all subsets together",
    "mean": "the mean over the subsets",
    "wmean": "the mean over the subsets, weighted with their pairs",
}
"""The ways to sum up subsets, in words."""


@dataclass(frozen=True)
class Gain:
    """What a method gains over raw vectors on average over the sets, and on how many sets that is proven.

    The interval is that of the mean itself, over draws that all sets share, and `proven` is corrected for the number of
    methods. `units` are the independent pairs of all sets.
    """

    value: float
    low: float | None
    high: float | None
    proven: bool
    sets: int
    gains: int
    losses: int
    units: int = 0


@dataclass(frozen=True)
class Shown:
    """A figure of the table: whether it is the best of its column, and 1 or -1 where a gain or loss is proven."""

    value: float | None
    best: bool = False
    way: int = 0
    spread: float | None = None
    cell: Cell | None = None


@dataclass(frozen=True)
class Line:
    """A method by its name, with its figures by set, and their average."""

    name: str
    row: Row
    cells: Sequence[Shown]
    average: Shown


@dataclass(frozen=True)
class Group:
    """Methods of one layer and protocol; or rows of the literature."""

    title: str
    lines: Sequence[Line]
    published: bool = False


@dataclass(frozen=True)
class Grid:
    """Methods x sets under one aggregation."""

    kind: Kind
    aggregation: Aggregation
    groups: Sequence[Group]


def points(value: float | None, digits: int = 1) -> str:
    """A score x 100; a dash where it is undefined.

    >>> points(0.5737), points(-0.0001), points(None)
    ('57.4', '0.0', '–')
    """
    return "–" if value is None or not math.isfinite(value) else cosine(100 * value, digits)


def signed(value: float | None, digits: int = 1) -> str:
    """A difference x 100 with its sign.

    >>> signed(0.253), signed(-0.012), signed(0.0)
    ('+25.3', '−1.2', '0.0')
    """
    shown = points(value, digits)
    return f"+{shown}" if shown[0] not in "-–" and shown.strip("0.") else shown.replace("-", "−")


def trend(difference: Difference | None) -> int:
    """1 where a gain is proven, -1 where a loss is, else 0."""
    if difference is None or not difference.significant or not difference.value:
        return 0
    return 1 if difference.value > 0 else -1


def is_reference(row: Row) -> bool:
    """Whether these are raw vectors, to which others are compared."""
    return row.method.protocol == "raw" and not row.method.repair and all(one.difference is None for one in row.cells)


def compared(table: EvaluationTable) -> list[Row]:
    """The rows that are compared to raw vectors."""
    return [row for row in table.rows if not is_reference(row)]


def same_space(one: Method, other: Method) -> bool:
    """Whether two methods start from the same vectors."""
    return (one.layer, one.pooling) == (other.layer, other.pooling)


def cell_of(row: Row, dataset: str) -> Cell | None:
    """The cell of a set, if there is one."""
    return next((one for one in row.cells if one.dataset == dataset), None)


def known(cell: Cell | None, kind: Kind = "spearman", aggregation: Aggregation = "all") -> float | None:
    """A correlation, None where it is undefined."""
    if cell is None:
        return None
    value: float | None = getattr(cell.spearman if kind == "spearman" else cell.pearson, aggregation)
    return value if value is not None and math.isfinite(value) else None


def average(
    table: EvaluationTable, row: Row, kind: Kind = "spearman", aggregation: Aggregation = "all"
) -> float | None:
    """The plain mean over all sets; None where one is undefined."""
    if kind == "spearman" and aggregation == "all" and row.average is not None:
        return row.average if math.isfinite(row.average) else None
    values = [known(cell_of(row, dataset), kind, aggregation) for dataset in table.datasets]
    there = [value for value in values if value is not None]
    return fmean(there) if there and len(there) == len(values) else None


def mean_isoscore(row: Row) -> float | None:
    """IsoScore, meant over the sets that have it."""
    values = [one.isoscore for one in row.cells if one.isoscore is not None and math.isfinite(one.isoscore)]
    return fmean(values) if values else None


def pairs(table: EvaluationTable, dataset: str) -> int | None:
    """How many pairs a set has."""
    sizes = [one.spearman.n for row in table.rows for one in row.cells if one.dataset == dataset]
    return max(sizes, default=None)


def gain(table: EvaluationTable, row: Row) -> Gain | None:
    """What a method gains over the raw vectors of its layer and pooling; None for these, and where nothing is known."""
    if is_reference(row):
        return None
    found = [one.difference for one in row.cells if one.difference is not None and one.difference.value is not None]
    ways = [trend(one) for one in found]
    wins, losses = ways.count(1), ways.count(-1)
    if not found:
        raw = next((one for one in table.rows if is_reference(one) and same_space(one.method, row.method)), None)
        own, theirs = average(table, row), None if raw is None else average(table, raw)
        known_both = own is not None and theirs is not None
        return Gain(own - theirs, None, None, False, 0, 0, 0) if known_both else None  # type: ignore[operator]
    mean = row.difference
    if mean is None or mean.value is None:  # some sets have no figure: there is no mean over all of them
        return Gain(
            fmean(one.value for one in found if one.value is not None), None, None, False, len(found), wins, losses
        )
    return Gain(mean.value, mean.low, mean.high, bool(trend(mean)), len(found), wins, losses, mean.units)


def independent(table: EvaluationTable, dataset: str) -> int | None:
    """How many independent pairs a set has: those of its differences."""
    cells = [cell for row in table.rows if (cell := cell_of(row, dataset)) is not None and cell.difference is not None]
    return max((cell.difference.units for cell in cells if cell.difference is not None), default=None)


def certainty(sure: bool, units: int, what: str = "pair") -> str:
    """Whether a difference is proven, and on how much.

    >>> certainty(True, 1204), certainty(False, 1204), certainty(False, 20)
    ('proven on 1,204 independent pairs', 'not proven', 'not proven: 20 independent pairs, and a proof needs 30')
    """
    told = count(units, f"independent {what}")
    if sure:
        return f"proven on {told}"
    return f"not proven: {told}, and a proof needs {LEAST_UNITS}" if 0 < units < LEAST_UNITS else "not proven"


def aggregations(table: EvaluationTable) -> list[Aggregation]:
    """Those that differ: one is enough where no set has subsets."""
    for row in (*table.rows, *table.published):
        for cell in row.cells:
            for one in (cell.spearman, cell.pearson):
                if any(points(value, 6) != points(one.all, 6) for value in (one.mean, one.wmean)):
                    return list(AGGREGATIONS)
    return ["all"]


def grid(table: EvaluationTable, aggregation: Aggregation = "all", kind: Kind = "spearman", digits: int = 1) -> Grid:
    """The table under one aggregation; what looks the same as the best, with so many digits, is best too."""
    tops = [
        _top([known(cell_of(row, dataset), kind, aggregation) for row in table.rows], digits)
        for dataset in table.datasets
    ]
    top = _top([average(table, row, kind, aggregation) for row in table.rows], digits)
    judged = kind == "spearman" and aggregation == "all"

    def line(row: Row, *, ours: bool = True) -> Line:
        cells = []
        for dataset, highest in zip(table.datasets, tops, strict=True):
            cell = cell_of(row, dataset)
            value = known(cell, kind, aggregation)
            best = ours and value is not None and points(value, digits) == highest
            way = trend(cell.difference) if cell is not None and judged else 0
            cells.append(Shown(value, best, way, cell.spread if cell is not None and judged else None, cell))
        mean = average(table, row, kind, aggregation)
        gained = gain(table, row) if judged and ours else None
        way = 0 if mean is None or gained is None or not gained.proven else 1 if gained.value > 0 else -1
        return Line(row.method.name, row, cells, Shown(mean, ours and points(mean, digits) == top, way))

    groups = [Group(title, [line(row) for row in rows]) for title, rows in _grouped(table)]
    literature = [line(row, ours=False) for row in table.published]
    literature = [one for one in literature if any(cell.value is not None for cell in one.cells)]
    if literature:
        groups.append(Group("published, not measured here", literature, published=True))
    return Grid(kind, aggregation, groups)


def _top(values: Sequence[float | None], digits: int) -> str:
    there = [value for value in values if value is not None]
    # The best of one is nothing to point at.
    return points(max(there), digits) if len(there) > 1 else ""


def _grouped(table: EvaluationTable) -> list[tuple[str, list[Row]]]:
    """Rows by layer and pooling, then by protocol, each in the order in which they come first."""
    methods = [row.method for row in table.rows]
    several = [name for name in ("layer", "pooling", "level") if len({getattr(one, name) for one in methods}) > 1]
    spaces = list(dict.fromkeys((one.layer, one.pooling) for one in methods))
    groups: dict[tuple[int, str, str], list[Row]] = {}
    order = sorted(table.rows, key=lambda row: spaces.index((row.method.layer, row.method.pooling)))
    for row in order:
        method = row.method
        space = f"{method.layer}\n{method.pooling}"
        where = f"{method.protocol}\n{method.fitted_on}\n{method.level if 'level' in several else ''}"
        groups.setdefault((spaces.index((method.layer, method.pooling)), space, where), []).append(row)
    named = []
    for rows in groups.values():
        method = rows[0].method
        words = [f"layer {method.layer}"] if "layer" in several else []
        words += [f"{method.pooling} pooling"] if "pooling" in several else []
        words += [f"{method.level} level"] if "level" in several and method.protocol != "raw" else []
        named.append((" · ".join([*words, protocol(method)]), rows))
    return named


def protocol(method: Method) -> str:
    """Under which protocol a method was fitted."""
    if method.protocol == "raw":
        return "nothing fitted"
    if method.protocol == "transductive":
        return "transductive: fitted on the texts judged"
    return f"{method.protocol}: fitted on {method.fitted_on}" if method.fitted_on else method.protocol


def labels(methods: Sequence[Method]) -> list[str]:
    """A name for each method that tells it from the others: with layer, pooling, protocol and level where needed.

    >>> labels([Method("raw"), Method("whiten", protocol="inductive"), Method("whiten", protocol="transductive")])
    ['raw', 'whiten (inductive)', 'whiten (transductive)']
    """
    forms = {"layer": "layer {}", "pooling": "{} pooling", "protocol": "{}", "fitted_on": "on {}", "level": "{} level"}
    always = [name for name in ("layer", "pooling") if len({getattr(one, name) for one in methods}) > 1]
    parts = [[one.name, *(forms[name].format(getattr(one, name)) for name in always)] for one in methods]
    for name in ("protocol", "fitted_on", "level"):
        values = [str(getattr(one, name)) for one in methods]
        alike: dict[tuple[str, ...], set[str]] = {}
        for words, value in zip(parts, values, strict=True):
            alike.setdefault(tuple(words), set()).add(value)
        parts = [
            [*words, forms[name].format(value)] if value and len(alike[tuple(words)]) > 1 else words
            for words, value in zip(parts, values, strict=True)
        ]
    made = [f"{name} ({', '.join(rest)})" if rest else name for name, *rest in parts]
    return [f"{one} #{made[: at + 1].count(one)}" if made.count(one) > 1 else one for at, one in enumerate(made)]


def undefined(table: EvaluationTable) -> list[str]:
    """What could not be measured, and why."""
    named = labels([row.method for row in table.rows])
    found = []
    for label, row in zip(named, table.rows, strict=True):
        for dataset in table.datasets:
            cell = cell_of(row, dataset)
            if cell is None:
                found.append(f"{label} on {dataset}: not measured.")
            elif cell.spearman.reason:
                found.append(f"{label} on {dataset}: undefined, since {cell.spearman.reason.rstrip('.')}.")
    for label, one in zip(labels([one.method for one in table.tasks]), table.tasks, strict=True):
        if any(score.value is None for score in one.scores.values()):
            found.append(f"{label} on {one.task}: undefined, since {(one.note or 'it has no value').rstrip('.')}.")
        elif one.note and not one.method.repair and "accuracy" not in one.scores:
            found.append(f"{one.task}: {one.note}")  # of the data: documents lost, judgements on what is not there
    return found
