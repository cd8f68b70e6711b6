"""Clouds of points for a paper: in the plane, with the line through them; what is in space from two sides."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from numpy.typing import NDArray

from uncone.report.deep_cloud import Cloud, View

__all__ = ["cloud_figure"]

_COLUMN, _PAGE = 3.4, 7.0
_MUTED, _INK = "#7a8591", "#17202a"
_SIDES = ((0, 1), (0, 2))
"""Pairs of axes from which a cloud in space is seen."""


def cloud_figure(cloud: Cloud) -> Figure:
    """A row of pictures per view: one in the plane, two of a cloud in space; the colours mean the same in all."""
    sides = _SIDES if cloud.in_space else _SIDES[:1]
    width = _PAGE if cloud.in_space else _COLUMN
    figure = Figure(figsize=(width, 2.75 * len(cloud.views)))
    grid = figure.subplots(len(cloud.views), len(sides), squeeze=False)
    norm = _norm(cloud)
    for row, view in zip(grid, cloud.views, strict=True):
        for axes, side in zip(row, sides, strict=True):
            _scatter(axes, cloud, view, side, norm)
        if len(cloud.views) > 1:
            row[0].set_title(view.label, loc="left", fontsize=8)
    if norm is not None:
        bar = figure.colorbar(ScalarMappable(norm, "viridis"), ax=grid, aspect=30, pad=0.02, fraction=0.04)
        bar.outline.set_visible(False)
        bar.set_label(cloud.scale)
    return figure


def _norm(cloud: Cloud) -> Normalize | None:
    known = np.concatenate([view.values[np.isfinite(view.values)] for view in cloud.views])
    if not len(known) or not cloud.scale:
        return None
    low, high = float(known.min()), float(np.quantile(known, 0.99))
    return Normalize(low, high if high > low else low + 1.0)


def _scatter(axes: Axes, cloud: Cloud, view: View, side: tuple[int, int], norm: Normalize | None) -> None:
    x, y = side
    known: NDArray[np.bool_] = np.isfinite(view.values) if norm is not None else np.zeros(len(view.values), bool)
    style: dict[str, Any] = {"s": 3, "linewidths": 0, "alpha": 0.8, "rasterized": True}
    if not known.all():
        axes.scatter(view.points[~known, x], view.points[~known, y], color=_MUTED, **style)
    if known.any():
        axes.scatter(
            view.points[known, x], view.points[known, y], c=view.values[known], cmap="viridis", norm=norm, **style
        )
    if len(view.path) > 1:
        axes.plot(view.path[:, x], view.path[:, y], color=_INK, linewidth=1.0)
    axes.set_xlabel(cloud.axes[x])
    axes.set_ylabel(cloud.axes[y])
