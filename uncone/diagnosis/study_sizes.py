"""How the measures of a study move with the number of texts: whether they have settled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from uncone.diagnosis.intervals import LEAST_UNITS
from uncone.diagnosis.layer import Layer
from uncone.errors import ShapeError

__all__ = ["SIZED", "StudySize", "smaller_sizes"]

SIZED = (
    "baseline",
    "selfsim",
    "selfsim_adjusted",
    "intrasim",
    "intrasim_matched",
    "intrasim_adjusted_matched",
    "mev",
    "mev_matched",
    "mev_adjusted",
    "s_intra",
    "s_inter",
)
"""The measures that are looked at."""
_PARTS = (8, 4, 2)


@dataclass(frozen=True)
class StudySize:
    """The layers of a study as they were measured on so many of its texts."""

    texts: int
    layers: Sequence[Layer]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        layers = [
            {"layer": one.number, "findings": {name: one[name].to_dict() for name in SIZED if name in one.findings}}
            for one in self.layers
        ]
        return {"texts": self.texts, "layers": layers}


def smaller_sizes(texts: int, measure: Callable[[int], Sequence[Layer]]) -> tuple[list[StudySize], str]:
    """An eighth, a quarter and half of the texts, each part of the next; and what could not be measured."""
    found: list[StudySize] = []
    missing = ""
    for size in (texts // part for part in _PARTS):
        try:
            if size < LEAST_UNITS:
                raise ShapeError(f"we need at least {LEAST_UNITS}")
            found.append(StudySize(size, measure(size)))
        except ShapeError:
            missing = f"{size:,} texts are too few for --curve."
    return found, missing
