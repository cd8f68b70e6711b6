"""Clouds of points for a paper: one cloud, a sheet of several, or the density of millions of points."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colorbar import Colorbar
from matplotlib.colors import LogNorm, Normalize, to_rgb, to_rgba
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullFormatter

from uncone.analysis.number_format import clipped
from uncone.analysis.projections.results import Density
from uncone.data.batch import Matrix
from uncone.report.charts.cloud import MOST_LEGEND, category_colors, frame_of, value_range
from uncone.report.charts.model import Cloud, CloudView, Coloring
from uncone.report.charts.theme import COLUMN, GRAY, PAGE, PRINT
from uncone.report.text import printable

__all__ = ["cloud_figure", "clouds_sheet", "color_bar", "density_sheets", "legend_label", "majority"]

_SIDES = ((0, 1), (0, 2))
"""Pairs of axes from which a cloud in space is shown."""
_ACROSS = 4

Axes = Any
"""Axes of matplotlib, in the plane or in space."""


def cloud_figure(cloud: Cloud) -> Figure:
    """A row of pictures per view: one in the plane, two of a cloud in space; the colors mean the same in all."""
    sides = _SIDES if cloud.dims == 3 else _SIDES[:1]
    figure = Figure(figsize=(PAGE if cloud.dims == 3 or cloud.wide else COLUMN, 2.9 * len(cloud.views)))
    grid = figure.subplots(len(cloud.views), len(sides), squeeze=False)
    coloring = cloud.colorings[0] if cloud.colorings else None
    for row, view in zip(grid, cloud.views, strict=True):
        size = min(12.0, max(1.5, 3000 / max(len(view.points), 1)))
        style = {"s": size, "linewidths": 0, "alpha": 0.8, "rasterized": True}
        for axes, side in zip(row, sides, strict=True):
            axes.scatter(*view.points[:, side].T, c=_point_colors(coloring, view), **style)
            if view.path is not None and len(view.path) > 1:
                axes.plot(*view.path[:, side].T, color=PRINT["ink"], linewidth=1.0)
            if view.frame is not None:
                middle, half = (part[list(side)] for part in view.frame)
                axes.set(
                    xlim=(middle[0] - half[0], middle[0] + half[0]), ylim=(middle[1] - half[1], middle[1] + half[1])
                )
            if cloud.axes:
                axes.set(xlabel=cloud.axes[side[0]], ylabel=cloud.axes[side[1]])
        if len(cloud.views) > 1:
            row[0].set_title(legend_label(view.label), loc="left", fontsize=8)
    if coloring is not None and coloring.values is not None:
        color_bar(figure, ScalarMappable(Normalize(*value_range(coloring)), "viridis"), grid, coloring.title)
    elif coloring is not None:
        _legend(figure, coloring.names, category_colors(len(coloring.names)), title=coloring.title, ncols=4)
    return figure


def clouds_sheet(
    clouds: Sequence[Cloud], place: int, titles: Sequence[str], footer: str, angle: tuple[float, float] | None
) -> Figure:
    """The first view of every cloud in its coloring number `place`; in space from an angle (height, direction)."""
    colorings = [cloud.colorings[place] for cloud in clouds if place < len(cloud.colorings)]
    first = colorings[0] if colorings else None
    limits = value_range(*colorings) if first is not None and first.values is not None else None
    rows = 0 if first is None or limits is not None else math.ceil(len(first.names) / 5)
    figure, pictures = _sheet(len(clouds), space=angle is not None, height=0.17 * rows)
    for at, (axes, cloud) in enumerate(zip(pictures, clouds, strict=True)):
        _scatter(axes, cloud, colorings[at] if colorings else None, limits, len(clouds))
        _label(axes, cloud)
        _set_axes(axes, cloud, angle, square=len(clouds) > 1)
    if first is not None and limits is not None:
        values = np.concatenate([np.asarray(coloring.values, np.float64) for coloring in colorings])
        beyond = bool((values < limits[0]).any()), bool((values > limits[1]).any())
        extend = {(True, True): "both", (True, False): "min", (False, True): "max"}.get(beyond, "neither")
        bar = ScalarMappable(Normalize(*limits), "viridis")
        color_bar(figure, bar, pictures, clipped(printable(first.title), 60), extend)
    elif first is not None:
        _legend(figure, *_legend_entries(first, with_counts=all(coloring is first for coloring in colorings)))
    return _signed(figure, pictures, titles, footer)


def density_sheets(
    densities: Sequence[Density], number: str, axes: Sequence[str], titles: Sequence[str], footer: str
) -> dict[str, Figure]:
    """The sheets by the ending of their name: the colors of the cells if there are any, then the number of points.

    A cell has the color of the category that most of its points have, fainter if there are few, or of the mean of
    their numbers, which are called `number`; the number of points is on a logarithmic scale.
    """

    def sheet(image: Callable[[Density], Any], height: float = 0.0, **look: Any) -> tuple[Figure, list[Axes]]:  # noqa: ANN401 - matplotlib's
        figure, pictures = _sheet(len(densities), height=height)
        for density, picture in zip(densities, pictures, strict=True):
            picture.tick_params(length=0, labelbottom=False, labelleft=False)
            _name_axes(picture, axes[:2])
            cells = image(density)
            if cells is not None:
                ends = [float(edges[at]) for edges in (density.edges_x, density.edges_y) for at in (0, -1)]
                place = {"extent": ends, "origin": "lower", "interpolation": "none", "aspect": "equal"}
                picture.imshow(cells, **place, **look)
        return _signed(figure, pictures, titles, footer), pictures

    top = max([int(density.counts.max(initial=1)) for density in densities] + [2])
    figures = {}
    means = [density.values for density in densities if density.values is not None]
    if any(density.members is not None for density in densities):
        figure, _ = sheet(lambda density: majority(density, top), height=0.35)
        names = max((density.names for density in densities), key=len)
        _legend(figure, [str(name) for name in names], category_colors(len(names)))
        figures[""] = figure
    elif means:
        scale = Normalize(*value_range(*(Coloring("", values=np.ravel(values)) for values in means)))
        figure, pictures = sheet(lambda density: density.values, cmap="viridis", norm=scale)
        title = f"{clipped(printable(number), 60)}, mean of a cell"
        color_bar(figure, ScalarMappable(scale, "viridis"), pictures, title)
        figures[""] = figure
    log = LogNorm(1, top)
    figure, pictures = sheet(lambda density: np.ma.masked_equal(density.counts, 0), cmap="viridis", norm=log)
    bar = color_bar(figure, ScalarMappable(log, "viridis"), pictures, "points in a cell")
    bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    bar.ax.yaxis.set_minor_formatter(NullFormatter())
    return figures | {"-density" if figures else "": figure}


def majority(density: Density, top: int) -> Matrix:
    """Colors (h, w, 4): the category of every cell, fainter if it has few points of at most `top`."""
    k = len(density.names)
    palette = np.array([to_rgb(color) for color in [*category_colors(k), GRAY]])
    codes = np.full(density.counts.shape, -1) if density.members is None else np.asarray(density.members, np.int64)
    colors = np.zeros((*density.counts.shape, 4))
    colors[..., :3] = palette[np.where((codes >= 0) & (codes < k), codes, -1)]
    share = np.log1p(density.counts) / math.log1p(top)
    colors[..., 3] = np.where(density.counts > 0, 0.25 + 0.75 * share, 0.0)
    return colors


def _sheet(n: int, *, space: bool = False, height: float = 0.0) -> tuple[Figure, list[Axes]]:
    """A figure with room for n pictures, and their axes; `height` inches more for a legend."""
    across = n if n <= 3 else min(_ACROSS, math.ceil(n / 2))
    down = math.ceil(n / across)
    wide, tall = (6.2, 5.2) if n == 1 else (7.4, 0.9 + down * (7.4 / across + 0.3))
    figure = Figure(figsize=(wide, tall + height))
    kind = {"projection": "3d"} if space else {}
    pictures = figure.subplots(down, across, squeeze=False, subplot_kw=kind).ravel().tolist()
    for axes in pictures[n:]:
        axes.remove()
    return figure, pictures[:n]


def _name_axes(axes: Axes, names: Sequence[str], pad: float = 1.0) -> None:
    for axis, name in zip("xyz", names, strict=False):
        getattr(axes, f"set_{axis}label")(name, fontsize=7, labelpad=pad)


def _signed(figure: Figure, pictures: Sequence[Axes], titles: Sequence[str], footer: str) -> Figure:
    for axes, title in zip(pictures, titles, strict=True):
        axes.set_title(title, fontsize=7.5 if len(pictures) <= 2 else 6)
    figure.supxlabel(footer, x=0.01, ha="left", fontsize=6.5, color=PRINT["muted"])
    return figure


def _point_colors(coloring: Coloring | None, view: CloudView, limits: tuple[float, float] | None = None) -> np.ndarray:
    """The color of each point of a view, as (n, 4); `limits` are the ends of a scale that several views share."""
    if coloring is None:
        return np.tile(to_rgba(PRINT["accent"]), (len(view.points), 1))
    has_value = coloring.has_value[view.indices]
    if coloring.codes is not None:
        palette = np.array([*map(to_rgba, category_colors(len(coloring.names))), to_rgba(GRAY)])
        return np.asarray(palette[np.where(has_value, np.asarray(coloring.codes)[view.indices], -1)])
    values = np.asarray(coloring.values, np.float64)[view.indices]
    colors = np.asarray(matplotlib.colormaps["viridis"](Normalize(*limits or value_range(coloring), clip=True)(values)))
    colors[~has_value] = to_rgba(GRAY)
    return colors


def _scatter(
    axes: Axes, cloud: Cloud, coloring: Coloring | None, limits: tuple[float, float] | None, several: int
) -> None:
    """The points of a picture; unknown ones lie below the others."""
    view = cloud.views[0]
    n = len(view.points)
    order = np.arange(n) if coloring is None else np.argsort(coloring.has_value[view.indices], kind="stable")
    size = float(np.clip(9_000 / max(n, 1), 0.5, 9.0)) / (1 if several == 1 else 1.8)
    style: dict[str, Any] = {"s": size, "linewidths": 0, "alpha": 0.85 if n <= 5_000 else 0.55 if n <= 50_000 else 0.4}
    style |= {"rasterized": n > 2_000, **({"alpha": 1.0, "depthshade": True} if cloud.dims == 3 else {})}
    points = np.asarray(view.points, np.float64)[order]
    axes.scatter(*points.T, c=_point_colors(coloring, view, limits)[order], **style)


def _label(axes: Axes, cloud: Cloud) -> None:
    """A ring around every marked word, and its name at the most central of its points."""
    if cloud.marks is None:
        return
    view = cloud.views[0]
    codes = cloud.marks[view.indices]
    for place in np.unique(codes[codes >= 0]).tolist():
        points = np.asarray(view.points, np.float64)[codes == place]
        axes.scatter(*points.T, s=12, facecolors="none", edgecolors=PRINT["ink"], linewidths=0.5)
        middle = points[np.argmin(((points - np.median(points, axis=0)) ** 2).sum(axis=1))]
        box = {"boxstyle": "round,pad=0.15", "facecolor": "white", "alpha": 0.75, "linewidth": 0}
        text = clipped(printable(cloud.marked[place]), 24)
        axes.text(*middle, f" {text}", fontsize=7, fontweight="bold", color=PRINT["ink"], bbox=box, zorder=9)


def _set_axes(axes: Axes, cloud: Cloud, angle: tuple[float, float] | None, *, square: bool) -> None:
    middle, sides, _ = frame_of(cloud.views[0])
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


def _legend_entries(coloring: Coloring, *, with_counts: bool) -> tuple[list[str], list[str]]:
    """Names for the legend, with the number of points unless that differs by picture; and their colors."""
    names, colors = coloring.shown_names, category_colors(len(coloring.names))
    if not with_counts:
        return names, colors
    rows = zip([*names, coloring.rest], [*colors, GRAY], coloring.counts, strict=True)
    entries = [(f"{clipped(name, 24)} ({n:,})", color) for name, color, n in rows if n]
    return [name for name, _ in entries], [color for _, color in entries]


def _legend(figure: Figure, names: Sequence[str], colors: Sequence[str], title: str = "", ncols: int = 5) -> None:
    labels = [legend_label(clipped(printable(name), 36)) for name in names[:MOST_LEGEND]]
    dots = [Line2D([], [], linestyle="", marker="o", markersize=3.5, color=color) for color in colors[:MOST_LEGEND]]
    if labels:
        columns, style = min(len(labels), ncols), {"handletextpad": 0.2, "title": title or None}
        figure.legend(dots, labels, loc="outside upper center", ncols=columns, **style)


def color_bar(figure: Any, colors: ScalarMappable, axes: Any, title: str, extend: str = "neither") -> Colorbar:  # noqa: ANN401 - matplotlib's
    """The scale of colors beside the chart; `extend` names the ends beyond which there are more values."""
    bar: Colorbar = figure.colorbar(colors, ax=axes, aspect=30, pad=0.015, fraction=0.03, extend=extend)
    bar.outline.set_visible(False)
    bar.set_label(title)
    return bar


def legend_label(text: str) -> str:
    """A label that starts with an underscore would be left out of legends."""
    return f" {text}" if text.startswith("_") else text
