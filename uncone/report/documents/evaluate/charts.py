"""Charts of an evaluation: differences to raw vectors, layers and methods, isotropy against score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import correlation

from uncone.analysis.number_format import cosine
from uncone.evaluation.table import EvaluationTable, Method, Row
from uncone.report.charts.model import Axis, Chart, Forest, Heatmap, Points, Reference, Symbol
from uncone.report.documents.evaluate.scores import (
    average,
    certainty,
    gain,
    interval,
    labels,
    mean_isoscore,
    points,
    signed,
    trend,
)
from uncone.report.text import fitted, printable

__all__ = ["difference_charts", "isotropy_chart", "layer_chart"]

_MOST_MEANS = 40
_MOST_LINES = 120
"""Rows that a reader may have to scroll through; the table of differences has all."""
_MOST_JOINT = 36
_LABEL = 26
_MOST_TEXTS = 14
"""Columns of a heatmap that have room for numbers."""
_STATES: dict[int, tuple[str, str, Symbol]] = {
    1: ("proven gain", "accent", "circle"),
    -1: ("proven loss", "second", "square"),
    0: ("not proven", "muted", "circle"),
}
_PROTOCOLS = {"raw": "muted", "inductive": "accent", "transductive": "second"}


@dataclass(frozen=True)
class _Line:
    """A row of a forest plot: a difference in points with its interval."""

    label: str
    where: str
    value: float
    low: float | None
    high: float | None
    trend: int
    units: int
    is_mean: bool = False

    @property
    def hover(self) -> str:
        between = interval(self.low, self.high)
        between = f" ({between})" if between else ""
        return f"{self.where}: {signed(self.value)}{between}, {certainty(bool(self.trend), self.units)}"


def difference_charts(table: EvaluationTable) -> list[Chart]:
    """Means and datasets in one chart; if that would be long, the means first and the best methods by dataset after."""
    means = [
        (row, mean)
        for label, row in zip(labels([row.method for row in table.rows]), table.rows, strict=True)
        if (mean := _mean(table, label, row)) is not None
    ]
    if not means:
        return []
    best = sorted(means, key=lambda one: -(average(table, one[0]) or -1.0))
    n = len(table.datasets)
    shown = best[:_MOST_MEANS]
    if n == 1 or len(means) * (n + 1) <= _MOST_JOINT:
        lines = [line for row, mean in shown for line in (mean, *_datasets(table, row))]
        return [_forest("forest", "Differences to raw vectors", _selection(shown, means), lines)]
    few = best[: max(1, _MOST_LINES // (n + 1))]
    lines = [line for row, mean in few for line in (mean, *_datasets(table, row))]
    start = f"Averages over {n} datasets. {_selection(shown, means)}"
    return [
        _forest("forest", "Mean difference to raw vectors", start, [mean for _, mean in shown]),
        _forest("forest-sets", "Differences to raw vectors, by dataset", _selection(few, means), lines),
    ]


def _selection(shown: Sequence[object], lines: Sequence[object]) -> str:
    return "" if len(shown) == len(lines) else f"The {len(shown)} best of {len(lines)} methods; the table has all. "


def _mean(table: EvaluationTable, label: str, row: Row) -> _Line | None:
    gained = gain(table, row)
    if gained is None:
        return None
    where = "on average" if len(table.datasets) > 1 else f"on {table.datasets[0]}"
    bounds = (gained.value, gained.low, gained.high)
    return _Line(label, f"{label} {where}", *bounds, trend(gained), gained.units, is_mean=True)


def _datasets(table: EvaluationTable, row: Row) -> list[_Line]:
    if len(table.datasets) == 1:
        return []
    return [
        _Line(cell.dataset, f"{row.method.name} on {cell.dataset}", one.value, one.low, one.high, trend(one), one.units)
        for cell in row.cells
        if (one := cell.difference) is not None and one.value is not None
    ]


def _forest(name: str, title: str, start: str, lines: Sequence[_Line]) -> Chart:
    mixed = not all(line.is_mean for line in lines)
    marks = []
    for way, (state, color, symbol) in _STATES.items():
        for is_mean in (True, False):
            rows = [at for at, line in enumerate(lines) if line.trend == way and line.is_mean == is_mean]
            chosen = [lines[at] for at in rows]
            marks.append(
                Forest(
                    rows,
                    [100 * line.value for line in chosen],
                    [None if line.low is None else 100 * line.low for line in chosen],
                    [None if line.high is None else 100 * line.high for line in chosen],
                    label=state,
                    color=color,
                    symbol=symbol,
                    large=is_mean,
                    open=[way == 0] * len(rows),
                    hover=[line.hover for line in chosen],
                    n=[line.units for line in chosen],
                )
            )
    means = [at for at, line in enumerate(lines) if line.is_mean]
    return Chart(
        name,
        title,
        f"{start}Spearman x 100. A filled circle is a proven gain, a square a proven loss, an open circle not proven. "
        f"Bars are 95 % intervals.{' Large marks are means over the datasets.' if mixed else ''}",
        [mark for mark in marks if mark.rows],
        x=Axis("difference to raw (points)", "difference", zero_line=True),
        y=Axis(
            name="method",
            categories=[fitted(printable(line.label), _LABEL) for line in lines],
            strong=means if mixed else (),
        ),
        references=[Reference(at - 0.5, color="rule", horizontal=True) for at in means if at and mixed],
        wide=True,
    )


def layer_chart(table: EvaluationTable) -> Chart | None:
    """The average by layer and method; nothing for a single layer."""
    layers = list(dict.fromkeys(row.method.layer for row in table.rows))
    rows = {(_without_layer(row.method), row.method.layer): row for row in table.rows}
    methods = {_without_layer(row.method): replace(row.method, layer="") for row in table.rows}
    grid = [[rows.get((key, layer)) for layer in layers] for key in methods]
    values = [[None if row is None else average(table, row) for row in line] for line in grid]
    if len(layers) < 2 or all(value is None for line in values for value in line):
        return None
    names = labels(list(methods.values()))
    best, at = max(
        (value, (i, j)) for i, line in enumerate(values) for j, value in enumerate(line) if value is not None
    )
    texts = [[_score_text(table, row) for row in line] for line in grid]
    mean = " on average over the datasets" if len(table.datasets) > 1 else ""
    return Chart(
        "layers",
        "Layers and methods",
        f"Spearman x 100{mean}. The highest is {points(best)}, by {names[at[0]]} at layer {layers[at[1]]}. A star "
        "marks a proven difference to the raw vectors of the layer, ↓* a proven loss.",
        [
            Heatmap(
                [[None if value is None else 100 * value for value in line] for line in values],
                label="Spearman x 100",
                texts=texts if len(layers) <= _MOST_TEXTS else (),
                hover=[
                    [_in_words(table, name, layer, row) for layer, row in zip(layers, line, strict=True)]
                    for name, line in zip(names, grid, strict=True)
                ],
            )
        ],
        x=Axis("layer", "layer", categories=layers),
        y=Axis(name="method", categories=[fitted(printable(name), _LABEL) for name in names]),
        wide=True,
    )


def _without_layer(method: Method) -> tuple[str, ...]:
    """What distinguishes a method from others of its layer."""
    return method.name, method.pooling, method.level, method.protocol, method.fitted_on


def _score_text(table: EvaluationTable, row: Row | None) -> str:
    if row is None or average(table, row) is None:
        return ""
    return points(average(table, row)) + {1: "*", -1: "↓*", 0: ""}[trend(gain(table, row))]


def _in_words(table: EvaluationTable, name: str, layer: str, row: Row | None) -> str:
    if row is None:
        return f"{name}, layer {layer}: not measured"
    gained = gain(table, row)
    to_raw = "" if gained is None else f", {signed(gained.value)} to raw, {certainty(gained.proven, gained.units)}"
    return f"{name}, layer {layer}: {points(average(table, row))}{to_raw}"


def isotropy_chart(table: EvaluationTable) -> Chart | None:
    """A point for each row: does a more isotropic space score better?"""
    dots = [
        (label, row.method.protocol, isotropy, 100 * score)
        for label, row in zip(labels([row.method for row in table.rows]), table.rows, strict=True)
        if (isotropy := mean_isoscore(row)) is not None and (score := average(table, row)) is not None
    ]
    if len(dots) < 2:
        return None
    marks = []
    for protocol in dict.fromkeys(dot[1] for dot in dots):
        chosen = [dot for dot in dots if dot[1] == protocol]
        marks.append(
            Points(
                [x for _, _, x, _ in chosen],
                [y for _, _, _, y in chosen],
                label=protocol,
                color=_PROTOCOLS.get(protocol, "ink"),
                size=10,
                symbol="diamond" if protocol == "raw" else "circle",
                texts=[fitted(printable(label), _LABEL) for label, *_ in chosen],
                hover=[f"{label}: Spearman {cosine(y, 1)}, IsoScore {cosine(x, 3)}" for label, _, x, y in chosen],
            )
        )
    return Chart(
        "isotropy",
        "Isotropy against score",
        _relation([x for _, _, x, _ in dots], [y for *_, y in dots]),
        marks,
        x=Axis("IsoScore (1: isotropic)", "IsoScore"),
        y=Axis("Spearman x 100", "Spearman x 100"),
        wide=True,
    )


def _relation(x: Sequence[float], y: Sequence[float]) -> str:
    if len(x) < 4 or len(set(x)) < 2 or len(set(y)) < 2:
        return "Each point is a row of the table."
    return (
        f"Each point is one of {len(x)} rows of the table. The correlation of isotropy and score is "
        f"{cosine(correlation(x, y))}. Isotropy is no goal in itself; the score is."
    )
