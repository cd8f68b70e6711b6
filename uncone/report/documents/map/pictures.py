"""Pictures of a map as files; each shows sample size, seed, method and trust."""

from __future__ import annotations

from textwrap import wrap

from uncone.analysis.number_format import clipped, count
from uncone.analysis.projections.results import Panel
from uncone.errors import OptionError
from uncone.extras import require
from uncone.report.charts.cloud import view_of
from uncone.report.documents.map import sentences as say
from uncone.report.documents.map.document import clouds
from uncone.report.results.map import Angles, Map
from uncone.report.text import file_name, last_name, printable

__all__ = ["pictures"]

_MOST_SVG = 5_000
"""Points up to which a picture is also written as SVG."""
_ELEVATION, _DIRECTION = 22.0, -60.0


def pictures(result: Map, angles: Angles = 3, coloring: str | None = None) -> dict[str, bytes]:
    """Every picture by its file name: in the plane one sheet, in space one for each angle, of a density two.

    Raises:
        MissingPackageError: matplotlib is not installed.
        OptionError: there is no such coloring, or no angle.
    """
    require("matplotlib", extra="models")
    names = [one.name for one in result.colorings]
    if coloring is not None and coloring not in names:
        raise OptionError(f"The points are not colored by {coloring!r}; there are: {', '.join(names) or 'none'}.")
    chosen, views = 0 if coloring is None else names.index(coloring), _views(angles)
    from uncone.report.charts.matplotlib import saved, styled
    from uncone.report.charts.sheet import clouds_sheet, density_sheets

    name = f"map-{result.method}{f'-{file_name(coloring)}' if coloring else ''}"
    titles = {panel.name: _title(result, panel) for panel in result.panels}
    with styled():
        if result.density:
            number = result.colorings[0].title if result.colorings else "number"
            shown = [titles.get(one.name, one.name) for one in result.density]
            sheets = density_sheets(result.density, number, say.axes_of(result), shown, _footer(result))
            return {f"{name}{ending}.png": saved(figure, "png") for ending, figure in sheets.items()}
        endings = ["png", "svg"] if sum(len(panel.points) for panel in result.panels) <= _MOST_SVG else ["png"]
        shown, drawn, made = [titles[panel.name] for panel in result.panels], clouds(result), dict[str, bytes]()
        for place, view in enumerate(views if result.dims == 3 else [None], 1):
            figure = clouds_sheet(drawn, chosen, shown, _footer(result), view)
            whole = f"{name}-3d-{place}" if view is not None else name
            made |= {f"{whole}.{ending}": saved(figure, ending) for ending in endings}
        return made


def _views(angles: Angles) -> list[tuple[float, float]]:
    """The elevation and direction of each view."""
    if (angles if isinstance(angles, int) else len(angles)) < 1:
        shown = angles if isinstance(angles, int) else "no angle"
        raise OptionError(f"A picture in space is seen from 1 side or more; we got {shown}.")
    if isinstance(angles, int):
        return [(_ELEVATION, _DIRECTION + 360.0 * place / angles) for place in range(angles)]
    return [(float(height), float(direction)) for height, direction in angles]


def _title(result: Map, panel: Panel) -> str:
    name = [clipped(printable(panel.name), 40)] if len(result.panels) > 1 else []
    outside = 0 if result.density else view_of(panel.points)[2]
    beyond = f"{count(outside, 'point')} outside" if outside else ""
    trust = ", ".join(filter(None, (say.trust_text(result, panel.trust), beyond)))
    small = len(result.panels) > 3
    return "\n".join([*name, *(trust.split(", ") if small else wrap(say.unbroken(trust), 75 if not name else 42))])


def _footer(result: Map) -> str:
    """Source, layer, method, number of points and seed."""
    where = say.where(result) if len(result.panels) == 1 else ""
    parts = [last_name(result.source["name"]), say.subtitle(result), where]
    parts += [f"{say.method(result)} in {result.dims} dimensions", say.shown_points(result), f"seed {result.seed}"]
    return "\n".join(wrap(" · ".join(clipped(part, 60) for part in parts if part), 125))
