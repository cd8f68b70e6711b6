"""How the measures of a study move with the number of texts: whether they have settled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from uncone.analysis.intervals.intervals import LEAST_UNITS
from uncone.analysis.layers.layer import Layer
from uncone.analysis.measures.registry import placed
from uncone.errors import ShapeError

__all__ = ["StudySize", "sizes_up_to"]

_PARTS = (8, 4, 2)


@dataclass(frozen=True)
class StudySize:
    """The layers of a study as they were measured on so many of its texts."""

    texts: int
    layers: Sequence[Layer]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        layers = [
            {
                "layer": one.number,
                "findings": {name: one[name].to_dict() for name in placed("layers", "sizes") if name in one.findings},
            }
            for one in self.layers
        ]
        return {"texts": self.texts, "layers": layers}


def sizes_up_to(
    texts: int, layers: Sequence[Layer], measure: Callable[[int], Sequence[Layer]]
) -> tuple[list[StudySize], list[str]]:
    """An eighth, a quarter and half of the texts, each part of the next, then all; and what could not be measured."""
    found: list[StudySize] = []
    missing: list[str] = []
    for size in (texts // part for part in _PARTS):
        try:
            if size < LEAST_UNITS:
                raise ShapeError(f"we need at least {LEAST_UNITS}")
            found.append(StudySize(size, measure(size)))
        except ShapeError:
            missing = [f"{size:,} texts are too few for --curve."]
    return [*found, StudySize(texts, layers)], missing
