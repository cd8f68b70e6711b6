"""The result of `demo`: one layer diagnosed, calibrated, repaired and evaluated, beside the model's last layer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from uncone.report.result import Result
from uncone.report.results.calibrate import Calibrated
from uncone.report.results.check import Diagnosis
from uncone.report.results.fix import Repaired

if TYPE_CHECKING:
    from uncone.evaluation.prescription import Prescription

__all__ = ["Demo"]


@dataclass(frozen=True, eq=False)
class Demo(Result):
    """The story in five steps: `before`, `calibrated`, `repaired`, the proof in `chosen`, and `last` for contrast."""

    _module: ClassVar[str] = "demo"

    before: Diagnosis
    calibrated: Calibrated
    chosen: Prescription
    repaired: Repaired
    last: Prescription

    def _values(self) -> dict[str, Any]:
        return {
            "check": self.before.to_dict(),
            "calibrate": self.calibrated.to_dict(),
            "fix": self.repaired.to_dict(),
            "prescribe": self.chosen.to_dict(),
            "prescribe_last_layer": self.last.to_dict(),
        }
