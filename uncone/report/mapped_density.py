"""Pictures of millions of rows: how many fall into each cell, and what most of them are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from textwrap import wrap
from typing import Any

import numpy as np

from uncone.data.batch import Matrix
from uncone.diagnosis.words import clipped
from uncone.maps.results import Density
from uncone.report.mapped import Map
from uncone.report.mapped_lines import AXES, trust_text, unparted
from uncone.report.mapped_palette import UNKNOWN, category_colours, scale_of
from uncone.report.mapped_pictures import footer_of, legend_of, sheet_of
from uncone.report.text import printable

__all__ = ["density_sheets"]

Figure = Any
"""A figure of matplotlib."""


def density_sheets(result: Map, densities: Sequence[Density]) -> dict[str, Figure]:
    """The sheets by the ending of their name: the colours of the cells where there are any, then how many rows.

    A cell has the colour of the category that most of its rows have, fainter where there are few, or of the mean of
    its rows' numbers; how many is on a logarithmic scale.
    """
    made = {}
    if any(one.members is not None for one in densities):
        made[""] = _by_category(result, densities)
    elif any(one.values is not None for one in densities):
        made[""] = _by_number(result, densities)
    made["-density" if made else ""] = _by_count(result, densities)
    return made


def _by_category(result: Map, densities: Sequence[Density]) -> Figure:
    figure, every = sheet_of(len(densities), height=0.35)
    top = _top(densities)
    for axes, one in zip(every, densities, strict=True):
        axes.imshow(_majority(one, top), **_shown(one))
        _framed(axes, result, one, len(densities))
    names = max((one.names for one in densities), key=len)
    legend_of(figure, [clipped(printable(str(name)), 24) for name in names], category_colours(len(names)))
    return _signed(figure, result)


def _by_number(result: Map, densities: Sequence[Density]) -> Figure:
    figure, every = sheet_of(len(densities))
    scale = scale_of(np.concatenate([np.ravel(one.values) for one in densities if one.values is not None]))
    mesh = None
    for axes, one in zip(every, densities, strict=True):
        if one.values is not None:
            mesh = axes.imshow(one.values, cmap="viridis", vmin=scale.low, vmax=scale.high, **_shown(one))
        _framed(axes, result, one, len(densities))
    title = result.colourings[0].title if result.colourings else "number"
    _bar(figure, mesh, every, f"{clipped(printable(title), 60)}, mean of a cell")
    return _signed(figure, result)


def _by_count(result: Map, densities: Sequence[Density]) -> Figure:
    from matplotlib.colors import LogNorm
    from matplotlib.ticker import FuncFormatter, NullFormatter

    figure, every = sheet_of(len(densities))
    mesh = None
    for axes, one in zip(every, densities, strict=True):
        counts = np.ma.masked_equal(np.asarray(one.counts), 0)
        mesh = axes.imshow(counts, cmap="viridis", norm=LogNorm(1, _top(densities)), **_shown(one))
        _framed(axes, result, one, len(densities))
    bar = _bar(figure, mesh, every, "rows in a cell")
    bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda value, place: f"{value:,.0f}"))
    bar.ax.yaxis.set_minor_formatter(NullFormatter())
    return _signed(figure, result)


def _top(densities: Sequence[Density]) -> int:
    return max([int(one.counts.max(initial=1)) for one in densities] + [2])


def _shown(one: Density) -> dict[str, Any]:
    extent = (float(one.edges_x[0]), float(one.edges_x[-1]), float(one.edges_y[0]), float(one.edges_y[-1]))
    return {"extent": extent, "origin": "lower", "interpolation": "none", "aspect": "equal"}


def _framed(axes: Any, result: Map, one: Density, several: int) -> None:  # noqa: ANN401 - of matplotlib
    axes.tick_params(length=0, labelbottom=False, labelleft=False)
    if result.method in AXES:
        axes.set_xlabel(f"{AXES[result.method]} 1", fontsize=7, labelpad=1)
        axes.set_ylabel(f"{AXES[result.method]} 2", fontsize=7, labelpad=1)
    trust = next((trust_text(result, panel.trust) for panel in result.panels if panel.name == one.name), "")
    name = [clipped(printable(one.name), 40)] if several > 1 else []
    axes.set_title(
        "\n".join([*name, *wrap(unparted(trust), 75 if several == 1 else 42)]), fontsize=7.5 if several <= 2 else 6
    )


def _bar(figure: Figure, mesh: Any, every: Sequence[Any], title: str) -> Any:  # noqa: ANN401 - of matplotlib
    bar = figure.colorbar(mesh, ax=every, aspect=35, pad=0.02, fraction=0.035)
    bar.outline.set_visible(False)
    bar.set_label(title)
    return bar


def _signed(figure: Figure, result: Map) -> Figure:
    figure.supxlabel(footer_of(result), x=0.01, ha="left", fontsize=6.5, color="#5d6977")
    return figure


def _majority(density: Density, top: int) -> Matrix:
    """Colours (h, w, 4): the category of every cell, fainter where there are few rows."""
    from matplotlib.colors import to_rgb

    k = len(density.names)
    colours = np.array([to_rgb(one) for one in [*category_colours(k), UNKNOWN]])
    members = np.full(density.counts.shape, -1) if density.members is None else np.asarray(density.members, np.int64)
    made = np.zeros((*density.counts.shape, 4))
    made[..., :3] = colours[np.where((members >= 0) & (members < k), members, -1)]
    share = np.log1p(density.counts) / math.log1p(top)
    made[..., 3] = np.where(density.counts > 0, 0.25 + 0.75 * share, 0.0)
    return made
