"""The charts of a similarity that are no matrix: all pairs against the background, labels, groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from uncone.calibration.results import Background
from uncone.data.batch import Vector
from uncone.diagnosis.words import count
from uncone.likeness.results import Groups, PerLabel
from uncone.report.evaluated_marks import label_text
from uncone.report.grid_charts import Figure, axis_title, error_bars, rounded
from uncone.report.similar import Similarity
from uncone.report.similar_lines import tail_score, unit
from uncone.report.similar_numbers import bounds, fine, middle_cut, number, signed
from uncone.report.similar_palette import SHARES, SOFT
from uncone.report.text import printable

__all__ = ["agreement", "bars", "figure_of", "histogram", "label_charts", "pair_name", "per_hundredth"]

_MOST_LABELS = 30
_BESIDE = 6
"""Labels whose two charts stand beside one another."""


def histogram(result: Similarity) -> Figure:
    """All pairs over the background, with its mean and the score that one in a hundred unrelated pairs reaches."""
    background = result.background
    data = [
        bars(background.histogram, "unrelated pairs", "muted", fill=True),
        bars(result.histogram, pair_name(result), "accent", fill=False),
    ]
    data = [one for one in data if one["x"]]
    xs = [x for one in data for x in one["x"]] or [-1.0, 1.0]
    low, high = min(xs) - 0.02, max(xs) + 0.02
    shapes = [_line(background.mean, "muted", "dot")]
    notes = [_note(background.mean, f"mean: {fine(background.mean)}", "right")]
    one = tail_score(result, 0.01)
    if one is not None:
        shapes.append(_line(one, "ink", "solid"))
        # To the left of its line where there is no room beyond it; then it stands below the other.
        side = "right" if one > low + 0.8 * (high - low) else "left"
        notes.append({**_note(one, f"1 %: {fine(one)}", side), "y": 0.9})
    layout = {
        "xaxis": {"title": axis_title("cosine"), "zeroline": False, "range": [low, high]},
        "yaxis": {"title": axis_title("% of pairs per 0.01"), "rangemode": "tozero"},
        "shapes": shapes,
        "annotations": notes,
        "showlegend": True,
        "hovermode": "x unified",
        "margin": {"t": 44},
    }
    total = int(sum(result.histogram.get("counts", ())))
    grey = count(background.pairs, "sampled pair")
    told = f"{count(total, 'pair')} of the table; in grey, {grey} of unrelated {unit(result)}s."
    name = pair_name(result)
    return figure_of("histogram", f"{name[:1].upper()}{name[1:]} against the background", told, data, layout, wide=True)


def pair_name(result: Similarity) -> str:
    """What the histogram counts."""
    return "all pairs" if result.two_columns is None else "the two texts of a row"


def per_hundredth(histogram: Mapping[str, Sequence[float]]) -> tuple[list[float], list[float]]:
    """Middles of the bins, and the share of pairs in per cent for every 0.01; empty bins at both ends left out."""
    counts = np.asarray(histogram.get("counts", ()), float)
    edges = np.asarray(histogram.get("edges", ()), float)
    if not counts.sum():
        return [], []
    counts, edges = _merged(counts, edges)
    held = np.flatnonzero(counts)
    first, last = max(held[0] - 1, 0), min(held[-1] + 2, len(counts))
    # Where all pairs score the same, bins have no width.
    density = 100 * counts / counts.sum() * 0.01 / np.maximum(np.diff(edges), 1e-4)
    middles = (edges[:-1] + edges[1:]) / 2
    return [rounded(x) or 0.0 for x in middles[first:last]], [rounded(y) or 0.0 for y in density[first:last]]


def _merged(counts: Vector, edges: Vector) -> tuple[Vector, Vector]:
    """Wider bins where there are few pairs, or a histogram is a comb."""
    held = np.flatnonzero(counts)
    room = max(1.5 * np.sqrt(counts.sum()), 10)
    times = int(np.ceil((held[-1] - held[0] + 1) / room))
    starts = np.arange(0, len(counts), times)
    return np.add.reduceat(counts, starts), edges[np.append(starts, len(counts))]


def bars(held: Mapping[str, Sequence[float]], name: str, colour: str, *, fill: bool) -> Figure:
    """A histogram as a stepped line, or as an area."""
    x, y = per_hundredth(held)
    return {
        "type": "scatter",
        "mode": "lines",
        "x": x,
        "y": y,
        "name": name,
        "line": {"color": colour, "width": 0 if fill else 2, "shape": "hvh"},
        **({"fill": "tozeroy", "fillcolor": f"{colour} 32%"} if fill else {}),
        "hovertemplate": f"{name}: %{{y:.2f}} %<extra></extra>",
    }


def label_charts(result: Similarity) -> list[Figure]:
    """The mean of every two labels with its interval, and the same as a small heatmap above the background."""
    labels = result.per_label
    if labels is None or not labels.table:
        return []
    shown = [one for one in labels.table if one.cosine.mean is not None]
    if not shown:
        return []
    figures = [_forest(shown[:_MOST_LABELS], result.background, "labels", "Within and between labels", len(shown))]
    names = [label for label in labels.counts if any(label in (one.one, one.other) for one in labels.table)]
    if len(names) > 1:
        figures.append(_label_grid(labels.table, names, result.background.sd))
    wide = len(figures) == 1 or len(names) > _BESIDE
    height = max(one["height"] for one in figures)
    return [{**one, "wide": wide, "height": one["height"] if wide else height} for one in figures]


def _forest(table: Sequence[PerLabel], background: Background, key: str, title: str, of: int) -> Figure:
    data = []
    for same, name, colour in ((True, "within a label", "accent"), (False, "between labels", "second")):
        mine = [(place, one) for place, one in enumerate(table) if (one.one == one.other) is same]
        if mine:
            means = [one.cosine.mean for _, one in mine]
            data.append(
                {
                    "type": "scatter",
                    "mode": "markers",
                    "name": name,
                    "x": [rounded(mean) for mean in means],
                    "y": [place for place, _ in mine],
                    "text": [label_text(_in_words(one)) for _, one in mine],
                    "marker": {"color": colour, "size": 9, "symbol": "circle" if same else "diamond"},
                    "error_x": error_bars(
                        means, [one.cosine.low for _, one in mine], [one.cosine.high for _, one in mine], colour
                    ),
                    "hovertemplate": "%{text}<extra></extra>",
                }
            )
    layout = {
        "xaxis": {"title": axis_title("mean cosine"), "zeroline": False},
        "yaxis": {
            "tickmode": "array",
            "tickvals": list(range(len(table))),
            "ticktext": [label_text(_name(one, 13)) for one in table],
            "tickfont": {"size": 12},
            "range": [len(table) - 0.4, -1.0],
            "zeroline": False,
        },
        "shapes": [_line(background.mean, "muted", "dot")],
        "annotations": [_note(background.mean, "background", "left")],
        "hovermode": "closest",
        "showlegend": len(data) > 1,
        "margin": {"t": 40},
    }
    few = "" if of == len(table) else f" The first {len(table)} of {of:,}; the table has them all."
    told = f"Mean cosine with its 95 % interval; the dotted line is the mean of unrelated pairs.{few}"
    return {**figure_of(key, title, told, data, layout), "height": max(300, 110 + 30 * len(table))}


def _in_words(one: PerLabel) -> str:
    said = bounds(one.cosine)
    return (
        f"{_name(one, 40)}: {number(one.cosine.mean)}{f' ({said})' if said else ''}, {count(one.cosine.pairs, 'pair')}"
    )


def _name(one: PerLabel, most: int) -> str:
    first, second = (middle_cut(printable(name), most) for name in (one.one, one.other))
    return first if one.one == one.other else f"{first} – {second}"


def _label_grid(table: Sequence[PerLabel], names: Sequence[str], sd: float) -> Figure:
    """Labels by labels: the mean cosine above the background; pale where it is within a part of its deviation."""
    known = {(one.one, one.other): one for one in table} | {(one.other, one.one): one for one in table}
    cells = [[known.get((a, b)) for b in names] for a in names]
    values = [[None if one is None else rounded(one.above.mean) for one in line] for line in cells]
    # A difference that is small beside how unrelated pairs vary is to look small.
    widest = max([abs(value) for line in values for value in line if value is not None] + [0.5 * sd, 0.01])
    few = len(names) <= 10
    data = _grid(values, names, names)
    data |= {
        "text": [[signed(value) for value in line] for line in values],
        "customdata": [[label_text("" if one is None else _in_words(one)) for one in line] for line in cells],
        "texttemplate": "%{text}" if few else "",
        "hovertemplate": "%{customdata}<br>%{text} to the background<extra></extra>",
        "colorscale": SOFT,
        "zmin": -widest,
        "zmax": widest,
    }
    told = "The mean cosine minus that of unrelated pairs. The diagonal should stand out, or the labels do not differ."
    figure = figure_of("label-grid", "Above the background", told, [data], _grid_layout(names, names))
    return {**figure, "height": max(300, 110 + (34 if few else 24) * len(names))}


def _grid(values: Sequence[Sequence[float | None]], rows: Sequence[str], columns: Sequence[str]) -> Figure:
    return {
        "type": "heatmap",
        "x": list(range(len(columns))),
        "y": list(range(len(rows))),
        "z": [list(line) for line in values],
        "xgap": 2,
        "ygap": 2,
        "hoverongaps": False,
        "textfont": {"color": "ink"},
        "colorbar": {"thickness": 10, "outlinewidth": 0, "tickfont": {"size": 12}},
    }


def _grid_layout(rows: Sequence[str], columns: Sequence[str]) -> Figure:
    """Places with texts, so that a label such as 1 is not taken for a number."""
    plain = {"showgrid": False, "zeroline": False, "tickmode": "array", "tickfont": {"size": 12}}
    across, down = ([label_text(middle_cut(printable(one), 14)) for one in names] for names in (columns, rows))
    return {
        "xaxis": {**plain, "tickvals": list(range(len(columns))), "ticktext": across},
        "yaxis": {
            **plain,
            "tickvals": list(range(len(rows))),
            "ticktext": down,
            "range": [len(rows) - 0.5, -0.5],
        },
        "hovermode": "closest",
    }


def agreement(groups: Groups, place: int) -> Figure | None:
    """Groups by labels: how many rows of each label a group holds, coloured by its share of the group."""
    names = list(dict.fromkeys(label for one in groups.groups for label in one.labels))
    if not names or not groups.groups:
        return None
    names.sort()
    counts = [[one.labels.get(name, 0) for name in names] for one in groups.groups]
    shares = [[rounded(n / max(sum(line), 1)) for n in line] for line in counts]
    rows = [f"group {one.number}" for one in groups.groups]
    data = _grid(shares, rows, names)
    data |= {
        "text": [[f"{n:,}" for n in line] for line in counts],
        "texttemplate": "%{text}" if len(names) <= 12 else "",
        "customdata": [
            [
                label_text(f"{row}, {printable(name)}: {n:,} of {sum(line):,}")
                for name, n in zip(names, line, strict=True)
            ]
            for row, line in zip(rows, counts, strict=True)
        ],
        "hovertemplate": "%{customdata}<extra></extra>",
        "colorscale": SHARES,
        "zmin": 0,
        "zmax": 1,
    }
    data["colorbar"] = {**data["colorbar"], "tickformat": ".0%"}
    told = "Rows of each label in each group, coloured by its share of it. A group that is a label has one strong cell."
    figure = figure_of(f"agreement-{place}", "Groups by labels", told, [data], _grid_layout(rows, names), wide=True)
    return {**figure, "height": min(max(220, 90 + 30 * len(rows)), 900)}


def figure_of(
    name: str, title: str, sentence: str, data: list[Figure], layout: Figure, *, wide: bool = False
) -> Figure:
    """A chart as the page draws it."""
    return {"id": name, "title": title, "alt": sentence, "data": data, "layout": layout, "wide": wide, "lazy": False}


def _line(x: float, colour: str, dash: str) -> Figure:
    line = {"color": colour, "width": 1.5, "dash": dash}
    return {"type": "line", "x0": x, "x1": x, "yref": "paper", "y0": 0, "y1": 1, "line": line}


def _note(x: float, text: str, side: str) -> Figure:
    return {
        "x": x,
        "yref": "paper",
        "y": 1,
        "text": text,
        "showarrow": False,
        "xanchor": side,
        "yanchor": "top",
        "xshift": 5 if side == "left" else -5,
        "font": {"color": "ink", "size": 12},
    }
