"""Charts for a paper, drawn with matplotlib: the width of a column or of a page, nothing that is not data."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from textwrap import wrap
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullLocator, PercentFormatter

from uncone.analysis.number_format import clipped
from uncone.report.charts.frame import (
    LABEL,
    bands,
    categories,
    has_legend,
    has_rows,
    labeled_ends,
    labeled_references,
    limits,
    log_ticks,
    places,
    row_height,
    scaled,
    shifts,
    spans,
    spread,
    text_sides,
    thinned,
)
from uncone.report.charts.model import (
    Bars,
    Chart,
    Cloud,
    Forest,
    Heatmap,
    Histogram,
    Line,
    Number,
    Points,
)
from uncone.report.charts.paper_cloud import cloud_figure, color_bar, plain_label
from uncone.report.charts.theme import COLUMN, DASHES, DOT, PAGE, PALETTES, PRINT, STYLE, WIDTHS, print_color

__all__ = ["draw", "saved", "styled"]

_POINTS = 0.6
"""Points on paper for a pixel of the page."""


def draw(chart: Chart | Cloud) -> dict[str, bytes]:
    """The figure as SVG and PNG, by ending."""
    with styled():
        figure = cloud_figure(chart) if isinstance(chart, Cloud) else _chart(chart)
        return {ending: saved(figure, ending) for ending in ("svg", "png")}


@contextmanager
def styled() -> Iterator[None]:
    """How all figures look, whatever the reader has set."""
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
    figure = Figure(figsize=(PAGE if chart.wide else COLUMN, _height(chart)))
    axes = figure.add_subplot()
    _frame(axes, chart)
    moved, sides = shifts(chart), iter(text_sides(chart))
    for place, mark in enumerate(chart.marks):
        match mark:
            case Line():
                _line(axes, mark)
            case Histogram():
                _histogram(axes, mark)
            case Bars():
                _bars(axes, chart, mark)
            case Points():
                _points(axes, mark, next(sides))
            case Forest():
                _forest(axes, chart, mark, moved[place])
            case Heatmap():
                _heatmap(figure, axes, mark)
    if has_legend(chart):
        named = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
        for line, _ in labeled_ends(chart):
            named.pop(plain_label(line.label), None)
        axes.legend(
            named.values(), named.keys(), loc="lower left", bbox_to_anchor=(0.0, 1.0),
            ncols=4 if chart.wide else 2, borderaxespad=0.2,
        )  # fmt: skip
    _notes(figure, axes, chart)
    return figure


def _height(chart: Chart) -> float:
    width = PAGE if chart.wide else COLUMN
    if chart.aspect is not None:
        return chart.aspect * width + 0.5
    above = 0.011 * LABEL * len(labeled_references(chart)) + 0.16 * has_legend(chart)
    if has_rows(chart):
        return 0.65 + row_height(chart) / 115 * max(len(categories(chart, "y")), 3) + above
    return (2.6 if chart.wide else 2.35) + above


def _frame(axes: Axes, chart: Chart) -> None:
    (left, right), (bottom, top) = spans(chart)
    for along, low, high in (("x", left, right), ("y", bottom, top)):
        axis = chart.x if along == "x" else chart.y
        if axis.log:
            axes.set(**{f"{along}scale": "log"})
        ends = (10**low, 10**high) if axis.log else (low, high)
        turned = axis.reverse if along == "x" else has_rows(chart) is not axis.reverse
        axes.set(**{f"{along}lim": ends[::-1] if turned else ends, f"{along}label": axis.title})
        _ticks(axes, chart, along, (low, high))
        if axis.zero_line:
            (axes.axvline if along == "x" else axes.axhline)(0, color=PRINT["muted"], linewidth=0.8, zorder=1.5)
    if any(isinstance(mark, Heatmap) for mark in chart.marks):
        axes.spines[:].set_visible(False)
    else:
        axes.grid(axis="both" if has_rows(chart) else "y")


def _ticks(axes: Axes, chart: Chart, along: str, span: tuple[float, float]) -> None:
    axis, ticks = (chart.x, axes.xaxis) if along == "x" else (chart.y, axes.yaxis)
    names = categories(chart, along)
    if axis.hidden:
        ticks.set_visible(False)
    elif axis.ticks:
        ticks.set_ticks(*map(list, zip(*axis.ticks, strict=True)))
        ticks.set_tick_params(length=0)
    elif names:
        shown = thinned(names, 95 if chart.wide else 44) if along == "x" and len(names) > 6 else range(len(names))
        texts = ["\n".join(wrap(clipped(names[place], 54), 28, break_on_hyphens=False)) for place in shown]
        ticks.set_ticks(list(shown), texts)
        ticks.set_tick_params(length=0)
        for place, label in zip(shown, ticks.get_ticklabels(), strict=True):
            label.set_fontweight("bold" if place in axis.strong else "normal")
    elif axis.log:
        # matplotlib's own labels of powers are formulas, and formulas are off: a name such as $x is none.
        ticks.set_minor_locator(NullLocator())
        ticks.set_ticks(*log_ticks(span, axis))
    else:
        bins = 13 if along == "x" and chart.wide else 7
        ticks.set_major_locator(MaxNLocator(nbins=bins, integer=axis.whole, steps=[1, 2, 2.5, 5, 10]))
        if axis.percent:
            decimals = 0 if span[1] - span[0] > 0.06 else 1
            ticks.set_major_formatter(PercentFormatter(1.0, decimals=decimals, symbol=" %"))


def _line(axes: Axes, line: Line) -> None:
    color, opacity = print_color(line.color)
    for place, low, high in bands(line):
        fill = axes.fill_betweenx if line.sideways else axes.fill_between
        fill(place, low, high, color=color, alpha=0.2, linewidth=0, zorder=2)
    y = _floats(line.y)
    if line.fill:
        axes.fill_between(line.x, y, color=color, alpha=0.14, linewidth=0, zorder=1.9)
    single = int(np.isfinite(y).sum()) == 1
    if single or line.error_bars:
        reach = _reach(line.y, line.low, line.high) if line.low else None
        _error_bars(axes, line.x, y, color, label=plain_label(line.label), yerr=reach)
        return
    marked = line.points or (line.weight == "main" and not line.sideways and len(line.x) <= 26 and not line.guide)
    axes.plot(
        line.x,
        y,
        color=color,
        alpha=0.5 if line.weight == "light" else opacity,
        linewidth=_POINTS * WIDTHS[line.weight],
        linestyle=DASHES[line.dash],
        marker="o" if marked else None,
        markersize=2.2,
        zorder=3,
        label="" if line.guide else plain_label(line.label),
    )


def _error_bars(axes: Axes, x: Sequence[float], y: Any, color: str, **rest: Any) -> Any:  # noqa: ANN401 - matplotlib's
    style = {"fmt": "o", "markersize": 3.5, "elinewidth": 0.9, "capsize": 2, "zorder": 3}
    return axes.errorbar(x, y, **{**style, **rest}, color=color)


def _histogram(axes: Axes, bins: Histogram) -> None:
    color, opacity = print_color(bins.color)
    shape = {"label": plain_label(bins.label), "linewidth": 1.1, "linestyle": DASHES[bins.dash]}
    axes.stairs(bins.heights, bins.edges, fill=bins.filled, color=color, alpha=opacity, **shape)
    if bins.shaded and not bins.filled:
        axes.stairs(bins.heights, bins.edges, fill=True, color=color, alpha=0.14)


def _bars(axes: Axes, chart: Chart, bars: Bars) -> None:
    beside = [mark for mark in chart.marks if isinstance(mark, Bars)]
    at = np.array(places(bars))
    step = float(np.diff(at).min()) if len(at) > 1 else 1.0
    size = step * (1.0 if len(at) > 30 else 0.75) / len(beside)
    at += size * (next(i for i, one in enumerate(beside) if one is bars) - (len(beside) - 1) / 2)
    color, opacity = print_color(bars.color)
    style: dict[str, Any] = {"color": color, "alpha": opacity, "linewidth": 0, "label": plain_label(bars.label)}
    reach = _reach(bars.y, bars.low, bars.high) if bars.low else None
    style |= {"error_kw": {"elinewidth": 0.9, "capsize": 2, "ecolor": PRINT["ink"]}}
    y = _floats(bars.y)
    made = axes.barh(at, y, size, xerr=reach, **style) if bars.sideways else axes.bar(at, y, size, yerr=reach, **style)
    if bars.texts:
        axes.bar_label(made, [plain_label(text) for text in bars.texts], padding=2, fontsize=6.5)


def _points(axes: Axes, points: Points, sides: Sequence[str]) -> None:
    color, opacity = print_color(points.color)
    size = 0.55 * points.size
    style: dict[str, Any] = {"markersize": size, "alpha": opacity, "color": color, "zorder": 4, "clip_on": False}
    filled: dict[str, Any] = {"markerfacecolor": "none"} if points.ring else {"markeredgewidth": 0}
    y = _floats(points.y)
    axes.plot(points.x, y, DOT[points.symbol], label=plain_label(points.label), **style, **filled)
    for place, side in enumerate(sides):
        if side:
            up, beside = side.split()
            shift = {"left": -1.0, "center": 0.0, "right": 1.0}[beside], {"top": 1, "middle": 0, "bottom": -1}[up]
            axes.annotate(
                plain_label(points.texts[place]),
                (points.x[place], y[place]),
                xytext=(shift[0] * size / 2, shift[1] * (size / 2 + 1.5)),
                textcoords="offset points",
                ha={"left": "right", "center": "center", "right": "left"}[beside],
                va={"top": "bottom", "middle": "center", "bottom": "top"}[up],
                fontsize=6.5,
                color=color if points.ring else PRINT["ink"],
            )


def _forest(axes: Axes, chart: Chart, forest: Forest, shift: float) -> None:
    color, _ = print_color(forest.color)
    small = row_height(chart) < 24
    size, width = (5.0, 1.4) if forest.large else (2.6, 0.7) if small else (3.5, 0.9)
    label = plain_label(forest.label)
    for is_open in (False, True):
        chosen = [i for i in range(len(forest.rows)) if bool(forest.open and forest.open[i]) is is_open]
        if not chosen:
            continue
        values, low, high = ([column[i] for i in chosen] for column in (forest.values, forest.low, forest.high))
        rows = [forest.rows[i] + shift for i in chosen]
        look: dict[str, Any] = {"fmt": DOT[forest.symbol], "markersize": size, "elinewidth": width, "label": label}
        if is_open:
            look["markerfacecolor"] = "white"
        _error_bars(axes, _floats(values), rows, color, xerr=_reach(values, low, high), **look)
        label = ""  # named once


def _heatmap(figure: Figure, axes: Axes, heatmap: Heatmap) -> None:
    low, high = limits(heatmap)
    scale = f"{heatmap.scale}, texts" if heatmap.texts and heatmap.scale == "diverging" else heatmap.scale
    colors: Any = "viridis"
    if scale in PALETTES:
        stops = [(at, [*(int(one) / 255 for one in rgb.split(",")), a]) for at, rgb, a in PALETTES[scale]]
        colors = LinearSegmentedColormap.from_list(scale, stops)
    values = np.array([_floats(row) for row in heatmap.values]).reshape(
        len(heatmap.values), -1 if heatmap.values else 0
    )
    mesh = axes.imshow(values, cmap=colors, vmin=low, vmax=high, aspect="auto", interpolation="none")
    for (i, j), value in np.ndenumerate(values):
        if heatmap.texts and heatmap.texts[i][j]:
            dark = scale not in PALETTES and (value - low) / (high - low) < 0.55
            ink = "white" if dark else PRINT["ink"]
            axes.text(j, i, plain_label(heatmap.texts[i][j]), ha="center", va="center", fontsize=6.5, color=ink)
    color_bar(figure, mesh, axes, heatmap.bar)


def _notes(figure: Figure, axes: Axes, chart: Chart) -> None:
    """References with their labels, notes, and names at the ends of curves."""
    figure.draw_without_rendering()  # lays it out: the height in points is known only now
    height = axes.get_window_extent().height * 72 / figure.dpi
    (left, right), (bottom, top) = spans(chart)
    rows = labeled_references(chart)
    for one in chart.references:
        color, opacity = print_color(one.color)
        look: dict[str, Any] = {"color": color, "alpha": opacity, "linewidth": 0.9, "linestyle": DASHES[one.dash]}
        if one.horizontal:
            axes.axhline(one.at, **look, zorder=2.5)
            continue
        share = 1 - 8.5 * rows.index(one) / height if one in rows else 1.0
        axes.axvline(one.at, 0, share, **look, zorder=3.5)
        if one in rows:
            before = (scaled(one.at, chart.x) > left + 0.3 * (right - left)) is not chart.x.reverse
            axes.annotate(
                plain_label(one.label), (one.at, share), xycoords=("data", "axes fraction"),
                xytext=(-2 if before else 2, 0), textcoords="offset points",
                ha="right" if before else "left", va="top", fontsize=6.5,
            )  # fmt: skip
    flat = [one for one in chart.references if one.horizontal and one.label]
    wanted = [height * (scaled(one.at, chart.y) - bottom) / (top - bottom) for one in flat]
    for one, want, place in zip(flat, wanted, spread(wanted, 8.5, height), strict=True):
        axes.annotate(
            plain_label(one.label), (1.0, one.at), xycoords=("axes fraction", "data"),
            xytext=(0, place - want + 1.5), textcoords="offset points", ha="right", va="bottom", fontsize=6.5,
        )  # fmt: skip
    for note in chart.notes:
        axes.annotate(
            plain_label(note.text), (note.x, note.y), xytext=(0, 3), textcoords="offset points",
            ha="center", va="bottom", fontsize=6.5, color=print_color(note.color)[0],
        )  # fmt: skip
    ends = labeled_ends(chart)
    wanted = [height * (scaled(end, chart.y) - bottom) / (top - bottom) for _, end in ends]
    for (line, end), want, place in zip(ends, wanted, spread(wanted, 8.5, height), strict=True):
        color, _ = print_color(line.color)
        axes.annotate(
            plain_label(clipped(line.label, 28)),
            xy=(1.0, end),
            xycoords=("axes fraction", "data"),
            xytext=(11, place - want),
            textcoords="offset points",
            ha="left",
            va="center",
            fontsize=7,
            color=PRINT["ink" if line.weight == "main" else "muted"],
            arrowprops={
                "arrowstyle": "-", "color": color, "alpha": 0.5 if line.weight == "light" else 1.0,
                "linewidth": 0.7, "shrinkA": 1, "shrinkB": 0, "relpos": (0, 0.5),
            },
            annotation_clip=False,
        )  # fmt: skip


def _floats(values: Sequence[Number]) -> Any:  # noqa: ANN401 - what matplotlib takes
    return np.array([math.nan if value is None else value for value in values], np.float64)


def _reach(y: Sequence[Number], low: Sequence[Number], high: Sequence[Number]) -> Any:  # noqa: ANN401 - as above
    middle = _floats(y)
    ends = np.stack([middle - _floats(low), _floats(high) - middle])
    return np.maximum(np.nan_to_num(ends), 0.0)
