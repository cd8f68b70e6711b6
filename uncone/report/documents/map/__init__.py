"""The result of `map`: vectors as points, their colors, how far to trust the pictures, and its document."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from uncone.analysis.number_format import clipped, count
from uncone.analysis.projections.results import Coloring, Density, Panel, Texts
from uncone.data.batch import IntVector
from uncone.errors import OptionError, require
from uncone.report import document as doc
from uncone.report.charts.cloud import view_of
from uncone.report.charts.model import Cloud, CloudView
from uncone.report.charts.model import Coloring as CloudColoring
from uncone.report.documents.map import sentences as say
from uncone.report.result import Result, json_text, json_values
from uncone.report.text import capitalized, file_name, last_name, number_text, printable, provenance_facts

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped]

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
Angles = int | Sequence[tuple[float, float]]
"""The views of a 3-D picture: their number, or their elevations and azimuths in degrees."""


@dataclass(frozen=True, eq=False)
class Map(Result):
    """Vectors as points of one or several pictures.

    `source` says what is shown: name, kind, rows, dimensions and dtype; model, layer, layers, pooling, row and repair
    where there are any. `places` are the row numbers of the map's points, of `total` rows; the places of a panel point
    into them. Colorings and texts have one entry for each point; the first coloring is shown at the start.
    `highlight` are words whose points are marked and labeled. A `static` map is a picture that cannot be turned or
    pointed at; of millions of rows it has the `density` of all of them. `written` holds the files that were written,
    by what they are.
    """

    source: Mapping[str, Any]
    method: str
    dims: int
    panels: Sequence[Panel]
    places: IntVector
    texts: Texts | None
    colorings: Sequence[Coloring]
    total: int
    seed: int
    notes: Sequence[str]
    provenance: Mapping[str, Any]
    static: bool = False
    highlight: Sequence[str] = ()
    density: Sequence[Density] | None = None
    written: Mapping[str, str] = field(default_factory=dict)
    same_axes: bool = False
    """Whether all pictures have the same axes: those of several models."""

    @property
    def headline(self) -> str:
        """The number of points, of how many, the method, the layer and the seed."""
        place = say.where(self)
        picture = f"{capitalized(say.shown_points(self))} by {say.method(self)} in {self.dims} dimensions"
        return f"{picture}{f', {place}' if place else ''}, seed {self.seed}."

    def lines(self) -> list[str]:
        """Sentences on how far to trust the pictures, how to read them, the first coloring, and the marked words."""
        reading = say.READING.get(self.method, "")
        lines = [*say.trust_sentences(self.panels), reading, say.colored_by(self), say.marked(self)]
        return [line for line in lines if line]

    @property
    def suggestion(self) -> str | None:
        """The next command, ready to paste; None if the source is not a file."""
        return say.suggestion(self)

    def text(self, point: int) -> str:
        """The word of a point in its sentence, or its whole text, or the number of its row."""
        return f"row {int(self.places[point]):,}" if self.texts is None else self.texts.text(point)

    def to_dict(self, *, points: bool = False) -> dict[str, Any]:
        """The summary: plain JSON values, versioned by `schema`; the points themselves only on request."""
        summary = super().to_dict()
        if points:
            summary["rows"] = json_values(self.places)
            for panel, values in zip(self.panels, summary["panels"], strict=True):
                values["coordinates"] = json_values(np.round(panel.points, 5))
                values["rows"] = json_values(self.places[panel.places])
        return summary

    def _values(self) -> dict[str, Any]:
        return {
            "source": self.source,
            "headline": self.headline,
            "lines": self.lines(),
            "next": self.suggestion,
            "method": self.method,
            "dims": self.dims,
            "shown": len(self.places),
            "total": self.total,
            "seed": self.seed,
            "static": self.static,
            "panels": [
                {"name": panel.name, "layer": panel.layer, "points": len(panel.points), "trust": panel.trust}
                for panel in self.panels
            ],
            "colorings": [say.summary_of(self, coloring) for coloring in self.colorings],
            "highlight": self.highlight,
            "notes": self.notes,
            "written": self.written,
            "provenance": self.provenance,
        }

    def to_json(self, *, points: bool = False) -> str:
        """The summary as JSON text."""
        return json_text(self.to_dict(points=points))

    def pictures(self, angles: Angles = 3, *, coloring: str | None = None) -> dict[str, bytes]:
        """Pictures for a paper by file name: PNG, and SVG if there are few points; in space one for every angle.

        Several panels stand on one sheet. `coloring` names another than the first.

        Raises:
            MissingPackageError: matplotlib is not installed.
            OptionError: there is no such coloring, or no angle.
        """
        require("matplotlib", extra="models")
        names = [entry.name for entry in self.colorings]
        if coloring is not None and coloring not in names:
            raise OptionError(
                f"The points are not colored by {coloring!r}; choose from {', '.join(names) or 'nothing'}."
            )
        index, views = 0 if coloring is None else names.index(coloring), _views(angles)
        from uncone.report.charts.matplotlib import saved, styled
        from uncone.report.charts.sheet import clouds_sheet, density_sheets

        name = f"map-{self.method}{f'-{file_name(coloring)}' if coloring else ''}"
        titles = {panel.name: _title(self, panel) for panel in self.panels}
        with styled():
            if self.density:
                number = self.colorings[0].title if self.colorings else "number"
                labels = [titles.get(density.name, density.name) for density in self.density]
                sheets = density_sheets(self.density, number, say.axes_of(self), labels, _footer(self))
                return {f"{name}{ending}.png": saved(figure, "png") for ending, figure in sheets.items()}
            endings = ["png", "svg"] if sum(len(panel.points) for panel in self.panels) <= _MOST_SVG else ["png"]
            labels, every, files = [titles[panel.name] for panel in self.panels], clouds(self), dict[str, bytes]()
            for place, view in enumerate(views if self.dims == 3 else [None], 1):
                figure = clouds_sheet(every, index, labels, _footer(self), view)
                whole = f"{name}-3d-{place}" if view is not None else name
                files |= {f"{whole}.{ending}": saved(figure, ending) for ending in endings}
            return files

    def points_frame(self) -> pandas.DataFrame:
        """Every point of every picture as a DataFrame: panel, row, coordinates, word or text, and its colors."""
        require("pandas", extra="models")
        import pandas

        return pandas.concat([pandas.DataFrame(self._columns(panel)) for panel in self.panels], ignore_index=True)

    def _columns(self, panel: Panel) -> dict[str, Any]:
        places = np.asarray(panel.places, np.int64)
        columns: dict[str, Any] = {"panel": [panel.name] * len(places), "row": self.places[places]}
        columns |= {axis: panel.points[:, place] for place, axis in enumerate("xyz"[: panel.points.shape[1]])}
        texts = self.texts
        if texts is not None:
            columns["text"] = [texts.sentences[int(texts.sentence[place])] for place in places]
            if texts.starts is not None:
                columns["word"] = [self.text(int(place)) for place in places]
        for coloring in self.colorings:
            name = coloring.name
            columns[f"color_{name}" if name in columns else name] = say.shown_colors(coloring, panel)
        return columns

    def document(self) -> doc.Document:
        """The pictures, their trust, the counts of their colors, notes and provenance."""
        notes = [note for note in self.notes if note]
        source = {key: value for key, value in self.source.items() if key not in _HIDDEN}
        facts = provenance_facts({**source, "seed": self.seed, **self.provenance})
        details, command = [say.unbroken(line) for line in self.lines()], self.suggestion or ""
        brief = [_trust(self, self.panels[:_PANELS])] if len(self.panels) > say.SEVERAL else []
        return doc.Document(
            title=self.headline,
            name=last_name(self.source["name"]),
            subtitle=say.subtitle(self),
            verdicts=[doc.Verdict(self.headline, details=details, command=command, bulleted=True)],
            sections=[
                doc.Section("", _still(self) if self.static else [doc.Clouds(clouds(self))], name="pictures"),
                doc.Section("How far to trust it", [_trust(self, self.panels)], _TRUST, brief),
                doc.Section("Colors", _colors(self)),
                doc.Section("Notes", [doc.Notes(notes)] if notes else [], brief=[doc.Notes(notes, most=2)]),
                doc.Section("Provenance", [doc.Facts([*facts, *self.written.items()])]),
            ],
        )

    def __repr__(self) -> str:
        """The result in a line."""
        return f"<Map {self.source['name']}: {self.headline}>"


def clouds(result: Map) -> list[Cloud]:
    """A cloud for each picture; texts, colors and marked words are those of all points of the map."""
    texts, n = result.texts, len(result.places)
    whole = [] if texts is None else [texts.sentences[place] for place in np.asarray(texts.sentence).tolist()]
    spans = None
    if texts is not None and texts.starts is not None and texts.ends is not None:
        spans = np.stack([texts.starts, texts.ends], axis=1)
    several, words = len(result.panels) > 1, say.marked_words(result)
    frame = view_of(np.concatenate([panel.points for panel in result.panels]))[:2] if result.same_axes else None
    shared: dict[str, Any] = {"texts": whole, "axes": say.axes_of(result), "wide": True, "spans": spans, "marks": words}
    shared |= {"marked": result.highlight, "source_rows": result.places}
    pictures = []
    for place, (panel, colorings) in enumerate(zip(result.panels, say.panel_colorings(result), strict=True), 1):
        trust = say.trust_text(result, panel.trust)
        every = len(panel.places) == n and bool((np.asarray(panel.places) == np.arange(n)).all())
        name = f"map-{result.method}{f'-{place}' if several else ''}"
        title = printable(panel.name) if several else f"{say.method(result)}, {result.dims}-D"
        caption = say.unbroken(f"{capitalized(trust)}.") if trust else ""
        view = CloudView("", panel.points, None if every else panel.places, stamp=say.stamp(result, panel), frame=frame)
        pictures.append(Cloud(name, title, caption, [view], colorings, **shared))
    return pictures


def _still(result: Map) -> list[doc.Block]:
    """Pictures that can't be turned, drawn as they are written to files."""
    data = {"pictures": partial(_images, result), "alt": " ".join([result.headline, *result.lines()])}
    picture = doc.Widget("widgets/pictures.html", data, [doc.Sentences([f"{say.method(result)}, {result.dims}-D."])])
    if not result.density:
        return [picture]
    cells = "There are too many points for dots, so each cell shows how many fall into it."
    if result.colorings:
        by_number = result.colorings[0].values is not None
        cells += " A cell has the color "
        cells += "of the mean of its points." if by_number else "of most of its points, fainter if there are few."
    return [picture, doc.Sentences([cells])]


