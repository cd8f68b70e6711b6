"""Charts for a paper, drawn with matplotlib: the width of a column or of a page, nothing that is not data."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullLocator, PercentFormatter

from uncone.analysis.number_format import clipped
from uncone.data.batch import Vector
from uncone.report.charts.frame import LABEL, Along, Frame, bands, color_limits, color_stops, has_markers, is_dotted
from uncone.report.charts.model import Bars, Chart, Cloud, Forest, Heatmap, Histogram, Line, Number, Points
from uncone.report.charts.sheet import cloud_figure, color_bar, legend_label
from uncone.report.charts.theme import COLUMN, DASHES, DOT, PAGE, PRINT, STYLE, WIDTHS, print_color

__all__ = ["draw", "saved", "styled"]

_POINTS = 0.6
"""Points on paper for a pixel of the page."""
_LINE = 8.5
"""Height of a line of text, in points."""


def draw(chart: Chart | Cloud) -> dict[str, bytes]:
    """The figure as SVG and PNG, by ending."""
    with styled():
        figure = cloud_figure(chart) if isinstance(chart, Cloud) else _chart(chart)
        return {ending: saved(figure, ending) for ending in ("svg", "png")}


@contextmanager
def styled() -> Iterator[None]:
    """The style of all figures, whatever the reader has set."""
    with matplotlib.rc_context(), warnings.catch_warnings():
        matplotlib.rcdefaults()  # the reader's own settings (LaTeX, fonts, colors) are not ours
        matplotlib.rcParams.update(STYLE)
        # A script that the font lacks shows as boxes; the CSV beside has the word.
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        yield


def saved(figure: Figure, ending: str) -> bytes:
    """The bytes of a figure, the same in every run."""
    buffer = io.BytesIO()
    # Dates and versions would make two runs differ.
    stamps = {"svg": {"Date": None, "Creator": None}, "png": {"Software": None}}
    figure.savefig(buffer, format=ending, metadata=stamps[ending])
    return buffer.getvalue()


def _chart(chart: Chart) -> Figure:
    frame = Frame(chart)
    figure = Figure(figsize=(PAGE if chart.wide else COLUMN, _height(frame)))
    axes = figure.add_subplot()
    _set_axes(axes, frame)
    for mark in chart.marks:
        _DRAWERS[type(mark)](axes, frame, mark)
    if frame.has_legend:
        handles = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
        for line, _ in frame.labeled_ends:
            handles.pop(legend_label(line.label), None)
        place = {"bbox_to_anchor": (0.0, 1.0), "borderaxespad": 0.2, "ncols": 4 if chart.wide else 2}
        axes.legend(handles.values(), handles.keys(), loc="lower left", **place)
    figure.draw_without_rendering()  # lays it out: the height in points is known only now
    _annotate(axes, frame, axes.get_window_extent().height * 72 / figure.dpi)
    return figure


def _height(frame: Frame) -> float:
    chart = frame.chart
    if chart.aspect is not None:
        return chart.aspect * (PAGE if chart.wide else COLUMN) + 0.5
    above = 0.011 * LABEL * len(frame.reference_rows) + 0.16 * frame.has_legend
    if frame.has_rows:
        return 0.65 + frame.row_height / 115 * max(len(chart.y.categories), 3) + above
    return (2.6 if chart.wide else 2.35) + above


def _set_axes(axes: Axes, frame: Frame) -> None:
    along: Along
    for along in ("x", "y"):
        axis, ends = frame.axes[along], frame.spans[along]
        if axis.log:
            axes.set(**{f"{along}scale": "log"})
            ends = (10 ** ends[0], 10 ** ends[1])
        from_top = along == "y" and frame.has_rows
        axes.set(**{f"{along}lim": ends[::-1] if from_top else ends, f"{along}label": axis.title})
        _set_ticks(axes, frame, along)
        if axis.zero_line:
            (axes.axvline if along == "x" else axes.axhline)(0, color=PRINT["muted"], linewidth=0.8, zorder=1.5)
    if frame.has(Heatmap):
        axes.spines[:].set_visible(False)
    else:
        axes.grid(axis="both" if frame.has_rows else "y")


def _set_ticks(axes: Axes, frame: Frame, along: Along) -> None:
    axis, ticks, wide = frame.axes[along], axes.xaxis if along == "x" else axes.yaxis, frame.chart.wide
    low, high = frame.spans[along]
    if axis.hidden:
        ticks.set_visible(False)
    elif axis.ticks or axis.categories:
        tick_labels = frame.named_ticks(along, 95 if wide else 44, 6)
        ticks.set_ticks([place for place, *_ in tick_labels], ["\n".join(lines) for _, lines, _ in tick_labels])
        ticks.set_tick_params(length=0)
        for (*_, strong), label in zip(tick_labels, ticks.get_ticklabels(), strict=True):
            label.set_fontweight("bold" if strong else "normal")
    elif axis.log:
        # matplotlib's own labels of powers are formulas, and formulas are off: a name such as $x is none.
        ticks.set_minor_locator(NullLocator())
        ticks.set_ticks(*frame.log_ticks(along))
    else:
        bins = 13 if along == "x" and wide else 7
        ticks.set_major_locator(MaxNLocator(nbins=bins, integer=axis.whole, steps=[1, 2, 2.5, 5, 10]))
        if axis.percent:
            ticks.set_major_formatter(PercentFormatter(1.0, decimals=0 if high - low > 0.06 else 1, symbol=" %"))


def _line(axes: Axes, frame: Frame, line: Line) -> None:
    color, opacity = print_color(line.color)
    for place, low, high in bands(line):
        fill = axes.fill_betweenx if line.sideways else axes.fill_between
        fill(place, low, high, color=color, alpha=0.2, linewidth=0, zorder=2)
    label = "" if line.guide else legend_label(line.label)
    if is_dotted(line):
        reach = _reach(line.y, line.low, line.high) if line.low else None
        _error_bars(axes, line.x, _floats(line.y), color, label=label, yerr=reach)
        return
    alpha = 0.5 if line.weight == "light" else opacity
    look: dict[str, Any] = {"linewidth": _POINTS * WIDTHS[line.weight], "linestyle": DASHES[line.dash], "zorder": 3}
    look |= {"marker": "o" if has_markers(line) else None, "markersize": 2.2}
    axes.plot(line.x, _floats(line.y), color=color, alpha=alpha, label=label, **look)


def _error_bars(axes: Axes, x: Sequence[float] | Vector, y: Sequence[float] | Vector, color: str, **more: Any) -> None:  # noqa: ANN401 - matplotlib's
    style = {"fmt": "o", "markersize": 3.5, "elinewidth": 0.9, "capsize": 2, "zorder": 3}
    axes.errorbar(x, y, **{**style, **more}, color=color)


def _histogram(axes: Axes, frame: Frame, bins: Histogram) -> None:
    color, opacity = print_color(bins.color)
    shape = {"label": legend_label(bins.label), "linewidth": 1.1, "linestyle": DASHES[bins.dash]}
    axes.stairs(bins.heights, bins.edges, fill=bins.filled, color=color, alpha=opacity, **shape)
    if bins.shaded and not bins.filled:
        axes.stairs(bins.heights, bins.edges, fill=True, color=color, alpha=0.14)


def _bars(axes: Axes, frame: Frame, bars: Bars) -> None:
    series = [mark for mark in frame.chart.marks if isinstance(mark, Bars)]
    x = np.array(bars.x, np.float64)
    step = float(np.diff(x).min()) if len(x) > 1 else 1.0
    size = step * (1.0 if len(x) > 30 else 0.75) / len(series)
    x += size * (next(place for place, mark in enumerate(series) if mark is bars) - (len(series) - 1) / 2)
    color, opacity = print_color(bars.color)
    axes.bar(x, _floats(bars.y), size, color=color, alpha=opacity, linewidth=0, label=legend_label(bars.label))


def _points(axes: Axes, frame: Frame, points: Points) -> None:
    color, opacity = print_color(points.color)
    size, y = 0.55 * points.size, _floats(points.y)
    style: dict[str, Any] = {"markersize": size, "alpha": opacity, "color": color, "zorder": 4, "clip_on": False}
    style |= {"markerfacecolor": "none"} if points.ring else {"markeredgewidth": 0}
    axes.plot(points.x, y, DOT[points.symbol], label=legend_label(points.label), **style)
    for place, side in enumerate(frame.text_sides(points)):
        if side:
            level, beside = side.split()
            shift, ha = {"left": (-1, "right"), "center": (0, "center"), "right": (1, "left")}[beside]
            rise, va = {"top": (1, "bottom"), "middle": (0, "center"), "bottom": (-1, "top")}[level]
            ink = color if points.ring else PRINT["ink"]
            offset = (shift * size / 2, rise * (size / 2 + 1.5))
            _text(axes, points.texts[place], (points.x[place], y[place]), offset, ha=ha, va=va, color=ink)


def _forest(axes: Axes, frame: Frame, forest: Forest) -> None:
    color, _ = print_color(forest.color)
    size, width = (5.0, 1.4) if forest.large else (2.6, 0.7) if frame.row_height < 24 else (3.5, 0.9)
    label, rows = legend_label(forest.label), frame.forest_rows(forest)
    for is_open in (False, True):
        indices = [i for i in range(len(rows)) if bool(forest.open and forest.open[i]) is is_open]
        if indices:
            values, low, high = ([column[i] for i in indices] for column in (forest.values, forest.low, forest.high))
            look: dict[str, Any] = {"fmt": DOT[forest.symbol], "markersize": size, "elinewidth": width, "label": label}
            look |= {"markerfacecolor": "white"} if is_open else {}
            reach = _reach(values, low, high)
            _error_bars(axes, _floats(values), [rows[i] for i in indices], color, xerr=reach, **look)
            label = ""  # named once


def _heatmap(axes: Axes, frame: Frame, heatmap: Heatmap) -> None:
    low, high = color_limits(heatmap)
    stops = [(at, [*(int(part) / 255 for part in rgb.split(",")), alpha]) for at, rgb, alpha in color_stops(heatmap)]
    colors = LinearSegmentedColormap.from_list("", stops) if stops else "viridis"
    rows = len(heatmap.values)
    values = np.array([_floats(row) for row in heatmap.values]).reshape(rows, -1 if rows else 0)
    mesh = axes.imshow(values, cmap=colors, vmin=low, vmax=high, aspect="auto", interpolation="none")
    for (i, j), value in np.ndenumerate(values):
        if heatmap.texts and heatmap.texts[i][j]:
            ink = "white" if not stops and (value - low) / (high - low) < 0.55 else PRINT["ink"]
            axes.text(j, i, legend_label(heatmap.texts[i][j]), ha="center", va="center", fontsize=6.5, color=ink)
    color_bar(axes.get_figure(), mesh, axes, heatmap.bar)


_DRAWERS: dict[type, Callable[..., None]] = {
    Line: _line,
    Histogram: _histogram,
    Bars: _bars,
    Points: _points,
    Forest: _forest,
    Heatmap: _heatmap,
}


def _annotate(axes: Axes, frame: Frame, height: float) -> None:
    """References with their labels, notes, and names at the ends of curves."""
    rows = frame.reference_rows
    for reference in frame.chart.references:
        color, opacity = print_color(reference.color)
        look = {"color": color, "alpha": opacity, "linewidth": 0.9, "linestyle": DASHES[reference.dash]}
        if reference.horizontal:
            axes.axhline(reference.at, **look, zorder=2.5)
            continue
        top = 1 - _LINE * rows.index(reference) / height if reference in rows else 1.0
        axes.axvline(reference.at, 0, top, **look, zorder=3.5)
        if reference in rows:
            offset, side = ((-2.0, 0.0), "right") if frame.stands_left(reference) else ((2.0, 0.0), "left")
            place = {"ha": side, "va": "top", "xycoords": ("data", "axes fraction")}
            _text(axes, reference.label, (reference.at, top), offset, **place)
    at_right = {"xycoords": ("axes fraction", "data")}
    for reference, shift in frame.labeled_levels(height, _LINE):
        _text(axes, reference.label, (1.0, reference.at), (0, shift + 1.5), ha="right", va="bottom", **at_right)
    for note in frame.chart.notes:
        _text(axes, note.text, (note.x, note.y), (0, 3), ha="center", va="bottom", color=print_color(note.color)[0])
    for line, end, shift in frame.end_labels(height, _LINE):
        arrow = {"arrowstyle": "-", "color": print_color(line.color)[0], "linewidth": 0.7, "relpos": (0, 0.5)}
        arrow |= {"alpha": 0.5 if line.weight == "light" else 1.0, "shrinkA": 1, "shrinkB": 0}
        look = {"fontsize": 7, "color": PRINT["ink" if line.weight == "main" else "muted"], "annotation_clip": False}
        name = clipped(line.label, 28)
        _text(axes, name, (1.0, end), (11, shift), ha="left", va="center", arrowprops=arrow, **look, **at_right)


def _text(axes: Axes, text: str, at: tuple[float, float], offset: tuple[float, float], **look: Any) -> None:  # noqa: ANN401 - matplotlib's
    axes.annotate(legend_label(text), at, xytext=offset, textcoords="offset points", **{"fontsize": 6.5, **look})


def _floats(values: Sequence[Number]) -> Vector:
    return np.array([math.nan if value is None else value for value in values], np.float64)


def _reach(y: Sequence[Number], low: Sequence[Number], high: Sequence[Number]) -> np.ndarray:
    middle = _floats(y)
    ends = np.stack([middle - _floats(low), _floats(high) - middle])
    return np.maximum(np.nan_to_num(ends), 0.0)
