"""The document of `map`: clouds of points that share texts and colors, how far to trust them, and pictures as files."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from functools import partial
from textwrap import wrap

import numpy as np

from uncone.analysis.number_format import clipped, cosine, count
from uncone.analysis.projections.results import Panel
from uncone.errors import OptionError
from uncone.extras import require
from uncone.report.charts.cloud import view_of
from uncone.report.charts.model import Cloud, CloudView, Coloring
from uncone.report.document import (
    Block,
    Cell,
    Clouds,
    Column,
    Document,
    Facts,
    Fold,
    Notes,
    Row,
    Section,
    Sentences,
    Table,
    Verdict,
    Widget,
)
from uncone.report.documents.map import sentences as say
from uncone.report.documents.map.colors import counts_of, extent, marked_words, panel_colorings
from uncone.report.results.map import Angles, Map
from uncone.report.text import file_name, last_name, printable, provenance_facts

_MOST_SVG = 5_000
"""Points up to which a picture is also written as SVG."""
_ELEVATION, _DIRECTION = 22.0, -60.0
_HIDDEN = ("in_memory", "path")
_PANELS = 14
"""Pictures that a screen has room for; the report has them all."""
_TRUST = (
    "Trustworthiness falls when points that are neighbors in the picture are not neighbors in the space. Continuity "
    "falls when neighbors in the space are torn apart in the picture. Both are 1 at best, and about 0.5 for a random "
    "picture."
)


def document(result: Map) -> Document:
    """The pictures, their trust, the counts of their colors, notes and provenance."""
    notes = [note for note in result.notes if note]
    source = {key: value for key, value in result.source.items() if key not in _HIDDEN}
    facts = provenance_facts({**source, "seed": result.seed, **result.provenance})
    several = len(result.panels) > say.SEVERAL
    return Document(
        title=result.headline,
        name=last_name(result.source["name"]),
        subtitle=say.subtitle(result),
        verdicts=[
            Verdict(
                result.headline,
                details=[say.unbroken(line) for line in result.lines()],
                command=result.suggestion or "",
                bulleted=True,
            )
        ],
        sections=[
            Section("", _still(result) if result.static else [Clouds(clouds(result))], name="pictures"),
            Section(
                "How far to trust it",
                [_trust(result, result.panels)],
                _TRUST,
                [_trust(result, result.panels[:_PANELS])] if several else [],
            ),
            Section("Colors", _colors(result)),
            Section("Notes", [Notes(notes)] if notes else [], brief=[Notes(notes, most=2)]),
            Section("Provenance", [Facts([*facts, *result.written.items()])]),
        ],
    )


def clouds(result: Map) -> list[Cloud]:
    """A cloud for each picture; texts, colors and marked words are those of all points of the map."""
    texts, n = result.texts, len(result.places)
    whole = [] if texts is None else [texts.sentences[place] for place in np.asarray(texts.sentence).tolist()]
    spans = None
    if texts is not None and texts.starts is not None and texts.ends is not None:
        spans = np.stack([texts.starts, texts.ends], axis=1)
    several, words = len(result.panels) > 1, marked_words(result)
    made = []
    for place, (panel, colored) in enumerate(zip(result.panels, panel_colorings(result), strict=True), 1):
        trust = say.trust_text(result, panel.trust)
        every = len(panel.places) == n and bool((np.asarray(panel.places) == np.arange(n)).all())
        made.append(
            Cloud(
                name=f"map-{result.method}{f'-{place}' if several else ''}",
                title=printable(panel.name) if several else f"{say.method(result)}, {result.dims}-D",
                caption=say.unbroken(f"{trust[:1].upper()}{trust[1:]}.") if trust else "",
                views=[CloudView("", panel.points, None if every else panel.places, stamp=say.stamp(result, panel))],
                colorings=colored,
                texts=whole,
                axes=say.axes_of(result),
                wide=True,
                spans=spans,
                marks=words,
                marked=result.highlight,
                source_rows=result.places,
            )
        )
    return made


def _still(result: Map) -> list[Block]:
    """Pictures that can't be turned, drawn as they are written to files."""
    data = {"pictures": partial(_images, result), "alt": " ".join([result.headline, *result.lines()])}
    picture = Widget("widgets/pictures.html", data, [Sentences([f"{say.method(result)}, {result.dims}-D."])])
    if not result.density:
        return [picture]
    cells = "There are too many points for dots, so each cell shows how many fall into it."
    if result.colorings:
        by_number = result.colorings[0].values is not None
        cells += " A cell has the color "
        cells += "of the mean of its points." if by_number else "of most of its points, fainter if there are few."
    return [picture, Sentences([cells])]


def _images(result: Map) -> list[tuple[str, str]]:
    """File names and the pictures as addresses. Only the page needs them, and they take long to draw."""
    drawn = {name: data for name, data in result.pictures().items() if name.endswith(".png")}
    return [(name, f"data:image/png;base64,{base64.b64encode(data).decode()}") for name, data in drawn.items()]


def _trust(result: Map, panels: Sequence[Panel]) -> Table:
    def shown(value: float | None) -> Cell:
        return Cell("–" if value is None else cosine(value, 3))

    rows = []
    for one in panels:
        trust = one.trust
        share = Cell("–" if trust.explained is None else f"{100 * trust.explained:.1f} %")
        values = [shown(trust.trustworthiness), shown(trust.continuity), share]
        measured = Cell(f"{trust.n:,}", f"k = {trust.k}")
        rows.append(Row([Cell(clipped(printable(one.name), 60)), Cell(f"{len(one.points):,}"), *values, measured]))
    heads = ("points", "trustworthiness", "continuity", f"{say.axis_share(result)} on the axes", "measured on")
    left = len(result.panels) - len(panels)
    return Table(
        [Column("picture", align="left"), *map(Column, heads)],
        rows,
        remarks=[f"and {count(left, 'more picture')} in the report"] if left else [],
    )


def _colors(result: Map) -> list[Block]:
    """How many points each category has, and the ranges of numbers."""
    blocks: list[Block] = []
    numbers = []
    for one, colored in zip(result.colorings, panel_colorings(result)[0], strict=True):
        if one.values is not None:
            low, high, known, unknown = extent(one)
            ends = [f"{low:.4g}", f"{high:.4g}"] if known else ["–", "–"]
            numbers.append(Row([Cell(printable(one.title)), *map(Cell, [*ends, f"{known:,}", f"{unknown:,}"])]))
        else:
            blocks.append(_categories(result, colored, counts_of(result, one)))
    if numbers:
        heads = ("smallest", "largest", "known", "unknown")
        blocks.append(Table([Column("number", align="left"), *map(Column, heads)], numbers))
    return blocks


def _categories(result: Map, colored: Coloring, counts: Sequence[Sequence[int]]) -> Fold:
    """A column of counts, or one for each picture if the categories differ by picture."""
    k = len(colored.names)
    summary = f"{k:,} {'category' if k == 1 else 'categories'}{', different in each picture' if counts[1:] else ''}"
    heads = [printable(panel.name) for panel in result.panels] if counts[1:] else ["points"]
    names = [printable(name) or "without a name" for name in colored.names]
    listed = zip([*names, colored.rest], zip(*counts, strict=True), strict=True)
    rows = [Row([Cell(clipped(name, 40)), *(Cell(f"{n:,}") for n in own)]) for name, own in listed if any(own)]
    columns = [Column("category", align="left"), *map(Column, heads)]
    return Fold(printable(colored.title), [Table(columns, rows)], summary=summary)


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
