"""The result of `map`: vectors as points, their colors, and how far to trust the pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from uncone.analysis.projections.results import Coloring, Density, Panel, Texts
from uncone.data.batch import IntVector
from uncone.extras import require
from uncone.report.result import NarratedResult, json_text, json_values

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped]

__all__ = ["Angles", "Map"]

Angles = int | Sequence[tuple[float, float]]
"""How a picture in space is seen: from this many sides, or from these heights and directions in degrees."""


@dataclass(frozen=True, eq=False)
class Map(NarratedResult):
    """Vectors as points of one or several pictures.

    `source` says what is shown: name, kind, rows, dimensions and dtype; model, layer, layers, pooling, row and repair
    where there are any. `places` are the row numbers of the map's points, of `total` rows; the places of a panel point
    into them. Colorings and texts have one entry for each point; the first coloring is shown at the start.
    `highlight` are words whose points are marked and labeled. A `static` map is a picture that cannot be turned or
    pointed at; of millions of rows it has the `density` of all of them. `written` holds the files that were written,
    by what they are.
    """

    _module: ClassVar[str] = "map"
    _narrator: ClassVar[str] = "map.sentences"

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

    @property
    def suggestion(self) -> str | None:
        """The next command, ready to paste; None if the source is not a file."""
        from uncone.report.documents.map.sentences import suggestion

        return suggestion(self)

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
        from uncone.report.documents.map.colors import summary_of

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
                {"name": one.name, "layer": one.layer, "points": len(one.points), "trust": one.trust}
                for one in self.panels
            ],
            "colourings": [summary_of(self, one) for one in self.colorings],
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
        from uncone.report.documents.map import pictures

        return pictures(self, angles, coloring)

    def points_frame(self) -> pandas.DataFrame:
        """Every point of every picture as a DataFrame: panel, row, coordinates, word or text, and its colors."""
        require("pandas", extra="models")
        import pandas

        return pandas.concat([pandas.DataFrame(self._columns(panel)) for panel in self.panels], ignore_index=True)

    def _columns(self, panel: Panel) -> dict[str, Any]:
        from uncone.report.documents.map.colors import shown_colors

        places = np.asarray(panel.places, np.int64)
        columns: dict[str, Any] = {"panel": [panel.name] * len(places), "row": self.places[places]}
        columns |= {axis: panel.points[:, place] for place, axis in enumerate("xyz"[: panel.points.shape[1]])}
        texts = self.texts
        if texts is not None:
            columns["text"] = [texts.sentences[int(texts.sentence[place])] for place in places]
            if texts.starts is not None:
                columns["word"] = [self.text(int(place)) for place in places]
        for one in self.colorings:
            columns[f"colour_{one.name}" if one.name in columns else one.name] = shown_colors(one, panel)
        return columns

    def __repr__(self) -> str:
        """The result in a line."""
        return f"<Map {self.source['name']}: {self.headline}>"
