"""Clouds of points for a paper: in the plane as they are, those in space from two sides."""

from __future__ import annotations

from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colorbar import Colorbar
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from uncone.analysis.number_format import clipped
from uncone.data.batch import Matrix
from uncone.report.charts.cloud import MOST_LEGEND, category_colors, value_range
from uncone.report.charts.model import Cloud, CloudView, Coloring
from uncone.report.charts.theme import COLUMN, GRAY, PAGE, PRINT

__all__ = ["cloud_figure", "color_bar", "known_points", "plain_label", "point_colors"]

_SIDES = ((0, 1), (0, 2))
"""Pairs of axes from which a cloud in space is seen."""


def cloud_figure(cloud: Cloud) -> Figure:
    """A row of pictures per view: one in the plane, two of a cloud in space; the colors mean the same in all."""
    sides = _SIDES if cloud.dims == 3 else _SIDES[:1]
    figure = Figure(figsize=(PAGE if cloud.dims == 3 or cloud.wide else COLUMN, 2.9 * len(cloud.views)))
    grid = figure.subplots(len(cloud.views), len(sides), squeeze=False)
    coloring = cloud.colorings[0] if cloud.colorings else None
    for row, view in zip(grid, cloud.views, strict=True):
        colors = point_colors(coloring, view)
        for axes, (x, y) in zip(row, sides, strict=True):
            _scatter(axes, view.points[:, [x, y]], colors)
            if view.path is not None and len(view.path) > 1:
                axes.plot(view.path[:, x], view.path[:, y], color=PRINT["ink"], linewidth=1.0)
            if cloud.axes:
                axes.set(xlabel=cloud.axes[x], ylabel=cloud.axes[y])
        if len(cloud.views) > 1:
            row[0].set_title(plain_label(view.label), loc="left", fontsize=8)
    if coloring is not None and coloring.values is not None:
        low, high = value_range(coloring)
        color_bar(figure, ScalarMappable(Normalize(low, high), "viridis"), grid, _color_title(coloring))
    elif coloring is not None:
        named = list(zip(coloring.names, category_colors(len(coloring.names)), strict=True))[:MOST_LEGEND]
        for name, color in named:
            grid[0][0].plot([], [], "o", markersize=4, color=color, label=clipped(plain_label(name), 24))
        figure.legend(loc="outside upper center", ncols=4, handletextpad=0.2, title=coloring.title)
    return figure


def _color_title(coloring: Coloring) -> str:
    return f"log10 of {coloring.title}" if coloring.log else coloring.title


def known_points(coloring: Coloring | None, view: CloudView) -> np.ndarray:
    """Which points of a view have a category or a number."""
    rows = np.arange(len(view.points)) if view.rows is None else view.rows
    if coloring is None:
        return np.ones(len(rows), bool)
    if coloring.codes is not None:
        codes = np.asarray(coloring.codes)[rows]
        return np.asarray((codes >= 0) & (codes < len(coloring.names)))
    return np.asarray(np.isfinite(np.asarray(coloring.values, np.float64)[rows]))


def point_colors(coloring: Coloring | None, view: CloudView, limits: tuple[float, float] | None = None) -> np.ndarray:
    """The color of each point of a view, as (n, 4); `limits` are the ends of a scale that several views share."""
    n = len(view.points)
    to_rgba = matplotlib.colors.to_rgba
    if coloring is None:
        return np.tile(to_rgba(PRINT["accent"]), (n, 1))
    rows = np.arange(n) if view.rows is None else view.rows
    if coloring.codes is not None:
        table = np.array([*map(to_rgba, category_colors(len(coloring.names))), to_rgba(GRAY)])
        return np.asarray(table[np.where(known_points(coloring, view), np.asarray(coloring.codes)[rows], -1)])
    values = np.asarray(coloring.values, np.float64)[rows]
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.log10(values) if coloring.log else values
    colors = np.asarray(matplotlib.colormaps["viridis"](Normalize(*limits or value_range(coloring), clip=True)(values)))
    colors[~np.isfinite(values)] = to_rgba(GRAY)
    return colors


def _scatter(axes: Axes, points: Matrix, colors: np.ndarray) -> None:
    size = min(12.0, max(1.5, 3000 / max(len(points), 1)))
    axes.scatter(points[:, 0], points[:, 1], c=colors, s=size, linewidths=0, alpha=0.8, rasterized=True)


def color_bar(figure: Figure, mapped: ScalarMappable, axes: Any, title: str, extend: str = "neither") -> Colorbar:  # noqa: ANN401 - one or many
    """The scale of colors beside the chart; `extend` is at which ends there is more."""
    bar = figure.colorbar(mapped, ax=axes, aspect=30, pad=0.015, fraction=0.03, extend=extend)
    bar.outline.set_visible(False)
    bar.set_label(title)
    return bar


def plain_label(text: str) -> str:
    """A label that starts with an underscore would be left out of legends."""
    return f" {text}" if text.startswith("_") else text