def _images(result: Map) -> list[tuple[str, str]]:
    """File names and the pictures as addresses. Only the page needs them, and they take long to draw."""
    images = {name: data for name, data in result.pictures().items() if name.endswith(".png")}
    return [(name, f"data:image/png;base64,{base64.b64encode(data).decode()}") for name, data in images.items()]


def _trust(result: Map, panels: Sequence[Panel]) -> doc.Table:
    rows = []
    for panel in panels:
        trust = panel.trust
        values = [number_text(value, "{:.3f}".format) for value in (trust.trustworthiness, trust.continuity)]
        share = number_text(trust.explained, lambda part: f"{100 * part:.1f} %")
        name, sample = clipped(printable(panel.name), 60), doc.Cell(f"{trust.n:,}", f"k = {trust.k}")
        rows.append([name, f"{len(panel.points):,}", *values, share, sample])
    heads = [
        "picture",
        "points",
        "trustworthiness",
        "continuity",
        f"{say.axis_share(result)} on the axes",
        "measured on",
    ]
    left = len(result.panels) - len(panels)
    return doc.table(heads, rows, remarks=[f"and {count(left, 'more picture')} in the report"] if left else [])


def _colors(result: Map) -> list[doc.Block]:
    blocks: list[doc.Block] = []
    numbers = []
    for coloring, colors in zip(result.colorings, say.panel_colorings(result)[0], strict=True):
        if coloring.values is not None:
            low, high, n_known, n_unknown = say.extent(coloring)
            ends = [f"{low:.4g}", f"{high:.4g}"] if n_known else ["–", "–"]
            numbers.append([printable(coloring.title), *ends, f"{n_known:,}", f"{n_unknown:,}"])
        else:
            blocks.append(_categories(result, colors, say.counts_of(result, coloring)))
    ranges = [doc.table(["number", "smallest", "largest", "known", "unknown"], numbers)] if numbers else []
    return [*blocks, *ranges]


