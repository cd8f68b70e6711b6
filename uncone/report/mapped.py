"""What `map` returns: rows as points, what they can be coloured by, how far to trust it, and all renderings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from uncone.data.batch import IntVector
from uncone.maps.results import Colouring, Density, Panel, Texts
from uncone.report.plain import json_text, json_values

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped]

__all__ = ["MAP_SCHEMA", "Angles", "Map"]

MAP_SCHEMA = 1

Angles = int | Sequence[tuple[float, float]]
"""How a picture in space is looked at: from so many sides, or from these heights and directions in degrees."""


@dataclass(frozen=True, eq=False)
class Map:
    """Rows of a space as points of one or several pictures.

    `source` says what is shown: name, kind, rows, dimensions and dtype; model, layer, layers, pooling, row and repair
    where there are any. `places` are the row numbers of the map's points, of `total` rows; the places of a panel point
    into them. Colourings and texts have one entry for each point; the first colouring is shown at the start.
    `highlight` are words whose points are marked and labelled. A `static` map is a picture that cannot be turned or
    pointed at; of millions of rows it has the `density` of all of them. `written` holds the files that were written,
    by what they are.
    """

    source: Mapping[str, Any]
    method: str
    dims: int
    panels: Sequence[Panel]
    places: IntVector
    texts: Texts | None
    colourings: Sequence[Colouring]
    total: int
    seed: int
    notes: Sequence[str]
    provenance: Mapping[str, Any]
    static: bool = False
    highlight: Sequence[str] = ()
    density: Sequence[Density] | None = None
    written: Mapping[str, str] = field(default_factory=dict)

    @property
    def headline(self) -> str:
        """How many rows are shown of how many, by which method, in a sentence."""
        from uncone.report.mapped_lines import headline

        return headline(self)

    @property
    def suggestion(self) -> str | None:
        """The command to run next on the same rows, ready to paste; None where the source is no file."""
        from uncone.report.mapped_lines import suggestion

        return suggestion(self)

    def lines(self) -> list[str]:
        """What is shown and how far to trust it, in sentences."""
        from uncone.report.mapped_lines import sentences

        return sentences(self)

    def text(self, point: int) -> str:
        """What a point is: its word where it stands in a sentence, else its whole text, else the number of its row."""
        texts = self.texts
        if texts is None:
            return f"row {int(self.places[point]):,}"
        whole = texts.sentences[int(texts.sentence[point])]
        if texts.starts is None or texts.ends is None:
            return whole
        return whole[int(texts.starts[point]) : int(texts.ends[point])]

    def to_dict(self, *, points: bool = False) -> dict[str, Any]:
        """The summary: plain JSON values, versioned by `schema`; the points themselves only when asked for."""
        from uncone.report.mapped_lines import counted

        panels: list[dict[str, Any]] = [
            {"name": one.name, "layer": one.layer, "points": len(one.points), "trust": asdict(one.trust)}
            for one in self.panels
        ]
        summary: dict[str, Any] = {
            "schema": MAP_SCHEMA,
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
            "panels": panels,
            "colourings": [counted(self, one) for one in self.colourings],
            "highlight": self.highlight,
            "notes": self.notes,
            "written": self.written,
            "provenance": self.provenance,
        }
        if points:
            summary["rows"] = self.places
            for panel, held in zip(self.panels, panels, strict=True):
                held["coordinates"] = np.round(panel.points, 5)
                held["rows"] = self.places[panel.places]
        plain: dict[str, Any] = json_values(summary)
        return plain

    def to_json(self, *, points: bool = False) -> str:
        """The summary as JSON text."""
        return json_text(self.to_dict(points=points))

    def to_html(self) -> str:
        """The report: one self-contained page."""
        from uncone.report.mapped_page import render

        return render(self)

    def to_markdown(self) -> str:
        """The sentences, the trust of every picture and the counts of every colour as markdown."""
        from uncone.report.mapped_markdown import render

        return render(self)

    def pictures(self, angles: Angles = 3, *, colouring: str | None = None) -> dict[str, bytes]:
        """Pictures for a paper by file name: PNG, and SVG where there are few points; in space one for every angle.

        Several panels stand on one sheet. `colouring` names another than the first.

        Raises:
            MissingPackageError: matplotlib is not installed.
            OptionError: there is no such colouring, or no angle.
        """
        from uncone.report.mapped_pictures import pictures

        return pictures(self, angles, colouring)

    def points_frame(self) -> pandas.DataFrame:
        """Every point of every picture with its row, coordinates, word or text and colours, as a table of pandas.

        Raises:
            MissingPackageError: pandas is not installed.
        """
        from uncone.report.mapped_frame import points_frame

        return points_frame(self)

    def _repr_html_(self) -> str:
        """What a notebook shows: the sentences and the trust of every picture."""
        from uncone.report.mapped_page import notebook

        return notebook(self)

    def __repr__(self) -> str:
        """The result in a line."""
        return f"<Map {self.source['name']}: {self.headline}>"
