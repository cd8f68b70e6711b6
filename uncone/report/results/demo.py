"""The result of `demo`: one layer diagnosed, calibrated, repaired and evaluated, beside the model's last layer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from uncone.report.document import Document
from uncone.report.result import Result, json_values
from uncone.report.results.calibrate import Calibrated
from uncone.report.results.check import Diagnosis
from uncone.report.results.fix import Repaired

if TYPE_CHECKING:
    from uncone.evaluation.prescribe.verdict import Prescription

__all__ = ["DEMO_SCHEMA", "Demo"]

DEMO_SCHEMA = 1


@dataclass(frozen=True, eq=False)
class Demo(Result):
    """The story in five steps: `before`, `calibrated`, `repaired`, the proof in `chosen`, and `last` for contrast."""

    before: Diagnosis
    calibrated: Calibrated
    chosen: Prescription
    repaired: Repaired
    last: Prescription

    def to_dict(self) -> dict[str, Any]:
        """The numbers: plain JSON values, versioned by `schema`; each step as its own command gives it."""
        steps = {
            "check": self.before.to_dict(),
            "calibrate": self.calibrated.to_dict(),
            "fix": self.repaired.to_dict(),
            "prescribe": json_values(self.chosen.to_dict()),
            "prescribe_last_layer": json_values(self.last.to_dict()),
        }
        return {"schema": DEMO_SCHEMA, **steps}

    def document(self) -> Document:
        """The steps as one document."""
        from uncone.report.documents.demo import document

        return document(self)
