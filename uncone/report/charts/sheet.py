"""Sheets for a paper: several clouds of the same rows, or the density of millions of them, under one legend."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm, Normalize, to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullFormatter

from uncone.analysis.number_format import clipped
from uncone.analysis.projections.results import Density
from uncone.data.batch import Matrix
from uncone.report.charts.cloud import MOST_LEGEND, category_colors, value_range, view_of
from uncone.report.charts.model import Cloud, Coloring
from uncone.report.charts.paper_cloud import color_bar, known_points, plain_label, point_colors
from uncone.report.charts.theme import GRAY, PRINT
from uncone.report.text import printable

__all__ = ["clouds_sheet", "density_sheets", "majority"]

_ACROSS = 4

Axes = Any
"""Axes of matplotlib, in the plane or in space."""


def clouds_sheet(
    clouds: Sequence[Cloud], place: int, titles: Sequence[str], footer: str, angle: tuple[float, float] | None
) -> Figure:
    """The first view of every cloud in its coloring number `place`; in space seen at an angle (height, direction)."""
    colorings = [cloud.colorings[place] for cloud in clouds if place < len(cloud.colorings)]
    first = colorings[0] if colorings else None
    limits = value_range(*colorings) if first is not None and first.values is not None else None
    rows = 0 if first is None or limits is not None else math.ceil(len(first.names) / 5)
    figure, every = _sheet(len(clouds), space=angle is not None, height=0.17 * rows)
    for at, (axes, cloud) in enumerate(zip(every, clouds, strict=True)):
        _scatter(axes, cloud, colorings[at] if colorings else None, limits, len(clouds))
        _label(axes, cloud)
        _frame(axes, cloud, angle, square=len(clouds) > 1)
    if first is not None and limits is not None:
        bar = ScalarMappable(Normalize(*limits), "viridis")
        color_bar(figure, bar, every, clipped(printable(first.title), 60), extend=_beyond(colorings, limits))
    elif first is not None:
        _legend(figure, *_named(first, counted=all(one is first for one in colorings)))
    return _signed(figure, every, titles, footer)


def density_sheets(
    densities: Sequence[Density], number: str, axes: Sequence[str], titles: Sequence[str], footer: str
) -> dict[str, Figure]:
    """The sheets by the ending of their name: the colors of the cells if there are any, then how many points.

    A cell has the color of the category that most of its points have, fainter if there are few, or of the mean of
    their numbers, which are called `number`; how many is on a logarithmic scale.
    """
    top = max([int(one.counts.max(initial=1)) for one in densities] + [2])
    made = {}
    if any(one.members is not None for one in densities):
        figure, every = _cells(densities, axes, height=0.35)
        for one, own in zip(densities, every, strict=True):
            own.imshow(majority(one, top), **_shown(one))
        names = max((one.names for one in densities), key=len)
        _legend(figure, [str(name) for name in names], category_colors(len(names)))
        made[""] = _signed(figure, every, titles, footer)
    elif any(one.values is not None for one in densities):
        figure, every = _cells(densities, axes)
        known = [one.values for one in densities if one.values is not None]
        scale = Normalize(*value_range(*(Coloring("", values=np.ravel(values)) for values in known)))
        for one, own in zip(densities, every, strict=True):
            if one.values is not None:
                own.imshow(one.values, cmap="viridis", norm=scale, **_shown(one))
        color_bar(figure, ScalarMappable(scale, "viridis"), every, f"{clipped(printable(number), 60)}, mean of a cell")
        made[""] = _signed(figure, every, titles, footer)
    figure, every = _cells(densities, axes)
    for one, own in zip(densities, every, strict=True):
        own.imshow(np.ma.masked_equal(one.counts, 0), cmap="viridis", norm=LogNorm(1, top), **_shown(one))
    bar = color_bar(figure, ScalarMappable(LogNorm(1, top), "viridis"), every, "points in a cell")
    bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    bar.ax.yaxis.set_minor_formatter(NullFormatter())
    made["-density" if made else ""] = _signed(figure, every, titles, footer)
    return made


def majority(density: Density, top: int) -> Matrix:
    """Colors (h, w, 4): the category of every cell, fainter if it has few points of at most `top`."""
    k = len(density.names)
    colors = np.array([to_rgb(one) for one in [*category_colors(k), GRAY]])
    codes = np.full(density.counts.shape, -1) if density.members is None else np.asarray(density.members, np.int64)
    made = np.zeros((*density.counts.shape, 4))
    made[..., :3] = colors[np.where((codes >= 0) & (codes < k), codes, -1)]
    share = np.log1p(density.counts) / math.log1p(top)
    made[..., 3] = np.where(density.counts > 0, 0.25 + 0.75 * share, 0.0)
    return made


def _sheet(n: int, *, space: bool = False, height: float = 0.0) -> tuple[Figure, list[Axes]]:
    """A figure with room for n pictures, and their axes; `height` inches more for a legend."""
    across = n if n <= 3 else min(_ACROSS, math.ceil(n / 2))
    down = math.ceil(n / across)
    wide, tall = (6.2, 5.2) if n == 1 else (7.4, 0.9 + down * (7.4 / across + 0.3))
    figure = Figure(figsize=(wide, tall + height))
    kind = {"projection": "3d"} if space else {}
    every = figure.subplots(down, across, squeeze=False, subplot_kw=kind).ravel().tolist()
    for axes in every[n:]:
        axes.remove()
    return figure, every[:n]


def _cells(densities: Sequence[Density], names: Sequence[str], height: float = 0.0) -> tuple[Figure, list[Axes]]:
    figure, every = _sheet(len(densities), height=height)
    for axes in every:
        axes.tick_params(length=0, labelbottom=False, labelleft=False)
        _name_axes(axes, names[:2])
    return figure, every


def _shown(one: Density) -> dict[str, Any]:
    extent = (float(one.edges_x[0]), float(one.edges_x[-1]), float(one.edges_y[0]), float(one.edges_y[-1]))
    return {"extent": extent, "origin": "lower", "interpolation": "none", "aspect": "equal"}


def _name_axes(axes: Axes, names: Sequence[str], pad: float = 1.0) -> None:
    for axis, name in zip("xyz", names, strict=False):
        getattr(axes, f"set_{axis}label")(name, fontsize=7, labelpad=pad)


def _signed(figure: Figure, every: Sequence[Axes], titles: Sequence[str], footer: str) -> Figure:
    for axes, title in zip(every, titles, strict=True):
        axes.set_title(title, fontsize=7.5 if len(every) <= 2 else 6)
    figure.supxlabel(footer, x=0.01, ha="left", fontsize=6.5, color=PRINT["muted"])
    return figure


def _scatter(
    axes: Axes, cloud: Cloud, coloring: Coloring | None, limits: tuple[float, float] | None, several: int
) -> None:
    """The points of a picture; unknown ones lie below the others."""
    view = cloud.views[0]
    n, order = len(view.points), np.argsort(known_points(coloring, view), kind="stable")
    size = float(np.clip(9_000 / max(n, 1), 0.5, 9.0)) / (1 if several == 1 else 1.8)
    style: dict[str, Any] = {"s": size, "linewidths": 0, "alpha": 0.85 if n <= 5_000 else 0.55 if n <= 50_000 else 0.4}
    style |= {"rasterized": n > 2_000, **({"alpha": 1.0, "depthshade": True} if cloud.dims == 3 else {})}
    points = np.asarray(view.points, np.float64)[order]
    axes.scatter(*points.T, c=point_colors(coloring, view, limits)[order], **style)


def _label(axes: Axes, cloud: Cloud) -> None:
    """A ring around every marked word, and its name at the point in the middle of its own."""
    if cloud.marks is None:
        return
    view = cloud.views[0]
    codes = cloud.marks if view.rows is None else cloud.marks[view.rows]
    for place in np.unique(codes[codes >= 0]).tolist():
        own = np.asarray(view.points, np.float64)[codes == place]
        axes.scatter(*own.T, s=12, facecolors="none", edgecolors=PRINT["ink"], linewidths=0.5)
        middle = own[np.argmin(((own - np.median(own, axis=0)) ** 2).sum(axis=1))]
        box = {"boxstyle": "round,pad=0.15", "facecolor": "white", "alpha": 0.75, "linewidth": 0}
        text = clipped(printable(cloud.marked[place]), 24)
        axes.text(*middle, f" {text}", fontsize=7, fontweight="bold", color=PRINT["ink"], bbox=box, zorder=9)


def _frame(axes: Axes, cloud: Cloud, angle: tuple[float, float] | None, *, square: bool) -> None:
    middle, sides, _ = view_of(cloud.views[0].points)
    reach = 1.04 * (np.full_like(sides, sides.max()) if square else sides)
    for name, center, side in zip("xyz", middle, reach, strict=False):
        getattr(axes, f"set_{name}lim")(center - side, center + side)
        getattr(axes, f"{name}axis").set_ticklabels([])
    _name_axes(axes, cloud.axes, 1 if angle is None else -12)
    if angle is None:
        axes.set_aspect("equal", adjustable="box")
        axes.tick_params(length=0)
        return
    axes.set_box_aspect(reach, zoom=1.15)
    axes.view_init(elev=angle[0], azim=angle[1])
    axes.grid(False)
    for axis in (axes.xaxis, axes.yaxis, axes.zaxis):
        axis.set_pane_color((1.0, 1.0, 1.0, 0.0))


def _beyond(colorings: Sequence[Coloring], limits: tuple[float, float]) -> str:
    """At which ends of the scale of colors there are more numbers."""
    values = np.concatenate([np.asarray(one.values, np.float64) for one in colorings])
    below, above = bool((values < limits[0]).any()), bool((values > limits[1]).any())
    return "both" if below and above else "min" if below else "max" if above else "neither"


def _named(coloring: Coloring, *, counted: bool) -> tuple[list[str], list[str]]:
    """Names for the legend with how many points each has, unless that differs by picture; and their colors."""
    k = len(coloring.names)
    names, colors = [printable(name) or "without a name" for name in coloring.names], category_colors(k)
    if not counted:
        return names, colors
    codes = np.asarray(coloring.codes, np.int64)
    counts = np.bincount(np.where((codes >= 0) & (codes < k), codes, k), minlength=k + 1).tolist()
    shown = [(name, color, n) for name, color, n in zip([*names, coloring.rest], [*colors, GRAY], counts, strict=True)
             if n]  # fmt: skip
    return [f"{clipped(name, 24)} ({n:,})" for name, _, n in shown], [color for _, color, _ in shown]


def _legend(figure: Figure, names: Sequence[str], colors: Sequence[str]) -> None:
    """A dot and a name for each color, above the pictures."""
    shown = [(clipped(printable(name), 36), color) for name, color in zip(names, colors, strict=True)][:MOST_LEGEND]
    if not shown:
        return
    dots = [Line2D([], [], linestyle="", marker="o", markersize=3.5, color=color) for _, color in shown]
    names = [plain_label(name) for name, _ in shown]
    figure.legend(dots, names, loc="outside upper center", ncols=min(len(shown), 5), handletextpad=0.2)
