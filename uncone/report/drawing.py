"""Figures for a paper, drawn with matplotlib: the width of a column or of a page, nothing that is not data."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter, PercentFormatter

from uncone.diagnosis.words import clipped
from uncone.report.deep_cloud import Cloud
from uncone.report.deep_drawing import cloud_figure
from uncone.report.panel import Dots, Heat, Panel, Picture, Series, spread
from uncone.report.study_lines import chosen

__all__ = ["COLUMN", "PAGE", "draw", "saved", "styled"]

COLUMN = 3.4
PAGE = 7.0
"""Inches: the width of a column and of a page."""
_DPI = 300
_INK, _MUTED, _RULE = "#17202a", "#7a8591", "#e3e6ea"
_ROLES = {"accent": "#0072B2", "second": "#D55E00", "muted": _MUTED, "ink": _INK}
_WIDTHS = {
    "main": 1.6,
    "thin": 0.8,
    "light": 1.1,
    "dashed": 1.0,
    "level": 1.2,
    "points": 1.2,
    "word": 1.2,
    "word, dashed": 1.2,
}
_DASHES = {"dashed": (0, (4, 2.5)), "level": (0, (1, 1.2)), "word, dashed": (0, (4, 1.5))}
_BARS: dict[str, Any] = {"fmt": "o", "markersize": 3.5, "elinewidth": 0.9, "capsize": 2}
_STYLE: dict[Any, Any] = {
    "font.family": ["DejaVu Sans"],
    "font.size": 7.5,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.edgecolor": _MUTED,
    "axes.labelcolor": _INK,
    "xtick.color": _MUTED,
    "ytick.color": _MUTED,
    "xtick.labelcolor": _INK,
    "ytick.labelcolor": _INK,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "text.color": _INK,
    "text.parse_math": False,  # a word such as $x is no formula
    "svg.hashsalt": "uncone",  # the same study gives the same file
    "savefig.dpi": _DPI,
    "figure.constrained_layout.use": True,
}


def draw(picture: Picture) -> dict[str, bytes]:
    """The figure as SVG and PNG, by ending."""
    with styled():
        if isinstance(picture, Heat):
            figure = _heat(picture)
        elif isinstance(picture, Dots):
            figure = _dots(picture)
        elif isinstance(picture, Cloud):
            figure = cloud_figure(picture)
        else:
            figure = _panel(picture)
        return {"svg": saved(figure, "svg"), "png": saved(figure, "png")}


@contextmanager
def styled() -> Iterator[None]:
    """How all figures look, whatever the reader has set."""
    with matplotlib.rc_context(), warnings.catch_warnings():
        matplotlib.rcdefaults()  # the reader's own settings (LaTeX, fonts, colours) are not ours
        matplotlib.rcParams.update(_STYLE)
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


def _panel(panel: Panel) -> Figure:
    wide = panel.wide
    figure = Figure(figsize=(PAGE, 2.6) if wide else (COLUMN, 2.35))
    axes = figure.add_subplot()
    _frame(axes, panel)
    for one in panel.series:
        _curve(axes, one)
    for x, y, text in panel.rings:
        axes.plot([x], [y], "o", markersize=5, markerfacecolor="none", color=_ROLES["second"], zorder=4)
        if len(panel.rings) <= 14:
            axes.annotate(
                text,
                (x, y),
                xytext=(0, 4),
                textcoords="offset points",
                ha="center",
                va="bottom",
                fontsize=6,
                color=_ROLES["second"],
            )
    if _is_labelled(panel):
        _labels(figure, axes, panel)
    return figure


def _is_labelled(panel: Panel) -> bool:
    return len(panel.series) > 1 or bool(panel.series[0].word)


def _frame(axes: Axes, panel: Panel) -> None:
    axes.set_xlabel(panel.x_title)
    axes.set_ylabel(panel.y_title)
    numbers = [x for one in panel.series for x in one.x]
    pad = (0.06 if panel.is_points else 0.02) * ((max(numbers) - min(numbers)) or 10.0)
    axes.set_xlim(min(numbers) - pad, max(numbers) + (0 if _is_labelled(panel) and not panel.is_points else pad))
    if not panel.relative:
        axes.xaxis.set_major_locator(MaxNLocator(nbins=13 if panel.wide else 7, integer=True))
    low, high = panel.bounds
    if panel.log:
        axes.set_yscale("log")
        low, high = 10**low, 10**high
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, place: f"{value:,.6g}"))
        axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_ylim(low, high)
    axes.grid(axis="y", color=_RULE, linewidth=0.5)
    axes.set_axisbelow(True)
    if panel.zero:
        axes.axhline(0, color=_MUTED, linewidth=0.8, zorder=1.5)
    if panel.share:
        axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol=" %"))


def _curve(axes: Axes, one: Series) -> None:
    colour = _colour(one)
    known = [math.nan if value is None else value for value in one.y]
    if one.weight in ("main", "level"):
        points = list(zip(one.x, one.low, one.high, strict=True))
        for has, run in groupby(points, key=lambda point: point[1] is not None and point[2] is not None):
            if has:
                x, low, high = zip(*run, strict=True)
                axes.fill_between(x, low, high, color=colour, alpha=0.2, linewidth=0, zorder=2)
    single = sum(value is not None for value in one.y) == 1
    if one.weight == "points":
        _points(axes, one)
        return
    marked = single or (one.weight == "main" and len(one.x) <= 26)
    axes.plot(
        one.x,
        known,
        color=colour,
        alpha=0.5 if one.weight == "light" else 1.0,
        linewidth=_WIDTHS[one.weight],
        linestyle=_DASHES.get(one.weight, "solid"),
        marker="o" if marked else None,
        markersize=4 if single else 2.2,
        zorder=3,
        clip_on=False,
    )


def _points(axes: Axes, one: Series) -> None:
    for x, y, low, high in zip(one.x, one.y, one.low, one.high, strict=True):
        if y is None:
            continue
        reach = None if low is None or high is None else [[max(y - low, 0.0)], [max(high - y, 0.0)]]
        axes.errorbar([x], [y], yerr=reach, **_BARS, color=_colour(one), clip_on=False)


def _labels(figure: Figure, axes: Axes, panel: Panel) -> None:
    """A name at the end of each line, moved apart where two would touch, and tied to its line."""
    figure.draw_without_rendering()  # lays it out: the height in points is known only now
    height = axes.get_window_extent().height * 72 / figure.dpi
    bottom, top = panel.bounds
    ends = [(one, end) for one in panel.series if (end := one.end) is not None and (end > 0 or not panel.log)]
    wanted = [height * ((math.log10(end) if panel.log else end) - bottom) / (top - bottom) for _, end in ends]
    for (one, end), want, place in zip(ends, wanted, spread(wanted, 8.5, height), strict=True):
        axes.annotate(
            one.label,
            xy=(1.0, end),
            xycoords=("axes fraction", "data"),
            xytext=(11, place - want),
            textcoords="offset points",
            ha="left",
            va="center",
            fontsize=7,
            color=_INK if one.weight in ("main", "level", "points") or one.word else _MUTED,
            arrowprops={
                "arrowstyle": "-",
                "color": _colour(one),
                "alpha": 0.5 if one.weight == "light" else 1.0,
                "linewidth": 0.7,
                "shrinkA": 1,
                "shrinkB": 0,
                "relpos": (0, 0.5),
            },
            annotation_clip=False,
        )


def _heat(heat: Heat) -> Figure:
    figure = Figure(figsize=(PAGE, 0.8 + 0.145 * len(heat.words)))
    axes = figure.add_subplot()
    values = [[math.nan if value is None else value for value in row] for row in heat.values]
    known = [value for row in heat.values for value in row if value is not None]
    low = math.floor(10 * min([*known, 0.9])) / 10
    mesh = axes.imshow(values, cmap="viridis", vmin=low, vmax=1, aspect="auto", origin="lower", interpolation="none")
    axes.set_yticks(range(len(heat.words)), [clipped(word, 20) for word in heat.words], fontsize=6.5)
    axes.tick_params(axis="y", length=0)
    places = chosen(len(heat.layers), 13)
    axes.set_xticks(places, [str(heat.layers[place]) for place in places])
    axes.set_xlabel("layer (0 = embeddings)")
    axes.spines[:].set_visible(False)
    bar = figure.colorbar(mesh, ax=axes, aspect=30, pad=0.015, fraction=0.03)
    bar.outline.set_visible(False)
    bar.set_label("self-similarity, SelfSim")
    return figure


def _dots(dots: Dots) -> Figure:
    names = list(dict.fromkeys(one.label for one in dots.series))
    figure = Figure(figsize=(PAGE, 0.7 + 0.2 * len(dots.rows) + 0.15 * (len(names) > 1)))
    axes = figure.add_subplot()
    for one in dots.series:
        shift = 0.0 if len(names) == 1 else 0.22 * (names.index(one.label) - (len(names) - 1) / 2)
        value, low, high = one.y[0], one.low[0], one.high[0]
        assert value is not None
        reach = None if low is None or high is None else [[max(value - low, 0.0)], [max(high - value, 0.0)]]
        label = one.label if one.x[0] == min(other.x[0] for other in dots.series if other.label == one.label) else None
        axes.errorbar(
            [value],
            [one.x[0] + shift],
            xerr=reach,
            **_BARS,
            color=_colour(one),
            label=label,
        )
    axes.set_yticks(range(len(dots.rows)), dots.rows)
    axes.set_ylim(len(dots.rows) - 0.4, -0.6)
    axes.axvline(0, color=_MUTED, linewidth=0.8, zorder=1.5)
    axes.grid(axis="both", color=_RULE, linewidth=0.5)
    axes.set_axisbelow(True)
    axes.set_xlabel("value, with its 95 % interval")
    if len(names) > 1:
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, frameon=False)
    return figure


def _colour(one: Series) -> str:
    return _ROLES.get(one.colour, one.colour)
