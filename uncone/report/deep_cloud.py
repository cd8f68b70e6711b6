"""Points in the plane or in space, coloured by a number: what the page, the figures and their CSV draw alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from uncone.data.batch import Matrix, Vector

__all__ = ["Cloud", "View"]


@dataclass(frozen=True)
class View:
    """The points (m, 2) or (m, 3) with the number (m,) that colours them, NaN where it is not known, and their texts.

    `path` (p, 2) or (p, 3) is a line through them; it may be empty.
    """

    label: str
    points: Matrix
    values: Vector
    texts: Sequence[str]
    path: Matrix


@dataclass(frozen=True)
class Cloud:
    """One or several views of the same rows; the reader changes between them, a figure shows them one under the other.

    `axes` name what is drawn, `scale` what the colours mean; `layer` is empty for a table of vectors.
    """

    name: str
    title: str
    caption: str
    study: str
    layer: int | None
    axes: Sequence[str]
    scale: str
    views: Sequence[View]
    wide: bool = False

    @property
    def in_space(self) -> bool:
        """Whether it can be turned."""
        return len(self.axes) == 3
