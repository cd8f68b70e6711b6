"""The charts of an evaluation: differences from raw vectors, layers, and isotropy against score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import correlation
from typing import Any

from uncone.analysis.intervals.bootstrap import Difference
from uncone.analysis.number_format import cosine
from uncone.evaluation.table import Method, Row
from uncone.report.charts.model import Axis, Chart, Forest, Heatmap, Points, Reference, Symbol
from uncone.report.documents.evaluate.scores import MARKS, Gain, Scores, difference_text, labels, points, trend
from uncone.report.text import printable, shorten

__all__ = ["difference_charts", "isotropy_chart", "layer_chart"]

_MOST_MEANS = 40
_MOST_LINES = 120
"""Rows that a reader may have to scroll through; the table of differences has all."""
_MOST_JOINT = 36
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
    """A row of a forest plot: a difference from raw vectors on a dataset, or on average."""

    label: str
    name: str
    difference: Difference | Gain
    is_mean: bool = False


def difference_charts(scores: Scores) -> list[Chart]:
    """Means and datasets in one chart; if that would be long, the means first and the best methods by dataset after."""
    n, total = len(scores.table.datasets), len(scores.gains)
    if not total:
        return []
    where = "on average" if n > 1 else f"on {scores.table.datasets[0]}"
    best = sorted(scores.gains, key=lambda pair: -(scores.average(pair[0]) or -1.0))
    means = [_Line(scores.label(row), f"{scores.label(row)} {where}", gain, is_mean=True) for row, gain in best]

    def with_datasets(most: int) -> list[_Line]:
        lines = []
        for mean, (row, _) in zip(means[:most], best, strict=False):
            lines.append(mean)
            for cell in row.cells if n > 1 else ():
                if cell.difference is not None and cell.difference.value is not None:
                    lines.append(_Line(cell.dataset, f"{row.method.name} on {cell.dataset}", cell.difference))
        return lines

    if n == 1 or total * (n + 1) <= _MOST_JOINT:
        start = _selection(_MOST_MEANS, total)
        return [_forest("forest", "Differences from raw vectors", start, with_datasets(_MOST_MEANS))]
    few = max(1, _MOST_LINES // (n + 1))
    start = f"Averages over {n} datasets. {_selection(_MOST_MEANS, total)}"
    title = "Differences from raw vectors, by dataset"
    return [
        _forest("forest", "Mean difference from raw vectors", start, means[:_MOST_MEANS]),
        _forest("forest-sets", title, _selection(few, total), with_datasets(few)),
    ]


def _selection(most: int, total: int) -> str:
    return f"The {most} best of {total} methods; the table has all. " if most < total else ""


def _forest(name: str, title: str, start: str, lines: Sequence[_Line]) -> Chart:
    means = [at for at, line in enumerate(lines) if line.is_mean]
    mixed, marks = len(means) < len(lines), []
    for way, (state, color, symbol) in _STATES.items():
        for is_mean in (True, False):
            rows = [at for at, line in enumerate(lines) if trend(line.difference) == way and line.is_mean == is_mean]
            differences = [lines[at].difference for at in rows]
            if rows:
                ends = ("value", "low", "high")
                values, low, high = ([_hundred(getattr(each, end)) for each in differences] for end in ends)
                hover = [f"{lines[at].name}: {difference_text(lines[at].difference)}" for at in rows]
                look, n = (state, color, symbol, is_mean, [way == 0] * len(rows)), [each.units for each in differences]
                marks.append(Forest(rows, values, low, high, *look, hover=hover, n=n))
    caption = (
        f"{start}Spearman x 100. A filled circle is a proven gain, a square a proven loss, an open circle not proven. "
        f"Bars are 95 % intervals.{' Large marks are means over the datasets.' if mixed else ''}"
    )
    x = Axis("difference from raw (points)", "difference", zero_line=True)
    y = Axis(name="method", categories=[_short(line.label) for line in lines], strong=means if mixed else ())
    rules = [Reference(at - 0.5, color="rule", horizontal=True) for at in means if at and mixed]
    return Chart(name, title, caption, marks, x, y, rules, wide=True)


def _hundred(value: float | None) -> float | None:
    return None if value is None else 100 * value


def _short(label: str) -> str:
    return shorten(printable(label), 26)


def layer_chart(scores: Scores) -> Chart | None:
    """The average by layer and method; nothing for a single layer."""
    table = scores.table
    layers = list(dict.fromkeys(row.method.layer for row in table.rows))
    rows = {(_without_layer(row.method), row.method.layer): row for row in table.rows}
    methods = {_without_layer(row.method): replace(row.method, layer="") for row in table.rows}
    names = labels(list(methods.values()))
    grid = [[rows.get((key, layer)) for layer in layers] for key in methods]
    values = [[None if row is None else scores.average(row) for row in line] for line in grid]
    cells = [(value, i, j) for i, line in enumerate(values) for j, value in enumerate(line) if value is not None]
    if len(layers) < 2 or not cells:
        return None
    best, i, j = max(cells)
    hundreds = [[_hundred(value) for value in line] for line in values]
    texts = [[_cell_text(scores, row) for row in line] for line in grid] if len(layers) <= _MOST_TEXTS else ()
    hover = [
        [_cell_hover(scores, f"{name}, layer {layer}", row) for layer, row in zip(layers, line, strict=True)]
        for name, line in zip(names, grid, strict=True)
    ]
    mean = " on average over the datasets" if len(table.datasets) > 1 else ""
    caption = (
        f"Spearman x 100{mean}. The highest is {points(best)}, by {names[i]} at layer {layers[j]}. A star "
        "marks a proven difference from the raw vectors of the layer, ↓* a proven loss."
    )
    x, y = Axis("layer", "layer", categories=layers), Axis(name="method", categories=list(map(_short, names)))
    heatmap = Heatmap(hundreds, label="Spearman x 100", texts=texts, hover=hover)
    return Chart("layers", "Layers and methods", caption, [heatmap], x, y, wide=True)


def _without_layer(method: Method) -> tuple[str, ...]:
    return method.name, method.pooling, method.level, method.protocol, method.fitted_on


def _cell_text(scores: Scores, row: Row | None) -> str:
    if row is None or scores.average(row) is None:
        return ""
    return points(scores.average(row)) + MARKS[trend(scores.gain(row))]


def _cell_hover(scores: Scores, name: str, row: Row | None) -> str:
    if row is None:
        return f"{name}: not measured"
    return ", ".join(filter(None, (f"{name}: {points(scores.average(row))}", difference_text(scores.gain(row)))))


def isotropy_chart(scores: Scores) -> Chart | None:
    """A point for each row: does a more isotropic space score better?"""
    dots = [
        (label, row.method.protocol, isotropy, 100 * score)
        for label, row in zip(scores.labels, scores.table.rows, strict=True)
        if (isotropy := row.isoscore) is not None and (score := scores.average(row)) is not None
    ]
    if len(dots) < 2:
        return None
    marks = []
    for protocol in dict.fromkeys(dot[1] for dot in dots):
        names, _, x, y = zip(*(dot for dot in dots if dot[1] == protocol), strict=True)
        hover = [
            f"{name}: Spearman {cosine(b, 1)}, IsoScore {cosine(a, 3)}" for name, a, b in zip(names, x, y, strict=True)
        ]
        look: dict[str, Any] = {
            "symbol": "diamond" if protocol == "raw" else "circle",
            "texts": list(map(_short, names)),
            "hover": hover,
        }
        marks.append(Points(x, y, protocol, _PROTOCOLS.get(protocol, "ink"), 10, **look))
    caption = _relation([dot[2] for dot in dots], [dot[3] for dot in dots])
    across, up = Axis("IsoScore (1: isotropic)", "IsoScore"), Axis("Spearman x 100", "Spearman x 100")
    return Chart("isotropy", "Isotropy vs. score", caption, marks, across, up, wide=True)


def _relation(x: Sequence[float], y: Sequence[float]) -> str:
    if len(x) < 4 or len(set(x)) < 2 or len(set(y)) < 2:
        return "Each point is a row of the table."
    return (
        f"Each point is one of {len(x)} rows of the table. Isotropy and score correlate at "
        f"{cosine(correlation(x, y))}. Isotropy is not a goal in itself; the score is."
    )
