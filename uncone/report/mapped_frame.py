"""The points of a map as a frame of pandas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from uncone.extras import require
from uncone.maps.results import Colouring, Panel
from uncone.report.mapped import Map
from uncone.report.mapped_palette import members_on, values_on

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped]

__all__ = ["points_frame"]


def points_frame(result: Map) -> pandas.DataFrame:
    """Every point of every picture: panel, row, x, y and z, its word or text, and a column for each colouring.

    Raises:
        MissingPackageError: pandas is not installed.
    """
    require("pandas", extra="models")
    import pandas

    return pandas.concat([_part(result, panel) for panel in result.panels], ignore_index=True)


def _part(result: Map, panel: Panel) -> pandas.DataFrame:
    import pandas

    places = np.asarray(panel.places, np.int64)
    columns: dict[str, Any] = {"panel": [panel.name] * len(places), "row": result.places[places]}
    columns |= {axis: panel.points[:, place] for place, axis in enumerate("xyz"[: panel.points.shape[1]])}
    texts = result.texts
    if texts is not None:
        columns["text"] = [texts.sentences[int(texts.sentence[place])] for place in places]
        if texts.starts is not None:
            columns["word"] = [result.text(int(place)) for place in places]
    for one in result.colourings:
        columns[f"colour_{one.name}" if one.name in columns else one.name] = _colours(one, panel)
    return pandas.DataFrame(columns)


def _colours(colouring: Colouring, panel: Panel) -> Any:  # noqa: ANN401 - numbers or names
    if colouring.values is not None:
        return values_on(colouring, panel)
    names: list[str | None] = [*map(str, colouring.names), None]
    k = len(colouring.names)
    return [names[int(one)] if 0 <= one < k else None for one in members_on(colouring, panel)]
