"""Pictures of a map as files: sample size, seed, method and trust stand on each of them."""

from __future__ import annotations

from textwrap import wrap

from uncone.analysis.number_format import clipped, count
from uncone.analysis.projections.results import Panel
from uncone.errors import OptionError
from uncone.extras import require
from uncone.report.charts.cloud import view_of
from uncone.report.documents.map.document import clouds
from uncone.report.documents.map.sentences import (
    METHODS,
    axes_of,
    shown_rows,
    subtitle,
    trust_text,
    unparted,
    where,
)
from uncone.report.results.map import Angles, Map
from uncone.report.text import last_name, printable

__all__ = ["pictures"]

_MOST_SVG = 5_000
"""Points up to which a picture is also written as SVG: of more, the file is larger than the page."""
_ELEVATION, _DIRECTION = 22.0, -60.0


def pictures(result: Map, angles: Angles = 3, colouring: str | None = None) -> dict[str, bytes]:
    """Every picture by its file name: in the plane one sheet, in space one for each angle, of a density two.

    Raises:
        MissingPackageError: matplotlib is not installed.
        OptionError: there is no such colouring, or no angle.
    """
    require("matplotlib", extra="models")
    chosen, views = _chosen(result, colouring), _angles(angles)
    from uncone.report.charts.matplotlib import saved, styled
    from uncone.report.charts.sheet import clouds_sheet, density_sheets

    name = f"map-{result.method}{f'-{_safe(colouring)}' if colouring else ''}"
    footer = _footer(result)
    with styled():
        if result.density:
            shown = {panel.name: _title(result, panel) for panel in result.panels}
            titles = [shown.get(one.name, one.name) for one in result.density]
            number = result.colourings[0].title if result.colourings else "number"
            sheets = density_sheets(result.density, number, axes_of(result), titles, footer)
            return {f"{name}{ending}.png": saved(figure, "png") for ending, figure in sheets.items()}
        titles = [_title(result, panel) for panel in result.panels]
        endings = ["png", "svg"] if sum(len(one.points) for one in result.panels) <= _MOST_SVG else ["png"]
        drawn = clouds(result)
        made: dict[str, bytes] = {}
        for place, view in enumerate(views if result.dims == 3 else [None], 1):
            figure = clouds_sheet(drawn, chosen, titles, footer, view)
            whole = f"{name}-3d-{place}" if view is not None else name
            made |= {f"{whole}.{ending}": saved(figure, ending) for ending in endings}
        return made


def _chosen(result: Map, name: str | None) -> int:
    """The place of a colouring among those of the map."""
    names = [one.name for one in result.colourings]
    if name is not None and name not in names:
        raise OptionError(f"The points are not coloured by {name!r}; there are: {', '.join(names) or 'none'}.")
    return 0 if name is None else names.index(name)


def _angles(angles: Angles) -> list[tuple[float, float]]:
    if isinstance(angles, int):
        if angles < 1:
            raise OptionError(f"A picture in space is seen from 1 side or more; we got {angles}.")
        return [(_ELEVATION, _DIRECTION + 360.0 * place / angles) for place in range(angles)]
    if not len(angles):
        raise OptionError("A picture in space is seen from 1 side or more; we got no angle.")
    return [(float(height), float(direction)) for height, direction in angles]


def _safe(name: str) -> str:
    return "".join(letter if letter.isascii() and (letter.isalnum() or letter in "-_") else "-" for letter in name)[:40]


def _title(result: Map, panel: Panel) -> str:
    name = [clipped(printable(panel.name), 40)] if len(result.panels) > 1 else []
    outside = 0 if result.density else view_of(panel.points)[2]
    beyond = [f"{count(outside, 'point')} outside"] if outside else []
    told = ", ".join([part for part in (trust_text(result, panel.trust), *beyond) if part])
    small = len(result.panels) > 3
    return "\n".join([*name, *(told.split(", ") if small else wrap(unparted(told), 75 if not name else 42))])


def _footer(result: Map) -> str:
    """What stands below every sheet: source, layer, method, rows shown of how many, seed."""
    parts = [last_name(result.source["name"]), subtitle(result), where(result) if len(result.panels) == 1 else ""]
    parts += [f"{METHODS.get(result.method, result.method)} in {result.dims} dimensions", shown_rows(result)]
    text = " · ".join([clipped(part, 60) for part in [*parts, f"seed {result.seed}"] if part])
    return "\n".join(wrap(text, 125))