def _categories(result: Map, colors: CloudColoring, counts: Sequence[Sequence[int]]) -> doc.Fold:
    """A column of counts, or one for each picture if the categories differ by picture."""
    k = len(colors.names)
    summary = f"{k:,} {'category' if k == 1 else 'categories'}{', different in each picture' if counts[1:] else ''}"
    heads = [printable(panel.name) for panel in result.panels] if counts[1:] else ["points"]
    names = [*(printable(name) or "without a name" for name in colors.names), colors.rest]
    listed = zip(names, zip(*counts, strict=True), strict=True)
    rows = [[clipped(name, 40), *(f"{n:,}" for n in own)] for name, own in listed if any(own)]
    return doc.Fold(printable(colors.title), [doc.table(["category", *heads], rows)], summary=summary)


def _views(angles: Angles) -> list[tuple[float, float]]:
    if (angles if isinstance(angles, int) else len(angles)) < 1:
        text = angles if isinstance(angles, int) else "none"
        raise OptionError(f"A 3-D picture needs at least 1 view; we got {text}.")
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
    where = say.where(result) if len(result.panels) == 1 else ""
    parts = [last_name(result.source["name"]), say.subtitle(result), where]
    parts += [f"{say.method(result)} in {result.dims} dimensions", say.shown_points(result), f"seed {result.seed}"]
    return "\n".join(wrap(" · ".join(clipped(part, 60) for part in parts if part), 125))
