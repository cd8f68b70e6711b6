"""The geometry of a chart, for all drawers: what its axes span, and where ticks, labels and rows stand."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import groupby, pairwise
from textwrap import wrap
from typing import Literal

from uncone.analysis.number_format import clipped
from uncone.report.charts.model import Axis, Bars, Chart, Forest, Heatmap, Histogram, Line, Mark, Points, Reference
from uncone.report.charts.theme import PALETTES

__all__ = ["LABEL", "Along", "Frame", "bands", "color_limits", "color_stops", "has_markers", "is_dotted"]

Along = Literal["x", "y"]
Span = tuple[float, float]
LABEL = 16
"""Height of a line of text, in pixels."""
_PLOT = 236
"""Height of a plot without axis and margins, in pixels."""
_EDGE = 0.25
"""Share of the width, on either side, where the text of a point runs inward."""
_MOST_DIRECT = 12
_MOST_MARKERS = 26
_SIDES = {"left": -0.5, "center": 0.0, "right": 0.5}
_LEVELS = {"top": 0.06, "middle": 0.0, "bottom": -0.06}


class Frame:
    """The layout of a chart: the span of its axes, its rows and legend, and the places of its labels."""

    def __init__(self, chart: Chart) -> None:
        self.chart = chart
        self.axes: dict[Along, Axis] = {"x": chart.x, "y": chart.y}
        self.has_rows = self.has(Forest, Heatmap)
        """Whether the y axis names rows, from top to bottom: values run along x."""

    def has(self, *kinds: type[Mark]) -> bool:
        """Whether the chart has marks of these kinds."""
        return any(isinstance(mark, kinds) for mark in self.chart.marks)

    @property
    def row_height(self) -> int:
        """Height of a row of a forest or a heatmap, in pixels."""
        heatmaps = [mark for mark in self.chart.marks if isinstance(mark, Heatmap)]
        if heatmaps:
            return 30 if any(mark.texts for mark in heatmaps) else 17
        return 30 if len(self.chart.y.categories) <= 16 else 18

    @cached_property
    def reference_rows(self) -> list[Reference]:
        """Vertical references with a text, from right to left: each label has its own row above the marks."""
        labeled = [reference for reference in self.chart.references if reference.label and not reference.horizontal]
        return sorted(labeled, key=lambda reference: -reference.at)

    def labeled_levels(self, height: float, gap: float) -> list[tuple[Reference, float]]:
        """Horizontal references with a text, and how far their labels move to stand `gap` apart."""
        levels = [reference for reference in self.chart.references if reference.label and reference.horizontal]
        return list(zip(levels, self._shifts([level.at for level in levels], height, gap), strict=True))

    def stands_left(self, reference: Reference) -> bool:
        """Whether the label of a vertical reference stands left of its line: where there is room, it does."""
        left, right = self.spans["x"]
        return self.scaled(reference.at, "x") > left + 0.3 * (right - left)

    def scaled(self, value: float, along: Along) -> float:
        """A value on its axis: the logarithm on a logarithmic one."""
        return math.log10(value) if self.axes[along].log else value

    def share(self, value: float, along: Along) -> float:
        """The place of a value along its axis, from 0 to 1."""
        low, high = self.spans[along]
        return (self.scaled(value, along) - low) / (high - low)

    def can_show(self, value: float | None, along: Along) -> bool:
        """Whether a value has a place on an axis."""
        return value is not None and math.isfinite(value) and (value > 0 or not self.axes[along].log)

    def _shifts(self, values: Sequence[float], height: float, gap: float) -> list[float]:
        """The shifts of labels at these values of y that put them `gap` apart in a plot of this height."""
        heights = [height * self.share(value, "y") for value in values]
        return [place - at for at, place in zip(heights, spread(heights, gap, height), strict=True)]

    @cached_property
    def spans(self) -> dict[Along, Span]:
        """The range of each axis, in log10 if it is logarithmic; the lower end first."""
        return {"x": self._span("x"), "y": self._span("y")}

    def _span(self, along: Along) -> Span:
        axis = self.axes[along]
        if axis.range is not None:
            return self.scaled(axis.range[0], along), self.scaled(axis.range[1], along)
        rows = len(self.reference_rows) if along == "y" else 0
        if axis.categories:
            air = 0.1 if along == "y" and self.has(Forest) else 0.0
            above = rows * LABEL / self.row_height if self.has_rows else 0.0
            return -0.5 - air - above, len(axis.categories) - 0.5 + air
        values = [value for mark in self.chart.marks for value in _extent(mark, along)]
        values += [reference.at for reference in self.chart.references if reference.horizontal is (along == "y")]
        values += [0.0] if axis.zero or axis.zero_line else []
        positions = [self.scaled(value, along) for value in values if value is not None and self.can_show(value, along)]
        low, high = (min(positions), max(positions)) if positions else (0.0, 1.0)
        if low == high == 0 and not axis.log:
            return 0.0, 1.0
        low, high = self._padded(along, low, high)
        # Labels stand above the marks.
        return low, low + (high - low) * (_PLOT + LABEL * rows) / _PLOT if rows and not self.has_rows else high

    def _padded(self, along: Along, low: float, high: float) -> Span:
        axis, size = self.axes[along], high - low
        if along == "y" or self.has_rows:
            pad = 0.07 * (size or abs(high) or 1.0)
            # Bars stand on zero; but a zero line on the frame would not be visible.
            on_zero = not axis.log and not axis.zero_line
            return (low if low == 0 and on_zero else low - pad), (high if high == 0 and on_zero else high + pad)
        if all(isinstance(mark, Histogram) for mark in self.chart.marks) and not self.chart.references:
            return low, high
        if not size and axis.whole:
            return low - 0.5, high + 0.5
        apart = self.has(Points) or any(isinstance(mark, Line) and mark.error_bars for mark in self.chart.marks)
        pad = (0.06 if apart else 0.02) * (size or abs(high) or 1.0)
        return low - pad, high if self.labeled_ends and not apart else high + pad

    @cached_property
    def labeled_ends(self) -> list[tuple[Line, float]]:
        """The curves that have their label at the right end, with the value there; none when they are too many."""
        lines = [mark for mark in self.chart.marks if isinstance(mark, Line) and mark.label and not mark.guide]
        if not self.chart.direct or len(lines) > _MOST_DIRECT:
            return []
        ends = [(line, next((y for y in reversed(line.y) if y is not None), None)) for line in lines]
        return [(line, end) for line, end in ends if end is not None and self.can_show(end, "y")]

    def end_labels(self, height: float, gap: float) -> list[tuple[Line, float, float]]:
        """The curves that have their label at the right end, the value there, and how far the label moves."""
        lines, ends = zip(*self.labeled_ends, strict=True) if self.labeled_ends else ((), ())
        return list(zip(lines, ends, self._shifts(ends, height, gap), strict=True))

    @cached_property
    def has_legend(self) -> bool:
        """Whether names stand above the chart: there are several, and they are nowhere else."""
        labels = {mark.label for mark in self.chart.marks if mark.label and not isinstance(mark, Heatmap)}
        return len(labels - {line.label for line, _ in self.labeled_ends}) > (0 if self.labeled_ends else 1)

    def named_ticks(self, along: Along, letters: float, most: int) -> list[tuple[float, list[str], bool]]:
        """Named places, or the categories that have room: place, lines of text, and whether they stand out.

        An axis of x with more than `most` categories is `letters` wide.
        """
        axis = self.axes[along]
        if axis.ticks:
            return [(place, [text], False) for place, text in axis.ticks]
        names, step = axis.categories, 1
        if along == "x" and len(names) > most:
            step = max(1, math.ceil(len(names) * (max(map(len, names)) + 1) / letters))
        return [
            (place, wrap(clipped(names[place], 54), 28, break_on_hyphens=False), place in axis.strong)
            for place in range(0, len(names), step)
        ]

    def log_ticks(self, along: Along) -> tuple[list[float], list[str]]:
        """Ticks of a logarithmic axis with their texts, without exponents.

        >>> Frame(Chart("", "", "", [], Axis(log=True, percent=True, range=(0.0006, 1.0)))).log_ticks("x")
        ([0.001, 0.01, 0.1, 1.0], ['0.1 %', '1 %', '10 %', '100 %'])
        """
        percent, (low, high) = self.axes[along].percent, self.spans[along]
        first, last = math.ceil(low - 1e-9), math.floor(high + 1e-9)
        if high - low < 2:
            parts = (1, 2, 5) if high - low >= 1 else (1, 1.5, 2, 3, 5, 7)
            steps = [m * 10.0**k for k in range(first - 1, last + 1) for m in parts]
            ticks = [tick for tick in steps if low - 1e-9 <= math.log10(tick) <= high + 1e-9]
        else:
            ticks = [10.0**k for k in range(first, last + 1, 1 + (last - first) // 8)]
        texts = [f"{100 * tick if percent else tick:,.15f}".rstrip("0").rstrip(".") for tick in ticks]
        return [float(f"{tick:.6g}") for tick in ticks], [f"{text} %" if percent else text for text in texts]

    @cached_property
    def _forest_shifts(self) -> dict[str, float]:
        forests = [mark for mark in self.chart.marks if isinstance(mark, Forest)]
        labels = list(dict.fromkeys(mark.label for mark in forests))
        rows = {(mark.label, row) for mark in forests for row in mark.rows}
        if len(rows) == len({row for _, row in rows}):
            return dict.fromkeys(labels, 0.0)
        step = min(0.22, 0.7 / len(labels))
        return {label: step * (at - (len(labels) - 1) / 2) for at, label in enumerate(labels)}

    def forest_rows(self, forest: Forest) -> list[float]:
        """The rows of a forest, moved from the middle to leave other series free."""
        return [row + self._forest_shifts[forest.label] for row in forest.rows]

    def text_sides(self, points: Points) -> list[str]:
        """On which side of each point its text stands; "" if there is no room for it."""
        return self._text_sides[id(points)]

    @cached_property
    def _text_sides(self) -> dict[int, list[str]]:
        marks = [mark for mark in self.chart.marks if isinstance(mark, Points)]
        spots = [
            (mark, place, self.share(x, "x"), self.share(y, "y"))
            for mark in marks
            for place, (x, y) in enumerate(zip(mark.x, mark.y, strict=True))
            if y is not None and self.can_show(x, "x") and self.can_show(y, "y")
        ]
        sides = {id(mark): [""] * len(mark.x) for mark in marks}
        boxes: list[tuple[float, float, float]] = []
        # From top to bottom, so that of two that are near the higher one is named.
        for mark, place, x, y in sorted(spots, key=lambda spot: -spot[3]):
            text = mark.texts[place] if mark.texts else ""
            width = (7 * len(text) + 6) / (940 if self.chart.wide else 440)
            others = [(a, b) for other, at, a, b in spots if other is not mark or at != place]
            for side in _side_order(x) if text else ():
                level, beside = side.split()
                middle, height = x + _SIDES[beside] * width, y + _LEVELS[level]
                if (
                    middle - width / 2 > -0.02
                    and middle + width / 2 < 1.02
                    and all(abs(middle - a) > width / 2 + 0.01 or abs(height - b) > 0.045 for a, b in others)
                    and all(abs(middle - a) > (width + w) / 2 or abs(height - b) > 0.07 for a, b, w in boxes)
                ):
                    sides[id(mark)][place] = side
                    boxes.append((middle, height, width))
                    break
        return sides


def _side_order(x: float) -> list[str]:
    """Sides of a point for its text, the best first: near an edge it runs inward."""
    order = ("left", "center", "right") if x > 0.6 else ("right", "center", "left")
    sides = [*(f"{level} {side}" for side in order for level in ("top", "bottom")), f"middle {order[0]}"]
    return ["top center", *sides] if _EDGE < x < 1 - _EDGE else sides


def _extent(mark: Mark, along: Along) -> Sequence[float | None]:
    is_x = along == "x"
    match mark:
        case Line():
            interval = (*mark.low, *mark.high) if mark.sideways is is_x else ()
            return [*(mark.x if is_x else mark.y), *interval]
        case Histogram():
            return mark.edges if is_x else [*mark.heights, 0.0]
        case Bars():
            half = 0.5 * min((b - a for a, b in pairwise(mark.x)), default=1.0)
            return [x + side for x in mark.x for side in (-half, half)] if is_x else [*mark.y, 0.0]
        case Points():
            return mark.x if is_x else mark.y
        case Forest():
            return [*mark.values, *mark.low, *mark.high] if is_x else mark.rows
        case Heatmap():
            n = len(mark.values[0]) if is_x and mark.values else len(mark.values)
            return [-0.5, max(n, 1) - 0.5]


def _is_finite(value: float | None) -> bool:
    return value is not None and math.isfinite(value)


def is_dotted(line: Line) -> bool:
    """Whether a curve is drawn as dots with intervals: by choice, or because only one value is known."""
    return line.error_bars or sum(map(_is_finite, line.y)) == 1


def has_markers(line: Line) -> bool:
    """Whether a curve marks its points: by choice, or a main curve through few of them."""
    few = line.weight == "main" and not line.sideways and len(line.x) <= _MOST_MARKERS
    return not line.guide and (line.points or few)


def bands(line: Line) -> Iterator[tuple[list[float], list[float], list[float]]]:
    """Runs of (place, low, high) with a known interval; the places of a sideways band are on y.

    Thin and light curves accompany a main one, whose band theirs would cover.
    """
    if not line.low or not line.high or line.error_bars or line.weight != "main":
        return
    points = zip(line.y if line.sideways else line.x, line.low, line.high, strict=True)
    for complete, run in groupby(points, key=lambda point: all(map(_is_finite, point))):
        place, low, high = ([float(part or 0.0) for part in column] for column in zip(*run, strict=True))
        if complete and len(place) > 1:
            yield place, low, high


def color_limits(heatmap: Heatmap) -> Span:
    """The values at both ends of the colors; around a center they lie equally far."""
    values = [value for row in heatmap.values for value in row if value is not None and math.isfinite(value)]
    low = heatmap.low if heatmap.low is not None else min(values, default=0.0)
    high = heatmap.high if heatmap.high is not None else max(values, default=1.0)
    if heatmap.scale == "diverging":
        center = heatmap.center or 0.0
        reach = max(abs(low - center), abs(high - center)) or 1.0
        return center - reach, center + reach
    return low, high if high > low else low + 1.0


def color_stops(heatmap: Heatmap) -> list[tuple[float, str, float]]:
    """The color scale of a heatmap as (place, red-green-blue, opacity); none for viridis, which drawers know."""
    pale = heatmap.texts and heatmap.scale == "diverging"
    return PALETTES.get(f"{heatmap.scale}, texts" if pale else heatmap.scale, [])


def spread(places: Sequence[float], gap: float, top: float) -> list[float]:
    """Places in [0, top] as near to the given ones as labels `gap` apart can stand, in the same order.

    >>> spread([50.0, 52.0, 90.0], 10.0, 100.0)
    [46.0, 56.0, 90.0]
    >>> spread([95.0, 99.0], 10.0, 100.0)
    [90.0, 100.0]
    """
    order = sorted(range(len(places)), key=lambda i: places[i])
    # Without the gaps, the places only have to rise: pools of those that do not share their mean.
    pools: list[list[float]] = []
    for rank, i in enumerate(order):
        pools.append([places[i] - rank * gap])
        while len(pools) > 1 and _mean(pools[-2]) > _mean(pools[-1]):
            pools[-2:] = [pools[-2] + pools[-1]]
    room = max(top - gap * (len(order) - 1), 0.0)
    risen = [min(max(_mean(pool), 0.0), room) for pool in pools for _ in pool]
    placed = dict(zip(order, (value + rank * gap for rank, value in enumerate(risen)), strict=True))
    return [placed[i] for i in range(len(places))]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
