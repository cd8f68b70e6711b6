"""Pictures of a map as files, drawn with matplotlib: sample size, seed, method and trust stand on each of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from textwrap import wrap
from typing import Any

import numpy as np

from uncone.data.batch import Matrix
from uncone.diagnosis.words import clipped, count
from uncone.errors import OptionError
from uncone.extras import require
from uncone.maps.results import Colouring, Panel
from uncone.report.mapped import Angles, Map
from uncone.report.mapped_lines import AXES, METHODS, shown_rows, source_name, subtitle, trust_text, unparted, where
from uncone.report.mapped_palette import (
    UNKNOWN,
    category_colours,
    marks,
    members_on,
    scale_of,
    shades_of,
    values_of,
    values_on,
)
from uncone.report.mapped_store import view_of
from uncone.report.text import printable

__all__ = ["footer_of", "legend_of", "pictures", "sheet_of"]

_MOST_SVG = 5_000
"""Points up to which a picture is also written as SVG: of more, the file is larger than the page."""
_ACROSS = 4
_ELEVATION, _DIRECTION = 22.0, -60.0
_MOST_LEGEND = 21
_INK = "#17202a"

Axes = Any
"""Axes of matplotlib, in the plane or in space."""


def pictures(result: Map, angles: Angles = 3, colouring: str | None = None) -> dict[str, bytes]:
    """Every picture by its file name: in the plane one sheet, in space one for each angle, of a density two.

    Raises:
        MissingPackageError: matplotlib is not installed.
        OptionError: there is no such colouring, or no angle.
    """
    require("matplotlib", extra="models")
    chosen = _chosen(result, colouring)
    views = _angles(angles)
    from uncone.report.drawing import saved, styled

    name = f"map-{result.method}{f'-{_safe(colouring)}' if colouring else ''}"
    made: dict[str, bytes] = {}
    with styled():
        if result.density:
            from uncone.report.mapped_density import density_sheets

            sheets = density_sheets(result, result.density)
            made |= {f"{name}{ending}.png": saved(figure, "png") for ending, figure in sheets.items()}
        elif result.dims == 3:
            for place, view in enumerate(views, 1):
                figure = _sheet(result, chosen, view)
                made |= {f"{name}-3d-{place}.{ending}": saved(figure, ending) for ending in _endings(result)}
        else:
            figure = _sheet(result, chosen, None)
            made |= {f"{name}.{ending}": saved(figure, ending) for ending in _endings(result)}
    return made


def _chosen(result: Map, name: str | None) -> Colouring | None:
    if name is None:
        return result.colourings[0] if result.colourings else None
    found = next((one for one in result.colourings if one.name == name), None)
    if found is None:
        known = ", ".join(one.name for one in result.colourings) or "none"
        raise OptionError(f"The points are not coloured by {name!r}; there are: {known}.")
    return found


def _angles(angles: Angles) -> list[tuple[float, float]]:
    if isinstance(angles, int):
        if angles < 1:
            raise OptionError(f"A picture in space is seen from 1 side or more; we got {angles}.")
        return [(_ELEVATION, _DIRECTION + 360.0 * place / angles) for place in range(angles)]
    if not len(angles):
        raise OptionError("A picture in space is seen from 1 side or more; we got no angle.")
    return [(float(height), float(direction)) for height, direction in angles]


def _endings(result: Map) -> list[str]:
    return ["png", "svg"] if sum(len(one.points) for one in result.panels) <= _MOST_SVG else ["png"]


def _safe(name: str) -> str:
    return "".join(letter if letter.isascii() and (letter.isalnum() or letter in "-_") else "-" for letter in name)[:40]


def _grid(n: int) -> tuple[int, int]:
    """Rows and columns of a sheet."""
    across = n if n <= 3 else min(_ACROSS, math.ceil(n / 2))
    return math.ceil(n / across), across


def sheet_of(n: int, *, space: bool = False, height: float = 0.0) -> tuple[Any, list[Axes]]:
    """A figure with room for n pictures, and their axes; `height` inches more for a legend."""
    from matplotlib.figure import Figure

    down, across = _grid(n)
    wide, tall = (6.2, 5.2) if n == 1 else (7.4, 0.9 + down * (7.4 / across + 0.3))
    figure = Figure(figsize=(wide, tall + height))
    kind = {"projection": "3d"} if space else {}
    every = figure.subplots(down, across, squeeze=False, subplot_kw=kind).ravel().tolist()
    for axes in every[n:]:
        axes.remove()
    return figure, every[:n]


def _sheet(result: Map, colouring: Colouring | None, angle: tuple[float, float] | None) -> Any:  # noqa: ANN401 - a figure
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    rows = 0 if colouring is None or colouring.values is not None else math.ceil(len(colouring.names) / 5)
    figure, every = sheet_of(len(result.panels), space=angle is not None, height=0.17 * rows)
    for axes, panel in zip(every, result.panels, strict=True):
        _scatter(axes, result, panel, colouring)
        _label(axes, result, panel)
        _frame(axes, result, panel.points, angle)
        axes.set_title(_titled(result, panel), fontsize=7.5 if len(every) <= 2 else 6)
    if colouring is not None and colouring.values is not None:
        scale = scale_of(values_of(colouring))
        colours = ScalarMappable(Normalize(scale.low, scale.high), "viridis")
        bar = figure.colorbar(colours, ax=every, aspect=35, pad=0.02, fraction=0.035, extend=_extended(scale))
        bar.outline.set_visible(False)
        bar.set_label(clipped(printable(colouring.title), 60))
    elif colouring is not None:
        _legend(figure, result, colouring)
    figure.supxlabel(footer_of(result), x=0.01, ha="left", fontsize=6.5, color="#5d6977")
    return figure


def _scatter(axes: Axes, result: Map, panel: Panel, colouring: Colouring | None) -> None:
    """The points of a picture; what is not known lies below the others."""
    points, n = np.asarray(panel.points, np.float64), len(panel.points)
    size = float(np.clip(9_000 / max(n, 1), 0.5, 9.0)) / (1 if len(result.panels) == 1 else 1.8)
    style: dict[str, Any] = {"s": size, "linewidths": 0, "alpha": 0.85 if n <= 5_000 else 0.55 if n <= 50_000 else 0.4}
    style |= {"rasterized": n > 2_000, **({"alpha": 1.0, "depthshade": True} if points.shape[1] == 3 else {})}
    if colouring is None:
        axes.scatter(*points.T, color="#0072B2", **style)
    elif colouring.values is not None:
        values, scale = values_on(colouring, panel), scale_of(values_of(colouring))
        known = np.isfinite(values)
        axes.scatter(*points[~known].T, color=UNKNOWN, **style)
        ends = {"vmin": scale.low, "vmax": scale.high if scale.high > scale.low else scale.low + 1}
        axes.scatter(*points[known].T, c=values[known], cmap="viridis", **ends, **style)
    else:
        members = members_on(colouring, panel)
        colours = np.array([*category_colours(len(colouring.names)), UNKNOWN])
        bounded = np.where((members >= 0) & (members < len(colouring.names)), members, -1)
        order = np.argsort(bounded >= 0, kind="stable")
        axes.scatter(*points[order].T, c=colours[bounded[order]], **style)


def _label(axes: Axes, result: Map, panel: Panel) -> None:
    """A ring around every marked word, and its name at the point in the middle of its own."""
    if not result.highlight:
        return
    members = marks(result)[np.asarray(panel.places)]
    for place in np.unique(members[members >= 0]).tolist():
        own = np.asarray(panel.points, np.float64)[members == place]
        axes.scatter(*own.T, s=12, facecolors="none", edgecolors=_INK, linewidths=0.5)
        middle = own[np.argmin(((own - np.median(own, axis=0)) ** 2).sum(axis=1))]
        text = clipped(printable(result.highlight[place]), 24)
        box = {"boxstyle": "round,pad=0.15", "facecolor": "white", "alpha": 0.75, "linewidth": 0}
        axes.text(*middle, f" {text}", fontsize=7, fontweight="bold", color=_INK, bbox=box, zorder=9)


def _frame(axes: Axes, result: Map, points: Matrix, angle: tuple[float, float] | None) -> None:
    view = view_of(points)
    sides = view.sides if len(result.panels) == 1 else np.full_like(view.sides, view.half)  # on a sheet all are square
    reach = 1.04 * sides
    for name, middle, side in zip("xyz", view.middle, reach, strict=False):
        getattr(axes, f"set_{name}lim")(middle - side, middle + side)
        getattr(axes, f"{name}axis").set_ticklabels([])
    named = AXES.get(result.method)
    if named:
        for place, name in enumerate("xyz"[: result.dims], 1):
            getattr(axes, f"set_{name}label")(f"{named} {place}", fontsize=7, labelpad=1 if angle is None else -12)
    if angle is None:
        axes.set_aspect("equal", adjustable="box")
        axes.tick_params(length=0)
        return
    axes.set_box_aspect(reach, zoom=1.15)
    axes.view_init(elev=angle[0], azim=angle[1])
    axes.grid(False)
    for axis in (axes.xaxis, axes.yaxis, axes.zaxis):
        axis.set_pane_color((1.0, 1.0, 1.0, 0.0))


def _titled(result: Map, panel: Panel) -> str:
    name = [clipped(printable(panel.name), 40)] if len(result.panels) > 1 else []
    outside = view_of(panel.points).outside
    beyond = [f"{count(outside, 'point')} outside"] if outside else []
    told = ", ".join([part for part in (trust_text(result, panel.trust), *beyond) if part])
    small = len(result.panels) > 3
    return "\n".join([*name, *(told.split(", ") if small else wrap(unparted(told), 75 if not name else 42))])


def footer_of(result: Map) -> str:
    """What stands below every sheet: source, layer, method, rows shown of how many, seed."""
    parts = [printable(source_name(result)), subtitle(result), where(result) if len(result.panels) == 1 else ""]
    parts += [f"{METHODS.get(result.method, result.method)} in {result.dims} dimensions", shown_rows(result)]
    text = " · ".join([clipped(part, 60) for part in [*parts, f"seed {result.seed}"] if part])
    return "\n".join(wrap(text, 125))


def _extended(scale: Any) -> str:  # noqa: ANN401 - the ends of a scale
    below, above = scale.low > scale.least, scale.high < scale.most
    return "both" if below and above else "min" if below else "max" if above else "neither"


def _legend(figure: Any, result: Map, colouring: Colouring) -> None:  # noqa: ANN401 - a figure
    shades = shades_of(result, colouring)
    known: Sequence[int | None] = shades.counts if shades.counts is not None else [None] * len(shades.names)
    listed = [one for one in zip(shades.names, shades.colours, known, strict=True) if one[2] != 0]
    if shades.counts is None:
        listed = listed[:-1]
    legend_of(figure, [f"{clipped(name, 24)}{'' if n is None else f' ({n:,})'}" for name, _, n in listed],
          [colour for _, colour, _ in listed])  # fmt: skip


def legend_of(figure: Any, names: Sequence[str], colours: Sequence[str]) -> None:  # noqa: ANN401 - a figure
    """A dot and a name for each colour, above the pictures."""
    from matplotlib.lines import Line2D

    shown = list(zip(names, colours, strict=True))[:_MOST_LEGEND]
    if not shown:
        return
    dots = [Line2D([], [], linestyle="", marker="o", markersize=3.5, color=colour) for _, colour in shown]
    texts = [name for name, _ in shown]
    columns = min(len(shown), 5)
    figure.legend(dots, texts, frameon=False, fontsize=7, loc="outside upper center", ncols=columns, handletextpad=0.2)
