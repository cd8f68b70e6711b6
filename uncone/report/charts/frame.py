"""What both drawers have to know of a chart: what its axes span, where ticks, labels and rows stand."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise

from uncone.analysis.number_format import cosine, percent, plain
from uncone.report.charts.model import (
    Axis,
    Bars,
    Chart,
    Forest,
    Heatmap,
    Histogram,
    Line,
    Mark,
    Number,
    Points,
    Reference,
)

__all__ = [
    "LABEL",
    "bands",
    "categories",
    "has_legend",
    "has_rows",
    "hover_text",
    "labeled_ends",
    "labeled_references",
    "limits",
    "log_ticks",
    "places",
    "row_height",
    "scaled",
    "shifts",
    "spans",
    "spread",
    "text_sides",
    "thinned",
    "value_text",
]

Span = tuple[float, float]
_PLOT = 236
"""Pixels of the height of a plot, without axis and margins."""
LABEL = 16
"""Pixels of a line of text."""
_EDGE = 0.25
"""The share of the width, on either side, where the text of a point runs inward."""
_MOST_DIRECT = 12


def has_rows(chart: Chart) -> bool:
    """Whether the y axis names rows: values run along x."""
    return any(isinstance(mark, Forest | Heatmap) or (isinstance(mark, Bars) and mark.sideways) for mark in chart.marks)


def categories(chart: Chart, along: str) -> Sequence[str]:
    """The names of the places of an axis; bars may bring their own."""
    axis = chart.x if along == "x" else chart.y
    if axis.categories:
        return axis.categories
    for mark in chart.marks:
        if isinstance(mark, Bars) and mark.sideways is (along == "y") and mark.x and isinstance(mark.x[0], str):
            return [str(name) for name in mark.x]
    return ()


def places(bars: Bars) -> list[float]:
    """Where the bars stand on their axis."""
    given: Sequence[float | str] = bars.x
    return [float(place if isinstance(x, str) else x) for place, x in enumerate(given)]


def row_height(chart: Chart) -> int:
    """Pixels that a row of a forest or a heatmap takes."""
    n = len(categories(chart, "y"))
    if any(isinstance(mark, Heatmap) for mark in chart.marks):
        return 30 if any(isinstance(mark, Heatmap) and mark.texts for mark in chart.marks) else 17
    return 30 if n <= 16 else 18


def labeled_references(chart: Chart) -> list[Reference]:
    """Vertical references with a text, from right to left: each has a row of its own above what is drawn."""
    return sorted((one for one in chart.references if one.label and not one.horizontal), key=lambda one: -one.at)


def scaled(value: float, axis: Axis) -> float:
    """A value where its axis has it: its logarithm on a logarithmic one."""
    return math.log10(value) if axis.log else value


def spans(chart: Chart) -> tuple[Span, Span]:
    """What the axes have to show, in log10 where they are logarithmic; the lower end first."""
    return _span(chart, "x"), _span(chart, "y")


def _span(chart: Chart, along: str) -> Span:
    axis = chart.x if along == "x" else chart.y
    if axis.range is not None:
        low, high = axis.range
        return scaled(low, axis), scaled(high, axis)
    rows = len(labeled_references(chart)) if along == "y" else 0
    names = categories(chart, along)
    if names:
        air = 0.1 if any(isinstance(mark, Forest) for mark in chart.marks) and along == "y" else 0.0
        above = rows * LABEL / row_height(chart) if has_rows(chart) else 0.0
        first, last = -0.5 - air, len(names) - 0.5 + air
        return (first, last + above) if axis.reverse else (first - above, last)
    found = [value for mark in chart.marks for value in _extent(mark, along)]
    found += [one.at for one in chart.references if one.horizontal is (along == "y")]
    found += [0.0] if axis.zero or axis.zero_line else []
    known = [scaled(float(value), axis) for value in found if value is not None and _fits(value, axis)]
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    if low == high == 0 and not axis.log:
        return 0.0, 1.0
    low, high = _padded(chart, axis, along, low, high)
    if rows and not has_rows(chart):
        # Labels stand above what is drawn.
        high = low + (high - low) * (_PLOT + LABEL * rows) / _PLOT
    return low, high


def _fits(value: float, axis: Axis) -> bool:
    return math.isfinite(value) and (value > 0 or not axis.log)


def _padded(chart: Chart, axis: Axis, along: str, low: float, high: float) -> Span:
    size = high - low
    if along == "y" or has_rows(chart):
        pad = 0.07 * (size or abs(high) or 1.0)
        # Bars stand on zero; but a zero line on the frame would not be seen.
        on_zero = not axis.log and not axis.zero_line
        return (low if low == 0 and on_zero else low - pad), (high if high == 0 and on_zero else high + pad)
    if all(isinstance(mark, Histogram) for mark in chart.marks) and not chart.references:
        return low, high
    apart = any(isinstance(mark, Points) or (isinstance(mark, Line) and mark.error_bars) for mark in chart.marks)
    if not size and axis.whole:
        return low - 0.5, high + 0.5
    pad = (0.06 if apart else 0.02) * (size or abs(high) or 1.0)
    return low - pad, high if chart.direct and not apart and labeled_ends(chart) else high + pad


def _extent(mark: Mark, along: str) -> Sequence[Number]:
    match mark:
        case Line():
            interval = (*mark.low, *mark.high) if mark.sideways is (along == "x") else ()
            return [*(mark.x if along == "x" else mark.y), *interval, *([0.0] if mark.fill and along == "y" else [])]
        case Histogram():
            return mark.edges if along == "x" else [*mark.heights, 0.0]
        case Bars():
            if mark.sideways is (along == "x"):
                return [*mark.y, *mark.low, *mark.high, 0.0]
            held = places(mark)
            half = 0.5 * min((b - a for a, b in pairwise(held)), default=1.0)
            return [min(held) - half, max(held) + half] if held else []
        case Points():
            return mark.x if along == "x" else mark.y
        case Forest():
            return [*mark.values, *mark.low, *mark.high] if along == "x" else mark.rows
        case Heatmap():
            n = len(mark.values) if along == "y" or not mark.values else len(mark.values[0])
            return [-0.5, max(n, 1) - 0.5]


def limits(heatmap: Heatmap) -> Span:
    """The values at both ends of the colors; around a center they lie equally far."""
    known = [value for row in heatmap.values for value in row if value is not None and math.isfinite(value)]
    low = heatmap.low if heatmap.low is not None else min(known, default=0.0)
    high = heatmap.high if heatmap.high is not None else max(known, default=1.0)
    if heatmap.scale == "diverging":
        center = heatmap.center or 0.0
        reach = max(abs(low - center), abs(high - center)) or 1.0
        return center - reach, center + reach
    return low, high if high > low else low + 1.0


def log_ticks(span: Span, axis: Axis) -> tuple[list[float], list[str]]:
    """Ticks of a logarithmic axis with their texts, without exponents.

    >>> log_ticks((-3.2, 0.0), Axis(log=True, percent=True))
    ([0.001, 0.01, 0.1, 1.0], ['0.1 %', '1 %', '10 %', '100 %'])
    """
    first, last = math.ceil(span[0] - 1e-9), math.floor(span[1] + 1e-9)
    if span[1] - span[0] < 2:
        parts = (1, 2, 5) if span[1] - span[0] >= 1 else (1, 1.5, 2, 3, 5, 7)
        steps = [m * 10.0**k for k in range(first - 1, last + 1) for m in parts]
        ticks = [tick for tick in steps if span[0] - 1e-9 <= math.log10(tick) <= span[1] + 1e-9]
    else:
        ticks = [10.0**k for k in range(first, last + 1, 1 + (last - first) // 8)]
    return [float(f"{tick:.6g}") for tick in ticks], [_tick(tick, axis) for tick in ticks]


def _tick(value: float, axis: Axis) -> str:
    shown = 100 * value if axis.percent else value
    text = f"{shown:,.15f}".rstrip("0").rstrip(".")
    return f"{text} %" if axis.percent else text


def value_text(value: float, axis: Axis) -> str:
    """A number as hover texts say it.

    >>> value_text(0.1234, Axis(percent=True)), value_text(0.70812, Axis()), value_text(1234.5, Axis())
    ('12 %', '0.708', '1,234')
    """
    if axis.percent:
        return percent(value)
    if axis.whole and value == int(value):
        return f"{value:,.0f}"
    return plain(value) if abs(value) >= 2 or (0 < abs(value) < 0.001) else cosine(value, 3)


def hover_text(label: str, value: Number, low: Number, high: Number, n: int, axis: Axis) -> str:
    """What a value is, its interval, and how many observations it rests on."""
    if value is None:
        return ""
    said = f"{label}: {value_text(value, axis)}" if label else value_text(value, axis)
    if low is not None and high is not None:
        said += f" ({value_text(low, axis)} to {value_text(high, axis)})"
    return f"{said}, n = {n:,}" if n else said


def bands(line: Line) -> Iterator[tuple[list[float], list[float], list[float]]]:
    """Runs of (place, low, high) where the interval is known; places are those on y of a sideways band.

    Thin and light curves stand beside a main one, whose band theirs would cover.
    """
    if not line.low or not line.high or line.error_bars or line.weight != "main":
        return
    along = line.y if line.sideways else line.x
    points = list(zip(along, line.low, line.high, strict=True))
    for known, run in groupby(points, key=lambda point: all(one is not None and math.isfinite(one) for one in point)):
        held = list(run)
        if known and len(held) > 1:
            place, low, high = ([float(one or 0.0) for one in column] for column in zip(*held, strict=True))
            yield place, low, high


def labeled_ends(chart: Chart) -> list[tuple[Line, float]]:
    """The curves that have their label at the right end, with the value there; none when they are too many."""
    if not chart.direct:
        return []
    named = [mark for mark in chart.marks if isinstance(mark, Line) and mark.label and not mark.guide]
    if len(named) > _MOST_DIRECT:
        return []
    ends = [(line, next((y for y in reversed(line.y) if y is not None), None)) for line in named]
    return [(line, end) for line, end in ends if end is not None and _fits(end, chart.y)]


def has_legend(chart: Chart) -> bool:
    """Whether names stand above the chart: there are several, and they are nowhere else."""
    labels = {mark.label for mark in chart.marks if mark.label and not isinstance(mark, Heatmap)}
    return len(labels - {line.label for line, _ in labeled_ends(chart)}) > (0 if labeled_ends(chart) else 1)


def shifts(chart: Chart) -> dict[int, float]:
    """By the place of a mark, how far a forest moves from the middle of its rows to leave others free."""
    forests = [(place, mark) for place, mark in enumerate(chart.marks) if isinstance(mark, Forest)]
    labels = list(dict.fromkeys(mark.label for _, mark in forests))
    held = [row for label in labels for row in {row for _, mark in forests if mark.label == label for row in mark.rows}]
    if len(held) == len(set(held)):
        return {place: 0.0 for place, _ in forests}
    step = min(0.22, 0.7 / len(labels))
    return {place: step * (labels.index(mark.label) - (len(labels) - 1) / 2) for place, mark in forests}


def spread(wanted: Sequence[float], gap: float, top: float) -> list[float]:
    """Places in [0, top] as near to those wanted as labels `gap` apart can stand, in the same order.

    >>> spread([50.0, 52.0, 90.0], 10.0, 100.0)
    [46.0, 56.0, 90.0]
    >>> spread([95.0, 99.0], 10.0, 100.0)
    [90.0, 100.0]
    """
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    # Without the gaps, the places only have to rise: pools of those that do not share their mean.
    pools: list[list[float]] = []
    for rank, i in enumerate(order):
        pools.append([wanted[i] - rank * gap])
        while len(pools) > 1 and _mean(pools[-2]) > _mean(pools[-1]):
            pools[-2:] = [pools[-2] + pools[-1]]
    room = max(top - gap * (len(order) - 1), 0.0)
    risen = [min(max(_mean(pool), 0.0), room) for pool in pools for _ in pool]
    placed = dict(zip(order, (value + rank * gap for rank, value in enumerate(risen)), strict=True))
    return [placed[i] for i in range(len(wanted))]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def text_sides(chart: Chart) -> list[list[str]]:
    """For each mark of points, on which side of each point its text stands; "" where there is no room for it."""
    (left, right), (bottom, top) = spans(chart)
    marks = [mark for mark in chart.marks if isinstance(mark, Points)]
    spots = [
        (which, at, (scaled(x, chart.x) - left) / (right - left), (scaled(y, chart.y) - bottom) / (top - bottom))
        for which, mark in enumerate(marks)
        for at, (x, y) in enumerate(zip(mark.x, mark.y, strict=True))
        if y is not None and _fits(x, chart.x) and _fits(y, chart.y)
    ]
    sides = [[""] * len(mark.x) for mark in marks]
    taken: list[tuple[float, float, float]] = []
    room = 940 if chart.wide else 440
    # From top to bottom, so that of two that are near the higher one is named.
    for which, at, x, y in sorted(spots, key=lambda spot: -spot[3]):
        text = marks[which].texts[at] if marks[which].texts else ""
        if not text:
            continue
        width = (7 * len(text) + 6) / room
        order = ("left", "center", "right") if x > 0.6 else ("right", "center", "left")
        options = [*(f"{up} {side}" for side in order for up in ("top", "bottom")), f"middle {order[0]}"]
        # Near an edge a text runs inward: on a narrow page it takes more of the width than is reckoned here.
        options = ["top center", *options] if _EDGE < x < 1 - _EDGE else options
        for option in options:
            up, side = option.split()
            middle = x + {"left": -0.5, "center": 0.0, "right": 0.5}[side] * width
            level = y + {"top": 0.06, "middle": 0.0, "bottom": -0.06}[up]
            free = all(
                abs(middle - a) > width / 2 + 0.01 or abs(level - b) > 0.045
                for other, place, a, b in spots
                if (other, place) != (which, at)
            )
            inside = middle - width / 2 > -0.02 and middle + width / 2 < 1.02
            if free and inside and all(abs(middle - a) > (width + w) / 2 or abs(level - b) > 0.07 for a, b, w in taken):
                sides[which][at] = option
                taken.append((middle, level, width))
                break
    return sides


def thinned(names: Sequence[str], room: float) -> list[int]:
    """The places whose names have room beside one another, the first among them; `room` is in letters.

    >>> thinned(["0", "1", "2", "3"], 8), thinned(["long", "name", "here", "too"], 10)
    ([0, 1, 2, 3], [0, 2])
    """
    widest = max((len(name) for name in names), default=1) + 1
    return list(range(0, len(names), max(1, math.ceil(len(names) * widest / room))))
