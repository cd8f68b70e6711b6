"""The charts and maps of a similarity."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from uncone.analysis.number_format import clipped, count
from uncone.analysis.projections.results import METHOD_NAMES
from uncone.analysis.similarity.results import Groups, PerLabel
from uncone.data.batch import IntVector
from uncone.report.charts import model
from uncone.report.charts.cloud import MOST_LEGEND
from uncone.report.charts.model import Axis, Chart, Cloud, CloudView, Coloring, Heatmap, Histogram, Line, Reference
from uncone.report.charts.theme import CATEGORICAL
from uncone.report.documents.similarity import sentences as say
from uncone.report.text import capitalized, printable

if TYPE_CHECKING:
    from uncone.report.documents.similarity import Similarity

__all__ = [
    "LONGEST_TEXT", "colorings", "columns", "curves", "group_chart", "histogram", "label_charts", "label_coloring",
    "maps", "per_hundredth",
]  # fmt: skip

LONGEST_TEXT = 400
"""Letters of a text on the page; the files have all of it."""
_MOST_LABELS, _BESIDE = 30, 6
"""Label pairs in a chart, and labels up to which the two charts stand side by side."""
_MOST_CURVES, _BINS = 6, 150
_NO_GROUP, _NO_LABEL = "in no group", "without a label"
_DENSITY = Axis("% of pairs per 0.01", "percent_per_hundredth", zero=True)


def histogram(result: Similarity) -> Chart:
    """All pairs over unrelated ones, with the mean of those and the score that 1 % of them reach."""
    background = result.background
    name = "all pairs" if result.two_columns is None else "the two texts of a row"
    references, score = [_background_mean(result)], say.tail_score(result, 0.01)
    references += [] if score is None else [Reference(score, f"1 % of unrelated pairs: {say.fine(score)}")]
    sample = "" if background.pairs == background.all_pairs else "a sample of "
    total = int(sum(result.histogram.get("counts", ())))
    title = f"{capitalized(name)} compared with unrelated pairs"
    caption = f"{count(total, 'pair')} of the table. In gray, {sample}{count(background.pairs, 'unrelated pair')}."
    marks = [*_unrelated(result), *_histogram(result.histogram, name, "accent", filled=False)]
    return Chart("histogram", title, caption, marks, Axis("cosine", "cosine"), _DENSITY, references, wide=True)


def _unrelated(result: Similarity) -> list[Histogram]:
    return _histogram(result.background.histogram, "unrelated pairs", "muted 55%", filled=True)


def _histogram(histogram: Mapping[str, Sequence[float]], label: str, color: str, *, filled: bool) -> list[Histogram]:
    edges, heights = per_hundredth(histogram)
    return [Histogram(edges, heights, label, color, filled, unit="% of pairs per 0.01")] if heights else []


def _background_mean(result: Similarity) -> Reference:
    mean = result.background.mean
    return Reference(mean, f"mean of unrelated pairs: {say.fine(mean)}", "muted", "dot")


def per_hundredth(histogram: Mapping[str, Sequence[float]]) -> tuple[list[float], list[float]]:
    """Edges of the bins, and the percentage of pairs per 0.01; empty bins at both ends are left out."""
    counts = np.asarray(histogram.get("counts", ()), float)
    edges = np.asarray(histogram.get("edges", ()), float)
    if not counts.sum():
        return [], []
    filled = np.flatnonzero(counts)
    # Wider bins for few pairs, whose histogram would be a comb.
    merge = int(np.ceil((filled[-1] - filled[0] + 1) / max(1.5 * np.sqrt(counts.sum()), 10)))
    starts = np.arange(0, len(counts), merge)
    counts, edges = np.add.reduceat(counts, starts), edges[np.append(starts, len(counts))]
    filled = np.flatnonzero(counts)
    first, last = filled[0], filled[-1] + 1
    # If all pairs score the same, bins have no width.
    density = 100 * counts / counts.sum() * 0.01 / np.maximum(np.diff(edges), 1e-4)
    return edges[first : last + 1].tolist(), density[first:last].tolist()


def label_charts(result: Similarity) -> list[Chart]:
    """The mean of every two labels with its interval, and the same as a grid."""
    labels = result.per_label
    lines = [] if labels is None else [line for line in labels.table if line.cosine.mean is not None]
    if labels is None or not lines:
        return []
    names = [label for label in labels.counts if any(label in (line.one, line.other) for line in labels.table)]
    wide = len(names) < 2 or len(names) > _BESIDE
    grid = [_label_grid(labels.table, names, result.background.sd, wide)] if len(names) > 1 else []
    return [_forest(lines, result.background.mean, wide), *grid]


def _forest(lines: Sequence[PerLabel], mean: float, wide: bool) -> Chart:
    marks, top = [], lines[:_MOST_LABELS]
    looks: dict[bool, Any] = {
        True: ("within a label", "accent", "circle"),
        False: ("between labels", "second", "diamond"),
    }
    for same, (label, color, symbol) in looks.items():
        rows = [at for at, line in enumerate(top) if (line.one == line.other) is same]
        if rows:
            cosines = [top[at].cosine for at in rows]
            values, low, high = ([getattr(each, part) for each in cosines] for part in ("mean", "low", "high"))
            marks.append(
                model.Forest(rows, values, low, high, label, color, symbol, n=[each.pairs for each in cosines])
            )
    more = f" The first {_MOST_LABELS} of {len(lines):,}; the table has them all." if len(lines) > _MOST_LABELS else ""
    caption = f"Mean cosine with its 95 % interval. The dotted line is the mean of unrelated pairs.{more}"
    x, y = Axis("mean cosine", "mean_cosine"), Axis(name="labels", categories=[_two(line, 13) for line in top])
    line = Reference(mean, "unrelated pairs", "muted", "dot")
    return Chart("labels", "Within and between labels", caption, marks, x, y, [line], wide=wide)


def _two(line: PerLabel, most: int) -> str:
    first, second = (say.middle_cut(printable(name) or _NO_LABEL, most) for name in (line.one, line.other))
    return first if line.one == line.other else f"{first} – {second}"


def _label_grid(table: Sequence[PerLabel], names: Sequence[str], sd: float, wide: bool) -> Chart:
    by_pair = {(line.one, line.other): line for line in table} | {(line.other, line.one): line for line in table}
    cells = [[by_pair.get((a, b)) for b in names] for a in names]
    values = [[None if line is None else line.above.mean for line in row] for row in cells]
    # A difference that is small beside the deviation of unrelated pairs is pale.
    widest = max([abs(value) for row in values for value in row if value is not None] + [0.5 * sd, 0.01])
    texts = [[say.signed_number(value) for value in row] for row in values] if len(names) <= 10 else ()
    hover = [["" if line is None else _hover(line) for line in row] for row in cells]
    grid = Heatmap(values, "", "diverging", -widest, widest, 0, texts, hover)
    axis = Axis(name="label", categories=[say.middle_cut(printable(name) or _NO_LABEL, 14) for name in names])
    caption = "Mean cosine minus that of unrelated pairs. If the diagonal does not stand out, the labels do not differ."
    return Chart("label-grid", "Above unrelated pairs", caption, [grid], axis, axis, wide=wide)


def _hover(line: PerLabel) -> str:
    interval = f" ({say.bounds(line.cosine)})" if say.bounds(line.cosine) else ""
    mean = f"{_two(line, 40)}: {say.number(line.cosine.mean)}{interval}, {count(line.cosine.pairs, 'pair')}"
    return f"{mean}; {say.signed_number(line.above.mean)} above unrelated pairs"


def columns(result: Similarity) -> Chart | None:
    """The cosine of the two texts of a row by label, over unrelated pairs."""
    two = result.two_columns
    if two is None or not np.isfinite(two.cosines).any():
        return None
    rows = curves(result)
    first = "" if two.labels is None or len(rows) == len(two.table) else " The first labels; the table has them all."
    caption = f"{count(int(np.isfinite(two.cosines).sum()), 'row')}. In gray, unrelated pairs.{first}"
    lines = [Line(x, y, name, CATEGORICAL[at % len(CATEGORICAL)]) for at, (name, x, y) in enumerate(rows)]
    marks: list[Line | Histogram] = [*_unrelated(result), *lines]
    x, mean = Axis("cosine of the two texts", "cosine"), _background_mean(result)
    return Chart("columns", "The two texts of a row, by label", caption, marks, x, _DENSITY, [mean], wide=True)


def curves(result: Similarity) -> list[tuple[str, list[float], list[float]]]:
    """The name, cosines, and percentage of rows per 0.01 of every label; one curve if there are no labels."""
    two = result.two_columns
    if two is None:
        return []
    finite = np.isfinite(two.cosines)
    labels = np.array([""] * len(finite) if two.labels is None else list(two.labels), dtype=object)
    names = [""] if two.labels is None else [line.one for line in two.table][:_MOST_CURVES]
    low, high = float(two.cosines[finite].min()), float(two.cosines[finite].max())
    # Half the width of Freedman and Diaconis for the smallest label: narrower bins make a saw, not a curve.
    least = min((int((finite & (labels == name)).sum()) for name in names), default=1)
    middle = float(np.subtract(*np.quantile(two.cosines[finite], (0.75, 0.25))))
    width = max(middle / max(least, 1) ** (1 / 3), 1e-4)
    edges = np.linspace(low, high if high > low else low + 0.01, int(np.clip((high - low) / width, 8, _BINS)) + 1)
    rows = []
    for name in names:
        counts, _ = np.histogram(two.cosines[finite & (labels == name)], edges)
        if counts.sum():
            density = 100 * counts / counts.sum() * 0.01 / np.diff(edges)
            middles = (edges[:-1] + edges[1:]) / 2
            rows.append((clipped(printable(name), 24) or "the two texts of a row", middles.tolist(), density.tolist()))
    return rows


def group_chart(groups: Groups, place: int) -> Chart | None:
    """Groups by labels: how many texts of each label a group holds, colored by its share."""
    names = sorted({label for group in groups.groups for label in group.labels})
    if not names:
        return None
    counts = [[group.labels.get(name, 0) for name in names] for group in groups.groups]
    labels = [printable(name) or _NO_LABEL for name in names]
    rows = [f"group {group.number}" for group in groups.groups]
    shares = [[n / max(sum(row), 1) for n in row] for row in counts]
    texts = [[f"{n:,}" for n in row] for row in counts] if len(names) <= 12 else ()
    hover = [
        [f"{group}, {label}: {n:,} of {sum(row):,}" for label, n in zip(labels, row, strict=True)]
        for group, row in zip(rows, counts, strict=True)
    ]
    grid = Heatmap(shares, "", "pale", 0, 1, None, texts, hover, bar="share of the group")
    title = f"Groups by labels: {say.group_title(groups)}"
    caption = (
        "Texts of each label in each group, colored by their share. A group that matches a label has one strong cell."
    )
    x = Axis(name="label", categories=[say.middle_cut(label, 14) for label in labels])
    y = Axis(name="group", categories=rows)
    return Chart(f"groups-{place}", title, caption, [grid], x, y, wide=True)


def label_coloring(result: Similarity, rows: IntVector) -> Coloring | None:
    """Rows by label; None without labels."""
    if result.labels is None:
        return None
    name = str(result.source.get("label") or "label")
    names = {label: printable(label) or _NO_LABEL for label in set(result.labels)}
    return _coloring(f"column {name}" if name.isdecimal() else name, [names[label] for label in result.labels], rows)


def colorings(result: Similarity, rows: IntVector) -> list[Coloring]:
    """Rows by label, then by the groups of every method."""
    labels = label_coloring(result, rows)
    every = [] if labels is None else [labels]
    for groups in result.groups:
        names = [_NO_GROUP if member < 0 else f"group {member}" for member in np.asarray(groups.members).tolist()]
        every.append(_coloring(say.group_title(groups), names, rows))
    return every


def _coloring(title: str, members: Sequence[str], rows: IntVector) -> Coloring:
    """Rows by category. The most frequent categories of all have a color of their own; the others are gray."""
    names = [name for name, _ in Counter(members).most_common() if name not in (_NO_GROUP, _NO_LABEL)]
    own = sorted(names[:MOST_LEGEND], key=_natural)
    places = {name: place for place, name in enumerate(own)}
    rest = [f"{len(names) - len(own):,} others"] if len(names) > len(own) else []
    rest += [name for name in (_NO_GROUP, _NO_LABEL) if name in set(members)]
    codes = np.array([places.get(members[row], -1) for row in rows], np.int64)
    return Coloring(title, codes, [clipped(name, 40) for name in own], rest=", ".join(rest))


def _natural(name: str) -> list[tuple[int, str]]:
    """Group 2 before group 10."""
    return [(int(part) if part.isdecimal() and part.isascii() else -1, part) for part in re.split(r"([0-9]+)", name)]


def maps(result: Similarity) -> list[Cloud]:
    """A cloud for every projection, planes first, colored by labels and groups."""
    rows, shared = result.projected, colorings(result, result.projected)
    texts = [clipped(printable(result.text(int(row))), LONGEST_TEXT) for row in rows]
    look: dict[str, Any] = {"wide": len(result.projections) == 1, "group": "maps", "source_rows": rows}
    clouds = []
    for key, points in sorted(result.projections.items(), key=lambda item: item[1].shape[1]):
        method, dims = METHOD_NAMES.get(key.partition("-")[0], key.partition("-")[0]), points.shape[1]
        where = "in space; drag to turn them" if dims == 3 else "in the plane"
        caption, views = f"{len(points):,} {say.noun(result)}s {where}.", [CloudView(method, points)]
        axes = [f"dimension {axis}" for axis in range(1, dims + 1)]
        clouds.append(Cloud(f"map-{key}", f"{method}, {dims}-D", caption, views, shared, texts, axes, **look))
    return clouds
