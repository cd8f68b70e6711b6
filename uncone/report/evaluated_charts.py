"""The charts of an evaluation as plotly figures; colours are roles that the page fills in for light and dark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import correlation

from uncone.diagnosis.words import cosine
from uncone.evaluation.table import EvaluationTable, Method, Row
from uncone.report.evaluated_forest import forests
from uncone.report.evaluated_grid import (
    average,
    certainty,
    gain,
    labels,
    mean_isoscore,
    points,
    signed,
)
from uncone.report.evaluated_marks import in_points, label_text
from uncone.report.grid_charts import Figure, axis_title, rounded
from uncone.report.text import fitted, printable

__all__ = ["charts"]

_LABEL = 26
_PROTOCOLS = {"raw": "muted", "inductive": "accent", "transductive": "second"}


def charts(table: EvaluationTable) -> list[Figure]:
    """The forest plots, the heatmap where there are several layers, and isotropy against score."""
    if not table.rows or not table.datasets:
        return []
    # What is long comes last.
    plots = forests(table)
    made = [*plots[:1], _heat(table), _scatter(table), *plots[1:]]
    return [one for one in made if one is not None]


def _named(table: EvaluationTable) -> list[tuple[str, Row]]:
    return list(zip(labels([row.method for row in table.rows]), table.rows, strict=True))


def _heat(table: EvaluationTable) -> Figure | None:
    """The average by layer and method; nothing for a single layer."""
    layers = list(dict.fromkeys(row.method.layer for row in table.rows))
    if len(layers) < 2:
        return None
    keys = list(dict.fromkeys(_beside(row.method) for row in table.rows))
    names = labels([_without_layer(key) for key in keys])
    found = {(_beside(row.method), row.method.layer): row for row in table.rows}
    cells = [[found.get((key, layer)) for layer in layers] for key in keys]
    values = [[None if row is None else average(table, row) for row in line] for line in cells]
    known = [value for line in values for value in line if value is not None]
    if not known:
        return None
    room = len(layers) <= 14
    data = {
        "type": "heatmap",
        "x": list(range(len(layers))),
        "y": list(range(len(keys))),
        "z": [[in_points(value) for value in line] for line in values],
        "text": [[_in_cell(table, row) for row in line] for line in cells],
        "texttemplate": "%{text}" if room else "",
        "customdata": [
            [label_text(_in_words(table, name, layer, row)) for layer, row in zip(layers, line, strict=True)]
            for name, line in zip(names, cells, strict=True)
        ],
        "colorscale": "Viridis",
        "xgap": 2 if room else 0,
        "ygap": 2,
        "hoverongaps": False,
        "hovertemplate": "%{customdata}<extra></extra>",
        "colorbar": {"thickness": 12, "outlinewidth": 0},
    }
    layout = {
        "xaxis": {**_ticks(layers, 8), "title": axis_title("layer"), "showgrid": False, "zeroline": False},
        "yaxis": {
            **_ticks(names, _LABEL),
            "range": [len(keys) - 0.5, -0.5],
            "showgrid": False,
            "zeroline": False,
            "tickfont": {"size": 12},
        },
        "hovermode": "closest",
    }
    return {
        "id": "layers",
        "title": "Layers and methods",
        "alt": _highest(table, names, layers, values),
        "data": [data],
        "layout": layout,
        "height": 90 + 30 * max(len(keys), 3),
        "wide": True,
        "lazy": False,
    }


def _highest(
    table: EvaluationTable, names: Sequence[str], layers: Sequence[str], values: Sequence[Sequence[float | None]]
) -> str:
    by_cell = {
        (name, layer): value
        for name, line in zip(names, values, strict=True)
        for layer, value in zip(layers, line, strict=True)
        if value is not None
    }
    (name, layer), best = max(by_cell.items(), key=lambda one: one[1])
    return (
        f"Spearman x 100{' on average over the sets' if len(table.datasets) > 1 else ''}; the highest is "
        f"{points(best)}, by {name} at layer {layer}. A star marks a proven difference to the raw vectors of "
        f"the layer, ↓ a loss."
    )


def _beside(method: Method) -> tuple[str, str, str, str, str]:
    """All that tells a method from others of its layer."""
    return method.name, method.pooling, method.level, method.protocol, method.fitted_on


def _without_layer(key: tuple[str, str, str, str, str]) -> Method:
    name, pooling, level, protocol, fitted_on = key
    return Method(name, layer="", pooling=pooling, level=level, protocol=protocol, fitted_on=fitted_on)


def _in_cell(table: EvaluationTable, row: Row | None) -> str:
    if row is None or average(table, row) is None:
        return ""
    one = gain(table, row)
    star = "" if one is None or not one.proven else "*" if one.value > 0 else "↓*"
    return points(average(table, row)) + star


def _in_words(table: EvaluationTable, name: str, layer: str, row: Row | None) -> str:
    if row is None:
        return f"{name}, layer {layer}: not measured"
    one = gain(table, row)
    apart = "" if one is None else f", {signed(one.value)} to raw, {certainty(one.proven, one.units)}"
    return f"{name}, layer {layer}: {points(average(table, row))}{apart}"


def _scatter(table: EvaluationTable) -> Figure | None:
    """A point for each row: does a more isotropic space score better?"""
    dots = [
        (label, row, isotropy, score)
        for label, row in _named(table)
        if (isotropy := mean_isoscore(row)) is not None and (score := average(table, row)) is not None
    ]
    if len(dots) < 2:
        return None
    labelled = _apart([(isotropy, score) for _, _, isotropy, score in dots])
    protocols = dict.fromkeys(row.method.protocol for _, row, _, _ in dots)
    data = [_points_of(protocol, dots, labelled) for protocol in protocols]
    x, y = [one[2] for one in dots], [100 * one[3] for one in dots]
    wide, tall = (max(x) - min(x)) or 0.1, (max(y) - min(y)) or 1.0
    layout = {
        "xaxis": {
            "title": axis_title("IsoScore (1: all directions alike)"),
            "range": [min(x) - 0.12 * wide, max(x) + 0.12 * wide],
            "zeroline": False,
        },
        "yaxis": {
            "title": axis_title("Spearman x 100"),
            "range": [min(y) - 0.1 * tall, max(y) + 0.14 * tall],
            "zeroline": False,
        },
        "hovermode": "closest",
        "showlegend": True,
        "margin": {"t": 44},
    }
    return {
        "id": "isotropy",
        "title": "Isotropy against score",
        "alt": _told(x, y),
        "data": data,
        "layout": layout,
        "height": 380,
        "wide": True,
        "lazy": False,
    }


def _points_of(protocol: str, dots: Sequence[tuple[str, Row, float, float]], labelled: Mapping[int, str]) -> Figure:
    mine = [(at, *one) for at, one in enumerate(dots) if one[1].method.protocol == protocol]
    return {
        "type": "scatter",
        "mode": "markers+text",
        "name": label_text(protocol),
        "x": [rounded(isotropy) for _, _, _, isotropy, _ in mine],
        "y": [in_points(score) for *_, score in mine],
        "text": [label_text(fitted(printable(label), _LABEL)) if at in labelled else "" for at, label, *_ in mine],
        "textposition": [labelled.get(at, "top center") for at, *_ in mine],
        "textfont": {"size": 12},
        "customdata": [
            label_text(f"{label}: Spearman {points(score)}, IsoScore {cosine(isotropy, 3)}")
            for _, label, _, isotropy, score in mine
        ],
        "marker": {
            "color": _PROTOCOLS.get(protocol, "ink"),
            "size": 10,
            "symbol": "diamond" if protocol == "raw" else "circle",
        },
        "hovertemplate": "%{customdata}<extra></extra>",
        "cliponaxis": False,
    }


def _told(x: Sequence[float], y: Sequence[float]) -> str:
    if len(x) < 4 or len(set(x)) < 2 or len(set(y)) < 2:
        return "Each point is a row of the table."
    r = correlation(x, y)
    return (
        f"Each point is one of {len(x)} rows of the table. Their correlation is {cosine(r)}: to be isotropic is no aim "
        f"in itself, the score is."
    )


def _apart(dots: Sequence[tuple[float, float]]) -> dict[int, str]:
    """Which points have room for their label, and on which side of the point it stands: never beyond the frame."""
    x, y = [one[0] for one in dots], [one[1] for one in dots]
    wide, tall = (max(x) - min(x)) or 1.0, (max(y) - min(y)) or 1.0
    places = [((a - min(x)) / wide, (b - min(y)) / tall) for a, b in dots]
    placed: dict[int, str] = {}
    spots: list[tuple[float, float]] = []
    for at in sorted(range(len(dots)), key=lambda one: -y[one]):
        a, b = places[at]
        across, reach = ("left", -0.16) if a > 0.6 else ("right", 0.16) if a < 0.4 else ("center", 0.0)
        for up, shift in (("top", 0.06), ("bottom", -0.06)):
            spot = (a + reach, b + shift)
            others = [one for place, one in enumerate(places) if place != at]
            free = all(abs(spot[0] - p) > 0.26 or abs(spot[1] - q) > 0.05 for p, q in others)
            if free and all(abs(spot[0] - p) > 0.55 or abs(spot[1] - q) > 0.07 for p, q in spots):
                placed[at] = f"{up} {across}"
                spots.append(spot)
                break
    return placed


def _ticks(names: Sequence[str], most: int) -> Figure:
    """Places with texts, so that a name such as 12 is not taken for a number."""
    texts = [label_text(fitted(printable(name), most) if most > 9 else printable(name)[:most]) for name in names]
    return {"tickmode": "array", "tickvals": list(range(len(names))), "ticktext": texts}
