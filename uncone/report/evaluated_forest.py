"""Forest plots of an evaluation: the differences to raw vectors with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from uncone.evaluation.table import EvaluationTable, Row
from uncone.report.evaluated_grid import average, certainty, compared, gain, labels, signed, trend
from uncone.report.evaluated_marks import in_points, label_text
from uncone.report.grid_charts import Figure, axis_title, error_bars
from uncone.report.text import fitted, printable

__all__ = ["forests"]

_MOST_MEANS = 40
_MOST_LINES = 120
"""Lines that a reader may be asked to scroll through; the table of differences has all."""
_MOST_JOINT = 36
_LABEL = 26
_STATES = {
    1: ("proven gain", "accent", "circle"),
    -1: ("proven loss", "second", "square"),
    0: ("not proven", "muted", "circle-open"),
}
_READ = (
    "Points are Spearman x 100. Filled circle: a proven gain; square: a proven loss; ring: not proven. Bars are 95 % "
    "intervals."
)


@dataclass(frozen=True)
class _Interval:
    """A line of a forest plot: a difference with its interval."""

    label: str
    said: str
    value: float
    low: float | None
    high: float | None
    way: int
    units: int
    is_mean: bool = False


def forests(table: EvaluationTable) -> list[Figure]:
    """The means alone where there is much, and then those of every set, for as many methods as can be read."""
    others = compared(table)
    named = zip(labels([row.method for row in table.rows]), table.rows, strict=True)
    rows = [(label, row) for label, row in named if any(row is one for one in others)]
    means = [(label, row, line) for label, row in rows if (line := _mean(table, label, row)) is not None]
    if not means:
        return []
    best = sorted(means, key=lambda one: -(average(table, one[1]) or -1.0))
    each = len(table.datasets)
    if each == 1 or len(means) * (each + 1) <= _MOST_JOINT:
        lines = [line for _, row, mean in best[:_MOST_MEANS] for line in (mean, *_sets(table, row))]
        return [_forest("forest", "Differences to raw vectors", _cut(_MOST_MEANS, len(means)), lines)]
    shown = best[:_MOST_MEANS]
    first = _forest(
        "forest",
        "Mean difference to raw vectors",
        f"Over {each} sets. {_cut(len(shown), len(means))}",
        [mean for _, _, mean in shown],
    )
    few = best[: max(1, _MOST_LINES // (each + 1))]
    lines = [line for _, row, mean in few for line in (mean, *_sets(table, row))]
    second = _forest("forest-sets", "Differences to raw vectors, by set", _cut(len(few), len(means)), lines)
    return [first, second]


def _cut(shown: int, there: int) -> str:
    return "" if shown >= there else f"The {shown} best of {there} methods; the table below has all. "


def _mean(table: EvaluationTable, label: str, row: Row) -> _Interval | None:
    one = gain(table, row)
    if one is None:
        return None
    way = 0 if not one.proven else 1 if one.value > 0 else -1
    where = "on average" if len(table.datasets) > 1 else f"on {table.datasets[0]}"
    return _Interval(label, f"{label} {where}", one.value, one.low, one.high, way, one.units, is_mean=True)


def _sets(table: EvaluationTable, row: Row) -> list[_Interval]:
    if len(table.datasets) == 1:
        return []
    found = []
    for cell in row.cells:
        one = cell.difference
        if one is not None and one.value is not None:
            said = f"{row.method.name} on {cell.dataset}"
            found.append(_Interval(cell.dataset, said, one.value, one.low, one.high, trend(one), one.units))
    return found


def _forest(name: str, title: str, start: str, lines: Sequence[_Interval]) -> Figure:
    data: list[Figure] = []
    for way, (state, colour, symbol) in _STATES.items():
        for is_mean in (True, False):
            mine = [(at, one) for at, one in enumerate(lines) if one.way == way and one.is_mean == is_mean]
            if not mine:
                continue
            x = [in_points(one.value) for _, one in mine]
            bars = ([in_points(one.low) for _, one in mine], [in_points(one.high) for _, one in mine])
            data.append(
                {
                    "type": "scatter",
                    "mode": "markers",
                    "name": state,
                    "x": x,
                    "y": [at for at, _ in mine],
                    "text": [label_text(_interval(one)) for _, one in mine],
                    "marker": {
                        "color": colour,
                        "symbol": symbol,
                        "size": 11 if is_mean else 7,
                        "line": {"width": 2, "color": colour},
                    },
                    "error_x": {**error_bars(x, *bars, colour), "thickness": 2.5 if is_mean else 1.2},
                    "hovertemplate": "%{text}<extra></extra>",
                    "showlegend": False,
                }
            )
    mixed = not all(one.is_mean for one in lines)
    layout = {
        "xaxis": {
            "title": axis_title("difference to raw (points)"),
            "zeroline": True,
            "zerolinewidth": 2,
            "rangemode": "tozero",
        },
        "yaxis": {
            "tickmode": "array",
            "tickvals": list(range(len(lines))),
            "ticktext": [_tick(one, mixed=mixed) for one in lines],
            "tickfont": {"size": 12},
            "range": [len(lines) - 0.4, -0.6],
            "zeroline": False,
            "showgrid": False,
        },
        "shapes": _rules(lines) if mixed else [],
        "hovermode": "closest",
        "showlegend": False,
    }
    size = 16 if mixed else 28
    return {
        "id": name,
        "title": title,
        "alt": f"{start}{_READ}{' Large marks are means over the sets.' if mixed else ''}",
        "data": data,
        "layout": layout,
        "height": 84 + size * max(len(lines), 3),
        "wide": True,
        "lazy": False,
    }


def _tick(one: _Interval, *, mixed: bool) -> str:
    text = label_text(fitted(printable(one.label), _LABEL))
    return f"<b>{text}</b>" if mixed and one.is_mean else text


def _rules(lines: Sequence[_Interval]) -> list[Figure]:
    """A thin line above each method but the first."""
    places = [at - 0.5 for at, one in enumerate(lines) if one.is_mean and at]
    line = {"color": "rule", "width": 1}
    return [{"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": y, "y1": y, "line": line} for y in places]


def _interval(one: _Interval) -> str:
    between = "" if one.low is None else f" ({signed(one.low)} to {signed(one.high)})"
    return f"{one.said}: {signed(one.value)}{between}, {certainty(bool(one.way), one.units)}"
