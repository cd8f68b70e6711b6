"""The difference between two studies, layer by layer, with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from uncone.diagnosis.finding import Finding

__all__ = ["Contrast"]


@dataclass(frozen=True)
class Contrast:
    """What the study `of` has more of than the study `to`, at pairs of layers.

    `layers` pairs the layer of `to` with the layer of `of`; `findings` has the differences at each pair, by measure,
    as findings whose value, low and high are differences.
    """

    of: str
    to: str
    layers: Sequence[tuple[int, int]]
    findings: Sequence[Mapping[str, Finding]]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "of": self.of,
            "to": self.to,
            "layers": [
                {"to": a, "of": b, "findings": {name: one.to_dict() for name, one in found.items()}}
                for (a, b), found in zip(self.layers, self.findings, strict=True)
            ],
        }
